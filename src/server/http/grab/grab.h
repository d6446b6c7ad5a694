/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of the first lock service, "grab", under /grab/ (docs/grab.md): its operations as
 * calls of the core, and its JSON. The rules are the model's. This code chooses owner and ttl,
 * reads positions from the model, and knows when a shutdown is complete.
 *
 * Every operation is answered in the turn in which it arrives: nothing blocks, so what was asked is
 * kept once for the listener. The functions are called by the loop's thread only.
 *
 * Within src/server/http.
 */
#ifndef LK_SERVER_HTTP_GRAB_GRAB_H
#define LK_SERVER_HTTP_GRAB_GRAB_H

#include "base/buffer.h"
#include "form/writer.h"
#include "model/model.h"
#include "model/path.h"
#include "server/http/http.h"

/* ---- request.c: counters --------------------------------------------------------------------- */

/* What "grab" counts of its own requests since the start, by owner and by path; bounded. */

enum {
    LK_GRAB_NAMES_MAX = 1024, /* of a table; more are in the total only */
    LK_GRAB_SLOTS = 2 * LK_GRAB_NAMES_MAX,
};

struct lk_grab_count {
    char *name; /* owned; NULL: the slot is free */
    uint64_t count;
};

struct lk_grab_counts {
    struct lk_grab_count slots[LK_GRAB_SLOTS]; /* by hash */
    size_t used;
};

struct lk_grab_stats {
    uint64_t hash_seed;
    uint64_t total;
    size_t longest;         /* queue, in groups */
    char *longest_resource; /* ... and its path; owned; NULL: there was none */
    char *longest_owner;    /* ... and the owner that made it so long; owned */
    struct lk_grab_counts by_owner;
    struct lk_grab_counts by_lock;
};

/* A new request stands in the queue of `path` and in those above it: at positions[0] in that of the
 * root, and so on. Without memory a name is not counted. */
void lk_grab_stats_add(struct lk_grab_stats *stats, const char *owner, const struct lk_path *path,
                       const size_t *positions);

/* Writes the fields that follow the uptime, into an open map. */
void lk_grab_stats_write(const struct lk_grab_stats *stats, struct lk_form_writer *writer);
void lk_grab_stats_done(struct lk_grab_stats *stats);

/*
 * Text as the name of a field of JSON, which writers take as it is. Valid until the next one;
 * `scratch` is the caller's to free.
 */
const char *lk_grab_name(struct lk_buffer *scratch, struct lk_slice text);

/* ---- queues.c -------------------------------------------------------------------------------- */

/*
 * The requests of a model as queues of paths, which is how "grab" shows them. A request stands in
 * the queue of its path and in those of all paths above. Requests that stand together are a group:
 * those that are held, or neighbours that do not conflict. The first group has the number 1.
 *
 * Read from the pages that listings are read from, and therefore bounded as these are.
 */

enum { LK_GRAB_PLACES_MAX = 100000 };

/* A request. */
struct lk_grab_row {
    lk_ref request;
    bool is_held;
    struct lk_slice owner; /* the model's */
    int64_t deadline_us;   /* on the now_us axis */
};

/* Its place in the queue of one path. */
struct lk_grab_place {
    size_t at;       /* offset of the path in `text` */
    const char *key; /* ... and the path, with a slash in front */
    uint16_t size;
    uint8_t modes; /* bits of queues.c */
    bool is_shared;
    uint32_t row;
    uint32_t group;
};

struct lk_grab_queues {
    struct lk_grab_row *rows; /* held ones first, then in the order of their tickets */
    size_t row_count;
    struct lk_grab_place *places; /* path by path, group by group */
    size_t place_count;
    size_t place_capacity;
    struct lk_buffer text;
};

/*
 * Reads the queues of `along` and of the paths above it; NULL: every queue. LK_OK; LK_FULL: there
 * are more than `rows_max` requests below the same root, or in all; LK_INTERNAL: no memory.
 * Whatever is returned, the queues are to be freed. They are valid until the model's next step.
 */
lk_outcome lk_grab_queues_read(const struct lk_model *model, const struct lk_path *along,
                               size_t rows_max, struct lk_grab_queues *ret_queues);
void lk_grab_queues_free(struct lk_grab_queues *queues);

/* Whether two places are in the queue of the same path. */
bool lk_grab_same_queue(const struct lk_grab_place *a, const struct lk_grab_place *b);

/* How many queues move on when the request ends: those that it alone is the head of. */
size_t lk_grab_queues_alone(const struct lk_grab_queues *queues, lk_ref request);

enum {
    LK_GRAB_TTL_MS = 60000, /* from `until` on */
    LK_GRAB_ID_BYTES_MAX = LK_OWNER_BYTES_MAX,
    LK_GRAB_ROWS_MAX = 2000, /* requests that are read for the positions of one answer */
    LK_GRAB_BLOCKERS_MAX = 16,
};

enum lk_grab_op {
    LK_GRAB_PEEK,
    LK_GRAB_GRAB,
    LK_GRAB_RELEASE,
    LK_GRAB_DUMP,
    LK_GRAB_STATS,
    LK_GRAB_CONFIG,
    LK_GRAB_SHUTDOWN,
    LK_GRAB_OPS_COUNT
};

/* A request, parsed. It points into itself: not to be copied. */
struct lk_grab_ask {
    enum lk_grab_op op;
    char id[LK_GRAB_ID_BYTES_MAX + 1];
    char resource[LK_PATH_BYTES_MAX + 2]; /* begins with '/' */
    char owner[LK_OWNER_BYTES_MAX + 1];   /* ID/PATH; of a grab and a release */
    bool has_path;                        /* false: the resource is "/" */
    struct lk_part part;                  /* exclusive; its path is in `resource` */
    bool has_until;
    int64_t until_ms; /* Unix time */
};

struct lk_http_grab {
    struct lk_session *reading; /* reads the model before a release */
    struct lk_grab_ask asked;
    size_t moved; /* queues that a release lets go on */
    struct lk_grab_stats stats;
};

/* ---- request.c ------------------------------------------------------------------------------- */

extern const char *const lk_grab_op_names[LK_GRAB_OPS_COUNT];

/* Opens and closes listener->grab. LK_OK, or LK_INTERNAL or LK_FULL with its message. */
lk_outcome lk_http_grab_open(struct lk_http_listener *listener, lk_error *error);
void lk_http_grab_close(struct lk_http_listener *listener); /* accepts one that was not opened */

/* Whether the path is one of /grab/, and that is served. */
bool lk_http_grab_is_route(const struct lk_http_listener *listener, const char *path);

/* Answers the request. `path`: of a route of /grab/. */
void lk_http_grab_handle(struct lk_http_listener *listener, struct evhttp_request *request,
                         const char *path);

/* ---- answer.c -------------------------------------------------------------------------------- */

extern const struct lk_command_spec lk_http_grab_command; /* of every call made here */

/* Fills the reply to listener->grab->asked from the core's. */
void lk_http_grab_fill(const struct lk_http_listener *listener, const struct lk_reply *core_reply,
                       struct lk_http_reply *reply);

#endif

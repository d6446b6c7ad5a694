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

#include "server/http/grab/queues.h"
#include "server/http/grab/stats.h"
#include "server/http/http.h"

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

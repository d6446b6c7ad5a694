/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a model as queues of paths, which is how "grab" shows them. A request stands in
 * the queue of its path and in those of all paths above. Requests that stand together are a group:
 * those that are held, or neighbours that do not conflict. The first group has the number 1.
 *
 * Read from the pages that listings are read from, and therefore bounded as these are.
 */
#ifndef LK_SERVER_HTTP_GRAB_QUEUES_H
#define LK_SERVER_HTTP_GRAB_QUEUES_H

#include "base/buffer.h"
#include "model/model.h"

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

#endif

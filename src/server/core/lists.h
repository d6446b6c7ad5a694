/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the core, whose records have their place in themselves: timers, and rings. */
#ifndef LK_SERVER_CORE_LISTS_H
#define LK_SERVER_CORE_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- timers ---------------------------------------------------------------------------------- */

/* A heap, the earliest first. */

struct lk_core;

/* A timer; it is in the heap unless it is due at LK_NEVER. */
struct lk_timer {
    int64_t due_us;
    size_t at; /* index in the heap, plus 1; 0: not in it */
    bool is_queue;
};

bool lk_timer_reserve(struct lk_core *core, size_t count);
void lk_timer_set(struct lk_core *core, struct lk_timer *timer, int64_t due_us);
struct lk_timer *lk_timer_first(const struct lk_core *core);

/* ---- rings ----------------------------------------------------------------------------------- */

/* Lists without an end, of records that embed their link. */

struct lk_link {
    struct lk_link *previous;
    struct lk_link *next;
};

static inline void lk_link_init(struct lk_link *link) {
    link->previous = link;
    link->next = link;
}

static inline bool lk_link_is_alone(const struct lk_link *link) {
    return link->next == link;
}

static inline void lk_link_remove(struct lk_link *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
    lk_link_init(link);
}

/* Appends a link that is alone to the end of the ring. */
static inline void lk_link_append(struct lk_link *ring, struct lk_link *link) {
    link->previous = ring->previous;
    link->next = ring;
    ring->previous->next = link;
    ring->previous = link;
}

#define LK_LINK_ITEM(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

#endif

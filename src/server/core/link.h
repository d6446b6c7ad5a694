/* SPDX-License-Identifier: Apache-2.0 */
/* Rings: lists without an end, of records that embed their link. */
#ifndef LK_SERVER_LINK_H
#define LK_SERVER_LINK_H

#include <stdbool.h>
#include <stddef.h>

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

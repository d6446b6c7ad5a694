/* SPDX-License-Identifier: Apache-2.0 */
/* Long answers, asked for a page at a time: LIST, SHOW, ITEMS, AUDIT. */
#ifndef LK_ENGINE_SERVICE_PAGES_H
#define LK_ENGINE_SERVICE_PAGES_H

#include "engine/service/call.h"

struct lk_paged {
    const char *command;
    void (*add_path)(struct lk_words *words, const struct lk_path *path);
    int64_t count;  /* of records, asked for at a time */
    bool was_whole; /* a service of an older version knows no pages of it, and answers at once */
    /* Appends an array of maps to the list. */
    void (*read)(struct lk_reader *reader, const struct lk_resp_value *array, void *list);
};

/* Reads all pages. On failure what has been read stays in the list. */
lk_outcome lk_service_read_pages(struct lk_service *service, const struct lk_paged *paged,
                                 const struct lk_path *path, const struct lk_patience *patience,
                                 void *list, lk_error *error);

#endif

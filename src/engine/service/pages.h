/* SPDX-License-Identifier: Apache-2.0 */
/* Long answers, requested a page at a time: LIST, SHOW, ITEMS, AUDIT. */
#ifndef LK_ENGINE_SERVICE_PAGES_H
#define LK_ENGINE_SERVICE_PAGES_H

#include "engine/service/call.h"

struct lk_paged {
    const char *command;
    void (*add_path)(struct lk_words *words, const struct lk_path *path);
    const struct lk_form *form; /* of each record */
    int64_t count;              /* of records in a page */
    bool was_whole; /* services of older versions have no pages of it, and answer in one piece */
};

/* Reads all pages. On failure *records has what was read before. */
lk_outcome lk_service_read_pages(struct lk_service *service, const struct lk_paged *paged,
                                 const struct lk_path *path, const struct lk_patience *patience,
                                 struct lk_records *records, lk_error *error);

#endif

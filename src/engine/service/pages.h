/* SPDX-License-Identifier: Apache-2.0 */
/* Long answers, requested a page at a time: LIST, SHOW, ITEMS, AUDIT. */
#ifndef LK_ENGINE_SERVICE_PAGES_H
#define LK_ENGINE_SERVICE_PAGES_H

#include "engine/service/call.h"

struct lk_paged {
    const char *command;
    void (*add_path)(struct lk_builder *builder, const struct lk_path *path);
    const struct lk_form *form; /* of each record */
    int64_t count;              /* of records in a page */
    const char *keyword;        /* behind the path; NULL: none */
    bool was_whole; /* services of older versions have no pages of it, and answer in one piece */
};

/*
 * Reads the page at *cursor (NULL: the first one), which becomes the cursor of the next page, "0":
 * there is none. The caller frees it. On failure *records has what was read before.
 */
lk_outcome lk_service_read_page(struct lk_service *service, const struct lk_paged *paged,
                                const struct lk_path *path, const struct lk_patience *patience,
                                struct lk_records *records, char **cursor, lk_error *error);

/* Reads all pages. On failure *records has what was read before. */
lk_outcome lk_service_read_pages(struct lk_service *service, const struct lk_paged *paged,
                                 const struct lk_path *path, const struct lk_patience *patience,
                                 struct lk_records *records, lk_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page is `[cursor, [map, ...]]`; the cursor says where the next page begins, "0": it was the
 * last.
 */
#include "engine/service/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void read_page(struct lk_service_answer *answer, const struct lk_form *form,
                      struct lk_records *records, char **cursor) {
    struct lk_reader *reader = &answer->reader;
    struct lk_resp_value value;

    free(*cursor);
    *cursor = NULL;
    if (answer->head.kind != LK_RESP_ARRAY || answer->head.count != 2
        || !lk_resp_cursor_next(&reader->cursor, &value)) {
        reader->is_damaged = true;
        return;
    }
    *cursor = lk_reader_copy(reader, &value);
    if (lk_resp_cursor_next(&reader->cursor, &value) && lk_reader_is_ok(reader)) {
        lk_reader_read_maps(reader, &value, form, records);
    } else {
        reader->is_damaged = true;
    }
}

/*
 * Requests the page at *cursor (NULL: the first one), which becomes the cursor of the next page.
 * Not `is_paged`: everything in one piece, as older services answer. Such an answer is damaged if
 * it is too large for the service.
 */
static lk_outcome request(struct lk_service *service, const struct lk_paged *paged, bool is_paged,
                          const struct lk_path *path, const struct lk_patience *patience,
                          struct lk_records *records, char **cursor, lk_error *error) {
    struct lk_builder builder = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_builder_add_text(&builder, paged->command);
    paged->add_path(&builder, path);
    if (paged->keyword != NULL) {
        lk_builder_add_text(&builder, paged->keyword);
    }
    if (is_paged) {
        lk_builder_add_number(&builder, "COUNT", paged->count);
    }
    if (*cursor != NULL) {
        lk_builder_add_pair(&builder, "CURSOR", lk_slice_of(*cursor));
    }
    outcome = lk_service_call(service, &builder, LK_SERVICE_AGAIN, patience, &answer, error);
    if (outcome == LK_OK && is_paged) {
        read_page(&answer, paged->form, records, cursor);
        outcome = lk_service_read_end(&answer.reader, error);
    } else if (outcome == LK_OK) {
        lk_reader_read_maps(&answer.reader, &answer.head, paged->form, records);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    if (!is_paged && answer.reader.is_damaged) {
        outcome = lk_error_set(error, LK_UNSUPPORTED,
                               "the service is of an older version, which cannot give so long an "
                               "answer to %s: upgrade it",
                               paged->command);
    }
    lk_service_answer_done(&answer);
    return outcome;
}

lk_outcome lk_service_read_page(struct lk_service *service, const struct lk_paged *paged,
                                const struct lk_path *path, const struct lk_patience *patience,
                                struct lk_records *records, char **cursor, lk_error *error) {
    return request(service, paged, true, path, patience, records, cursor, error);
}

lk_outcome lk_service_read_pages(struct lk_service *service, const struct lk_paged *paged,
                                 const struct lk_path *path, const struct lk_patience *patience,
                                 struct lk_records *records, lk_error *error) {
    char *cursor = NULL;
    bool is_first = true;
    lk_outcome outcome;

    do {
        outcome = request(service, paged, true, path, patience, records, &cursor, error);
        if (outcome == LK_INVALID && is_first && paged->was_whole) {
            return request(service, paged, false, path, patience, records, &cursor, error);
        }
        is_first = false;
    } while (outcome == LK_OK && strcmp(cursor, "0") != 0);
    free(cursor);
    return outcome;
}

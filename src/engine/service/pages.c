/* SPDX-License-Identifier: Apache-2.0 */
/* A page is `[cursor, [map, ...]]`; the cursor says where the next one begins, "0": nowhere. */
#include "engine/service/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void read_page(const struct lk_paged *paged, struct lk_service_answer *answer, void *list,
                      char **cursor) {
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
    if (lk_resp_cursor_next(&reader->cursor, &value) && lk_reader_is_well(reader)) {
        paged->read(reader, &value, list);
    } else {
        reader->is_damaged = true;
    }
}

/* The command as an older service knows it: what is too large for it, it cannot answer properly. */
static lk_outcome ask_for_all(struct lk_service *service, const struct lk_paged *paged,
                              const struct lk_path *path, const struct lk_patience *patience,
                              void *list, lk_error *error) {
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_words_add_text(&words, paged->command);
    paged->add_path(&words, path);
    outcome = lk_service_call(service, &words, LK_SERVICE_AGAIN, patience, &answer, error);
    if (outcome == LK_OK) {
        paged->read(&answer.reader, &answer.head, list);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    if (answer.reader.is_damaged) {
        outcome = lk_error_set(error, LK_UNSUPPORTED,
                               "the service is of an older version, which cannot give so long an "
                               "answer to %s: upgrade it",
                               paged->command);
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    return outcome;
}

static lk_outcome ask_for_page(struct lk_service *service, const struct lk_paged *paged,
                               const struct lk_path *path, const struct lk_patience *patience,
                               void *list, char **cursor, lk_error *error) {
    struct lk_words words = {.count = 0};
    struct lk_service_answer answer;
    bool is_first = *cursor == NULL;
    lk_outcome outcome;

    lk_words_add_text(&words, paged->command);
    paged->add_path(&words, path);
    lk_words_add_number(&words, "COUNT", paged->count);
    if (!is_first) {
        lk_words_add_pair(&words, "CURSOR", lk_slice_of(*cursor));
    }
    outcome = lk_service_call(service, &words, LK_SERVICE_AGAIN, patience, &answer, error);
    if (outcome == LK_OK) {
        read_page(paged, &answer, list, cursor);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    lk_words_done(&words);
    if (outcome == LK_INVALID && is_first && paged->was_whole) {
        *cursor = strdup("0");
        return *cursor != NULL ? ask_for_all(service, paged, path, patience, list, error)
                               : lk_error_set(error, LK_INTERNAL, "no memory for a cursor");
    }
    return outcome;
}

lk_outcome lk_service_read_pages(struct lk_service *service, const struct lk_paged *paged,
                                 const struct lk_path *path, const struct lk_patience *patience,
                                 void *list, lk_error *error) {
    char *cursor = NULL;
    lk_outcome outcome;

    do {
        outcome = ask_for_page(service, paged, path, patience, list, &cursor, error);
    } while (outcome == LK_OK && strcmp(cursor, "0") != 0);
    free(cursor);
    return outcome;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the step about lists of values: each of its pages, until there is no other. */
#include <string.h>

#include "compare.h"
#include "work.h"

/* The values of a page against the lines that begin at `first`. */
static bool compare_page(struct playback *playback, const struct step *step, size_t first,
                         const lk_value_list *page, struct complaint *complaint) {
    struct comparison comparison = {.observed = &playback->observed, .stretch = playback->stretch};

    for (size_t i = 0; i < page->count; i++) {
        const struct entry_check *expected = &step->entries[first + i];
        struct observation observation = {.outcome = LK_OK,
                                          .value_size = page->values[i].size,
                                          .in_doubt = page->values[i].in_doubt};
        struct complaint inner;

        if (first + i == step->entry_count) {
            return complain(complaint, "more than %zu lines: %.100s", first + i,
                            page->values[i].path);
        }
        if (strcmp(page->values[i].path, expected->part) != 0) {
            return complain(complaint, "line %zu: expected %.100s, got %.100s", first + i + 1,
                            expected->part, page->values[i].path);
        }
        if (!compare(&comparison, &observation, expected->checks, expected->check_count, &inner)) {
            return complain(complaint, "line %zu: %.280s", first + i + 1, inner.text);
        }
    }
    return true;
}

bool value_list_play(struct playback *playback, const struct step *step, lk_store *store,
                     struct complaint *complaint) {
    const char *prefix = step->part_count > 0 ? step->parts[0] : NULL;
    lk_value_list *former = NULL;
    size_t count = 0;
    bool as_expected = true;
    bool has_more = true;

    while (as_expected && has_more) {
        lk_error error = {0};
        struct observation observation = {.error = error.text, .expires_in_ms = -1};
        lk_value_list *page = NULL;

        observation.outcome =
            lk_values(store, prefix, former != NULL ? former->reached : NULL, &page, &error);
        lk_value_list_free(former);
        former = page;
        as_expected = playback_compare(playback, step, &observation, complaint)
                      && (page == NULL || compare_page(playback, step, count, page, complaint));
        count += page != NULL ? page->count : 0;
        has_more = page != NULL && page->reached != NULL;
    }
    lk_value_list_free(former);
    return as_expected
           && (count == step->entry_count
               || complain(complaint, "expected %zu lines, got %zu", step->entry_count, count));
}

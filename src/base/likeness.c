/* SPDX-License-Identifier: Apache-2.0 */
/* Levenshtein's distance, one row at a time. */
#include "base/likeness.h"

#include <stdbool.h>
#include <string.h>

enum {
    WORD_SIZE_MAX = 32, /* longer than any known word */
    DISTANCE_MAX = 2,
    SHORT_SIZE_MAX = 4, /* of such a word two letters are half of it */
};

static size_t min(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size) {
    size_t row[WORD_SIZE_MAX + 1];

    for (size_t j = 0; j <= b_size; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_size; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = min(replaced, min(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_size];
}

/* Whether they differ by two neighbours that have changed places. */
static bool is_swapped(const char *word, size_t size, const char *known) {
    size_t at = 0;

    while (at < size && word[at] == known[at]) {
        at++;
    }
    return at + 1 < size && word[at] == known[at + 1] && word[at + 1] == known[at]
           && memcmp(word + at + 2, known + at + 2, size - at - 2) == 0;
}

size_t lk_likeness(const char *word, size_t size, const char *known) {
    size_t known_size = strlen(known);

    if (size == 0 || size > WORD_SIZE_MAX || known_size > WORD_SIZE_MAX) {
        return LK_LIKENESS_NONE;
    }
    if (size < known_size && memcmp(word, known, size) == 0) {
        return 1;
    }
    if (size == known_size && is_swapped(word, size, known)) {
        return 1;
    }
    size_t distance = edit_distance(word, size, known, known_size);
    size_t max = size <= SHORT_SIZE_MAX || known_size <= SHORT_SIZE_MAX ? 1 : DISTANCE_MAX;
    return distance <= max && distance < known_size ? distance : LK_LIKENESS_NONE;
}

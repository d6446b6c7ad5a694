/* SPDX-License-Identifier: Apache-2.0 */
/* Building text within a bound, copying it, and decoding what URLs write as %XX. */
#include "base/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lk_text lk_text_in(char *buffer, size_t capacity) {
    assert(capacity > 0);
    buffer[0] = '\0';
    return (struct lk_text){.bytes = buffer, .size = 0, .capacity = capacity, .is_cut = false};
}

void lk_text_add(struct lk_text *text, struct lk_slice piece) {
    size_t room = text->capacity - 1 - text->size;

    if (piece.size > room) {
        piece.size = room;
        text->is_cut = true;
    }
    if (piece.size > 0) {
        memcpy(text->bytes + text->size, piece.bytes, piece.size);
    }
    text->size += piece.size;
    text->bytes[text->size] = '\0';
}

void lk_text_format(struct lk_text *text, const char *format, ...) {
    size_t room = text->capacity - text->size;
    va_list arguments;
    int needed;

    va_start(arguments, format);
    needed = vsnprintf(text->bytes + text->size, room, format, arguments);
    va_end(arguments);
    if (needed < 0) {
        text->bytes[text->size] = '\0';
        text->is_cut = true;
    } else if ((size_t)needed >= room) {
        text->size = text->capacity - 1;
        text->is_cut = true;
    } else {
        text->size += (size_t)needed;
    }
}

char *lk_text_copy(struct lk_slice source) {
    char *copy = malloc(source.size + 1);

    if (copy != NULL) {
        if (source.size > 0) {
            memcpy(copy, source.bytes, source.size);
        }
        copy[source.size] = '\0';
    }
    return copy;
}

char *lk_text_make(const char *format, ...) {
    char *made = NULL;
    va_list arguments;

    va_start(arguments, format);
    if (vasprintf(&made, format, arguments) < 0) {
        made = NULL;
    }
    va_end(arguments);
    return made;
}

/* ---- text with bytes written as hexadecimal digits, as in URLs ------------------------------- */

int lk_hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool lk_percent_decode(struct lk_slice text, char *ret_text, size_t capacity) {
    size_t used = 0;

    for (size_t i = 0; i < text.size; i++) {
        char byte = text.bytes[i];

        if (byte == '%') {
            int high = i + 2 < text.size ? lk_hexadecimal(text.bytes[i + 1]) : -1;
            int low = i + 2 < text.size ? lk_hexadecimal(text.bytes[i + 2]) : -1;

            if (high < 0 || low < 0) {
                return false;
            }
            byte = (char)(high * 16 + low);
            i += 2;
        }
        if (byte == '\0' || used + 1 >= capacity) {
            return false;
        }
        ret_text[used++] = byte;
    }
    ret_text[used] = '\0';
    return true;
}

/* ---- how alike words are --------------------------------------------------------------------- */

/* Levenshtein's distance, one row at a time. */

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

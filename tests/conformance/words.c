/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a line. A '#' at the start of a word begins a comment. A quoted text may hold the
 * escapes \" \\ \n \t \xHH and \{TEXT*COUNT}, which is TEXT repeated: how a scenario
 * writes a name that is one byte too long.
 *
 * The memory is an arena of single allocations: simple, and leak checkers see into it.
 */
#include "words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

struct arena_block {
    struct arena_block *older;
    _Alignas(max_align_t) char bytes[];
};

void *arena_take(struct arena *arena, size_t size) {
    struct arena_block *block = calloc(1, sizeof *block + size);
    if (block == NULL) {
        fputs("conformance: out of memory\n", stderr);
        abort();
    }
    block->older = arena->newest;
    arena->newest = block;
    return block->bytes;
}

char *arena_copy(struct arena *arena, const char *bytes, size_t size) {
    char *copy = arena_take(arena, size + 1);
    memcpy(copy, bytes, size);
    return copy;
}

void arena_free(struct arena *arena) {
    while (arena->newest != NULL) {
        struct arena_block *block = arena->newest;
        arena->newest = block->older;
        free(block);
    }
}

/* ---- words ----------------------------------------------------------------------------------- */

bool complain(struct complaint *complaint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(complaint->text, sizeof complaint->text, format, arguments);
    va_end(arguments);
    return false;
}

struct quoted {
    char bytes[WORD_BYTES_MAX + 1];
    size_t size;
};

static bool quoted_add(struct quoted *quoted, const char *bytes, size_t size) {
    if (size > WORD_BYTES_MAX - quoted->size) {
        return false;
    }
    memcpy(quoted->bytes + quoted->size, bytes, size);
    quoted->size += size;
    return true;
}

/* Reads TEXT*COUNT} behind "\{". Returns where it ends, NULL when it is none. */
static const char *read_repeated(const char *at, struct quoted *quoted) {
    size_t size = strcspn(at, "*}\"");
    if (size == 0 || at[size] != '*') {
        return NULL;
    }
    char *end = NULL;
    unsigned long count = strtoul(at + size + 1, &end, 10);
    if (*end != '}' || count > WORD_BYTES_MAX) {
        return NULL;
    }
    for (unsigned long i = 0; i < count; i++) {
        if (!quoted_add(quoted, at, size)) {
            return NULL;
        }
    }
    return end + 1;
}

/* Reads what follows a backslash. Returns where it ends, NULL when it is no escape. */
static const char *read_escape(const char *at, struct quoted *quoted) {
    char byte = *at;
    switch (*at) {
    case '"':
    case '\\':
        break;
    case 'n':
        byte = '\n';
        break;
    case 't':
        byte = '\t';
        break;
    case 'x': {
        char digits[3] = {0};
        char *end = NULL;
        strncpy(digits, at + 1, 2);
        unsigned long value = strtoul(digits, &end, 16);
        if (end != digits + 2 || value == 0) {
            return NULL;
        }
        byte = (char)value;
        return quoted_add(quoted, &byte, 1) ? at + 3 : NULL;
    }
    case '{':
        return read_repeated(at + 1, quoted);
    default:
        return NULL;
    }
    return quoted_add(quoted, &byte, 1) ? at + 1 : NULL;
}

/* Reads a quoted text behind its opening quote. Returns where it ends, NULL with a complaint. */
static const char *read_quoted(const char *at, struct quoted *quoted, struct complaint *complaint) {
    quoted->size = 0;
    while (*at != '"') {
        const char *next;
        if (*at == '\0') {
            complain(complaint, "a quoted text does not end");
            return NULL;
        }
        if (*at == '\\') {
            next = read_escape(at + 1, quoted);
        } else {
            next = quoted_add(quoted, at, 1) ? at + 1 : NULL;
        }
        if (next == NULL) {
            complain(complaint, "unknown escape or too long a text at: %.20s", at);
            return NULL;
        }
        at = next;
    }
    return at + 1;
}

static enum word_kind kind_of(const char *bytes, size_t size) {
    if (size == 2 && memcmp(bytes, "->", 2) == 0) {
        return WORD_ARROW;
    }
    if (size == 1) {
        switch (*bytes) {
        case ',':
            return WORD_COMMA;
        case '+':
            return WORD_PLUS;
        case '|':
            return WORD_BAR;
        default:
            break;
        }
    }
    return WORD_PLAIN;
}

static bool words_add(struct words *words, enum word_kind kind, const char *text,
                      struct complaint *complaint) {
    if (words->count == WORDS_MAX) {
        return complain(complaint, "more than %d words", WORDS_MAX);
    }
    words->items[words->count++] = (struct word){.kind = kind, .text = text};
    return true;
}

/* A plain word of `size` bytes; a comma at its end is a word of its own. */
static bool words_add_plain(struct arena *arena, struct words *words, const char *bytes,
                            size_t size, struct complaint *complaint) {
    bool comma = size > 1 && bytes[size - 1] == ',';
    size_t kept = comma ? size - 1 : size;
    return words_add(words, kind_of(bytes, kept), arena_copy(arena, bytes, kept), complaint)
           && (!comma || words_add(words, WORD_COMMA, ",", complaint));
}

bool words_split(struct arena *arena, const char *line, struct words *ret_words,
                 struct complaint *complaint) {
    const char *at = line;
    ret_words->count = 0;
    ret_words->at = 0;
    for (;;) {
        at += strspn(at, " \t\r");
        if (*at == '\0' || *at == '#') {
            break;
        }
        if (*at == '"') {
            struct quoted quoted;
            at = read_quoted(at + 1, &quoted, complaint);
            if (at == NULL
                || !words_add(ret_words, WORD_QUOTED, arena_copy(arena, quoted.bytes, quoted.size),
                              complaint)) {
                return false;
            }
            if (*at == ',' && !words_add(ret_words, WORD_COMMA, ",", complaint)) {
                return false;
            }
            at += *at == ',' ? 1 : 0;
            continue;
        }
        size_t size = strcspn(at, " \t\r");
        if (!words_add_plain(arena, ret_words, at, size, complaint)) {
            return false;
        }
        at += size;
    }
    ret_words->items[ret_words->count] = (struct word){.kind = WORD_END, .text = "end of line"};
    return true;
}

const struct word *words_peek(const struct words *words) {
    return &words->items[words->at];
}

const struct word *words_next(struct words *words) {
    const struct word *word = words_peek(words);
    if (word->kind != WORD_END) {
        words->at++;
    }
    return word;
}

bool words_accept_kind(struct words *words, enum word_kind kind) {
    if (kind == WORD_END || words_peek(words)->kind != kind) {
        return false;
    }
    words->at++;
    return true;
}

bool words_accept(struct words *words, const char *text) {
    const struct word *word = words_peek(words);
    if (word->kind != WORD_PLAIN || strcmp(word->text, text) != 0) {
        return false;
    }
    words->at++;
    return true;
}

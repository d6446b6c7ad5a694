/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a scenario file as words: what README.md calls words, "quoted text", -> , + and |; and
 * the memory in which what is read of one file lives, given back all at once.
 */
#ifndef CONFORMANCE_WORDS_H
#define CONFORMANCE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* ---- memory ---------------------------------------------------------------------------------- */

struct arena_block;

struct arena {
    struct arena_block *newest; /* NULL: empty */
};

/* Zeroed memory; ends the program when there is none, for a test cannot go on without it. */
void *arena_take(struct arena *arena, size_t size);

char *arena_copy(struct arena *arena, const char *bytes, size_t size);

void arena_free(struct arena *arena);

/* ---- words ----------------------------------------------------------------------------------- */

enum {
    WORDS_MAX = 128,
    WORD_BYTES_MAX = 2048, /* after escapes; longer than anything the rules allow */
    COMPLAINT_MAX = 320,
};

enum word_kind { WORD_END, WORD_PLAIN, WORD_QUOTED, WORD_ARROW, WORD_COMMA, WORD_PLUS, WORD_BAR };

struct word {
    enum word_kind kind;
    const char *text; /* without quotes and escapes; never NULL */
};

struct words {
    struct word items[WORDS_MAX + 1]; /* ended by WORD_END */
    size_t count;
    size_t at; /* the reader's place */
};

/* What is wrong with a line, for its author. */
struct complaint {
    char text[COMPLAINT_MAX];
};

/* Fills the complaint; always false, so that it can be returned. */
bool complain(struct complaint *complaint, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Splits `line`; false with a complaint when it is not made of words. */
bool words_split(struct arena *arena, const char *line, struct words *ret_words,
                 struct complaint *complaint);

/* The word at the reader's place. */
const struct word *words_peek(const struct words *words);

/* The same, and steps over it; stays at WORD_END. */
const struct word *words_next(struct words *words);

/* Steps over the plain word `text` if it comes next. */
bool words_accept(struct words *words, const char *text);

/* Steps over a word of this kind if it comes next. */
bool words_accept_kind(struct words *words, enum word_kind kind);

#endif

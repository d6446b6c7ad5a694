/* SPDX-License-Identifier: Apache-2.0 */
/* The name of the program, and texts that tell it. */
#include "base/program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program_name.h"

enum { NAME_MAX_BYTES = 64 };

static const char *program = LK_PROGRAM_NAME;

const char *lk_program(void) {
    return program;
}

static bool is_name(const char *text) {
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t size = strlen(text);

    return size > 0 && size <= NAME_MAX_BYTES && strchr(first, text[0]) != NULL
           && strspn(text, "._+-"
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
                  == size;
}

void lk_program_set(const char *argv0) {
    const char *slash = argv0 != NULL ? strrchr(argv0, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : argv0;

    if (name != NULL && is_name(name)) {
        program = name;
    }
}

/* Whether the `lk` here is a word: not lk://, not locks/lk.sock, not lk_acquire(). */
static bool is_word(const char *text, const char *lk) {
    const char *next = lk + 2;

    if (lk > text && strchr(" \n\t'\"`(", lk[-1]) == NULL) {
        return false;
    }
    next += *next == '.' || *next == ':' ? 1 : 0;
    return *next == '\0' || strchr(next > lk + 2 ? " \n" : " \n,;)'\"`", *next) != NULL;
}

char *lk_program_in(const char *text) {
    char *named = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&named, &size);
    const char *rest = text;

    if (out == NULL) {
        return NULL;
    }
    for (const char *lk = strstr(text, "lk"); lk != NULL; lk = strstr(lk + 2, "lk")) {
        if (is_word(text, lk)) {
            (void)fprintf(out, "%.*s%s", (int)(lk - rest), rest, program);
            rest = lk + 2;
        }
    }
    (void)fputs(rest, out);
    if (fclose(out) != 0) {
        free(named);
        return NULL;
    }
    return named;
}

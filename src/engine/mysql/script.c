/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits the script into statements. Only the syntax that the project's own script uses is
 * supported.
 */
#include "engine/mysql/script.h"

#include <ctype.h>

/* Removes a line, with its line end, and returns it. */
static struct lk_slice next_line(struct lk_slice *text) {
    const char *end = memchr(text->bytes, '\n', text->size);
    size_t size = end != NULL ? (size_t)(end - text->bytes) + 1 : text->size;
    struct lk_slice line = {text->bytes, size};

    text->bytes += size;
    text->size -= size;
    return line;
}

static bool begins_with(struct lk_slice text, const char *word) {
    size_t size = strlen(word);

    return text.size >= size && memcmp(text.bytes, word, size) == 0;
}

/* A blank line, a comment, or a line for the client. */
static bool is_nothing(struct lk_slice line) {
    return line.size == 0 || line.bytes[0] == '\n' || begins_with(line, "--")
           || begins_with(line, "DELIMITER");
}

bool lk_mysql_script_next(struct lk_slice *script, struct lk_slice *ret_statement) {
    struct lk_slice statement = {NULL, 0};

    while (script->size > 0) {
        struct lk_slice line = next_line(script);
        if (begins_with(line, "//")) {
            if (statement.bytes != NULL) {
                *ret_statement = statement;
                return true;
            }
        } else if (statement.bytes != NULL) {
            statement.size = (size_t)(line.bytes + line.size - statement.bytes);
        } else if (!is_nothing(line)) {
            statement = line;
        }
    }
    return false;
}

/* ---- what is created ------------------------------------------------------------------------- */

static struct lk_slice next_word(struct lk_slice *text) {
    struct lk_slice word;

    while (text->size > 0 && isspace((unsigned char)text->bytes[0])) {
        text->bytes++;
        text->size--;
    }
    word = (struct lk_slice){text->bytes, 0};
    while (word.size < text->size && !isspace((unsigned char)word.bytes[word.size])
           && word.bytes[word.size] != '(') {
        word.size++;
    }
    text->bytes += word.size;
    text->size -= word.size;
    return word;
}

static bool is_kind(struct lk_slice word) {
    return lk_slice_equal(word, lk_slice_of("TABLE")) || lk_slice_equal(word, lk_slice_of("VIEW"))
           || lk_slice_equal(word, lk_slice_of("PROCEDURE"))
           || lk_slice_equal(word, lk_slice_of("FUNCTION"));
}

bool lk_mysql_script_creates(struct lk_slice statement, struct lk_slice *ret_kind,
                             struct lk_slice *ret_name) {
    struct lk_slice word = next_word(&statement);

    if (!lk_slice_equal(word, lk_slice_of("CREATE"))) {
        return false;
    }
    while (word.size > 0 && !is_kind(word)) {
        word = next_word(&statement);
    }
    if (word.size == 0) {
        return false;
    }
    *ret_kind = word;
    word = next_word(&statement);
    if (lk_slice_equal(word, lk_slice_of("IF"))) {
        (void)next_word(&statement); /* NOT */
        (void)next_word(&statement); /* EXISTS */
        word = next_word(&statement);
    }
    *ret_name = word;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads columns. The form of a procedure's answer is trusted, its length never is. */
#include "engine/procedures/rows.h"

#include <stdlib.h>

#include "base/text.h"

/* ---- rows ------------------------------------------------------------------------------------ */

struct lk_rows *lk_rows_new(int count, int column_count) {
    size_t cell_count = (size_t)count * (size_t)column_count; /* each below 2^31 */
    struct lk_rows *rows;

    if (cell_count > (SIZE_MAX - sizeof *rows) / sizeof rows->cells[0]) {
        return NULL;
    }
    rows = calloc(1, sizeof *rows + cell_count * sizeof rows->cells[0]);
    if (rows != NULL) {
        rows->count = count;
        rows->column_count = column_count;
    }
    return rows;
}

void lk_rows_free(struct lk_rows *rows) {
    if (rows != NULL && rows->free_source != NULL) {
        rows->free_source(rows->source);
    }
    free(rows);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static struct lk_slice cell(const struct lk_rows *rows, int row, int column) {
    if (row >= rows->count || column >= rows->column_count) {
        return (struct lk_slice){NULL, 0};
    }
    return rows->cells[(size_t)row * (size_t)rows->column_count + (size_t)column];
}

struct lk_slice lk_row_text(const struct lk_rows *rows, int row, int column) {
    struct lk_slice text = cell(rows, row, column);

    return text.bytes != NULL ? text : (struct lk_slice){"", 0};
}

int64_t lk_row_integer(const struct lk_rows *rows, int row, int column) {
    return strtoll(lk_row_text(rows, row, column).bytes, NULL, 10);
}

bool lk_row_boolean(const struct lk_rows *rows, int row, int column) {
    char first = lk_row_text(rows, row, column).bytes[0];

    return first == 't' || first == '1';
}

bool lk_row_is_null(const struct lk_rows *rows, int row, int column) {
    return cell(rows, row, column).bytes == NULL;
}

void *lk_row_bytes(const struct lk_rows *rows, int row, int column, size_t *ret_size) {
    struct lk_slice text = lk_row_text(rows, row, column);
    void *copy;

    if (rows->decode != NULL) {
        return rows->decode(text, ret_size);
    }
    copy = lk_text_copy(text);
    if (copy != NULL) {
        *ret_size = text.size;
    }
    return copy;
}

lk_outcome lk_row_outcome(const struct lk_rows *rows, int row, int column) {
    struct lk_slice name = lk_row_text(rows, row, column);

    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        if (lk_slice_equal(name, lk_slice_of(lk_outcome_name((lk_outcome)outcome)))) {
            return (lk_outcome)outcome;
        }
    }
    return LK_INTERNAL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Reads four hexadecimal digits; fewer give a value that is no character. */
static uint32_t read_hex(const char *at) {
    char digits[5] = "";

    for (size_t i = 0; i < 4 && at[i] != '\0'; i++) {
        digits[i] = at[i];
    }
    return (uint32_t)strtoul(digits, NULL, 16);
}

static char *put_character(char *end, uint32_t character) {
    if (character < 0x80) {
        *end++ = (char)character;
    } else if (character < 0x800) {
        *end++ = (char)(0xC0 | (character >> 6));
        *end++ = (char)(0x80 | (character & 0x3F));
    } else {
        *end++ = (char)(0xE0 | (character >> 12));
        *end++ = (char)(0x80 | ((character >> 6) & 0x3F));
        *end++ = (char)(0x80 | (character & 0x3F));
    }
    return end;
}

/*
 * Decodes the escape sequence after a backslash, at *from, into `end`; the result is never longer
 * than the sequence. Databases escape only control characters in JSON; a character beyond 16 bits
 * is written unescaped.
 */
static char *unescape(enum lk_list_form form, char **from, char *end) {
    static const char letters[] = "bfnrt";
    static const char meant[] = "\b\f\n\r\t";
    const char *letter = form == LK_LISTS_WORDS ? strchr(letters, **from) : NULL;

    if (form == LK_LISTS_WORDS && **from == 'u' && strnlen(*from, 5) == 5) {
        end = put_character(end, read_hex(*from + 1));
        *from += 5;
        return end;
    }
    *end++ = letter != NULL ? meant[letter - letters] : **from;
    (*from)++;
    return end;
}

/* Unescapes one element in place; returns the position after it. */
static char *read_element(enum lk_list_form form, char *at, struct lk_slice *ret_element) {
    char *end = at;
    char *from = at;

    if (*from == '"') {
        from++;
        while (*from != '"' && *from != '\0') {
            if (*from == '\\' && from[1] != '\0') {
                from++;
                end = unescape(form, &from, end);
            } else {
                *end++ = *from++;
            }
        }
        from += *from == '"';
    } else {
        while (*from != '\0' && strchr(",]}", *from) == NULL) {
            *end++ = *from++;
        }
    }
    *ret_element = (struct lk_slice){at, (size_t)(end - at)};
    return from;
}

bool lk_row_list(const struct lk_rows *rows, int row, int column, struct lk_slice *ret_elements,
                 size_t max, size_t *ret_count, char **ret_text) {
    char *text = lk_text_copy(lk_row_text(rows, row, column));
    size_t count = 0;
    char *at;

    if (text == NULL) {
        return false;
    }
    at = text + (text[0] == '{' || text[0] == '[');
    while (*at != '\0' && *at != '}' && *at != ']' && count < max) {
        char *behind = read_element(rows->lists, at, &ret_elements[count++]);
        bool is_last = *behind != ',';
        *(char *)(ret_elements[count - 1].bytes + ret_elements[count - 1].size) = '\0';
        if (is_last) {
            break;
        }
        at = behind + 1;
        at += strspn(at, " ");
    }
    *ret_count = count;
    *ret_text = text;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading columns. What the procedures answer is trusted in form, but never in length. */
#include "engine/postgresql/rows.h"

#include <stdlib.h>

#include "engine/bytes.h"

struct lk_slice lk_row_text(const PGresult *result, int row, int column) {
    return (struct lk_slice){PQgetvalue(result, row, column),
                             (size_t)PQgetlength(result, row, column)};
}

int64_t lk_row_integer(const PGresult *result, int row, int column) {
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

bool lk_row_boolean(const PGresult *result, int row, int column) {
    return PQgetvalue(result, row, column)[0] == 't';
}

bool lk_row_is_null(const PGresult *result, int row, int column) {
    return PQgetisnull(result, row, column) != 0;
}

void *lk_row_bytes(const PGresult *result, int row, int column, size_t *ret_size) {
    size_t size = 0;
    const char *text = PQgetvalue(result, row, column);
    unsigned char *bytes = PQunescapeBytea((const unsigned char *)text, &size);
    void *copy = NULL;

    if (bytes != NULL) {
        copy = lk_bytes_copy_with_end((struct lk_slice){(const char *)bytes, size});
        *ret_size = size;
    }
    PQfreemem(bytes);
    return copy;
}

lk_outcome lk_row_outcome(const PGresult *result, int row, int column) {
    struct lk_slice name = lk_row_text(result, row, column);

    for (int outcome = 0; outcome < LK_OUTCOME_COUNT; outcome++) {
        if (lk_slice_equal(name, lk_slice_of(lk_outcome_name((lk_outcome)outcome)))) {
            return (lk_outcome)outcome;
        }
    }
    return LK_INTERNAL;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Unescapes one element in place; returns what is behind it. */
static char *read_element(char *at, struct lk_slice *ret_element) {
    char *end = at;
    char *from = at;

    if (*from == '"') {
        from++;
        while (*from != '"' && *from != '\0') {
            from += *from == '\\' && from[1] != '\0';
            *end++ = *from++;
        }
        from += *from == '"';
    } else {
        while (*from != ',' && *from != '}' && *from != '\0') {
            *end++ = *from++;
        }
    }
    *ret_element = (struct lk_slice){at, (size_t)(end - at)};
    return from;
}

bool lk_row_array(const PGresult *result, int row, int column, struct lk_slice *ret_elements,
                  size_t max, size_t *ret_count, char **ret_text) {
    struct lk_slice source = lk_row_text(result, row, column);
    char *text = lk_bytes_copy_with_end(source);
    size_t count = 0;
    char *at;

    if (text == NULL) {
        return false;
    }
    at = text + (text[0] == '{');
    while (*at != '\0' && *at != '}' && count < max) {
        char *behind = read_element(at, &ret_elements[count++]);
        bool is_last = *behind != ',';
        *(char *)(ret_elements[count - 1].bytes + ret_elements[count - 1].size) = '\0';
        if (is_last) {
            break;
        }
        at = behind + 1;
    }
    *ret_count = count;
    *ret_text = text;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a name in SQL text. */
#include "sql/rename.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The next position where it begins a word; NULL: there is none. */
static const char *find(const char *text, const char *from, const char *beginning) {
    const char *at = strstr(from, beginning);

    while (at != NULL && at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) {
        at = strstr(at + 1, beginning);
    }
    return at;
}

char *lk_sql_rename(const char *text, const char *beginning, const char *name) {
    size_t name_size = strlen(name);
    size_t beginning_size = strlen(beginning);
    size_t count = 0;
    const char *at = text;
    char *result;
    char *end;

    for (const char *next = find(text, text, beginning); next != NULL;
         next = find(text, next + beginning_size, beginning)) {
        count++;
    }
    result = malloc(strlen(text) + count * name_size + 1);
    if (result == NULL) {
        return NULL;
    }
    end = result;
    for (const char *next = find(text, at, beginning); next != NULL;
         next = find(text, at, beginning)) {
        memcpy(end, at, (size_t)(next - at));
        end += next - at;
        memcpy(end, name, name_size);
        end += name_size;
        at = next + beginning_size;
    }
    memcpy(end, at, strlen(at) + 1);
    return result;
}

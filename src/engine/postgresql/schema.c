/* SPDX-License-Identifier: Apache-2.0 */
/* Another schema's name in the text: it stands wherever the word `lockkeeper` does. */
#include "engine/postgresql/schema.h"

#include <stdlib.h>
#include <string.h>

static const char word[] = "lockkeeper";

static size_t count_words(const char *text) {
    size_t count = 0;

    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

char *lk_postgresql_schema_for(const char *text, const char *schema) {
    size_t name_size = strlen(schema);
    size_t word_size = sizeof word - 1;
    char *result = malloc(strlen(text) + count_words(text) * name_size + 1);
    char *end = result;
    const char *at = text;

    if (result == NULL) {
        return NULL;
    }
    for (const char *next = strstr(at, word); next != NULL; next = strstr(at, word)) {
        memcpy(end, at, (size_t)(next - at));
        end += next - at;
        memcpy(end, schema, name_size);
        end += name_size;
        at = next + word_size;
    }
    memcpy(end, at, strlen(at) + 1);
    return result;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the fields of an answer to INFO. */
#include "engine/service/info.h"

#include <stdlib.h>
#include <string.h>

struct lk_slice lk_service_info_text(struct lk_slice info, const char *name) {
    size_t name_size = strlen(name);

    while (info.size > 0) {
        const char *end = memchr(info.bytes, '\n', info.size);
        size_t size = end != NULL ? (size_t)(end - info.bytes) : info.size;
        size_t line = size > 0 && info.bytes[size - 1] == '\r' ? size - 1 : size;

        if (line > name_size && memcmp(info.bytes, name, name_size) == 0
            && info.bytes[name_size] == ':') {
            return (struct lk_slice){info.bytes + name_size + 1, line - name_size - 1};
        }
        info.bytes += size + (end != NULL);
        info.size -= size + (end != NULL);
    }
    return (struct lk_slice){.size = 0};
}

int64_t lk_service_info_number(struct lk_slice info, const char *name, int64_t otherwise) {
    struct lk_slice text = lk_service_info_text(info, name);
    char digits[24];

    if (text.size == 0 || text.size >= sizeof digits) {
        return otherwise;
    }
    memcpy(digits, text.bytes, text.size);
    digits[text.size] = '\0';
    return strtoll(digits, NULL, 10);
}

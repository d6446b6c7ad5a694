/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that should be text as text that is: JSON strings of whatever a store may hold. */
#include <stdlib.h>
#include <string.h>

#include "form/form.h"
#include "model/utf8.h"

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
enum { REPLACEMENT_SIZE = sizeof replacement - 1 };

json_t *lk_form_text(const char *text) {
    size_t size = strlen(text);
    if (size > SIZE_MAX / REPLACEMENT_SIZE - 1) {
        return NULL;
    }
    char *clean = malloc(size * REPLACEMENT_SIZE + 1);
    if (clean == NULL) {
        return NULL;
    }
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        uint32_t character;
        size_t taken = lk_utf8_decode(text + at, size - at, &character);
        if (taken > 0) {
            memcpy(clean + used, text + at, taken);
            used += taken;
            at += taken;
        } else {
            memcpy(clean + used, replacement, REPLACEMENT_SIZE);
            used += REPLACEMENT_SIZE;
            at++;
        }
    }
    json_t *string = json_stringn(clean, used);
    free(clean);
    return string;
}

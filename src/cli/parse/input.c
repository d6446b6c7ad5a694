/* SPDX-License-Identifier: Apache-2.0 */
/* Reading values, never more than one byte beyond what a value may have. */
#include "cli/parse/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/sentences.h"

static lk_outcome read_stream(FILE *stream, const char *name, struct lk_input *ret_input,
                              lk_error *error) {
    char *bytes = malloc(LK_VALUE_MAX + 1);
    size_t size;

    if (bytes == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    size = fread(bytes, 1, LK_VALUE_MAX + 1, stream);
    if (ferror(stream) != 0) {
        free(bytes);
        return lk_error_set(error, LK_INVALID, "cannot read %s: %s", name, strerror(errno));
    }
    if (size > LK_VALUE_MAX) {
        free(bytes);
        return lk_error_set(error, LK_INVALID, "R15: a value has at most %d bytes: %s has more",
                            LK_VALUE_MAX, name);
    }
    *ret_input = (struct lk_input){bytes, size};
    return LK_OK;
}

lk_outcome lk_input_text(const char *text, struct lk_input *ret_input, lk_error *error) {
    return strcmp(text, "-") == 0 ? read_stream(stdin, "stdin", ret_input, error)
                                  : lk_input_word(text, ret_input, error);
}

lk_outcome lk_input_word(const char *text, struct lk_input *ret_input, lk_error *error) {
    size_t size = strlen(text);
    char *bytes;

    if (size > LK_VALUE_MAX) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_VALUE, LK_VALUE_MAX, size);
    }
    bytes = strdup(text);
    if (bytes == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    *ret_input = (struct lk_input){bytes, size};
    return LK_OK;
}

lk_outcome lk_input_file(const char *path, struct lk_input *ret_input, lk_error *error) {
    lk_outcome outcome;
    FILE *stream;

    if (strcmp(path, "-") == 0) {
        return read_stream(stdin, "stdin", ret_input, error);
    }
    stream = fopen(path, "re");
    if (stream == NULL) {
        return lk_error_set(error, LK_INVALID, "cannot open %s: %s", path, strerror(errno));
    }
    outcome = read_stream(stream, path, ret_input, error);
    (void)fclose(stream);
    return outcome;
}

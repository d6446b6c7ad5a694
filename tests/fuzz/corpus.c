/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a corpus. */
#include "corpus.h"

#include <string.h>
#include <sys/types.h>

_Noreturn static void give_up(const char *what, const char *place) {
    (void)fprintf(stderr, "fuzz: %s: %s\n", place, what);
    exit(EXIT_FAILURE);
}

static int digit_of(char letter) {
    static const char digits[] = "0123456789abcdef";
    const char *found = letter != '\0' ? strchr(digits, letter) : NULL;

    return found != NULL ? (int)(found - digits) : -1;
}

long corpus_from_hex(const char *hex, size_t digits, uint8_t ret_bytes[FUZZ_INPUT_MAX]) {
    if (digits % 2 != 0 || digits / 2 > FUZZ_INPUT_MAX) {
        return -1;
    }
    for (size_t i = 0; i < digits / 2; i++) {
        int high = digit_of(hex[2 * i]);
        int low = digit_of(hex[2 * i + 1]);

        if (high < 0 || low < 0) {
            return -1;
        }
        ret_bytes[i] = (uint8_t)(high << 4 | low);
    }
    return (long)(digits / 2);
}

static void add_input(struct corpus *corpus, const char *place, const char *line, size_t digits) {
    static uint8_t bytes[FUZZ_INPUT_MAX];
    struct corpus_input *input = &corpus->inputs[corpus->count];
    long size = corpus_from_hex(line, digits, bytes);

    if (size < 0) {
        give_up("is no input in hexadecimal, or longer than any target looks at", place);
    }
    if (corpus->count == CORPUS_INPUTS_MAX) {
        give_up("is one too many", place);
    }
    input->bytes = malloc((size_t)size + 1);
    if (input->bytes == NULL) {
        give_up("memory is exhausted", place);
    }
    memcpy(input->bytes, bytes, (size_t)size);
    input->size = (size_t)size;
    (void)snprintf(input->place, sizeof input->place, "%s", place);
    corpus->count++;
}

void corpus_read(struct corpus *corpus, const char *file) {
    FILE *lines = fopen(file, "re");
    char place[CORPUS_PLACE_BYTES];
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;

    if (lines == NULL) {
        give_up("cannot be opened", file);
    }
    for (unsigned number = 1; (size = getline(&line, &capacity, lines)) > 0; number++) {
        (void)snprintf(place, sizeof place, "%s:%u", file, number);
        add_input(corpus, place, line, (size_t)size - (line[size - 1] == '\n'));
    }
    free(line);
    if (ferror(lines) != 0 || fclose(lines) != 0) {
        give_up("cannot be read", file);
    }
}

void corpus_free(struct corpus *corpus) {
    for (size_t i = 0; i < corpus->count; i++) {
        free(corpus->inputs[i].bytes);
    }
    corpus->count = 0;
}

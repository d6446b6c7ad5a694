/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a corpus. */
#include "corpus.h"

#include <dirent.h>
#include <string.h>

_Noreturn static void give_up(const char *what, const char *name) {
    (void)fprintf(stderr, "fuzz: %s: %s\n", name, what);
    exit(EXIT_FAILURE);
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Takes over the file's name. */
static void read_input(struct corpus *corpus, char *name) {
    static uint8_t bytes[FUZZ_INPUT_MAX + 1];
    FILE *file = fopen(name, "rb");
    size_t size;
    uint8_t *copy;

    if (file == NULL) {
        give_up("cannot be opened", name);
    }
    size = fread(bytes, 1, sizeof bytes, file);
    if (ferror(file) != 0 || fclose(file) != 0) {
        give_up("cannot be read", name);
    }
    if (size > FUZZ_INPUT_MAX) {
        give_up("is longer than any target looks at", name);
    }
    if (corpus->count == CORPUS_INPUTS_MAX) {
        give_up("is one too many", name);
    }
    copy = malloc(size + 1);
    if (copy == NULL) {
        give_up("memory is exhausted", name);
    }
    memcpy(copy, bytes, size);
    corpus->inputs[corpus->count++] =
        (struct corpus_input){.file = name, .size = size, .bytes = copy};
}

void corpus_read(struct corpus *corpus, const char *directory) {
    struct dirent **entries;
    int count = scandir(directory, &entries, is_visible, alphasort);

    if (count < 0) {
        give_up("is no directory that can be read", directory);
    }
    for (int i = 0; i < count; i++) {
        char *name;
        if (asprintf(&name, "%s/%s", directory, entries[i]->d_name) < 0) {
            give_up("memory is exhausted", directory);
        }
        read_input(corpus, name);
        free(entries[i]);
    }
    free(entries);
}

void corpus_free(struct corpus *corpus) {
    for (size_t i = 0; i < corpus->count; i++) {
        free(corpus->inputs[i].file);
        free(corpus->inputs[i].bytes);
    }
    corpus->count = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a corpus, and the usual changes of a fuzzer that sees nothing of what they lead to. */
#include <string.h>
#include <sys/types.h>

#include "target.h"

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

/* ---- inputs made of others ------------------------------------------------------------------- */

enum { CHANGES_MAX_LOG2 = 4, CHUNK_MAX = 64 };

struct draft {
    uint8_t *bytes;
    size_t size;
    struct lk_random *random;
};

static size_t below(struct lk_random *random, size_t bound) {
    return (size_t)lk_random_between(random, 0, (int64_t)bound - 1);
}

/* Bytes at which texts and numbers turn into others. */
static uint8_t odd_byte(struct lk_random *random) {
    static const uint8_t odd[] = {0,   1,   9,   10,  32,  0x7f, 0x80, 0xbf, 0xc0, 0xe2,
                                  255, '-', '.', '/', '0', '9',  '=',  '?',  '&',  ':'};

    return odd[below(random, sizeof odd)];
}

/* Puts `size` bytes at `at`, as far as there is room; the source may be the draft itself. */
static void insert(struct draft *draft, size_t at, const uint8_t *source, size_t size) {
    uint8_t chunk[CHUNK_MAX];
    size_t room = FUZZ_INPUT_MAX - draft->size;

    size = size < room ? size : room;
    memcpy(chunk, source, size);
    memmove(draft->bytes + at + size, draft->bytes + at, draft->size - at);
    memcpy(draft->bytes + at, chunk, size);
    draft->size += size;
}

static void insert_byte(struct draft *draft) {
    uint8_t byte = odd_byte(draft->random);

    insert(draft, below(draft->random, draft->size + 1), &byte, 1);
}

/* A run of another input, or of the same one. */
static void insert_chunk(struct draft *draft, const uint8_t *source, size_t source_size) {
    size_t from;
    size_t size;

    if (source_size == 0) {
        return;
    }
    from = below(draft->random, source_size);
    size = 1 + below(draft->random, source_size - from);
    insert(draft, below(draft->random, draft->size + 1), source + from,
           size < CHUNK_MAX ? size : CHUNK_MAX);
}

static void cut(struct draft *draft) {
    size_t at = below(draft->random, draft->size);
    size_t size = 1 + below(draft->random, draft->size - at);

    memmove(draft->bytes + at, draft->bytes + at + size, draft->size - at - size);
    draft->size -= size;
}

static void change(struct draft *draft, const struct corpus_input *other) {
    uint8_t *byte;

    if (draft->size == 0) {
        insert_byte(draft);
        return;
    }
    byte = &draft->bytes[below(draft->random, draft->size)];
    switch (below(draft->random, 8)) {
    case 0:
        *byte = (uint8_t)(*byte ^ (1u << below(draft->random, 8)));
        break;
    case 1:
        *byte = (uint8_t)lk_random_next(draft->random);
        break;
    case 2:
        *byte = odd_byte(draft->random);
        break;
    case 3:
        *byte = (uint8_t)(*byte + below(draft->random, 9) - 4);
        break;
    case 4:
        insert_byte(draft);
        break;
    case 5:
        cut(draft);
        break;
    case 6:
        insert_chunk(draft, draft->bytes, draft->size);
        break;
    default:
        insert_chunk(draft, other->bytes, other->size);
        break;
    }
}

size_t mutate(const struct corpus *corpus, struct lk_random *random,
              uint8_t bytes[FUZZ_INPUT_MAX]) {
    const struct corpus_input *base = &corpus->inputs[below(random, corpus->count)];
    struct draft draft = {.bytes = bytes, .size = base->size, .random = random};
    size_t changes = (size_t)1 << below(random, CHANGES_MAX_LOG2 + 1);

    memcpy(bytes, base->bytes, base->size);
    for (size_t i = 0; i < changes; i++) {
        change(&draft, &corpus->inputs[below(random, corpus->count)]);
    }
    return draft.size;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as arrays of strings, the way every client of the Redis protocol sends them. */
#include "engine/service/command_builder.h"

#include "base/text.h"
#include "wire/resp.h"

enum { PART_BYTES_MAX = LK_PATH_BYTES_MAX + sizeof "?limit=2147483647&units=2147483647" };

void lk_words_done(struct lk_words *words) {
    lk_buffer_done(&words->bytes);
    *words = (struct lk_words){.count = 0};
}

void lk_words_add(struct lk_words *words, struct lk_slice word) {
    lk_resp_put_bulk(&words->bytes, word);
    words->count++;
}

void lk_words_add_text(struct lk_words *words, const char *word) {
    lk_words_add(words, lk_slice_of(word));
}

void lk_words_add_pair(struct lk_words *words, const char *name, struct lk_slice value) {
    lk_words_add_text(words, name);
    lk_words_add(words, value);
}

void lk_words_add_number(struct lk_words *words, const char *name, int64_t number) {
    char digits[LK_NUMBER_BYTES_MAX];

    lk_words_add_pair(words, name,
                      (struct lk_slice){.bytes = digits, .size = lk_number_write(digits, number)});
}

void lk_words_add_number_if_any(struct lk_words *words, const char *name, int64_t number) {
    if (number != 0) {
        lk_words_add_number(words, name, number);
    }
}

void lk_words_add_path(struct lk_words *words, const struct lk_path *path) {
    lk_words_add(words, (struct lk_slice){.bytes = path->bytes, .size = path->size});
}

void lk_words_add_prefix(struct lk_words *words, const struct lk_path *path) {
    char bytes[LK_PATH_BYTES_MAX + 2];

    if (path != NULL) {
        struct lk_text text = lk_text_in(bytes, sizeof bytes);
        lk_text_format(&text, "/%.*s", (int)path->size, path->bytes);
        lk_words_add_text(words, bytes);
    }
}

void lk_words_add_part(struct lk_words *words, const struct lk_part *part) {
    char bytes[PART_BYTES_MAX];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);

    lk_text_add(&text, (struct lk_slice){.bytes = part->path.bytes, .size = part->path.size});
    if (part->mode == LK_SHARED && part->limit == 0) {
        lk_text_format(&text, "?shared");
    } else if (part->mode == LK_SHARED) {
        lk_text_format(&text, "?limit=%u&units=%u", part->limit, part->units);
    }
    lk_words_add_text(words, bytes);
}

void lk_words_add_parts(struct lk_words *words, const struct lk_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            lk_words_add_text(words, "ALSO");
        }
        lk_words_add_part(words, &parts[i]);
    }
}

void lk_words_add_paths(struct lk_words *words, const struct lk_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            lk_words_add_text(words, "ALSO");
        }
        lk_words_add_path(words, &parts[i].path);
    }
}

bool lk_words_end(struct lk_words *words, struct lk_slice *ret_bytes) {
    if (!words->is_ended) {
        lk_resp_insert_array(&words->bytes, 0, words->count);
        words->is_ended = true;
    }
    *ret_bytes = (struct lk_slice){.bytes = words->bytes.bytes, .size = words->bytes.size};
    return !words->bytes.failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Parts (R2): PATH[?shared][?limit=N[&units=U]] or PATH?strict, each word at most once. */
#include "model/part.h"

#include <stdio.h>

#include "base/error.h"
#include "model/sentences.h"

/* The words behind the path: which were given, and their numbers. */
struct words {
    bool shared;
    bool strict;
    uint32_t limit; /* 0: unsaid */
    uint32_t units; /* 0: unsaid */
};

static lk_outcome refuse(lk_error *error, size_t at, const char *rule) {
    return lk_error_set(error, LK_INVALID, LK_TEXT_PART, rule, at + 1);
}

static bool starts_with(struct lk_slice text, const char *word) {
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.bytes, word, size) == 0;
}

/* A decimal number from 1 to LK_LIMIT_MAX; 0 if it is none. */
static uint32_t parse_number(struct lk_slice digits) {
    uint64_t number = 0;

    if (digits.size == 0 || digits.size > 10) {
        return 0;
    }
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.bytes[i] < '0' || digits.bytes[i] > '9') {
            return 0;
        }
        number = number * 10 + (uint64_t)(digits.bytes[i] - '0');
    }
    return number <= LK_LIMIT_MAX ? (uint32_t)number : 0;
}

/* Reads one `name=N` word into *number, which must still be 0. */
static lk_outcome parse_numbered(struct lk_slice word, size_t name_size, size_t at,
                                 uint32_t *number, lk_error *error) {
    struct lk_slice digits = {word.bytes + name_size, word.size - name_size};
    uint32_t value = parse_number(digits);

    if (*number != 0) {
        return refuse(error, at, LK_TEXT_NUMBER_TWICE);
    }
    if (value == 0) {
        return refuse(error, at + name_size, LK_TEXT_NUMBER);
    }
    *number = value;
    return LK_OK;
}

static lk_outcome parse_word(struct lk_slice word, size_t at, struct words *words,
                             lk_error *error) {
    if (lk_slice_equal(word, lk_slice_of("shared"))) {
        if (words->shared) {
            return refuse(error, at, LK_TEXT_SHARED_TWICE);
        }
        words->shared = true;
        return LK_OK;
    }
    if (lk_slice_equal(word, lk_slice_of("strict"))) {
        if (words->strict) {
            return refuse(error, at, LK_TEXT_STRICT_TWICE);
        }
        words->strict = true;
        return LK_OK;
    }
    if (starts_with(word, "limit=")) {
        return parse_numbered(word, strlen("limit="), at, &words->limit, error);
    }
    if (starts_with(word, "units=")) {
        return parse_numbered(word, strlen("units="), at, &words->units, error);
    }
    return refuse(error, at, LK_TEXT_PART_WORDS);
}

/* Parses everything behind the first '?', which is at text.bytes[at - 1]. */
static lk_outcome parse_words(struct lk_slice text, size_t at, struct words *words,
                              lk_error *error) {
    for (;;) {
        size_t end = at;
        struct lk_slice word;
        while (end < text.size && text.bytes[end] != '?' && text.bytes[end] != '&') {
            end++;
        }
        word = (struct lk_slice){text.bytes + at, end - at};
        if (parse_word(word, at, words, error) != LK_OK) {
            return LK_INVALID;
        }
        if (end == text.size) {
            break;
        }
        at = end + 1;
    }
    if (words->units != 0 && words->limit == 0) {
        return refuse(error, text.size - 1, LK_TEXT_UNITS_ALONE);
    }
    return LK_OK;
}

/* Fills in the defaults, and checks that the words fit together. */
static lk_outcome complete(const struct words *said, const struct lk_part_defaults *defaults,
                           struct lk_part *part, lk_error *error) {
    static const struct lk_part_defaults none = {.shared = false};
    const struct lk_part_defaults *unsaid = defaults != NULL ? defaults : &none;
    uint32_t limit = said->limit != 0 ? said->limit : unsaid->limit;
    uint32_t units = said->units != 0 ? said->units : unsaid->units;
    bool shared = said->shared || unsaid->shared || limit != 0;

    if (said->strict && shared) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_STRICT_EXCLUSIVE);
    }
    if (units != 0 && limit == 0) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_UNITS_NEED_LIMIT);
    }
    if (limit > LK_LIMIT_MAX || units > LK_LIMIT_MAX) {
        return lk_error_set(error, LK_INVALID, "R2: limit and units go up to %d", LK_LIMIT_MAX);
    }
    if (limit != 0 && units > limit) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_UNITS_FIT, units, limit);
    }
    part->mode = shared ? LK_SHARED : LK_EXCLUSIVE;
    part->limit = limit;
    part->units = !shared ? 0 : units != 0 ? units : 1;
    part->strict = said->strict;
    return LK_OK;
}

static lk_outcome parse(struct lk_slice text, const struct lk_part_defaults *defaults,
                        struct lk_part *ret_part, lk_error *error) {
    const char *mark = text.size > 0 ? memchr(text.bytes, '?', text.size) : NULL;
    struct lk_slice path = text;
    struct words words = {.shared = false};
    struct lk_part part;

    if (mark != NULL) {
        path.size = (size_t)(mark - text.bytes);
    }
    if (lk_path_parse(path, &part.path, error) != LK_OK) {
        return LK_INVALID;
    }
    if (mark != NULL && parse_words(text, path.size + 1, &words, error) != LK_OK) {
        return LK_INVALID;
    }
    if (complete(&words, defaults, &part, error) != LK_OK) {
        return LK_INVALID;
    }
    *ret_part = part;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_part_parse(struct lk_slice text, const struct lk_part_defaults *defaults,
                         struct lk_part *ret_part, lk_error *error) {
    struct lk_part part;
    lk_outcome outcome = parse(text, defaults, &part, error);

    if (outcome == LK_OK && part.strict) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_STRICT_NEED);
    }
    if (outcome == LK_OK) {
        *ret_part = part;
    }
    return outcome;
}

lk_outcome lk_need_parse(struct lk_slice text, struct lk_part *ret_part, lk_error *error) {
    return parse(text, NULL, ret_part, error);
}

static lk_outcome check_numbers(const struct lk_part *part, size_t index, lk_error *error) {
    bool sound = part->mode == LK_EXCLUSIVE
                     ? part->limit == 0 && part->units == 0
                     : part->mode == LK_SHARED && part->units >= 1 && part->limit <= LK_LIMIT_MAX
                           && part->units <= (part->limit == 0 ? 1 : part->limit) && !part->strict;

    if (!sound) {
        return lk_error_set(error, LK_INVALID,
                            "R2: part %zu: 1 <= units <= limit <= %d, and only shared parts have "
                            "them",
                            index + 1, LK_LIMIT_MAX);
    }
    return LK_OK;
}

lk_outcome lk_parts_check(const struct lk_part *parts, size_t count, lk_error *error) {
    if (count == 0 || count > LK_PARTS_MAX) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_PARTS, LK_PARTS_MAX, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (check_numbers(&parts[i], i, error) != LK_OK) {
            return LK_INVALID;
        }
        for (size_t j = 0; j < i; j++) {
            if (lk_path_equal(&parts[i].path, &parts[j].path)) {
                return lk_error_set(error, LK_INVALID, LK_TEXT_PART_TWICE, i + 1,
                                    (int)parts[i].path.size, parts[i].path.bytes);
            }
        }
    }
    return lk_error_clear(error, LK_OK);
}

/* The words behind the path, into what has room for them. Returns their size. */
static size_t write_words(const struct lk_part *part, char *text, size_t capacity) {
    int size = 0;

    if (part->limit != 0) {
        size = part->units == 1
                   ? snprintf(text, capacity, "?limit=%u", part->limit)
                   : snprintf(text, capacity, "?limit=%u&units=%u", part->limit, part->units);
    } else if (part->mode == LK_SHARED) {
        size = snprintf(text, capacity, "?shared");
    } else if (part->strict) {
        size = snprintf(text, capacity, "?strict");
    }
    return (size_t)size;
}

size_t lk_parts_write(const struct lk_part *parts, size_t count, char *text) {
    size_t capacity = count * LK_PART_TEXT_MAX;
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            text[size++] = ' ';
        }
        memcpy(text + size, parts[i].path.bytes, parts[i].path.size);
        size += parts[i].path.size;
        size += write_words(&parts[i], text + size, capacity - size);
    }
    text[size] = '\0';
    return size;
}

bool lk_parts_read(struct lk_slice text, struct lk_part *ret_parts, size_t max, size_t *ret_count) {
    const char *at = text.bytes;
    size_t left = text.size;
    size_t count = 0;

    while (left > 0) {
        const char *space = memchr(at, ' ', left);
        size_t size = space != NULL ? (size_t)(space - at) : left;
        size_t step = space != NULL ? size + 1 : size;
        if (count == max
            || lk_need_parse((struct lk_slice){at, size}, &ret_parts[count], NULL) != LK_OK) {
            return false;
        }
        count++;
        at += step;
        left -= step;
    }
    *ret_count = count;
    return true;
}

int64_t lk_part_code(const struct lk_part *part) {
    return part->strict ? -1 : (int64_t)part->units;
}

void lk_part_set_code(struct lk_part *part, int64_t code) {
    part->strict = code < 0;
    part->units = code < 0 ? 0 : (uint32_t)code;
    part->mode = part->units == 0 ? LK_EXCLUSIVE : LK_SHARED;
}

bool lk_needs_are_strict(const struct lk_part *needs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (needs[i].strict) {
            return true;
        }
    }
    return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses durations. The value is kept as whole units and the digits of a fraction of one, and
 * multiplied in integers: without floating point, bounds are exact.
 */
#include "form/duration.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

struct unit {
    const char *name;
    int64_t ms;
};

static const struct unit units[] = {
    {"ms", 1},      {"s", 1000},     {"", 1000},       {"m", 60000},
    {"h", 3600000}, {"d", 86400000}, {"w", 604800000},
};

static const struct unit *find_unit(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) == size && memcmp(name, units[i].name, size) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* A decimal number: whole.fraction */
struct decimal {
    int64_t whole; /* at most LK_DURATION_MAX_MS + 1, which is too long in every unit */
    const char *fraction;
    size_t fraction_digits;
    bool has_digits;
};

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* Reads a decimal from the start of `text`; returns its size. */
static size_t read_decimal(const char *text, struct decimal *ret_decimal) {
    struct decimal decimal = {0};
    size_t at = 0;

    for (; is_digit(text[at]); at++) {
        decimal.has_digits = true;
        if (decimal.whole <= LK_DURATION_MAX_MS) {
            decimal.whole = decimal.whole * 10 + (text[at] - '0');
        }
    }
    if (text[at] == '.' && is_digit(text[at + 1])) {
        decimal.has_digits = true;
        decimal.fraction = &text[++at];
        for (; is_digit(text[at]); at++) {
            decimal.fraction_digits++;
        }
    }
    *ret_decimal = decimal;
    return at;
}

/* The fraction in milliseconds, rounded up. From its last digit on: no remainder is forgotten. */
static int64_t fraction_of(const struct decimal *decimal, int64_t unit_ms) {
    int64_t tenths = 0;
    bool is_inexact = false;

    for (size_t i = decimal->fraction_digits; i > 0; i--) {
        tenths += (decimal->fraction[i - 1] - '0') * unit_ms;
        is_inexact = is_inexact || tenths % 10 != 0;
        tenths /= 10;
    }
    return tenths + is_inexact;
}

/*
 * Reads one number with its unit at `text`, whose unit is shorter than `former`. Returns the
 * millisecond count, more than LK_DURATION_MAX_MS if it is too long, or -1: it is none. *at moves
 * to the end, or to the byte that is wrong. Only a sole number needs no unit.
 */
static int64_t read_piece(const char *text, size_t *at, const struct unit **former) {
    struct decimal decimal;
    bool is_sole = *at == 0;

    *at += read_decimal(text + *at, &decimal);
    size_t name_size = strcspn(text + *at, "0123456789.");
    const struct unit *unit = find_unit(text + *at, name_size);
    if (!decimal.has_digits || unit == NULL || (*former != NULL && unit->ms >= (*former)->ms)
        || (name_size == 0 && (!is_sole || text[*at] != '\0'))) {
        return -1;
    }
    *at += name_size;
    *former = unit;
    int64_t fraction_ms = fraction_of(&decimal, unit->ms);
    return decimal.whole > (LK_DURATION_MAX_MS - fraction_ms) / unit->ms
               ? LK_DURATION_MAX_MS + 1
               : decimal.whole * unit->ms + fraction_ms;
}

lk_outcome lk_duration_parse(const char *text, int64_t *ret_ms, lk_error *error) {
    const struct unit *former = NULL;
    int64_t sum_ms = 0;
    size_t at = 0;

    do {
        int64_t piece_ms = read_piece(text, &at, &former);
        if (piece_ms < 0) {
            return lk_error_set(error, LK_INVALID,
                                "\"%s\" is not a duration such as 250ms, 10s, 1.5m, 1h30m, 3d or "
                                "2w: see byte %zu",
                                text, at + 1);
        }
        if (piece_ms > LK_DURATION_MAX_MS - sum_ms) {
            return lk_error_set(error, LK_INVALID, "\"%s\" is longer than a hundred years", text);
        }
        sum_ms += piece_ms;
    } while (text[at] != '\0');
    *ret_ms = sum_ms;
    return LK_OK;
}

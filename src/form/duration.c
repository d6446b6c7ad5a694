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
    {"ms", 1}, {"s", 1000}, {"", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static const struct unit *find_unit(const char *name) {
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(name, units[i].name) == 0) {
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

lk_outcome lk_duration_parse(const char *text, int64_t *ret_ms, lk_error *error) {
    struct decimal decimal;
    size_t at = read_decimal(text, &decimal);
    const struct unit *unit = find_unit(text + at);

    if (!decimal.has_digits || unit == NULL) {
        return lk_error_set(error, LK_INVALID,
                            "\"%s\" is not a duration such as 250ms, 10s, 1.5m, 2h or 3d: "
                            "see byte %zu",
                            text, at + 1);
    }
    int64_t fraction_ms = fraction_of(&decimal, unit->ms);
    if (decimal.whole > (LK_DURATION_MAX_MS - fraction_ms) / unit->ms) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is longer than a hundred years", text);
    }
    *ret_ms = decimal.whole * unit->ms + fraction_ms;
    return LK_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Values from text: numbers, instants, what each kind of option takes; and those that are kept. */
#include "cli/parse/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "model/sentences.h"

/* ---- numbers --------------------------------------------------------------------------------- */

/* Whole numbers: decimal digits, behind a minus where a number may be negative. Nothing else. */

/* A minus and digits, where no number may be negative. */
static bool is_negative_number(const char *text) {
    return text[0] == '-' && text[1] != '\0' && text[1 + strspn(text + 1, "0123456789")] == '\0';
}

lk_outcome lk_number_parse(const char *text, int64_t min, int64_t max, int64_t *ret_number,
                           lk_error *error) {
    bool is_negative = min < 0 && text[0] == '-';
    int64_t bound = is_negative ? -min : max;
    size_t first = is_negative ? 1 : 0;
    size_t at = first;
    int64_t number = 0;

    if (!is_negative && is_negative_number(text)) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is less than %" PRId64, text, min);
    }
    for (; text[at] >= '0' && text[at] <= '9'; at++) {
        int digit = text[at] - '0';
        if (digit > bound || number > (bound - digit) / 10) {
            return lk_error_set(error, LK_INVALID, "\"%s\" is %s than %" PRId64, text,
                                is_negative ? "less" : "greater", is_negative ? min : max);
        }
        number = number * 10 + digit;
    }
    number = is_negative ? -number : number;
    if (at == first || text[at] != '\0') {
        return lk_error_set(error, LK_INVALID, "\"%s\" is not a whole number: see byte %zu", text,
                            at + 1);
    }
    if (number < min) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is less than %" PRId64, text, min);
    }
    *ret_number = number;
    return LK_OK;
}

/* ---- instants -------------------------------------------------------------------------------- */

/*
 * Instants for --until: RFC 3339; a local date, date and time, or time of day. Leap seconds are
 * taken for the first second of the next minute, as Unix time has it.
 */

/* A position in the text. It only moves over expected characters; the first failure is kept. */
struct reader {
    const char *text;
    size_t at;
    bool failed;
};

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static bool next_is(const struct reader *reader, const char *one_of) {
    char byte = reader->text[reader->at];
    return !reader->failed && byte != '\0' && strchr(one_of, byte) != NULL;
}

static void expect(struct reader *reader, const char *one_of) {
    if (next_is(reader, one_of)) {
        reader->at++;
    } else {
        reader->failed = true;
    }
}

/* Exactly `digits` digits with a value from `min` to `max`. */
static int read_number(struct reader *reader, int digits, int min, int max) {
    size_t start = reader->at;
    int number = 0;

    for (int i = 0; i < digits && !reader->failed; i++) {
        if (is_digit(reader->text[reader->at])) {
            number = number * 10 + (reader->text[reader->at++] - '0');
        } else {
            reader->failed = true;
        }
    }
    if (!reader->failed && (number < min || number > max)) {
        reader->at = start;
        reader->failed = true;
    }
    return number;
}

/* `.` and digits, as many as there are: the milliseconds are kept. */
static int read_fraction_ms(struct reader *reader) {
    int fraction_ms = 0;
    int place_ms = 100;

    if (!next_is(reader, ".")) {
        return 0;
    }
    reader->at++;
    if (!is_digit(reader->text[reader->at])) {
        reader->failed = true;
    }
    for (; !reader->failed && is_digit(reader->text[reader->at]); reader->at++) {
        fraction_ms += (reader->text[reader->at] - '0') * place_ms;
        place_ms /= 10;
    }
    return fraction_ms;
}

/* `Z`, or `+hh:mm` as seconds east of UTC. */
static int read_offset_s(struct reader *reader) {
    if (next_is(reader, "Zz")) {
        reader->at++;
        return 0;
    }
    int sign = next_is(reader, "-") ? -1 : 1;
    expect(reader, "+-");
    int hours = read_number(reader, 2, 0, 23);
    expect(reader, ":");
    int minutes = read_number(reader, 2, 0, 59);
    return sign * (hours * 3600 + minutes * 60);
}

static void expect_end(struct reader *reader) {
    if (!reader->failed && reader->text[reader->at] != '\0') {
        reader->failed = true;
    }
}

static int days_in_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* A date and a time without an offset are of the local clock. */
static int64_t local_ms(struct tm *local) {
    local->tm_isdst = -1;
    return (int64_t)mktime(local) * 1000;
}

static bool is_at_end(const struct reader *reader) {
    return !reader->failed && reader->text[reader->at] == '\0';
}

static int64_t read_rfc3339_ms(struct reader *reader) {
    struct tm utc = {0};

    int year = read_number(reader, 4, 0, 9999);
    expect(reader, "-");
    int month = read_number(reader, 2, 1, 12);
    expect(reader, "-");
    utc.tm_mday = read_number(reader, 2, 1, reader->failed ? 31 : days_in_month(year, month));
    utc.tm_year = year - 1900;
    utc.tm_mon = month - 1;
    if (is_at_end(reader)) {
        return local_ms(&utc);
    }
    expect(reader, "Tt ");
    utc.tm_hour = read_number(reader, 2, 0, 23);
    expect(reader, ":");
    utc.tm_min = read_number(reader, 2, 0, 59);
    if (is_at_end(reader)) {
        return local_ms(&utc);
    }
    expect(reader, ":");
    utc.tm_sec = read_number(reader, 2, 0, 60);
    int fraction_ms = read_fraction_ms(reader);
    int offset_s = read_offset_s(reader);
    expect_end(reader);
    return reader->failed ? 0 : ((int64_t)timegm(&utc) - offset_s) * 1000 + fraction_ms;
}

/* The local clock reading hour:minute:second, `days` after the day of `now_s`. */
static time_t local_moment(time_t now_s, int days, int hour, int minute, int second) {
    struct tm local;

    if (localtime_r(&now_s, &local) == NULL) {
        return (time_t)-1;
    }
    local.tm_mday += days;
    local.tm_hour = hour;
    local.tm_min = minute;
    local.tm_sec = second;
    local.tm_isdst = -1;
    return mktime(&local);
}

static int64_t read_time_of_day_ms(struct reader *reader, int64_t now_unix_ms) {
    time_t now_s = (time_t)(now_unix_ms / 1000);
    int second = 0;

    int hour = read_number(reader, 2, 0, 23);
    expect(reader, ":");
    int minute = read_number(reader, 2, 0, 59);
    if (next_is(reader, ":")) {
        reader->at++;
        second = read_number(reader, 2, 0, 59);
    }
    expect_end(reader);
    if (reader->failed) {
        return 0;
    }
    time_t today = local_moment(now_s, 0, hour, minute, second);
    time_t chosen = today > now_s ? today : local_moment(now_s, 1, hour, minute, second);
    return (int64_t)chosen * 1000;
}

lk_outcome lk_instant_parse(const char *text, int64_t now_unix_ms, int64_t *ret_unix_ms,
                            lk_error *error) {
    struct reader reader = {.text = text};
    bool is_time_of_day = strlen(text) >= 3 && text[2] == ':';
    int64_t unix_ms =
        is_time_of_day ? read_time_of_day_ms(&reader, now_unix_ms) : read_rfc3339_ms(&reader);

    if (reader.failed) {
        return lk_error_set(error, LK_INVALID,
                            "\"%s\" is no time such as 17:00, 2030-01-31, 2030-01-31 17:00 or "
                            "2030-01-31T17:00:00Z: see byte %zu",
                            text, reader.at + 1);
    }
    *ret_unix_ms = unix_ms;
    return LK_OK;
}

lk_outcome lk_time_parse(const char *text, int64_t now_unix_ms, int64_t *ret_unix_ms,
                         lk_error *error) {
    int64_t unix_ms;
    lk_outcome outcome = lk_instant_parse(text, now_unix_ms, &unix_ms, error);

    if (outcome == LK_OK && unix_ms <= now_unix_ms) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is not in the future", text);
    }
    if (outcome == LK_OK) {
        *ret_unix_ms = unix_ms;
    }
    return outcome;
}

int64_t lk_delay_until_ms(int64_t at_unix_ms, int64_t now_unix_ms) {
    return at_unix_ms > now_unix_ms ? at_unix_ms - now_unix_ms : 0;
}

/* ---- by the kind of an option ---------------------------------------------------------------- */

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)

static lk_outcome parse_choice(const struct lk_option *option, const char *text, int64_t *ret_index,
                               lk_error *error) {
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(text, option->choices[i]) == 0) {
            *ret_index = i;
            return LK_OK;
        }
    }
    char known[LK_ERROR_TEXT_MAX] = "";
    for (int i = 0; option->choices[i] != NULL; i++) {
        strncat(known, i > 0 ? " or " : "", sizeof known - strlen(known) - 1);
        strncat(known, option->choices[i], sizeof known - strlen(known) - 1);
    }
    return lk_error_set(error, LK_INVALID, "\"%s\" is not %s", text, known);
}

static lk_outcome parse_duration(const struct lk_option *option, const char *text, int64_t *ret_ms,
                                 lk_error *error) {
    int64_t duration_ms;

    if (lk_duration_parse(text, &duration_ms, error) != LK_OK) {
        return LK_INVALID;
    }
    if (duration_ms < option->min) {
        return lk_error_set(error, LK_INVALID, "\"%s\" is shorter than %lld ms", text,
                            (long long)option->min);
    }
    if (duration_ms > option->max) {
        bool is_hours = option->max < DAY_MS;
        return lk_error_set(error, LK_INVALID, "\"%s\" is longer than %lld %s", text,
                            (long long)(option->max / (is_hours ? HOUR_MS : DAY_MS)),
                            is_hours ? "h" : "d");
    }
    *ret_ms = duration_ms;
    return LK_OK;
}

lk_outcome lk_option_value_parse(enum lk_option_id id, const char *text, int64_t now_unix_ms,
                                 int64_t *ret_number, lk_error *error) {
    const struct lk_option *option = lk_option_at(id);

    switch (option->kind) {
    case LK_KIND_FLAG:
    case LK_KIND_TEXT:
    case LK_KIND_LIST:
        return LK_OK;
    case LK_KIND_CHOICE:
        return parse_choice(option, text, ret_number, error);
    case LK_KIND_NUMBER:
        return lk_number_parse(text, option->min, option->max, ret_number, error);
    case LK_KIND_DURATION:
        return parse_duration(option, text, ret_number, error);
    case LK_KIND_TIME:
        return lk_time_parse(text, now_unix_ms, ret_number, error);
    case LK_KIND_INSTANT:
        return lk_instant_parse(text, now_unix_ms, ret_number, error);
    }
    return LK_INVALID;
}

/* ---- values that are kept -------------------------------------------------------------------- */

/* Never more than one byte is read beyond what a value may have. */

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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of options. The first byte chooses number, duration or time, and bounds; the text
 * behind it is read. What is accepted is within its bounds, is what a plain reading of the text
 * gives, and reads the same when it is written out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "cli/parse/value.h"
#include "target.h"

#define UNTOUCHED INT64_C(-77)
#define NOW_MS INT64_C(1700000000123)

enum { TEXT_MAX = 512 };

static void check_refusal(lk_outcome outcome, int64_t value, const lk_error *error) {
    FUZZ_DEMAND(outcome == LK_INVALID && error->outcome == LK_INVALID);
    FUZZ_DEMAND(error->text[0] != '\0' && value == UNTOUCHED);
}

static bool is_all_digits(const char *text) {
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static void read_number(const char *text, uint8_t choice) {
    static const int64_t bounds[][2] = {{0, 3},   {1, 7},         {1, 10},       {0, 0},
                                        {0, 255}, {5, INT64_MAX}, {1, INT32_MAX}};
    const int64_t *bound = bounds[choice % (sizeof bounds / sizeof bounds[0])];
    int64_t number = UNTOUCHED;
    lk_error error;
    lk_outcome outcome = lk_number_parse(text, bound[0], bound[1], &number, &error);
    bool is_one = is_all_digits(text);
    long long plain;

    errno = 0;
    plain = is_one ? strtoll(text, NULL, 10) : -1;
    if (is_one && errno == 0 && plain >= bound[0] && plain <= bound[1]) {
        FUZZ_DEMAND(outcome == LK_OK && number == plain);
    } else {
        check_refusal(outcome, number, &error);
    }
}

/* What one term comes to, such as 1.5h; *text moves behind it. Less than 0: it is none. */
static double term_ms(const char **text) {
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ms", 1},    {"s", 1e3},    {"m", 6e4}, {"h", 36e5},
                 {"d", 864e5}, {"w", 6048e5}, {"", 1e3}}; /* none: seconds */
    size_t digits = strspn(*text, "0123456789.");
    double number = strtod(*text, NULL);

    *text += digits;
    for (size_t i = 0; digits > 0 && i < sizeof units / sizeof units[0]; i++) {
        size_t size = strlen(units[i].name);
        if (strncmp(*text, units[i].name, size) == 0) {
            *text += size;
            return number * units[i].ms;
        }
    }
    return -1;
}

static void read_duration(const char *text) {
    const char *at = text;
    int64_t duration_ms = UNTOUCHED;
    int64_t again_ms = UNTOUCHED;
    double plain_ms = 0;
    int terms = 0;
    char written[64];
    lk_error error;
    lk_outcome outcome = lk_duration_parse(text, &duration_ms, &error);

    if (outcome != LK_OK) {
        check_refusal(outcome, duration_ms, &error);
        return;
    }
    FUZZ_DEMAND(duration_ms >= 0 && duration_ms <= LK_DURATION_MAX_MS);
    for (; *at != '\0'; terms++) {
        double ms = term_ms(&at);
        FUZZ_DEMAND(ms >= 0);
        plain_ms += ms;
    }
    FUZZ_DEMAND(terms > 0);
    /* Each term is rounded up to a whole one; a double is as exact as that needs. */
    FUZZ_DEMAND((double)duration_ms >= plain_ms * (1 - 1e-12));
    FUZZ_DEMAND((double)duration_ms <= plain_ms * (1 + 1e-12) + terms);
    (void)snprintf(written, sizeof written, "%" PRId64 "ms", duration_ms);
    FUZZ_DEMAND(lk_duration_parse(written, &again_ms, NULL) == LK_OK && again_ms == duration_ms);
}

static void read_time(const char *text) {
    int64_t unix_ms = UNTOUCHED;
    int64_t again_ms = UNTOUCHED;
    char written[128];
    char whole[64];
    struct tm utc;
    time_t unix_s;
    lk_error error;
    lk_outcome outcome = lk_time_parse(text, NOW_MS, &unix_ms, &error);

    if (outcome != LK_OK) {
        check_refusal(outcome, unix_ms, &error);
        return;
    }
    FUZZ_DEMAND(unix_ms > NOW_MS);
    if (text[2] == ':') {
        FUZZ_DEMAND(unix_ms - NOW_MS <= INT64_C(26) * 60 * 60 * 1000); /* the longest day */
        return;
    }
    unix_s = (time_t)(unix_ms / 1000);
    FUZZ_DEMAND(gmtime_r(&unix_s, &utc) != NULL);
    if (utc.tm_year + 1900 > 9999) {
        return; /* an offset west of UTC leads there from the last day of the year 9999 */
    }
    FUZZ_DEMAND(strftime(whole, sizeof whole, "%Y-%m-%dT%H:%M:%S", &utc) > 0);
    (void)snprintf(written, sizeof written, "%s.%03dZ", whole, (int)(unix_ms % 1000));
    FUZZ_DEMAND(lk_time_parse(written, NOW_MS, &again_ms, NULL) == LK_OK && again_ms == unix_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[TEXT_MAX + 1] = "";

    if (size < 1 || size > TEXT_MAX) {
        return 0;
    }
    memcpy(text, data + 1, size - 1);
    switch (data[0] % 3) {
    case 0:
        read_number(text, data[0] / 3);
        break;
    case 1:
        read_duration(text);
        break;
    default:
        read_time(text);
        break;
    }
    return 0;
}

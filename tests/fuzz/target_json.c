/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON: texts, separated by zero bytes, and a number are in every field of each. What
 * comes out is one line of JSON that another reader takes, without a name given twice; a text that
 * is UTF-8 comes back letter by letter, and of any other what is ASCII in it.
 */
#include <jansson.h>
#include <string.h>

#include "form/form.h"
#include "target.h"

enum { TEXTS = 4 };

struct texts {
    char bytes[FUZZ_INPUT_MAX + TEXTS];
    char *at[TEXTS];
};

static void split(const uint8_t *data, size_t size, struct texts *ret_texts) {
    size_t start = 0;

    memcpy(ret_texts->bytes, data, size);
    memset(ret_texts->bytes + size, 0, TEXTS);
    for (size_t i = 0; i < TEXTS; i++) {
        ret_texts->at[i] = ret_texts->bytes + start;
        start += strlen(ret_texts->at[i]);
        start += start < size;
    }
}

static struct lk_buffer line;

/* A writer of the next line. */
static struct lk_form_writer *begin(void) {
    static struct lk_form_writer writer;

    line = (struct lk_buffer){.max = 0};
    writer = lk_form_writer_json(&line);
    return &writer;
}

/* Ends the line; returns it as another reader got it, to be given back. */
static json_t *read_back(void) {
    json_t *object;

    FUZZ_DEMAND(!line.failed && memchr(line.bytes, '\n', line.size) == NULL
                && memchr(line.bytes, '\r', line.size) == NULL);
    object = json_loadb(line.bytes, line.size, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_DEMAND(object != NULL);
    lk_buffer_done(&line);
    return object;
}

static const char *next_ascii(const char *text) {
    while ((*text & 0x80) != 0) {
        text++;
    }
    return text;
}

static bool has_same_ascii(const char *a, const char *b) {
    for (a = next_ascii(a), b = next_ascii(b); *a == *b; a = next_ascii(a + 1)) {
        if (*a == '\0') {
            return true;
        }
        b = next_ascii(b + 1);
    }
    return false;
}

static void demand_text(const json_t *object, const char *name, const char *text) {
    const char *got = json_string_value(json_object_get(object, name));
    json_t *plain = json_string(text); /* NULL: not UTF-8 */

    FUZZ_DEMAND(got != NULL && has_same_ascii(got, text));
    FUZZ_DEMAND(plain == NULL || strcmp(got, text) == 0);
    json_decref(plain);
}

static void form_result(struct texts *texts, int64_t number) {
    lk_blocker_info blocker = {.path = texts->at[0],
                               .owner = texts->at[1],
                               .note = texts->at[2],
                               .ticket = (uint64_t)number,
                               .held = number % 2 == 1,
                               .expires_in_ms = number};
    lk_result result = {.outcome = (lk_outcome)(number % LK_OUTCOME_COUNT),
                        .error = texts->at[3],
                        .paths = texts->at,
                        .path_count = TEXTS,
                        .owner = texts->at[1],
                        .ticket = (uint64_t)number,
                        .token = (uint64_t)number,
                        .ttl_ms = number,
                        .expires_in_ms = number - 1,
                        .in_use = (uint64_t)number,
                        .position = (size_t)number,
                        .blockers = &blocker,
                        .blocker_count = 1,
                        .cycle = texts->at,
                        .cycle_count = TEXTS};
    json_t *object;

    lk_form_write_result(begin(), &result);
    object = read_back();
    FUZZ_DEMAND(strcmp(json_string_value(json_object_get(object, "status")),
                       lk_outcome_name(result.outcome))
                == 0);
    demand_text(object, "owner", texts->at[1]);
    json_decref(object);
}

static void form_entry(struct texts *texts, int64_t number) {
    lk_entry entry = {.path = texts->at[0],
                      .owner = texts->at[1],
                      .note = texts->at[2],
                      .ticket = (uint64_t)number,
                      .token = (uint64_t)number,
                      .held = number % 2 == 0,
                      .shared = number % 3 == 0,
                      .ttl_ms = number,
                      .expires_in_ms = number,
                      .age_ms = number};
    json_t *object;

    lk_form_write_entry(begin(), &entry, true);
    object = read_back();
    demand_text(object, "path", texts->at[0]);
    demand_text(object, "owner", texts->at[1]);
    json_decref(object);
}

static void form_others(struct texts *texts, int64_t number) {
    lk_audit_entry entry = {.at_unix_ms = number,
                            .by = texts->at[0],
                            .reason = texts->at[1],
                            .path = texts->at[2],
                            .owner = texts->at[3],
                            .ticket = (uint64_t)number};
    lk_report report = {.text = texts->at[0], .warnings = texts->at[1], .round_trip_us = number};
    json_t *object;

    lk_form_write_audit_entry(begin(), &entry);
    object = read_back();
    demand_text(object, "by", texts->at[0]);
    demand_text(object, "reason", texts->at[1]);
    json_decref(object);
    lk_form_write_report(begin(), &report);
    json_decref(read_back());
    lk_form_write_failure(begin(), LK_INVALID, texts->at[2]);
    json_decref(read_back());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct texts texts;
    uint64_t bits = 0;

    if (size < sizeof bits || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    memcpy(&bits, data, sizeof bits);
    split(data + sizeof bits, size - sizeof bits, &texts);
    form_result(&texts, (int64_t)(bits >> 1));
    form_entry(&texts, (int64_t)(bits >> 1));
    form_others(&texts, (int64_t)(bits >> 1));
    return 0;
}

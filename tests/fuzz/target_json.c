/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as JSON: texts, separated by zero bytes, and a number stand in every field of each. What
 * comes out is one line of JSON that another reader takes, without a name given twice; a text that
 * is UTF-8 comes back letter by letter.
 */
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

/* Takes over the object; returns it as another reader got it, to be given back. */
static json_t *read_back(json_t *object) {
    char *line = lk_form_line(object);
    json_t *again;

    FUZZ_DEMAND(object != NULL && line != NULL && strpbrk(line, "\n\r") == NULL);
    again = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_DEMAND(again != NULL && json_equal(object, again));
    free(line);
    json_decref(object);
    return again;
}

static void demand_text(const json_t *object, const char *name, const char *text) {
    const char *got = json_string_value(json_object_get(object, name));
    json_t *plain = json_string(text); /* NULL: not UTF-8 */

    FUZZ_DEMAND(got != NULL && (plain == NULL || strcmp(got, text) == 0));
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
    json_t *object = read_back(lk_form_result(&result));

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
    json_t *object = read_back(lk_form_entry(&entry, true));

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
    json_t *object = read_back(lk_form_audit_entry(&entry));

    demand_text(object, "by", texts->at[0]);
    demand_text(object, "reason", texts->at[1]);
    json_decref(object);
    json_decref(read_back(lk_form_report(&report)));
    json_decref(read_back(lk_form_failure(LK_INVALID, texts->at[2])));
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a service: those of R22, and those of the listeners. */
#include "cli/serve/bounds.h"

#include "base/error.h"
#include "base/text.h"
#include "cli/parse/value.h"

struct bound {
    const char *name;
    size_t at;     /* in struct lk_server_options */
    bool is_small; /* a uint32_t, else a uint64_t */
};

static const struct bound bounds[] = {
    {"buffer-bytes", offsetof(struct lk_server_options, buffer_bytes_max), false},
    {"connections", offsetof(struct lk_server_options, connections_max), true},
    {"event-bytes", offsetof(struct lk_server_options, event_bytes_max), false},
    {"live", offsetof(struct lk_server_options, quotas.live_max), false},
    {"live-per-owner", offsetof(struct lk_server_options, quotas.live_per_owner_max), false},
    {"live-per-root", offsetof(struct lk_server_options, quotas.live_per_root_max), false},
    {"request-seconds", offsetof(struct lk_server_options, request_seconds_max), true},
    {"strangers", offsetof(struct lk_server_options, strangers_max), true},
    {"value-bytes", offsetof(struct lk_server_options, value_bytes_max), false},
    {"waiters-per-path", offsetof(struct lk_server_options, quotas.waiters_per_path_max), false},
};

enum { BOUND_COUNT = sizeof bounds / sizeof bounds[0], NAMES_BYTES = 160 };

static lk_outcome refuse(const char *text, lk_error *error) {
    char names_bytes[NAMES_BYTES];
    struct lk_text names = lk_text_in(names_bytes, sizeof names_bytes);

    for (size_t i = 0; i < BOUND_COUNT; i++) {
        lk_text_format(&names, "%s%s", i > 0 ? ", " : "", bounds[i].name);
    }
    return lk_error_set(error, LK_INVALID, "--bound %.64s: NAME=N, where NAME is one of %s", text,
                        names_bytes);
}

lk_outcome lk_serve_bound_set(struct lk_server_options *options, const char *text,
                              lk_error *error) {
    size_t name_size = strcspn(text, "=");
    const struct bound *bound = NULL;
    int64_t number;
    lk_outcome outcome;

    for (size_t i = 0; i < BOUND_COUNT; i++) {
        if (strlen(bounds[i].name) == name_size && memcmp(bounds[i].name, text, name_size) == 0) {
            bound = &bounds[i];
        }
    }
    if (bound == NULL || text[name_size] != '=') {
        return refuse(text, error);
    }
    outcome = lk_number_parse(text + name_size + 1, 1, bound->is_small ? UINT32_MAX : INT64_MAX,
                              &number, error);
    if (outcome == LK_OK && bound->is_small) {
        *(uint32_t *)((char *)options + bound->at) = (uint32_t)number;
    } else if (outcome == LK_OK) {
        *(uint64_t *)((char *)options + bound->at) = (uint64_t)number;
    }
    return outcome;
}

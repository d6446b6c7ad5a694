/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as text. */
#include "server/http/exposition.h"

#include <inttypes.h>
#include <stdio.h>

enum { NUMBER_BYTES_MAX = 40 };

#define US_PER_S UINT64_C(1000000)

static void add_count(struct lk_buffer *out, uint64_t count) {
    char text[NUMBER_BYTES_MAX];

    (void)snprintf(text, sizeof text, "%" PRIu64, count);
    lk_buffer_add_text(out, text);
}

/* Seconds exactly, in decimal: with one digit behind the point at least, as OpenMetrics wants the
 * bounds of buckets. */
static void add_seconds(struct lk_buffer *out, uint64_t us) {
    char text[NUMBER_BYTES_MAX];
    int size = snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, us / US_PER_S, us % US_PER_S);

    while (text[size - 1] == '0' && text[size - 2] != '.') {
        size--;
    }
    lk_buffer_add(out, text, (size_t)size);
}

/* Both formats escape a backslash, a quote and a new line, and nothing else. */
static void add_escaped(struct lk_buffer *out, struct lk_slice value) {
    for (size_t i = 0; i < value.size; i++) {
        char byte = value.bytes[i];

        if (byte == '\n') {
            lk_buffer_add_text(out, "\\n");
            continue;
        }
        if (byte == '\\' || byte == '"') {
            lk_buffer_add_text(out, "\\");
        }
        lk_buffer_add(out, &byte, 1);
    }
}

static void begin_sample(struct lk_exposition *to, const char *suffix, const char *label,
                         struct lk_slice value) {
    lk_buffer_add_text(to->out, to->name);
    lk_buffer_add_text(to->out, suffix);
    if (label != NULL) {
        lk_buffer_add_text(to->out, "{");
        lk_buffer_add_text(to->out, label);
        lk_buffer_add_text(to->out, "=\"");
        add_escaped(to->out, value);
        lk_buffer_add_text(to->out, "\"}");
    }
    lk_buffer_add_text(to->out, " ");
}

static void add_about(struct lk_exposition *to, const char *what, const char *suffix,
                      const char *text) {
    lk_buffer_add_text(to->out, "# ");
    lk_buffer_add_text(to->out, what);
    lk_buffer_add_text(to->out, " ");
    lk_buffer_add_text(to->out, to->name);
    lk_buffer_add_text(to->out, suffix);
    lk_buffer_add_text(to->out, " ");
    lk_buffer_add_text(to->out, text);
    lk_buffer_add_text(to->out, "\n");
}

void lk_exposition_family(struct lk_exposition *to, const char *name, enum lk_metric_kind kind,
                          const char *unit, const char *help) {
    static const char *const types[] = {"gauge", "counter", "histogram", "info"};
    static const char *const suffixes[] = {"", "_total", "", "_info"};
    bool is_open = to->is_open_metrics;

    to->name = name;
    to->suffix = suffixes[kind];
    add_about(to, "HELP", is_open ? "" : to->suffix, help);
    add_about(to, "TYPE", is_open ? "" : to->suffix,
              types[kind == LK_METRIC_INFO && !is_open ? LK_METRIC_GAUGE : kind]);
    if (unit != NULL && is_open) {
        add_about(to, "UNIT", "", unit);
    }
}

void lk_exposition_count(struct lk_exposition *to, const char *label, struct lk_slice value,
                         uint64_t count) {
    begin_sample(to, to->suffix, label, value);
    add_count(to->out, count);
    lk_buffer_add_text(to->out, "\n");
}

void lk_exposition_seconds(struct lk_exposition *to, const char *label, struct lk_slice value,
                           int64_t us) {
    begin_sample(to, to->suffix, label, value);
    add_seconds(to->out, us > 0 ? (uint64_t)us : 0);
    lk_buffer_add_text(to->out, "\n");
}

void lk_exposition_buckets(struct lk_exposition *to, const struct lk_buckets *buckets) {
    static const struct lk_slice none = {NULL, 0};
    uint64_t count = 0;

    for (size_t i = 0; i <= buckets->count; i++) {
        lk_buffer_add_text(to->out, to->name);
        lk_buffer_add_text(to->out, "_bucket{le=\"");
        if (i < buckets->count) {
            add_seconds(to->out, (uint64_t)buckets->bounds_us[i]);
        } else {
            lk_buffer_add_text(to->out, "+Inf");
        }
        lk_buffer_add_text(to->out, "\"} ");
        count += buckets->counts[i];
        add_count(to->out, count);
        lk_buffer_add_text(to->out, "\n");
    }
    begin_sample(to, "_sum", NULL, none);
    add_seconds(to->out, buckets->sum_us);
    lk_buffer_add_text(to->out, "\n");
    begin_sample(to, "_count", NULL, none);
    add_count(to->out, count);
    lk_buffer_add_text(to->out, "\n");
}

void lk_exposition_end(struct lk_exposition *to) {
    if (to->is_open_metrics) {
        lk_buffer_add_text(to->out, "# EOF\n");
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as text, in one of two formats: OpenMetrics 1.0, and the text format of Prometheus
 * (version 0.0.4). They differ in the names of counters' families, in units, in the type of
 * information, and in the mark of the end.
 */
#ifndef LK_SERVER_HTTP_EXPOSITION_H
#define LK_SERVER_HTTP_EXPOSITION_H

#include "base/buckets.h"
#include "base/buffer.h"

enum lk_metric_kind { LK_METRIC_GAUGE, LK_METRIC_COUNTER, LK_METRIC_HISTOGRAM, LK_METRIC_INFO };

struct lk_exposition {
    struct lk_buffer *out;
    bool is_open_metrics;
    const char *name;   /* of the family */
    const char *suffix; /* of its samples */
};

/*
 * Begins a family. `name` has no suffix of its kind (_total, _info); with a unit it ends with that
 * unit. `unit` may be NULL. Names and units are borrowed until the next family.
 */
void lk_exposition_family(struct lk_exposition *to, const char *name, enum lk_metric_kind kind,
                          const char *unit, const char *help);

/*
 * A sample of the family. `label` may be NULL: it has none. The value of a label may be any bytes
 * of UTF-8.
 */
void lk_exposition_count(struct lk_exposition *to, const char *label, struct lk_slice value,
                         uint64_t count);
void lk_exposition_seconds(struct lk_exposition *to, const char *label, struct lk_slice value,
                           int64_t us);

/* The samples of a histogram, in seconds. */
void lk_exposition_buckets(struct lk_exposition *to, const struct lk_buckets *buckets);

void lk_exposition_end(struct lk_exposition *to);

#endif

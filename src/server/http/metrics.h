/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: what the service does, for a monitoring system. */
#ifndef LK_SERVER_HTTP_METRICS_H
#define LK_SERVER_HTTP_METRICS_H

#include "server/http/http.h"

#define LK_HTTP_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define LK_HTTP_OPEN_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Whether a client with this header Accept (NULL: none) prefers OpenMetrics to other text. */
bool lk_http_prefers_open_metrics(const char *accept);

/*
 * Fills the reply. It takes a time that does not depend on how much is kept, and its size has a
 * bound: labels are few fixed words, and at most LK_CONTENDED_ROWS_MAX roots.
 */
void lk_http_metrics_fill(const struct lk_http_listener *listener,
                          const struct lk_reply *core_reply, bool is_open_metrics,
                          struct lk_http_reply *reply);

#endif

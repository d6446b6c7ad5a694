/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store answered beside what a model answers: each function returns what differs, in words,
 * or NULL. A lazy store makes its draws later, so that its tickets and tokens are others.
 */
#ifndef LK_TESTS_HISTORIES_COMPARE_H
#define LK_TESTS_HISTORIES_COMPARE_H

#include "engine/event.h"

const char *compare_results(bool is_lazy, const lk_result *a, const lk_result *b);
const char *compare_listings(bool is_lazy, const lk_listing *a, const lk_listing *b);

/* NULL: there is none. */
const char *compare_values(const lk_value *a, const lk_value *b);
const char *compare_claims(bool is_lazy, const lk_claim_info *a, const lk_claim_info *b);
const char *compare_items(const lk_item_list *a, const lk_item_list *b);
const char *compare_stats(const lk_queue_stats *a, const lk_queue_stats *b);
const char *compare_errors(const lk_error *a, const lk_error *b);
const char *compare_events(bool is_lazy, const struct lk_event_page *a,
                           const struct lk_event_page *b);

#endif

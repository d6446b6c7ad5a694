/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds (R22) in the open. */
#include "engine/reply/reply.h"

void lk_limits_from_quotas(const struct lk_quotas *quotas, uint64_t events, lk_limits *ret_limits) {
    ret_limits->live = quotas->live_max;
    ret_limits->live_per_owner = quotas->live_per_owner_max;
    ret_limits->live_per_root = quotas->live_per_root_max;
    ret_limits->waiters_per_path = quotas->waiters_per_path_max;
    ret_limits->events = events;
}

static void set(uint64_t limit, uint64_t *quota) {
    if (limit != LK_LIMIT_AS_IS) {
        *quota = limit;
    }
}

void lk_limits_into_quotas(const lk_limits *limits, struct lk_quotas *quotas) {
    set(limits->live, &quotas->live_max);
    set(limits->live_per_owner, &quotas->live_per_owner_max);
    set(limits->live_per_root, &quotas->live_per_root_max);
    set(limits->waiters_per_path, &quotas->waiters_per_path_max);
}

static void report_bound(struct lk_text *text, const char *name, uint64_t bound, bool *has_any) {
    if (bound != 0) {
        lk_text_format(text, "%s %s %llu", *has_any ? "," : "", name, (unsigned long long)bound);
        *has_any = true;
    }
}

void lk_limits_report(struct lk_text *text, const struct lk_quotas *quotas, uint64_t events_max,
                      bool is_watched) {
    bool has_any = false;

    lk_text_format(text, "bounds:");
    report_bound(text, "live", quotas->live_max, &has_any);
    report_bound(text, "live-per-owner", quotas->live_per_owner_max, &has_any);
    report_bound(text, "live-per-root", quotas->live_per_root_max, &has_any);
    report_bound(text, "waiters-per-path", quotas->waiters_per_path_max, &has_any);
    lk_text_format(text, "%s\nevents: ", has_any ? "" : " none");
    if (events_max > 0) {
        lk_text_format(text, "the last %llu are kept", (unsigned long long)events_max);
    } else {
        lk_text_format(text, "kept while a watch runs");
    }
    lk_text_format(text, "%s\n", is_watched ? "; watched now" : "; not watched now");
}

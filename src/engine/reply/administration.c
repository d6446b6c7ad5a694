/* SPDX-License-Identifier: Apache-2.0 */
/* What administration reads: audits, reports, and bounds. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/reply/reserve.h"

/* ---- audits and reports ---------------------------------------------------------------------- */

lk_audit *lk_audit_new(void) {
    return calloc(1, sizeof(lk_audit));
}

static void entry_free(lk_audit_entry *entry) {
    free(entry->by);
    free(entry->reason);
    free(entry->path);
    free(entry->owner);
    free(entry->user);
    free(entry->note);
}

void lk_audit_free(lk_audit *audit) {
    if (audit == NULL) {
        return;
    }
    for (size_t i = 0; i < audit->count; i++) {
        entry_free(&audit->entries[i]);
    }
    free(audit->entries);
    free(audit);
}

static bool reserve_one(lk_audit *audit) {
    void *entries = lk_reserve_one(audit->entries, audit->count, sizeof *audit->entries);

    audit->entries = entries != NULL ? entries : audit->entries;
    return entries != NULL;
}

bool lk_audit_add(lk_audit *audit, const struct lk_audit_row *row) {
    lk_audit_entry entry = {
        .at_unix_ms = row->at_unix_us / 1000,
        .by = lk_text_copy(row->by),
        .reason = lk_text_copy(row->reason),
        .path = lk_text_copy(row->path),
        .owner = lk_text_copy(row->owner),
        .note = row->note.size > 0 ? lk_text_copy(row->note) : NULL,
        .ticket = row->ticket,
        .token = row->token,
        .held = row->token != 0,
    };

    if (entry.by == NULL || entry.reason == NULL || entry.path == NULL || entry.owner == NULL
        || (entry.note == NULL && row->note.size > 0) || !reserve_one(audit)) {
        entry_free(&entry);
        return false;
    }
    audit->entries[audit->count++] = entry;
    return true;
}

void lk_audit_drop_oldest(lk_audit *audit, size_t count) {
    for (size_t i = 0; i < count; i++) {
        entry_free(&audit->entries[i]);
    }
    audit->count -= count;
    memmove(audit->entries, audit->entries + count, audit->count * sizeof *audit->entries);
}

lk_report *lk_report_make(const char *text, const char *warnings) {
    lk_report *report = calloc(1, sizeof *report);

    if (report == NULL) {
        return NULL;
    }
    report->text = lk_text_copy(lk_slice_of(text));
    report->warnings = lk_text_copy(lk_slice_of(warnings));
    if (report->text == NULL || report->warnings == NULL) {
        lk_report_free(report);
        return NULL;
    }
    return report;
}

void lk_report_free(lk_report *report) {
    if (report != NULL) {
        free(report->text);
        free(report->warnings);
        free(report);
    }
}

/* ---- bounds (R22) ---------------------------------------------------------------------------- */

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

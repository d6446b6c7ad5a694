/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a request was ended by a call, or lost by its store. */
#include "client/wait_entry.h"

#include "base/clock.h"

bool lk_wait_entry_is_gone(const struct lk_wait_entry *entry, const lk_result *result) {
    return result->created && lk_clock_now_us() < entry->until_us;
}

static bool is_recorded(const struct lk_wait_entry *entry, struct lk_slice owner,
                        const lk_audit *audit) {
    for (size_t i = 0; i < audit->count; i++) {
        const lk_audit_entry *found = &audit->entries[i];

        if (found->ticket == entry->ticket && lk_slice_equal(lk_slice_of(found->owner), owner)) {
            return true;
        }
    }
    return false;
}

/* Whether the store may have lost the request. */
static bool may_be_lost(const struct lk_wait_entry *entry, struct lk_engine *engine,
                        const struct lk_part *parts, size_t part_count,
                        const struct lk_patience *patience) {
    const struct lk_engine_ops *ops = engine->ops;

    return lk_engine_status(engine).interruptions != entry->interruptions
           || (ops->may_have_forgotten != NULL
               && ops->may_have_forgotten(engine, entry->ticket, parts, part_count, patience));
}

/*
 * A store that was in contact all the time and kept its data has lost nothing: the request was
 * ended. Otherwise the record of breaks decides. A withdrawal by the owner elsewhere leaves no
 * record there, and counts as lost. If the record cannot be read, the request counts as ended, so
 * that a break is never undone.
 */
bool lk_wait_entry_was_ended(const struct lk_wait_entry *entry, struct lk_engine *engine,
                             struct lk_slice owner, const struct lk_part *parts, size_t part_count,
                             const struct lk_patience *patience) {
    if (engine->ops->audit == NULL || !may_be_lost(entry, engine, parts, part_count, patience)) {
        return true;
    }
    for (size_t i = 0; i < part_count; i++) {
        lk_audit *audit = NULL;
        bool was_broken;

        if (engine->ops->audit(engine, &parts[i].path, patience, &audit, NULL) != LK_OK) {
            return true;
        }
        was_broken = is_recorded(entry, owner, audit);
        lk_audit_free(audit);
        if (was_broken) {
            return true;
        }
    }
    return false;
}

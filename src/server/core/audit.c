/* SPDX-License-Identifier: Apache-2.0 */
/* The audit of breaks (R12). */
#include "engine/reply/reply.h"
#include "server/core/core_internal.h"

void lk_core_audit_break(struct lk_core *core, const struct lk_break *broken,
                         const struct lk_effects *effects) {
    for (size_t i = 0; i < effects->change_count; i++) {
        const struct lk_change *change = &effects->changes[i];
        struct lk_record *record = &core->record;
        struct lk_audit_row row;

        if (change->kind != LK_CHANGE_BROKEN && change->kind != LK_CHANGE_REVOKED) {
            continue;
        }
        lk_model_record(core->model, change->request, record);
        row = lk_audit_row_of(broken, record, core->times.wall_us);
        if (core->audit->count >= LK_SQL_AUDIT_MAX + LK_CORE_AUDIT_SPARE) {
            lk_audit_drop_oldest(core->audit, LK_CORE_AUDIT_SPARE);
            core->audit_first += LK_CORE_AUDIT_SPARE;
        }
        if (!lk_audit_add(core->audit, &row)) {
            core->collection.is_incomplete = true;
        }
        if (!core->config.is_ephemeral) {
            lk_collect_audit(&core->collection, &row);
        }
    }
}

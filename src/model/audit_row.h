/* SPDX-License-Identifier: Apache-2.0 */
/* A break as every store keeps it on record (R12). */
#ifndef LK_MODEL_AUDIT_ROW_H
#define LK_MODEL_AUDIT_ROW_H

#include "model/model.h"

/* Borrows its texts. */
struct lk_audit_row {
    int64_t at_unix_us;
    struct lk_slice by;
    struct lk_slice reason;
    struct lk_slice path; /* the path that was broken */
    struct lk_slice owner;
    struct lk_slice note; /* empty: none */
    uint64_t ticket;
    uint64_t token; /* 0: it was waiting */
};

/* For one request that the break has ended or revoked. */
static inline struct lk_audit_row lk_audit_row_of(const struct lk_break *broken,
                                                  const struct lk_record *record, int64_t wall_us) {
    return (struct lk_audit_row){
        .at_unix_us = wall_us,
        .by = broken->by,
        .reason = broken->reason,
        .path = {broken->path.bytes, broken->path.size},
        .owner = record->owner,
        .note = record->note,
        .ticket = record->ticket,
        .token = record->token,
    };
}

#endif

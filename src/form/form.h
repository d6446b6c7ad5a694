/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of the public API, written in one place for the command line and for the service's
 * listeners, in JSON or RESP, depending on the writer.
 *
 * The names and their order are a contract with scripts (docs/cli.md, "Output"). A field that would
 * be meaningless is absent, never null; each function lists those fields. This code does no I/O and
 * keeps no state.
 */
#ifndef LK_FORM_FORM_H
#define LK_FORM_FORM_H

#include "form/writer.h"
#include "lockkeeper/lockkeeper.h"

/*
 * The result of an ask, a renewal or a release.
 *   ticket: absent when nothing was drawn (a refused try)     token: only while held
 *   ttl_ms: absent when nothing lives, or its end is fixed    expires_in_ms: only while it lives
 *   in_use, position: answers to asks only                    created: asks that left a request
 *   cycle: DEADLOCK only     blockers: when there are some    error: failures only
 *   value, in_doubt: of the first part, if it was requested and there is one
 *   values: grants that were asked for values: a map for each of the paths, empty if it has none
 */
void lk_form_write_result(struct lk_form_writer *writer, const lk_result *result);

/*
 * A failure that is not about a request: status and error. An empty text is replaced by the default
 * text of the outcome.
 */
void lk_form_write_failure(struct lk_form_writer *writer, lk_outcome outcome, const char *text);

/* Opens the map of an answer and writes its status; further fields follow. */
void lk_form_open_answer(struct lk_form_writer *writer, lk_outcome outcome);

/* A success that grants nothing: status "ok". */
void lk_form_write_ok(struct lk_form_writer *writer);

/*
 * One part of a live request. token: only while held; limit: only if it has one; units: shared
 * parts only; note: only if it has one; revoked: only if it is. user, also in what follows: only of
 * a service with users. `with_blockers` adds position and blockers to waiting requests.
 */
void lk_form_write_entry(struct lk_form_writer *writer, const lk_entry *entry, bool with_blockers);

/* One past break. token: only if it was held; note: only if it had one. */
void lk_form_write_audit_entry(struct lk_form_writer *writer, const lk_audit_entry *entry);

/* How many requests a break has ended. */
void lk_form_write_broken(struct lk_form_writer *writer, size_t count);

/*
 * The value at a path: `value`, or `value_base64` if it is not UTF-8; and in_doubt. An answer to an
 * ask that wanted values has the same two fields for the first part, and in `values` for each.
 */
void lk_form_write_value(struct lk_form_writer *writer, const char *path, const lk_value *value);

/* One value of a listing: its path, its size, whether it is in doubt. */
void lk_form_write_value_info(struct lk_form_writer *writer, const lk_value_info *value);

/* The result of a push: `added` is false when the item already existed. */
void lk_form_write_pushed(struct lk_form_writer *writer, bool added);

/* A claim. value: only if the item has one; stolen: only if its former claim perished. */
void lk_form_write_claim(struct lk_form_writer *writer, const lk_claim_info *claim);

/* The claims of one decision, as an array. */
void lk_form_add_claims(struct lk_form_writer *writer, const char *name,
                        const lk_claim_info *const *claims, size_t count);

/* One queue of a listing, with its counts. */
void lk_form_write_queue(struct lk_form_writer *writer, const lk_queue_info *queue);

/*
 * One item. owner, expires_in_ms: only while claimed; due_in_ms: only while delayed; value, needs:
 * only if it has them.
 */
void lk_form_write_item(struct lk_form_writer *writer, const char *queue, const lk_item_info *item);

/* The counts of a queue, by name. */
void lk_form_write_stats(struct lk_form_writer *writer, const char *queue,
                         const lk_queue_stats *stats);

/*
 * One event (rule R21). refusal: the outcome of a refusal; path (the first), paths and parts (as
 * text, rule R2): absent in a gap; queue, id, attempt: events of items; owner, note, ticket, token:
 * only if there are any; by, reason: what an administrator broke; deleted: events of values.
 */
void lk_form_write_event(struct lk_form_writer *writer, const lk_watch_event *event);

/* The bounds of a store, by name; 0: none. */
void lk_form_write_limits(struct lk_form_writer *writer, const lk_limits *limits);

/*
 * The description of a store: its lines of "name: value" under "report", its warnings, its
 * measurements.
 */
void lk_form_write_report(struct lk_form_writer *writer, const lk_report *report);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of the public API as JSON: one vocabulary for everybody who shows them.
 *
 * The names and their order are a contract with scripts (docs/cli.md, "Output"). A field that
 * would be meaningless is absent, never null; each function says which those are. No I/O happens
 * here, and nothing is kept: whoever wants a line calls lk_form_line().
 *
 * Every function returns a new reference, or NULL when memory is exhausted.
 */
#ifndef LK_FORM_FORM_H
#define LK_FORM_FORM_H

#include <jansson.h>

#include "lockkeeper/lockkeeper.h"

/*
 * What an ask, a renewal or a release came to.
 *   ticket: absent when nothing was drawn (a refused try)     token: only while held
 *   ttl_ms: absent when nothing lives, or its end is fixed    expires_in_ms: only while it lives
 *   in_use, position: answers to asks only                    created: asks that left a request
 *   cycle: DEADLOCK only     blockers: when there are some    error: failures only
 */
json_t *lk_form_result(const lk_result *result);

/* A failure that is not about a request: status and error. An empty text is replaced by the
 * outcome's own. */
json_t *lk_form_failure(lk_outcome outcome, const char *text);

/* A success that grants nothing: status "ok". */
json_t *lk_form_ok(void);

/*
 * One part of a live request. token: only while held; limit: only where there is one; units:
 * shared parts only; note: only where there is one. `with_blockers` adds blockers to what waits.
 */
json_t *lk_form_entry(const lk_entry *entry, bool with_blockers);

/* One past break. token: only if it was held; note: only where there was one. */
json_t *lk_form_audit_entry(const lk_audit_entry *entry);

/* How many requests a break ended. */
json_t *lk_form_broken(size_t count);

/*
 * The value kept at a path: `value`, or `value_base64` where it is not UTF-8; and in_doubt.
 * An answer to an ask that wanted the value has the same two fields.
 */
json_t *lk_form_value(const char *path, const lk_value *value);

/* What a push came to: `added` is false when the item was there already. */
json_t *lk_form_pushed(bool added);

/* A claim. value: only where the item has one. */
json_t *lk_form_claim(const lk_claim_info *claim);

/* One item. owner: only while claimed; due_in_ms: only while delayed; value, needs: where any. */
json_t *lk_form_item(const char *queue, const lk_item_info *item);

/* What was counted of a queue, by name. */
json_t *lk_form_stats(const char *queue, const lk_queue_stats *stats);

/*
 * One event (rule R21). refusal: of what was refused; path (the first), paths and parts (as text,
 * rule R2): but for a gap; queue, id, attempt: about an item; owner, note, ticket, token: where
 * there are any; deleted: of a value that was written.
 */
json_t *lk_form_event(const lk_watch_event *event);

/* The bounds of a store, by name; 0: none. */
json_t *lk_form_limits(const lk_limits *limits);

/* What a store is: its lines of "name: value" under "report", its warnings, its measurements. */
json_t *lk_form_report(const lk_report *report);

/* The object on one line, without a line end. Free with free(). */
char *lk_form_line(const json_t *object);

/*
 * `text` as a JSON string. JSON knows no bytes that are not UTF-8: each of them is replaced by
 * U+FFFD, so that what has been cut off, or was never text, can still be told.
 */
json_t *lk_form_text(const char *text);

#endif

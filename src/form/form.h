/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of the public API, told once for everybody who shows them: the command line and the
 * service's doors, in JSON or RESP, as the writer has it.
 *
 * The names and their order are a contract with scripts (docs/cli.md, "Output"). A field that
 * would be meaningless is absent, never null; each function says which those are. No I/O happens
 * here, and nothing is kept.
 *
 * lk_form_write_X(writer, ...) tells a record to a writer. lk_form_X(...), for the command line,
 * gives it as a new reference of Jansson's, or NULL when memory is exhausted; whoever wants a line
 * calls lk_form_line().
 */
#ifndef LK_FORM_FORM_H
#define LK_FORM_FORM_H

#include "form/writer.h"
#include "lockkeeper/lockkeeper.h"

/*
 * What an ask, a renewal or a release came to.
 *   ticket: absent when nothing was drawn (a refused try)     token: only while held
 *   ttl_ms: absent when nothing lives, or its end is fixed    expires_in_ms: only while it lives
 *   in_use, position: answers to asks only                    created: asks that left a request
 *   cycle: DEADLOCK only     blockers: when there are some    error: failures only
 */
void lk_form_write_result(struct lk_form_writer *writer, const lk_result *result);
json_t *lk_form_result(const lk_result *result);

/* A failure that is not about a request: status and error. An empty text is replaced by the
 * outcome's own. */
void lk_form_write_failure(struct lk_form_writer *writer, lk_outcome outcome, const char *text);
json_t *lk_form_failure(lk_outcome outcome, const char *text);

/* A success that grants nothing: status "ok". */
void lk_form_write_ok(struct lk_form_writer *writer);
json_t *lk_form_ok(void);

/*
 * One part of a live request. token: only while held; limit: only where there is one; units:
 * shared parts only; note: only where there is one; revoked: only if it is. `with_blockers` adds
 * position and blockers to what waits.
 */
void lk_form_write_entry(struct lk_form_writer *writer, const lk_entry *entry, bool with_blockers);
json_t *lk_form_entry(const lk_entry *entry, bool with_blockers);

/* One past break. token: only if it was held; note: only where there was one. */
void lk_form_write_audit_entry(struct lk_form_writer *writer, const lk_audit_entry *entry);
json_t *lk_form_audit_entry(const lk_audit_entry *entry);

/* How many requests a break ended. */
void lk_form_write_broken(struct lk_form_writer *writer, size_t count);
json_t *lk_form_broken(size_t count);

/*
 * The value kept at a path: `value`, or `value_base64` where it is not UTF-8; and in_doubt.
 * An answer to an ask that wanted the value has the same two fields.
 */
void lk_form_write_value(struct lk_form_writer *writer, const char *path, const lk_value *value);
json_t *lk_form_value(const char *path, const lk_value *value);

/* What a push came to: `added` is false when the item was there already. */
void lk_form_write_pushed(struct lk_form_writer *writer, bool added);
json_t *lk_form_pushed(bool added);

/* A claim. value: only where the item has one; stolen: only if its former claim perished. */
void lk_form_write_claim(struct lk_form_writer *writer, const lk_claim_info *claim);
json_t *lk_form_claim(const lk_claim_info *claim);

/* One item. owner, expires_in_ms: only while claimed; due_in_ms: only while delayed; value, needs:
 * where any. */
void lk_form_write_item(struct lk_form_writer *writer, const char *queue, const lk_item_info *item);
json_t *lk_form_item(const char *queue, const lk_item_info *item);

/* What was counted of a queue, by name. */
void lk_form_write_stats(struct lk_form_writer *writer, const char *queue,
                         const lk_queue_stats *stats);
json_t *lk_form_stats(const char *queue, const lk_queue_stats *stats);

/*
 * One event (rule R21). refusal: of what was refused; path (the first), paths and parts (as text,
 * rule R2): but for a gap; queue, id, attempt: about an item; owner, note, ticket, token: where
 * there are any; deleted: of a value that was written.
 */
void lk_form_write_event(struct lk_form_writer *writer, const lk_watch_event *event);
json_t *lk_form_event(const lk_watch_event *event);

/* The bounds of a store, by name; 0: none. */
void lk_form_write_limits(struct lk_form_writer *writer, const lk_limits *limits);
json_t *lk_form_limits(const lk_limits *limits);

/* What a store is: its lines of "name: value" under "report", its warnings, its measurements. */
json_t *lk_form_report(const lk_report *report);

/* The object on one line, without a line end. Free with free(). */
char *lk_form_line(const json_t *object);

/* `text` as a JSON string; what is not UTF-8 in it is replaced (form/text.h). */
json_t *lk_form_text(const char *text);

#endif

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
#include "lockkeeper/watch.h"
#include "lockkeeper/work.h"

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

/* The result of a push; what it has found and changed only if it has added nothing. */
void lk_form_write_pushed(struct lk_form_writer *writer, const lk_push_result *pushed);

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

/* ---- records --------------------------------------------------------------------------------- */

/*
 * The regular records of the public API, each declared once as a table of fields: name, kind,
 * offset in the struct, and when the field is present. The writers of JSON and RESP, and the reader
 * of a service's answers (engine/service/reader.h), loop over the same table.
 *
 * The names and their order are a contract with scripts (docs/cli.md, "Output").
 */

enum lk_field_kind {
    LK_FIELD_TEXT,       /* char *; NULL is never written */
    LK_FIELD_NUMBER,     /* int64_t */
    LK_FIELD_COUNT,      /* uint64_t */
    LK_FIELD_SMALL,      /* uint32_t */
    LK_FIELD_SIGNED,     /* int32_t; at count_at, unless that is 0, a bool: whether it is known */
    LK_FIELD_SIZE,       /* size_t */
    LK_FIELD_FLAG,       /* bool; also read from a number: anything but 0 */
    LK_FIELD_WORD,       /* bool, written as the first or the second of `names` */
    LK_FIELD_NAME,       /* const char *, one of `names`, static */
    LK_FIELD_OUTCOME,    /* lk_outcome, by its name */
    LK_FIELD_WATCH_KIND, /* lk_watch_kind, by its name */
    LK_FIELD_VALUE,      /* a pointer to bytes and a size: any bytes, lk_form_add_value() */
    LK_FIELD_TEXTS,      /* char ** and their count, which several lists may share */
    LK_FIELD_NUMBERS,    /* uint64_t * and their count; not read */
    LK_FIELD_FIRST,      /* the first of these, as a field of its own; not read, since the list
                          * has it */
    LK_FIELD_RECORDS,    /* an array of records of the form `of`, and their count */
    LK_FIELD_INLINE,     /* a struct whose fields (of `of`) are in the same map; its name is "" */
};

enum lk_field_when {
    LK_FIELD_ALWAYS,
    LK_FIELD_NEEDED,   /* always; reading a record without it fails */
    LK_FIELD_IF_ANY,   /* unless it is NULL, 0, false, empty or LK_OK */
    LK_FIELD_IF_KNOWN, /* a number: unless it is negative */
    LK_FIELD_IF_SHOWN, /* if is_shown() returns true */
};

struct lk_form;

/* The last one of a table has no name. */
struct lk_field {
    const char *name;
    enum lk_field_kind kind;
    enum lk_field_when when;
    size_t at;
    size_t count_at; /* VALUE, TEXTS, NUMBERS, FIRST, RECORDS: a size_t; SIGNED: a bool, or 0 */
    const char *const *names;
    const struct lk_form *of;
    bool (*is_shown)(const void *record);
};

struct lk_form {
    const struct lk_field *fields;
    size_t size;       /* of the struct */
    const void *blank; /* the initial value before reading */
};

extern const struct lk_form lk_form_of_blocker;         /* lk_blocker_info */
extern const struct lk_form lk_form_of_entry;           /* lk_entry */
extern const struct lk_form lk_form_of_explained_entry; /* ... with its blockers */
extern const struct lk_form lk_form_of_audit_entry;     /* lk_audit_entry */
extern const struct lk_form lk_form_of_value;           /* lk_value */
extern const struct lk_form lk_form_of_value_info;      /* lk_value_info */
extern const struct lk_form lk_form_of_part_value;      /* lk_part_value */
extern const struct lk_form lk_form_of_claim;           /* lk_claim_info */
extern const struct lk_form lk_form_of_item;            /* lk_item_info */
extern const struct lk_form lk_form_of_pushed;          /* lk_push_result */
extern const struct lk_form lk_form_of_stats;           /* lk_queue_stats */
extern const struct lk_form lk_form_of_queue;           /* lk_queue_info */
extern const struct lk_form lk_form_of_event;           /* lk_watch_event */
extern const struct lk_form lk_form_of_limits;          /* lk_limits */
extern const struct lk_form lk_form_of_result;          /* lk_result */
extern const struct lk_form lk_form_of_series_end;      /* struct lk_series_end */
extern const struct lk_form lk_form_of_doubt;           /* struct lk_doubt */

/* Answers that are one number, a size_t, or a bool, by the name of what they tell. */
extern const struct lk_form lk_form_of_broken;
extern const struct lk_form lk_form_of_done;
extern const struct lk_form lk_form_of_dropped;

/* Why the claims of one decision are not more. */
struct lk_series_end {
    lk_outcome outcome;
    const char *text;
};

/* A value in doubt (R15) in a listing, without its bytes. */
struct lk_doubt {
    const char *path;
    size_t size;
};

/* Adds the record's fields to the open map. */
void lk_form_add_fields(struct lk_form_writer *writer, const struct lk_form *form,
                        const void *record);

/* Whether the field has no value to write. */
bool lk_field_is_empty(const struct lk_field *field, const void *record);

#endif

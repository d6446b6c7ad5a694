/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The regular records of the public API, each declared once as a table of fields: name, kind,
 * offset in the struct, and when the field is present. The writers of JSON and RESP, and the reader
 * of a service's answers (engine/service/reader.h), loop over the same table.
 *
 * The names and their order are a contract with scripts (docs/cli.md, "Output").
 */
#ifndef LK_FORM_RECORD_H
#define LK_FORM_RECORD_H

#include "form/writer.h"
#include "lockkeeper/watch.h"
#include "lockkeeper/work.h"

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
extern const struct lk_form lk_form_of_added;

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

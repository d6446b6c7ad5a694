/* SPDX-License-Identifier: Apache-2.0 */
/* How an outcome, a listing and a table are printed. */
#ifndef LK_CLI_PRINT_SAY_H
#define LK_CLI_PRINT_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "form/form.h"
#include "lockkeeper/lockkeeper.h"

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * Tables with aligned columns. Cells are added from left to right and row by row, made visible
 * (human.h) and copied; widths are known when all are there, so writing comes last. Below a row
 * there may be lines that keep to no column.
 */

struct lk_table_cell {
    char *text;
    const char *colour; /* an escape sequence; NULL: none */
    char *below;        /* of the last cell of a row: lines below it; NULL: none */
};

struct lk_table {
    size_t column_count;
    struct lk_table_cell *cells;
    size_t cell_count;
    size_t capacity;
    bool failed; /* memory was exhausted */
};

/* An empty table with its first row. `titles` has column_count texts. */
void lk_table_open(struct lk_table *table, const char *const *titles, size_t column_count);
void lk_table_close(struct lk_table *table);

void lk_table_add(struct lk_table *table, const char *text);
/* As lk_human_owner_of(). */
void lk_table_add_owner(struct lk_table *table, const char *owner, const char *user);

/* The same; `colour` is an escape sequence with static storage, or NULL. */
void lk_table_add_coloured(struct lk_table *table, const char *text, const char *colour);
void lk_table_add_number(struct lk_table *table, uint64_t number);
void lk_table_add_duration(struct lk_table *table, int64_t duration_ms);

/* Lines to be printed unchanged below the row that was completed last. Takes over `lines`; NULL:
 * memory was exhausted. */
void lk_table_add_below(struct lk_table *table, char *lines);

/* Writes all rows, in colour if so wanted, the first one bold. False when memory was exhausted: no
 * row. */
bool lk_table_write(const struct lk_table *table, FILE *out, bool colour);

/* ---- outcomes -------------------------------------------------------------------------------- */

/*
 * How an outcome is printed. With --json: one object on stdout whatever the outcome, stderr empty.
 * Without: a failure prints nothing on stdout and one line `lk: OUTCOME: text` on stderr, which
 * --quiet suppresses. Every function returns the exit code of the outcome that it printed.
 */

/* How this call of the program prints. */
struct lk_cli {
    FILE *out;
    FILE *err;
    bool json;
    bool quiet;             /* nothing of progress, nor of what is no failure of another kind */
    bool is_conflict_told;  /* BUSY and TIMEOUT are: neither -q nor -E is given, or -v */
    int conflict_exit_code; /* for BUSY and TIMEOUT (-E); 75 unless given */
    bool colour;            /* stdout is a terminal that wants it */
    bool drawn;             /* stdout is a terminal that shows lines drawn with UTF-8 */
};

/* The exit code of an outcome, -E considered. */
int lk_say_exit_code(const struct lk_cli *cli, lk_outcome outcome);

/* A failure with its sentence; an empty one, or NULL, is replaced by the outcome's own. */
int lk_say_failure(const struct lk_cli *cli, lk_outcome outcome, const char *text);

/* An object of JSON, to be printed with lk_say_object(). */
struct lk_object {
    struct lk_form_writer form;
    struct lk_buffer bytes;
};
struct lk_form_writer *lk_object_begin(struct lk_object *object);

/* The object on a line of stdout. Ends the object. */
int lk_say_object(const struct lk_cli *cli, lk_outcome outcome, struct lk_object *object);

/* The table, or the failure to make it. Ends the table. */
int lk_say_table(const struct lk_cli *cli, struct lk_table *table);

/* A call that grants nothing: status "ok" with --json, nothing without; or its failure. */
int lk_say_done(const struct lk_cli *cli, lk_outcome outcome, const lk_error *error);

/*
 * LOST under the owner that was made for the caller. The lease may exist under another owner; the
 * message says whose the one that was made is, and `hint` how to name the other.
 */
int lk_say_lost_by_caller(const struct lk_cli *cli, const char *owner, const char *hint,
                          const char *text);

/*
 * The result of a request, a renewal or a release. A success prints only its object; a failure
 * prints the blockers, or the cycle of a deadlock; and what is on record of breaks, for which it
 * asks the store. NULL: it is not asked.
 */
int lk_say_result(const struct lk_cli *cli, lk_store *store, const lk_result *result);

/* Prints that a waiting request was queued again before its grant; the JSON has no field. */
void lk_say_requeued(const struct lk_cli *cli, const lk_result *result);

/* ---- requests of a listing ------------------------------------------------------------------- */

/* One part of a live request in words, the same wherever it is shown; and as objects. */

enum { LK_ENTRY_MODE_SIZE = 48 };

/* "exclusive", "shared", "shared 2/5" (units of the limit). */
void lk_entry_mode_text(const lk_entry *entry, char ret_text[LK_ENTRY_MODE_SIZE]);

/* "held", "revoked" (held until its deadline, R12) or "waiting". */
const char *lk_entry_state_text(const lk_entry *entry);

/* The escape sequence of the state's colour. */
const char *lk_entry_colour(const lk_entry *entry);

/* --json: one object a part. Returns the exit code. */
int lk_entries_say(const struct lk_cli *cli, const lk_listing *listing, bool with_blockers);

#endif

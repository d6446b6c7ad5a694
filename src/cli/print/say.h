/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an outcome is printed. With --json: one object on stdout whatever the outcome, stderr empty.
 * Without: a failure prints nothing on stdout and one line `lk: OUTCOME: text` on stderr, which
 * --quiet suppresses. Every function returns the exit code of the outcome that it printed.
 */
#ifndef LK_CLI_PRINT_SAY_H
#define LK_CLI_PRINT_SAY_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/print/table.h"
#include "form/form.h"
#include "lockkeeper/lockkeeper.h"

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an outcome is told. With --json: one object on stdout whatever the outcome, stderr empty.
 * Without: a failure prints nothing on stdout and one line `lk: OUTCOME: text` on stderr, which
 * --quiet keeps back. Every function returns the exit code of what it told.
 */
#ifndef LK_CLI_SAY_H
#define LK_CLI_SAY_H

#include <jansson.h>

#include "cli/cli.h"

/* The exit code of an outcome, -E considered. */
int lk_say_exit_code(const struct lk_cli *cli, lk_outcome outcome);

/* A failure with its sentence; an empty one, or NULL, is replaced by the outcome's own. */
int lk_say_failure(const struct lk_cli *cli, lk_outcome outcome, const char *text);

/* One object on a line of stdout. Takes over `object`; NULL says that memory was exhausted. */
int lk_say_object(const struct lk_cli *cli, lk_outcome outcome, json_t *object);

/* A call that grants nothing: status "ok" with --json, nothing without; or its failure. */
int lk_say_done(const struct lk_cli *cli, lk_outcome outcome, const lk_error *error);

/*
 * LOST under the owner that was made for the calling shell: what is meant may be there under
 * another one, which is worth a word to people.
 */
int lk_say_lost_by_shell(const struct lk_cli *cli, const char *owner, const char *text);

/*
 * What came of an ask, a renewal or a release. A success says nothing here but its object; a
 * failure says who is in the way, or who waits for whom.
 */
int lk_say_result(const struct lk_cli *cli, const lk_result *result);

#endif

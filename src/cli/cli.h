/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program `lk`: one call that is the whole of it, and what its commands share.
 *
 * A command line is parsed against two tables (option.c, command.c), its command's handler opens
 * the store, makes one call of the library's public header and prints its outcome (say.h). Handlers
 * return exit codes; only lk_cli_main() checks that stdout was written.
 */
#ifndef LK_CLI_CLI_H
#define LK_CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/parse/command_line.h"
#include "lockkeeper/lockkeeper.h"

struct lk_cli; /* how this call prints: say.h */

enum { LK_EXIT_SIGNAL = 128 }; /* + N: ended by signal N, as shells have it */

/* Runs `lk` with these arguments and streams. Returns the exit code. */
int lk_cli_main(int argc, char *const *argv, FILE *out, FILE *err);

/*
 * Opens the store of -S, of $LK_STORE, or the default one; for a command that only reads, an empty
 * one in its place if it is a file that does not exist. LK_OK; else the failure is printed and
 * *ret_exit_code is set.
 */
lk_outcome lk_cli_open(const struct lk_cli *cli, const struct lk_command_line *line,
                       lk_store **ret_store, int *ret_exit_code);

/*
 * For how long the command may still wait for what it asks of the store; a claim is a try without
 * --wait.
 */
int64_t lk_cli_wait_ms(const struct lk_command_line *line);

/* Closes it, unless a thread that tells of a wait still uses it: the process is about to end. */
void lk_cli_close(lk_store *store);

/*
 * lk_cli_open() for a command whose first argument is a path: it is checked first, and *ret_path is
 * it, as R1 normalises it, to be freed.
 */
lk_outcome lk_cli_open_at_path(const struct lk_cli *cli, const struct lk_command_line *line,
                               char **ret_path, lk_store **ret_store, int *ret_exit_code);

/*
 * The store's URL as lk_store_url() shows it, of one that need not be there; for free(). NULL:
 * memory is exhausted, or the URL is wrong.
 */
char *lk_cli_store_name(const struct lk_command_line *line);

/* LK_OK; or LK_INVALID: --table names a table in a file that is not there, and is not made then. */
lk_outcome lk_cli_check_table_store(const struct lk_command_line *line, lk_error *error);

/*
 * On a terminal: says on stderr that there is nothing of `what` ("nothing is held"), and names the
 * prefix that was asked for (NULL: none) and the store.
 */
void lk_cli_say_empty(const struct lk_cli *cli, const struct lk_command_line *line,
                      const lk_store *store, const char *what, const char *prefix);

/*
 * Whether the store can be shared with another call of the program, for commands that live on what
 * others do: LK_OK, or LK_UNSUPPORTED with a sentence.
 */
lk_outcome lk_cli_check_shared(const lk_store *store, lk_error *error);

/* The handlers, one family a file. */
int lk_cli_acquire(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_hold(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_renew(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_release(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_get(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_put(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_del(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_values(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_push(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_claim(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_done(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_progress(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_retry(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_report(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_unpark(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_cancel(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_drop(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_queues(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_work(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_items(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_result(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_stats(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_break(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_audit(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_ls(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_show(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store);
int lk_cli_watch(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_limits(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_top(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_backup(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_doctor(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_serve(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_passwd(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_bench(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_schema(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_run_command(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_help(const struct lk_cli *cli, const struct lk_command_line *line);
int lk_cli_version(const struct lk_cli *cli, const struct lk_command_line *line);

/* ---- help.c ---------------------------------------------------------------------------------- */

/* Help texts, made from the tables of commands and options. */

void lk_help_overview(FILE *out); /* what lk is, and its commands */
void lk_help_command(FILE *out, const struct lk_cli_command *command);

/* The help of a command, or the overview for NULL, as text or as an object. The exit code. */
int lk_help_say(const struct lk_cli *cli, const struct lk_cli_command *command);

/* ---- complete.c ------------------------------------------------------------------------------ */

/*
 * The candidates for the word at the cursor: `lk __complete WORD... CURRENT` with the words behind
 * `lk` up to the cursor, the last of which may be empty. Prints one candidate a line, with a tab
 * and a description. The shells' own files (completion/) only pass the words and the candidates.
 */

/* The first word of such a call. It is in no list of commands. */
#define LK_COMPLETE_COMMAND "__complete"

/*
 * `words` is ended by NULL. Never fails, never creates a store, and ends the program after two
 * seconds, because the shell blocks until it ends.
 */
void lk_complete(char *const *words, FILE *out);

/* ---- title.c: the title of the process ------------------------------------------------------- */

/* Passwords are hidden in the command line that ps(1) shows to other users. */

/*
 * Puts a copy in the place of each word that is a URL with a password in it, up to `--`, and takes
 * the password out of the original, which is what others see. The copies last as long as the
 * process. False when memory is exhausted.
 */
bool lk_title_hide_passwords(char **argv);

/* ---- title.c: the note of a command ---------------------------------------------------------- */

/* The note of a request whose user gave none: the command that it is for (R19). */

enum { LK_COMMAND_NOTE_BYTES_MAX = 60 };

/*
 * Writes the words of a command (ended by NULL), separated by blanks, and cut at a character.
 * Control characters become blanks, and passwords in URLs are left out. What is no UTF-8 becomes
 * '?'.
 */
void lk_command_note(char *const *words, char ret_note[LK_COMMAND_NOTE_BYTES_MAX + 1]);

#endif

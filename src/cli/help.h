/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, made from the tables of commands and options. */
#ifndef LK_CLI_HELP_H
#define LK_CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

void lk_help_overview(FILE *out); /* what lk is, and its commands */
void lk_help_command(FILE *out, const struct lk_cli_command *command);

/* The help of a command, or the overview for NULL, as text or as an object. The exit code. */
int lk_help_say(const struct lk_cli *cli, const struct lk_cli_command *command);

#endif

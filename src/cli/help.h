/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, made from the tables of commands and options. */
#ifndef LK_CLI_HELP_H
#define LK_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

void lk_help_usage(FILE *out);    /* a few lines, for who typed nothing */
void lk_help_overview(FILE *out); /* what lk is, and its commands */
void lk_help_command(FILE *out, const struct lk_command *command);

#endif

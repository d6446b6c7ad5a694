/* SPDX-License-Identifier: Apache-2.0 */
/* What lk doctor has read of a service, in sentences. */
#ifndef LK_CLI_PRINT_DIAGNOSIS_H
#define LK_CLI_PRINT_DIAGNOSIS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Prints the report (lines of `name: value`) in sentences if it is that of a service, which has
 * some forty figures. Returns false, and prints nothing, if it is that of another store: that is
 * short.
 */
bool lk_diagnosis_say(FILE *out, const char *report);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* CMD's stdin: a file in memory, so that no process has to write while CMD reads. */
#ifndef LK_CLI_WORK_INPUT_H
#define LK_CLI_WORK_INPUT_H

#include "lockkeeper/lockkeeper.h"

/* Both return the file, at its beginning, to be closed; -1 with errno. */

/* The item's value. */
int lk_pool_input_value(const lk_claim_info *claim);

/* A line of JSON for each item: id, value (or value_base64) if it has one, token and attempt. */
int lk_pool_input_lines(const lk_work_item *items, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines to stderr, without blocking. Used by the loop's thread only. */
#ifndef LK_SERVER_LOG_OUTPUT_H
#define LK_SERVER_LOG_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

void lk_log_output_begin(void);
void lk_log_output_end(void);

/* Whether the whole line was written. A partial line counts as lost. */
bool lk_log_output_write(const char *line, size_t size);

#endif

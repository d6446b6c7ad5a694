/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that come from several threads, beside those of CMD, and must not be torn apart. */
#include "cli/run/notice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/human.h"

void lk_run_notice(const char *word, const char *format, ...) {
    char text[LK_RUN_NOTICE_MAX];
    char line[LK_RUN_NOTICE_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *visible = lk_human_visible(text);
    (void)snprintf(line, sizeof line - 1, "lk: %s: %s", word, visible != NULL ? visible : "");
    free(visible);
    size_t size = strlen(line);
    line[size++] = '\n';
    /* Nobody is left to be told when stderr cannot be written. */
    ssize_t written = write(STDERR_FILENO, line, size);
    (void)written;
}

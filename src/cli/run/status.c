/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from several threads, beside the output of CMD; a line must not be split. */
#include "cli/run/status.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/print/human.h"

enum { PATIENCE_MS = 1000 };

static const char *line_prefix = "";

void lk_run_status_begin_with(const char *prefix) {
    line_prefix = prefix;
}

static bool await_room(int patience_ms) {
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&room, 1, patience_ms) == 1;
}

bool lk_run_status_has_room(void) {
    return await_room(0);
}

void lk_run_status(const char *word, const char *format, ...) {
    char text[LK_RUN_STATUS_MAX];
    char line[LK_RUN_STATUS_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *visible = lk_human_sentence(text);
    (void)snprintf(line, sizeof line - 1, "%slk: %s: %s", line_prefix, word,
                   visible != NULL ? visible : "");
    free(visible);
    size_t size = strlen(line);
    line[size++] = '\n';
    /* A failure to write to stderr cannot be reported. */
    ssize_t written = await_room(PATIENCE_MS) ? write(STDERR_FILENO, line, size) : 0;
    (void)written;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that come from several threads, beside those of CMD, and must not be torn apart. */
#include "cli/run/notice.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/human.h"

enum { PATIENCE_MS = 1000 };

static bool await_room(int patience_ms) {
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&room, 1, patience_ms) == 1;
}

bool lk_run_notice_has_room(void) {
    return await_room(0);
}

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
    ssize_t written = await_room(PATIENCE_MS) ? write(STDERR_FILENO, line, size) : 0;
    (void)written;
}

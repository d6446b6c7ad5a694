/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to stderr without blocking. O_NONBLOCK must not be set on stderr itself, because other
 * processes may share its open file description. A pipe or a terminal is opened a second time,
 * which makes a description of its own. If it belongs to another user, as under sudo or in a
 * container, that is refused: a line is then written only while there is room for it, and another
 * process that fills the same pipe in that very moment can still block this one. A socket is
 * written with MSG_DONTWAIT. Anything else is a file, and a write to it waits for no reader.
 */
#include "server/log.h"

#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    KINDS_MAX = 16, /* kinds beyond this number are counted as one */
    LINE_BYTES_MAX = 1024,
};

#define INTERVAL_US INT64_C(1000000)

struct kind {
    const char *name;
    int64_t logged_us;
    uint64_t suppressed; /* since the last line of its kind */
};

static struct {
    int descriptor; /* -1: not begun */
    bool is_socket;
    bool may_block;   /* a pipe or a terminal that could not be opened again */
    uint64_t dropped; /* lines lost since the last one that was written */
    struct kind kinds[KINDS_MAX];
} logger = {.descriptor = -1};

static void on_libevent(int severity, const char *text) {
    if (severity >= EVENT_LOG_WARN) {
        lk_server_log("libevent", "%s", text);
    }
}

void lk_server_log_begin(void) {
    struct stat status;

    logger.descriptor = STDERR_FILENO;
    logger.is_socket = logger.may_block = false;
    if (fstat(STDERR_FILENO, &status) == 0) {
        logger.is_socket = S_ISSOCK(status.st_mode);
        if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
            int again = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
            logger.descriptor = again >= 0 ? again : STDERR_FILENO;
            logger.may_block = again < 0;
        }
    }
    event_set_log_callback(on_libevent);
}

/* In a pipe there is room for PIPE_BUF bytes then. */
static bool has_room(void) {
    struct pollfd descriptor = {.fd = logger.descriptor, .events = POLLOUT};

    return poll(&descriptor, 1, 0) == 1 && (descriptor.revents & POLLOUT) != 0;
}

/* Returns whether the whole line was written. A partial line counts as lost. */
static bool write_line(const char *line, size_t size) {
    ssize_t written = -1;

    if (logger.is_socket) {
        written = send(logger.descriptor, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (!logger.may_block || has_room()) {
        written = write(logger.descriptor, line, size);
    }
    return written == (ssize_t)size;
}

static void write_reporting_losses(const char *line, size_t size) {
    char lost[LINE_BYTES_MAX];
    int lost_size = 0;

    if (logger.dropped > 0) {
        lost_size = snprintf(lost, sizeof lost,
                             "lk serve: stderr: %" PRIu64 " lines were dropped, as stderr was "
                             "not read\n",
                             logger.dropped);
    }
    if (lost_size > 0 && !write_line(lost, (size_t)lost_size)) {
        logger.dropped++;
        return;
    }
    logger.dropped = 0;
    logger.dropped += !write_line(line, size);
}

static struct kind *find_kind(const char *name) {
    size_t i = 0;

    while (i + 1 < KINDS_MAX && logger.kinds[i].name != NULL
           && strcmp(logger.kinds[i].name, name) != 0) {
        i++;
    }
    logger.kinds[i].name = name;
    return &logger.kinds[i];
}

/* Ends a line that may have been cut off at the size of its buffer. */
static size_t end_line(char *line, size_t size) {
    size = size < LINE_BYTES_MAX - 1 ? size : LINE_BYTES_MAX - 2;
    line[size] = '\n';
    return size + 1;
}

static void log_suppressed(struct kind *kind) {
    char line[LINE_BYTES_MAX];
    int size =
        snprintf(line, sizeof line, "lk serve: %s: %" PRIu64 " more of these were suppressed",
                 kind->name, kind->suppressed);

    kind->suppressed = 0;
    write_reporting_losses(line, end_line(line, size > 0 ? (size_t)size : 0));
}

void lk_server_log(const char *name, const char *format, ...) {
    char line[LINE_BYTES_MAX];
    struct kind *kind = find_kind(name);
    int64_t now_us = lk_clock_now_us();
    size_t size;
    int added;
    va_list arguments;

    if (kind->logged_us != 0 && now_us - kind->logged_us < INTERVAL_US) {
        kind->suppressed++;
        return;
    }
    if (kind->suppressed > 0) {
        log_suppressed(kind);
    }
    kind->logged_us = now_us;
    added = snprintf(line, sizeof line, "lk serve: %s: ", name);
    size = added > 0 ? (size_t)added : 0;
    size = size < sizeof line ? size : sizeof line - 1;
    va_start(arguments, format);
    added = vsnprintf(line + size, sizeof line - size, format, arguments);
    va_end(arguments);
    write_reporting_losses(line, end_line(line, size + (added > 0 ? (size_t)added : 0)));
}

void lk_server_log_end(void) {
    for (size_t i = 0; i < KINDS_MAX; i++) {
        if (logger.kinds[i].suppressed > 0) {
            log_suppressed(&logger.kinds[i]);
        }
        logger.kinds[i] = (struct kind){.name = NULL};
    }
    event_set_log_callback(NULL);
    if (logger.descriptor > STDERR_FILENO) {
        (void)close(logger.descriptor);
    }
    logger.descriptor = -1;
    logger.dropped = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to stderr without blocking. O_NONBLOCK must not be set on stderr itself, because other
 * processes may share its open file description. A pipe or a terminal is opened a second time,
 * which makes a description of its own. If it belongs to another user, as under sudo or in a
 * container, that is refused: a line is then written only while there is room for it, and another
 * process that fills the same pipe in that very moment can still block this one. A socket is
 * written with MSG_DONTWAIT. Anything else is a file, and a write to it waits for no reader.
 */
#include "server/log/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    int descriptor; /* -1: not begun */
    bool is_socket;
    bool may_block; /* a pipe or a terminal that could not be opened again */
} output = {.descriptor = -1};

void lk_log_output_begin(void) {
    struct stat status;

    output.descriptor = STDERR_FILENO;
    output.is_socket = output.may_block = false;
    if (fstat(STDERR_FILENO, &status) == 0) {
        output.is_socket = S_ISSOCK(status.st_mode);
        if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
            int again = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
            output.descriptor = again >= 0 ? again : STDERR_FILENO;
            output.may_block = again < 0;
        }
    }
}

void lk_log_output_end(void) {
    if (output.descriptor > STDERR_FILENO) {
        (void)close(output.descriptor);
    }
    output.descriptor = -1;
}

/* In a pipe there is room for PIPE_BUF bytes then. */
static bool has_room(void) {
    struct pollfd descriptor = {.fd = output.descriptor, .events = POLLOUT};

    return poll(&descriptor, 1, 0) == 1 && (descriptor.revents & POLLOUT) != 0;
}

bool lk_log_output_write(const char *line, size_t size) {
    ssize_t written = -1;

    if (output.is_socket) {
        written = send(output.descriptor, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (!output.may_block || has_room()) {
        written = write(output.descriptor, line, size);
    }
    return written == (ssize_t)size;
}

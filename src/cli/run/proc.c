/* SPDX-License-Identifier: Apache-2.0 */
/* The paths of /proc, written digit by digit: snprintf() is not safe between fork and exec. */
#include "cli/run/proc.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int lk_run_proc_open(pid_t pid, const char *name) {
    char path[sizeof "/proc//" + 16 + LK_RUN_PROC_NAME_MAX];
    char digits[16];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + pid % 10);
        pid /= 10;
    } while (pid > 0);
    char *end = stpcpy(path, "/proc/");
    while (count > 0) {
        *end++ = digits[--count];
    }
    *end++ = '/';
    stpcpy(end, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool lk_run_proc_read(pid_t pid, const char *name, char *ret_text, size_t size) {
    int descriptor = lk_run_proc_open(pid, name);

    if (descriptor < 0) {
        return false;
    }
    ssize_t filled = read(descriptor, ret_text, size - 1);
    close(descriptor);
    ret_text[filled > 0 ? filled : 0] = '\0';
    return filled > 0;
}

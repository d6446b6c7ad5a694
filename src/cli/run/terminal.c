/* SPDX-License-Identifier: Apache-2.0 */
/* The foreground group is read again each time: a shell moves jobs without notifying them. */
#include "cli/run/terminal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/descendants.h"

/* At its other end is a process that may be of this job, and not started yet. */
static bool is_pipe(int descriptor) {
    struct stat status;

    return fstat(descriptor, &status) == 0
           && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* tcgetpgrp() fails if the descriptor is not the controlling terminal. */
static bool has_it_alone(void) {
    return tcgetpgrp(STDIN_FILENO) >= 0 && !is_pipe(STDOUT_FILENO) && !is_pipe(STDERR_FILENO)
           && lk_run_descendants_is_alone();
}

void lk_run_terminal_open(struct lk_run_terminal *terminal) {
    terminal->descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    terminal->lent_to = 0;
    terminal->is_shared = terminal->descriptor >= 0 && !has_it_alone();
}

void lk_run_terminal_close(struct lk_run_terminal *terminal) {
    if (terminal->descriptor >= 0) {
        close(terminal->descriptor);
        terminal->descriptor = -1;
    }
}

bool lk_run_terminal_lend(struct lk_run_terminal *terminal, pid_t group) {
    if (terminal->descriptor < 0 || terminal->is_shared
        || tcgetpgrp(terminal->descriptor) != getpgrp()
        || tcsetpgrp(terminal->descriptor, group) != 0) {
        return false;
    }
    terminal->lent_to = group;
    return true;
}

void lk_run_terminal_take_back(struct lk_run_terminal *terminal) {
    if (terminal->lent_to != 0) {
        pid_t front = tcgetpgrp(terminal->descriptor);
        if (front == terminal->lent_to || lk_run_descendants_own_group(front)) {
            tcsetpgrp(terminal->descriptor, getpgrp());
        }
        terminal->lent_to = 0;
    }
}

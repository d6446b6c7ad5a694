/* SPDX-License-Identifier: Apache-2.0 */
/* The foreground group is read again each time: a shell moves jobs without notifying them. */
#include "cli/run/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include "cli/run/descendants.h"

void lk_run_terminal_open(struct lk_run_terminal *terminal) {
    terminal->descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    terminal->lent_to = 0;
}

void lk_run_terminal_close(struct lk_run_terminal *terminal) {
    if (terminal->descriptor >= 0) {
        close(terminal->descriptor);
        terminal->descriptor = -1;
    }
}

bool lk_run_terminal_lend(struct lk_run_terminal *terminal, pid_t group) {
    if (terminal->descriptor < 0 || tcgetpgrp(terminal->descriptor) != getpgrp()
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

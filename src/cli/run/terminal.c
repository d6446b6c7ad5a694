/* SPDX-License-Identifier: Apache-2.0 */
/* Who is in front is asked anew each time: a shell moves jobs without telling them. */
#include "cli/run/terminal.h"

#include <fcntl.h>
#include <unistd.h>

void lk_run_terminal_open(struct lk_run_terminal *terminal) {
    terminal->descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    terminal->is_lent = false;
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
    terminal->is_lent = true;
    return true;
}

void lk_run_terminal_take_back(struct lk_run_terminal *terminal) {
    if (terminal->is_lent) {
        tcsetpgrp(terminal->descriptor, getpgrp());
        terminal->is_lent = false;
    }
}

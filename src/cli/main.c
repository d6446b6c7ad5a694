/* SPDX-License-Identifier: Apache-2.0 */
/* main(): opens the three standard descriptors, hides passwords, calls lk_cli_main(), and ends
 * as it was told to. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/program.h"
#include "cli/cli.h"
#include "cli/run/signals.h"
#include "client/store.h"

/*
 * A standard descriptor that the caller has closed would be reused for the next file that is
 * opened, and output would be written into that file. So it is opened here, unreadable and
 * unwritable.
 */
static bool occupy(int descriptor, int flags) {
    return fcntl(descriptor, F_GETFD) >= 0 || open("/dev/null", flags | O_CLOEXEC) == descriptor;
}

/* Does not wait for a thread that still looks for a silent server (client/store.h). */
static _Noreturn void end(int exit_code) {
    if (lk_opening_is_abandoned()) {
        (void)fflush(NULL);
        _exit(exit_code);
    }
    exit(exit_code);
}

int main(int argc, char **argv) {
    if (!occupy(STDIN_FILENO, O_WRONLY) || !occupy(STDOUT_FILENO, O_RDONLY)
        || !occupy(STDERR_FILENO, O_RDONLY) || !lk_title_hide_passwords(argv)) {
        return lk_outcome_exit_code(LK_INTERNAL);
    }
    lk_program_set(argv[0]);
    end(lk_death_conclude(lk_cli_main(argc, argv, stdout, stderr)));
}

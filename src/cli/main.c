/* SPDX-License-Identifier: Apache-2.0 */
/* main(): opens the three standard descriptors, hides passwords, calls lk_cli_main(), and ends
 * as it was told to. */
#include <fcntl.h>
#include <unistd.h>

#include "base/program.h"
#include "cli/cli.h"
#include "cli/run/signals.h"

/*
 * A standard descriptor that the caller has closed would be reused for the next file that is
 * opened, and output would be written into that file. So it is opened here, unreadable and
 * unwritable.
 */
static bool occupy(int descriptor, int flags) {
    return fcntl(descriptor, F_GETFD) >= 0 || open("/dev/null", flags | O_CLOEXEC) == descriptor;
}

int main(int argc, char **argv) {
    if (!occupy(STDIN_FILENO, O_WRONLY) || !occupy(STDOUT_FILENO, O_RDONLY)
        || !occupy(STDERR_FILENO, O_RDONLY) || !lk_title_hide_passwords(argv)) {
        return lk_outcome_exit_code(LK_INTERNAL);
    }
    lk_program_set(argv[0]);
    return lk_death_conclude(lk_cli_main(argc, argv, stdout, stderr));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The clean-up command: started by lk or by the guard, waited for by lk. */
#include "cli/run/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/guard.h"
#include "cli/run/status.h"

static const char shell[] = "/bin/sh";

enum { NOT_STARTED = 127 };

_Noreturn void lk_run_become_shell(const char *command, char *const *environment,
                                   const struct lk_run_signals *signals) {
    /* exec takes writable words, but does not write to them. */
    char *const words[] = {(char *)shell, (char *)"-c", (char *)command, NULL};

    lk_run_signals_restore(signals);
    execve(shell, words, environment);
    _exit(NOT_STARTED);
}

pid_t lk_run_cleanup_start(const struct lk_run_cleanup *cleanup, struct lk_run_guard *guard,
                           int exit_code) {
    lk_run_environment_set_exit(cleanup->environment, exit_code);
    pid_t pid = fork();
    if (pid == 0) {
        if (guard != NULL) {
            lk_run_guard_cleanup_taken(guard);
        }
        lk_run_become_shell(cleanup->command, cleanup->environment->cleanup, cleanup->signals);
    }
    return pid;
}

static void handle_signals(const struct lk_run_signals *signals, pid_t pid) {
    bool is_from_kernel;
    int signal;

    while ((signal = lk_run_signals_next_from(signals, &is_from_kernel)) != 0) {
        if (lk_run_signal_is_end(signal)) {
            if (!is_from_kernel) { /* the terminal has sent it to the clean-up too */
                kill(pid, signal);
            }
        } else if (signal == SIGTSTP) {
            /* The terminal has stopped the clean-up too: it is in lk's own group. */
            lk_run_signals_stop_here(false);
        }
    }
}

void lk_run_cleanup_run(const struct lk_run_cleanup *cleanup, struct lk_run_guard *guard,
                        int exit_code) {
    pid_t pid = lk_run_cleanup_start(cleanup, guard, exit_code);

    if (pid < 0) {
        lk_run_status("INTERNAL", "the clean-up command cannot be started: %s", strerror(errno));
        return;
    }
    struct pollfd turn = {.fd = cleanup->signals->descriptor, .events = POLLIN};
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        /* Its end is a SIGCHLD, which is among the signals. */
        poll(&turn, 1, -1);
        handle_signals(cleanup->signals, pid);
    }
}

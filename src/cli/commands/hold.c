/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk hold: a lease that lives as long as the calling process. This process forks a keeper, prints
 * nothing itself, and ends with the exit code that the keeper sends it once there is an answer.
 *
 * The keeper asks, prints the answer as lk acquire does, moves its standard descriptors to
 * /dev/null so that no reader of a pipe waits for it, and keeps the lease until the process that it
 * is held for has ended. That process is watched by a descriptor which is opened before anything
 * blocks: a pid could be reused. The keeper leads a session of its own, and no signal of the
 * caller's job reaches it; while it waits in the queue, signals are passed on to it from here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"
#include "base/system_call.h"
#include "cli/commands/lease_call.h"
#include "cli/interrupt.h"
#include "cli/parse/caller.h"
#include "cli/print/say.h"
#include "cli/run/descriptors.h"
#include "cli/run/environment.h"
#include "cli/run/guard.h"
#include "cli/run/signals.h"
#include "cli/store/url.h"
#include "client/lease.h"

struct hold {
    const struct lk_cli *cli;
    const struct lk_command_line *line;
    struct lk_lease_call call;
    struct lk_run_signals signals;
    int held_for; /* pidfd */
    int answer;   /* the keeper's writing end of the pipe, an int: the exit code */
    int lost;     /* eventfd, used by the keeper */
    lk_lease *lease;
    lk_result *granted;
};

static int fail(const struct lk_cli *cli, const char *what) {
    lk_error error;

    (void)lk_run_explain_lack(what, &error);
    return lk_say_failure(cli, error.outcome, error.text);
}

/* ---- the end, in the keeper ------------------------------------------------------------------ */

/*
 * Whether the lease was ended by a release, with its token or by its owner: a release that is
 * repeated is answered as the first one was (R3). A lease that was lost is not.
 */
static bool was_released(struct hold *hold) {
    const lk_result *granted = hold->granted;
    lk_request request = hold->call.request;

    request.cancel = NULL;
    return lk_renew(hold->call.store, &request, granted->token, NULL, NULL) == LK_LOST
           && lk_release(hold->call.store, &request, granted->token, NULL, NULL) == LK_OK;
}

static void clean_up(struct hold *hold, const char *command) {
    struct lk_run_environment environment;
    char *url = lk_secret_url_of(lk_command_line_text(hold->line, LK_OPTION_STORE));
    bool is_described = url != NULL && lk_run_environment_init(&environment, url, hold->granted);
    int status;

    free(url);
    if (!is_described) {
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGPIPE, SIG_DFL);
        lk_run_become_shell(command, environment.command, &hold->signals);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    lk_run_environment_done(&environment);
}

static void end(struct hold *hold) {
    const char *command = lk_command_line_text(hold->line, LK_OPTION_CLEANUP);

    if (command != NULL && !was_released(hold)) {
        clean_up(hold, command);
    }
    lk_lease_on_lost(hold->lease, NULL, NULL);
    (void)lk_lease_release_for_good(hold->lease, NULL);
}

/* ---- the keeper ------------------------------------------------------------------------------ */

static void note_lost(void *context, lk_lease *lease) {
    const struct hold *hold = context;

    (void)lease;
    (void)eventfd_write(hold->lost, 1);
}

static bool is_told_to_end(const struct hold *hold) {
    int signal;

    do {
        signal = lk_run_signals_next(&hold->signals);
    } while (signal != 0 && !lk_run_signal_is_end(signal));
    return signal != 0;
}

/* Until the process has ended, the lease is lost, or a signal has come. */
static void keep(struct hold *hold) {
    struct pollfd turn[] = {{.fd = hold->held_for, .events = POLLIN},
                            {.fd = hold->lost, .events = POLLIN},
                            {.fd = hold->signals.descriptor, .events = POLLIN}};
    bool is_over = false;

    lk_lease_on_lost(hold->lease, note_lost, hold);
    while (!is_over) {
        (void)poll(turn, 3, -1);
        is_over = turn[0].revents != 0 || turn[1].revents != 0 || is_told_to_end(hold);
    }
}

/* Closes all that the caller has open: its pipes must not stay open as long as the keeper lives. */
static void close_inherited(const struct hold *hold) {
    const int kept[] = {hold->held_for, hold->answer, hold->lost, hold->signals.descriptor};
    unsigned from = STDERR_FILENO + 1;

    /* In the order of their numbers. */
    for (size_t count = 0; count < sizeof kept / sizeof kept[0]; count++) {
        unsigned next = UINT_MAX;
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
            if ((unsigned)kept[i] >= from && (unsigned)kept[i] < next) {
                next = (unsigned)kept[i];
            }
        }
        if (next > from) {
            lk_run_descriptors_close(from, next - 1);
        }
        from = next + 1;
    }
    lk_run_descriptors_close(from, UINT_MAX);
}

static bool leave_standard_descriptors(void) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool has_left = null >= 0;

    for (int descriptor = STDIN_FILENO; has_left && descriptor <= STDERR_FILENO; descriptor++) {
        has_left = dup2(null, descriptor) == descriptor;
    }
    return has_left;
}

/* No caller gets the token. Returns the exit code. */
static int give_back(struct hold *hold) {
    (void)fprintf(hold->cli->err, "%s: INTERNAL: standard output could not be written: %s\n",
                  lk_program(), strerror(errno));
    if (hold->lease != NULL) {
        (void)lk_lease_release_now_for_good(hold->lease, NULL);
        hold->lease = NULL;
    }
    return lk_outcome_exit_code(LK_INTERNAL);
}

/* What was printed has arrived, and the process that started the keeper ends with this code. */
static bool answer(struct hold *hold, int exit_code) {
    if (!lk_waiting_is_printed(hold->cli)) {
        exit_code = give_back(hold);
    }
    return leave_standard_descriptors()
           && write(hold->answer, &exit_code, sizeof exit_code) == (ssize_t)sizeof exit_code;
}

/* Returns the exit code of lk, with hold->lease if the lease is held. */
static int take(struct hold *hold) {
    const lk_request *request = &hold->call.request;
    int64_t wait_ms = lk_lease_call_bound_wait(&hold->call);
    struct lk_waiting waiting;
    lk_error error;

    if (!lk_waiting_begin(hold->cli, hold->line, hold->call.store, request, NULL, wait_ms,
                          &waiting)) {
        return lk_outcome_exit_code(LK_INTERNAL);
    }
    hold->call.request.cancel = lk_interrupt_cancel(waiting.interrupt);
    hold->call.request.at_least_ms = lk_command_line_number(hold->line, LK_OPTION_AT_LEAST, 0);
    (void)lk_acquire(hold->call.store, &hold->call.request, &hold->lease, &hold->granted, &error);
    int signal = lk_waiting_end(&waiting);
    if (signal == 0) {
        lk_waiting_close(&waiting); /* the keeper has them blocked all the time */
        return lk_lease_call_say_asked(hold->cli, &hold->call, hold->granted, &error);
    }
    if (hold->lease != NULL) {
        (void)lk_lease_release_now_for_good(hold->lease, NULL);
        hold->lease = NULL;
    }
    (void)lk_say_failure(hold->cli, LK_CANCELLED, "ended by a signal");
    return LK_EXIT_SIGNAL + signal;
}

static _Noreturn void be_keeper(struct hold *hold, pid_t caller) {
    int exit_code;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "lk-hold");
    /* If lk is killed while the keeper waits in the queue, the request is withdrawn. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    close_inherited(hold);
    if (getppid() != caller) {
        _exit(LK_EXIT_SIGNAL);
    }
    lk_outcome outcome = lk_cli_open(hold->cli, hold->line, &hold->call.store, &exit_code);
    if (outcome == LK_OK) {
        exit_code = take(hold);
    } else if (outcome == LK_CANCELLED) {
        bool is_from_kernel;
        exit_code = LK_EXIT_SIGNAL + lk_run_signals_take_end(&is_from_kernel);
    }
    (void)prctl(PR_SET_PDEATHSIG, 0);
    if (answer(hold, exit_code) && hold->lease != NULL) {
        keep(hold);
    }
    if (hold->lease != NULL) {
        end(hold);
    }
    lk_result_free(hold->granted);
    lk_cli_close(hold->call.store);
    _exit(0);
}

/* ---- the process that was called ------------------------------------------------------------- */

/* Waits for the keeper's answer; passes signals on to it. Returns the exit code. */
static int await_answer(const struct hold *hold, pid_t keeper, int answer) {
    struct pollfd turn[] = {{.fd = answer, .events = POLLIN},
                            {.fd = hold->signals.descriptor, .events = POLLIN},
                            {.fd = hold->held_for, .events = POLLIN}};
    int passed_on = 0;
    bool is_from_kernel;
    int exit_code;

    while (turn[0].revents == 0) {
        (void)poll(turn, 3, -1);
        for (int signal;
             (signal = lk_run_signals_next_from(&hold->signals, &is_from_kernel)) != 0;) {
            if (signal == SIGTSTP) {
                (void)lk_run_signals_stop_here(false);
            } else if (lk_run_signal_is_end(signal)) {
                passed_on = signal;
                lk_run_signal_ends(signal, is_from_kernel);
                (void)kill(keeper, signal);
            }
        }
        if (turn[2].revents != 0) { /* there is nothing to wait for any more */
            (void)kill(keeper, SIGTERM);
            turn[2].fd = -1;
        }
    }
    if (read(answer, &exit_code, sizeof exit_code) == (ssize_t)sizeof exit_code) {
        /* A signal that met the keeper after its grant has ended the lease. */
        return exit_code == 0 && passed_on != 0 ? LK_EXIT_SIGNAL + passed_on : exit_code;
    }
    return passed_on != 0 /* the second one ends it without an answer */
               ? LK_EXIT_SIGNAL + passed_on
               : lk_say_failure(hold->cli, LK_INTERNAL,
                                "the process that was to keep the lease has ended");
}

static int start(struct hold *hold) {
    pid_t caller = getpid();
    int ends[2];

    if (!lk_run_signals_open(&hold->signals)) {
        return fail(hold->cli, "no descriptor to read signals from");
    }
    hold->lost = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (hold->lost < 0) {
        return fail(hold->cli, "no descriptor to notice the loss of the lease by");
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return fail(hold->cli, "no pipe to a process that keeps the lease");
    }
    hold->answer = ends[1];
    pid_t keeper = fork();
    if (keeper < 0) {
        return fail(hold->cli, "no process to keep the lease");
    }
    if (keeper == 0) {
        be_keeper(hold, caller);
    }
    (void)close(ends[1]);
    return await_answer(hold, keeper, ends[0]);
}

/* The process that the lease is held for: --for-pid, else the shell or program that called. */
static lk_outcome find_process(struct hold *hold, int *ret_exit_code) {
    pid_t pid =
        (pid_t)lk_command_line_number(hold->line, LK_OPTION_FOR_PID, (int64_t)lk_process_shell());
    char text[LK_ERROR_TEXT_MAX];

    if (pid == 0) {
        *ret_exit_code = lk_say_failure(hold->cli, LK_INVALID,
                                        "hold: the calling process is in another pid namespace; "
                                        "name one with --for-pid");
        return LK_INVALID;
    }
    hold->held_for = lk_pidfd_open(pid);
    if (hold->held_for < 0 && (errno == ENOSYS || errno == EPERM)) {
        *ret_exit_code = lk_say_failure(hold->cli, LK_UNSUPPORTED,
                                        "hold: this kernel or container refuses pidfd_open(), by "
                                        "which the end of a process is noticed; run needs it not");
        return LK_UNSUPPORTED;
    }
    if (hold->held_for < 0) {
        (void)snprintf(text, sizeof text, "hold: there is no process %ld to hold the lease for: %s",
                       (long)pid, strerror(errno));
        *ret_exit_code = lk_say_failure(hold->cli, LK_INVALID, text);
        return LK_INVALID;
    }
    return LK_OK;
}

int lk_cli_hold(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct hold hold = {.cli = cli, .line = line, .held_for = -1};
    int exit_code;

    if (lk_lease_call_is_of_run(line)) {
        return lk_cli_acquire(cli, line); /* the run keeps it, for longer */
    }
    if (lk_lease_call_init(cli, line, &hold.call, &exit_code) == LK_OK
        && find_process(&hold, &exit_code) == LK_OK) {
        exit_code = start(&hold);
    }
    return exit_code;
}

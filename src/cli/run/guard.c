/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of the pipe: the messages, the guard that hears them, and lk that tells them. */
#include "cli/run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/deadline.h"
#include "cli/run/run.h"
#include "cli/run/timer.h"

enum word { COMMAND_STARTED, COMMAND_ENDED, KILL_AT, CLEANUP_TAKEN, DISMISSED };

/* Far below PIPE_BUF: a message is written whole or not at all. */
struct message {
    int64_t word;
    int64_t value;
};

/* ---- in the guard ---------------------------------------------------------------------------- */

struct watch {
    const struct lk_run_cleanup *cleanup;
    int pipe;
    int timer;
    int64_t kill_us;        /* when CMD must be dead */
    pid_t command;          /* 0: none, or it has ended */
    int command_descriptor; /* pidfd; -1: none */
    int exit_code; /* what the clean-up is told; that of SIGKILL until CMD ended otherwise */
    bool has_cleanup;
    bool is_dismissed;
};

static void learn_command(struct watch *watch, pid_t command) {
    watch->command = command;
    watch->command_descriptor = pidfd_open(command, 0);
    lk_run_timer_set(watch->timer, watch->kill_us); /* it may have passed before there was a CMD */
}

static void learn_deadline(struct watch *watch, int64_t kill_us) {
    watch->kill_us = kill_us;
    lk_run_timer_set(watch->timer, kill_us);
}

static void learn(struct watch *watch, const struct message *message) {
    switch ((enum word)message->word) {
    case COMMAND_STARTED:
        learn_command(watch, (pid_t)message->value);
        break;
    case COMMAND_ENDED:
        watch->command = 0;
        watch->exit_code = (int)message->value;
        break;
    case KILL_AT:
        learn_deadline(watch, message->value);
        break;
    case CLEANUP_TAKEN:
        watch->has_cleanup = false;
        break;
    case DISMISSED:
        watch->is_dismissed = true;
        break;
    }
}

/* False at the end of the pipe: lk is gone. */
static bool hear(struct watch *watch) {
    struct message message;
    ssize_t size = read(watch->pipe, &message, sizeof message);

    if (size == (ssize_t)sizeof message) {
        learn(watch, &message);
        return true;
    }
    return size < 0 && errno == EINTR;
}

static void kill_command(const struct watch *watch) {
    if (watch->command > 0) {
        kill(-watch->command, SIGKILL);
        /* It may have gone to another group. */
        pidfd_send_signal(watch->command_descriptor, SIGKILL, NULL, 0);
    }
}

/* Killed is not dead: the clean-up must not run beside what is left of CMD. */
static void wait_for_command(const struct watch *watch) {
    struct pollfd end = {.fd = watch->command_descriptor, .events = POLLIN};

    if (watch->command > 0 && watch->command_descriptor >= 0) {
        while (poll(&end, 1, -1) < 0 && errno == EINTR) {
        }
    }
}

static void watch_until_alone(struct watch *watch) {
    struct pollfd turn[] = {{.fd = watch->pipe, .events = POLLIN},
                            {.fd = watch->timer, .events = POLLIN}};
    bool is_alone = false;

    while (!is_alone && !watch->is_dismissed) {
        if (poll(turn, 2, -1) < 0) {
            continue;
        }
        /* What lk has said comes first: it may have moved the deadline just now. */
        if (turn[0].revents != 0) {
            is_alone = !hear(watch);
        } else if (turn[1].revents != 0) {
            lk_run_timer_set(watch->timer, LK_RUN_NEVER_US);
            kill_command(watch);
        }
    }
}

static void close_others(int kept) {
    if (kept > STDERR_FILENO + 1) {
        close_range(STDERR_FILENO + 1, (unsigned)kept - 1, 0);
    }
    close_range((unsigned)kept + 1, UINT_MAX, 0);
}

/* What the guard before this one was told comes with the fork: lk may be killed before a word. */
static void take_over(struct watch *watch, const struct lk_run_guard *guard) {
    learn_deadline(watch, guard->kill_us);
    if (guard->command > 0) {
        learn_command(watch, guard->command);
    }
}

static _Noreturn void be_guard(const struct lk_run_guard *guard, int pipe) {
    struct watch watch = {.cleanup = guard->cleanup,
                          .pipe = pipe,
                          .command_descriptor = -1,
                          .exit_code = LK_RUN_EXIT_SIGNAL + SIGKILL,
                          .has_cleanup = guard->cleanup->command != NULL};
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "lk-guard");
    setsid();
    close_others(pipe);
    watch.timer = lk_run_timer_open();
    take_over(&watch, guard);
    watch_until_alone(&watch);
    if (!watch.is_dismissed) {
        kill_command(&watch);
        wait_for_command(&watch);
        pid_t pid =
            watch.has_cleanup ? lk_run_cleanup_start(watch.cleanup, NULL, watch.exit_code) : -1;
        if (pid > 0) {
            waitpid(pid, NULL, 0);
        }
    }
    _exit(0);
}

/* ---- in lk ----------------------------------------------------------------------------------- */

/* A guard that is gone cannot be told; it is replaced when its end is noticed. */
static void tell(const struct lk_run_guard *guard, enum word word, int64_t value) {
    const struct message message = {.word = word, .value = value};

    if (write(guard->pipe, &message, sizeof message) < 0 && errno == EPIPE) {
        /* It is blocked here, and must not be waiting for whoever is to be started here. */
        (void)lk_run_signal_take(SIGPIPE);
    }
}

static bool start(struct lk_run_guard *guard) {
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        be_guard(guard, ends[0]);
    }
    int error = errno;
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        errno = error;
        return false;
    }
    guard->pid = pid;
    guard->pipe = ends[1];
    return true;
}

bool lk_run_guard_start(struct lk_run_guard *guard, const struct lk_run_cleanup *cleanup) {
    *guard = (struct lk_run_guard){.cleanup = cleanup, .pipe = -1, .kill_us = LK_RUN_NEVER_US};
    return start(guard);
}

bool lk_run_guard_replace(struct lk_run_guard *guard) {
    close(guard->pipe);
    guard->pipe = -1;
    guard->pid = 0;
    return start(guard);
}

void lk_run_guard_command_started(struct lk_run_guard *guard, pid_t command) {
    guard->command = command;
    tell(guard, COMMAND_STARTED, command);
}

void lk_run_guard_command_ended(struct lk_run_guard *guard, int exit_code) {
    guard->command = 0;
    tell(guard, COMMAND_ENDED, exit_code);
}

void lk_run_guard_kill_at(struct lk_run_guard *guard, int64_t kill_us) {
    if (guard->kill_us != kill_us) {
        guard->kill_us = kill_us;
        tell(guard, KILL_AT, kill_us);
    }
}

void lk_run_guard_cleanup_taken(struct lk_run_guard *guard) {
    tell(guard, CLEANUP_TAKEN, 0);
}

void lk_run_guard_dismiss(struct lk_run_guard *guard) {
    tell(guard, DISMISSED, 0);
    close(guard->pipe);
    guard->pipe = -1;
    if (guard->pid > 0) {
        waitpid(guard->pid, NULL, 0);
        guard->pid = 0;
    }
}

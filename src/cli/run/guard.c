/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of the pipe: the messages, the guard that reads them, and lk that writes them. */
#include "cli/run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system_call.h"
#include "cli/run/deadline.h"
#include "cli/run/descendants.h"
#include "cli/run/descriptors.h"
#include "cli/run/run.h"
#include "cli/run/status.h"

/* ---- the clean-up command -------------------------------------------------------------------- */

/* The clean-up command: started by lk or by the guard, waited for by lk. */

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

enum word {
    COMMAND_STARTED,
    COMMAND_SHARES_GROUP,
    ENDING_BEGINS,
    COMMAND_ENDED,
    KILL_AT,
    CLEANUP_TAKEN,
    DISMISSED
};

enum {
    SWEEP_INTERVAL_MS = 10,      /* between two rounds of SIGKILL to what was born meanwhile */
    SWEEP_PATIENCE_US = 1000000, /* what survives this long cannot be signalled (sudo) */
};

/* Far below PIPE_BUF: a message is written whole or not at all. */
struct message {
    int64_t word;
    int64_t value;
};

/* ---- in the guard ---------------------------------------------------------------------------- */

struct watch {
    const struct lk_run_cleanup *cleanup;
    const struct lk_run_mark *mark;
    pid_t lk; /* the pid may be reused once getppid() differs */
    int pipe;
    int connection; /* of a bound lease; -1: none */
    int timer;
    int64_t kill_us;        /* when CMD must be dead */
    pid_t command;          /* 0: none, or it has ended */
    bool shares_group;      /* with lk, and what else is in that */
    int command_descriptor; /* pidfd; -1: none, or this system refuses it */
    unsigned long long command_started;
    int exit_code;  /* for the clean-up's LK_EXIT; that of SIGKILL until CMD ended otherwise */
    bool is_ending; /* lk has begun to end CMD */
    bool has_cleanup;
    bool is_dismissed;
};

static void learn_command(struct watch *watch, pid_t command, bool shares_group) {
    watch->command = command;
    watch->shares_group = shares_group;
    watch->command_descriptor = lk_pidfd_open(command);
    watch->command_started = lk_run_descendants_started(command);
    lk_run_timer_set(watch->timer, watch->kill_us); /* it may have passed before there was a CMD */
}

static void learn_deadline(struct watch *watch, int64_t kill_us) {
    watch->kill_us = kill_us;
    lk_run_timer_set(watch->timer, kill_us);
}

static void learn(struct watch *watch, const struct message *message) {
    switch ((enum word)message->word) {
    case COMMAND_STARTED:
    case COMMAND_SHARES_GROUP:
        learn_command(watch, (pid_t)message->value, message->word == COMMAND_SHARES_GROUP);
        break;
    case ENDING_BEGINS:
        watch->is_ending = true;
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

/* Reads a message. False at the end of the pipe: lk has died. */
static bool hear(struct watch *watch) {
    struct message message;
    ssize_t size = read(watch->pipe, &message, sizeof message);

    if (size == (ssize_t)sizeof message) {
        learn(watch, &message);
        return true;
    }
    return size < 0 && errno == EINTR;
}

/*
 * Whether CMD, and no later process with its number, is there. It may have ended before the guard
 * read of it: then it was started at no time that is known.
 */
static bool is_command_there(const struct watch *watch) {
    return watch->command_started != 0
           && lk_run_descendants_started(watch->command) == watch->command_started;
}

/* A signal to a process group reaches all its members at once: none escapes by a fork. */
static void kill_group(const struct watch *watch) {
    if (!watch->shares_group) {
        kill(-watch->command, SIGKILL);
    }
    /* CMD may have moved to another group. */
    if (lk_pidfd_send_signal(watch->command_descriptor, SIGKILL) != 0 && is_command_there(watch)) {
        kill(watch->command, SIGKILL);
    }
}

/*
 * Kills CMD and all that it started, until none is left. The first search is made before the group
 * is killed: afterwards, processes that are found only through their parents would be missed.
 */
static void kill_command(const struct watch *watch) {
    struct lk_run_scope scope = {.root = watch->lk, .spared = getpid(), .mark = watch->mark};
    int64_t give_up_us = lk_clock_now_us() + SWEEP_PATIENCE_US;

    if (watch->command <= 0) {
        return;
    }
    if (!watch->shares_group) {
        scope.group = watch->command;
    }
    size_t found = lk_run_descendants_signal(&scope, SIGKILL);
    kill_group(watch);
    /* If lk is dead, CMD may be dead too, and its pid may be reused from now on. */
    scope.group = 0;
    while (found > 0 && lk_clock_now_us() < give_up_us) {
        poll(NULL, 0, SWEEP_INTERVAL_MS);
        found = lk_run_descendants_signal(&scope, SIGKILL);
    }
}

static bool has_command_ended(const struct watch *watch) {
    struct pollfd end = {.fd = watch->command_descriptor, .events = POLLIN};

    return watch->command_descriptor >= 0 ? poll(&end, 1, 0) > 0 : !is_command_there(watch);
}

/* A killed process may still run: the clean-up must not run beside CMD. */
static void wait_for_command(const struct watch *watch) {
    /* A descriptor of -1 is ignored: then this only pauses. */
    struct pollfd end = {.fd = watch->command_descriptor, .events = POLLIN};
    int patience_ms = watch->command_descriptor >= 0 ? -1 : SWEEP_INTERVAL_MS;

    while (watch->command > 0 && !has_command_ended(watch)) {
        poll(&end, 1, patience_ms);
    }
}

/*
 * lk is stopped at the deadline. If CMD ended by itself, the processes that it left behind are left
 * alone; if lk had begun to end it, all of them are killed. A bound lease ends here.
 */
static void come_to_deadline(struct watch *watch) {
    lk_run_timer_set(watch->timer, LK_RUN_NEVER_US);
    if (watch->is_ending || !has_command_ended(watch)) {
        kill_command(watch);
    }
    if (watch->connection >= 0) {
        wait_for_command(watch);
        shutdown(watch->connection, SHUT_RDWR);
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
        /* Messages from lk are read first, because they may move the deadline. */
        if (turn[0].revents != 0) {
            is_alone = !hear(watch);
        } else if (turn[1].revents != 0) {
            come_to_deadline(watch);
        }
    }
}

/* Closes all but the standard descriptors and these two; -1: none. */
static void close_others(int kept, int kept_too) {
    const unsigned kept_last = (unsigned)(kept > kept_too ? kept : kept_too);
    const unsigned kept_first = (unsigned)(kept_too < 0 || kept < kept_too ? kept : kept_too);

    if (kept_first > STDERR_FILENO + 1) {
        lk_run_descriptors_close(STDERR_FILENO + 1, kept_first - 1);
    }
    if (kept_last > kept_first + 1) {
        lk_run_descriptors_close(kept_first + 1, kept_last - 1);
    }
    lk_run_descriptors_close(kept_last + 1, UINT_MAX);
}

/* The state of the guard before this one comes with the fork: lk may die before it sends any. */
static void take_over(struct watch *watch, const struct lk_run_guard *guard) {
    watch->is_ending = guard->is_ending;
    learn_deadline(watch, guard->kill_us);
    if (guard->command > 0) {
        learn_command(watch, guard->command, guard->shares_group);
    }
}

static _Noreturn void be_guard(const struct lk_run_guard *guard, pid_t lk, int pipe) {
    struct watch watch = {.cleanup = guard->cleanup,
                          .mark = &guard->mark,
                          .lk = lk,
                          .pipe = pipe,
                          .connection = guard->connection,
                          .command_descriptor = -1,
                          .exit_code = LK_RUN_EXIT_SIGNAL + SIGKILL,
                          .has_cleanup = guard->cleanup->command != NULL};
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "lk-guard");
    setsid();
    close_others(pipe, guard->connection);
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

/* A failed write means that the guard has died; it is replaced when its end is detected. */
static void tell(const struct lk_run_guard *guard, enum word word, int64_t value) {
    const struct message message = {.word = word, .value = value};

    if (write(guard->pipe, &message, sizeof message) < 0 && errno == EPIPE) {
        /* It is blocked here, and must not be pending in a program that is started from here. */
        (void)lk_run_signal_take(SIGPIPE);
    }
}

static bool start(struct lk_run_guard *guard) {
    pid_t lk = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        be_guard(guard, lk, ends[0]);
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

bool lk_run_guard_start(struct lk_run_guard *guard, const struct lk_run_cleanup *cleanup,
                        int connection) {
    *guard = (struct lk_run_guard){
        .cleanup = cleanup, .pipe = -1, .connection = connection, .kill_us = LK_RUN_NEVER_US};
    lk_run_mark_make(&guard->mark);
    return start(guard);
}

bool lk_run_guard_replace(struct lk_run_guard *guard) {
    close(guard->pipe);
    guard->pipe = -1;
    guard->pid = 0;
    return start(guard);
}

void lk_run_guard_command_started(struct lk_run_guard *guard, pid_t command, bool shares_group) {
    guard->command = command;
    guard->shares_group = shares_group;
    tell(guard, shares_group ? COMMAND_SHARES_GROUP : COMMAND_STARTED, command);
}

void lk_run_guard_ending_begins(struct lk_run_guard *guard) {
    guard->is_ending = true;
    tell(guard, ENDING_BEGINS, 0);
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

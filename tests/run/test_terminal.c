/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job control: a pseudo-terminal, a process that controls jobs as a shell does, and lk as its job.
 * The test writes to the terminal and reads the results of waitpid() from the shell.
 */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "fixture.h"

/* What the shell reports of its job. */
struct news {
    int status; /* of waitpid */
    pid_t job;
    pid_t in_front; /* the terminal's foreground group at that moment */
};

struct terminal {
    int master;
    int orders; /* 'f': continue in the foreground; 'b': continue in the background */
    int news;
    pid_t shell;
};

/* ---- the shell ------------------------------------------------------------------------------- */

static _Noreturn void be_job(char *const *words) {
    setpgid(0, 0);
    tcsetpgrp(STDIN_FILENO, getpid());
    signal(SIGTTOU, SIG_DFL);
    execv(words[0], words);
    _exit(99);
}

static _Noreturn void be_shell(int terminal, int orders, int news, char *const *words) {
    login_tty(terminal);
    signal(SIGTTOU, SIG_IGN); /* as shells do, to take the terminal back from the background */
    pid_t job = fork();
    if (job == 0) {
        be_job(words);
    }
    setpgid(job, job);
    for (;;) {
        struct news report = {.job = job};
        char order;
        if (waitpid(job, &report.status, WUNTRACED) != job) {
            _exit(1);
        }
        report.in_front = tcgetpgrp(STDIN_FILENO);
        tcsetpgrp(STDIN_FILENO, getpgrp());
        if (write(news, &report, sizeof report) != (ssize_t)sizeof report
            || WIFEXITED(report.status) || read(orders, &order, 1) != 1) {
            _exit(0);
        }
        if (order == 'f') {
            tcsetpgrp(STDIN_FILENO, job);
        }
        kill(-job, SIGCONT);
    }
}

/* A shell that has exited and left its job in the background, where it stays. */
static _Noreturn void be_forgetful_shell(int terminal, int orders, char *const *words) {
    char order;

    login_tty(terminal);
    pid_t middle = fork();
    if (middle == 0) {
        setpgid(0, 0);
        if (fork() == 0) {
            execv(words[0], words);
            _exit(99);
        }
        _exit(0);
    }
    waitpid(middle, NULL, 0);
    (void)!read(orders, &order, 1);
    _exit(0);
}

/* ---- the test's side ------------------------------------------------------------------------- */

static struct terminal open_terminal(const char *const *arguments, bool is_forgetful) {
    struct terminal terminal;
    char *words[32] = {getenv("LK_TEST_LK")};
    int slave;
    int orders[2];
    int news[2];

    assert_int_equal(openpty(&terminal.master, &slave, NULL, NULL, NULL), 0);
    assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
    assert_int_equal(pipe2(news, O_CLOEXEC), 0);
    assert_int_equal(fcntl(terminal.master, F_SETFD, FD_CLOEXEC), 0);
    for (size_t i = 0; arguments[i] != NULL; i++) {
        words[i + 1] = (char *)arguments[i];
    }
    terminal.shell = fork();
    assert_true(terminal.shell >= 0);
    if (terminal.shell == 0) {
        close(terminal.master);
        close(orders[1]);
        close(news[0]);
        if (is_forgetful) {
            be_forgetful_shell(slave, orders[0], words);
        }
        be_shell(slave, orders[0], news[1], words);
    }
    close(slave);
    close(orders[0]);
    close(news[1]);
    terminal.orders = orders[1];
    terminal.news = news[0];
    return terminal;
}

static void type(const struct terminal *terminal, const char *text) {
    assert_int_equal(write(terminal->master, text, strlen(text)), (ssize_t)strlen(text));
}

static void order(const struct terminal *terminal, char letter) {
    assert_int_equal(write(terminal->orders, &letter, 1), 1);
}

static struct news hear(const struct terminal *terminal) {
    struct pollfd turn = {.fd = terminal->news, .events = POLLIN};
    struct news news;

    assert_int_equal(poll(&turn, 1, fixture_bound_ms()), 1);
    assert_int_equal(read(terminal->news, &news, sizeof news), (ssize_t)sizeof news);
    return news;
}

static void await_front(const struct terminal *terminal, pid_t group) {
    int64_t since_ms = fixture_now_ms();

    while (tcgetpgrp(terminal->master) != group) {
        assert_true(fixture_now_ms() - since_ms < fixture_bound_ms());
        fixture_pause();
    }
}

static off_t size_of(const char *path) {
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_size;
}

static void await_growth(const char *path, off_t size) {
    int64_t since_ms = fixture_now_ms();

    while (size_of(path) == size) {
        assert_true(fixture_now_ms() - since_ms < fixture_bound_ms());
        fixture_pause();
    }
}

/* The job ends with this exit code, and its group is the foreground group again. */
static void hear_end(const struct terminal *terminal, int exit_code) {
    struct news news = hear(terminal);

    assert_true(WIFEXITED(news.status));
    assert_int_equal(WEXITSTATUS(news.status), exit_code);
    assert_int_equal(news.in_front, news.job);
}

static pid_t hear_stop(const struct terminal *terminal) {
    struct news news = hear(terminal);

    assert_true(WIFSTOPPED(news.status));
    assert_int_equal(news.in_front, news.job);
    return news.job;
}

/* Ends a background job, which has left the terminal to the shell's group. */
static void end_behind(const struct terminal *terminal, pid_t job) {
    kill(job, SIGTERM);
    struct news news = hear(terminal);

    assert_true(WIFEXITED(news.status));
    assert_int_equal(WEXITSTATUS(news.status), 128 + SIGTERM);
    assert_int_equal(news.in_front, terminal->shell);
}

static void close_terminal(const struct terminal *terminal) {
    close(terminal->orders);
    close(terminal->news);
    assert_int_equal(waitpid(terminal->shell, NULL, 0), terminal->shell);
    close(terminal->master);
}

#define OPEN_TERMINAL(...) open_terminal((const char *const[]){__VA_ARGS__, NULL}, false)
#define OPEN_FORGETFUL_TERMINAL(...) open_terminal((const char *const[]){__VA_ARGS__, NULL}, true)

static const char reader[] = "echo $$ >\"$0\"; read line; echo \"$line\" >\"$1\"; exit 6";

/* ---- stories --------------------------------------------------------------------------------- */

static void the_command_can_read_what_is_typed(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *typed = fixture_path(fixture, "typed");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", "sh", "-c", reader, ready, typed);

    fixture_await(ready);
    type(&terminal, "hello\n");
    hear_end(&terminal, 6);
    assert_string_equal(fixture_read(fixture, typed), "hello\n");
    close_terminal(&terminal);
}

static void the_command_receives_an_interrupt_once(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    struct terminal terminal =
        OPEN_TERMINAL("run", "x", "--", fixture_child(), "report", ready, got, "43");

    fixture_await(ready);
    type(&terminal, "\x03");
    hear_end(&terminal, 43);
    assert_int_equal(fixture_await(got), SIGINT);
    close_terminal(&terminal);
}

static void a_stopped_job_continues_in_the_foreground(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *typed = fixture_path(fixture, "typed");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", "sh", "-c", reader, ready, typed);

    pid_t command = (pid_t)fixture_await(ready);
    for (int round = 0; round < 3; round++) {
        type(&terminal, "\x1a");
        fixture_await_stopped(command);
        hear_stop(&terminal);
        order(&terminal, 'f');
        await_front(&terminal, command);
    }
    type(&terminal, "again\n");
    hear_end(&terminal, 6);
    assert_string_equal(fixture_read(fixture, typed), "again\n");
    close_terminal(&terminal);
}

static void a_background_job_does_not_take_the_terminal(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *log = fixture_path(fixture, "log");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", fixture_child(), "tick", ready, log);

    pid_t command = (pid_t)fixture_await(ready);
    type(&terminal, "\x1a");
    pid_t job = hear_stop(&terminal);
    fixture_await_stopped(command);
    off_t before = size_of(log);
    order(&terminal, 'b');
    await_growth(log, before);
    end_behind(&terminal, job);
    close_terminal(&terminal);
}

/* lk is not notified of SIGSTOP: the shell takes the terminal while lk still considers it lent. */
static void a_job_stopped_by_sigstop_does_not_take_the_terminal(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", fixture_child(), "hold", ready);

    pid_t command = (pid_t)fixture_await(ready);
    type(&terminal, "\x1a");
    pid_t job = hear_stop(&terminal);
    order(&terminal, 'f');
    await_front(&terminal, command);
    kill(job, SIGSTOP);
    assert_true(WIFSTOPPED(hear(&terminal).status));
    order(&terminal, 'b');
    end_behind(&terminal, job);
    close_terminal(&terminal);
}

static void a_background_job_that_reads_stops_until_it_is_in_the_foreground(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *typed = fixture_path(fixture, "typed");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", "sh", "-c", reader, ready, typed);

    fixture_await(ready);
    type(&terminal, "\x1a");
    hear_stop(&terminal);
    order(&terminal, 'b'); /* its read is answered by SIGTTIN */
    struct news news = hear(&terminal);
    assert_true(WIFSTOPPED(news.status));
    assert_int_equal(news.in_front, terminal.shell);
    order(&terminal, 'f');
    type(&terminal, "at last\n");
    hear_end(&terminal, 6);
    assert_string_equal(fixture_read(fixture, typed), "at last\n");
    close_terminal(&terminal);
}

static void a_job_stopped_beyond_its_deadline_does_not_continue(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *log = fixture_path(fixture, "log");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--ttl", fixture_seconds(fixture, 4), "--",
                                             fixture_child(), "tick", ready, log);

    pid_t command = (pid_t)fixture_await(ready);
    type(&terminal, "\x1a");
    hear_stop(&terminal);
    fixture_await_dead(command); /* the guard kills it although lk stays stopped */
    int64_t last_ms = fixture_last_number(fixture, log);
    assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--", "true"), 0);
    order(&terminal, 'f');
    hear_end(&terminal, 78);
    assert_int_equal(fixture_last_number(fixture, log), last_ms);
    close_terminal(&terminal);
}

static void a_waiting_job_stops_and_continues(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t holder = FIXTURE_START(fixture, "run", "x", "--owner", "holder", "--", fixture_child(),
                                 "hold", ready);
    const char *done = fixture_path(fixture, "done");

    fixture_await(ready);
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", "sh", "-c", "echo 1 >$0", done);
    char shown[256];
    size_t size = 0;
    /* stderr is a terminal here, so lk prints its blockers without -v. */
    do {
        ssize_t more = read(terminal.master, shown + size, sizeof shown - 1 - size);
        assert_true(more > 0);
        size += (size_t)more;
        shown[size] = '\0';
    } while (strstr(shown, "x is held by holder") == NULL);
    type(&terminal, "\x1a");
    fixture_await_stopped(hear_stop(&terminal));
    order(&terminal, 'f');
    kill(holder, SIGTERM);
    assert_int_equal(fixture_end(fixture, holder), 128 + SIGTERM);
    hear_end(&terminal, 0);
    assert_true(fixture_exists(done));
    close_terminal(&terminal);
}

static void an_orphan_that_reads_is_sent_sighup(void **state) {
    struct fixture *fixture = *state;
    const char *log = fixture_path(fixture, "cleanup");
    const char *cleanup = fixture_text(fixture, "echo $LK_EXIT >%s", log);
    struct terminal terminal =
        OPEN_FORGETFUL_TERMINAL("run", "x", "--cleanup", cleanup, "--", "sh", "-c", reader,
                                fixture_path(fixture, "ready"), fixture_path(fixture, "typed"));

    assert_int_equal(fixture_await(log), 128 + SIGHUP);
    close_terminal(&terminal);
}

/* ---- without a terminal ---------------------------------------------------------------------- */

static void a_stop_signal_stops_lk_and_the_command(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    pid_t run =
        FIXTURE_START(fixture, "run", "x", "--", fixture_child(), "report", ready, got, "43");
    pid_t command = (pid_t)fixture_await(ready);

    kill(run, SIGTSTP);
    fixture_await_stopped(command);
    fixture_await_stopped(run);
    kill(run, SIGCONT);
    kill(run, SIGUSR1);
    assert_int_equal(fixture_end(fixture, run), 43);
    assert_int_equal(fixture_await(got), SIGUSR1);
}

static void a_command_receives_sigcont_once(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--", fixture_child(), "count", ready, got);
    pid_t command = (pid_t)fixture_await(ready);

    for (int round = 0; round < 5; round++) {
        kill(run, SIGTSTP);
        fixture_await_stopped(command);
        fixture_await_stopped(run);
        kill(run, SIGCONT);
        fixture_await_asleep(command);
        fixture_await_asleep(run);
    }
    kill(run, SIGUSR1);
    assert_int_equal(fixture_end(fixture, run), 0);
    assert_int_equal(fixture_await(got), 5);
}

/* A thread renews all the time: stopped in a transaction, it would block all other processes. */
static void a_stopped_lk_does_not_hold_the_lock_of_the_store(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t holder = FIXTURE_START(fixture, "run", "x", "--owner", "holder", "--", fixture_child(),
                                 "hold", ready);

    fixture_await(ready);
    pid_t waiter = FIXTURE_START(fixture, "run", "x", "--ttl", "50ms", "--", "true");
    store_await_requests(fixture, 2);
    for (int round = 0; round < 40; round++) {
        kill(waiter, SIGTSTP);
        fixture_await_stopped(waiter);
        assert_true(store_is_unlocked(fixture, fixture_bound_ms()));
        kill(waiter, SIGCONT);
        fixture_pause();
    }
    kill(waiter, SIGTERM);
    assert_int_equal(fixture_end(fixture, waiter), 128 + SIGTERM);
    kill(holder, SIGTERM);
    assert_int_equal(fixture_end(fixture, holder), 128 + SIGTERM);
}

/* Its clients are nearly always in a transaction. */
static void a_stopped_lk_bench_does_not_hold_the_lock_of_the_store(void **state) {
    struct fixture *fixture = *state;
    /* Without waiting for the disk, which may be slow. */
    const char *store = fixture_text(fixture, "%s?durability=relaxed", getenv("LK_STORE"));
    pid_t bench =
        FIXTURE_START(fixture, "-S", store, "bench", "--clients", "3", "--seconds", "600");

    for (int round = 0; round < 20; round++) {
        for (int breaths = 0; breaths < 20; breaths++) {
            fixture_pause();
        }
        kill(bench, SIGTSTP);
        fixture_await_stopped(bench);
        assert_true(store_is_unlocked(fixture, fixture_bound_ms()));
        kill(bench, SIGCONT);
        fixture_await_asleep(bench);
    }
    kill(bench, SIGTERM);
    assert_int_equal(fixture_end(fixture, bench), FIXTURE_DIED + SIGTERM);
}

/* No shell could continue an orphaned process group: lk does not stop, and CMD goes on. */
static void an_orphan_does_not_stop(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    const char *got = fixture_path(fixture, "got");
    const char *const words[] = {"run", "x",  "--", fixture_child(), "report", ready,
                                 got,   "43", NULL};
    pid_t run = fixture_start_alone(fixture, words);

    fixture_await(ready);
    kill(run, SIGTSTP);
    kill(run, SIGUSR1);
    assert_int_equal(fixture_end(fixture, run), 43);
    assert_int_equal(fixture_await(got), SIGUSR1);
}

static void a_command_that_ignores_sigtstp_is_stopped_by_sigstop(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(
        fixture, "run", "x", "--", "sh", "-c",
        fixture_text(fixture, "trap '' TSTP; exec %s hold %s", fixture_child(), ready));
    pid_t command = (pid_t)fixture_await(ready);

    kill(run, SIGTSTP);
    fixture_await_stopped(command);
    fixture_await_stopped(run);
    kill(run, SIGCONT);
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 128 + SIGTERM);
}

static void a_command_stopped_by_another_process_keeps_its_lease(void **state) {
    struct fixture *fixture = *state;
    const char *ready = fixture_path(fixture, "ready");
    pid_t run = FIXTURE_START(fixture, "run", "x", "--ttl", fixture_seconds(fixture, 4), "--",
                              fixture_child(), "report", ready, fixture_path(fixture, "got"), "0");
    pid_t command = (pid_t)fixture_await(ready);

    kill(command, SIGSTOP);
    fixture_await_stopped(command);
    int64_t until_ms =
        fixture_now_ms() + 6000 * fixture_stretch(); /* well after the first deadline */
    while (fixture_now_ms() < until_ms) {
        assert_int_equal(FIXTURE_RUN(fixture, "run", "x", "--try", "-q", "--", "true"), 75);
    }
    kill(command, SIGCONT);
    kill(run, SIGTERM);
    assert_int_equal(fixture_end(fixture, run), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
        TEST(the_command_can_read_what_is_typed),
        TEST(the_command_receives_an_interrupt_once),
        TEST(a_stopped_job_continues_in_the_foreground),
        TEST(a_background_job_does_not_take_the_terminal),
        TEST(a_job_stopped_by_sigstop_does_not_take_the_terminal),
        TEST(a_background_job_that_reads_stops_until_it_is_in_the_foreground),
        TEST(a_job_stopped_beyond_its_deadline_does_not_continue),
        TEST(a_waiting_job_stops_and_continues),
        TEST(a_stop_signal_stops_lk_and_the_command),
        TEST(a_command_receives_sigcont_once),
        TEST(a_stopped_lk_does_not_hold_the_lock_of_the_store),
        TEST(a_stopped_lk_bench_does_not_hold_the_lock_of_the_store),
        TEST(an_orphan_does_not_stop),
        TEST(an_orphan_that_reads_is_sent_sighup),
        TEST(a_command_that_ignores_sigtstp_is_stopped_by_sigstop),
        TEST(a_command_stopped_by_another_process_keeps_its_lease),
    };
    return cmocka_run_group_tests_name("run: job control", tests, NULL, NULL);
}

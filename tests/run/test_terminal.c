/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Job control: a pseudo-terminal, a process that does with jobs what a shell does, and lk as its
 * job. The test types, and hears from the shell what waitpid told it.
 */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "stage.h"
#include "store.h"

/* What the shell tells of its job. */
struct news {
    int status; /* of waitpid */
    pid_t job;
    pid_t in_front; /* the terminal's foreground group at that moment */
};

struct terminal {
    int master;
    int orders; /* 'f': to the front and on; 'b': on, in the background */
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
    signal(SIGTTOU, SIG_IGN); /* as shells do: it takes the terminal back from behind */
    pid_t job = fork();
    if (job == 0) {
        be_job(words);
    }
    setpgid(job, job);
    for (;;) {
        struct news told = {.job = job};
        char order;
        if (waitpid(job, &told.status, WUNTRACED) != job) {
            _exit(1);
        }
        told.in_front = tcgetpgrp(STDIN_FILENO);
        tcsetpgrp(STDIN_FILENO, getpgrp());
        if (write(news, &told, sizeof told) != (ssize_t)sizeof told || WIFEXITED(told.status)
            || read(orders, &order, 1) != 1) {
            _exit(0);
        }
        if (order == 'f') {
            tcsetpgrp(STDIN_FILENO, job);
        }
        kill(-job, SIGCONT);
    }
}

/* A shell that has left its job alone in the background: nobody will ever bring it to the front. */
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

    assert_int_equal(poll(&turn, 1, STAGE_BOUND_MS), 1);
    assert_int_equal(read(terminal->news, &news, sizeof news), (ssize_t)sizeof news);
    return news;
}

static void await_front(const struct terminal *terminal, pid_t group) {
    int64_t since_ms = stage_now_ms();

    while (tcgetpgrp(terminal->master) != group) {
        assert_true(stage_now_ms() - since_ms < STAGE_BOUND_MS);
        stage_breathe();
    }
}

/* The job ends with this exit code and gives the terminal back to its own group. */
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

/* Ends a job in the background, which has left the terminal to the shell's own group. */
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
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *typed = stage_path(stage, "typed");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", "sh", "-c", reader, ready, typed);

    stage_await(ready);
    type(&terminal, "hello\n");
    hear_end(&terminal, 6);
    assert_string_equal(stage_read(stage, typed), "hello\n");
    close_terminal(&terminal);
}

static void an_interrupt_reaches_the_command_once(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *got = stage_path(stage, "got");
    struct terminal terminal =
        OPEN_TERMINAL("run", "x", "--", stage_actor(), "report", ready, got, "43");

    stage_await(ready);
    type(&terminal, "\x03");
    hear_end(&terminal, 43);
    assert_int_equal(stage_await(got), SIGINT);
    close_terminal(&terminal);
}

static void a_stopped_job_goes_on_in_front(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *typed = stage_path(stage, "typed");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", "sh", "-c", reader, ready, typed);

    pid_t command = (pid_t)stage_await(ready);
    for (int round = 0; round < 3; round++) {
        type(&terminal, "\x1a");
        stage_await_stopped(command);
        hear_stop(&terminal);
        order(&terminal, 'f');
        await_front(&terminal, command);
    }
    type(&terminal, "again\n");
    hear_end(&terminal, 6);
    assert_string_equal(stage_read(stage, typed), "again\n");
    close_terminal(&terminal);
}

static void a_job_in_the_background_leaves_the_terminal_alone(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *log = stage_path(stage, "log");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", stage_actor(), "tick", ready, log);

    pid_t command = (pid_t)stage_await(ready);
    type(&terminal, "\x1a");
    pid_t job = hear_stop(&terminal);
    stage_await_stopped(command);
    const char *before = stage_read(stage, log);
    order(&terminal, 'b');
    while (strlen(stage_read(stage, log)) == strlen(before)) {
        stage_breathe();
    }
    end_behind(&terminal, job);
    close_terminal(&terminal);
}

/* SIGSTOP says nothing to lk: the shell takes the terminal while lk still thinks it has lent it. */
static void a_job_stopped_without_a_word_leaves_the_terminal_alone(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", stage_actor(), "hold", ready);

    pid_t command = (pid_t)stage_await(ready);
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

static void what_reads_in_the_background_stops_until_it_is_in_front(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *typed = stage_path(stage, "typed");
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", "sh", "-c", reader, ready, typed);

    stage_await(ready);
    type(&terminal, "\x1a");
    hear_stop(&terminal);
    order(&terminal, 'b'); /* its read is answered by SIGTTIN */
    struct news news = hear(&terminal);
    assert_true(WIFSTOPPED(news.status));
    assert_int_equal(news.in_front, terminal.shell);
    order(&terminal, 'f');
    type(&terminal, "at last\n");
    hear_end(&terminal, 6);
    assert_string_equal(stage_read(stage, typed), "at last\n");
    close_terminal(&terminal);
}

static void a_job_stopped_past_its_deadline_does_not_go_on(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *log = stage_path(stage, "log");
    struct terminal terminal =
        OPEN_TERMINAL("run", "x", "--ttl", "4s", "--", stage_actor(), "tick", ready, log);

    pid_t command = (pid_t)stage_await(ready);
    type(&terminal, "\x1a");
    hear_stop(&terminal);
    stage_await_dead(command); /* the guard does not wait for anybody to come back */
    int64_t last_ms = stage_last_number(stage, log);
    assert_int_equal(STAGE_RUN(stage, "run", "x", "--", "true"), 0);
    order(&terminal, 'f');
    hear_end(&terminal, 78);
    assert_int_equal(stage_last_number(stage, log), last_ms);
    close_terminal(&terminal);
}

static void a_waiting_job_stops_and_goes_on(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t holder =
        STAGE_START(stage, "run", "x", "--owner", "holder", "--", stage_actor(), "hold", ready);
    const char *done = stage_path(stage, "done");

    stage_await(ready);
    struct terminal terminal = OPEN_TERMINAL("run", "x", "--", "sh", "-c", "echo 1 >$0", done);
    char shown[256];
    size_t size = 0;
    /* stderr is a terminal here: it says by itself what it waits for. */
    do {
        ssize_t more = read(terminal.master, shown + size, sizeof shown - 1 - size);
        assert_true(more > 0);
        size += (size_t)more;
        shown[size] = '\0';
    } while (strstr(shown, "x is held by holder") == NULL);
    type(&terminal, "\x1a");
    stage_await_stopped(hear_stop(&terminal));
    order(&terminal, 'f');
    kill(holder, SIGTERM);
    assert_int_equal(stage_end(stage, holder), 128 + SIGTERM);
    hear_end(&terminal, 0);
    assert_true(stage_exists(done));
    close_terminal(&terminal);
}

static void an_orphan_that_reads_is_hung_up(void **state) {
    struct stage *stage = *state;
    const char *log = stage_path(stage, "cleanup");
    const char *cleanup = stage_text(stage, "echo $LK_EXIT >%s", log);
    struct terminal terminal =
        OPEN_FORGETFUL_TERMINAL("run", "x", "--cleanup", cleanup, "--", "sh", "-c", reader,
                                stage_path(stage, "ready"), stage_path(stage, "typed"));

    assert_int_equal(stage_await(log), 128 + SIGHUP);
    close_terminal(&terminal);
}

/* ---- without a terminal ---------------------------------------------------------------------- */

static void a_stop_reaches_both(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *got = stage_path(stage, "got");
    pid_t run = STAGE_START(stage, "run", "x", "--", stage_actor(), "report", ready, got, "43");
    pid_t command = (pid_t)stage_await(ready);

    kill(run, SIGTSTP);
    stage_await_stopped(command);
    stage_await_stopped(run);
    kill(run, SIGCONT);
    kill(run, SIGUSR1);
    assert_int_equal(stage_end(stage, run), 43);
    assert_int_equal(stage_await(got), SIGUSR1);
}

static void a_command_is_told_once_to_go_on(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *got = stage_path(stage, "got");
    pid_t run = STAGE_START(stage, "run", "x", "--", stage_actor(), "count", ready, got);
    pid_t command = (pid_t)stage_await(ready);

    for (int round = 0; round < 5; round++) {
        kill(run, SIGTSTP);
        stage_await_stopped(command);
        stage_await_stopped(run);
        kill(run, SIGCONT);
        stage_await_asleep(command);
        stage_await_asleep(run);
    }
    kill(run, SIGUSR1);
    assert_int_equal(stage_end(stage, run), 0);
    assert_int_equal(stage_await(got), 5);
}

/* It renews all the time, in a thread: stopped in the middle it would keep everybody out. */
static void who_stops_keeps_nobody_from_the_store(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t holder =
        STAGE_START(stage, "run", "x", "--owner", "holder", "--", stage_actor(), "hold", ready);

    stage_await(ready);
    pid_t waiter = STAGE_START(stage, "run", "x", "--ttl", "50ms", "--", "true");
    store_await_requests(stage, 2);
    for (int round = 0; round < 40; round++) {
        kill(waiter, SIGTSTP);
        stage_await_stopped(waiter);
        assert_true(store_is_free(stage, STAGE_BOUND_MS));
        kill(waiter, SIGCONT);
        stage_breathe();
    }
    kill(waiter, SIGTERM);
    assert_int_equal(stage_end(stage, waiter), 128 + SIGTERM);
    kill(holder, SIGTERM);
    assert_int_equal(stage_end(stage, holder), 128 + SIGTERM);
}

/* Its clients are in transactions nearly all the time. */
static void what_measures_a_store_stops_and_keeps_nobody_from_it(void **state) {
    struct stage *stage = *state;
    /* No disk is waited for, which may take its time. */
    const char *store = stage_text(stage, "%s?durability=relaxed", getenv("LK_STORE"));
    pid_t bench = STAGE_START(stage, "-S", store, "bench", "--clients", "3", "--seconds", "600");

    for (int round = 0; round < 20; round++) {
        for (int breaths = 0; breaths < 20; breaths++) {
            stage_breathe();
        }
        kill(bench, SIGTSTP);
        stage_await_stopped(bench);
        assert_true(store_is_free(stage, STAGE_BOUND_MS));
        kill(bench, SIGCONT);
        stage_await_asleep(bench);
    }
    kill(bench, SIGTERM);
    assert_int_equal(stage_end(stage, bench), STAGE_DIED + SIGTERM);
}

/* In an orphaned process group nobody could continue lk: it does not stop, and CMD goes on. */
static void an_orphan_does_not_stop(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    const char *got = stage_path(stage, "got");
    const char *const words[] = {"run", "x", "--", stage_actor(), "report", ready, got, "43", NULL};
    pid_t run = stage_start_alone(stage, words);

    stage_await(ready);
    kill(run, SIGTSTP);
    kill(run, SIGUSR1);
    assert_int_equal(stage_end(stage, run), 43);
    assert_int_equal(stage_await(got), SIGUSR1);
}

static void who_does_not_stop_is_stopped(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run =
        STAGE_START(stage, "run", "x", "--", "sh", "-c",
                    stage_text(stage, "trap '' TSTP; exec %s hold %s", stage_actor(), ready));
    pid_t command = (pid_t)stage_await(ready);

    kill(run, SIGTSTP);
    stage_await_stopped(command);
    stage_await_stopped(run);
    kill(run, SIGCONT);
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 128 + SIGTERM);
}

static void a_command_stopped_by_somebody_keeps_its_lease(void **state) {
    struct stage *stage = *state;
    const char *ready = stage_path(stage, "ready");
    pid_t run = STAGE_START(stage, "run", "x", "--ttl", "4s", "--", stage_actor(), "report", ready,
                            stage_path(stage, "got"), "0");
    pid_t command = (pid_t)stage_await(ready);

    kill(command, SIGSTOP);
    stage_await_stopped(command);
    int64_t until_ms = stage_now_ms() + 6000; /* well behind the first deadline */
    while (stage_now_ms() < until_ms) {
        assert_int_equal(STAGE_RUN(stage, "run", "x", "--try", "-q", "--", "true"), 75);
    }
    kill(command, SIGCONT);
    kill(run, SIGTERM);
    assert_int_equal(stage_end(stage, run), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define STORY(name) cmocka_unit_test_setup_teardown(name, stage_open, stage_close)
        STORY(the_command_can_read_what_is_typed),
        STORY(an_interrupt_reaches_the_command_once),
        STORY(a_stopped_job_goes_on_in_front),
        STORY(a_job_in_the_background_leaves_the_terminal_alone),
        STORY(a_job_stopped_without_a_word_leaves_the_terminal_alone),
        STORY(what_reads_in_the_background_stops_until_it_is_in_front),
        STORY(a_job_stopped_past_its_deadline_does_not_go_on),
        STORY(a_waiting_job_stops_and_goes_on),
        STORY(a_stop_reaches_both),
        STORY(a_command_is_told_once_to_go_on),
        STORY(who_stops_keeps_nobody_from_the_store),
        STORY(what_measures_a_store_stops_and_keeps_nobody_from_it),
        STORY(an_orphan_does_not_stop),
        STORY(an_orphan_that_reads_is_hung_up),
        STORY(who_does_not_stop_is_stopped),
        STORY(a_command_stopped_by_somebody_keeps_its_lease),
    };
    return cmocka_run_group_tests_name("run: job control", tests, NULL, NULL);
}

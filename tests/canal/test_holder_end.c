/* SPDX-License-Identifier: Apache-2.0 */
/* Holders that end without releasing: kill, exit, exec, fork, thread; and one that is stopped. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../emulated.h"
#include "support.h"

/* qemu-user ignores MADV_WIPEONFORK and MADV_DONTFORK. */
enum { HELD = 5, NOT_EMULATED = 2 };

static void hold_some(const char *name) {
    lk_canal_holder *holder = join(open_again(name), LK_CANAL_PROCESS);

    for (int i = 0; i < HELD; i++) {
        if (acquire(holder, "k", HELD, NULL) != LK_CANAL_OK) {
            abort();
        }
    }
}

static int64_t now_us(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The first acquire after the death gets exactly the permits that the dead process held. */
static void expect_given_back(struct fixture *fixture) {
    for (int i = 0; i < HELD; i++) {
        assert_int_equal(acquire(fixture->holder, "k", HELD, NULL), LK_CANAL_OK);
    }
    assert_int_equal(acquire(fixture->holder, "k", HELD, NULL), LK_CANAL_FULL);
    assert_int_equal(count(fixture->canal, "k"), HELD);
}

static void a_killed_process_loses_its_permits(void **state) {
    struct fixture *fixture = *state;
    pid_t child = start_child(fixture->name, hold_some);

    assert_int_equal(acquire(fixture->holder, "k", HELD, NULL), LK_CANAL_FULL);
    end_child(child, SIGKILL);
    expect_given_back(fixture);
}

/* The question whether there are any repairs nothing. */
static void dead_holders_are_told_without_repair(void **state) {
    struct fixture *fixture = *state;
    pid_t child = start_child(fixture->name, hold_some);

    assert_false(lk_canal_may_have_dead(fixture->canal, 100));
    assert_true(lk_canal_may_have_dead(fixture->canal, 1)); /* too many to be checked */
    end_child(child, SIGKILL);
    assert_true(lk_canal_may_have_dead(fixture->canal, 100));
    assert_int_equal(count(fixture->canal, "k"), HELD);
    assert_true(lk_canal_look(fixture->canal) > 0);
    assert_false(lk_canal_may_have_dead(fixture->canal, 100));
    assert_int_equal(count(fixture->canal, "k"), 0);
}

/* A zombie holds nothing. */
static void a_zombie_holds_no_permits(void **state) {
    struct fixture *fixture = *state;
    pid_t child = start_child(fixture->name, hold_some);
    siginfo_t info;

    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    expect_given_back(fixture);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static pid_t *grandchild; /* in shared memory */

static void hold_and_leave_a_child(const char *name) {
    pid_t child;

    hold_some(name);
    child = fork();
    while (child == 0) {
        (void)pause();
    }
    *grandchild = child;
}

/* Its child lives on, and inherits nothing that would retain the parent's permits. */
static void a_living_child_does_not_retain_permits(void **state) {
    struct fixture *fixture = *state;
    pid_t child;

    grandchild =
        mmap(NULL, sizeof *grandchild, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(grandchild != MAP_FAILED);
    child = start_child(fixture->name, hold_and_leave_a_child);
    end_child(child, SIGKILL);
    assert_int_equal(kill(*grandchild, 0), 0);
    expect_given_back(fixture);
    assert_int_equal(kill(*grandchild, SIGKILL), 0);
    (void)munmap(grandchild, sizeof *grandchild);
}

static void a_stopped_process_keeps_its_permits(void **state) {
    struct fixture *fixture = *state;
    pid_t child = start_child(fixture->name, hold_some);
    int status;

    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_int_equal(acquire(fixture->holder, "k", HELD, NULL), LK_CANAL_FULL);
    assert_int_equal(lk_canal_look(fixture->canal), 0);
    end_child(child, SIGKILL);
    expect_given_back(fixture);
}

/* exec ends the holder, though the process keeps its number and start time. */
static void exec_releases_permits(void **state) {
    struct fixture *fixture = *state;
    int ready[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        char number[16];

        hold_some(fixture->name);
        (void)snprintf(number, sizeof number, "%d", ready[1]);
        (void)execl(test_own_path(), "holder", "tell", number, (char *)NULL);
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    expect_given_back(fixture);
    end_child(child, SIGKILL);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* Handles and holders from before a fork are invalid in the child, and the parent's as before. */
static void a_forked_child_holds_no_permits(void **state) {
    struct fixture *fixture = *state;
    lk_canal_permit permit;
    int status;
    pid_t child;

    assert_int_equal(acquire(fixture->holder, "k", 2, &permit), LK_CANAL_OK);
    child = fork();
    if (child == 0) {
        lk_canal_permit own;
        uint32_t counted;
        lk_canal *canal;
        bool is_right = lk_canal_release(fixture->holder, &permit) == LK_CANAL_LEFT
                        && acquire(fixture->holder, "k", 2, &own) == LK_CANAL_LEFT
                        && lk_canal_count(fixture->canal, "k", 1, &counted) == LK_CANAL_LEFT
                        && lk_canal_draw(fixture->canal) == 0 && lk_canal_look(fixture->canal) == 0;

        lk_canal_leave(fixture->holder);
        lk_canal_close(fixture->canal);
        canal = open_again(fixture->name);
        is_right = is_right && acquire(join(canal, LK_CANAL_PROCESS), "k", 2, &own) == LK_CANAL_OK
                   && own.ordinal == 2;
        lk_canal_close(canal);
        _exit(is_right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count(fixture->canal, "k"), 1);
    assert_int_equal(lk_canal_release(fixture->holder, &permit), LK_CANAL_OK);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *hold_in_thread(void *canal) {
    lk_canal_holder *holders[2] = {join(canal, LK_CANAL_THREAD), join(canal, LK_CANAL_THREAD)};

    for (int i = 0; i < HELD; i++) {
        if (acquire(holders[i % 2], "k", HELD, NULL) != LK_CANAL_OK) {
            abort();
        }
    }
    return NULL;
}

static void the_end_of_a_thread_releases_its_permits(void **state) {
    struct fixture *fixture = *state;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, hold_in_thread, fixture->canal), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(count(fixture->canal, "k"), 0);
    expect_given_back(fixture);
}

static void *leave_without_destructors(void *canal) {
    (void)hold_in_thread(canal);
    (void)syscall(SYS_exit, 0);
    return NULL;
}

/* A thread that ends by the raw system call is detected by its thread number. */
static void a_thread_that_ends_by_system_call_loses_its_permits(void **state) {
    struct fixture *fixture = *state;
    int64_t until_us = now_us() + 20000000;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, leave_without_destructors, fixture->canal), 0);
    while (!lk_canal_may_have_dead(fixture->canal, 100)) {
        assert_true(now_us() < until_us);
    }
    while (lk_canal_look(fixture->canal) == 0 || count(fixture->canal, "k") != 0) {
        assert_true(now_us() < until_us);
    }
    expect_given_back(fixture);
    assert_int_equal(pthread_detach(thread), 0);
}

/* A holder bound to the process outlives the thread that joined. */
static void *hold_for_process(void *context) {
    return (void *)(intptr_t)acquire(context, "k", HELD, NULL);
}

static void a_process_holder_outlives_its_threads(void **state) {
    struct fixture *fixture = *state;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, hold_for_process, fixture->holder), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(lk_canal_look(fixture->canal), 0);
    assert_int_equal(count(fixture->canal, "k"), 1);
}

/* ---- waiting, time and places ---------------------------------------------------------------- */

static void the_death_of_a_holder_ends_a_wait(void **state) {
    struct fixture *fixture = *state;
    pid_t child = start_child(fixture->name, hold_some);
    lk_canal_permit permit;

    assert_int_equal(lk_canal_acquire_wait(fixture->holder, "k", 1, HELD, 1, 30, &permit),
                     LK_CANAL_TIMEOUT);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(lk_canal_acquire_wait(fixture->holder, "k", 1, HELD, 1, 20000, &permit),
                     LK_CANAL_OK);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void *wait_in_thread(void *canal) {
    lk_canal_permit permit;

    return (void *)(intptr_t)lk_canal_acquire_wait(join(canal, LK_CANAL_PROCESS), "k", 1, 1, 1,
                                                   20000, &permit);
}

static void a_release_ends_a_wait(void **state) {
    struct fixture *fixture = *state;
    lk_canal_permit permit;
    pthread_t thread;
    void *status;

    assert_int_equal(acquire(fixture->holder, "k", 1, &permit), LK_CANAL_OK);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, fixture->canal), 0);
    assert_int_equal(lk_canal_release(fixture->holder, &permit), LK_CANAL_OK);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal((intptr_t)status, LK_CANAL_OK);
}

static void come_and_go(const char *name) {
    lk_canal_holder *holder = join(open_again(name), LK_CANAL_PROCESS);

    (void)acquire(holder, "k", 1000, NULL);
}

/* Slots of dead holders are recycled: more join than the region has slots. */
static void slots_of_dead_holders_are_recycled(void **state) {
    const lk_canal_options options = {.size = sizeof options, .holders = 3, .permits = 256};
    uint32_t rounds = scaled(100);
    lk_canal_figures figures;
    lk_canal *canal;
    char name[64];

    (void)state;
    make_name(name);
    assert_int_equal(lk_canal_open(name, &options, &canal, NULL), LK_CANAL_OK);
    for (uint32_t i = 0; i < rounds; i++) {
        end_child(start_child(name, come_and_go), SIGKILL);
    }
    (void)lk_canal_look(canal);
    assert_int_equal(lk_canal_measure(canal, &figures), LK_CANAL_OK);
    assert_int_equal(figures.processes_in, 1);
    assert_int_equal(figures.holders_in, 0);
    assert_int_equal(figures.permits_taken, 0);
    assert_int_equal(figures.keys_held, 0);
    lk_canal_close(canal);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
}

/* Two handles of one process count as two processes; closing one ends only its own holders. */
static void two_handles_of_a_process_are_independent(void **state) {
    struct fixture *fixture = *state;
    lk_canal *again = open_again(fixture->name);

    assert_int_equal(acquire(fixture->holder, "k", 3, NULL), LK_CANAL_OK);
    assert_int_equal(acquire(join(again, LK_CANAL_PROCESS), "k", 3, NULL), LK_CANAL_OK);
    assert_int_equal(lk_canal_look(again), 0);
    assert_int_equal(lk_canal_look(fixture->canal), 0);
    lk_canal_close(again);
    assert_int_equal(lk_canal_look(fixture->canal), 0);
    assert_int_equal(count(fixture->canal, "k"), 1);
}

static int tell(const char *descriptor) {
    if (write(atoi(descriptor), "x", 1) != 1) {
        return 1;
    }
    for (;;) {
        (void)pause();
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_killed_process_loses_its_permits, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(dead_holders_are_told_without_repair, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_zombie_holds_no_permits, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_stopped_process_keeps_its_permits, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(the_end_of_a_thread_releases_its_permits, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_thread_that_ends_by_system_call_loses_its_permits,
                                        open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_process_holder_outlives_its_threads, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(the_death_of_a_holder_ends_a_wait, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_release_ends_a_wait, open_fixture, close_fixture),
        cmocka_unit_test(slots_of_dead_holders_are_recycled),
        cmocka_unit_test_setup_teardown(two_handles_of_a_process_are_independent, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(exec_releases_permits, open_fixture, close_fixture),
        /* NOT_EMULATED from here */
        cmocka_unit_test_setup_teardown(a_forked_child_holds_no_permits, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_living_child_does_not_retain_permits, open_fixture,
                                        close_fixture),
    };
    size_t count = test_case_count(sizeof tests / sizeof tests[0], NOT_EMULATED);

    if (argc == 3) {
        return tell(argv[2]);
    }
    return _cmocka_run_group_tests("holder end", tests, count, NULL, NULL);
}

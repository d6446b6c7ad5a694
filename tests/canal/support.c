/* SPDX-License-Identifier: Apache-2.0 */
/* Regions and child processes for the tests of canal.h. */
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void make_name(char ret_name[64]) {
    static unsigned number;

    (void)snprintf(ret_name, 64, "test.%d.%u", (int)getpid(), number++);
}

lk_canal *open_again(const char *name) {
    char text[LK_CANAL_TEXT_MAX];
    lk_canal *canal;

    if (lk_canal_open(name, NULL, &canal, text) != LK_CANAL_OK) {
        (void)fprintf(stderr, "%s: %s\n", name, text);
        abort();
    }
    return canal;
}

lk_canal_holder *join(lk_canal *canal, lk_canal_bond bond) {
    lk_canal_holder *holder;

    if (lk_canal_join(canal, bond, NULL, &holder) != LK_CANAL_OK) {
        abort();
    }
    return holder;
}

int open_fixture(void **state) {
    static struct fixture fixture;

    make_name(fixture.name);
    fixture.canal = open_again(fixture.name);
    fixture.holder = join(fixture.canal, LK_CANAL_PROCESS);
    *state = &fixture;
    return 0;
}

int close_fixture(void **state) {
    struct fixture *fixture = *state;

    lk_canal_close(fixture->canal);
    return lk_canal_remove(fixture->name) == LK_CANAL_OK ? 0 : -1;
}

lk_canal_status acquire(lk_canal_holder *holder, const char *key, uint32_t limit,
                        lk_canal_permit *ret_permit) {
    lk_canal_permit ignored;

    return lk_canal_acquire(holder, key, strlen(key), limit, 1,
                            ret_permit != NULL ? ret_permit : &ignored);
}

uint32_t count(lk_canal *canal, const char *key) {
    uint32_t counted = 0;

    assert_int_equal(lk_canal_count(canal, key, strlen(key), &counted), LK_CANAL_OK);
    return counted;
}

pid_t start_child(const char *name, void (*act)(const char *name)) {
    int ready[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ready[0]);
        act(name);
        if (write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return child;
}

void end_child(pid_t child, int signal_number) {
    int status;

    assert_int_equal(kill(child, signal_number), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

uint32_t scaled(uint32_t iterations) {
    const char *text = getenv("LK_TEST_SCALE");
    uint64_t percent = text != NULL ? strtoul(text, NULL, 10) : 100;
    uint64_t scaled = iterations * percent / 100;

    return scaled > 0 ? (uint32_t)scaled : 1;
}

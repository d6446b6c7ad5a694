/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 at every instruction. A child takes one step after another under ptrace; at each of them
 *
 *  - a child is killed there, and whoever comes next must find every count exact;
 *  - a child is held there while others go all the way through, and must end well itself;
 *  - the region is kept as a kill there would leave it, if it has changed. In each such image the
 *    repair is stepped through in turn, and killed wherever it has changed something, again and
 *    again: what is left must always be repaired to nothing held.
 *
 * What a death leaves behind is the region and nothing else, so one image for each change stands
 * for a kill at each of the instructions up to the next. LK_TEST_SCALE makes strides of the first
 * two (builds with sanitizers take many times the instructions).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { LIMIT = 3, STEPS_MAX = 2000000, IMAGES_MAX = 20000, THINNED = 7 };

static const lk_canal_options small = {
    .size = sizeof(lk_canal_options), .keys = 2, .holders = 4, .permits = 256};

/* ---- what is stepped through ----------------------------------------------------------------- */

/* What a child does: first undisturbed, then under the eyes of the test. */
struct play {
    const char *name;
    void (*prepare)(lk_canal_holder *holder, lk_canal_permit *permit);
    void (*act)(lk_canal *canal, lk_canal_holder *holder, lk_canal_permit *permit);
    uint32_t held; /* of "k", by the child in the end */
    uint32_t
        stride; /* 1: every instruction. What is long looks at many entries, one like another */
};

static void must(lk_canal_status status) {
    if (status != LK_CANAL_OK) {
        abort();
    }
}

static void hold_nothing(lk_canal_holder *holder, lk_canal_permit *permit) {
    /* Its entries and operation numbers are there, as in a program that has run for a while. */
    must(acquire(holder, "k", LIMIT, permit));
    must(lk_canal_release(holder, permit));
}

static void hold_one(lk_canal_holder *holder, lk_canal_permit *permit) {
    must(acquire(holder, "k", LIMIT, permit));
}

static void do_acquire(lk_canal *canal, lk_canal_holder *holder, lk_canal_permit *permit) {
    (void)canal;
    must(acquire(holder, "k", LIMIT, permit));
}

static void do_release(lk_canal *canal, lk_canal_holder *holder, lk_canal_permit *permit) {
    (void)canal;
    must(lk_canal_release(holder, permit));
}

/* The table is full of idle keys by now: this one takes the place of another. */
static void do_enter(lk_canal *canal, lk_canal_holder *holder, lk_canal_permit *permit) {
    (void)canal;
    must(acquire(holder, "new", LIMIT, permit));
    must(lk_canal_release(holder, permit));
}

static void do_leave(lk_canal *canal, lk_canal_holder *holder, lk_canal_permit *permit) {
    (void)canal;
    (void)permit;
    lk_canal_leave(holder);
}

static void do_join(lk_canal *canal, lk_canal_holder *holder, lk_canal_permit *permit) {
    lk_canal_holder *other;

    (void)holder;
    must(lk_canal_join(canal, LK_CANAL_PROCESS, NULL, &other));
    must(acquire(other, "k", LIMIT, permit));
}

static const struct play plays[] = {
    {"acquire", hold_nothing, do_acquire, 1, 1}, {"release", hold_one, do_release, 0, 1},
    {"a new key", hold_nothing, do_enter, 0, 1}, {"leave", hold_one, do_leave, 0, 17},
    {"join", hold_nothing, do_join, 1, 7},
};

/* ---- children under ptrace ------------------------------------------------------------------- */

static void be_stepped(const char *name, const struct play *play) {
    lk_canal_permit permit = {0};
    lk_canal_holder *holder;
    lk_canal *canal = open_again(name);

    holder = join(canal, LK_CANAL_PROCESS);
    play->prepare(holder, &permit);
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)raise(SIGSTOP);
    play->act(canal, holder, &permit);
    (void)raise(SIGUSR1);
    for (;;) {
        (void)pause();
    }
}

static void be_stepped_in_repair(const char *name) {
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)raise(SIGSTOP);
    (void)lk_canal_look(open_again(name));
    (void)raise(SIGUSR1);
    for (;;) {
        (void)pause();
    }
}

/* Which signal has stopped it. */
static int await_stop(pid_t child) {
    int status;

    if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) {
        return -1;
    }
    return WSTOPSIG(status);
}

static pid_t begin(const char *name, const struct play *play) {
    pid_t child = fork();

    if (child == 0) {
        if (play != NULL) {
            be_stepped(name, play);
        } else {
            be_stepped_in_repair(name);
        }
    }
    assert_int_equal(await_stop(child), SIGSTOP);
    return child;
}

/* One instruction. False: it has come to its end. */
static bool step(pid_t child) {
    int signal_number;

    assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    signal_number = await_stop(child);
    assert_true(signal_number == SIGTRAP || signal_number == SIGUSR1);
    return signal_number == SIGTRAP;
}

static bool steps(pid_t child, uint32_t number) {
    for (uint32_t i = 0; i < number; i++) {
        if (!step(child)) {
            return false;
        }
    }
    return true;
}

static void kill_child(pid_t child) {
    int status;

    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, __WALL), child);
    assert_true(WIFSIGNALED(status));
}

/* ---- what must hold -------------------------------------------------------------------------- */

struct stage {
    char name[64];
    lk_canal *canal;
    lk_canal_holder *holder;
    lk_canal_permit own; /* one of "k" is held all the time */
    uint32_t stride;
};

static void expect_room(struct stage *stage, const char *key, uint32_t held) {
    lk_canal_permit permits[LIMIT];

    for (uint32_t i = held; i < LIMIT; i++) {
        assert_int_equal(acquire(stage->holder, key, LIMIT, &permits[i]), LK_CANAL_OK);
        assert_in_range(permits[i].ordinal, i + 1, LIMIT); /* the dead count until looked for */
    }
    assert_int_equal(acquire(stage->holder, key, LIMIT, NULL), LK_CANAL_FULL);
    for (uint32_t i = held; i < LIMIT; i++) {
        assert_int_equal(lk_canal_release(stage->holder, &permits[i]), LK_CANAL_OK);
    }
    assert_int_equal(count(stage->canal, key), held);
}

/* Nobody else is there: every other permit, entry, place and key can be had. */
static void expect_alone(struct stage *stage) {
    lk_canal_figures figures;

    expect_room(stage, "k", 1);
    (void)lk_canal_look(stage->canal);
    assert_int_equal(lk_canal_measure(stage->canal, &figures), LK_CANAL_OK);
    assert_int_equal(figures.processes_in, 1);
    assert_int_equal(figures.holders_in, 1);
    assert_int_equal(figures.permits_taken, 64);
    assert_int_equal(figures.keys_held, 1);
    expect_room(stage, "new", 0);
    expect_room(stage, "other", 0);
}

static int open_stage(void **state) {
    static struct stage stage;

    make_name(stage.name);
    assert_int_equal(lk_canal_open(stage.name, &small, &stage.canal, NULL), LK_CANAL_OK);
    stage.holder = join(stage.canal, LK_CANAL_PROCESS);
    must(acquire(stage.holder, "k", LIMIT, &stage.own));
    stage.stride = scaled(1000) < 1000 ? 1000 / scaled(1000) : 1;
    expect_alone(&stage);
    *state = &stage;
    return 0;
}

static int close_stage(void **state) {
    struct stage *stage = *state;

    lk_canal_close(stage->canal);
    return lk_canal_remove(stage->name) == LK_CANAL_OK ? 0 : -1;
}

/* ---- one kill -------------------------------------------------------------------------------- */

static void killed_at_every_instruction(void **state) {
    struct stage *stage = *state;

    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++) {
        bool goes_on = true;
        uint32_t number = 0;

        for (; goes_on; number += stage->stride * plays[i].stride) {
            pid_t child = begin(stage->name, &plays[i]);

            goes_on = steps(child, number);
            kill_child(child);
            expect_alone(stage);
        }
        (void)printf("# %s: killed at %u instructions\n", plays[i].name,
                     number / stage->stride / plays[i].stride);
    }
}

/* ---- others in between ----------------------------------------------------------------------- */

static void overtaken_at_every_instruction(void **state) {
    struct stage *stage = *state;

    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++) {
        bool goes_on = true;

        for (uint32_t number = 0; goes_on; number += stage->stride * plays[i].stride) {
            pid_t child = begin(stage->name, &plays[i]);
            lk_canal_permit permit;
            uint32_t held;

            goes_on = steps(child, number);
            held = count(stage->canal, "k");
            assert_in_range(held, 1, 2);
            assert_int_equal(acquire(stage->holder, "k", held, NULL), LK_CANAL_FULL);
            must(acquire(stage->holder, "k", LIMIT, &permit));
            assert_int_equal(permit.ordinal, held + 1);
            must(lk_canal_release(stage->holder, &permit));
            must(acquire(stage->holder, "new", LIMIT, &permit));
            must(lk_canal_release(stage->holder, &permit));
            if (goes_on) {
                assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
                assert_int_equal(await_stop(child), SIGUSR1);
            }
            assert_int_equal(count(stage->canal, "k"), 1 + plays[i].held);
            assert_int_equal(count(stage->canal, "new"), 0);
            kill_child(child);
            expect_alone(stage);
        }
    }
}

/* ---- kills of those who repair --------------------------------------------------------------- */

/* Regions as deaths have left them. */
struct album {
    unsigned char *images[IMAGES_MAX];
    size_t count;
    size_t bytes;
};

static char path_text[128];

static const char *path_of(const char *name) {
    (void)snprintf(path_text, sizeof path_text, "/dev/shm/canal.%s", name);
    return path_text;
}

static unsigned char *look_into(const char *name, size_t *ret_bytes) {
    int file = open(path_of(name), O_RDONLY | O_CLOEXEC);
    struct stat status;
    unsigned char *bytes;

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    *ret_bytes = (size_t)status.st_size;
    bytes = mmap(NULL, *ret_bytes, PROT_READ, MAP_SHARED, file, 0);
    assert_true(bytes != MAP_FAILED);
    (void)close(file);
    return bytes;
}

static void keep(struct album *album, const unsigned char *bytes) {
    assert_true(album->count < IMAGES_MAX);
    album->images[album->count] = malloc(album->bytes);
    assert_non_null(album->images[album->count]);
    memcpy(album->images[album->count], bytes, album->bytes);
    album->count++;
}

/* Steps a child to its end, and keeps the region whenever it is another. */
static void picture(const char *name, const struct play *play, struct album *album) {
    unsigned char *bytes = look_into(name, &album->bytes);
    pid_t child = begin(name, play);

    keep(album, bytes);
    for (uint32_t i = 0; i < STEPS_MAX && step(child); i++) {
        if (memcmp(bytes, album->images[album->count - 1], album->bytes) != 0) {
            keep(album, bytes);
        }
    }
    kill_child(child);
    (void)munmap(bytes, album->bytes);
}

static void put_image(const char *name, const unsigned char *image, size_t bytes) {
    int file = open(path_of(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(file >= 0);
    assert_int_equal(write(file, image, bytes), bytes);
    assert_int_equal(close(file), 0);
}

/* Nobody who stands in an image lives. */
static void expect_nothing_held(const unsigned char *image, size_t bytes) {
    struct stage stage;

    make_name(stage.name);
    put_image(stage.name, image, bytes);
    stage.canal = open_again(stage.name);
    (void)lk_canal_look(stage.canal);
    assert_int_equal(count(stage.canal, "k"), 0);
    assert_int_equal(count(stage.canal, "new"), 0);
    stage.holder = join(stage.canal, LK_CANAL_PROCESS);
    must(acquire(stage.holder, "k", LIMIT, &stage.own));
    expect_alone(&stage);
    lk_canal_close(stage.canal);
    assert_int_equal(lk_canal_remove(stage.name), LK_CANAL_OK);
}

/* Of the images that a repairer passes through, each one of `every` is repaired in turn. */
static void repair_and_kill(const unsigned char *image, size_t bytes, uint32_t depth,
                            uint32_t every, size_t *total) {
    struct album *album;
    char name[64];

    expect_nothing_held(image, bytes);
    (*total)++;
    if (depth == 0) {
        return;
    }
    album = calloc(1, sizeof *album);
    assert_non_null(album);
    make_name(name);
    put_image(name, image, bytes);
    picture(name, NULL, album);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
    for (size_t i = 0; i < album->count; i++) {
        if ((i + *total) % every == 0) {
            repair_and_kill(album->images[i], album->bytes, depth - 1, every * THINNED, total);
        }
        free(album->images[i]);
    }
    free(album);
}

static void repairers_killed_wherever_they_change_something(void **state) {
    struct stage *stage = *state;

    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++) {
        struct album *album = calloc(1, sizeof *album);
        size_t total = 0;

        assert_non_null(album);
        picture(stage->name, &plays[i], album);
        expect_alone(stage);
        for (size_t j = 0; j < album->count; j += stage->stride) {
            repair_and_kill(album->images[j], album->bytes, j % 4 == 2 ? 2 : 1, stage->stride,
                            &total);
        }
        (void)printf("# %s: %zu states, %zu with repairers killed\n", plays[i].name, album->count,
                     total);
        for (size_t j = 0; j < album->count; j++) {
            free(album->images[j]);
        }
        free(album);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_at_every_instruction, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(overtaken_at_every_instruction, open_stage, close_stage),
        cmocka_unit_test_setup_teardown(repairers_killed_wherever_they_change_something, open_stage,
                                        close_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

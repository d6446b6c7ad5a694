/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL at every instruction. A child is single-stepped by ptrace; at each instruction
 *
 *  - a child is killed, after which every count must be exact;
 *  - a child is halted while another process completes the operation, and must then succeed too;
 *  - the region is saved if it has changed since the last instruction. For each such image the
 *    repair is single-stepped and killed wherever it changes the region, repeatedly: a later repair
 *    must always leave no permit held.
 *
 * A dead process leaves only the region behind, so one image for each change covers all
 * instructions up to the next change. LK_TEST_SCALE increases the stride of the first two (builds
 * with sanitizers execute many times more instructions).
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

/* What a child does: first at full speed, then single-stepped. */
struct action {
    const char *name;
    void (*prepare)(lk_canal_holder *holder, lk_canal_permit *permit);
    void (*act)(lk_canal *canal, lk_canal_holder *holder, lk_canal_permit *permit);
    uint32_t held;   /* permits of "k" that the child holds at the end */
    uint32_t stride; /* 1: every instruction; more for loops over many equal entries */
};

static void must(lk_canal_status status) {
    if (status != LK_CANAL_OK) {
        abort();
    }
}

static void hold_nothing(lk_canal_holder *holder, lk_canal_permit *permit) {
    /* Entries and operation numbers exist, as in a program that has run for a while. */
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

/* The table is full of idle keys: this one recycles a slot. */
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

static const struct action actions[] = {
    {"acquire", hold_nothing, do_acquire, 1, 1}, {"release", hold_one, do_release, 0, 1},
    {"a new key", hold_nothing, do_enter, 0, 1}, {"leave", hold_one, do_leave, 0, 17},
    {"join", hold_nothing, do_join, 1, 7},
};

/* ---- children under ptrace ------------------------------------------------------------------- */

static void run_stepped(const char *name, const struct action *action) {
    lk_canal_permit permit = {0};
    lk_canal_holder *holder;
    lk_canal *canal = open_again(name);

    holder = join(canal, LK_CANAL_PROCESS);
    action->prepare(holder, &permit);
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)raise(SIGSTOP);
    action->act(canal, holder, &permit);
    (void)raise(SIGUSR1);
    for (;;) {
        (void)pause();
    }
}

static void run_stepped_in_repair(const char *name) {
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)raise(SIGSTOP);
    (void)lk_canal_look(open_again(name));
    (void)raise(SIGUSR1);
    for (;;) {
        (void)pause();
    }
}

/* Returns the signal that stopped it. */
static int await_stop(pid_t child) {
    int status;

    if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) {
        return -1;
    }
    return WSTOPSIG(status);
}

static pid_t begin(const char *name, const struct action *action) {
    pid_t child = fork();

    if (child == 0) {
        if (action != NULL) {
            run_stepped(name, action);
        } else {
            run_stepped_in_repair(name);
        }
    }
    assert_int_equal(await_stop(child), SIGSTOP);
    return child;
}

/* Executes one instruction. False: the child has finished. */
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

struct setup {
    char name[64];
    lk_canal *canal;
    lk_canal_holder *holder;
    lk_canal_permit own; /* a permit of "k", held all the time */
    uint32_t stride;
};

static void expect_room(struct setup *setup, const char *key, uint32_t held) {
    lk_canal_permit permits[LIMIT];

    for (uint32_t i = held; i < LIMIT; i++) {
        assert_int_equal(acquire(setup->holder, key, LIMIT, &permits[i]), LK_CANAL_OK);
        assert_in_range(permits[i].ordinal, i + 1, LIMIT); /* dead holders count until a repair */
    }
    assert_int_equal(acquire(setup->holder, key, LIMIT, NULL), LK_CANAL_FULL);
    for (uint32_t i = held; i < LIMIT; i++) {
        assert_int_equal(lk_canal_release(setup->holder, &permits[i]), LK_CANAL_OK);
    }
    assert_int_equal(count(setup->canal, key), held);
}

/* No other holder is left: every other permit, entry, slot and key is available. */
static void expect_alone(struct setup *setup) {
    lk_canal_figures figures;

    expect_room(setup, "k", 1);
    (void)lk_canal_look(setup->canal);
    assert_int_equal(lk_canal_measure(setup->canal, &figures), LK_CANAL_OK);
    assert_int_equal(figures.processes_in, 1);
    assert_int_equal(figures.holders_in, 1);
    assert_int_equal(figures.permits_taken, 64);
    assert_int_equal(figures.keys_held, 1);
    expect_room(setup, "new", 0);
    expect_room(setup, "other", 0);
}

static int open_setup(void **state) {
    static struct setup setup;

    make_name(setup.name);
    assert_int_equal(lk_canal_open(setup.name, &small, &setup.canal, NULL), LK_CANAL_OK);
    setup.holder = join(setup.canal, LK_CANAL_PROCESS);
    must(acquire(setup.holder, "k", LIMIT, &setup.own));
    setup.stride = scaled(1000) < 1000 ? 1000 / scaled(1000) : 1;
    expect_alone(&setup);
    *state = &setup;
    return 0;
}

static int close_setup(void **state) {
    struct setup *setup = *state;

    lk_canal_close(setup->canal);
    return lk_canal_remove(setup->name) == LK_CANAL_OK ? 0 : -1;
}

/* ---- one kill -------------------------------------------------------------------------------- */

static void a_kill_at_any_instruction_leaves_exact_counts(void **state) {
    struct setup *setup = *state;

    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        bool goes_on = true;
        uint32_t number = 0;

        for (; goes_on; number += setup->stride * actions[i].stride) {
            pid_t child = begin(setup->name, &actions[i]);

            goes_on = steps(child, number);
            kill_child(child);
            expect_alone(setup);
        }
        (void)printf("# %s: killed at %u instructions\n", actions[i].name,
                     number / setup->stride / actions[i].stride);
    }
}

/* ---- others in between ----------------------------------------------------------------------- */

static void an_operation_halted_at_any_instruction_blocks_no_other(void **state) {
    struct setup *setup = *state;

    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        bool goes_on = true;

        for (uint32_t number = 0; goes_on; number += setup->stride * actions[i].stride) {
            pid_t child = begin(setup->name, &actions[i]);
            lk_canal_permit permit;
            uint32_t held;

            goes_on = steps(child, number);
            held = count(setup->canal, "k");
            assert_in_range(held, 1, 2);
            assert_int_equal(acquire(setup->holder, "k", held, NULL), LK_CANAL_FULL);
            must(acquire(setup->holder, "k", LIMIT, &permit));
            assert_int_equal(permit.ordinal, held + 1);
            must(lk_canal_release(setup->holder, &permit));
            must(acquire(setup->holder, "new", LIMIT, &permit));
            must(lk_canal_release(setup->holder, &permit));
            if (goes_on) {
                assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
                assert_int_equal(await_stop(child), SIGUSR1);
            }
            assert_int_equal(count(setup->canal, "k"), 1 + actions[i].held);
            assert_int_equal(count(setup->canal, "new"), 0);
            kill_child(child);
            expect_alone(setup);
        }
    }
}

/* ---- kills of repairers -------------------------------------------------------------------- */

/* Images of the region as left by killed processes. */
struct images {
    unsigned char *images[IMAGES_MAX];
    size_t count;
    size_t bytes;
};

static char path_text[128];

static const char *path_of(const char *name) {
    (void)snprintf(path_text, sizeof path_text, "/dev/shm/canal.%s", name);
    return path_text;
}

static unsigned char *map_region(const char *name, size_t *ret_bytes) {
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

static void keep(struct images *images, const unsigned char *bytes) {
    assert_true(images->count < IMAGES_MAX);
    images->images[images->count] = malloc(images->bytes);
    assert_non_null(images->images[images->count]);
    memcpy(images->images[images->count], bytes, images->bytes);
    images->count++;
}

/* Single-steps a child to its end, and saves the region after each change. */
static void collect_images(const char *name, const struct action *action, struct images *images) {
    unsigned char *bytes = map_region(name, &images->bytes);
    pid_t child = begin(name, action);

    keep(images, bytes);
    for (uint32_t i = 0; i < STEPS_MAX && step(child); i++) {
        if (memcmp(bytes, images->images[images->count - 1], images->bytes) != 0) {
            keep(images, bytes);
        }
    }
    kill_child(child);
    (void)munmap(bytes, images->bytes);
}

static void put_image(const char *name, const unsigned char *image, size_t bytes) {
    int file = open(path_of(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(file >= 0);
    assert_int_equal(write(file, image, bytes), bytes);
    assert_int_equal(close(file), 0);
}

/* All holders in an image are dead: none of its permits may be held. */
static void expect_nothing_held(const unsigned char *image, size_t bytes) {
    struct setup setup;

    make_name(setup.name);
    put_image(setup.name, image, bytes);
    setup.canal = open_again(setup.name);
    (void)lk_canal_look(setup.canal);
    assert_int_equal(count(setup.canal, "k"), 0);
    assert_int_equal(count(setup.canal, "new"), 0);
    setup.holder = join(setup.canal, LK_CANAL_PROCESS);
    must(acquire(setup.holder, "k", LIMIT, &setup.own));
    expect_alone(&setup);
    lk_canal_close(setup.canal);
    assert_int_equal(lk_canal_remove(setup.name), LK_CANAL_OK);
}

/* Repairs every `every`th of the images that a repair passes through. */
static void repair_and_kill(const unsigned char *image, size_t bytes, uint32_t depth,
                            uint32_t every, size_t *total) {
    struct images *images;
    char name[64];

    expect_nothing_held(image, bytes);
    (*total)++;
    if (depth == 0) {
        return;
    }
    images = calloc(1, sizeof *images);
    assert_non_null(images);
    make_name(name);
    put_image(name, image, bytes);
    collect_images(name, NULL, images);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
    for (size_t i = 0; i < images->count; i++) {
        if ((i + *total) % every == 0) {
            repair_and_kill(images->images[i], images->bytes, depth - 1, every * THINNED, total);
        }
        free(images->images[i]);
    }
    free(images);
}

static void a_repair_killed_at_any_change_can_be_repeated(void **state) {
    struct setup *setup = *state;

    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        struct images *images = calloc(1, sizeof *images);
        size_t total = 0;

        assert_non_null(images);
        collect_images(setup->name, &actions[i], images);
        expect_alone(setup);
        for (size_t j = 0; j < images->count; j += setup->stride) {
            repair_and_kill(images->images[j], images->bytes, j % 4 == 2 ? 2 : 1, setup->stride,
                            &total);
        }
        (void)printf("# %s: %zu states, %zu with repairers killed\n", actions[i].name,
                     images->count, total);
        for (size_t j = 0; j < images->count; j++) {
            free(images->images[j]);
        }
        free(images);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kill_at_any_instruction_leaves_exact_counts, open_setup,
                                        close_setup),
        cmocka_unit_test_setup_teardown(an_operation_halted_at_any_instruction_blocks_no_other,
                                        open_setup, close_setup),
        cmocka_unit_test_setup_teardown(a_repair_killed_at_any_change_can_be_repeated, open_setup,
                                        close_setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads and processes at once, with different limits; some processes are killed. No holder
 * may be granted an ordinal above its limit, a shadow counter beside the region must never exceed
 * the greatest limit in use, and at the end no permit may be held.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

enum { KEYS = 6, THREADS = 4, PROCESSES = 4, HELD_MAX = 8, LIMIT_MAX = 5 };

/* Counts permits known to be held: raised after a grant, lowered before a release. Never above the
 * true number as long as no process is killed. */
struct shadow {
    _Atomic uint32_t held[KEYS];
    _Atomic bool is_exact; /* no process is killed */
    _Atomic uint32_t wrong;
    _Atomic uint64_t granted;
    _Atomic uint64_t full;
};

static uint64_t next_random(uint64_t *state) {
    uint64_t mixed = (*state += UINT64_C(0x9e3779b97f4a7c15));

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

static uint64_t seed(void) {
    const char *text = getenv("LK_TEST_SEED");
    struct timespec now;
    uint64_t made;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    made = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)now.tv_nsec;
    (void)printf("# LK_TEST_SEED=%llu\n", (unsigned long long)made);
    return made;
}

struct held {
    lk_canal_permit permit;
    uint32_t key;
};

/* Each key has a greatest limit; smaller ones are mixed in. */
static uint32_t limit_of(uint32_t key, uint64_t *random) {
    uint32_t most = 1 + key % LIMIT_MAX;

    return next_random(random) % 4 == 0 ? 1 + (uint32_t)(next_random(random) % most) : most;
}

static void give_back(lk_canal_holder *holder, struct held *held, struct shadow *shadow) {
    (void)atomic_fetch_sub(&shadow->held[held->key], 1);
    if (lk_canal_release(holder, &held->permit) != LK_CANAL_OK) {
        (void)atomic_fetch_add(&shadow->wrong, 1);
    }
}

/* Uses short-lived keys too, so that slots are recycled all the time. */
static void acquire_and_release(lk_canal_holder *holder, struct shadow *shadow, uint64_t random,
                                uint32_t rounds) {
    struct held held[HELD_MAX];
    uint32_t held_count = 0;

    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t key = (uint32_t)(next_random(&random) % KEYS);
        uint32_t limit = limit_of(key, &random);
        lk_canal_permit permit;
        lk_canal_status status;
        char name[24];

        if (held_count == HELD_MAX || (held_count > 0 && next_random(&random) % 2 == 0)) {
            struct held *last = &held[next_random(&random) % held_count];

            give_back(holder, last, shadow);
            *last = held[--held_count];
        }
        (void)snprintf(name, sizeof name, "key %u", key);
        status = acquire(holder, name, limit, &permit);
        if (status == LK_CANAL_OK) {
            uint32_t known = atomic_fetch_add(&shadow->held[key], 1) + 1;

            (void)atomic_fetch_add(&shadow->granted, 1);
            if (permit.ordinal > limit
                || (atomic_load(&shadow->is_exact) && known > 1 + key % LIMIT_MAX)) {
                (void)atomic_fetch_add(&shadow->wrong, 1);
            }
            held[held_count++] = (struct held){.permit = permit, .key = key};
        } else if (status == LK_CANAL_FULL) {
            (void)atomic_fetch_add(&shadow->full, 1);
        } else if (status != LK_CANAL_NO_ROOM) {
            (void)atomic_fetch_add(&shadow->wrong, 1);
        }
        if (next_random(&random) % 3 == 0) {
            (void)snprintf(name, sizeof name, "pass %llu",
                           (unsigned long long)next_random(&random) % 50);
            if (acquire(holder, name, 1, &permit) == LK_CANAL_OK) {
                if (permit.ordinal != 1 || lk_canal_release(holder, &permit) != LK_CANAL_OK) {
                    (void)atomic_fetch_add(&shadow->wrong, 1);
                }
            }
        }
    }
    while (held_count > 0) {
        give_back(holder, &held[--held_count], shadow);
    }
}

struct stress {
    char name[64];
    lk_canal *canal;
    struct shadow *shadow;
    uint64_t seed;
    _Atomic uint32_t number;
};

/* Small, so that short-lived keys must recycle each other's slots. */
static int open_stress(void **state) {
    const lk_canal_options options = {
        .size = sizeof options, .keys = 20, .holders = 16, .permits = 2048};
    static struct stress stress;

    make_name(stress.name);
    assert_int_equal(lk_canal_open(stress.name, &options, &stress.canal, NULL), LK_CANAL_OK);
    stress.shadow = mmap(NULL, sizeof *stress.shadow, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(stress.shadow != MAP_FAILED);
    atomic_store(&stress.shadow->is_exact, true);
    stress.seed = seed();
    atomic_store(&stress.number, 0);
    *state = &stress;
    return 0;
}

static int close_stress(void **state) {
    struct stress *stress = *state;

    (void)munmap(stress->shadow, sizeof *stress->shadow);
    lk_canal_close(stress->canal);
    return lk_canal_remove(stress->name) == LK_CANAL_OK ? 0 : -1;
}

static void expect_nothing_held(struct stress *stress) {
    lk_canal_figures figures;

    (void)lk_canal_look(stress->canal);
    assert_int_equal(atomic_load(&stress->shadow->wrong), 0);
    assert_int_equal(lk_canal_measure(stress->canal, &figures), LK_CANAL_OK);
    assert_int_equal(figures.keys_held, 0);
    assert_int_equal(figures.holders_in, 0);
    assert_int_equal(figures.permits_taken, 0);
    assert_int_equal(figures.processes_in, 1);
    for (uint32_t key = 0; key < KEYS; key++) {
        char name[24];

        (void)snprintf(name, sizeof name, "key %u", key);
        assert_int_equal(count(stress->canal, name), 0);
    }
    (void)printf("# %llu granted, %llu full\n",
                 (unsigned long long)atomic_load(&stress->shadow->granted),
                 (unsigned long long)atomic_load(&stress->shadow->full));
    assert_true(atomic_load(&stress->shadow->granted) > 0);
}

static void *run_thread(void *context) {
    struct stress *stress = context;
    uint32_t number = atomic_fetch_add(&stress->number, 1);
    lk_canal_holder *holder =
        join(stress->canal, number % 2 == 0 ? LK_CANAL_PROCESS : LK_CANAL_THREAD);

    acquire_and_release(holder, stress->shadow, stress->seed + number, scaled(60000));
    lk_canal_leave(holder);
    return NULL;
}

static void threads_respect_limits(void **state) {
    struct stress *stress = *state;
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, stress), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    expect_nothing_held(stress);
}

static pid_t start(struct stress *stress, uint32_t number, uint32_t rounds) {
    pid_t child = fork();

    if (child == 0) {
        lk_canal *canal = open_again(stress->name);

        acquire_and_release(join(canal, LK_CANAL_PROCESS), stress->shadow, stress->seed + number,
                            rounds);
        lk_canal_close(canal);
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

static void processes_respect_limits(void **state) {
    struct stress *stress = *state;
    int status;

    for (uint32_t i = 0; i < PROCESSES; i++) {
        (void)start(stress, i, scaled(60000));
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    expect_nothing_held(stress);
}

/*
 * Processes are killed after random pauses and replaced. A killed process leaves its part of the
 * shadow counter behind, so only ordinals and the end are checked.
 */
static void killed_processes_leave_no_permit(void **state) {
    struct stress *stress = *state;
    uint64_t random = stress->seed;
    uint32_t kills = scaled(400);
    pid_t children[PROCESSES];

    atomic_store(&stress->shadow->is_exact, false);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        children[i] = start(stress, i, UINT32_MAX);
    }
    for (uint32_t i = 0; i < kills; i++) {
        struct timespec nap = {.tv_nsec = (long)(next_random(&random) % 3000000)};
        pid_t *child = &children[next_random(&random) % PROCESSES];

        (void)nanosleep(&nap, NULL); /* not a synchronisation: kills happen at random moments */
        end_child(*child, SIGKILL);
        *child = start(stress, PROCESSES + i, UINT32_MAX);
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        end_child(children[i], SIGKILL);
    }
    expect_nothing_held(stress);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_respect_limits, open_stress, close_stress),
        cmocka_unit_test_setup_teardown(processes_respect_limits, open_stress, close_stress),
        cmocka_unit_test_setup_teardown(killed_processes_leave_no_permit, open_stress,
                                        close_stress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

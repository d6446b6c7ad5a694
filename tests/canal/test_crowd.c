/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and processes, all at once: each names limits of its own, some are killed in the midst.
 * Nobody may ever be granted an ordinal above the limit it named, a shadow counter kept beside the
 * region must never exceed the greatest limit in use, and in the end nothing may be missing.
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

/* What is known to be held: raised after a grant, lowered before a release. Never above the truth
 * while nobody is killed. */
struct shadow {
    _Atomic uint32_t held[KEYS];
    _Atomic bool is_exact; /* nobody is killed */
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

/* Each key keeps its greatest limit; smaller ones come and go. */
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

/* With keys that pass through, so that slots are taken from one key for another all the time. */
static void jostle(lk_canal_holder *holder, struct shadow *shadow, uint64_t random,
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

struct crowd {
    char name[64];
    lk_canal *canal;
    struct shadow *shadow;
    uint64_t seed;
    _Atomic uint32_t number;
};

/* Small: the keys that pass through have to take each other's places. */
static int open_crowd(void **state) {
    const lk_canal_options options = {
        .size = sizeof options, .keys = 20, .holders = 16, .permits = 2048};
    static struct crowd crowd;

    make_name(crowd.name);
    assert_int_equal(lk_canal_open(crowd.name, &options, &crowd.canal, NULL), LK_CANAL_OK);
    crowd.shadow =
        mmap(NULL, sizeof *crowd.shadow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(crowd.shadow != MAP_FAILED);
    atomic_store(&crowd.shadow->is_exact, true);
    crowd.seed = seed();
    atomic_store(&crowd.number, 0);
    *state = &crowd;
    return 0;
}

static int close_crowd(void **state) {
    struct crowd *crowd = *state;

    (void)munmap(crowd->shadow, sizeof *crowd->shadow);
    lk_canal_close(crowd->canal);
    return lk_canal_remove(crowd->name) == LK_CANAL_OK ? 0 : -1;
}

static void expect_nothing_held(struct crowd *crowd) {
    lk_canal_figures figures;

    (void)lk_canal_look(crowd->canal);
    assert_int_equal(atomic_load(&crowd->shadow->wrong), 0);
    assert_int_equal(lk_canal_measure(crowd->canal, &figures), LK_CANAL_OK);
    assert_int_equal(figures.keys_held, 0);
    assert_int_equal(figures.holders_in, 0);
    assert_int_equal(figures.permits_taken, 0);
    assert_int_equal(figures.processes_in, 1);
    for (uint32_t key = 0; key < KEYS; key++) {
        char name[24];

        (void)snprintf(name, sizeof name, "key %u", key);
        assert_int_equal(count(crowd->canal, name), 0);
    }
    (void)printf("# %llu granted, %llu full\n",
                 (unsigned long long)atomic_load(&crowd->shadow->granted),
                 (unsigned long long)atomic_load(&crowd->shadow->full));
    assert_true(atomic_load(&crowd->shadow->granted) > 0);
}

static void *jostle_in_thread(void *context) {
    struct crowd *crowd = context;
    uint32_t number = atomic_fetch_add(&crowd->number, 1);
    lk_canal_holder *holder =
        join(crowd->canal, number % 2 == 0 ? LK_CANAL_PROCESS : LK_CANAL_THREAD);

    jostle(holder, crowd->shadow, crowd->seed + number, scaled(60000));
    lk_canal_leave(holder);
    return NULL;
}

static void threads(void **state) {
    struct crowd *crowd = *state;
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, jostle_in_thread, crowd), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    expect_nothing_held(crowd);
}

static pid_t start(struct crowd *crowd, uint32_t number, uint32_t rounds) {
    pid_t child = fork();

    if (child == 0) {
        lk_canal *canal = open_again(crowd->name);

        jostle(join(canal, LK_CANAL_PROCESS), crowd->shadow, crowd->seed + number, rounds);
        lk_canal_close(canal);
        _exit(0);
    }
    assert_true(child > 0);
    return child;
}

static void processes(void **state) {
    struct crowd *crowd = *state;
    int status;

    for (uint32_t i = 0; i < PROCESSES; i++) {
        (void)start(crowd, i, scaled(60000));
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    expect_nothing_held(crowd);
}

/*
 * One after the other is killed, after a random while, and another takes its place. Who is killed
 * takes its part of the shadow along, so only ordinals are looked at, and the end.
 */
static void processes_that_are_killed(void **state) {
    struct crowd *crowd = *state;
    uint64_t random = crowd->seed;
    uint32_t kills = scaled(400);
    pid_t children[PROCESSES];

    atomic_store(&crowd->shadow->is_exact, false);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        children[i] = start(crowd, i, UINT32_MAX);
    }
    for (uint32_t i = 0; i < kills; i++) {
        struct timespec nap = {.tv_nsec = (long)(next_random(&random) % 3000000)};
        pid_t *child = &children[next_random(&random) % PROCESSES];

        (void)nanosleep(&nap, NULL); /* not to wait for anything: kills come at any moment */
        end_child(*child, SIGKILL);
        *child = start(crowd, PROCESSES + i, UINT32_MAX);
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        end_child(children[i], SIGKILL);
    }
    expect_nothing_held(crowd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads, open_crowd, close_crowd),
        cmocka_unit_test_setup_teardown(processes, open_crowd, close_crowd),
        cmocka_unit_test_setup_teardown(processes_that_are_killed, open_crowd, close_crowd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the library share. */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static const char *scheme;

void choose_scheme(int argc, char **argv) {
    if (argc != 2 || (strcmp(argv[1], "mem") != 0 && strcmp(argv[1], "sqlite") != 0)) {
        (void)fprintf(stderr, "usage: %s mem|sqlite\n", argv[0]);
        exit(EXIT_FAILURE);
    }
    scheme = argv[1];
}

int open_fixture(void **state) {
    const char *base = getenv("TMPDIR");
    struct fixture *fixture = calloc(1, sizeof *fixture);
    lk_error error;

    assert_non_null(fixture);
    (void)snprintf(fixture->directory, sizeof fixture->directory, "%.64s/lk-library-XXXXXX",
                   base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(fixture->directory));
    if (strcmp(scheme, "mem") == 0) {
        (void)snprintf(fixture->url, sizeof fixture->url, "mem:test");
    } else {
        (void)snprintf(fixture->url, sizeof fixture->url, "sqlite:%s/locks.db", fixture->directory);
    }
    if (lk_open(fixture->url, &fixture->store, &error) != LK_OK) {
        fail_msg("%s: %s", fixture->url, error.text);
    }
    *state = fixture;
    return 0;
}

static void remove_directory(const char *path) {
    DIR *directory = opendir(path);

    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
        }
    }
    closedir(directory);
    assert_int_equal(rmdir(path), 0);
}

int close_fixture(void **state) {
    struct fixture *fixture = *state;

    lk_close(fixture->store);
    remove_directory(fixture->directory);
    free(fixture);
    return 0;
}

lk_store *open_again(const struct fixture *fixture) {
    lk_store *store = NULL;

    assert_int_equal(lk_open(fixture->url, &store, NULL), LK_OK);
    return store;
}

/* ---- short ways to ask ----------------------------------------------------------------------- */

lk_request request_of(const char *owner, const char *const *part) {
    lk_request request = lk_request_init(part, 1);

    request.owner = owner;
    request.style = LK_TRY;
    return request;
}

lk_outcome try_part(lk_store *store, const char *owner, const char *part) {
    lk_request request = request_of(owner, &part);

    return lk_ask(store, &request, NULL, NULL);
}

lk_outcome queue_part(lk_store *store, const char *owner, const char *part) {
    lk_request request = request_of(owner, &part);

    request.style = LK_QUEUE;
    return lk_ask(store, &request, NULL, NULL);
}

lk_outcome release_part(lk_store *store, const char *owner, const char *part) {
    lk_request request = request_of(owner, &part);

    return lk_release(store, &request, 0, NULL, NULL);
}

lk_outcome renew_part(lk_store *store, const char *owner, const char *part) {
    lk_request request = request_of(owner, &part);

    return lk_renew(store, &request, 0, NULL, NULL);
}

size_t break_path(lk_store *store, const char *path, bool at_once) {
    const lk_break_request request = {
        .size = sizeof request, .path = path, .reason = "test", .by = "tester", .at_once = at_once};
    size_t count = SIZE_MAX;

    assert_int_equal(lk_break(store, &request, &count, NULL), LK_OK);
    return count;
}

static size_t count_requests(lk_store *store, bool only_waiting) {
    lk_listing *listing = NULL;
    size_t count = 0;
    lk_error error;

    if (lk_list(store, NULL, &listing, &error) != LK_OK) {
        fail_msg("%s: %s", lk_outcome_name(error.outcome), error.text);
    }
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        bool is_first_part =
            i == 0 || entry->request_index != listing->entries[i - 1].request_index;

        count += is_first_part && !(only_waiting && entry->held);
    }
    lk_listing_free(listing);
    return count;
}

size_t count_live(lk_store *store) {
    return count_requests(store, false);
}

size_t count_waiting(lk_store *store) {
    return count_requests(store, true);
}

/* ---- waiting --------------------------------------------------------------------------------- */

int64_t now_ms(void) {
    return lk_clock_now_us() / 1000;
}

static void pause_ms(long duration_ms) {
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = duration_ms * 1000000};

    (void)nanosleep(&pause, NULL);
}

void wait_until_waiting(lk_store *store, size_t count) {
    int64_t bound_ms = now_ms() + BOUND_MS;

    while (count_waiting(store) != count) {
        assert_true(now_ms() < bound_ms);
        pause_ms(2);
    }
}

void wait_until_ms(int64_t instant_ms) {
    while (now_ms() < instant_ms) {
        pause_ms(5);
    }
}

int scaled(int count) {
    const char *scale = getenv("LK_TEST_SCALE");
    int percent = scale != NULL ? atoi(scale) : 100;
    int part = (int)((int64_t)count * percent / 100);

    return part > 0 ? part : 1;
}

/* ---- waiters --------------------------------------------------------------------------------- */

void waiter_prepare(struct waiter *waiter, lk_store *store, const char *owner, const char *part) {
    *waiter = (struct waiter){.store = store, .part = part};
    waiter->request = lk_request_init(&waiter->part, 1);
    waiter->request.owner = owner;
}

static void *wait_in_line(void *context) {
    struct waiter *waiter = context;

    waiter->outcome = lk_ask(waiter->store, &waiter->request, &waiter->result, &waiter->error);
    return NULL;
}

void waiter_start(struct waiter *waiter) {
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_in_line, waiter), 0);
}

lk_outcome waiter_join(struct waiter *waiter) {
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
    return waiter->outcome;
}

void waiter_done(struct waiter *waiter) {
    lk_result_free(waiter->result);
}

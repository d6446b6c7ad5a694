/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's store in its directory: access of other processes to the file, and the grace period
 * of live leases after a restart (R11).
 */
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "../support.h"
#include "base/clock.h"
#include "server/core/core.h"
#include "server/store/store.h"

struct fixture {
    char directory[128];
    char url[160];
    struct lk_storage *storage;
};

static lk_outcome open_keeper(struct fixture *fixture, lk_error *error) {
    const struct lk_store_sqlite_options options = {.directory = fixture->directory,
                                                    .is_relaxed = true};

    return lk_store_sqlite_open(&options, &fixture->storage, error);
}

static int begin(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const char *temporary = getenv("TMPDIR");

    (void)snprintf(fixture->directory, sizeof fixture->directory, "%s/lk-store-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(fixture->directory) == NULL) {
        return -1;
    }
    (void)snprintf(fixture->url, sizeof fixture->url, "sqlite:%s/locks.db", fixture->directory);
    *state = fixture;
    return open_keeper(fixture, NULL) == LK_OK ? 0 : -1;
}

static int end(void **state) {
    static const char *const names[] = {"locks.db", "locks.db-wal", "locks.db-shm",
                                        "locks.db-served"};
    struct fixture *fixture = *state;
    char path[200];

    if (fixture->storage != NULL) {
        fixture->storage->ops->close(fixture->storage);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", fixture->directory, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(fixture->directory);
    free(fixture);
    return 0;
}

static lk_outcome ask_embedded(lk_store *store, lk_error *error) {
    const char *parts[] = {"db/t1"};
    lk_request request = lk_request_init(parts, 1);

    request.style = LK_TRY;
    request.owner = "other";
    return lk_ask(store, &request, NULL, error);
}

/* ---- which process may change the file ------------------------------------------------------- */

static void while_a_service_runs_others_can_only_read(void **state) {
    struct fixture *fixture = *state;
    lk_store *store = NULL;
    lk_listing *listing = NULL;
    lk_error error;

    assert_int_equal(fixture->storage->ops->announce(fixture->storage, "lk://127.0.0.1:7420", NULL),
                     LK_OK);
    assert_int_equal(lk_open(fixture->url, &store, NULL), LK_OK);
    assert_int_equal(lk_list(store, NULL, &listing, NULL), LK_OK);
    lk_listing_free(listing);
    assert_int_equal(ask_embedded(store, &error), LK_DENIED);
    assert_non_null(strstr(error.text, "lk://127.0.0.1:7420"));
    lk_close(store);
}

static void a_handle_opened_before_the_service_cannot_write(void **state) {
    struct fixture *fixture = *state;
    lk_store *store = NULL;

    fixture->storage->ops->close(fixture->storage);
    fixture->storage = NULL;
    assert_int_equal(lk_open(fixture->url, &store, NULL), LK_OK);
    assert_int_equal(ask_embedded(store, NULL), LK_GRANTED);
    assert_int_equal(open_keeper(fixture, NULL), LK_OK);
    assert_int_equal(ask_embedded(store, NULL), LK_DENIED);
    fixture->storage->ops->close(fixture->storage);
    fixture->storage = NULL;
    assert_int_equal(ask_embedded(store, NULL), LK_GRANTED);
    lk_close(store);
}

static void a_second_service_is_refused(void **state) {
    struct fixture *fixture = *state;
    struct fixture other = *fixture;
    lk_error error;

    assert_int_equal(open_keeper(&other, &error), LK_DENIED);
    assert_non_null(strstr(error.text, "another service"));
}

/* Its mark is in the file still, and blocks no server. */
static void a_dead_service_does_not_lock_the_file(void **state) {
    struct fixture *fixture = *state;
    lk_store *store = NULL;
    int status = 0;
    pid_t child;

    fixture->storage->ops->close(fixture->storage);
    fixture->storage = NULL;
    child = fork();
    if (child == 0) {
        _exit(open_keeper(fixture, NULL) == LK_OK ? 0 : 1); /* and closes nothing */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lk_open(fixture->url, &store, NULL), LK_OK);
    assert_int_equal(ask_embedded(store, NULL), LK_GRANTED);
    lk_close(store);
    assert_int_equal(open_keeper(fixture, NULL), LK_OK);
}

/* ---- restarts -------------------------------------------------------------------------------- */

static int64_t loaded_deadline(struct fixture *fixture, const struct lk_times *times) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_core_snapshot *snapshot = NULL;
    int64_t deadline_us;

    assert_int_equal(fixture->storage->ops->load(fixture->storage, &config, times, &snapshot, NULL),
                     LK_OK);
    deadline_us = lk_model_next_deadline(snapshot->model);
    lk_core_snapshot_free(snapshot);
    return deadline_us;
}

static void write_lease(struct fixture *fixture, struct lk_times times, int64_t ttl_ms) {
    struct lk_record record = {.id = 7,
                               .owner = lk_slice_of("other"),
                               .state = LK_STATE_HELD,
                               .ticket = 1,
                               .token = 1,
                               .ttl_ms = ttl_ms,
                               .deadline_us = times.now_us + ttl_ms * 1000,
                               .part_count = 1};
    struct lk_row row = {.kind = LK_ROW_REQUEST};
    struct lk_batch batch = {.number = 1, .times = times, .first = &row, .row_count = 1};

    (void)lk_path_parse(lk_slice_of("db/t1"), &record.parts[0].path, NULL);
    row.request.record = &record;
    row.request.expires_unix_us = times.wall_us + ttl_ms * 1000;
    row.request.has_parts = true;
    assert_int_equal(fixture->storage->ops->write(fixture->storage, &batch, NULL), LK_OK);
}

static struct lk_times later(struct lk_times times, int64_t by_ms) {
    times.now_us += by_ms * 1000;
    times.wall_us += by_ms * 1000;
    return times;
}

/* R11: once until the next renewal. */
static void a_restart_gives_a_grace_period_once(void **state) {
    struct fixture *fixture = *state;
    struct lk_times times = {.now_us = 1000000000, .wall_us = INT64_C(1700000000000000)};
    struct lk_times second = later(times, 9000);
    struct lk_times third = later(times, 18000);

    write_lease(fixture, times, 10000);
    assert_int_equal(loaded_deadline(fixture, &second), second.now_us + 10000000);
    assert_int_equal(loaded_deadline(fixture, &third), second.now_us + 10000000);
    write_lease(fixture, third, 10000); /* renewed */
    third = later(third, 5000);
    assert_int_equal(loaded_deadline(fixture, &third), third.now_us + 10000000);
}

static void a_restart_shortens_no_lease(void **state) {
    struct fixture *fixture = *state;
    struct lk_times times = {.now_us = 1000000000, .wall_us = INT64_C(1700000000000000)};
    struct lk_times second = later(times, 5000);

    write_lease(fixture, times, 3600000);
    assert_int_equal(loaded_deadline(fixture, &second), times.now_us + INT64_C(3600000000));
}

static void limits_of_the_file_apply(void **state) {
    struct fixture *fixture = *state;
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_times times = {.now_us = 1000000000, .wall_us = INT64_C(1700000000000000)};
    struct lk_core_snapshot *snapshot = NULL;
    struct lk_part part = {.mode = LK_EXCLUSIVE};
    struct lk_command command = {.kind = LK_COMMAND_ASK, .times = times};
    sqlite3 *database;
    char path[200];

    (void)snprintf(path, sizeof path, "%s/locks.db", fixture->directory);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "UPDATE lk_meta SET live_max = 1", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    write_lease(fixture, times, 10000);
    assert_int_equal(
        fixture->storage->ops->load(fixture->storage, &config, &times, &snapshot, NULL), LK_OK);
    (void)lk_path_parse(lk_slice_of("db/t2"), &part.path, NULL);
    command.ask = (struct lk_ask){
        .owner = lk_slice_of("another"), .parts = &part, .part_count = 1, .style = LK_TRY};
    assert_int_equal(lk_model_step(snapshot->model, &command)->answer.outcome, LK_FULL);
    lk_core_snapshot_free(snapshot);
}

/* ---- damage ---------------------------------------------------------------------------------- */

enum { LEASES = 30, PAGE_BYTES = 4096, IMAGE_BYTES_MAX = 64 * PAGE_BYTES, DAMAGES = 150 };

struct image {
    size_t size;
    unsigned char bytes[IMAGE_BYTES_MAX];
};

/* Closes the service and fills its file by the embedded engine. */
static void fill(struct fixture *fixture) {
    lk_store *store = NULL;

    fixture->storage->ops->close(fixture->storage);
    fixture->storage = NULL;
    assert_int_equal(lk_open(fixture->url, &store, NULL), LK_OK);
    for (int i = 0; i < LEASES; i++) {
        char path[64];
        char owner[16];
        const char *parts[] = {path};
        lk_request request = lk_request_init(parts, 1);

        (void)snprintf(path, sizeof path, "db/host%02d/of-a-name-that-fills-pages", i);
        (void)snprintf(owner, sizeof owner, "holder%d", i);
        request.style = LK_TRY;
        request.owner = owner;
        request.ttl_ms = 3600000;
        assert_int_equal(lk_ask(store, &request, NULL, NULL), LK_GRANTED);
    }
    lk_close(store);
}

static void name_file(const struct fixture *fixture, char ret_path[200]) {
    (void)snprintf(ret_path, 200, "%s/locks.db", fixture->directory);
}

static void read_image(const struct fixture *fixture, struct image *ret_image) {
    char path[200];
    FILE *file;

    name_file(fixture, path);
    file = fopen(path, "rb");
    assert_non_null(file);
    ret_image->size = fread(ret_image->bytes, 1, sizeof ret_image->bytes, file);
    assert_true(ret_image->size > 0 && ret_image->size < sizeof ret_image->bytes);
    (void)fclose(file);
}

static void write_image(const struct fixture *fixture, const struct image *image) {
    static const char *const suffixes[] = {"-wal", "-shm", ""};
    char path[200];
    char name[210];
    FILE *file;

    name_file(fixture, path);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        (void)unlink(name);
    }
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(image->bytes, 1, image->size, file), image->size);
    (void)fclose(file);
}

static bool count_one(void *context, lk_ref request) {
    (void)request;
    *(int *)context += 1;
    return true;
}

/* How many requests a service starts with; -1: it refuses, with *ret_error. */
static int count_loaded(struct fixture *fixture, lk_error *ret_error) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_times times = {.now_us = lk_clock_now_us(), .wall_us = lk_clock_wall_us()};
    struct lk_core_snapshot *snapshot = NULL;
    int count = -1;

    if (open_keeper(fixture, ret_error) != LK_OK) {
        fixture->storage = NULL;
        return -1;
    }
    if (fixture->storage->ops->load(fixture->storage, &config, &times, &snapshot, ret_error)
        == LK_OK) {
        count = 0;
        (void)lk_model_each(snapshot->model, count_one, &count);
        lk_core_snapshot_free(snapshot);
    }
    fixture->storage->ops->close(fixture->storage);
    fixture->storage = NULL;
    return count;
}

/* Of pages that are copies of others, zeros, or have other bits: all rows are served, or none. */
static void a_damaged_file_is_loaded_whole_or_not_at_all(void **state) {
    struct fixture *fixture = *state;
    struct image *sound = calloc(1, sizeof *sound);
    struct image *image = calloc(1, sizeof *image);
    struct lk_random random = test_random();
    unsigned damages = test_scaled(DAMAGES);
    lk_error error;

    assert_true(sound != NULL && image != NULL);
    fill(fixture);
    read_image(fixture, sound);
    assert_int_equal(count_loaded(fixture, &error), LEASES);
    for (unsigned i = 0; i < damages; i++) {
        size_t pages = sound->size / PAGE_BYTES;
        size_t from = lk_random_next(&random) % (pages + 1); /* the last: zeros */
        size_t to = lk_random_next(&random) % pages;
        int count;

        *image = *sound;
        if (from == pages) {
            memset(image->bytes + to * PAGE_BYTES, 0, PAGE_BYTES);
        } else if (from == to) {
            image->bytes[to * PAGE_BYTES + lk_random_next(&random) % PAGE_BYTES] ^=
                (unsigned char)(1u << lk_random_next(&random) % 8);
        } else {
            memcpy(image->bytes + to * PAGE_BYTES, sound->bytes + from * PAGE_BYTES, PAGE_BYTES);
        }
        write_image(fixture, image);
        count = count_loaded(fixture, &error);
        if (count != -1 && count != LEASES) {
            fail_msg("page %zu from %zu: %d of %d leases are served", to + 1, from + 1, count,
                     LEASES);
        }
    }
    free(image);
    free(sound);
}

/* Each of these leaves every page sound. */
static void rows_that_do_not_add_up_are_refused(void **state) {
    static const struct {
        const char *change;
        const char *about;
    } cases[] = {
        {"DELETE FROM lk_part", "no parts"},
        {"DELETE FROM lk_part WHERE request = (SELECT max(request) FROM lk_part)", "no parts"},
        {"DELETE FROM lk_request WHERE id = (SELECT max(id) FROM lk_request)", "lk_part"},
        {"UPDATE lk_part SET path = (SELECT min(path) FROM lk_part)"
         " WHERE request = (SELECT max(request) FROM lk_part)",
         "excludes"},
        {"INSERT INTO lk_item (queue, id, sequence, state, due_us, due_unix_us, attempts, was_lost,"
         " needs) VALUES ('q', '1', 1, 'claimed', 0, 0, 1, 0, '')",
         "claims"},
    };
    struct fixture *fixture = *state;
    struct image *sound = calloc(1, sizeof *sound);
    char path[200];

    assert_non_null(sound);
    fill(fixture);
    read_image(fixture, sound);
    name_file(fixture, path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sqlite3 *database;
        lk_error error = {.outcome = LK_OK};

        write_image(fixture, sound);
        assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
        assert_int_equal(sqlite3_exec(database, cases[i].change, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(database), SQLITE_OK);
        assert_int_equal(count_loaded(fixture, &error), -1);
        assert_int_equal(error.outcome, LK_UNAVAILABLE);
        if (strstr(error.text, "damaged") == NULL || strstr(error.text, cases[i].about) == NULL) {
            fail_msg("%s: %s", cases[i].change, error.text);
        }
    }
    free(sound);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(while_a_service_runs_others_can_only_read, begin, end),
        cmocka_unit_test_setup_teardown(a_handle_opened_before_the_service_cannot_write, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_second_service_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_dead_service_does_not_lock_the_file, begin, end),
        cmocka_unit_test_setup_teardown(a_restart_gives_a_grace_period_once, begin, end),
        cmocka_unit_test_setup_teardown(a_restart_shortens_no_lease, begin, end),
        cmocka_unit_test_setup_teardown(limits_of_the_file_apply, begin, end),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_loaded_whole_or_not_at_all, begin, end),
        cmocka_unit_test_setup_teardown(rows_that_do_not_add_up_are_refused, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

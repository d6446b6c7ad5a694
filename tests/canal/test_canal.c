/* SPDX-License-Identifier: Apache-2.0 */
/* canal.h in one process: changing limits, weights, bounds, recycled keys. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

/* docs/rules.md, example 4, with the ordinals of each grant. */
static void limits_may_change(void **state) {
    struct fixture *fixture = *state;
    lk_canal_holder *holder = fixture->holder;
    lk_canal_permit a;
    lk_canal_permit b;
    lk_canal_permit permit;

    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 1, &a), LK_CANAL_OK);
    assert_int_equal(a.ordinal, 1);
    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 1, &b), LK_CANAL_OK);
    assert_int_equal(b.ordinal, 2);
    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 1, &permit), LK_CANAL_OK);
    assert_int_equal(permit.ordinal, 3);
    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 1, &permit), LK_CANAL_FULL);
    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 2, &permit), LK_CANAL_OK);
    assert_int_equal(permit.ordinal, 4);
    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 1, &permit), LK_CANAL_FULL);
    assert_int_equal(lk_canal_release(holder, &a), LK_CANAL_OK);
    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 1, &permit), LK_CANAL_FULL);
    assert_int_equal(lk_canal_release(holder, &b), LK_CANAL_OK);
    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 1, &permit), LK_CANAL_OK);
    assert_int_equal(permit.ordinal, 3);
    assert_int_equal(lk_canal_acquire(holder, "db", 2, 3, 1, &permit), LK_CANAL_FULL);
    assert_int_equal(count(fixture->canal, "db"), 3);
}

/* docs/rules.md, example 5. */
static void a_limit_cut_below_the_holders_refuses_until_enough_release(void **state) {
    struct fixture *fixture = *state;
    lk_canal_permit permits[10];
    lk_canal_permit permit;

    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(acquire(fixture->holder, "k", 10, &permits[i]), LK_CANAL_OK);
    }
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(acquire(fixture->holder, "k", 5, &permit), LK_CANAL_FULL);
        assert_int_equal(lk_canal_release(fixture->holder, &permits[i]), LK_CANAL_OK);
    }
    assert_int_equal(acquire(fixture->holder, "k", 5, &permit), LK_CANAL_OK);
    assert_int_equal(permit.ordinal, 5);
}

static void weights_count(void **state) {
    struct fixture *fixture = *state;
    lk_canal_permit six;
    lk_canal_permit permit;

    assert_int_equal(lk_canal_acquire_units(fixture->holder, "w", 1, 10, 6, &six), LK_CANAL_OK);
    assert_int_equal(lk_canal_acquire_units(fixture->holder, "w", 1, 10, 5, &permit),
                     LK_CANAL_FULL);
    assert_int_equal(lk_canal_acquire_units(fixture->holder, "w", 1, 10, 4, &permit), LK_CANAL_OK);
    assert_int_equal(permit.ordinal, 10);
    assert_int_equal(lk_canal_release(fixture->holder, &six), LK_CANAL_OK);
    assert_int_equal(count(fixture->canal, "w"), 4);
}

static void a_permit_is_given_back_once(void **state) {
    struct fixture *fixture = *state;
    lk_canal_permit permit;
    lk_canal_permit later;

    assert_int_equal(acquire(fixture->holder, "k", 2, &permit), LK_CANAL_OK);
    assert_int_equal(lk_canal_release(fixture->holder, &permit), LK_CANAL_OK);
    assert_int_equal(lk_canal_release(fixture->holder, &permit), LK_CANAL_NOT_HELD);
    assert_int_equal(acquire(fixture->holder, "k", 2, &later), LK_CANAL_OK);
    assert_int_equal(lk_canal_release(fixture->holder, &permit), LK_CANAL_NOT_HELD);
    permit.entry = UINT32_MAX;
    assert_int_equal(lk_canal_release(fixture->holder, &permit), LK_CANAL_NOT_HELD);
    assert_int_equal(count(fixture->canal, "k"), 1);
}

/* Another holder of the same process does not give it back: its entry belongs to its own holder. */
static void a_permit_belongs_to_its_holder(void **state) {
    struct fixture *fixture = *state;
    lk_canal_holder *other = join(fixture->canal, LK_CANAL_PROCESS);
    lk_canal_permit permit;
    lk_canal_permit own;

    assert_int_equal(acquire(fixture->holder, "k", 2, &permit), LK_CANAL_OK);
    assert_int_equal(lk_canal_release(other, &permit), LK_CANAL_NOT_HELD);
    assert_int_equal(lk_canal_mark(other, &permit, 1), LK_CANAL_NOT_HELD);
    assert_int_equal(acquire(other, "k", 2, &own), LK_CANAL_OK);
    assert_int_equal(lk_canal_release(fixture->holder, &own), LK_CANAL_NOT_HELD);
    assert_int_equal(count(fixture->canal, "k"), 2);
    assert_int_equal(lk_canal_release(fixture->holder, &permit), LK_CANAL_OK);
    lk_canal_leave(fixture->holder);
    fixture->holder = NULL;
    assert_int_equal(count(fixture->canal, "k"), 1);
    assert_int_equal(lk_canal_release(other, &own), LK_CANAL_OK);
    assert_int_equal(count(fixture->canal, "k"), 0);
}

static void keys_of_all_sizes_are_distinct(void **state) {
    struct fixture *fixture = *state;
    char bytes[LK_CANAL_KEY_BYTES_MAX + 1];
    lk_canal_permit permit;
    uint32_t counted;

    memset(bytes, 0, sizeof bytes);
    for (size_t size = 1; size <= LK_CANAL_KEY_BYTES_MAX; size++) {
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(
                lk_canal_acquire(fixture->holder, bytes, size, (uint32_t)size, 1, &permit),
                LK_CANAL_OK);
        }
        assert_int_equal(lk_canal_acquire(fixture->holder, bytes, size, (uint32_t)size, 1, &permit),
                         LK_CANAL_FULL);
    }
    for (size_t size = 1; size <= LK_CANAL_KEY_BYTES_MAX; size++) {
        assert_int_equal(lk_canal_count(fixture->canal, bytes, size, &counted), LK_CANAL_OK);
        assert_int_equal(counted, size);
        bytes[size - 1] = 'x'; /* the last byte counts */
        assert_int_equal(lk_canal_count(fixture->canal, bytes, size, &counted), LK_CANAL_OK);
        assert_int_equal(counted, 0);
        bytes[size - 1] = '\0';
    }
}

static void wrong_calls_are_invalid(void **state) {
    struct fixture *fixture = *state;
    lk_canal_options options = {.size = sizeof options, .keys = LK_CANAL_KEYS_MAX + 1};
    char text[LK_CANAL_TEXT_MAX] = "";
    lk_canal_permit permit;
    lk_canal *canal;
    char name[LK_CANAL_NAME_BYTES_MAX + 2];

    assert_int_equal(lk_canal_acquire(fixture->holder, "", 0, 1, 1, &permit), LK_CANAL_INVALID);
    assert_int_equal(
        lk_canal_acquire(fixture->holder, text, LK_CANAL_KEY_BYTES_MAX + 1, 1, 1, &permit),
        LK_CANAL_INVALID);
    assert_int_equal(acquire(fixture->holder, "k", 0, &permit), LK_CANAL_FULL);
    assert_int_equal(lk_canal_acquire_units(fixture->holder, "k", 1, 3, 4, &permit),
                     LK_CANAL_INVALID);
    assert_int_equal(lk_canal_acquire_units(fixture->holder, "k", 1, 3, 0, &permit),
                     LK_CANAL_INVALID);
    assert_int_equal(lk_canal_open(fixture->name, &options, &canal, text), LK_CANAL_INVALID);
    assert_string_not_equal(text, "");
    assert_int_equal(lk_canal_open("", NULL, &canal, text), LK_CANAL_INVALID);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(lk_canal_open(name, NULL, &canal, text), LK_CANAL_INVALID);
    options = (lk_canal_options){.size = 1};
    assert_int_equal(lk_canal_open(fixture->name, &options, &canal, NULL), LK_CANAL_INVALID);
}

/* A limit above what can be counted is no reason to refuse, and none to overflow. */
static void the_largest_limits(void **state) {
    struct fixture *fixture = *state;
    lk_canal_permit permit;

    assert_int_equal(lk_canal_acquire(fixture->holder, "k", 1, UINT32_MAX, UINT32_MAX, &permit),
                     LK_CANAL_OK);
    assert_int_equal(lk_canal_acquire_units(fixture->holder, "k", 1, UINT32_MAX,
                                            LK_CANAL_COUNT_MAX - 1, &permit),
                     LK_CANAL_OK);
    assert_int_equal(lk_canal_acquire(fixture->holder, "k", 1, UINT32_MAX, UINT32_MAX, &permit),
                     LK_CANAL_FULL);
}

static lk_canal *open_small(const char *name, uint32_t keys, uint32_t holders, uint32_t permits) {
    const lk_canal_options options = {
        .size = sizeof options, .keys = keys, .holders = holders, .permits = permits};
    lk_canal *canal;

    assert_int_equal(lk_canal_open(name, &options, &canal, NULL), LK_CANAL_OK);
    return canal;
}

/* Of a region for 100 keys, ten thousand come by; those that are held stay as they are. */
static void idle_keys_are_recycled(void **state) {
    char name[64];
    lk_canal *canal;
    lk_canal_holder *holder;
    lk_canal_permit permit;
    char key[32];

    (void)state;
    make_name(name);
    canal = open_small(name, 100, 2, 0);
    holder = join(canal, LK_CANAL_PROCESS);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(key, sizeof key, "held %d", i);
        assert_int_equal(acquire(holder, key, 1, &permit), LK_CANAL_OK);
    }
    for (int i = 0; i < 10000; i++) {
        (void)snprintf(key, sizeof key, "passing %d", i);
        assert_int_equal(acquire(holder, key, 1, &permit), LK_CANAL_OK);
        assert_int_equal(permit.ordinal, 1);
        assert_int_equal(lk_canal_release(holder, &permit), LK_CANAL_OK);
    }
    for (int i = 0; i < 50; i++) {
        (void)snprintf(key, sizeof key, "held %d", i);
        assert_int_equal(count(canal, key), 1);
        assert_int_equal(acquire(holder, key, 1, &permit), LK_CANAL_FULL);
    }
    lk_canal_close(canal);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
}

/* Of a region for a million keys, all are held at once, and then as many others. */
static void a_million_keys(void **state) {
    const lk_canal_options options = {.size = sizeof options, .keys = scaled(1000000)};
    static const char *const kinds[] = {"key", "other"};
    lk_canal_figures figures;
    lk_canal_permit permit;
    lk_canal *canal;
    char name[64];
    char key[32];

    (void)state;
    make_name(name);
    assert_int_equal(lk_canal_open(name, &options, &canal, NULL), LK_CANAL_OK);
    for (size_t kind = 0; kind < 2; kind++) {
        lk_canal_holder *holder = join(canal, LK_CANAL_PROCESS);

        for (uint32_t i = 0; i < options.keys; i++) {
            (void)snprintf(key, sizeof key, "%s %u", kinds[kind], i);
            assert_int_equal(acquire(holder, key, 1, &permit), LK_CANAL_OK);
            assert_int_equal(permit.ordinal, 1);
        }
        assert_int_equal(lk_canal_measure(canal, &figures), LK_CANAL_OK);
        assert_int_equal(figures.keys_held, options.keys);
        lk_canal_leave(holder);
        assert_int_equal(lk_canal_measure(canal, &figures), LK_CANAL_OK);
        assert_int_equal(figures.keys_held, 0);
    }
    lk_canal_close(canal);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
}

/* What is used up is said; what is held stays counted; what comes free can be had again. */
static void a_full_table_is_an_error(void **state) {
    char name[64];
    lk_canal *canal;
    lk_canal_holder *holder;
    lk_canal_permit permit;
    lk_canal_permit first = {0};
    char key[32];
    uint32_t held = 0;

    (void)state;
    make_name(name);
    canal = open_small(name, 20, 2, 128);
    holder = join(canal, LK_CANAL_PROCESS);
    for (;; held++) {
        lk_canal_status status;

        (void)snprintf(key, sizeof key, "key %u", held);
        status = acquire(holder, key, 1, held == 0 ? &first : &permit);
        if (status != LK_CANAL_OK) {
            assert_int_equal(status, LK_CANAL_NO_ROOM);
            break;
        }
    }
    assert_in_range(held, 20, 31);
    assert_int_equal(lk_canal_release(holder, &first), LK_CANAL_OK);
    assert_int_equal(acquire(holder, key, 1, &permit), LK_CANAL_OK);
    assert_int_equal(count(canal, "key 0"), 0);
    assert_int_equal(count(canal, key), 1);
    lk_canal_close(canal);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
}

static void permits_and_holders_are_bounded(void **state) {
    lk_canal_holder *holders[2];
    lk_canal_holder *third;
    lk_canal_permit permit;
    lk_canal *canal;
    char name[64];

    (void)state;
    make_name(name);
    canal = open_small(name, 10, 2, 128);
    holders[0] = join(canal, LK_CANAL_PROCESS);
    holders[1] = join(canal, LK_CANAL_PROCESS);
    assert_int_equal(lk_canal_join(canal, LK_CANAL_PROCESS, NULL, &third), LK_CANAL_NO_ROOM);
    for (int i = 0; i < 128; i++) {
        assert_int_equal(acquire(holders[i % 2], "k", 1000, &permit), LK_CANAL_OK);
    }
    assert_int_equal(acquire(holders[0], "k", 1000, &permit), LK_CANAL_NO_ROOM);
    assert_int_equal(acquire(holders[1], "k", 1000, &permit), LK_CANAL_NO_ROOM);
    assert_int_equal(count(canal, "k"), 128);
    lk_canal_leave(holders[0]);
    assert_int_equal(count(canal, "k"), 64);
    assert_int_equal(acquire(holders[1], "k", 1000, &permit), LK_CANAL_OK);
    third = join(canal, LK_CANAL_PROCESS);
    lk_canal_leave(third);
    lk_canal_close(canal);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
}

struct listed {
    size_t entries;
    uint32_t units;
};

static bool add_listed(void *context, const lk_canal_entry *entry) {
    struct listed *listed = context;

    listed->entries++;
    listed->units += entry->units;
    assert_string_equal(entry->key, "pool");
    assert_string_equal(entry->label, "a label");
    assert_int_equal(entry->process, getpid());
    assert_int_equal(entry->limit, 9);
    assert_int_equal(entry->mark, 77);
    assert_true(entry->joined_unix_ms > 0);
    return true;
}

static void held_keys_are_listed(void **state) {
    struct fixture *fixture = *state;
    struct listed listed = {0};
    lk_canal_figures figures;
    lk_canal_holder *holder;
    lk_canal_permit permit;

    assert_int_equal(lk_canal_join(fixture->canal, LK_CANAL_PROCESS, "a label", &holder),
                     LK_CANAL_OK);
    for (uint32_t units = 1; units <= 3; units++) {
        assert_int_equal(lk_canal_acquire_units(holder, "pool", 4, 9, units, &permit), LK_CANAL_OK);
        assert_int_equal(lk_canal_mark(holder, &permit, 77), LK_CANAL_OK);
    }
    assert_int_equal(lk_canal_list(fixture->canal, add_listed, &listed), LK_CANAL_OK);
    assert_int_equal(listed.entries, 3);
    assert_int_equal(listed.units, 6);
    assert_int_equal(lk_canal_measure(fixture->canal, &figures), LK_CANAL_OK);
    assert_int_equal(figures.keys, 4096);
    assert_int_equal(figures.keys_held, 1);
    assert_int_equal(figures.holders_in, 2);
    assert_int_equal(figures.processes_in, 1);
    assert_int_equal(figures.permits_taken, 64);
}

static void grant_numbers_rise(void **state) {
    struct fixture *fixture = *state;
    lk_canal *again = open_again(fixture->name);
    uint64_t last = 0;

    for (int i = 0; i < 1000; i++) {
        uint64_t next = lk_canal_draw(i % 2 == 0 ? fixture->canal : again);

        assert_true(next > last);
        last = next;
    }
    lk_canal_close(again);
}

static void a_region_is_accessible_to_its_owner_only(void **state) {
    const lk_canal_options group = {.size = sizeof group, .mode = 0660};
    struct fixture *fixture = *state;
    struct stat status;
    lk_canal *canal;
    char path[128];
    char name[64];

    (void)snprintf(path, sizeof path, "/dev/shm/canal.%s", fixture->name);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    make_name(name);
    assert_int_equal(lk_canal_open(name, &group, &canal, NULL), LK_CANAL_OK);
    (void)snprintf(path, sizeof path, "/dev/shm/canal.%s", name);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0660);
    lk_canal_close(canal);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_NONE);
}

static void a_file_can_be_a_region(void **state) {
    const lk_canal_options existing = {.size = sizeof existing, .must_exist = true};
    char path[] = "/tmp/canal-XXXXXX";
    char text[LK_CANAL_TEXT_MAX];
    lk_canal_holder *holder;
    lk_canal *canal;
    char name[64];

    (void)state;
    assert_non_null(mkdtemp(path));
    (void)snprintf(name, sizeof name, "%s/region", path);
    assert_int_equal(lk_canal_open(name, &existing, &canal, text), LK_CANAL_NONE);
    canal = open_again(name);
    holder = join(canal, LK_CANAL_PROCESS);
    assert_int_equal(acquire(holder, "k", 1, NULL), LK_CANAL_OK);
    lk_canal_close(canal);
    assert_int_equal(lk_canal_open(name, &existing, &canal, text), LK_CANAL_OK);
    assert_int_equal(count(canal, "k"), 0);
    lk_canal_close(canal);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
    assert_int_equal(rmdir(path), 0);
}

static void a_region_with_less_room_than_asked_for_is_refused(void **state) {
    struct fixture *fixture = *state;
    const lk_canal_options as_it_is = {
        .size = sizeof as_it_is, .keys = 4096, .holders = 1024, .permits = 4096};
    const lk_canal_options wanted[] = {
        {.size = sizeof wanted[0], .keys = 4097},
        {.size = sizeof wanted[0], .holders = 1025},
        {.size = sizeof wanted[0], .permits = 1000000},
    };
    const char *const said[] = {"made for 4096 keys, and 4097 are",
                                "made for 1024 holders, and 1025", " permits, and 1000000 are"};
    char text[LK_CANAL_TEXT_MAX];
    lk_canal *canal;

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(lk_canal_open(fixture->name, &wanted[i], &canal, text), LK_CANAL_INVALID);
        assert_non_null(strstr(text, said[i]));
    }
    assert_int_equal(lk_canal_open(fixture->name, &as_it_is, &canal, text), LK_CANAL_OK);
    lk_canal_close(canal);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(limits_may_change, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_limit_cut_below_the_holders_refuses_until_enough_release,
                                        open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(weights_count, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_region_with_less_room_than_asked_for_is_refused,
                                        open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_permit_belongs_to_its_holder, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_permit_is_given_back_once, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(keys_of_all_sizes_are_distinct, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(wrong_calls_are_invalid, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(the_largest_limits, open_fixture, close_fixture),
        cmocka_unit_test(idle_keys_are_recycled),
        cmocka_unit_test(a_million_keys),
        cmocka_unit_test(a_full_table_is_an_error),
        cmocka_unit_test(permits_and_holders_are_bounded),
        cmocka_unit_test_setup_teardown(held_keys_are_listed, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(grant_numbers_rise, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_region_is_accessible_to_its_owner_only, open_fixture,
                                        close_fixture),
        cmocka_unit_test(a_file_can_be_a_region),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

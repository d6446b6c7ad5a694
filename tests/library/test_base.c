/* SPDX-License-Identifier: Apache-2.0 */
/* The base library: bounded text, hashes, random numbers, back-off, wakers. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../emulated.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/random.h"
#include "base/secret.h"
#include "base/sleepers.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/waker.h"
#include "support.h"

enum { NOT_EMULATED = 1 }; /* qemu-user has no futex_waitv */

/* ---- text ------------------------------------------------------------------------------------ */

static void test_text_within_its_bound(void **state) {
    char bytes[8];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);

    (void)state;
    assert_string_equal(bytes, "");
    lk_text_add(&text, lk_slice_of("abc"));
    lk_text_format(&text, "%d", 1234);
    assert_string_equal(bytes, "abc1234"); /* full to the last byte */
    assert_false(text.is_cut);
    lk_text_add(&text, lk_slice_of(NULL));
    assert_false(text.is_cut);
    lk_text_add(&text, lk_slice_of("x"));
    assert_true(text.is_cut);
    assert_string_equal(bytes, "abc1234");
}

static void test_text_is_cut_by_format(void **state) {
    char bytes[5];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);

    (void)state;
    lk_text_format(&text, "%s", "12345");
    assert_string_equal(bytes, "1234");
    assert_int_equal(text.size, 4);
    assert_true(text.is_cut);
    lk_text_format(&text, "%s", "6");
    assert_string_equal(bytes, "1234");
}

static void test_text_copy(void **state) {
    char *copy = lk_text_copy((struct lk_slice){.bytes = "abcdef", .size = 3});
    char *empty = lk_text_copy((struct lk_slice){.bytes = NULL, .size = 0});

    (void)state;
    assert_string_equal(copy, "abc");
    assert_string_equal(empty, "");
    free(copy);
    free(empty);
}

/* ---- heaps ----------------------------------------------------------------------------------- */

enum { HEAP_ITEMS = 64 };

struct heap_item {
    struct lk_heap_node node;
    bool is_in;
};

static void check_first(const struct lk_heap *heap, const struct heap_item *items) {
    const struct lk_heap_node *least = NULL;

    for (int i = 0; i < HEAP_ITEMS; i++) {
        if (items[i].is_in && (least == NULL || items[i].node.key < least->key)) {
            least = &items[i].node;
        }
    }
    assert_int_equal(heap->first == NULL, least == NULL);
    if (least != NULL) {
        assert_int_equal(heap->first->key, least->key);
    }
}

/* Any item goes in and out at any time, and the first one is always one with the least key. */
static void test_heap_beside_a_list(void **state) {
    struct lk_random random = {.state = 7};
    struct heap_item items[HEAP_ITEMS] = {{.is_in = false}};
    struct lk_heap heap = {NULL};

    (void)state;
    assert_null(LK_HEAP_ITEM(heap.first, struct heap_item, node));
    for (int step = 0; step < 20000; step++) {
        struct heap_item *item = &items[lk_random_between(&random, 0, HEAP_ITEMS - 1)];

        if (step % 3 == 0 && heap.first != NULL) {
            item = LK_HEAP_ITEM(heap.first, struct heap_item, node);
        }
        if (item->is_in) {
            lk_heap_remove(&heap, &item->node);
        } else {
            lk_heap_add(&heap, &item->node, lk_random_between(&random, -20, 20));
        }
        item->is_in = !item->is_in;
        check_first(&heap, items);
    }
}

/* ---- random numbers -------------------------------------------------------------------------- */

static void test_percent_decode(void **state) {
    static const struct {
        const char *text;
        const char *decoded; /* NULL: refused */
    } cases[] = {
        {"", ""},    {"a%40b", "a@b"}, {"%2F%2f", "//"}, {"1234567", "1234567"}, {"%4", NULL},
        {"%", NULL}, {"a%4g", NULL},   {"%00", NULL},    {"%-1", NULL},          {"12345678", NULL},
    };
    char text[8];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool is_decoded = lk_percent_decode(lk_slice_of(cases[i].text), text, sizeof text);

        assert_int_equal(is_decoded, cases[i].decoded != NULL);
        if (is_decoded) {
            assert_string_equal(text, cases[i].decoded);
        }
    }
}

static void test_random_is_repeatable(void **state) {
    struct lk_random one = {.state = 42};
    struct lk_random other = {.state = 42};

    (void)state;
    assert_int_equal(lk_random_next(&one), lk_random_next(&other));
    assert_int_not_equal(lk_random_next(&one), lk_random_next(&one));
    assert_int_not_equal(lk_random_draw(), lk_random_draw());
}

static void test_random_between(void **state) {
    struct lk_random random = {.state = 7};
    bool is_low_seen = false;
    bool is_high_seen = false;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t number = lk_random_between(&random, -2, 2);

        assert_true(number >= -2 && number <= 2);
        is_low_seen = is_low_seen || number == -2;
        is_high_seen = is_high_seen || number == 2;
    }
    assert_true(is_low_seen && is_high_seen);
    assert_int_equal(lk_random_between(&random, 5, 5), 5);
}

/* ---- hashes ---------------------------------------------------------------------------------- */

enum { HASH_NAMES = 64 * 256, HASH_BUCKETS = 64, HASH_BYTES_MAX = 40 };

static void test_a_hash_is_of_seed_and_bytes(void **state) {
    static const char zeros[HASH_BYTES_MAX];
    char text[] = "xtools/build";

    (void)state;
    assert_true(lk_hash_bytes(7, lk_slice_of("tools/build"))
                == lk_hash_bytes(7, lk_slice_of(text + 1)));
    assert_true(lk_hash_bytes(7, lk_slice_of("a")) != lk_hash_bytes(8, lk_slice_of("a")));
    assert_true(lk_hash_bytes(7, lk_slice_of(NULL)) == lk_hash_bytes(7, lk_slice_of("")));
    for (size_t size = 0; size < HASH_BYTES_MAX; size++) { /* the size counts where bytes do not */
        for (size_t other = 0; other < size; other++) {
            assert_true(lk_hash_bytes(7, (struct lk_slice){zeros, size})
                        != lk_hash_bytes(7, (struct lk_slice){zeros, other}));
        }
    }
}

/* Names that differ in a digit: by their low bits and by their high ones. */
static void test_hashes_are_spread(void **state) {
    int low[HASH_BUCKETS] = {0};
    int high[HASH_BUCKETS] = {0};

    (void)state;
    for (int i = 0; i < HASH_NAMES; i++) {
        char name[32];
        uint64_t hash;

        (void)snprintf(name, sizeof name, "/jobs/number-%d", i);
        hash = lk_hash_bytes(0, lk_slice_of(name));
        low[hash % HASH_BUCKETS]++;
        high[hash >> 58]++;
    }
    for (int i = 0; i < HASH_BUCKETS; i++) { /* 256 each, give or take eight deviations */
        assert_in_range(low[i], 128, 384);
        assert_in_range(high[i], 128, 384);
    }
}

/* ---- secrets --------------------------------------------------------------------------------- */

static void test_a_secret_is_equal_to_itself_alone(void **state) {
    static const char *const wrong[] = {"",     "o",    "ope",      "opem",
                                        "opeN", "Open", "openopen", "open "};

    (void)state;
    assert_true(lk_secret_equal("open", lk_slice_of("open")));
    assert_true(lk_secret_equal("", lk_slice_of(NULL)));
    assert_false(lk_secret_equal("", lk_slice_of("o")));
    assert_false(lk_secret_equal("open", (struct lk_slice){"open\0", 5}));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(lk_secret_equal("open", lk_slice_of(wrong[i])));
    }
}

/* ---- back-off -------------------------------------------------------------------------------- */

static void test_backoff_doubles_up_to_its_bound(void **state) {
    static const int64_t longest[] = {10, 20, 40, 80, 100, 100};

    (void)state;
    for (uint32_t retries = 0; retries < 6; retries++) {
        int64_t half = longest[retries] / 2;
        bool is_least_seen = false;
        bool is_most_seen = false;

        for (int i = 0; i < 5000; i++) {
            int64_t delay = lk_backoff_delay(10, 100, retries);

            assert_in_range(delay, half, longest[retries]);
            is_least_seen = is_least_seen || delay == half;
            is_most_seen = is_most_seen || delay == longest[retries];
        }
        assert_true(is_least_seen && is_most_seen);
    }
}

static void test_backoff_at_its_limits(void **state) {
    (void)state;
    assert_int_equal(lk_backoff_delay(1, 1, UINT32_MAX), 1); /* never nothing */
    assert_in_range(lk_backoff_delay(500, 100, 0), 50, 100); /* the bound goes first */
    assert_true(lk_backoff_delay(1, INT64_MAX, UINT32_MAX) >= INT64_MAX / 2); /* no overflow */
}

/* ---- clocks and wakers ----------------------------------------------------------------------- */

static void test_clocks(void **state) {
    int64_t before_us = lk_clock_now_us();

    (void)state;
    assert_true(before_us > 0);
    assert_true(lk_clock_now_us() >= before_us);
    assert_true(lk_clock_wall_us() > INT64_C(1500000000000000));
    assert_true(lk_time_source_system.now_us(NULL) >= before_us);
}

static void test_instants_carry(void **state) {
    struct timespec soon = lk_condition_instant(999999);
    struct timespec past = lk_condition_instant(INT64_MIN);
    struct timespec far = lk_condition_instant(INT64_MAX);

    (void)state;
    assert_in_range(soon.tv_nsec, 0, 999999999);
    assert_true(past.tv_sec <= soon.tv_sec);
    assert_true(far.tv_sec - past.tv_sec <= 24 * 60 * 60 + 1); /* cut, not overflowed */
}

static void *sleep_long(void *context) {
    bool is_thrown = lk_waker_sleep(context, (int64_t)BOUND_MS * 1000);

    return is_thrown ? context : NULL;
}

static void test_throwing_is_for_good(void **state) {
    struct lk_waker waker;
    pthread_t thread;
    void *thrown = NULL;
    int64_t start_ms = now_ms();

    (void)state;
    assert_true(lk_waker_init(&waker));
    assert_false(lk_waker_is_thrown(&waker));
    assert_int_equal(pthread_create(&thread, NULL, sleep_long, &waker), 0);
    lk_waker_throw(&waker);
    assert_int_equal(pthread_join(thread, &thrown), 0);
    assert_ptr_equal(thrown, &waker);
    assert_true(lk_waker_is_thrown(&waker));
    assert_true(lk_waker_sleep(&waker, (int64_t)BOUND_MS * 1000));
    assert_true(now_ms() < start_ms + BOUND_MS);
    lk_waker_done(&waker);
}

static bool is_readable(int descriptor) {
    struct pollfd wanted = {.fd = descriptor, .events = POLLIN};

    return poll(&wanted, 1, 0) == 1;
}

static void test_throwing_ends_a_poll(void **state) {
    struct lk_waker early;
    struct lk_waker late;
    int descriptor;

    (void)state;
    assert_true(lk_waker_init(&early));
    descriptor = lk_waker_thrown_descriptor(&early);
    assert_true(descriptor >= 0);
    lk_waker_nudge(&early);
    assert_false(is_readable(descriptor)); /* a nudge is not for a poller */
    lk_waker_throw(&early);
    assert_true(is_readable(descriptor));
    assert_int_equal(lk_waker_thrown_descriptor(&early), descriptor);
    lk_waker_done(&early);

    assert_true(lk_waker_init(&late));
    lk_waker_throw(&late);
    assert_true(is_readable(lk_waker_thrown_descriptor(&late)));
    lk_waker_done(&late);
}

static void test_a_nudge_ends_one_sleep(void **state) {
    struct lk_waker waker;
    int64_t start_ms = now_ms();

    (void)state;
    assert_true(lk_waker_init(&waker));
    lk_waker_nudge(&waker);
    assert_false(lk_waker_sleep(&waker, (int64_t)BOUND_MS * 1000));
    assert_true(now_ms() < start_ms + BOUND_MS);
    start_ms = now_ms();
    assert_false(lk_waker_sleep(&waker, 20000)); /* the nudge is used up */
    assert_true(now_ms() >= start_ms + 19);
    lk_waker_done(&waker);
}

static void test_without_a_waker_time_ends_a_sleep(void **state) {
    int64_t start_ms = now_ms();

    (void)state;
    assert_false(lk_waker_sleep(NULL, 20000));
    assert_true(now_ms() >= start_ms + 19);
    assert_false(lk_waker_sleep(NULL, -1));
    assert_false(lk_waker_is_thrown(NULL));
}

/* ---- sleepers -------------------------------------------------------------------------------- */

enum { KEY = 7, OTHER_KEY = 8 };

struct bed {
    pthread_mutex_t mutex;
    struct lk_sleepers sleepers;
    struct lk_waker *waker;
};

static lk_outcome sleep_in(struct bed *bed, uint64_t version, int64_t duration_us) {
    lk_outcome outcome;

    pthread_mutex_lock(&bed->mutex);
    outcome = lk_sleepers_sleep(&bed->sleepers, &bed->mutex, KEY, version,
                                lk_clock_now_us() + duration_us, bed->waker);
    pthread_mutex_unlock(&bed->mutex);
    return outcome;
}

static void test_no_wake_up_is_missed(void **state) {
    static struct bed bed = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    uint64_t version = bed.sleepers.version;

    (void)state;
    lk_sleepers_wake(&bed.sleepers, OTHER_KEY);
    assert_false(lk_sleepers_have_missed(&bed.sleepers, KEY, version));
    assert_int_equal(sleep_in(&bed, version, 1000), LK_OK); /* by time */
    lk_sleepers_wake(&bed.sleepers, KEY);
    assert_true(lk_sleepers_have_missed(&bed.sleepers, KEY, version));
    assert_int_equal(sleep_in(&bed, version, INT64_C(1000) * BOUND_MS), LK_OK); /* at once */

    version = bed.sleepers.version;
    assert_false(lk_sleepers_have_missed(&bed.sleepers, KEY, version)); /* that one is read */
    for (int i = 0; i < LK_WAKE_UPS_RECALLED; i++) {
        lk_sleepers_wake(&bed.sleepers, OTHER_KEY);
    }
    assert_false(lk_sleepers_have_missed(&bed.sleepers, KEY, version)); /* all are recalled */
    lk_sleepers_wake(&bed.sleepers, OTHER_KEY);
    assert_true(lk_sleepers_have_missed(&bed.sleepers, KEY, version)); /* one is not */

    version = bed.sleepers.version;
    lk_sleepers_wake_all(&bed.sleepers);
    assert_true(lk_sleepers_have_missed(&bed.sleepers, KEY, version));
    assert_false(lk_sleepers_have_missed(&bed.sleepers, KEY, bed.sleepers.version));
}

static void *sleep_in_bed(void *context) {
    return sleep_in(context, 0, INT64_C(1000) * BOUND_MS) == LK_OK ? context : NULL;
}

/* Locks the mutex once a thread sleeps in the bed. */
static struct lk_sleeper *lock_when_asleep(struct bed *bed) {
    struct lk_sleeper *sleeper;

    pthread_mutex_lock(&bed->mutex);
    while ((sleeper = LIST_FIRST(&bed->sleepers.list)) == NULL) {
        pthread_mutex_unlock(&bed->mutex);
        (void)lk_waker_sleep(NULL, 1000);
        pthread_mutex_lock(&bed->mutex);
    }
    return sleeper;
}

static void test_a_key_wakes_its_sleeper(void **state) {
    static struct bed bed = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    int64_t start_ms = now_ms();
    pthread_t thread;
    void *woken = NULL;
    struct lk_sleeper *sleeper;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, sleep_in_bed, &bed), 0);
    sleeper = lock_when_asleep(&bed);
    lk_sleepers_wake(&bed.sleepers, OTHER_KEY);
    assert_false(sleeper->is_woken);
    lk_sleepers_wake(&bed.sleepers, KEY);
    assert_true(sleeper->is_woken);
    pthread_mutex_unlock(&bed.mutex);
    assert_int_equal(pthread_join(thread, &woken), 0);
    assert_ptr_equal(woken, &bed);
    assert_true(LIST_EMPTY(&bed.sleepers.list));
    assert_true(now_ms() < start_ms + BOUND_MS);
}

static void test_throwing_cancels_a_sleeper(void **state) {
    static struct bed bed = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    struct lk_waker waker;

    (void)state;
    assert_true(lk_waker_init(&waker));
    bed.waker = &waker;
    lk_waker_throw(&waker);
    assert_int_equal(sleep_in(&bed, 0, INT64_C(1000) * BOUND_MS), LK_CANCELLED);
    assert_true(LIST_EMPTY(&bed.sleepers.list));
    lk_waker_done(&waker);
}

/* ---- sleeping on words ----------------------------------------------------------------------- */

struct on_words {
    struct lk_waker *waker;
    uint32_t words[LK_WORDS];
    pthread_t thread;
};

/* For as long as no wake-up is seen to end it; spurious ends are followed by another sleep. */
static void *sleep_on_words(void *context) {
    struct on_words *on_words = context;
    const struct lk_word words[LK_WORDS] = {{&on_words->words[0], 0}, {&on_words->words[1], 0}};
    bool is_thrown = lk_waker_sleep_on_words(on_words->waker, words, (int64_t)BOUND_MS * 1000);

    return is_thrown ? on_words : NULL;
}

static void test_throwing_ends_a_sleep_on_words(void **state) {
    struct lk_waker waker;
    struct on_words on_words = {.waker = &waker};
    void *thrown = NULL;
    int64_t until_us = lk_clock_now_us() + (int64_t)BOUND_MS * 1000;

    (void)state;
    assert_true(lk_waker_init(&waker));
    lk_waker_nudge(&waker);
    assert_null(sleep_on_words(&on_words));
    assert_int_equal(pthread_create(&on_words.thread, NULL, sleep_on_words, &on_words), 0);
    lk_waker_throw(&waker);
    assert_int_equal(pthread_join(on_words.thread, &thrown), 0);
    assert_ptr_equal(thrown, &on_words);
    assert_true(lk_clock_now_us() < until_us);
    lk_waker_done(&waker);
}

/* What changed before the sleep ends it at once, and what changes during it has to be woken. */
static void test_words_end_a_sleep(void **state) {
    struct on_words on_words = {.waker = NULL};
    int64_t until_us = lk_clock_now_us() + (int64_t)BOUND_MS * 1000;

    (void)state;
    assert_true(lk_words_are_known());
    on_words.words[1] = 1;
    assert_null(sleep_on_words(&on_words));
    on_words.words[1] = 0;
    assert_int_equal(pthread_create(&on_words.thread, NULL, sleep_on_words, &on_words), 0);
    __atomic_store_n(&on_words.words[0], 1, __ATOMIC_SEQ_CST);
    lk_words_wake(&on_words.words[0]);
    assert_int_equal(pthread_join(on_words.thread, NULL), 0);
    assert_true(lk_clock_now_us() < until_us);
}

/* ---- hash tables ----------------------------------------------------------------------------- */

enum { TABLED = 3000, TABLE_HASHES = 1000 };

struct tabled {
    struct lk_hash_entry entry;
    bool is_in;
};

/* How many entries with the hash the table has, each of which is `in`. */
static size_t count_tabled(const struct lk_hash_table *table, uint64_t hash) {
    size_t count = 0;

    for (struct lk_hash_entry *entry = lk_hash_table_first(table, hash); entry != NULL;
         entry = lk_hash_entry_next(entry)) {
        assert_int_equal(entry->hash, hash);
        assert_true(((struct tabled *)entry)->is_in);
        count++;
    }
    return count;
}

/* Three records have each hash. The table grows to all of them, and then becomes empty. */
static void test_a_table_grows_and_shrinks(void **state) {
    static struct tabled records[TABLED];
    struct lk_hash_table table = {.count = 0};
    size_t bucket_count;

    (void)state;
    for (size_t i = 0; i < TABLED; i++) {
        assert_int_equal(count_tabled(&table, i % TABLE_HASHES), i / TABLE_HASHES);
        records[i].is_in = true;
        lk_hash_table_add(&table, &records[i].entry, i % TABLE_HASHES);
    }
    assert_int_equal(table.count, TABLED);
    bucket_count = table.bucket_count;
    assert_in_range(bucket_count, TABLED, 2 * TABLED);
    for (size_t i = 0; i < TABLED; i++) {
        assert_int_equal(count_tabled(&table, i % TABLE_HASHES), 3 - i / TABLE_HASHES);
        records[i].is_in = false;
        lk_hash_table_remove(&table, &records[i].entry);
    }
    assert_int_equal(table.count, 0);
    assert_int_equal(table.bucket_count, 0);
    lk_hash_table_done(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_within_its_bound),
        cmocka_unit_test(test_text_is_cut_by_format),
        cmocka_unit_test(test_text_copy),
        cmocka_unit_test(test_heap_beside_a_list),
        cmocka_unit_test(test_percent_decode),
        cmocka_unit_test(test_random_is_repeatable),
        cmocka_unit_test(test_random_between),
        cmocka_unit_test(test_a_hash_is_of_seed_and_bytes),
        cmocka_unit_test(test_hashes_are_spread),
        cmocka_unit_test(test_a_table_grows_and_shrinks),
        cmocka_unit_test(test_a_secret_is_equal_to_itself_alone),
        cmocka_unit_test(test_backoff_doubles_up_to_its_bound),
        cmocka_unit_test(test_backoff_at_its_limits),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_instants_carry),
        cmocka_unit_test(test_throwing_is_for_good),
        cmocka_unit_test(test_throwing_ends_a_poll),
        cmocka_unit_test(test_a_nudge_ends_one_sleep),
        cmocka_unit_test(test_without_a_waker_time_ends_a_sleep),
        cmocka_unit_test(test_no_wake_up_is_missed),
        cmocka_unit_test(test_a_key_wakes_its_sleeper),
        cmocka_unit_test(test_throwing_cancels_a_sleeper),
        cmocka_unit_test(test_throwing_ends_a_sleep_on_words),
        /* NOT_EMULATED from here */
        cmocka_unit_test(test_words_end_a_sleep),
    };
    size_t count = test_case_count(sizeof tests / sizeof tests[0], NOT_EMULATED);

    return _cmocka_run_group_tests("base", tests, count, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store whose files were damaged (store_image.h). The first byte says how much time has passed
 * since, and whether the machine was started again; the others, what is wrong.
 *
 * Whatever it is, each call ends in an outcome with a sentence, and what is listed is within its
 * bounds. Where the damage has hit nothing - the file is whole and its tables say the same - all
 * answers are those of the undamaged store, or a failure.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "store_image.h"

/*
 * In place of the C library's, for SQLite too: nothing here has to survive a power cut, and waiting
 * for the disk would take nearly all the time.
 */
__attribute__((visibility("default"))) int fsync(int file) {
    (void)file;
    return 0;
}

__attribute__((visibility("default"))) int fdatasync(int file) {
    (void)file;
    return 0;
}

enum { TRANSCRIPT_MAX = 64 * 1024, MANNERS = 4 };

struct transcript {
    char text[TRANSCRIPT_MAX];
    size_t size;
    bool has_failure; /* a call has failed: what follows may differ */
};

/* What does not change from one input to the next. */
static struct {
    bool is_made;
    struct fixture fixture;
    struct fixture_clock clock; /* as it was when the image was made */
    struct store_image image;
    uint64_t digest;
    struct transcript expected[MANNERS];
} whole;

__attribute__((format(printf, 2, 3))) static void write_down(struct transcript *transcript,
                                                             const char *format, ...) {
    size_t room = sizeof transcript->text - transcript->size;
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(transcript->text + transcript->size, room, format, arguments);
    va_end(arguments);
    transcript->size += size > 0 && (size_t)size < room ? (size_t)size : 0;
}

/* ---- what is asked of a store ---------------------------------------------------------------- */

struct visit {
    struct lk_engine *engine;
    struct transcript *transcript;
};

static bool is_failure(lk_outcome outcome) {
    return outcome >= LK_INVALID;
}

static void note_outcome(struct visit *visit, lk_outcome outcome, const char *text) {
    FUZZ_DEMAND(outcome >= LK_OK && outcome < LK_CANCELLED);
    if (is_failure(outcome)) {
        FUZZ_DEMAND(text != NULL && text[0] != '\0');
        visit->transcript->has_failure = true;
    }
    write_down(visit->transcript, "%s\n", lk_outcome_name(outcome));
}

static void note_result(struct visit *visit, lk_outcome outcome, const lk_result *result) {
    note_outcome(visit, outcome, result->error);
    write_down(visit->transcript, "%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %zu\n",
               result->ticket, result->token, result->expires_in_ms, result->in_use,
               result->position);
    /* R12: the owner of a broken lease is told its token. */
    FUZZ_DEMAND(outcome == LK_OK || outcome == LK_LOST
                || (outcome == LK_GRANTED) == (result->token != 0));
}

static void note_listing(struct visit *visit, lk_outcome outcome, lk_listing *listing,
                         const lk_error *error) {
    note_outcome(visit, outcome, error->text);
    for (size_t i = 0; outcome == LK_OK && i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        struct lk_path path;
        FUZZ_DEMAND(lk_path_parse(lk_slice_of(entry->path), &path, NULL) == LK_OK);
        FUZZ_DEMAND(strlen(entry->owner) <= LK_IDENTITY_BYTES_MAX);
        FUZZ_DEMAND(entry->note == NULL || strlen(entry->note) <= LK_NOTE_BYTES_MAX);
        /* A grant that the listing itself has found, and could not write, has no token yet. */
        FUZZ_DEMAND((entry->held || entry->token == 0) && entry->age_ms >= 0);
        write_down(visit->transcript,
                   "%s %s %" PRIu64 " %" PRIu64 " %d %u %u %" PRId64 " %zu %zu\n", entry->path,
                   entry->owner, entry->ticket, entry->token, entry->shared, entry->limit,
                   entry->units, entry->expires_in_ms, entry->blocker_count, entry->position);
    }
    lk_listing_free(outcome == LK_OK ? listing : NULL);
}

static void look(struct visit *visit) {
    struct lk_patience patience = test_patience(1000000);
    const struct lk_engine_ops *ops = visit->engine->ops;
    lk_listing *listing = NULL;
    lk_audit *audit = NULL;
    lk_error error = {.text = ""};
    struct lk_path path;
    lk_outcome outcome;

    outcome = ops->list(visit->engine, NULL, &patience, &listing, &error);
    note_listing(visit, outcome, listing, &error);
    FUZZ_DEMAND(lk_path_parse(lk_slice_of("db/t1"), &path, NULL) == LK_OK);
    outcome = ops->show(visit->engine, &path, &patience, &listing, &error);
    note_listing(visit, outcome, listing, &error);
    outcome = ops->audit(visit->engine, NULL, &patience, &audit, &error);
    note_outcome(visit, outcome, error.text);
    if (outcome == LK_OK) {
        write_down(visit->transcript, "%zu\n", audit->count);
        lk_audit_free(audit);
    }
}

static void take_and_give(struct visit *visit) {
    static const char *const asks[][2] = {{"gus", "new/one"},
                                          {"hal", "new/one"},
                                          {"hal", "db/t2?shared"},
                                          {"ben", "db"},
                                          {"ivy", "pool?limit=3&units=1"}};
    lk_result result = {.outcome = LK_OK};
    uint64_t token = 0;
    lk_outcome outcome;

    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        outcome = fixture_ask(visit->engine, asks[i][0], asks[i][1], LK_TRY, 30000, &result);
        note_result(visit, outcome, &result);
        token = i == 0 ? result.token : token;
    }
    outcome = fixture_renew(visit->engine, "gus", "new/one", token, &result);
    note_result(visit, outcome, &result);
    outcome = fixture_release(visit->engine, "gus", "new/one", token, &result);
    note_outcome(visit, outcome, outcome == LK_LOST ? "lost" : result.error);
    outcome = fixture_release(visit->engine, "gus", "new/one", token, &result);
    note_outcome(visit, outcome, outcome == LK_LOST ? "lost" : result.error);
    outcome = fixture_release(visit->engine, "ana", "db/t1", 0, &result);
    note_outcome(visit, outcome, outcome == LK_LOST ? "lost" : result.error);
    lk_result_clear(&result);
}

static void administer(struct visit *visit) {
    struct lk_patience patience = test_patience(1000000);
    struct lk_break broken = {.at_once = true};
    lk_error error = {.text = ""};
    lk_report *report = NULL;
    size_t count = 0;
    lk_outcome outcome;

    FUZZ_DEMAND(lk_path_parse(lk_slice_of("pool"), &broken.path, NULL) == LK_OK);
    outcome = call_break(visit->engine, &broken, "ops", "why", &patience, &count, &error);
    note_outcome(visit, outcome, error.text);
    write_down(visit->transcript, "%zu\n", count);
    outcome = visit->engine->ops->examine(visit->engine, &patience, &report, &error);
    note_outcome(visit, outcome, error.text);
    lk_report_free(report);
}

/* All of it, on the store in place. */
static void go_through(uint8_t manner, struct transcript *ret_transcript) {
    struct fixture_clock clock = whole.clock;
    struct lk_sqlite_options options = lk_sqlite_options_default;
    struct lk_patience patience = test_patience(1000000);
    struct visit visit = {.engine = NULL, .transcript = ret_transcript};
    char rest[PATH_MAX];
    lk_error error = {.text = ""};
    lk_outcome outcome;

    ret_transcript->size = 0;
    ret_transcript->has_failure = false;
    clock.source.context = &clock;
    fixture_clock_advance(&clock, manner % 2 == 1 ? 45000000 : 1000000);
    options.time = &clock.source;
    options.boot_id = manner / 2 % 2 == 1 ? "boot-2" : STORE_IMAGE_BOOT;
    (void)snprintf(rest, sizeof rest, "%s?durability=relaxed", whole.fixture.file);
    outcome = lk_sqlite_open(lk_slice_of(rest), &options, &patience, &visit.engine, &error);
    note_outcome(&visit, outcome, error.text);
    if (outcome == LK_OK) {
        look(&visit);
        take_and_give(&visit);
        administer(&visit);
        look(&visit);
        fixture_close(visit.engine);
    }
}

/* ---- the store at which nothing is wrong ----------------------------------------------------- */

static void remove_ground(void) {
    fixture_remove(&whole.fixture);
}

static void make_whole(void) {
    whole.fixture = fixture_make();
    (void)atexit(remove_ground);
    fixture_clock_init(&whole.clock);
    store_image_make(&whole.fixture, &whole.clock, &whole.image);
    store_image_put(&whole.image, &whole.fixture);
    FUZZ_DEMAND(store_image_digest(&whole.fixture, &whole.digest));
    for (uint8_t manner = 0; manner < MANNERS; manner++) {
        store_image_put(&whole.image, &whole.fixture);
        go_through(manner, &whole.expected[manner]);
        FUZZ_DEMAND(!whole.expected[manner].has_failure);
    }
    whole.is_made = true;
}

/* Puts the image, damaged, in place. */
static void put_damaged(const uint8_t *data, size_t size) {
    static struct store_image image;
    size_t taken;

    image = whole.image;
    taken = store_image_damage(&image, data, size);
    store_image_put(&image, &whole.fixture);
    store_image_corrupt(&whole.fixture, data + taken, size - taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct transcript transcript;
    uint8_t manner = size > 0 ? data[0] % MANNERS : 0;
    uint64_t digest;

    if (!whole.is_made) {
        make_whole();
    }
    if (size == 0 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    put_damaged(data + 1, size - 1);
    go_through(manner, &transcript);
    if (!transcript.has_failure && strcmp(transcript.text, whole.expected[manner].text) != 0) {
        put_damaged(data + 1, size - 1);
        FUZZ_DEMAND(!store_image_digest(&whole.fixture, &digest) || digest != whole.digest);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Making, damaging and comparing small stores. */
#include "store_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, EDIT_BYTES = 4, CORRUPTION_BYTES = 3, NAME_MAX_BYTES = PATH_MAX };

static void name_file(const struct fixture *fixture, const char *suffix, char ret_name[]) {
    (void)snprintf(ret_name, NAME_MAX_BYTES, "%s%s", fixture->file, suffix);
}

static void read_file(const struct fixture *fixture, const char *suffix,
                      struct store_image_file *ret_file) {
    char name[NAME_MAX_BYTES];
    FILE *file;

    name_file(fixture, suffix, name);
    file = fopen(name, "rb");
    if (file == NULL) {
        test_die("%s: %s", name, strerror(errno));
    }
    ret_file->size = fread(ret_file->bytes, 1, sizeof ret_file->bytes, file);
    (void)fclose(file);
    if (ret_file->size == 0 || ret_file->size == sizeof ret_file->bytes) {
        test_die("%s has %zu bytes", name, ret_file->size);
    }
}

static void write_file(const struct fixture *fixture, const char *suffix,
                       const struct store_image_file *image) {
    char name[NAME_MAX_BYTES];
    int file;

    name_file(fixture, suffix, name);
    /* Not cut off first: some file systems write such a file out before they go on. */
    file = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0 || pwrite(file, image->bytes, image->size, 0) != (ssize_t)image->size
        || ftruncate(file, (off_t)image->size) != 0 || close(file) != 0) {
        test_die("%s: %s", name, strerror(errno));
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

static void ask(struct lk_engine *engine, struct fixture_clock *clock, const char *owner,
                const char *parts, lk_style style) {
    lk_result result = {.outcome = LK_OK};

    fixture_clock_advance(clock, 1000);
    if (fixture_ask(engine, owner, parts, style, 60000, &result) > LK_WAITING) {
        test_die("%s for %s: %s", owner, parts, lk_outcome_name(result.outcome));
    }
    lk_result_clear(&result);
}

static void release(struct lk_engine *engine, const char *owner, const char *parts) {
    lk_result result = {.outcome = LK_OK};

    if (fixture_ask(engine, owner, parts, LK_TRY, 60000, &result) != LK_GRANTED
        || fixture_release(engine, owner, parts, result.token, &result) != LK_OK) {
        test_die("%s cannot release %s", owner, parts);
    }
    lk_result_clear(&result);
}

void store_image_make(const struct fixture *fixture, struct fixture_clock *clock,
                      struct store_image *ret_image) {
    struct lk_sqlite_options options = lk_sqlite_options_default;
    struct lk_patience patience = test_patience(20000000);
    struct lk_break broken = {.at_once = false};
    struct lk_engine *engine;
    lk_error error;
    size_t count;

    options.time = &clock->source;
    options.boot_id = STORE_IMAGE_BOOT;
    engine = fixture_open(fixture->file, &options);
    ask(engine, clock, "ana", "db/t1", LK_TRY);
    ask(engine, clock, "ben", "db", LK_QUEUE);
    ask(engine, clock, "cleo", "db/t1?shared db/t2?shared", LK_QUEUE);
    ask(engine, clock, "dan", "pool?limit=3&units=2", LK_TRY);
    release(engine, "eve", "gone/for/good");
    fixture_close(engine);

    engine = fixture_open(fixture->file, &options);
    ask(engine, clock, "eve", "pool?limit=3&units=2", LK_QUEUE);
    ask(engine, clock, "fay", "old/one old/two", LK_TRY);
    if (lk_path_parse(lk_slice_of("old/one"), &broken.path, NULL) != LK_OK
        || call_break(engine, &broken, "ops@host", "it hangs", &patience, &count, &error)
               != LK_OK) {
        test_die("nothing can be broken");
    }
    read_file(fixture, "", &ret_image->base);
    read_file(fixture, "-wal", &ret_image->log);
    fixture_close(engine);
}

void store_image_put(const struct store_image *image, const struct fixture *fixture) {
    char name[NAME_MAX_BYTES];

    name_file(fixture, "-shm", name);
    (void)unlink(name);
    name_file(fixture, "-journal", name);
    (void)unlink(name);
    write_file(fixture, "", &image->base);
    write_file(fixture, "-wal", &image->log);
}

/* ---- damaging -------------------------------------------------------------------------------- */

static void copy_page(struct store_image_file *file, uint8_t from, uint8_t to) {
    size_t pages = file->size / PAGE_BYTES;

    if (pages > 0) {
        memmove(file->bytes + to % pages * PAGE_BYTES, file->bytes + from % pages * PAGE_BYTES,
                PAGE_BYTES);
    }
}

static void damage_once(struct store_image_file *file, const uint8_t edit[EDIT_BYTES]) {
    size_t at = (((size_t)edit[1] << 8) | edit[2]) % (file->size > 0 ? file->size : 1);
    size_t rest = file->size - at;
    uint8_t value = edit[3];

    if (file->size == 0) {
        return;
    }
    switch (edit[0] % 6) {
    case 0:
        file->bytes[at] = (uint8_t)(file->bytes[at] ^ (1u << value % 8));
        break;
    case 1:
        file->bytes[at] = value;
        break;
    case 2:
        memset(file->bytes + at, value, rest < 8 ? rest : 8);
        break;
    case 3:
        file->bytes[at] = (uint8_t)(file->bytes[at] + value);
        break;
    case 4:
        copy_page(file, edit[1], edit[2]);
        break;
    default:
        file->size = at; /* cut off */
        break;
    }
}

size_t store_image_damage(struct store_image *image, const uint8_t *data, size_t size) {
    size_t taken = 0;

    for (size_t i = 0; i < STORE_IMAGE_EDITS_MAX && taken + EDIT_BYTES <= size; i++) {
        const uint8_t *edit = data + taken;
        if (edit[0] >= 192) {
            return taken;
        }
        damage_once(edit[0] >= 128 ? &image->log : &image->base, edit);
        taken += EDIT_BYTES;
    }
    return taken;
}

static const char *const columns[] = {
    "lk_meta SET format",         "lk_meta SET writable_from",
    "lk_meta SET boot_id",        "lk_meta SET draw_floor",
    "lk_meta SET sweep_root",     "lk_meta SET live_max",
    "lk_meta SET only_row",       "lk_request SET id",
    "lk_request SET owner",       "lk_request SET note",
    "lk_request SET state",       "lk_request SET revoked",
    "lk_request SET attended",    "lk_request SET fixed",
    "lk_request SET graced",      "lk_request SET ticket",
    "lk_request SET token",       "lk_request SET ttl_ms",
    "lk_request SET deadline_us", "lk_request SET expires_unix_us",
    "lk_part SET request",        "lk_part SET position",
    "lk_part SET path",           "lk_part SET mode",
    "lk_part SET unit_limit",     "lk_part SET units",
    "lk_root SET root",           "lk_root SET last_draw",
    "lk_ended SET token",         "lk_ended SET paths",
    "lk_ended SET ended_us",      "lk_audit SET at_unix_us",
    "lk_audit SET path",          "lk_audit SET reason",
    "lk_audit SET ticket",        "lk_meta SET live_per_owner_max",
};

static const char *const values[] = {
    "0",
    "-1",
    "1",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "2305843009213693951",
    "NULL",
    "''",
    "x'c328'",
    "'a//b'",
    "1e300",
    "'held'",
    "'waiting'",
    "'shared'",
    "'db/t1'",
    "printf('%.*c', 600, 'x')",
    "printf('%.*c', 200, 'x') || '/' || printf('%.*c', 200, 'y')",
    "1700000000000000",
    "zeroblob(70000)",
    "'pool'",
    "9223372036854775806",
};

uint8_t store_image_place_count(void) {
    return sizeof columns / sizeof columns[0];
}

uint8_t store_image_nonsense_count(void) {
    return sizeof values / sizeof values[0];
}

const char *store_image_place(uint8_t place) {
    return columns[place % store_image_place_count()];
}

const char *store_image_nonsense(uint8_t nonsense) {
    return values[nonsense % store_image_nonsense_count()];
}

static void corrupt_once(sqlite3 *handle, const uint8_t corruption[CORRUPTION_BYTES]) {
    const char *column = store_image_place(corruption[0]);
    const char *value = store_image_nonsense(corruption[1]);
    char table[16] = "";
    char statement[512];

    (void)sscanf(column, "%15s", table);
    if (corruption[2] >= 240) {
        (void)snprintf(statement, sizeof statement, "DELETE FROM %s", table);
    } else if (corruption[2] % 8 == 0) {
        (void)snprintf(statement, sizeof statement, "UPDATE OR IGNORE %s = %s", column, value);
    } else {
        /* One of its rows. */
        (void)snprintf(statement, sizeof statement,
                       "UPDATE OR IGNORE %s = %s WHERE (SELECT count(*) FROM %s) > 0"
                       " AND abs(length(quote(%s)) %% 4) = %d",
                       column, value, table, strrchr(column, ' ') + 1, corruption[2] % 4);
    }
    (void)sqlite3_exec(handle, statement, NULL, NULL, NULL);
}

void store_image_corrupt(const struct fixture *fixture, const uint8_t *data, size_t size) {
    sqlite3 *handle = NULL;

    if (size < CORRUPTION_BYTES || sqlite3_open(fixture->file, &handle) != SQLITE_OK) {
        (void)sqlite3_close(handle);
        return;
    }
    (void)sqlite3_exec(handle, "PRAGMA synchronous = OFF; PRAGMA ignore_check_constraints = 1",
                       NULL, NULL, NULL);
    for (size_t i = 0; i < STORE_IMAGE_EDITS_MAX && (i + 1) * CORRUPTION_BYTES <= size; i++) {
        corrupt_once(handle, data + i * CORRUPTION_BYTES);
    }
    (void)sqlite3_close(handle);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void mix(uint64_t *digest, const void *bytes, size_t size) {
    const uint8_t *at = bytes;

    for (size_t i = 0; i < size; i++) {
        *digest = (*digest ^ at[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    }
}

/* Mixes in all that the query says; false if it cannot be answered. */
static bool mix_rows(sqlite3 *handle, const char *query, uint64_t *digest) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(handle, query, -1, &statement, NULL);

    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        for (int i = 0; code == SQLITE_ROW && i < sqlite3_column_count(statement); i++) {
            int type = sqlite3_column_type(statement, i);
            const void *bytes = sqlite3_column_blob(statement, i);
            mix(digest, &type, sizeof type);
            mix(digest, bytes != NULL ? bytes : "", (size_t)sqlite3_column_bytes(statement, i));
        }
    }
    (void)sqlite3_finalize(statement);
    return code == SQLITE_DONE;
}

bool store_image_digest(const struct fixture *fixture, uint64_t *ret_digest) {
    static const char *const queries[] = {
        "PRAGMA integrity_check",
        "PRAGMA application_id",
        "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name",
        "SELECT * FROM lk_meta",
        "SELECT * FROM lk_request ORDER BY id",
        "SELECT * FROM lk_part ORDER BY request, position",
        "SELECT * FROM lk_root ORDER BY root",
        "SELECT * FROM lk_ended ORDER BY token",
        "SELECT * FROM lk_audit ORDER BY id",
    };
    sqlite3 *handle = NULL;
    bool is_whole = sqlite3_open(fixture->file, &handle) == SQLITE_OK;

    *ret_digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0] && is_whole; i++) {
        is_whole = mix_rows(handle, queries[i], ret_digest);
    }
    (void)sqlite3_close(handle);
    return is_whole;
}

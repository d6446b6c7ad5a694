/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in an array; operations as they are, one behind the other. */
#include "memory_home.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { COMMIT_BYTES_MAX = 1024 * 1024 };

struct memory_home {
    struct lk_home home; /* first */
    struct place *place;
    struct lk_buffer found; /* that the last commit has answered with */
};

/* Behind it stand the bytes of its value. */
struct operation {
    struct lk_home_key from;
    struct lk_home_key to; /* of a removal */
    bool is_removal;
    size_t size;
};

static struct memory_home *memory_home(struct lk_home *home) {
    return (struct memory_home *)home;
}

/* ---- the place ------------------------------------------------------------------------------- */

static bool is_before(const struct lk_home_key *one, const struct lk_home_key *other) {
    if (one->kind != other->kind) {
        return one->kind < other->kind;
    }
    return one->of != other->of ? one->of < other->of : one->number < other->number;
}

/* The first row that is not before the key. */
static size_t find(const struct place *place, const struct lk_home_key *key) {
    size_t at = 0;

    while (at < place->count && is_before(&place->rows[at].key, key)) {
        at++;
    }
    return at;
}

void place_remove(struct place *place, const struct lk_home_key *from,
                  const struct lk_home_key *to) {
    size_t first = find(place, from);
    size_t end = find(place, to);

    for (size_t i = first; i < end; i++) {
        lk_buffer_done(&place->rows[i].value);
    }
    if (end > first) {
        memmove(place->rows + first, place->rows + end, (place->count - end) * sizeof *place->rows);
        place->count -= end - first;
    }
}

static void put_row(struct place *place, const struct lk_home_key *key, struct lk_slice value) {
    size_t at = find(place, key);

    if (at == place->count || is_before(key, &place->rows[at].key)) {
        struct place_row *rows = reallocarray(place->rows, place->count + 1, sizeof *rows);

        if (rows == NULL) {
            abort();
        }
        place->rows = rows;
        memmove(rows + at + 1, rows + at, (place->count - at) * sizeof *rows);
        rows[at] = (struct place_row){.key = *key};
        place->count++;
    }
    lk_buffer_cut(&place->rows[at].value, 0);
    lk_buffer_add_slice(&place->rows[at].value, value);
}

size_t place_count(const struct place *place, enum lk_home_kind kind) {
    size_t count = 0;

    for (size_t i = 0; i < place->count; i++) {
        count += place->rows[i].key.kind == kind;
    }
    return count;
}

void place_done(struct place *place) {
    for (size_t i = 0; i < place->count; i++) {
        lk_buffer_done(&place->rows[i].value);
    }
    free(place->rows);
    lk_buffer_done(&place->record);
    *place = (struct place){.count = 0};
}

/* ---- reading --------------------------------------------------------------------------------- */

static lk_outcome check(struct lk_home *home, lk_error *error) {
    (void)home;
    (void)error;
    return LK_OK;
}

static lk_outcome look(struct lk_home *home, struct lk_buffer *ret_record, uint64_t *ret_revision,
                       lk_error *error) {
    const struct place *place = memory_home(home)->place;

    (void)error;
    lk_buffer_cut(ret_record, 0);
    lk_buffer_add(ret_record, place->record.bytes, place->record.size);
    *ret_revision = place->revision;
    return LK_OK;
}

static lk_outcome has_keys(struct lk_home *home, bool *ret_has, lk_error *error) {
    (void)error;
    *ret_has = memory_home(home)->place->count > 0;
    return LK_OK;
}

static lk_outcome read_rows(struct lk_home *home, const struct lk_home_key *from,
                            const struct lk_home_key *to, unsigned limit, lk_home_visit *visit,
                            void *context, lk_error *error) {
    const struct place *place = memory_home(home)->place;
    size_t at = find(place, from);
    size_t end = find(place, to);
    bool goes_on = true;

    (void)error;
    for (; at < end && limit > 0 && goes_on; at++, limit--) {
        const struct place_row *row = &place->rows[at];

        goes_on =
            visit(context, row->key.number, (struct lk_slice){row->value.bytes, row->value.size});
    }
    return LK_OK;
}

/* ---- commits --------------------------------------------------------------------------------- */

static void put(struct lk_home *home, struct lk_buffer *operations, const struct lk_home_key *key,
                struct lk_slice value) {
    const struct operation operation = {.from = *key, .size = value.size};

    (void)home;
    lk_buffer_add(operations, (const char *)&operation, sizeof operation);
    lk_buffer_add_slice(operations, value);
}

static void remove_rows(struct lk_home *home, struct lk_buffer *operations,
                        const struct lk_home_key *from, const struct lk_home_key *to) {
    const struct operation operation = {.from = *from, .to = *to, .is_removal = true};

    (void)home;
    lk_buffer_add(operations, (const char *)&operation, sizeof operation);
}

static void do_operations(struct place *place, const struct lk_buffer *operations) {
    struct operation operation;

    for (size_t at = 0; at < operations->size; at += sizeof operation + operation.size) {
        memcpy(&operation, operations->bytes + at, sizeof operation);
        if (operation.is_removal) {
            place_remove(place, &operation.from, &operation.to);
        } else {
            put_row(place, &operation.from,
                    (struct lk_slice){operations->bytes + at + sizeof operation, operation.size});
        }
    }
}

/* Compares, and does all of it or nothing. */
static void attempt(struct memory_home *home, uint64_t revision, struct lk_slice record,
                    const struct lk_buffer *operations, struct lk_home_commit *ret_commit) {
    struct place *place = home->place;
    bool is_done = revision == place->revision;

    if (is_done) {
        do_operations(place, operations);
        lk_buffer_cut(&place->record, 0);
        lk_buffer_add_slice(&place->record, record);
        place->revision++;
    }
    lk_buffer_cut(&home->found, 0);
    lk_buffer_add(&home->found, place->record.bytes, place->record.size);
    *ret_commit = (struct lk_home_commit){.is_done = is_done, .revision = place->revision};
    if (!is_done) {
        ret_commit->found = (struct lk_slice){home->found.bytes, home->found.size};
    }
}

static enum place_fault take_fault(struct place *place) {
    if (place->sound_commits > 0) {
        place->sound_commits--;
        return PLACE_SOUND;
    }
    return place->fault;
}

static lk_outcome commit(struct lk_home *of, uint64_t revision, struct lk_slice record,
                         const struct lk_buffer *operations,
                         const struct lk_home_meanwhile *meanwhile,
                         struct lk_home_commit *ret_commit, lk_error *error) {
    struct memory_home *home = memory_home(of);
    enum place_fault fault = take_fault(home->place);

    if (fault == PLACE_REFUSES) {
        return lk_error_set(error, LK_UNAVAILABLE, "the place was not reached");
    }
    attempt(home, revision, record, operations, ret_commit);
    if (meanwhile != NULL) {
        meanwhile->run(meanwhile->context);
    }
    if (fault == PLACE_REPEATS) {
        attempt(home, revision, record, operations, ret_commit);
    }
    return fault == PLACE_LOSES ? lk_error_set(error, LK_UNAVAILABLE, "the answer was lost")
                                : LK_OK;
}

static void forget(struct lk_home *home, uint64_t revision) {
    memory_home(home)->place->forgotten = revision;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void close_home(struct lk_home *of) {
    struct memory_home *home = memory_home(of);

    lk_buffer_done(&home->found);
    free(home);
}

static const struct lk_home_ops home_ops = {
    .check = check,
    .look = look,
    .has_keys = has_keys,
    .read = read_rows,
    .put = put,
    .remove = remove_rows,
    .commit = commit,
    .forget = forget,
    .close = close_home,
};

struct lk_home *place_open_home(struct place *place) {
    struct memory_home *home = calloc(1, sizeof *home);

    if (home == NULL) {
        abort();
    }
    home->place = place;
    home->home = (struct lk_home){.ops = &home_ops,
                                  .title = "memory",
                                  .place = "test/",
                                  .part_bytes = place->part_bytes,
                                  .commit_bytes_max = COMMIT_BYTES_MAX};
    return &home->home;
}

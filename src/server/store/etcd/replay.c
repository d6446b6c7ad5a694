/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading: the pieces of the snapshot, then the entries of the log behind it, into an image; or the
 * entries that were added since. A service that leads already renews its lease between two reads.
 *
 * A service that was replaced while it reads may miss keys that its successor has deleted. So what
 * looks like damage is believed only if this service still leads.
 */
#include "base/clock.h"
#include "base/error.h"
#include "server/store/etcd/store.h"

enum {
    ROWS_FIRST = 4, /* of one answer; more if they are small */
    ROWS_MAX = 512, /* each may have a MiB: an answer that is too large is asked for row by row */
    ANSWER_BYTES_WANTED = 512 * 1024,
    RENEWALS = 3, /* in the time of a lease */
};

/* ---- the leader's key ------------------------------------------------------------------------ */

/* Whether there are keys of services beside that of the leader. */
static lk_outcome find_others(struct lk_store_etcd *store, bool *ret_found, lk_error *error) {
    char from[LK_ETCD_KEY_BYTES];
    char to[LK_ETCD_KEY_BYTES];
    struct lk_buffer answer = {.max = 0};
    lk_outcome outcome;

    lk_etcd_key_log(store, 0, from);
    lk_etcd_key_piece(store, UINT64_MAX, UINT32_MAX, to);
    outcome = lk_etcd_range(store->client, from, to, 1, &answer, error);
    *ret_found =
        outcome == LK_OK && lk_etcd_count_rows((struct lk_slice){answer.bytes, answer.size}) > 0;
    lk_buffer_done(&answer);
    return outcome;
}

/* A revision of 0: there is none. */
static lk_outcome find_leader(struct lk_store_etcd *store, struct lk_etcd_leader *ret_leader,
                              uint64_t *ret_revision, lk_error *error) {
    char key[LK_ETCD_KEY_BYTES];
    struct lk_buffer answer = {.max = 0};
    struct lk_protobuf rows;
    struct lk_etcd_row row;
    lk_outcome outcome;

    lk_etcd_key_leader(store, key);
    outcome = lk_etcd_range(store->client, key, NULL, 1, &answer, error);
    rows = (struct lk_protobuf){.rest = {answer.bytes, answer.size}};
    if (outcome == LK_OK && lk_etcd_next_row(&rows, &row)) {
        *ret_revision = row.revision;
        outcome = lk_etcd_leader_read(row.value, ret_leader, error);
    } else if (outcome == LK_OK && !rows.failed) {
        *ret_revision = 0;
    } else if (outcome == LK_OK) {
        outcome =
            lk_error_set(error, LK_UNAVAILABLE, "etcd has answered a question with no answer");
    }
    lk_buffer_done(&answer);
    return outcome;
}

/*
 * Keys without a leader are of services that ran, and it was deleted: nothing must be lost. Unless
 * a service has begun to lead between the two looks: then the third one finds it.
 */
lk_outcome lk_etcd_look(struct lk_store_etcd *store, struct lk_etcd_leader *ret_leader,
                        uint64_t *ret_revision, lk_error *error) {
    bool has_others = false;
    lk_outcome outcome = find_leader(store, ret_leader, ret_revision, error);

    if (outcome == LK_OK && *ret_revision == 0) {
        outcome = find_others(store, &has_others, error);
    }
    if (outcome == LK_OK && has_others) {
        outcome = find_leader(store, ret_leader, ret_revision, error);
    }
    if (outcome == LK_OK && has_others && *ret_revision == 0) {
        return lk_error_set(error, LK_INVALID,
                            "the key %sleader is missing in etcd, and others of the services are "
                            "there; restore it, delete all below that prefix, or name another one",
                            lk_etcd_client_prefix(store->client));
    }
    return outcome;
}

/* ---- reading many keys ----------------------------------------------------------------------- */

/* What is done with the value of a row; its number was found to be the next one. */
typedef lk_outcome visit_row(struct lk_store_etcd *store, uint64_t number, struct lk_slice value,
                             lk_error *error);

struct walk {
    void (*key)(const struct lk_store_etcd *store, uint64_t number, char *ret_key);
    visit_row *visit;
    uint64_t next;
    uint64_t end;
};

static lk_outcome renew(struct lk_store_etcd *store, lk_error *error) {
    const struct lk_etcd_leader next = lk_etcd_next(store);

    return store->is_leading ? lk_etcd_commit(store, &next, NULL, error) : LK_OK;
}

lk_outcome lk_etcd_keep_lease(struct lk_store_etcd *store, lk_error *error) {
    bool is_due = lk_clock_now_us() - store->renewed_us > store->lease_us / RENEWALS;

    return store->is_leading && is_due ? renew(store, error) : LK_OK;
}

static lk_outcome complain(lk_error *error) {
    return lk_error_set(error, LK_INVALID,
                        "what is kept in etcd is damaged (a key is missing); name another prefix, "
                        "or restore etcd from a copy");
}

/* The rows of one answer, and how many there are with how many bytes. */
struct page {
    struct lk_buffer answer;
    size_t rows;
    size_t bytes;
};

static lk_outcome visit_page(struct lk_store_etcd *store, struct walk *walk, struct page *page,
                             lk_error *error) {
    struct lk_protobuf rows = {.rest = {page->answer.bytes, page->answer.size}};
    struct lk_etcd_row row;
    lk_outcome outcome = LK_OK;
    char key[LK_ETCD_KEY_BYTES];

    page->rows = page->bytes = 0;
    while (outcome == LK_OK && lk_etcd_next_row(&rows, &row)) {
        walk->key(store, walk->next, key);
        if (!lk_slice_equal(row.key, lk_slice_of(key))) {
            return complain(error);
        }
        page->rows++;
        page->bytes += row.value.size;
        outcome = walk->visit(store, walk->next, row.value, error);
        walk->next++;
    }
    return outcome == LK_OK && (rows.failed || page->rows == 0) ? complain(error) : outcome;
}

/* Answers are to have half a MiB: so the next page has as many rows as that makes. */
static unsigned rows_of(size_t rows, size_t bytes) {
    size_t wanted = ANSWER_BYTES_WANTED / (bytes / rows + 1);

    return wanted < 1 ? 1 : wanted > ROWS_MAX ? ROWS_MAX : (unsigned)wanted;
}

/* All rows from walk->next to before walk->end, none of which may be missing. */
static lk_outcome walk_rows(struct lk_store_etcd *store, struct walk *walk, lk_error *error) {
    unsigned limit = ROWS_FIRST;
    lk_outcome outcome = LK_OK;
    char from[LK_ETCD_KEY_BYTES];
    char to[LK_ETCD_KEY_BYTES];

    while (walk->next < walk->end && outcome == LK_OK) {
        struct page page = {.rows = 0};

        walk->key(store, walk->next, from);
        walk->key(store, walk->end, to);
        outcome = lk_etcd_range(store->client, from, to, limit, &page.answer, error);
        if (outcome == LK_UNAVAILABLE && limit > 1) {
            limit = 1; /* large rows and a slow etcd: one at a time may arrive */
            outcome = renew(store, error);
        } else if (outcome == LK_OK) {
            outcome = visit_page(store, walk, &page, error);
            limit = outcome == LK_OK ? rows_of(page.rows, page.bytes) : limit;
        }
        lk_buffer_done(&page.answer);
        if (outcome == LK_OK) {
            outcome = lk_etcd_keep_lease(store, error);
        }
    }
    return outcome;
}

/* ---- pieces and entries ---------------------------------------------------------------------- */

static void key_piece(const struct lk_store_etcd *store, uint64_t number, char *ret_key) {
    lk_etcd_key_piece(store, store->leader.snapshot, number, ret_key);
}

static lk_outcome visit_piece(struct lk_store_etcd *store, uint64_t number, struct lk_slice value,
                              lk_error *error) {
    (void)number;
    store->snapshot_bytes += value.size;
    return lk_etcd_image_read_piece(store->image, value, error);
}

/* The parts of the entry that is being read. */
static void key_part(const struct lk_store_etcd *store, uint64_t number, char *ret_key) {
    lk_etcd_key_part(store, store->parts_of, number, ret_key);
}

static lk_outcome visit_part(struct lk_store_etcd *store, uint64_t number, struct lk_slice value,
                             lk_error *error) {
    (void)number;
    (void)error;
    lk_buffer_add_slice(&store->entry, value);
    return LK_OK;
}

static void key_log(const struct lk_store_etcd *store, uint64_t number, char *ret_key) {
    lk_etcd_key_log(store, number, ret_key);
}

static lk_outcome apply(struct lk_store_etcd *store, uint64_t number, struct lk_slice entry,
                        lk_error *error) {
    lk_outcome outcome = lk_etcd_image_apply(store->image, entry, error);

    store->applied = outcome == LK_OK ? number : store->applied;
    return outcome;
}

static lk_outcome visit_entry(struct lk_store_etcd *store, uint64_t number, struct lk_slice value,
                              lk_error *error) {
    struct lk_etcd_codec codec = lk_etcd_reader(value);
    struct walk walk = {.key = key_part, .visit = visit_part};
    struct lk_slice rest;
    lk_outcome outcome = LK_OK;

    lk_etcd_code_number(&codec, &walk.end);
    rest = (struct lk_slice){codec.at, (size_t)(codec.end - codec.at)};
    store->log_bytes += value.size;
    if (codec.failed) {
        return complain(error);
    }
    if (walk.end > 0) {
        store->parts_of = number;
        lk_buffer_cut(&store->entry, 0);
        outcome = walk_rows(store, &walk, error);
        lk_buffer_add_slice(&store->entry, rest);
        store->log_bytes += store->entry.size;
        rest = (struct lk_slice){store->entry.bytes, store->entry.size};
        if (outcome == LK_OK && store->entry.failed) {
            outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
        }
    }
    return outcome == LK_OK ? apply(store, number, rest, error) : outcome;
}

/* An image of the snapshot, as of the entry before the first one of the log. */
static lk_outcome read_snapshot(struct lk_store_etcd *store, lk_error *error) {
    struct walk pieces = {.key = key_piece, .visit = visit_piece, .end = store->leader.pieces};
    lk_outcome outcome = lk_etcd_image_open(&store->image, error);

    store->applied = store->leader.first - 1;
    store->log_bytes = store->snapshot_bytes = 0;
    if (outcome == LK_OK) {
        outcome = walk_rows(store, &pieces, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_etcd_image_finish(store->image, error);
    }
    if (outcome != LK_OK) {
        lk_etcd_image_drop(store);
    }
    return outcome;
}

/* The entries behind those that the image has. One that was not read leaves the others true. */
static lk_outcome read_entries(struct lk_store_etcd *store, lk_error *error) {
    struct walk entries = {.key = key_log,
                           .visit = visit_entry,
                           .next = store->applied + 1,
                           .end = store->leader.last + 1};
    lk_outcome outcome = walk_rows(store, &entries, error);

    if (outcome != LK_OK && outcome != LK_UNAVAILABLE) {
        lk_etcd_image_drop(store);
    }
    return outcome;
}

lk_outcome lk_etcd_replay(struct lk_store_etcd *store, lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (store->image != NULL && store->applied + 1 < store->leader.first) {
        lk_etcd_image_drop(store); /* the leader may have deleted the next of them */
    }
    if (store->image == NULL) {
        outcome = read_snapshot(store, error);
    }
    if (outcome == LK_OK) {
        outcome = read_entries(store, error);
    }
    if (outcome == LK_INVALID) {
        lk_error lost;

        return renew(store, &lost) == LK_LOST ? lk_error_set(error, LK_LOST, "%s", lost.text)
                                              : LK_INVALID;
    }
    return outcome;
}

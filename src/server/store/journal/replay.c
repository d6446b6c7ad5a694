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
#include "server/store/journal/state.h"

enum {
    ROWS_FIRST = 4, /* of one answer; more if they are small */
    ROWS_MAX = 512, /* each may have a MiB: an answer that is too large is asked for row by row */
    ANSWER_BYTES_WANTED = 512 * 1024,
    RENEWALS = 3, /* in the time of a lease */
};

/* ---- the leader's record --------------------------------------------------------------------- */

/* A revision of 0: there is none. */
static lk_outcome find_leader(struct lk_journal *store, struct lk_journal_leader *ret_leader,
                              uint64_t *ret_revision, lk_error *error) {
    struct lk_buffer record = {.max = 0};
    lk_outcome outcome = store->home->ops->look(store->home, &record, ret_revision, error);

    if (outcome == LK_OK && *ret_revision != 0) {
        outcome = lk_journal_leader_read((struct lk_slice){record.bytes, record.size},
                                         store->home->title, ret_leader, error);
        if (outcome == LK_UNSUPPORTED) {
            atomic_store(&store->storage.is_outdated, true);
        }
    }
    lk_buffer_done(&record);
    return outcome;
}

/*
 * Keys without a leader are of services that ran, and it was deleted: nothing must be lost. Unless
 * a service has begun to lead between the two looks: then the third one finds it.
 */
lk_outcome lk_journal_look(struct lk_journal *store, struct lk_journal_leader *ret_leader,
                           uint64_t *ret_revision, lk_error *error) {
    bool has_others = false;
    lk_outcome outcome = find_leader(store, ret_leader, ret_revision, error);

    if (outcome == LK_OK && *ret_revision == 0) {
        outcome = store->home->ops->has_keys(store->home, &has_others, error);
    }
    if (outcome == LK_OK && has_others) {
        outcome = find_leader(store, ret_leader, ret_revision, error);
    }
    if (outcome == LK_OK && has_others && *ret_revision == 0) {
        return lk_error_set(error, LK_INVALID,
                            "the key %sleader is missing in %s, and others of the services are "
                            "there; restore it, delete all below that prefix, or name another one",
                            store->home->place, store->home->title);
    }
    return outcome;
}

/* ---- reading many keys ----------------------------------------------------------------------- */

/* What is done with the value of a row; its number was found to be the next one. */
typedef lk_outcome visit_row(struct lk_journal *store, uint64_t number, struct lk_slice value,
                             lk_error *error);

struct walk {
    struct lk_journal *store;
    enum lk_home_kind kind;
    uint64_t of;
    visit_row *visit;
    uint64_t next;
    uint64_t end;
};

static lk_outcome renew(struct lk_journal *store, lk_error *error) {
    const struct lk_journal_leader next = lk_journal_next(store);

    return store->is_leading ? lk_journal_commit(store, &next, NULL, error) : LK_OK;
}

lk_outcome lk_journal_keep_lease(struct lk_journal *store, lk_error *error) {
    bool is_due = lk_clock_now_us() - store->renewed_us > store->lease_us / RENEWALS;

    return store->is_leading && is_due ? renew(store, error) : LK_OK;
}

static lk_outcome complain(const struct lk_journal *store, lk_error *error) {
    return lk_error_set(error, LK_INVALID,
                        "what is kept in %s is damaged (a key is missing); name another prefix, "
                        "or restore %s from a copy",
                        store->home->title, store->home->title);
}

/* The rows of one answer: how many there are with how many bytes, and what came of them. */
struct page {
    struct walk *walk;
    size_t rows;
    size_t bytes;
    lk_outcome outcome;
    lk_error *error;
};

static bool visit_next(void *context, uint64_t number, struct lk_slice value) {
    struct page *page = context;
    struct walk *walk = page->walk;

    if (number != walk->next) {
        page->outcome = complain(walk->store, page->error);
        return false;
    }
    page->rows++;
    page->bytes += value.size;
    page->outcome = walk->visit(walk->store, number, value, page->error);
    walk->next++;
    return page->outcome == LK_OK;
}

static lk_outcome read_page(struct walk *walk, unsigned limit, struct page *page, lk_error *error) {
    const struct lk_home *home = walk->store->home;
    const struct lk_home_key from = {walk->kind, walk->of, walk->next};
    const struct lk_home_key to = {walk->kind, walk->of, walk->end};

    *page = (struct page){.walk = walk, .outcome = LK_OK, .error = error};
    return home->ops->read(walk->store->home, &from, &to, limit, visit_next, page, error);
}

/* Answers are to have half a MiB: so the next page has as many rows as that makes. */
static unsigned rows_of(size_t rows, size_t bytes) {
    size_t wanted = ANSWER_BYTES_WANTED / (bytes / rows + 1);

    return wanted < 1 ? 1 : wanted > ROWS_MAX ? ROWS_MAX : (unsigned)wanted;
}

/* All rows from walk->next to before walk->end, none of which may be missing. */
static lk_outcome walk_rows(struct walk *walk, lk_error *error) {
    struct lk_journal *store = walk->store;
    unsigned limit = ROWS_FIRST;
    lk_outcome outcome = LK_OK;

    while (walk->next < walk->end && outcome == LK_OK) {
        struct page page;

        outcome = read_page(walk, limit, &page, error);
        if (outcome == LK_UNAVAILABLE && limit > 1) {
            limit = 1; /* large rows and a slow home: one at a time may arrive */
            outcome = renew(store, error);
        } else if (outcome == LK_OK && page.outcome == LK_OK && page.rows == 0) {
            outcome = complain(store, error);
        } else if (outcome == LK_OK) {
            outcome = page.outcome;
            limit = outcome == LK_OK ? rows_of(page.rows, page.bytes) : limit;
        }
        if (outcome == LK_OK) {
            outcome = lk_journal_keep_lease(store, error);
        }
    }
    return outcome;
}

/* ---- pieces and entries ---------------------------------------------------------------------- */

static lk_outcome visit_piece(struct lk_journal *store, uint64_t number, struct lk_slice value,
                              lk_error *error) {
    (void)number;
    store->snapshot_bytes += value.size;
    return lk_journal_image_read_piece(store->image, value, error);
}

/* A part of the entry that is being read. */
static lk_outcome visit_part(struct lk_journal *store, uint64_t number, struct lk_slice value,
                             lk_error *error) {
    (void)number;
    (void)error;
    lk_buffer_add_slice(&store->entry, value);
    return LK_OK;
}

static lk_outcome apply(struct lk_journal *store, uint64_t number, struct lk_slice entry,
                        lk_error *error) {
    lk_outcome outcome = lk_journal_image_apply(store->image, entry, error);

    store->applied = outcome == LK_OK ? number : store->applied;
    return outcome;
}

static lk_outcome visit_entry(struct lk_journal *store, uint64_t number, struct lk_slice value,
                              lk_error *error) {
    struct lk_journal_codec codec = lk_journal_reader(value);
    struct walk walk = {.store = store, .kind = LK_HOME_PART, .of = number, .visit = visit_part};
    struct lk_slice rest;
    lk_outcome outcome = LK_OK;

    lk_journal_code_number(&codec, &walk.end);
    rest = (struct lk_slice){codec.at, (size_t)(codec.end - codec.at)};
    store->log_bytes += value.size;
    if (codec.failed) {
        return complain(store, error);
    }
    if (walk.end > 0) {
        lk_buffer_cut(&store->entry, 0);
        outcome = walk_rows(&walk, error);
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
static lk_outcome read_snapshot(struct lk_journal *store, lk_error *error) {
    struct walk pieces = {.store = store,
                          .kind = LK_HOME_PIECE,
                          .of = store->leader.snapshot,
                          .visit = visit_piece,
                          .end = store->leader.pieces};
    lk_outcome outcome = lk_journal_image_open(store->home->title, &store->image, error);

    store->applied = store->leader.first - 1;
    store->log_bytes = store->snapshot_bytes = 0;
    if (outcome == LK_OK) {
        outcome = walk_rows(&pieces, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_journal_image_finish(store->image, error);
    }
    if (outcome != LK_OK) {
        lk_journal_image_drop(store);
    }
    return outcome;
}

/* The entries behind those that the image has. One that was not read leaves the others true. */
static lk_outcome read_entries(struct lk_journal *store, lk_error *error) {
    struct walk entries = {.store = store,
                           .kind = LK_HOME_ENTRY,
                           .visit = visit_entry,
                           .next = store->applied + 1,
                           .end = store->leader.last + 1};
    lk_outcome outcome = walk_rows(&entries, error);

    if (outcome != LK_OK && outcome != LK_UNAVAILABLE) {
        lk_journal_image_drop(store);
    }
    return outcome;
}

lk_outcome lk_journal_replay(struct lk_journal *store, lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (store->image != NULL && store->applied + 1 < store->leader.first) {
        lk_journal_image_drop(store); /* the leader may have deleted the next of them */
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

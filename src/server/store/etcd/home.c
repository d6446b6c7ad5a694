/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcd as the home of a journal. Numbers in keys have all their digits, so that keys are in the
 * order of their numbers:
 *
 *   PREFIX/leader            the leader's record, which each transaction compares and writes
 *   PREFIX/log/N             entry N: a batch, or the beginning of an epoch
 *   PREFIX/part/N/I          what of entry N comes before what is in log/N, if it is large
 *   PREFIX/snapshot/S/I      piece I of the snapshot S
 */
#include "server/store/journal/home.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/minmax.h"
#include "server/store/etcd/client.h"
#include "server/store/etcd/store_etcd.h"

enum {
    KEY_BYTES = LK_ETCD_PREFIX_BYTES_MAX + 64,
    HEXADECIMAL = 16,
    ENTRY_DIGITS = 16,
    OTHER_DIGITS = 8,
    PART_BYTES = 1024 * 1024,
    /* etcd refuses requests of 1.5 MiB, unless it is told otherwise. Parts take 1 MiB. */
    REQUEST_BYTES_MAX = 1400 * 1024,
};

#define OPEN_US_MIN INT64_C(5000000) /* for the first call */

static struct lk_etcd_home *etcd_home(struct lk_home *home) {
    return (struct lk_etcd_home *)home;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void write_leader_key(const struct lk_home *home, char ret_key[KEY_BYTES]) {
    (void)snprintf(ret_key, KEY_BYTES, "%sleader", home->place);
}

static void write_key(const struct lk_home *home, const struct lk_home_key *key,
                      char ret_key[KEY_BYTES]) {
    switch (key->kind) {
    case LK_HOME_ENTRY:
        (void)snprintf(ret_key, KEY_BYTES, "%slog/%016" PRIx64, home->place, key->number);
        break;
    case LK_HOME_PART:
        (void)snprintf(ret_key, KEY_BYTES, "%spart/%016" PRIx64 "/%08" PRIx64, home->place, key->of,
                       key->number);
        break;
    case LK_HOME_PIECE:
        (void)snprintf(ret_key, KEY_BYTES, "%ssnapshot/%016" PRIx64 "/%08" PRIx64, home->place,
                       key->of, key->number);
        break;
    }
}

/* The number at the end of a key; LK_HOME_NO_NUMBER: it is not a key like `like`. */
static uint64_t number_of(const struct lk_home *home, struct lk_slice text,
                          const struct lk_home_key *like) {
    struct lk_home_key key = *like;
    char expected[KEY_BYTES];
    char digits[ENTRY_DIGITS + 1];
    int64_t size =
        lk_min((int64_t)text.size, like->kind == LK_HOME_ENTRY ? ENTRY_DIGITS : OTHER_DIGITS);

    (void)snprintf(digits, sizeof digits, "%.*s", (int)size, text.bytes + text.size - size);
    key.number = strtoull(digits, NULL, HEXADECIMAL);
    write_key(home, &key, expected);
    return lk_slice_equal(text, lk_slice_of(expected)) ? key.number : LK_HOME_NO_NUMBER;
}

/* ---- reading --------------------------------------------------------------------------------- */

static lk_outcome look(struct lk_home *home, struct lk_buffer *ret_record, uint64_t *ret_revision,
                       lk_error *error) {
    char key[KEY_BYTES];
    struct lk_buffer answer = {.max = 0};
    struct lk_protobuf rows;
    struct lk_etcd_row row;
    lk_outcome outcome;

    write_leader_key(home, key);
    outcome = lk_etcd_range(etcd_home(home)->client, key, NULL, 1, &answer, error);
    rows = (struct lk_protobuf){.rest = {answer.bytes, answer.size}};
    if (outcome == LK_OK && lk_etcd_next_row(&rows, &row)) {
        *ret_revision = row.revision;
        lk_buffer_cut(ret_record, 0);
        lk_buffer_add_slice(ret_record, row.value);
    } else if (outcome == LK_OK && !rows.failed) {
        *ret_revision = 0;
    } else if (outcome == LK_OK) {
        outcome =
            lk_error_set(error, LK_UNAVAILABLE, "etcd has answered a question with no answer");
    }
    lk_buffer_done(&answer);
    return outcome == LK_OK && ret_record->failed
               ? lk_error_set(error, LK_INTERNAL, "memory is exhausted")
               : outcome;
}

static lk_outcome has_keys(struct lk_home *home, bool *ret_has, lk_error *error) {
    const struct lk_home_key first = {.kind = LK_HOME_ENTRY};
    const struct lk_home_key last = {LK_HOME_PIECE, UINT64_MAX, LK_HOME_NUMBER_MAX};
    char from[KEY_BYTES];
    char to[KEY_BYTES];
    struct lk_buffer answer = {.max = 0};
    lk_outcome outcome;

    write_key(home, &first, from);
    write_key(home, &last, to);
    outcome = lk_etcd_range(etcd_home(home)->client, from, to, 1, &answer, error);
    *ret_has =
        outcome == LK_OK && lk_etcd_count_rows((struct lk_slice){answer.bytes, answer.size}) > 0;
    lk_buffer_done(&answer);
    return outcome;
}

static lk_outcome read_rows(struct lk_home *home, const struct lk_home_key *from,
                            const struct lk_home_key *to, unsigned limit, lk_home_visit *visit,
                            void *context, lk_error *error) {
    char first[KEY_BYTES];
    char end[KEY_BYTES];
    struct lk_buffer answer = {.max = 0};
    struct lk_protobuf rows;
    struct lk_etcd_row row;
    bool goes_on = true;
    lk_outcome outcome;

    write_key(home, from, first);
    write_key(home, to, end);
    outcome = lk_etcd_range(etcd_home(home)->client, first, end, limit, &answer, error);
    rows = (struct lk_protobuf){.rest = {answer.bytes, answer.size}};
    while (outcome == LK_OK && goes_on && lk_etcd_next_row(&rows, &row)) {
        goes_on = visit(context, number_of(home, row.key, from), row.value);
    }
    lk_buffer_done(&answer);
    return outcome == LK_OK && rows.failed
               ? lk_error_set(error, LK_UNAVAILABLE, "etcd has answered a question with no answer")
               : outcome;
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void put(struct lk_home *home, struct lk_buffer *operations, const struct lk_home_key *key,
                struct lk_slice value) {
    char name[KEY_BYTES];

    write_key(home, key, name);
    lk_etcd_add_put(operations, name, value);
}

static void remove_keys(struct lk_home *home, struct lk_buffer *operations,
                        const struct lk_home_key *from, const struct lk_home_key *to) {
    char first[KEY_BYTES];
    char end[KEY_BYTES];

    write_key(home, from, first);
    write_key(home, to, end);
    lk_etcd_add_delete(operations, first, end);
}

/* The whole transaction: the leader's key first, then the operations. */
static void add_transaction(const struct lk_home *home, uint64_t revision, struct lk_slice record,
                            const struct lk_buffer *operations, struct lk_buffer *message) {
    char key[KEY_BYTES];

    write_leader_key(home, key);
    lk_etcd_add_compare(message, key, revision);
    lk_etcd_add_put(message, key, record);
    lk_buffer_add(message, operations->bytes, operations->size);
    lk_etcd_add_read(message, key);
    message->failed = message->failed || operations->failed;
}

static lk_outcome read_commit(struct lk_slice bytes, struct lk_home_commit *ret_commit,
                              lk_error *error) {
    struct lk_etcd_txn_answer answer;

    if (!lk_etcd_read_txn(bytes, &answer)) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "etcd has answered a transaction with no answer");
    }
    *ret_commit = (struct lk_home_commit){.is_done = answer.is_done, .revision = answer.revision};
    if (!answer.is_done) {
        ret_commit->revision = answer.has_row ? answer.row.revision : 0;
        ret_commit->found = answer.has_row ? answer.row.value : (struct lk_slice){.size = 0};
    }
    return LK_OK;
}

static lk_outcome commit(struct lk_home *home, uint64_t revision, struct lk_slice record,
                         const struct lk_buffer *operations,
                         const struct lk_home_meanwhile *meanwhile,
                         struct lk_home_commit *ret_commit, lk_error *error) {
    const struct lk_etcd_meanwhile run = {.run = meanwhile != NULL ? meanwhile->run : NULL,
                                          .context = meanwhile != NULL ? meanwhile->context : NULL};
    struct lk_buffer message = {.max = 0};
    struct lk_slice answer;
    lk_outcome outcome;

    add_transaction(home, revision, record, operations, &message);
    outcome = message.failed ? lk_error_set(error, LK_INTERNAL, "memory is exhausted")
                             : lk_etcd_call(etcd_home(home)->client, LK_ETCD_TXN,
                                            (struct lk_slice){message.bytes, message.size},
                                            meanwhile != NULL ? &run : NULL, &answer, error);
    lk_buffer_done(&message);
    return outcome == LK_OK ? read_commit(answer, ret_commit, error) : outcome;
}

static void forget(struct lk_home *home, uint64_t revision) {
    lk_etcd_compact(etcd_home(home)->client, revision);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/*
 * Rights are checked by a transaction that cannot succeed: etcd looks at all that it might do. The
 * last key of those that are written has the greatest name.
 */
static lk_outcome check(struct lk_home *home, lk_error *error) {
    const struct lk_home_key last = {LK_HOME_PIECE, UINT64_MAX, LK_HOME_NUMBER_MAX};
    struct lk_buffer operations = {.max = 0};
    struct lk_home_commit never;
    lk_outcome outcome;

    put(home, &operations, &last, lk_slice_of("-"));
    outcome = commit(home, INT64_MAX, lk_slice_of("-"), &operations, NULL, &never, error);
    lk_buffer_done(&operations);
    if (outcome == LK_OK) {
        lk_etcd_client_insist(etcd_home(home)->client, etcd_home(home)->lease_us);
    }
    return outcome;
}

static void close_home(struct lk_home *home) {
    lk_etcd_client_free(etcd_home(home)->client);
    free(etcd_home(home));
}

static const struct lk_home_ops home_ops = {
    .check = check,
    .look = look,
    .has_keys = has_keys,
    .read = read_rows,
    .put = put,
    .remove = remove_keys,
    .commit = commit,
    .forget = forget,
    .close = close_home,
};

/* The first calls try each node once. */
static lk_outcome open_home(const struct lk_store_etcd_options *options, struct lk_home **ret_home,
                            lk_error *error) {
    struct lk_etcd_home *home = calloc(1, sizeof *home);
    lk_outcome outcome;

    if (home == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    home->lease_us = options->lease_us;
    outcome = lk_etcd_client_new(options->url, lk_max(options->lease_us, OPEN_US_MIN),
                                 &home->client, error);
    if (outcome == LK_OK) {
        outcome = lk_etcd_check_version(home->client, error);
    }
    if (outcome != LK_OK) {
        close_home(&home->home);
        return outcome;
    }
    home->home = (struct lk_home){
        .ops = &home_ops,
        .title = "etcd",
        .place = lk_etcd_client_prefix(home->client),
        .part_bytes = options->part_bytes > 0 ? options->part_bytes : (size_t)PART_BYTES,
        .commit_bytes_max = REQUEST_BYTES_MAX,
    };
    *ret_home = &home->home;
    return LK_OK;
}

lk_outcome lk_store_etcd_open(const struct lk_store_etcd_options *options,
                              struct lk_storage **ret_storage, lk_error *error) {
    const struct lk_journal_options journal = {
        .address = options->address,
        .lease_us = options->lease_us,
        .snapshot_bytes_min = options->snapshot_bytes_min,
        .history_max = options->history_max,
    };
    struct lk_home *home = NULL;
    lk_outcome outcome = open_home(options, &home, error);

    return outcome == LK_OK ? lk_journal_open(home, &journal, ret_storage, error) : outcome;
}

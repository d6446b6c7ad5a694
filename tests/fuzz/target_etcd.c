/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service reads from etcd: the key of the leader, pieces of a snapshot and the entries
 * behind them, or an answer of its protocol. The first byte says which; a piece or an entry stands
 * behind two bytes, with what it is and its size.
 *
 * Whatever it is, it is taken or refused with a sentence. What is taken can be loaded or is refused
 * then; and written out in pieces and read again, it is the same.
 */
#include <string.h>

#include "base/error.h"
#include "server/store/etcd/messages.h"
#include "server/store/journal/image.h"
#include "server/store/journal/leader.h"
#include "target.h"

enum { KINDS = 4, IS_LEADER = 0, IS_ANSWER = 1 }; /* all others: a log */

enum { BYTE = 256, PIECE_BYTES = 200, IS_PIECE = 0x80 };

struct source {
    const char *at;
    size_t left;
};

static bool is_taken(lk_outcome outcome, const lk_error *error) {
    FUZZ_DEMAND(outcome == LK_OK || outcome == LK_INVALID || outcome == LK_UNSUPPORTED);
    FUZZ_DEMAND(outcome == LK_OK || error->text[0] != '\0');
    return outcome == LK_OK;
}

static void read_leader(struct source source) {
    const struct lk_slice text = {source.at, source.left};
    struct lk_journal_leader leader;
    struct lk_journal_leader again;
    struct lk_buffer out = {.max = 0};
    lk_error error;

    if (is_taken(lk_journal_leader_read(text, "etcd", &leader, &error), &error)) {
        lk_journal_leader_write(&leader, &out);
        FUZZ_DEMAND(
            lk_journal_leader_read((struct lk_slice){out.bytes, out.size}, "etcd", &again, &error)
            == LK_OK);
        FUZZ_DEMAND(lk_journal_leader_is(&leader, &again) && leader.last == again.last);
        lk_buffer_done(&out);
    }
}

/* The next piece or entry. false: there is none. */
static bool take(struct source *source, bool *ret_is_piece, struct lk_slice *ret_bytes) {
    size_t size;

    if (source->left < 2) {
        return false;
    }
    *ret_is_piece = ((unsigned char)source->at[0] & IS_PIECE) != 0;
    size = (size_t)((unsigned char)source->at[0] & ~IS_PIECE) * BYTE + (unsigned char)source->at[1];
    size = size < source->left - 2 ? size : source->left - 2;
    *ret_bytes = (struct lk_slice){source->at + 2, size};
    source->at += 2 + size;
    source->left -= 2 + size;
    return true;
}

static struct lk_journal_image *open_image(void) {
    struct lk_journal_image *image = NULL;

    FUZZ_DEMAND(lk_journal_image_open("etcd", &image, NULL) == LK_OK);
    return image;
}

/* All tables of the image as bytes. */
static struct lk_buffer write_out(struct lk_journal_image *image) {
    struct lk_journal_progress progress = {.table = 0};
    struct lk_buffer out = {.max = 0};

    while (!progress.is_done) {
        FUZZ_DEMAND(lk_journal_image_write_piece(image, &progress, PIECE_BYTES, &out) == SQLITE_OK);
    }
    lk_journal_progress_clear(&progress);
    return out;
}

static void write_and_read(struct lk_journal_image *image) {
    struct lk_journal_image *copy = open_image();
    struct lk_buffer first;
    struct lk_buffer second;
    lk_error error;

    FUZZ_DEMAND(lk_journal_image_finish(image, &error) == LK_OK);
    first = write_out(image);
    FUZZ_DEMAND(
        lk_journal_image_read_piece(copy, (struct lk_slice){first.bytes, first.size}, &error)
        == LK_OK);
    FUZZ_DEMAND(lk_journal_image_finish(copy, &error) == LK_OK);
    second = write_out(copy);
    FUZZ_DEMAND(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
    lk_buffer_done(&first);
    lk_buffer_done(&second);
    lk_journal_image_close(copy);
}

static void load(struct lk_journal_image *image) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_core_snapshot *snapshot = lk_core_snapshot_new(&config);
    lk_error error;

    FUZZ_DEMAND(snapshot != NULL);
    (void)is_taken(lk_journal_image_load(image, &config, snapshot, &error), &error);
    lk_core_snapshot_free(snapshot);
}

static void read_log(struct source source) {
    struct lk_journal_image *image = open_image();
    bool is_good = true;
    struct lk_slice bytes;
    lk_error error;
    bool is_piece;

    while (is_good && take(&source, &is_piece, &bytes)) {
        is_good = is_taken(is_piece ? lk_journal_image_read_piece(image, bytes, &error)
                                    : lk_journal_image_apply(image, bytes, &error),
                           &error);
    }
    if (is_good) {
        write_and_read(image);
        load(image);
    }
    lk_journal_image_close(image);
}

static bool lies_within(struct lk_slice part, struct lk_slice whole) {
    return part.size == 0
           || (part.bytes >= whole.bytes && part.bytes + part.size <= whole.bytes + whole.size);
}

/* An answer to any call: what is read of it lies within it. */
static void read_answer(struct source source) {
    const struct lk_slice bytes = {source.at, source.left};
    struct lk_protobuf rows = {.rest = bytes};
    struct lk_etcd_txn_answer answer;
    struct lk_etcd_row row;
    size_t count = 0;

    while (lk_etcd_next_row(&rows, &row)) {
        FUZZ_DEMAND(lies_within(row.key, bytes) && lies_within(row.value, bytes));
        count++;
    }
    FUZZ_DEMAND(count <= lk_etcd_count_rows(bytes));
    FUZZ_DEMAND(lies_within(lk_etcd_read_text(bytes), bytes));
    if (lk_etcd_read_txn(bytes, &answer) && answer.has_row) {
        FUZZ_DEMAND(!answer.is_done && lies_within(answer.row.value, bytes));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct source source = {(const char *)data + 1, size > 0 ? size - 1 : 0};

    if (size == 0 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    if (data[0] % KINDS == IS_LEADER) {
        read_leader(source);
    } else if (data[0] % KINDS == IS_ANSWER) {
        read_answer(source);
    } else {
        read_log(source);
    }
    return 0;
}

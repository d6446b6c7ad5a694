/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a journal keeps as bytes: numbers of 7 bits a byte, texts behind their size. One function
 * tells the fields of a record, for writing and for reading: they cannot differ.
 *
 * An entry of the log is a batch, or the beginning of an epoch. What is read is hostile: each size,
 * each path and each state is checked, and what is read borrows from the bytes.
 */
#ifndef LK_SERVER_STORE_JOURNAL_CODEC_H
#define LK_SERVER_STORE_JOURNAL_CODEC_H

#include "base/buffer.h"
#include "server/core/exchange.h"

struct lk_journal_codec {
    struct lk_buffer *out; /* NULL: it reads */
    const char *at;        /* what is still to be read */
    const char *end;
    bool failed; /* of reading: the bytes are none of ours */
};

static inline struct lk_journal_codec lk_journal_reader(struct lk_slice bytes) {
    return (struct lk_journal_codec){.at = bytes.bytes, .end = bytes.bytes + bytes.size};
}

static inline bool lk_journal_has_more(const struct lk_journal_codec *codec) {
    return !codec->failed && codec->at < codec->end;
}

void lk_journal_code_number(struct lk_journal_codec *codec, uint64_t *number);
void lk_journal_code_signed(struct lk_journal_codec *codec, int64_t *number);
void lk_journal_code_text(struct lk_journal_codec *codec, struct lk_slice *text, size_t max);

enum lk_journal_entry_kind { LK_JOURNAL_BATCH = 1, LK_JOURNAL_BEGIN = 2 };

/* What stands before the rows of an entry. */
struct lk_journal_entry {
    enum lk_journal_entry_kind kind;
    int64_t now_us; /* of the batch, or of the load; on the clock of the service that wrote it */
    int64_t wall_us;

    /* LK_JOURNAL_BATCH */
    uint64_t draw_floor;
    struct lk_batch_events events;

    /* LK_JOURNAL_BEGIN: on that clock, which is ahead of the one before by delta_us, the store was
     * known to work until known_us. */
    int64_t delta_us;
    int64_t known_us;
};
void lk_journal_code_entry(struct lk_journal_codec *codec, struct lk_journal_entry *entry);

/* Room for what rows point to; and the number of a record of the audit. */
struct lk_journal_row_room {
    struct lk_record record;
    struct lk_item_record item;
    struct lk_part parts[LK_PARTS_MAX];
    uint64_t audit;
};

/* Writes a row, or reads one into *row, which borrows from `room` and from the bytes. */
void lk_journal_write_row(struct lk_journal_codec *codec, struct lk_journal_row_room *room,
                          const struct lk_row *row);
bool lk_journal_read_row(struct lk_journal_codec *codec, struct lk_journal_row_room *room,
                         struct lk_row *row);

#endif

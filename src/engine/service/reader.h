/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service answers, read into the records of the library. The names of the fields are those
 * of docs/cli.md; a field that nobody knows here is passed over, so that a service may be newer.
 *
 * A map is a map of RESP 3, or in version 2 an array of names and values. Nothing is believed: an
 * answer of the wrong shape is damaged, which is an outcome and no crash.
 */
#ifndef LK_ENGINE_SERVICE_READER_H
#define LK_ENGINE_SERVICE_READER_H

#include "lockkeeper/lockkeeper.h"
#include "wire/resp.h"

/* A walk over one reply, and what went wrong on it. */
struct lk_reader {
    struct lk_resp_cursor cursor;
    bool is_damaged; /* not of the shape that was agreed upon */
    bool is_out_of_memory;
};

static inline bool lk_reader_is_well(const struct lk_reader *reader) {
    return !reader->is_damaged && !reader->is_out_of_memory;
}

enum lk_field_kind {
    LK_FIELD_TEXT,   /* char *, a copy */
    LK_FIELD_NUMBER, /* int64_t */
    LK_FIELD_COUNT,  /* uint64_t */
    LK_FIELD_SMALL,  /* uint32_t */
    LK_FIELD_SIZE,   /* size_t */
    LK_FIELD_FLAG,   /* bool: true, or a number that is not 0 */
    LK_FIELD_WORD,   /* bool: the text is `word` */
    LK_FIELD_OTHER,  /* `read` takes it in */
};

/* Reads `value`, which has just been read, and all that belongs to it. */
typedef void lk_field_read(struct lk_reader *reader, const struct lk_resp_value *value,
                           void *record);

/* One field of a record, and where it stands in the struct. */
struct lk_field {
    const char *name;
    enum lk_field_kind kind;
    size_t at;
    const char *word;
    lk_field_read *read;
};

/* Reads a map, whose head was just read, into *record. The table is ended by one without a name. */
void lk_reader_read_map(struct lk_reader *reader, const struct lk_resp_value *map,
                        const struct lk_field *fields, void *record);

/*
 * Reads an array of maps, whose head was just read: an allocated array of records of `size` bytes,
 * each begun as *blank, behind those that are there. On failure what was read so far is there.
 */
struct lk_records {
    void *items;
    size_t count;
};
void lk_reader_read_maps(struct lk_reader *reader, const struct lk_resp_value *array,
                         const struct lk_field *fields, const void *blank, size_t size,
                         struct lk_records *records);

/* An array of texts, whose head was just read. */
void lk_reader_read_texts(struct lk_reader *reader, const struct lk_resp_value *array,
                          char ***ret_texts, size_t *ret_count);

/* Single values. */
char *lk_reader_copy(struct lk_reader *reader, const struct lk_resp_value *value);
int64_t lk_reader_number(struct lk_reader *reader, const struct lk_resp_value *value);

/* The outcome of this name, lower case; LK_INTERNAL and damaged if there is none. */
lk_outcome lk_reader_outcome(struct lk_reader *reader, const struct lk_resp_value *value);

#endif

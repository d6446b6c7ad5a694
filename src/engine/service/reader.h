/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service answers, read into the records of the library by the tables that the service
 * wrote them by (form/record.h). A field that is in no table is passed over, so that a service may
 * be newer.
 *
 * A map is a map of RESP 3, or in version 2 an array of names and values. Nothing is believed: an
 * answer of the wrong shape is damaged, which is an outcome and no crash.
 */
#ifndef LK_ENGINE_SERVICE_READER_H
#define LK_ENGINE_SERVICE_READER_H

#include "form/record.h"
#include "wire/resp.h"

/* A walk over one reply, and what went wrong on it. */
struct lk_reader {
    struct lk_resp_cursor cursor;
    bool is_damaged; /* not of the shape that was agreed upon */
    bool is_out_of_memory;
};

static inline bool lk_reader_is_ok(const struct lk_reader *reader) {
    return !reader->is_damaged && !reader->is_out_of_memory;
}

/*
 * Reads a map, whose head was just read, into *record, which was begun as the form's blank. Memory
 * that the fields hold is the record's, also on failure.
 */
void lk_reader_read_map(struct lk_reader *reader, const struct lk_resp_value *map,
                        const struct lk_form *form, void *record);

/*
 * Reads an array of maps, whose head was just read: an allocated array of records, behind those
 * that are there. On failure what was read so far is there.
 */
struct lk_records {
    void *items;
    size_t count;
};
void lk_reader_read_maps(struct lk_reader *reader, const struct lk_resp_value *array,
                         const struct lk_form *form, struct lk_records *records);

/* Single values. */
char *lk_reader_copy(struct lk_reader *reader, const struct lk_resp_value *value);
int64_t lk_reader_number(struct lk_reader *reader, const struct lk_resp_value *value);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the answers of a service into the records of the library, by the same tables of fields by
 * which the service writes them (form/form.h). Unknown fields are skipped, so the service may be
 * newer.
 *
 * A map is a map of RESP 3, or in version 2 an array of names and values. Answers are not trusted:
 * one of the wrong shape is damaged, which is an outcome, not a crash.
 */
#ifndef LK_ENGINE_SERVICE_READER_H
#define LK_ENGINE_SERVICE_READER_H

#include "form/form.h"
#include "wire/resp.h"

/* The position in a reply, and the errors so far. */
struct lk_reader {
    struct lk_resp_cursor cursor;
    bool is_damaged; /* not of the expected shape */
    bool is_out_of_memory;
};

static inline bool lk_reader_is_ok(const struct lk_reader *reader) {
    return !reader->is_damaged && !reader->is_out_of_memory;
}

/*
 * Reads a map, whose head was just read, into *record, which is the form's blank. The record owns
 * the memory of its fields, also on failure.
 */
void lk_reader_read_map(struct lk_reader *reader, const struct lk_resp_value *map,
                        const struct lk_form *form, void *record);

/*
 * Reads an array of maps, whose head was just read, and appends them to an allocated array of
 * records. On failure the records read so far are there.
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

/* ---- the fields of an answer to INFO: lines of `name:value` ---- */

/* The text behind `NAME:` up to the end of its line; no bytes: there is no such line. */
struct lk_slice lk_service_info_text(struct lk_slice info, const char *name);

/* A number of that name; `otherwise`: there is none, as with a service of another version. */
int64_t lk_service_info_number(struct lk_slice info, const char *name, int64_t otherwise);

#endif

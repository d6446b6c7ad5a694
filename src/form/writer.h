/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records told field by field, in whichever form the listener wants them: a line of JSON, RESP maps
 * of either version, or a tree of Jansson's. The functions of form/records.h tell each record once;
 * a writer turns it into bytes.
 *
 * A writer remembers that an addition failed (memory, or the buffer's bound), so that what uses it
 * reads as a list of fields and fails as a whole: ask lk_form_writer_failed() at the end.
 * Names are given within maps and are NULL within arrays and at the top.
 */
#ifndef LK_FORM_WRITER_H
#define LK_FORM_WRITER_H

#include <jansson.h>

#include "base/buffer.h"

enum { LK_FORM_DEPTH_MAX = 6 };

enum lk_form_kind { LK_FORM_RESP, LK_FORM_JSON, LK_FORM_TREE };

struct lk_form_level {
    size_t at;     /* where its first byte stands */
    size_t count;  /* values, names not counted */
    bool is_map;   /* else an array */
    json_t *value; /* LK_FORM_TREE; borrowed from its parent */
};

struct lk_form_writer {
    enum lk_form_kind kind;
    int version;           /* LK_FORM_RESP: 2 or 3 */
    struct lk_buffer *out; /* borrowed; not for LK_FORM_TREE */
    json_t *tree;          /* LK_FORM_TREE: what was told at the top */
    bool failed;
    size_t depth;
    struct lk_form_level levels[LK_FORM_DEPTH_MAX];
};

struct lk_form_writer lk_form_writer_resp(struct lk_buffer *out, int version);
struct lk_form_writer lk_form_writer_json(struct lk_buffer *out);
struct lk_form_writer lk_form_writer_tree(void);

bool lk_form_writer_failed(const struct lk_form_writer *writer);

/* LK_FORM_TREE: a new reference to what was told, or NULL if anything failed. */
json_t *lk_form_writer_close_tree(struct lk_form_writer *writer);

void lk_form_open_map(struct lk_form_writer *writer, const char *name);
void lk_form_open_array(struct lk_form_writer *writer, const char *name);
void lk_form_close(struct lk_form_writer *writer);

/* In JSON, which knows no bytes that are not UTF-8, each of those is replaced by U+FFFD. */
void lk_form_add_slice(struct lk_form_writer *writer, const char *name, struct lk_slice text);
void lk_form_add_text(struct lk_form_writer *writer, const char *name, const char *text);
void lk_form_add_text_if_any(struct lk_form_writer *writer, const char *name, const char *text);
void lk_form_add_texts(struct lk_form_writer *writer, const char *name, char *const *texts,
                       size_t count);
void lk_form_add_number(struct lk_form_writer *writer, const char *name, int64_t number);
void lk_form_add_boolean(struct lk_form_writer *writer, const char *name, bool value);

/* Tickets, tokens and counts: below 2^53 (R4), so nothing is lost by the sign. */
void lk_form_add_count(struct lk_form_writer *writer, const char *name, uint64_t count);
void lk_form_add_count_if_any(struct lk_form_writer *writer, const char *name, uint64_t count);

/* `value`: any bytes; or in JSON `value_base64` where they are not UTF-8. */
void lk_form_add_value(struct lk_form_writer *writer, const void *bytes, size_t size);

#endif

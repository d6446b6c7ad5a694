/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records written field by field in one of several forms: JSON, or RESP maps of either version. The
 * functions of form/form.h describe each record once; a writer turns it into bytes.
 *
 * A writer remembers that an addition failed (memory, or the buffer's bound), so that its caller is
 * a list of fields that fails as a whole: call lk_form_writer_failed() at the end. Names are given
 * within maps and are NULL within arrays and at the top.
 */
#ifndef LK_FORM_WRITER_H
#define LK_FORM_WRITER_H

#include "base/buffer.h"

enum { LK_FORM_DEPTH_MAX = 16 };

enum lk_form_kind { LK_FORM_RESP, LK_FORM_JSON };

struct lk_form_level {
    size_t at;    /* offset of its first byte */
    size_t count; /* values, without names */
    bool is_map;  /* else an array */
};

struct lk_form_writer {
    enum lk_form_kind kind;
    int version;           /* LK_FORM_RESP: 2 or 3 */
    struct lk_buffer *out; /* borrowed */
    bool failed;
    size_t depth;
    struct lk_form_level levels[LK_FORM_DEPTH_MAX];
};

struct lk_form_writer lk_form_writer_resp(struct lk_buffer *out, int version);
struct lk_form_writer lk_form_writer_json(struct lk_buffer *out);

bool lk_form_writer_failed(const struct lk_form_writer *writer);

void lk_form_open_map(struct lk_form_writer *writer, const char *name);
void lk_form_open_array(struct lk_form_writer *writer, const char *name);
void lk_form_close(struct lk_form_writer *writer);

/*
 * A mark within the open map or array. Rewinding to it drops everything after it; writing a
 * text at it inserts the text there. In a map of JSON a field must precede the mark.
 */
struct lk_form_mark {
    size_t at;
    size_t count;
};
struct lk_form_mark lk_form_mark_here(const struct lk_form_writer *writer);
void lk_form_rewind(struct lk_form_writer *writer, struct lk_form_mark mark);
void lk_form_add_text_at(struct lk_form_writer *writer, struct lk_form_mark mark, const char *name,
                         const char *text);

/* In JSON each byte that is not UTF-8 is replaced by U+FFFD. */
void lk_form_add_slice(struct lk_form_writer *writer, const char *name, struct lk_slice text);
void lk_form_add_text(struct lk_form_writer *writer, const char *name, const char *text);
void lk_form_add_text_if_any(struct lk_form_writer *writer, const char *name, const char *text);
void lk_form_add_texts(struct lk_form_writer *writer, const char *name, char *const *texts,
                       size_t count);
void lk_form_add_number(struct lk_form_writer *writer, const char *name, int64_t number);
void lk_form_add_boolean(struct lk_form_writer *writer, const char *name, bool value);
void lk_form_add_null(struct lk_form_writer *writer, const char *name);
void lk_form_add_real(struct lk_form_writer *writer, const char *name, double number);

/* A text whose name is arbitrary text. */
void lk_form_add_pair(struct lk_form_writer *writer, struct lk_slice name, struct lk_slice text);

/* Tickets, tokens and counts: below 2^53 (R4), so the signed type loses nothing. */
void lk_form_add_count(struct lk_form_writer *writer, const char *name, uint64_t count);
void lk_form_add_count_if_any(struct lk_form_writer *writer, const char *name, uint64_t count);

/* Any bytes; in JSON as `NAME_base64` if they are not UTF-8. */
void lk_form_add_value(struct lk_form_writer *writer, const char *name, const void *bytes,
                       size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects built field by field. A builder remembers that an addition failed, so that the functions
 * which use it read as lists of fields and fail as a whole.
 */
#ifndef LK_FORM_BUILDER_H
#define LK_FORM_BUILDER_H

#include <stdint.h>

#include "form/form.h"

struct lk_form_builder {
    json_t *object; /* NULL: memory was exhausted at the start */
    bool failed;
};

struct lk_form_builder lk_form_builder_open(void);

/* The object, or NULL if anything failed. */
json_t *lk_form_builder_close(struct lk_form_builder *builder);

/* Takes over `value`; NULL is a failure. */
void lk_form_add(struct lk_form_builder *builder, const char *name, json_t *value);
void lk_form_add_text(struct lk_form_builder *builder, const char *name, const char *text);
void lk_form_add_text_if_any(struct lk_form_builder *builder, const char *name, const char *text);
void lk_form_add_number(struct lk_form_builder *builder, const char *name, int64_t number);

/* Tickets, tokens and counts: below 2^53 (R4), so nothing is lost by the sign. */
void lk_form_add_count(struct lk_form_builder *builder, const char *name, uint64_t count);
void lk_form_add_count_if_any(struct lk_form_builder *builder, const char *name, uint64_t count);

/* `value`, or `value_base64` where the bytes are not UTF-8. */
void lk_form_add_value(struct lk_form_builder *builder, const void *bytes, size_t size);

json_t *lk_form_texts(char *const *texts, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as JSON strings. JSON knows no bytes that are not UTF-8: each of those becomes U+FFFD,
 * so that what has been cut off, or was never text, can still be told.
 */
#ifndef LK_FORM_TEXT_H
#define LK_FORM_TEXT_H

#include <jansson.h>

#include "base/buffer.h"

/* With its quotes and escapes, and what is not UTF-8 replaced. */
void lk_form_put_string(struct lk_buffer *out, struct lk_slice text);

/* As a new reference of Jansson's; NULL when memory is exhausted. */
json_t *lk_form_string(struct lk_slice text);

/* RFC 4648, section 4. */
void lk_form_put_base64(struct lk_buffer *out, struct lk_slice bytes);

/*
 * And back: strict, with all its padding. The bytes take the place of the text, which they never
 * exceed. false: it is no base64, `text` is spoilt.
 */
bool lk_form_read_base64(char *text, size_t size, size_t *ret_size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as JSON strings. JSON has only UTF-8: each other byte becomes U+FFFD, so that text that was
 * cut off, or was never text, can still be shown.
 */
#ifndef LK_FORM_TEXT_H
#define LK_FORM_TEXT_H

#include "base/buffer.h"

/* Writes the string with its quotes and escapes; bytes that are not UTF-8 are replaced. */
void lk_form_put_string(struct lk_buffer *out, struct lk_slice text);

/* RFC 4648, section 4. */
void lk_form_put_base64(struct lk_buffer *out, struct lk_slice bytes);

/*
 * Decodes base64: strict, with all its padding. The bytes replace the text, and never exceed it.
 * false: not base64; the content of `text` is then undefined.
 */
bool lk_form_read_base64(char *text, size_t size, size_t *ret_size);

#endif

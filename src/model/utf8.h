/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 by RFC 3629, and the classes of characters that R1 excludes from paths. */
#ifndef LK_MODEL_UTF8_H
#define LK_MODEL_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the character that starts at bytes[0] (size >= 1). Returns its length, 1 to 4, with
 * *ret_character set; or 0 when the bytes are not UTF-8 (overlong forms, surrogates and numbers
 * above U+10FFFF are not).
 */
size_t lk_utf8_decode(const char *bytes, size_t size, uint32_t *ret_character);

bool lk_utf8_is_valid(const char *bytes, size_t size);

bool lk_character_is_control(uint32_t character); /* Unicode category Cc */
bool lk_character_is_space(uint32_t character);   /* Unicode property White_Space */

#endif

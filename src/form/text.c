/* SPDX-License-Identifier: Apache-2.0 */
/* Converts any bytes of a store to JSON strings. */
#include "form/text.h"

#include <stdio.h>

#include "model/utf8.h"

static const struct lk_slice replacement = {.bytes = "\xEF\xBF\xBD", .size = 3}; /* U+FFFD */

/* The longest piece from the start of `text` that is entirely UTF-8, or entirely not. */
static struct lk_slice piece_of(struct lk_slice text, bool *ret_is_valid) {
    size_t size = 0;
    uint32_t character;

    *ret_is_valid = lk_utf8_decode(text.bytes, text.size, &character) > 0;
    while (size < text.size) {
        size_t taken = lk_utf8_decode(text.bytes + size, text.size - size, &character);
        if ((taken > 0) != *ret_is_valid) {
            break;
        }
        size += taken > 0 ? taken : 1;
    }
    return (struct lk_slice){.bytes = text.bytes, .size = size};
}

static void put_escape(struct lk_buffer *out, unsigned char byte) {
    static const char letters[] = "\b\f\n\r\t\"\\";
    static const char escapes[] = "bfnrt\"\\";
    const char *letter = byte != 0 ? strchr(letters, byte) : NULL;
    char escape[8] = {'\\', letter != NULL ? escapes[letter - letters] : 'u'};

    if (letter == NULL) {
        (void)snprintf(escape, sizeof escape, "\\u%04X", byte);
    }
    lk_buffer_add_text(out, escape);
}

/* Text that is UTF-8, escaped. */
static void put_escaped(struct lk_buffer *out, struct lk_slice text) {
    size_t from = 0;

    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            lk_buffer_add(out, text.bytes + from, i - from);
            put_escape(out, byte);
            from = i + 1;
        }
    }
    lk_buffer_add(out, text.bytes + from, text.size - from);
}

void lk_form_put_string(struct lk_buffer *out, struct lk_slice text) {
    lk_buffer_add(out, "\"", 1);
    while (text.size > 0) {
        bool is_valid;
        struct lk_slice piece = piece_of(text, &is_valid);
        if (is_valid) {
            put_escaped(out, piece);
        }
        for (size_t i = 0; !is_valid && i < piece.size; i++) {
            lk_buffer_add_slice(out, replacement);
        }
        text.bytes += piece.size;
        text.size -= piece.size;
    }
    lk_buffer_add(out, "\"", 1);
}

/* ---- base64 ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void lk_form_put_base64(struct lk_buffer *out, struct lk_slice bytes) {
    const unsigned char *from = (const unsigned char *)bytes.bytes;
    char *at = lk_buffer_reserve(out, (bytes.size + 2) / 3 * 4);

    if (at == NULL) {
        return;
    }
    for (size_t i = 0; i < bytes.size; i += 3) {
        unsigned group = (unsigned)from[i] << 16;
        group |= i + 1 < bytes.size ? (unsigned)from[i + 1] << 8 : 0;
        group |= i + 2 < bytes.size ? from[i + 2] : 0;
        *at++ = digits[group >> 18];
        *at++ = digits[group >> 12 & 63];
        *at++ = i + 1 < bytes.size ? digits[group >> 6 & 63] : '=';
        *at++ = i + 2 < bytes.size ? digits[group & 63] : '=';
    }
    out->size += (bytes.size + 2) / 3 * 4;
}

/* -1: no digit. The sets of digits are compared as ranges: a search would take most of the time. */
static int digit_value(char digit) {
    if (digit >= 'A' && digit <= 'Z') {
        return digit - 'A';
    }
    if (digit >= 'a' && digit <= 'z') {
        return digit - 'a' + 26;
    }
    if (digit >= '0' && digit <= '9') {
        return digit - '0' + 52;
    }
    return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

/* Four digits as 24 bits; -1: not base64. `=` counts as 0. */
static int32_t read_group(const char *group) {
    int32_t bits = 0;

    for (int i = 0; i < 4; i++) {
        int value = group[i] == '=' ? 0 : digit_value(group[i]);
        if (value < 0) {
            return -1;
        }
        bits = bits << 6 | value;
    }
    return bits;
}

bool lk_form_read_base64(char *text, size_t size, size_t *ret_size) {
    size_t padding = 0;
    size_t written = 0;

    if (size % 4 != 0) {
        return false;
    }
    while (padding < 2 && padding < size && text[size - 1 - padding] == '=') {
        padding++;
    }
    if (memchr(text, '=', size - padding) != NULL) {
        return false;
    }
    for (size_t i = 0; i < size; i += 4) {
        int32_t bits = read_group(text + i);
        if (bits < 0) {
            return false;
        }
        text[written++] = (char)(bits >> 16);
        text[written++] = (char)(bits >> 8);
        text[written++] = (char)bits;
    }
    *ret_size = written - padding;
    return true;
}

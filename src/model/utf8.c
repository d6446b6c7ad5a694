/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 decoding (RFC 3629, table in section 4) and the two character classes of R1. */
#include "model/utf8.h"

static bool is_continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

/* The length that a lead byte announces, 0 for a byte that is not a lead byte. */
static size_t announced_length(unsigned char lead) {
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        return 3;
    }
    return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

size_t lk_utf8_decode(const char *bytes, size_t size, uint32_t *ret_character) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *lead = (const unsigned char *)bytes;
    size_t length = announced_length(lead[0]);
    uint32_t character;

    if (length == 0 || length > size) {
        return 0;
    }
    if (length == 1) {
        *ret_character = lead[0];
        return 1;
    }
    character = lead[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (!is_continuation(lead[i])) {
            return 0;
        }
        character = character << 6 | (lead[i] & 0x3Fu);
    }
    if (character < smallest[length] || character > 0x10FFFF
        || (character >= 0xD800 && character <= 0xDFFF)) {
        return 0;
    }
    *ret_character = character;
    return length;
}

bool lk_utf8_is_valid(const char *bytes, size_t size) {
    for (size_t at = 0; at < size;) {
        uint32_t character;
        size_t length = lk_utf8_decode(bytes + at, size - at, &character);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

bool lk_character_is_control(uint32_t character) {
    return character < 0x20 || (character >= 0x7F && character <= 0x9F);
}

bool lk_character_is_space(uint32_t character) {
    switch (character) {
    case 0x20:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000:
        return true;
    default:
        return (character >= 0x09 && character <= 0x0D) || character == 0x85
               || (character >= 0x2000 && character <= 0x200A);
    }
}

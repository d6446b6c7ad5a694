/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes hexadecimal digits. */
#include "base/percent.h"

int lk_hexadecimal(char digit) {
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool lk_percent_decode(struct lk_slice text, char *ret_text, size_t capacity) {
    size_t used = 0;

    for (size_t i = 0; i < text.size; i++) {
        char byte = text.bytes[i];

        if (byte == '%') {
            int high = i + 2 < text.size ? lk_hexadecimal(text.bytes[i + 1]) : -1;
            int low = i + 2 < text.size ? lk_hexadecimal(text.bytes[i + 2]) : -1;

            if (high < 0 || low < 0) {
                return false;
            }
            byte = (char)(high * 16 + low);
            i += 2;
        }
        if (byte == '\0' || used + 1 >= capacity) {
            return false;
        }
        ret_text[used++] = byte;
    }
    ret_text[used] = '\0';
    return true;
}

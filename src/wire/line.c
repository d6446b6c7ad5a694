/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and numbers of RESP. */
#include "wire/line.h"

enum { PLAIN_DIGITS_MAX = 9 };

enum lk_resp_step lk_resp_line(struct lk_slice input, size_t at, size_t max,
                               struct lk_slice *ret_line, size_t *ret_end) {
    size_t end = input.size - at < max ? input.size : at + max;

    for (size_t i = at; i < end; i++) {
        char byte = input.bytes[i];
        if (byte == '\n') {
            return LK_RESP_BAD;
        }
        if (byte != '\r') {
            continue;
        }
        if (i + 1 == input.size) {
            return LK_RESP_MORE;
        }
        if (input.bytes[i + 1] != '\n') {
            return LK_RESP_BAD;
        }
        *ret_line = (struct lk_slice){.bytes = input.bytes + at, .size = i - at};
        *ret_end = i + 2;
        return LK_RESP_DONE;
    }
    return input.size - at < max ? LK_RESP_MORE : LK_RESP_BAD;
}

enum lk_resp_step lk_resp_header(struct lk_slice input, size_t at, int64_t *ret_number,
                                 size_t *ret_end) {
    size_t end = at + 1;
    int64_t number = 0;
    struct lk_slice line;
    enum lk_resp_step step;

    while (end < input.size && end - at <= PLAIN_DIGITS_MAX && input.bytes[end] >= '0'
           && input.bytes[end] <= '9') {
        number = number * 10 + (input.bytes[end++] - '0');
    }
    if (end > at + 1 && input.size - end >= 2 && input.bytes[end] == '\r'
        && input.bytes[end + 1] == '\n') {
        *ret_number = number;
        *ret_end = end + 2;
        return LK_RESP_DONE;
    }
    /* An incomplete line, a sign, too many digits, or no header. */
    step = lk_resp_line(input, at, LK_RESP_HEADER_BYTES_MAX, &line, ret_end);
    if (step == LK_RESP_DONE) {
        line.bytes++;
        line.size--;
        step = lk_resp_number_parse(line, ret_number) ? LK_RESP_DONE : LK_RESP_BAD;
    }
    return step;
}

bool lk_resp_number_parse(struct lk_slice text, int64_t *ret_number) {
    bool is_negative = text.size > 0 && text.bytes[0] == '-';
    size_t at = is_negative ? 1 : 0;
    uint64_t bound = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    uint64_t number = 0;

    if (at == text.size) {
        return false;
    }
    for (; at < text.size; at++) {
        unsigned digit = (unsigned)(unsigned char)text.bytes[at] - '0';
        if (digit > 9 || number > (bound - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *ret_number = is_negative ? (int64_t)-number : (int64_t)number;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and numbers, which frame both directions of RESP. Within src/wire. */
#ifndef LK_WIRE_LINE_H
#define LK_WIRE_LINE_H

#include "wire/resp.h"

/*
 * The line that begins at input.bytes[at], without its CR LF, and where it ends. MORE or BAD: there
 * is none within `max` bytes. A CR without LF, or an LF without CR, does not end a line: it is BAD.
 */
enum lk_resp_step lk_resp_line(struct lk_slice input, size_t at, size_t max,
                               struct lk_slice *ret_line, size_t *ret_end);

/* The number after the type byte at input.bytes[at], as a whole line, and where the line ends. */
enum lk_resp_step lk_resp_header(struct lk_slice input, size_t at, int64_t *ret_number,
                                 size_t *ret_end);

/* Decimal digits only, without a plus, within the range of int64_t. */
bool lk_resp_number_parse(struct lk_slice text, int64_t *ret_number);

#endif

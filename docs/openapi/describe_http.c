/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the description of the HTTP interface. Exits with 1 if it cannot. */
#include <stdio.h>

#include "server/http/openapi.h"

int main(void) {
    struct lk_buffer out = {.max = 0};
    bool is_printed;

    lk_http_openapi_write(&out);
    is_printed = !out.failed && fwrite(out.bytes, 1, out.size, stdout) == out.size;
    lk_buffer_done(&out);
    return is_printed && fflush(stdout) == 0 ? 0 : 1;
}

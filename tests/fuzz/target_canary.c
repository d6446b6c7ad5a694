/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target that fails, so that the driver can be seen to notice: an input that begins with `A`
 * aborts, with `H` hangs, with `E` ends the process as a sanitizer does.
 */
#include <unistd.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    FUZZ_DEMAND(data[0] != 'A');
    while (data[0] == 'H') {
        (void)pause();
    }
    if (data[0] == 'E') {
        _exit(77);
    }
    return 0;
}

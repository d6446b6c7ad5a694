/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of open files. */
#include "server/files.h"

#include <inttypes.h>
#include <sys/resource.h>

#include "server/log/log.h"

static uint64_t soft_limit(void) {
    struct rlimit limit = {.rlim_cur = 0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

uint64_t lk_files_raise(void) {
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    return soft_limit();
}

void lk_files_log_exhausted(void) {
    lk_log(LK_LOG_ERROR, "connections wait to be accepted",
           "too many open files (the limit is %" PRIu64 "), or memory is exhausted", soft_limit());
}

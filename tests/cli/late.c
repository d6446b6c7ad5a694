/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk, on a clock that jumps a day ahead once the program has begun: as if all that comes before the
 * wait, such as opening the store, had taken so long.
 */
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run/signals.h"

enum { JUMP_S = 24 * 60 * 60 };

/* In the place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret_reading) {
    static int readings; /* of this clock; the first is made while there is one thread */
    int code = (int)syscall(SYS_clock_gettime, clock, ret_reading);

    if (clock == CLOCK_BOOTTIME && readings++ > 0) {
        ret_reading->tv_sec += JUMP_S;
    }
    return code;
}

int main(int argc, char **argv) {
    return lk_death_conclude(lk_cli_main(argc, argv, stdout, stderr));
}

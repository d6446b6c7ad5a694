/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before the C library by a Redis server, whose time is then what stands in the file that
 * LK_TEST_CLOCK names: microseconds of Unix time, or 0 as long as it is the machine's.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t *the_clock;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LK_TEST_CLOCK");
    int descriptor = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = MAP_FAILED;

    if (descriptor >= 0) {
        map = mmap(NULL, sizeof *the_clock, PROT_READ, MAP_SHARED, descriptor, 0);
        (void)close(descriptor);
    }
    if (map == MAP_FAILED) {
        abort();
    }
    the_clock = map;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict time,
                                                        void *restrict zone) {
    int64_t now_us = the_clock != NULL ? *the_clock : 0;

    (void)zone;
    if (now_us == 0) {
        struct timespec now;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    } else {
        *time = (struct timeval){now_us / 1000000, now_us % 1000000};
    }
    return 0;
}

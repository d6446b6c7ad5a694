/* SPDX-License-Identifier: Apache-2.0 */
/* The program's counters, and the sizes that the system knows. */
#include "server/monitor.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define US_PER_S UINT64_C(1000000)

static const int64_t commit_bounds_us[] = {
    250,   500,    1000,   2500,   5000,    10000,   25000,
    50000, 100000, 250000, 500000, 1000000, 2500000, 10000000,
};

_Static_assert(sizeof commit_bounds_us / sizeof commit_bounds_us[0] <= LK_BUCKETS_MAX,
               "every bound has its bucket");

void lk_monitor_begin(struct lk_monitor *monitor, int64_t wall_us) {
    *monitor = (struct lk_monitor){
        .started_wall_us = wall_us,
        .commits.bounds_us = commit_bounds_us,
        .commits.count = sizeof commit_bounds_us / sizeof commit_bounds_us[0],
    };
}

static uint64_t us_of(struct timeval time) {
    return (uint64_t)time.tv_sec * US_PER_S + (uint64_t)time.tv_usec;
}

/* The second number of /proc/self/statm is in pages. */
static uint64_t read_resident_bytes(void) {
    char text[128] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    char *end = text;

    if (file >= 0) {
        (void)close(file);
    }
    if (size <= 0) {
        return 0;
    }
    (void)strtoull(text, &end, 10);
    return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct lk_process_use lk_monitor_process(void) {
    struct lk_process_use process = {.resident_bytes = read_resident_bytes()};
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        process.processor_us = us_of(usage.ru_utime) + us_of(usage.ru_stime);
    }
    return process;
}

bool lk_monitor_files(const char *directory, uint64_t *ret_file_bytes, uint64_t *ret_log_bytes) {
    char path[PATH_MAX];
    struct stat status;
    int size = snprintf(path, sizeof path, "%s/locks.db-wal", directory);

    if (size < 0 || (size_t)size >= sizeof path) {
        return false;
    }
    *ret_log_bytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    path[(size_t)size - (sizeof "-wal" - 1)] = '\0';
    if (stat(path, &status) != 0) {
        return false;
    }
    *ret_file_bytes = (uint64_t)status.st_size;
    return true;
}

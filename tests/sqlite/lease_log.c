/* SPDX-License-Identifier: Apache-2.0 */
/* The check compares every pair of leases: slow, and simple enough to be trusted. */
#include "lease_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fixture.h"
#include "model/rules.h"

enum { PRINTED_MAX = 10 };

struct lease_log *lease_log_make(void) {
    struct lease_log *log =
        mmap(NULL, sizeof *log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (log == MAP_FAILED) {
        test_die("no memory to share");
    }
    return log;
}

struct logged_lease *lease_log_add(struct lease_log *log) {
    size_t index = atomic_fetch_add(&log->count, 1);

    if (index >= LEASES_MAX) {
        test_die("the log of leases is full");
    }
    return &log->leases[index];
}

static bool is_related(const struct logged_part *a, const struct logged_part *b) {
    struct lk_path left;
    struct lk_path right;

    return lk_path_parse(lk_slice_of(a->path), &left, NULL) == LK_OK
           && lk_path_parse(lk_slice_of(b->path), &right, NULL) == LK_OK
           && lk_path_related(&left, &right);
}

static bool conflicts(const struct logged_lease *a, const struct logged_lease *b) {
    for (size_t i = 0; i < a->part_count; i++) {
        for (size_t j = 0; j < b->part_count; j++) {
            if (is_related(&a->parts[i], &b->parts[j])
                && (!a->parts[i].shared || !b->parts[j].shared)) {
                return true;
            }
        }
    }
    return false;
}

/* Units that `lease` holds at exactly this path. */
static uint32_t units_at(const struct logged_lease *lease, const char *path) {
    for (size_t i = 0; i < lease->part_count; i++) {
        if (lease->parts[i].shared && strcmp(lease->parts[i].path, path) == 0) {
            return lease->parts[i].units;
        }
    }
    return 0;
}

static void report(unsigned *wrong, const char *what, const struct logged_lease *a,
                   const struct logged_lease *b) {
    if ((*wrong)++ < PRINTED_MAX) {
        (void)printf("# %s: %s (owner %d, token %llu) and %s (owner %d, token %llu)\n", what,
                     a->parts[0].path, a->owner, (unsigned long long)a->token, b->parts[0].path,
                     b->owner, (unsigned long long)b->token);
    }
}

static int by_grant(const void *a, const void *b) {
    int64_t left = (*(struct logged_lease *const *)a)->granted_us;
    int64_t right = (*(struct logged_lease *const *)b)->granted_us;

    return (left > right) - (left < right);
}

/* The lease against those granted before it. */
static void check_lease(struct logged_lease *const *order, size_t at, unsigned *wrong) {
    const struct logged_lease *lease = order[at];
    uint64_t units[LEASE_PARTS_MAX] = {0};

    for (size_t i = 0; i < at; i++) {
        const struct logged_lease *former = order[i];
        bool is_held = former->until_us > lease->granted_us;
        if (former->owner != lease->owner && conflicts(former, lease)) {
            if (is_held) {
                report(wrong, "held at the same time", former, lease);
            }
            if (former->token >= lease->token) {
                report(wrong, "tokens do not rise", former, lease);
            }
        }
        for (size_t p = 0; is_held && p < lease->part_count; p++) {
            units[p] += units_at(former, lease->parts[p].path);
        }
    }
    for (size_t p = 0; p < lease->part_count; p++) {
        if (lease->parts[p].limit != 0
            && units[p] + lease->parts[p].units > lease->parts[p].limit) {
            report(wrong, "over the limit", lease, lease);
        }
    }
}

unsigned lease_log_check(struct lease_log *log, size_t *ret_leases) {
    static struct logged_lease *order[LEASES_MAX];
    unsigned wrong = (unsigned)log->lost;
    size_t count = 0;

    for (size_t i = 0; i < log->count; i++) {
        if (log->leases[i].granted_us != 0) {
            order[count++] = &log->leases[i];
        }
    }
    qsort(order, count, sizeof order[0], by_grant);
    for (size_t i = 0; i < count; i++) {
        check_lease(order, i, &wrong);
    }
    if (log->lost > 0) {
        (void)printf("# %d leases were denied while they were promised\n", log->lost);
    }
    *ret_leases = count;
    return wrong;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Lock services as sides of a comparison. */
#include "lock_services.h"

#include <stdio.h>
#include <unistd.h>

enum { WARM_UP_MS = 15000 };

struct side lock_service_side(const struct lock_service *lock_service, const char *folder) {
    return lock_service_side_of(lock_service, lock_service->start(folder));
}

struct side lock_service_side_of(const struct lock_service *lock_service, struct peer peer) {
    struct side side = side_of(lock_service->name, peer, &lock_service->protocol);

    side.load.has_prelude = lock_service->has_prelude;
    side.load.step_count = lock_service->step_count;
    side.load.request = lock_service->request;
    return side;
}

bool lock_service_is_there(const struct lock_service *lock_service,
                           char ret_why[BENCH_TEXT_BYTES]) {
    if (!peer_is_installed(lock_service->program)) {
        (void)snprintf(ret_why, BENCH_TEXT_BYTES, "%s is not installed", lock_service->program);
        return false;
    }
    if (lock_service->file != NULL && access(lock_service->file, R_OK) != 0) {
        (void)snprintf(ret_why, BENCH_TEXT_BYTES, "%s is not there", lock_service->file);
        return false;
    }
    return true;
}

/* A server that compiles itself while it runs is not measured before it has. */
static void warm_up(struct side *side) {
    bench_progress("warming up %s", side->name);
    side->load.seconds = (double)bench_round_ns(WARM_UP_MS) / 1e9;
    (void)load_run(&side->load);
    side->load.seconds = (double)bench_round_ns(SIDE_ROUND_MS) / 1e9;
}

void lock_service_compare(struct side *ours, const struct lock_service *lock_service,
                          const char *folder, const struct bars *bars, size_t count) {
    struct side side;
    char why[BENCH_TEXT_BYTES];

    if (!lock_service_is_there(lock_service, why)) {
        bench_missing_print("acquire + release", lock_service->name, why);
        return;
    }
    side = lock_service_side(lock_service, folder);
    if (lock_service->compiles) {
        warm_up(&side);
    }
    side_compare_all(ours, &side, bars, count);
    peer_stop(&side.peer);
}

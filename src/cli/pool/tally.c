/* SPDX-License-Identifier: Apache-2.0 */
/* Counting across processes. */
#include "cli/pool/tally.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

struct lk_pool_tally *lk_pool_tally_new(void) {
    void *memory = mmap(NULL, sizeof(struct lk_pool_tally), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

void lk_pool_tally_free(struct lk_pool_tally *tally) {
    if (tally != NULL) {
        munmap(tally, sizeof *tally);
    }
}

void lk_pool_tally_count(struct lk_pool_tally *tally, size_t place,
                         const lk_work_progress *progress) {
    switch (progress->step) {
    case LK_WORK_CLAIMED:
        atomic_fetch_add(&tally->claims, 1);
        atomic_fetch_add(&tally->steals, progress->claim->is_stolen ? 1 : 0);
        break;
    case LK_WORK_DONE:
        atomic_fetch_add(&tally->done, 1);
        break;
    case LK_WORK_PARKED:
        atomic_fetch_add(&tally->parked, 1);
        break;
    case LK_WORK_RETRIED:
        atomic_fetch_add(&tally->retried, 1);
        break;
    case LK_WORK_LOST:
    case LK_WORK_UNKNOWN:
        atomic_fetch_add(&tally->lost, 1);
        break;
    case LK_WORK_ANNOUNCED:
        atomic_store(&tally->announced, progress->counts.announced);
        atomic_store(&tally->left, progress->counts.left);
        atomic_store(&tally->is_announcing, true);
        return;
    }
    atomic_store(&tally->is_running[place], progress->step == LK_WORK_CLAIMED);
}

void lk_pool_tally_clear(struct lk_pool_tally *tally, size_t place) {
    atomic_store(&tally->is_running[place], false);
}

bool lk_pool_tally_may_say_failure(struct lk_pool_tally *tally) {
    return !atomic_exchange(&tally->is_failure_said, true);
}

void lk_pool_tally_describe(struct lk_pool_tally *tally, char *text, size_t size) {
    const struct {
        uint64_t count;
        const char *what;
        bool is_always_said;
    } words[] = {
        {atomic_load(&tally->announced), "announced", atomic_load(&tally->is_announcing)},
        {atomic_load(&tally->claims), "claimed", atomic_load(&tally->is_announcing)},
        {atomic_load(&tally->done), "done", true},
        {atomic_load(&tally->left), "left", atomic_load(&tally->is_announcing)},
        {atomic_load(&tally->retried), "given back", false},
        {atomic_load(&tally->parked), "parked", false},
        {atomic_load(&tally->lost), "lost", false},
        {atomic_load(&tally->steals), "stolen from the dead", false},
    };
    unsigned running = 0;
    size_t used;

    for (size_t place = 0; place < LK_POOL_PLACES_MAX; place++) {
        running += atomic_load(&tally->is_running[place]) ? 1 : 0;
    }
    used = (size_t)snprintf(text, size, "%u running", running);
    for (size_t i = 0; i < sizeof words / sizeof words[0] && used < size; i++) {
        bool is_said = words[i].is_always_said
                       || (words[i].count > 0 && strcmp(words[i].what, "claimed") != 0);
        if (is_said) {
            used += (size_t)snprintf(text + used, size - used, ", %" PRIu64 " %s", words[i].count,
                                     words[i].what);
        }
    }
}

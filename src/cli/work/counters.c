/* SPDX-License-Identifier: Apache-2.0 */
/* Counting across processes. */
#include "cli/work/counters.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

struct lk_pool_counters *lk_pool_counters_new(void) {
    void *memory = mmap(NULL, sizeof(struct lk_pool_counters), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

void lk_pool_counters_free(struct lk_pool_counters *counters) {
    if (counters != NULL) {
        munmap(counters, sizeof *counters);
    }
}

void lk_pool_counters_count(struct lk_pool_counters *counters, size_t index,
                            const lk_work_progress *progress) {
    switch (progress->step) {
    case LK_WORK_CLAIMED:
        atomic_fetch_add(&counters->claims, 1);
        atomic_fetch_add(&counters->steals, progress->claim->is_stolen ? 1 : 0);
        break;
    case LK_WORK_DONE:
        atomic_fetch_add(&counters->done, 1);
        break;
    case LK_WORK_PARKED:
        atomic_fetch_add(&counters->parked, 1);
        break;
    case LK_WORK_RETRIED:
        atomic_fetch_add(&counters->retried, 1);
        break;
    case LK_WORK_LOST:
    case LK_WORK_UNKNOWN:
        atomic_fetch_add(&counters->lost, 1);
        break;
    case LK_WORK_ANNOUNCED:
        atomic_store(&counters->announced, progress->counts.announced);
        atomic_store(&counters->left, progress->counts.left);
        atomic_store(&counters->skipped, progress->counts.skipped);
        atomic_store(&counters->is_announcing, true);
        return;
    case LK_WORK_SKIPPED:
        return;
    }
    atomic_store(&counters->is_running[index], progress->step == LK_WORK_CLAIMED);
}

void lk_pool_counters_count_cancelled(struct lk_pool_counters *counters, size_t index) {
    atomic_fetch_add(&counters->cancelled, 1);
    atomic_store(&counters->is_running[index], false);
}

void lk_pool_counters_clear(struct lk_pool_counters *counters, size_t index) {
    atomic_store(&counters->is_running[index], false);
    (void)lk_pool_counters_may_say_outage(counters, index, false); /* another one has to say it */
    lk_pool_leader_cease(&counters->leader, (uint32_t)index + 1);
}

bool lk_pool_counters_may_say_failure(struct lk_pool_counters *counters) {
    return !atomic_exchange(&counters->is_failure_said, true);
}

bool lk_pool_counters_may_say_outage(struct lk_pool_counters *counters, size_t index,
                                     bool is_away) {
    size_t teller = is_away ? 0 : index + 1;

    return atomic_compare_exchange_strong(&counters->outage_teller, &teller,
                                          is_away ? index + 1 : 0)
           || (is_away && teller == index + 1);
}

/*
 * The counts that matter, each behind a comma but the first; `used` bytes are there already, of
 * workers that run. What was left when rows were last announced says nothing at the end.
 */
static void add_counts(struct lk_pool_counters *counters, char *text, size_t used, size_t size) {
    bool is_announcing = atomic_load(&counters->is_announcing);
    const struct {
        uint64_t count;
        const char *what;
        bool is_always_said;
    } words[] = {
        {atomic_load(&counters->announced), "announced", is_announcing},
        {atomic_load(&counters->claims), "claimed", is_announcing},
        {atomic_load(&counters->done), "done", true},
        {used > 0 ? atomic_load(&counters->left) : 0, "left", is_announcing && used > 0},
        {atomic_load(&counters->retried), "given back", false},
        {atomic_load(&counters->cancelled), "cancelled", false},
        {atomic_load(&counters->parked), "parked", false},
        {atomic_load(&counters->lost), "lost", false},
        {atomic_load(&counters->steals), "stolen from the dead", false},
        {atomic_load(&counters->skipped), "skipped", false},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0] && used < size; i++) {
        bool is_said = words[i].is_always_said
                       || (words[i].count > 0 && strcmp(words[i].what, "claimed") != 0);
        if (is_said) {
            used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 " %s",
                                     used > 0 ? ", " : "", words[i].count, words[i].what);
        }
    }
}

void lk_pool_counters_describe(struct lk_pool_counters *counters, char *text, size_t size) {
    unsigned running = 0;

    for (size_t index = 0; index < LK_POOL_SLOTS_MAX; index++) {
        running += atomic_load(&counters->is_running[index]) ? 1 : 0;
    }
    add_counts(counters, text, (size_t)snprintf(text, size, "%u running", running), size);
}

void lk_pool_counters_summarise(struct lk_pool_counters *counters, char *text, size_t size) {
    add_counts(counters, text, 0, size);
}

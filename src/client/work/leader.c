/* SPDX-License-Identifier: Apache-2.0 */
/* Who leads is a word of memory, changed by compare-and-exchange; followers sleep on another. */
#include "client/work/leader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "base/text.h"

/* ---- a leader -------------------------------------------------------------------------------- */

/* Where a thread cannot sleep on a word, it looks again so often. */
#define LOOK_US INT64_C(50000)

static bool try_to_lead(struct lk_pool_leader *leader, uint32_t member) {
    uint32_t none = 0;

    return __atomic_compare_exchange_n(&leader->member, &none, member, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

bool lk_pool_leader_become(struct lk_pool_leader *leader, uint32_t member, int64_t duration_us,
                           struct lk_waker *waker) {
    int64_t end_us = lk_clock_now_us() + duration_us;

    for (;;) {
        /* Read before: one who ceases later ends the sleep. */
        const struct lk_word ends = lk_word_read(&leader->ends);
        const struct lk_word words[LK_WORDS] = {ends, ends};
        int64_t left_us = end_us - lk_clock_now_us();

        if (try_to_lead(leader, member)) {
            return true;
        }
        if (left_us <= 0
            || lk_waker_sleep_on_words(waker, words,
                                       lk_words_are_known() ? left_us : lk_min(left_us, LOOK_US))) {
            return false;
        }
    }
}

void lk_pool_leader_cease(struct lk_pool_leader *leader, uint32_t member) {
    if (__atomic_compare_exchange_n(&leader->member, &member, 0, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
        (void)__atomic_add_fetch(&leader->ends, 1, __ATOMIC_SEQ_CST);
        lk_words_wake(&leader->ends);
    }
}

/* ---- the leader of a queue ------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the lists of all stores */

static char *key_of(const struct lk_path *queue, const lk_work_table *table) {
    const char *where = table != NULL && table->where != NULL ? table->where : "";

    return table == NULL
               ? lk_text_make("%.*s", (int)queue->size, queue->bytes)
               : lk_text_make("%.*s\n%s\n%s", (int)queue->size, queue->bytes, table->name, where);
}

static struct lk_queue_leader *find(const lk_store *store, const char *key) {
    struct lk_queue_leader *leader = store->queue_leaders;

    while (leader != NULL && strcmp(leader->key, key) != 0) {
        leader = leader->next;
    }
    return leader;
}

/* Takes the key over, unless memory is exhausted. */
static struct lk_queue_leader *make(lk_store *store, char *key) {
    struct lk_queue_leader *leader = calloc(1, sizeof *leader);

    if (leader != NULL) {
        leader->key = key;
        leader->next = store->queue_leaders;
        store->queue_leaders = leader;
    }
    return leader;
}

struct lk_queue_leader *lk_queue_leader_join(lk_store *store, const struct lk_path *queue,
                                             const lk_work_table *table, size_t workers,
                                             uint32_t *ret_member) {
    char *key = key_of(queue, table);
    struct lk_queue_leader *leader;

    if (key == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&mutex);
    leader = find(store, key);
    if (leader == NULL) {
        leader = make(store, key);
    }
    if (leader != NULL) {
        *ret_member = leader->last_member + 1;
        leader->last_member += (uint32_t)workers;
        leader->pools++;
    }
    if (leader == NULL || leader->key != key) {
        free(key);
    }
    pthread_mutex_unlock(&mutex);
    return leader;
}

void lk_queue_leader_leave(lk_store *store, struct lk_queue_leader *leader) {
    struct lk_queue_leader **link = &store->queue_leaders;

    pthread_mutex_lock(&mutex);
    if (--leader->pools == 0) {
        while (*link != leader) {
            link = &(*link)->next;
        }
        *link = leader->next;
        free(leader->key);
        free(leader);
    }
    pthread_mutex_unlock(&mutex);
}

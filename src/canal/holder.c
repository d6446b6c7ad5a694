/* SPDX-License-Identifier: Apache-2.0 */
/* Joining and leaving, and the entries in which a holder records its permits. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "canal/alive.h"
#include "canal/handle.h"
#include "canal/repair.h"

void *lk_canal_pages_take(size_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED) {
        return NULL;
    }
    if (madvise(pages, bytes, MADV_WIPEONFORK) != 0) {
        (void)munmap(pages, bytes);
        return NULL;
    }
    return pages;
}

void lk_canal_pages_give(void *pages, size_t bytes) {
    (void)munmap(pages, bytes);
}

/* ---- entries --------------------------------------------------------------------------------- */

static bool take_chunk(lk_canal_holder *holder) {
    const struct lk_canal_region *region = &holder->canal->region;

    for (uint32_t step = 0; step < region->chunk_count; step++) {
        uint32_t chunk = (holder->chunk_hint + step) % region->chunk_count;
        uint64_t word = atomic_load_explicit(&region->chunks[chunk], memory_order_acquire);

        if (lk_canal_is_owned(word)) {
            continue;
        }
        lk_canal_raise(&region->head->chunk_top, chunk + 1);
        if (atomic_compare_exchange_strong(&region->chunks[chunk], &word,
                                           lk_canal_owned(word, holder->index))) {
            holder->fresh = chunk * CHUNK_ENTRIES;
            holder->fresh_end = holder->fresh + CHUNK_ENTRIES;
            holder->chunk_hint = chunk + 1;
            return true;
        }
    }
    return false;
}

lk_canal_status lk_canal_entry_take_fresh(lk_canal_holder *holder, uint32_t *ret_entry) {
    if (holder->fresh == holder->fresh_end && !take_chunk(holder)) {
        (void)lk_canal_look_for_dead(holder->canal);
        if (!take_chunk(holder)) {
            return LK_CANAL_NO_ROOM;
        }
    }
    *ret_entry = holder->fresh++;
    return LK_CANAL_OK;
}

/* ---- the holders of a thread ----------------------------------------------------------------- */

static bool is_of_this_thread(const lk_canal_holder *holder) {
    const lk_canal_holder *mine = pthread_getspecific(holder->canal->of_thread);

    while (mine != NULL && mine != holder) {
        mine = mine->next_of_thread;
    }
    return mine != NULL;
}

static void forget_of_thread(lk_canal_holder *holder) {
    lk_canal_holder *first = pthread_getspecific(holder->canal->of_thread);

    if (first == holder) {
        (void)pthread_setspecific(holder->canal->of_thread, holder->next_of_thread);
        return;
    }
    while (first != NULL && first->next_of_thread != holder) {
        first = first->next_of_thread;
    }
    if (first != NULL) {
        first->next_of_thread = holder->next_of_thread;
    }
}

/* ---- joining --------------------------------------------------------------------------------- */

static bool take_place(lk_canal_holder *holder, uint32_t process, int32_t thread) {
    const struct lk_canal_region *region = &holder->canal->region;

    for (uint32_t index = 0; index < region->holder_count; index++) {
        struct lk_canal_word *place = &region->holders[index].word;
        struct lk_canal_pair seen = lk_canal_word_read(place);

        if (seen.state != 0) {
            continue;
        }
        lk_canal_raise(&region->head->holder_top, index + 1);
        holder->word.stamp = seen.stamp + 1;
        holder->word.state = (uint64_t)(uint32_t)thread << 32 | (process + 1);
        if (lk_canal_word_swap(place, seen, holder->word)) {
            holder->index = index;
            return true;
        }
    }
    return false;
}

static void write_label(struct lk_canal_member *member, const char *label) {
    uint64_t words[LABEL_WORDS] = {0};
    struct timespec now;

    memcpy(words, label, strlen(label));
    for (uint32_t i = 0; i < LABEL_WORDS; i++) {
        atomic_store_explicit(&member->label[i], words[i], memory_order_relaxed);
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    atomic_store_explicit(&member->joined_unix_ms,
                          (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, memory_order_relaxed);
}

/* The holder of a former thread with the same id, which ended without running destructors. */
static lk_canal_holder *find_former(lk_canal *canal, int32_t thread) {
    lk_canal_holder *holder = canal->holders;

    while (holder != NULL && (holder->thread != thread || is_of_this_thread(holder))) {
        holder = holder->older;
    }
    return holder;
}

static void leave_former(lk_canal *canal, int32_t thread) {
    lk_canal_holder *former;

    do {
        (void)pthread_mutex_lock(&canal->mutex);
        former = find_former(canal, thread);
        (void)pthread_mutex_unlock(&canal->mutex);
        lk_canal_leave(former);
    } while (former != NULL);
}

static void enlist(lk_canal *canal, lk_canal_holder *holder) {
    (void)pthread_mutex_lock(&canal->mutex);
    holder->older = canal->holders;
    if (holder->older != NULL) {
        holder->older->newer = holder;
    }
    canal->holders = holder;
    (void)pthread_mutex_unlock(&canal->mutex);
}

static void delist(lk_canal *canal, lk_canal_holder *holder) {
    (void)pthread_mutex_lock(&canal->mutex);
    if (holder->older != NULL) {
        holder->older->newer = holder->newer;
    }
    if (holder->newer != NULL) {
        holder->newer->older = holder->older;
    } else {
        canal->holders = holder->older;
    }
    (void)pthread_mutex_unlock(&canal->mutex);
}

lk_canal_status lk_canal_join(lk_canal *canal, lk_canal_bond bond, const char *label,
                              lk_canal_holder **ret_holder) {
    const char *shown = label != NULL ? label : "";
    int32_t thread = 0;
    lk_canal_holder *holder;

    if (canal->seal != HANDLE_SEAL) {
        return LK_CANAL_LEFT;
    }
    if ((bond != LK_CANAL_PROCESS && bond != LK_CANAL_THREAD)
        || strlen(shown) > LK_CANAL_LABEL_BYTES_MAX) {
        return LK_CANAL_INVALID;
    }
    if (bond == LK_CANAL_THREAD) {
        thread = (int32_t)syscall(SYS_gettid);
        leave_former(canal, thread);
    }
    holder = lk_canal_pages_take(sizeof *holder);
    if (holder == NULL) {
        return LK_CANAL_SYSTEM;
    }
    holder->canal = canal;
    holder->free_first = NONE;
    holder->thread = thread;
    if (!take_place(holder, canal->process, thread)
        && (lk_canal_look_for_dead(canal) == 0 || !take_place(holder, canal->process, thread))) {
        lk_canal_pages_give(holder, sizeof *holder);
        return LK_CANAL_NO_ROOM;
    }
    holder->chunk_hint = holder->index % canal->region.chunk_count;
    write_label(&canal->region.holders[holder->index], shown);
    if (thread != 0) {
        holder->next_of_thread = pthread_getspecific(canal->of_thread);
        if (pthread_setspecific(canal->of_thread, holder) != 0) {
            lk_canal_repair_holder(&canal->region, holder->index, holder->word);
            lk_canal_pages_give(holder, sizeof *holder);
            return LK_CANAL_SYSTEM;
        }
    }
    holder->seal = HANDLE_SEAL;
    enlist(canal, holder);
    *ret_holder = holder;
    return LK_CANAL_OK;
}

void lk_canal_leave(lk_canal_holder *holder) {
    if (holder == NULL || holder->seal != HANDLE_SEAL) {
        return;
    }
    if (holder->thread != 0) {
        forget_of_thread(holder);
    }
    delist(holder->canal, holder);
    lk_canal_repair_holder(&holder->canal->region, holder->index, holder->word);
    lk_canal_pages_give(holder, sizeof *holder);
}

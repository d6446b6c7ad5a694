/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving back the permits of dead holders. README.md has the argument; the order of reads below is
 * part of it, and tests/canal/count.pml checks it.
 */
#include "canal/repair.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "canal/alive.h"
#include "canal/keys.h"

void lk_canal_slot_wake_all(struct lk_canal_slot *slot) {
    atomic_store(&slot->waiting, 0);
    (void)syscall(SYS_futex, &slot->waiting, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- one entry ------------------------------------------------------------------------------- */

static void move(struct lk_canal_record *record, uint64_t stamp, enum lk_canal_kind kind) {
    (void)atomic_compare_exchange_strong(&record->stamp, &stamp, lk_canal_stamp(stamp, kind));
}

/* S2: whether the acquire took effect is final, because its holder is dead. */
static void repair_acquiring(struct lk_canal_record *record, const struct lk_canal_slot *slot,
                             uint64_t stamp) {
    bool is_done = atomic_load_explicit(&slot->word.stamp, memory_order_acquire) == stamp;

    /* If it was done and overwritten, the entry is settled, and this changes nothing. */
    move(record, stamp, is_done ? KIND_HELD : KIND_FREE);
}

/*
 * Does the release, once, among any number of repairers. The word is read before the entry is read
 * again. If the entry is still RELEASING then, the release had not taken effect when the word was
 * read; if the swap succeeds, it has not taken effect in between either.
 */
static void repair_releasing(const struct lk_canal_region *region, uint32_t entry,
                             struct lk_canal_slot *slot, uint64_t stamp) {
    struct lk_canal_record *record = &region->entries[entry];
    /* Acquire: read before the entry's stamp is read again. */
    uint32_t units = atomic_load_explicit(&record->units, memory_order_acquire);

    for (;;) {
        struct lk_canal_pair seen = lk_canal_word_read(&slot->word);
        uint32_t count = lk_canal_count_of(seen.state);
        struct lk_canal_pair next = {.stamp = stamp};

        if (seen.stamp == stamp) {
            break;
        }
        if (atomic_load_explicit(&record->stamp, memory_order_acquire) != stamp) {
            return;
        }
        if (!lk_canal_word_is_still(&slot->word, seen)) {
            continue;
        }
        if (lk_canal_use_of(seen.state) != USE_LIVE || count < units) {
            break; /* damaged: there is no count to reduce */
        }
        lk_canal_settle(region, seen);
        next.state = lk_canal_state(USE_LIVE, count - units, entry);
        if (lk_canal_word_swap(&slot->word, seen, next)) {
            lk_canal_slot_wake(slot);
            break;
        }
    }
    move(record, stamp, KIND_FREE);
}

/* Repairs until the entry is free, or its chunk belongs to another holder. */
static void repair_entry(const struct lk_canal_region *region, uint32_t entry, uint32_t chunk,
                         uint64_t chunk_word) {
    struct lk_canal_record *record = &region->entries[entry];

    for (;;) {
        uint64_t stamp = atomic_load_explicit(&record->stamp, memory_order_acquire);
        uint32_t slot = atomic_load_explicit(&record->slot, memory_order_acquire);

        if (lk_canal_kind_of(stamp) == KIND_FREE
            || atomic_load_explicit(&region->chunks[chunk], memory_order_acquire) != chunk_word) {
            return;
        }
        if (atomic_load_explicit(&record->stamp, memory_order_acquire) != stamp) {
            continue;
        }
        if (slot >= region->slot_count) {
            move(record, stamp, KIND_FREE); /* damaged */
            continue;
        }
        switch (lk_canal_kind_of(stamp)) {
        case KIND_ACQUIRING:
            repair_acquiring(record, &region->slots[slot], stamp);
            break;
        case KIND_HELD:
            move(record, stamp, KIND_RELEASING);
            break;
        case KIND_RELEASING:
            repair_releasing(region, entry, &region->slots[slot], stamp);
            break;
        case KIND_INSERTING:
            lk_canal_key_repair(region, entry, slot, stamp);
            move(record, stamp, KIND_FREE);
            break;
        default:
            move(record, stamp, KIND_FREE); /* damaged */
            break;
        }
    }
}

/* ---- holders --------------------------------------------------------------------------------- */

void lk_canal_repair_holder(const struct lk_canal_region *region, uint32_t holder,
                            struct lk_canal_pair word) {
    struct lk_canal_word *place = &region->holders[holder].word;
    uint32_t top = lk_canal_top(&region->head->chunk_top, region->chunk_count);

    for (uint32_t chunk = 0; chunk < top; chunk++) {
        uint64_t chunk_word = atomic_load_explicit(&region->chunks[chunk], memory_order_acquire);

        if (!lk_canal_is_owned(chunk_word) || lk_canal_owner_of(chunk_word) != holder) {
            continue;
        }
        if (!lk_canal_word_is_still(place, word)) {
            return;
        }
        for (uint32_t i = 0; i < CHUNK_ENTRIES; i++) {
            repair_entry(region, chunk * CHUNK_ENTRIES + i, chunk, chunk_word);
        }
        (void)atomic_compare_exchange_strong(&region->chunks[chunk], &chunk_word,
                                             lk_canal_disowned(chunk_word));
    }
    (void)lk_canal_word_swap(place, word, (struct lk_canal_pair){.stamp = word.stamp});
}

/* The holders of one dead process, then its own place: its next user finds it empty. */
static uint32_t repair_process(const lk_canal *canal, uint32_t process, uint64_t process_word) {
    const struct lk_canal_region *region = &canal->region;
    _Atomic uint64_t *place = &region->processes[process].word;
    uint32_t top = lk_canal_top(&region->head->holder_top, region->holder_count);
    uint32_t dead = 0;

    for (uint32_t holder = 0; holder < top; holder++) {
        struct lk_canal_pair word = lk_canal_word_read(&region->holders[holder].word);

        if ((uint32_t)word.state != process + 1
            || !lk_canal_word_is_still(&region->holders[holder].word, word)) {
            continue;
        }
        if (atomic_load_explicit(place, memory_order_acquire) != process_word) {
            return dead; /* another repairer has finished this */
        }
        lk_canal_repair_holder(region, holder, word);
        dead++;
    }
    (void)atomic_compare_exchange_strong(place, &process_word, lk_canal_disowned(process_word));
    return dead;
}

static bool has_dead_thread(const lk_canal *canal, uint32_t holder, struct lk_canal_pair word) {
    const struct lk_canal_region *region = &canal->region;
    uint32_t process = (uint32_t)word.state - 1;
    int32_t thread = (int32_t)(word.state >> 32);

    return thread != 0 && process < region->holder_count
           && lk_canal_thread_is_dead(canal, process, thread)
           && lk_canal_word_is_still(&region->holders[holder].word, word);
}

/* Threads of live processes that ended without running their destructors. */
static uint32_t repair_threads(const lk_canal *canal) {
    const struct lk_canal_region *region = &canal->region;
    uint32_t top = lk_canal_top(&region->head->holder_top, region->holder_count);
    uint32_t dead = 0;

    for (uint32_t holder = 0; holder < top; holder++) {
        struct lk_canal_pair word = lk_canal_word_read(&region->holders[holder].word);

        if (has_dead_thread(canal, holder, word)) {
            lk_canal_repair_holder(region, holder, word);
            dead++;
        }
    }
    return dead;
}

uint32_t lk_canal_look_for_dead(const lk_canal *canal) {
    const struct lk_canal_region *region = &canal->region;
    uint32_t top = lk_canal_top(&region->head->process_top, region->holder_count);
    uint32_t dead = 0;

    for (uint32_t process = 0; process < top; process++) {
        uint64_t word =
            atomic_load_explicit(&region->processes[process].word, memory_order_acquire);

        if (lk_canal_is_owned(word) && lk_canal_process_is_dead(canal, process, word)) {
            dead += repair_process(canal, process, word);
        }
    }
    return dead + repair_threads(canal);
}

bool lk_canal_dead_are_possible(const lk_canal *canal, uint32_t checks_max) {
    const struct lk_canal_region *region = &canal->region;
    uint32_t processes = lk_canal_top(&region->head->process_top, region->holder_count);
    uint32_t holders = lk_canal_top(&region->head->holder_top, region->holder_count);

    if (processes + holders > checks_max) {
        return true;
    }
    for (uint32_t process = 0; process < processes; process++) {
        uint64_t word =
            atomic_load_explicit(&region->processes[process].word, memory_order_acquire);

        if (lk_canal_is_owned(word) && lk_canal_process_is_dead(canal, process, word)) {
            return true;
        }
    }
    for (uint32_t holder = 0; holder < holders; holder++) {
        if (has_dead_thread(canal, holder, lk_canal_word_read(&region->holders[holder].word))) {
            return true;
        }
    }
    return false;
}

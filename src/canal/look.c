/* SPDX-License-Identifier: Apache-2.0 */
/* Counts, listings, figures and numbers. Only permits of dead holders are changed here. */
#include <string.h>
#include <time.h>

#include "canal/alive.h"
#include "canal/handle.h"
#include "canal/keys.h"
#include "canal/repair.h"

lk_canal_status lk_canal_count(lk_canal *canal, const char *key, size_t key_size,
                               uint32_t *ret_count) {
    const struct lk_canal_region *region = &canal->region;
    struct lk_canal_key made;

    if (canal->seal != HANDLE_SEAL) {
        return LK_CANAL_LEFT;
    }
    if (key_size == 0 || key_size > LK_CANAL_KEY_BYTES_MAX) {
        return LK_CANAL_INVALID;
    }
    lk_canal_key_make(region, key, key_size, &made);
    for (;;) {
        struct lk_canal_pair seen;
        uint32_t index = lk_canal_key_find(region, &made, &seen);

        if (index == NONE) {
            *ret_count = 0;
            return LK_CANAL_OK;
        }
        if (lk_canal_word_is_still(&region->slots[index].word, seen)) {
            *ret_count = lk_canal_count_of(seen.state);
            return LK_CANAL_OK;
        }
    }
}

uint32_t lk_canal_look(lk_canal *canal) {
    return canal->seal == HANDLE_SEAL ? lk_canal_look_for_dead(canal) : 0;
}

bool lk_canal_may_have_dead(lk_canal *canal, uint32_t checks_max) {
    return canal->seal == HANDLE_SEAL && lk_canal_dead_are_possible(canal, checks_max);
}

/* ---- listing --------------------------------------------------------------------------------- */

/* A listed entry and what it points to. */
struct sight {
    lk_canal_entry entry;
    uint64_t key[KEY_WORDS + 1];
    uint64_t label[LABEL_WORDS + 1];
};

static bool see_key(const struct lk_canal_slot *slot, struct sight *sight) {
    uint32_t size = atomic_load_explicit(&slot->key_size, memory_order_relaxed);

    if (size == 0 || size > LK_CANAL_KEY_BYTES_MAX) {
        return false;
    }
    memset(sight->key, 0, sizeof sight->key);
    for (uint32_t i = 0; i < (size + 7) / 8; i++) {
        sight->key[i] = atomic_load_explicit(&slot->key[i], memory_order_relaxed);
    }
    ((char *)sight->key)[size] = '\0';
    sight->entry.key = (const char *)sight->key;
    sight->entry.key_size = size;
    return true;
}

static void see_holder(const struct lk_canal_region *region, uint32_t holder, struct sight *sight) {
    const struct lk_canal_member *member = &region->holders[holder];
    struct lk_canal_pair word = lk_canal_word_read(&member->word);
    uint32_t process = (uint32_t)word.state - 1;

    for (uint32_t i = 0; i < LABEL_WORDS; i++) {
        sight->label[i] = atomic_load_explicit(&member->label[i], memory_order_relaxed);
    }
    sight->label[LABEL_WORDS] = 0;
    sight->entry.label = (const char *)sight->label;
    sight->entry.joined_unix_ms =
        atomic_load_explicit(&member->joined_unix_ms, memory_order_relaxed);
    sight->entry.thread = (int32_t)(word.state >> 32);
    sight->entry.process =
        process < region->holder_count
            ? atomic_load_explicit(&region->processes[process].pid, memory_order_relaxed)
            : 0;
}

/* False: the entry holds nothing, or changed meanwhile. */
static bool see(const struct lk_canal_region *region, uint32_t entry, struct sight *ret_sight) {
    const struct lk_canal_record *record = &region->entries[entry];
    uint64_t stamp = atomic_load_explicit(&record->stamp, memory_order_acquire);
    uint32_t slot = atomic_load_explicit(&record->slot, memory_order_relaxed);
    uint64_t chunk =
        atomic_load_explicit(&region->chunks[entry / CHUNK_ENTRIES], memory_order_acquire);

    if (lk_canal_kind_of(stamp) != KIND_HELD || slot >= region->slot_count
        || !lk_canal_is_owned(chunk) || lk_canal_owner_of(chunk) >= region->holder_count
        || !see_key(&region->slots[slot], ret_sight)) {
        return false;
    }
    see_holder(region, lk_canal_owner_of(chunk), ret_sight);
    ret_sight->entry.operation = stamp >> KIND_BITS;
    ret_sight->entry.units = atomic_load_explicit(&record->units, memory_order_relaxed);
    ret_sight->entry.limit = atomic_load_explicit(&record->limit, memory_order_relaxed);
    ret_sight->entry.mark = atomic_load_explicit(&record->mark, memory_order_relaxed);
    /* While the entry is held, its slot keeps its key, and its chunk keeps its holder. */
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&record->stamp, memory_order_relaxed) == stamp;
}

lk_canal_status lk_canal_list(lk_canal *canal,
                              bool (*visit)(void *context, const lk_canal_entry *entry),
                              void *context) {
    const struct lk_canal_region *region = &canal->region;
    uint32_t top;

    if (canal->seal != HANDLE_SEAL) {
        return LK_CANAL_LEFT;
    }
    top = lk_canal_top(&region->head->chunk_top, region->chunk_count);
    for (uint32_t chunk = 0; chunk < top; chunk++) {
        if (!lk_canal_is_owned(
                atomic_load_explicit(&region->chunks[chunk], memory_order_acquire))) {
            continue;
        }
        for (uint32_t i = 0; i < CHUNK_ENTRIES; i++) {
            struct sight sight;

            if (see(region, chunk * CHUNK_ENTRIES + i, &sight) && !visit(context, &sight.entry)) {
                return LK_CANAL_OK;
            }
        }
    }
    return LK_CANAL_OK;
}

/* ---- figures --------------------------------------------------------------------------------- */

lk_canal_status lk_canal_measure(lk_canal *canal, lk_canal_figures *ret_figures) {
    const struct lk_canal_region *region = &canal->region;
    lk_canal_figures figures = {.version = LK_CANAL_VERSION};

    if (canal->seal != HANDLE_SEAL) {
        return LK_CANAL_LEFT;
    }
    figures.keys = (region->slot_count - 1) / 3 * 2 + (region->slot_count - 1) % 3;
    figures.holders = region->holder_count;
    figures.permits = region->entry_count;
    figures.bytes = region->bytes;
    for (uint32_t i = 0; i < region->slot_count; i++) {
        uint64_t state = atomic_load_explicit(&region->slots[i].word.state, memory_order_relaxed);

        figures.keys_held += lk_canal_count_of(state) != 0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < region->holder_count; i++) {
        uint64_t state = atomic_load_explicit(&region->holders[i].word.state, memory_order_relaxed);
        uint64_t word = atomic_load_explicit(&region->processes[i].word, memory_order_relaxed);

        figures.holders_in += state != 0 ? 1 : 0;
        figures.processes_in += lk_canal_is_owned(word) ? 1 : 0;
    }
    for (uint32_t i = 0; i < region->chunk_count; i++) {
        uint64_t word = atomic_load_explicit(&region->chunks[i], memory_order_relaxed);

        figures.permits_taken += lk_canal_is_owned(word) ? CHUNK_ENTRIES : 0;
    }
    *ret_figures = figures;
    return LK_CANAL_OK;
}

uint64_t lk_canal_draw(lk_canal *canal) {
    struct timespec now;
    uint64_t wall_us;
    uint64_t last;
    uint64_t next;

    if (canal->seal != HANDLE_SEAL) {
        return 0;
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    wall_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    last = atomic_load(&canal->region.head->drawn);
    do {
        next = last + 1 > wall_us ? last + 1 : wall_us;
    } while (!atomic_compare_exchange_weak(&canal->region.head->drawn, &last, next));
    return next;
}

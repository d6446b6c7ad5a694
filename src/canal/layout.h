/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a region, and its invariants. README.md describes the protocol.
 *
 * Every index is checked against bounds that were verified when the region was opened. A number
 * read from the region is never trusted to be within them.
 *
 *   head | processes | holders | chunks | gates | tags | slots | entries
 *
 * An operation has a number of its own, drawn once in the life of the region. Number and kind
 * together are its stamp. An entry's stamp says what its holder is doing or has done:
 *
 *   FREE -> ACQUIRING -> HELD -> RELEASING -> FREE      a permit; one number for one round
 *   FREE -> INSERTING -> FREE                           a key is being entered
 *
 * A slot's word is its key's count with the entry and stamp of its last writer. Invariants:
 *   S1  An operation whose stamp is in a slot's word has taken effect. The entry it names advances
 *       (ACQUIRING to HELD, RELEASING to FREE) before any process overwrites that word.
 *   S2  So an ACQUIRING or RELEASING entry whose stamp is not in its slot's word has taken no
 *       effect, if the entry is still unchanged after the word was read.
 *   S3  A slot's count is the units of all HELD entries of that slot, of ACQUIRING ones whose
 *       stamp is there, and of RELEASING ones whose stamp is not, and has not been (S1).
 *   S4  Of one key there is at most one LIVE slot, within KEY_REACH slots from its home.
 */
#ifndef LK_CANAL_LAYOUT_H
#define LK_CANAL_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lockkeeper/canal.h"

/* ---- a word of two halves -------------------------------------------------------------------- */

/*
 * The primitive that the region is built on: a word of two halves, compared and swapped as one.
 *
 * The halves are read one after the other, so the pair that is read may be torn. That does no harm:
 * a swap compares both halves, and a stamp (the lower half) is never written to two words, or twice
 * to one word, so it identifies its operation. Where a torn pair would matter, the reader reads
 * twice.
 *
 * C knows no atomic access to a half of a word that is swapped as one. Both machines define it: an
 * aligned load of 8 bytes takes all of them from one write, and loads of each size see the writes
 * of a location in one order. An acquire load that reads a swap sees what came before the swap.
 */

struct lk_canal_pair {
    uint64_t stamp;
    uint64_t state;
};

struct lk_canal_word {
    _Alignas(16) _Atomic uint64_t stamp;
    _Atomic uint64_t state;
};

static inline struct lk_canal_pair lk_canal_word_read(const struct lk_canal_word *word) {
    struct lk_canal_pair pair;

    pair.stamp = atomic_load_explicit(&word->stamp, memory_order_acquire);
    pair.state = atomic_load_explicit(&word->state, memory_order_acquire);
    return pair;
}

/* Whether the word had both halves at one moment between lk_canal_word_read() and this call. */
static inline bool lk_canal_word_is_still(const struct lk_canal_word *word,
                                          struct lk_canal_pair pair) {
    return atomic_load_explicit(&word->stamp, memory_order_acquire) == pair.stamp
           && atomic_load_explicit(&word->state, memory_order_acquire) == pair.state;
}

#if defined(__clang__)
#if __has_feature(thread_sanitizer)
#define UNSANITIZED __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define UNSANITIZED
#endif
#else
#define UNSANITIZED __attribute__((no_sanitize("thread")))
#endif

/*
 * Also a full barrier, whether it swaps or not: what precedes it is ordered before its write, and
 * what follows it after its write.
 *
 * x86-64: `lock cmpxchg16b` is one. aarch64: gcc calls a function of libgcc, which uses `caspal`
 * where the processor has it, and that is one; else `ldxp` and `stlxp` in a loop, with a `dmb ish`
 * behind them. clang's loop has only acquire and release: a later store could become visible before
 * the swap's own write, so its barrier is here. None takes a lock, as libatomic does for _Atomic
 * types of 16 bytes: that lock is of one process. The build does not link libatomic.
 *
 * On aarch64 a mismatch may have been read torn: `ldxp` reads as one only if `stlxp` succeeds. Then
 * the word was written during this call, so at one moment in it the word was not `from`, and false
 * is the right answer for that moment.
 *
 * ThreadSanitizer's own swap of 16 bytes takes a lock of one process, which does not exclude other
 * processes, so it is disabled here. It would find nothing more, because all shared data is atomic.
 */
UNSANITIZED static inline bool
lk_canal_word_swap(struct lk_canal_word *word, struct lk_canal_pair from, struct lk_canal_pair to) {
    __extension__ typedef unsigned __int128 __attribute__((may_alias)) whole;

    bool is_swapped =
        __sync_bool_compare_and_swap((whole *)(void *)word, (whole)from.state << 64 | from.stamp,
                                     (whole)to.state << 64 | to.stamp);

#if defined(__clang__) && !defined(__x86_64__)
    atomic_thread_fence(memory_order_seq_cst);
#endif
    return is_swapped;
}

enum {
    LK_CANAL_VERSION = 1,
    CHUNK_ENTRIES = 64,
    KEY_WORDS = LK_CANAL_KEY_BYTES_MAX / 8,
    LABEL_WORDS = LK_CANAL_LABEL_BYTES_MAX / 8,
    KEY_REACH = 512, /* slots; two in three are used at most, so runs do not grow that long */
    NONE = 0x7fffffff,
};

/* ---- stamps ---------------------------------------------------------------------------------- */

enum lk_canal_kind {
    KIND_FREE = 0,
    KIND_INSERTING = 1,
    KIND_ACQUIRING = 2,
    KIND_HELD = 3,
    KIND_RELEASING = 4,
};

enum { KIND_BITS = 3, BLOCK_BITS = 16 /* operations drawn at a time */ };
#define KIND_MASK ((UINT64_C(1) << KIND_BITS) - 1)

static inline uint64_t lk_canal_stamp(uint64_t stamp, enum lk_canal_kind kind) {
    return (stamp & ~KIND_MASK) | (uint64_t)kind;
}

static inline enum lk_canal_kind lk_canal_kind_of(uint64_t stamp) {
    return (enum lk_canal_kind)(stamp & KIND_MASK);
}

/* ---- the states of slots --------------------------------------------------------------------- */

enum lk_canal_use {
    USE_FREE = 0,     /* no key; with stamp 0: never had one */
    USE_RESERVED = 1, /* a holder is entering a key */
    USE_LIVE = 2,     /* has a key; with count 0 it may be given to another */
};

static inline uint64_t lk_canal_state(enum lk_canal_use use, uint32_t count, uint32_t entry) {
    return (uint64_t)use << 62 | (uint64_t)count << 32 | entry;
}

static inline enum lk_canal_use lk_canal_use_of(uint64_t state) {
    return (enum lk_canal_use)(state >> 62);
}

static inline uint32_t lk_canal_count_of(uint64_t state) {
    return (uint32_t)(state >> 32) & 0x3fffffff;
}

static inline uint32_t lk_canal_entry_of(uint64_t state) {
    return (uint32_t)state;
}

/* ---- owners ---------------------------------------------------------------------------------- */

/* Words of processes and chunks: a generation that only grows, and the owner + 1 (0: none). */
enum { OWNER_BITS = 16 };

static inline uint64_t lk_canal_owned(uint64_t before, uint32_t owner) {
    return ((before >> OWNER_BITS) + 1) << OWNER_BITS | (owner + 1);
}

static inline uint64_t lk_canal_disowned(uint64_t before) {
    return before >> OWNER_BITS << OWNER_BITS;
}

static inline bool lk_canal_is_owned(uint64_t word) {
    return lk_canal_disowned(word) != word;
}

static inline uint32_t lk_canal_owner_of(uint64_t word) {
    return (uint32_t)(word & ((1u << OWNER_BITS) - 1)) - 1;
}

/* ---- records --------------------------------------------------------------------------------- */

struct lk_canal_head {
    char magic[8];
    uint32_t version;
    uint32_t endian;
    uint64_t bytes;
    uint64_t seed; /* of the hash */
    uint32_t keys;
    uint32_t holders;
    uint32_t permits; /* a multiple of CHUNK_ENTRIES */
    uint32_t reserved;
    _Alignas(128) _Atomic uint64_t block; /* the last block of operation numbers given out */
    _Alignas(128) _Atomic uint64_t drawn; /* lk_canal_draw() */
    /* Nothing above these has been used: searches end here. They only grow. */
    _Alignas(128) _Atomic uint32_t process_top;
    _Atomic uint32_t holder_top;
    _Atomic uint32_t chunk_top;
};

/* Alive while it holds a lock on the byte of its index (alive.h). */
struct lk_canal_process {
    _Atomic uint64_t word; /* owned by itself */
    _Atomic uint64_t namespace;
    _Atomic int32_t pid;
};

/* Its word's stamp is a generation that only grows; its state, process + 1 | thread << 32, or 0. */
struct lk_canal_member {
    _Alignas(128) struct lk_canal_word word;
    _Atomic int64_t joined_unix_ms;
    _Atomic uint64_t label[LABEL_WORDS];
};

struct lk_canal_slot {
    _Alignas(128) struct lk_canal_word word;
    _Atomic uint64_t hash;
    _Atomic uint32_t key_size;
    _Atomic uint32_t waiting; /* a futex: 1 while a call may sleep on this key */
    _Atomic uint64_t key[KEY_WORDS];
};

struct lk_canal_record {
    _Alignas(32) _Atomic uint64_t stamp;
    _Atomic uint32_t slot; /* of a free entry: the next free one of its holder */
    _Atomic uint32_t units;
    _Atomic uint32_t limit;
    _Atomic uint64_t mark;
};

/* ---- the mapping of a region in one process -------------------------------------------------- */

struct lk_canal_region {
    struct lk_canal_head *head;
    struct lk_canal_process *processes; /* as many as holders */
    struct lk_canal_member *holders;
    _Atomic uint64_t *chunks;    /* owned by holders */
    struct lk_canal_word *gates; /* one for many homes: the last key entered there */
    _Atomic uint32_t *tags;      /* a slot's hash in short */
    struct lk_canal_slot *slots;
    struct lk_canal_record *entries;
    uint64_t bytes;
    uint64_t seed;
    uint32_t holder_count;
    uint32_t chunk_count;
    uint32_t gate_count; /* a power of two */
    uint32_t slot_count;
    uint32_t entry_count;
    uint32_t reach;
};

#endif

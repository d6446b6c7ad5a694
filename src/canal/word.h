/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef LK_CANAL_WORD_H
#define LK_CANAL_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif

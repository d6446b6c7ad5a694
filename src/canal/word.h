/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The primitive that the region is built on: a word of two halves, compared and swapped as one.
 *
 * The halves are read one after the other, so the pair that is read may be torn. That does no harm:
 * a swap compares both halves, and a stamp (the lower half) is never written to two words, or twice
 * to one word, so it identifies its operation. Where a torn pair would matter, the reader reads
 * twice.
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
 * Also a full barrier. ThreadSanitizer's own swap of 16 bytes takes a lock of one process, which
 * does not exclude other processes, so it is disabled here. It would find nothing more, because all
 * shared data is atomic.
 */
UNSANITIZED static inline bool
lk_canal_word_swap(struct lk_canal_word *word, struct lk_canal_pair from, struct lk_canal_pair to) {
    __extension__ typedef unsigned __int128 __attribute__((may_alias)) whole;

    return __sync_bool_compare_and_swap((whole *)(void *)word, (whole)from.state << 64 | from.stamp,
                                        (whole)to.state << 64 | to.stamp);
}

#endif

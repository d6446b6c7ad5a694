/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one primitive that the region is built on: a word of two halves, compared and swapped as one.
 *
 * Halves are read one after the other, so what is read may be torn. Nobody minds: a swap compares
 * both halves, and a stamp (the lower half) is never written to two words or twice to one, so that
 * it says by itself whose it is. Where a torn pair would matter, the reader looks twice.
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

/* Whether both halves were there at one moment, between this call and lk_canal_word_read(). */
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
 * A full barrier, too. ThreadSanitizer's own swap of 16 bytes takes a lock of its process, which is
 * none between processes: it is kept out. It would see no more, as all that is shared is atomic.
 */
UNSANITIZED static inline bool
lk_canal_word_swap(struct lk_canal_word *word, struct lk_canal_pair from, struct lk_canal_pair to) {
    __extension__ typedef unsigned __int128 __attribute__((may_alias)) whole;

    return __sync_bool_compare_and_swap((whole *)(void *)word, (whole)from.state << 64 | from.stamp,
                                        (whole)to.state << 64 | to.stamp);
}

#endif

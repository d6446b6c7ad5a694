/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeping on words of memory that processes share (futexes). The kernel identifies a word of a
 * mapped file by the file and the offset, so that processes in other containers are woken, too.
 *
 * A word is never written here. Its value only tells whether something happened between reading it
 * and going to sleep.
 */
#ifndef LK_BASE_WORDS_H
#define LK_BASE_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { LK_WORDS = 2 }; /* that one sleep can be on */

struct lk_word {
    const uint32_t *at; /* borrowed, and mapped for as long as a thread sleeps on it */
    uint32_t value;     /* as it was read */
};

static inline struct lk_word lk_word_read(const uint32_t *at) {
    return (struct lk_word){at, __atomic_load_n(at, __ATOMIC_SEQ_CST)};
}

/* Whether a thread can sleep on several words: since Linux 5.16, unless a sandbox forbids it. */
bool lk_words_are_known(void);

/*
 * Sleeps until one of the words is woken, or until `end` on CLOCK_MONOTONIC. Returns at once if one
 * of them has another value than the one that was read. It may also return without a reason. `own`
 * is one more word, of this process alone; NULL: none.
 */
void lk_words_sleep(const struct lk_word words[LK_WORDS], const struct lk_word *own,
                    const struct timespec *end);

/* Ends every sleep on the word, in all processes that have it mapped. */
void lk_words_wake(const uint32_t *at);

#endif

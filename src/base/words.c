/* SPDX-License-Identifier: Apache-2.0 */
/* Futexes. The C library has no functions for them. */
#include "base/words.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 5.16; the headers may be older than the kernel. */
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
enum { WORD_IS_OF_32_BITS = 2 };

struct waited { /* struct futex_waitv of the kernel */
    uint64_t value;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
};

static bool is_known;

static void find_out(void) {
    /* No word at all is invalid where the call exists. */
    is_known = syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == EINVAL;
}

bool lk_words_are_known(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, find_out);
    return is_known;
}

static struct waited waited_of(const struct lk_word *word) {
    return (struct waited){
        .value = word->value, .address = (uintptr_t)word->at, .flags = WORD_IS_OF_32_BITS};
}

void lk_words_sleep(const struct lk_word words[LK_WORDS], const struct lk_word *own,
                    const struct timespec *end) {
    struct waited waited[LK_WORDS + 1];
    unsigned count = 0;

    for (; count < LK_WORDS; count++) {
        waited[count] = waited_of(&words[count]);
    }
    if (own != NULL) {
        waited[count++] = waited_of(own);
    }
    (void)syscall(SYS_futex_waitv, waited, count, 0, end, CLOCK_MONOTONIC);
}

void lk_words_wake(const uint32_t *at) {
    (void)syscall(SYS_futex, at, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fast keyed hash for short strings: 64-bit multiply-and-fold over eight bytes at a time, after
 * the construction of wyhash (Wang Yi, public domain). With a secret seed, clients that choose
 * names cannot choose collisions. The result depends on the machine's byte order: it is for tables
 * in memory, never stored or sent.
 */
#ifndef LK_BASE_HASH_H
#define LK_BASE_HASH_H

#include <stdint.h>

#include "base/slice.h"

static inline uint64_t lk_hash_fold(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t lk_hash_number(uint64_t seed, uint64_t number) {
    return lk_hash_fold(number ^ UINT64_C(0xA0761D6478BD642F), seed ^ UINT64_C(0xE7037ED1A0B428DB));
}

static inline uint64_t lk_hash_bytes(uint64_t seed, struct lk_slice text) {
    uint64_t state = lk_hash_number(seed, text.size);
    size_t at = 0;
    uint64_t word = 0;

    for (; text.size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, text.bytes + at, sizeof word);
        state = lk_hash_number(state, word);
    }
    word = 0;
    if (text.size > at) {
        memcpy(&word, text.bytes + at, text.size - at);
    }
    return lk_hash_number(state, word);
}

#endif

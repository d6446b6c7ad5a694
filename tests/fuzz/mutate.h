/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs made of other inputs: the same corpus and the same number give the same inputs in the same
 * order.
 */
#ifndef LK_TESTS_FUZZ_MUTATE_H
#define LK_TESTS_FUZZ_MUTATE_H

#include "base/random.h"
#include "corpus.h"

/* Fills `bytes` with the next one and returns its size. */
size_t mutate(const struct corpus *corpus, struct lk_random *random, uint8_t bytes[FUZZ_INPUT_MAX]);

#endif

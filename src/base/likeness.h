/* SPDX-License-Identifier: Apache-2.0 */
/* How similar a mistyped word is to a known one, for "did you mean". */
#ifndef LK_BASE_LIKENESS_H
#define LK_BASE_LIKENESS_H

#include <stddef.h>
#include <stdint.h>

#define LK_LIKENESS_NONE SIZE_MAX

/*
 * How many characters must be put in, left out or replaced to make `known` of the first `size`
 * bytes of `word`; a known word that only goes on where `word` ends counts as one. LK_LIKENESS_NONE
 * when they are too different for a suggestion.
 */
size_t lk_likeness(const char *word, size_t size, const char *known);

#endif

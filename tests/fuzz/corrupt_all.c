/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target of damaged stores, on every column of every table with every kind of nonsense:
 * few enough to leave none to chance. TAP on stdout, a line for each column.
 */
#include "store_image.h"

enum { CORRUPTS = 192, ALL_ROWS = 0 }; /* of an input's bytes: store_image.c */

/* The byte that selects the place and begins a change by SQL. */
static uint8_t byte_of(uint8_t place) {
    uint8_t byte = CORRUPTS;

    while (byte % store_image_place_count() != place) {
        byte++;
    }
    return byte;
}

static void corrupt_with_everything(uint8_t place) {
    for (uint8_t nonsense = 0; nonsense < store_image_nonsense_count(); nonsense++) {
        /* A minute later, on the same boot and on another. */
        for (uint8_t manner = 1; manner <= 3; manner += 2) {
            const uint8_t input[] = {manner, byte_of(place), nonsense, ALL_ROWS};
            (void)printf("# %s = %s\n", store_image_place(place), store_image_nonsense(nonsense));
            (void)fflush(stdout);
            (void)LLVMFuzzerTestOneInput(input, sizeof input);
        }
    }
}

int main(void) {
    (void)printf("1..%d\n", store_image_place_count());
    for (uint8_t place = 0; place < store_image_place_count(); place++) {
        corrupt_with_everything(place);
        (void)printf("ok %d - %s\n", place + 1, store_image_place(place));
    }
    return EXIT_SUCCESS;
}

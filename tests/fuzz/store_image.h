/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small store as a killed process leaves it: its file and the write-ahead log beside it, in
 * memory; and every way to damage them.
 */
#ifndef LK_TESTS_FUZZ_STORE_IMAGE_H
#define LK_TESTS_FUZZ_STORE_IMAGE_H

#include "../sqlite/fixture.h"
#include "target.h"

enum { STORE_IMAGE_BYTES_MAX = 256 * 1024, STORE_IMAGE_EDITS_MAX = 24 };

#define STORE_IMAGE_BOOT "boot-1"

struct store_image_file {
    size_t size;
    uint8_t bytes[STORE_IMAGE_BYTES_MAX];
};

struct store_image {
    struct store_image_file base;
    struct store_image_file log;
};

/* The one at which nothing is wrong. `clock` is left where its last event was. */
void store_image_make(const struct fixture *fixture, struct fixture_clock *clock,
                      struct store_image *ret_image);

/*
 * Changes bytes of the image as `data` says, four bytes a change. Returns how many bytes of `data`
 * it took; what is left are changes for store_image_corrupt().
 */
size_t store_image_damage(struct store_image *image, const uint8_t *data, size_t size);

/* Puts the image in place of the store's files. */
void store_image_put(const struct store_image *image, const struct fixture *fixture);

/* Writes nonsense into rows of the file in place, by SQL, three bytes a row. */
void store_image_corrupt(const struct fixture *fixture, const uint8_t *data, size_t size);

/* How many places and how many kinds of nonsense it knows: its first two bytes, counted from 0. */
uint8_t store_image_place_count(void);
uint8_t store_image_nonsense_count(void);

/* What it writes, in words. */
const char *store_image_place(uint8_t place);
const char *store_image_nonsense(uint8_t nonsense);

/* A number made of all that the file's tables say; false if anything is wrong with the file. */
bool store_image_digest(const struct fixture *fixture, uint64_t *ret_digest);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions as files: names, making one whole before it is seen, judging one that is there.
 */
#ifndef LK_CANAL_REGION_H
#define LK_CANAL_REGION_H

#include "canal/layout.h"

/* A sentence for people; text may be NULL. Returns the status. */
lk_canal_status lk_canal_say(char *text, lk_canal_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum { LK_CANAL_PATH_SIZE = 16 + LK_CANAL_NAME_BYTES_MAX };

/* LK_CANAL_OK with the file's path; INVALID. */
lk_canal_status lk_canal_path_of(const char *name, char ret_path[LK_CANAL_PATH_SIZE], char *text);

/* What is left open is named, and what is named lies within bounds; or INVALID. */
lk_canal_status lk_canal_options_check(const lk_canal_options *options,
                                       lk_canal_options *ret_options, char *text);

/* Opens the file for reading and writing, makes it where it may. LK_CANAL_OK with *ret_file. */
lk_canal_status lk_canal_file_open(const char *path, const lk_canal_options *options, int *ret_file,
                                   char *text);

/*
 * Maps the file, if it is a region of this version and whole, where forks do not follow. The
 * mapping keeps the open file, and with it what is locked through it, alive. FOREIGN, SYSTEM.
 */
lk_canal_status lk_canal_region_map(int file, struct lk_canal_region *ret_region, char *text);

void lk_canal_region_unmap(struct lk_canal_region *region);

#endif

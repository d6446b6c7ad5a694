/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions as files: their names, creating one that is complete before it becomes visible, and
 * checking an existing one.
 */
#ifndef LK_CANAL_REGION_H
#define LK_CANAL_REGION_H

#include "canal/layout.h"

/* Writes an explanation to text, which may be NULL. Returns the status. */
lk_canal_status lk_canal_say(char *text, lk_canal_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

enum { LK_CANAL_PATH_SIZE = 16 + LK_CANAL_NAME_BYTES_MAX };

/* LK_CANAL_OK with the file's path; INVALID. */
lk_canal_status lk_canal_path_of(const char *name, char ret_path[LK_CANAL_PATH_SIZE], char *text);

/* Fills in the defaults and checks the bounds. LK_CANAL_OK with *ret_options; INVALID. */
lk_canal_status lk_canal_options_check(const lk_canal_options *options,
                                       lk_canal_options *ret_options, char *text);

/* Opens the file for reading and writing, and creates it if allowed. LK_CANAL_OK with *ret_file. */
lk_canal_status lk_canal_file_open(const char *path, const lk_canal_options *options, int *ret_file,
                                   char *text);

/*
 * Maps the file, if it is a complete region of this version. Forks do not inherit the mapping. The
 * mapping keeps the file open, and so keeps the lock taken through it. FOREIGN, SYSTEM.
 */
lk_canal_status lk_canal_region_map(int file, struct lk_canal_region *ret_region, char *text);

void lk_canal_region_unmap(struct lk_canal_region *region);

#endif

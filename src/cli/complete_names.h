/* SPDX-License-Identifier: Apache-2.0 */
/* Names for completion: out of a store, and of files. */
#ifndef LK_CLI_COMPLETE_NAMES_H
#define LK_CLI_COMPLETE_NAMES_H

#include <stddef.h>

#include "client/names.h"

/* ---- out of a store -------------------------------------------------------------------------- */

/*
 * Names out of a store for completion, sorted, each once. `url` is that of -S, or NULL. A store
 * that is not there is not made; one that cannot be read has no names. The caller ends what is
 * returned with lk_names_done().
 */

/* The owners of live requests. */
struct lk_names lk_complete_owners(const char *url);

/* The paths of live requests below the complete segments of `word`, and the paths above them. */
struct lk_names lk_complete_paths(const char *url, const char *word);

/* The queues whose paths may begin with `word`. */
struct lk_names lk_complete_queues(const char *url, const char *word);

/* The same, and the paths above them. */
struct lk_names lk_complete_queue_prefixes(const char *url, const char *word);

/* Values whose paths may begin with `word`, or what lk_complete_paths() gives. */
struct lk_names lk_complete_values_and_paths(const char *url, const char *word);

/* Values whose paths may begin with `word`, and the paths above them. */
struct lk_names lk_complete_value_prefixes(const char *url, const char *word);

struct lk_names lk_complete_items(const char *url, const char *queue, enum lk_names_of_items which);

/* ---- files ----------------------------------------------------------------------------------- */

/* Names of files that begin as a word does. */

/*
 * The paths of at most `max` files that begin with `path`, sorted; directories end in a slash. Free
 * with lk_complete_files_free(). NULL: there are none, or memory is exhausted.
 */
char **lk_complete_files(const char *path, size_t max, size_t *ret_count);
void lk_complete_files_free(char **paths, size_t count);

#endif

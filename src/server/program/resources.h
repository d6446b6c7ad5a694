/* SPDX-License-Identifier: Apache-2.0 */
/* What clients may cost: bounds that are not configured, open files, and memory. */
#ifndef LK_SERVER_PROGRAM_RESOURCES_H
#define LK_SERVER_PROGRAM_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "server/options.h"

/* ---- defaults -------------------------------------------------------------------------------- */

/* Returns the options with a default for each that is 0. `files`: how many may be open. */
struct lk_server_options lk_server_defaults_fill(const struct lk_server_options *options,
                                                 uint64_t files);

/* The options in force, with what lk_server_change() takes from the changed ones. */
struct lk_server_options lk_server_defaults_change(const struct lk_server_options *options,
                                                   const struct lk_server_options *changed,
                                                   uint64_t files);

/* Those of the options that bound the core. */
struct lk_core_bounds lk_server_core_bounds(const struct lk_server_options *options);

/*
 * Writes a warning to stderr if `files` is too small for all connections that the bounds allow.
 * `is_default`: the bound of connections was not configured and was made to fit. The warning is
 * then written only if that bound is small.
 */
void lk_server_defaults_tell(const struct lk_server_options *options, bool is_default,
                             uint64_t files);

/* ---- open files and memory ------------------------------------------------------------------- */

/* What many clients make the program ask of the system. */

struct event;
struct lk_server;

/* How many files the service may have open, each connection takes one: raises the soft limit to the
 * hard one, and returns it. */
uint64_t lk_files_raise(void);

/* Returns the memory of many clients' buffers to the system after a peak. */
struct lk_trim {
    struct lk_server *server;
    struct event *timer;
    uint64_t clients_peak; /* the most since the timer last fired */
};

/* false: memory is exhausted. The timer fires every `seconds`. */
bool lk_trim_begin(struct lk_trim *trim, struct lk_server *server, int64_t seconds);
void lk_trim_end(struct lk_trim *trim); /* accepts one that did not begin */

/* At the end of each turn. */
void lk_trim_note(struct lk_trim *trim);

#endif

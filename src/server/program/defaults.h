/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults for the bounds that are not configured. */
#ifndef LK_SERVER_PROGRAM_DEFAULTS_H
#define LK_SERVER_PROGRAM_DEFAULTS_H

#include "server/options.h"

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

#endif

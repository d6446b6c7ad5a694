/* SPDX-License-Identifier: Apache-2.0 */
/* lk serve --bound NAME=N: the bounds of a service by name. */
#ifndef LK_CLI_SERVE_BOUNDS_H
#define LK_CLI_SERVE_BOUNDS_H

#include "server/options.h"

/* Sets one bound of the options. LK_OK; LK_INVALID: no such name, or no number; says which. */
lk_outcome lk_serve_bound_set(struct lk_server_options *options, const char *text, lk_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Where a service may listen, and where it keeps what it knows. */
#ifndef LK_CLI_SERVE_ADDRESS_H
#define LK_CLI_SERVE_ADDRESS_H

#include "lockkeeper/terms.h"

/*
 * LK_OK: everybody who can reach HOST:PORT is on this machine. LK_DENIED: others can, too, and it
 * is nowhere said who they are; LK_INVALID: it is no address.
 */
lk_outcome lk_serve_address_check(const char *address, lk_error *error);

/*
 * The directory of a service's file, made if it is not there (0700): `directory`, or NULL for
 * lockkeeper/service in the user's state directory. LK_OK with *ret_directory for free().
 */
lk_outcome lk_serve_directory_make(const char *directory, char **ret_directory, lk_error *error);

#endif

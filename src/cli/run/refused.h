/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that lk needs, where an old kernel or the filter of a container refuses them. */
#ifndef LK_CLI_RUN_REFUSED_H
#define LK_CLI_RUN_REFUSED_H

#include "lockkeeper/lockkeeper.h"

/*
 * Why a descriptor for signals, time or events could not be had, with errno: LK_UNSUPPORTED with
 * the name of the system call that is refused, else LK_INTERNAL with the text and the errno.
 */
lk_outcome lk_run_explain_lack(const char *text, lk_error *error);

#endif

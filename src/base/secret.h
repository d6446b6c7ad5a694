/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets, compared so that the time tells nothing about them. */
#ifndef LK_BASE_SECRET_H
#define LK_BASE_SECRET_H

#include "base/slice.h"

/* Takes the same time for every wrong `said`; it depends on the secret's size alone. */
bool lk_secret_equal(const char *secret, struct lk_slice said);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka, with what it wants to have been included before it. */
#ifndef LK_TESTS_PEOPLE_UNIT_H
#define LK_TESTS_PEOPLE_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif

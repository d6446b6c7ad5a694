/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of an answer to INFO: lines of `name:value`. */
#ifndef LK_ENGINE_SERVICE_INFO_H
#define LK_ENGINE_SERVICE_INFO_H

#include <stdint.h>

#include "base/slice.h"

/* The text behind `NAME:` up to the end of its line; no bytes: there is no such line. */
struct lk_slice lk_service_info_text(struct lk_slice info, const char *name);

/* A number of that name; `otherwise`: there is none, as with a service of another version. */
int64_t lk_service_info_number(struct lk_slice info, const char *name, int64_t otherwise);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The script's bytes. */
#include "engine/redis/script.h"

#include "script_text.h"

const char *const lk_redis_script = script_text;
const char *const lk_redis_script_sha = script_sha;

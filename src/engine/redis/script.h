/* SPDX-License-Identifier: Apache-2.0 */
/* The script: the rules as the servers run them. The build makes it from the Lua files. */
#ifndef LK_ENGINE_REDIS_SCRIPT_H
#define LK_ENGINE_REDIS_SCRIPT_H

extern const char *const lk_redis_script;
extern const char *const lk_redis_script_sha; /* SHA-1, 40 digits */

#endif

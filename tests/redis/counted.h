/* SPDX-License-Identifier: Apache-2.0 */
/* What a Redis server counts between two moments (INFO commandstats). */
#ifndef LK_TESTS_REDIS_COUNTED_H
#define LK_TESTS_REDIS_COUNTED_H

#include <hiredis/hiredis.h>

struct counted {
    long long calls;    /* of the script */
    long long commands; /* that the script made */
    long long messages; /* of them: PUBLISH */
};

void begin_count(redisContext *server);
struct counted end_count(redisContext *server);

#endif

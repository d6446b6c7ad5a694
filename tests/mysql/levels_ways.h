/* SPDX-License-Identifier: Apache-2.0 */
/* Ways into a transaction, and ways in which a statement can make a call. */
#ifndef LK_TESTS_MYSQL_LEVELS_WAYS_H
#define LK_TESTS_MYSQL_LEVELS_WAYS_H

#include "../levels/levels.h"

struct levels_begin {
    const char *sql; /* statements with | between */
    bool must_decide;
};

#define LEVELS_LEVEL "SET SESSION TRANSACTION ISOLATION LEVEL "
#define LEVELS_NEXT "SET TRANSACTION ISOLATION LEVEL "
#define LEVELS_RESET "SET autocommit = 1|" LEVELS_LEVEL "READ COMMITTED"
#define LEVELS_HAS_READ "|SELECT COUNT(*) FROM lk_requests"

#define LEVELS_BEGIN_WAYS                                                                          \
    {                                                                                              \
        {"START TRANSACTION", true}, {"SET autocommit = 0|SELECT 1", true},                        \
            {LEVELS_NEXT "REPEATABLE READ|START TRANSACTION" LEVELS_HAS_READ, false},              \
            {LEVELS_NEXT "REPEATABLE READ|START TRANSACTION WITH CONSISTENT SNAPSHOT", false},     \
            {LEVELS_NEXT "SERIALIZABLE|START TRANSACTION", false},                                 \
            {LEVELS_NEXT "READ UNCOMMITTED|START TRANSACTION" LEVELS_HAS_READ, false},             \
            {LEVELS_LEVEL "REPEATABLE READ|START TRANSACTION" LEVELS_HAS_READ, false},             \
            {LEVELS_LEVEL "REPEATABLE READ|START TRANSACTION" LEVELS_HAS_READ "|" LEVELS_LEVEL     \
                          "READ COMMITTED",                                                        \
             false},                                                                               \
            {LEVELS_LEVEL "REPEATABLE READ|START TRANSACTION WITH CONSISTENT SNAPSHOT"             \
                          "|" LEVELS_LEVEL "READ COMMITTED",                                       \
             false},                                                                               \
            {LEVELS_LEVEL "REPEATABLE READ|SET autocommit = 0" LEVELS_HAS_READ "|" LEVELS_LEVEL    \
                          "READ COMMITTED",                                                        \
             false},                                                                               \
            {LEVELS_LEVEL "SERIALIZABLE|START TRANSACTION|" LEVELS_LEVEL "READ COMMITTED", false}, \
            {LEVELS_LEVEL "REPEATABLE READ|START TRANSACTION READ ONLY" LEVELS_HAS_READ            \
                          "|" LEVELS_LEVEL "READ COMMITTED",                                       \
             false},                                                                               \
        {                                                                                          \
            LEVELS_LEVEL "READ UNCOMMITTED|START TRANSACTION", false                               \
        }                                                                                          \
    }

/* What the ways need, beside the store; and the plain table. Statements with | between. */
extern const char levels_ways_schema[];

/* As struct level_ops has it. */
void levels_write_calls(struct level_session *session, bool is_alone, char sql[LEVEL_SQL_MAX]);

#endif

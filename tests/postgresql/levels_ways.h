/* SPDX-License-Identifier: Apache-2.0 */
/* Ways into a transaction, and ways in which a statement can make a call. */
#ifndef LK_TESTS_POSTGRESQL_LEVELS_WAYS_H
#define LK_TESTS_POSTGRESQL_LEVELS_WAYS_H

#include "../levels/levels.h"

struct levels_begin {
    const char *sql;
    bool must_decide;
    bool changes_default; /* of the session, until the next one */
};

/* `%s`: an exported snapshot. */
#define LEVELS_BEGIN_WAYS                                                                          \
    {                                                                                              \
        {"BEGIN", true, false},                                                                    \
            {"START TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", true, false},                   \
            {"BEGIN ISOLATION LEVEL REPEATABLE READ", false, false},                               \
            {"BEGIN ISOLATION LEVEL SERIALIZABLE", false, false},                                  \
            {"BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", false, false},              \
            {"BEGIN; SET LOCAL transaction_isolation = 'serializable'", false, false},             \
            {"SET default_transaction_isolation = 'repeatable read'; BEGIN", false, true},         \
            {"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN",     \
             false, true},                                                                         \
            {"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ;"         \
             " BEGIN ISOLATION LEVEL READ COMMITTED",                                              \
             true, true},                                                                          \
            {"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE", false, false},             \
            {"BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '%s'", false,        \
             false},                                                                               \
        {                                                                                          \
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class LIMIT 1", false, false    \
        }                                                                                          \
    }

/* What the ways need, in a schema of its own; and the plain table. */
extern const char levels_ways_schema[];

/* As struct level_ops has it. */
void levels_write_calls(struct level_session *session, bool is_alone, char sql[LEVEL_SQL_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner's statement for what is done (R17), for servers whose parameters have no names: :id,
 * :token, :owner and :attempt become what the server understands. What stands in quotes, in
 * comments, or is a type cast (::) is left as it is.
 *
 * It must begin with a word that changes or reads rows, or calls: a statement that begins or ends
 * transactions, or changes the schema or the session, is refused.
 */
#ifndef LK_ENGINE_PROCEDURES_STATEMENT_H
#define LK_ENGINE_PROCEDURES_STATEMENT_H

#include "base/slice.h"
#include "lockkeeper/terms.h"

enum lk_parameter {
    LK_PARAMETER_ID,
    LK_PARAMETER_TOKEN,
    LK_PARAMETER_OWNER,
    LK_PARAMETER_ATTEMPT,
    LK_PARAMETER_COUNT
};

/* How a server reads SQL. */
struct lk_dialect {
    const char *replacements[LK_PARAMETER_COUNT];
    bool has_backslashes; /* in every string: \' is no end (MySQL); else in E'...' alone */
    bool has_dollars;     /* $tag$...$tag$ is a string (PostgreSQL) */
    bool has_backticks;   /* `...` is a name, and # begins a comment (MySQL) */
    bool nests_comments;  /* as in PostgreSQL: a comment in a comment has an end of its own */
};

enum { LK_STATEMENT_PARAMETERS_MAX = 16 };

struct lk_statement {
    char *text;   /* for free() */
    size_t count; /* parameters, in the order in which they stand there */
    enum lk_parameter parameters[LK_STATEMENT_PARAMETERS_MAX];
};

/* LK_OK; LK_INVALID with a sentence; LK_INTERNAL: memory is exhausted. */
lk_outcome lk_statement_make(struct lk_slice sql, const struct lk_dialect *dialect,
                             struct lk_statement *ret_statement, lk_error *error);

/* A CALL cannot be explained: what is wrong with it is found when it runs. */
bool lk_statement_is_call(const struct lk_statement *statement);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepared statements for calls that are made often, from their second use on a connection, so that
 * the server need not parse them each time.
 *
 * With a pooler in between, the server's session may change between two calls. Then a name may be
 * unknown, which the server reports before anything is done; or the name may be prepared already,
 * for the same call, because a name fully identifies its SQL. After either of these, the store uses
 * no names any more.
 */
#include "engine/postgresql/prepared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char *const often[] = {"lk_ask", "lk_release", "lk_renew", "lk_take",
                                    "lk_finish_claim"};

enum { OFTEN = sizeof often / sizeof often[0] };

/* What is remembered about a connection, and about a call on it. */
enum familiarity { NEW, CALLED_ONCE, NAMED };
struct memory {
    enum familiarity calls[OFTEN];
    bool has_answered; /* before: it may remember what has been replaced since */
    bool is_checked;
};

static int forget(PGEventId event, void *info, void *context) {
    (void)context;
    if (event == PGEVT_CONNDESTROY) {
        const PGEventConnDestroy *destroyed = info;
        free(PQinstanceData(destroyed->conn, forget));
    }
    return 1;
}

/* Returns NULL when memory is exhausted; then nothing is remembered. */
static struct memory *memory_of(PGconn *connection) {
    struct memory *memory = PQinstanceData(connection, forget);

    if (memory != NULL) {
        return memory;
    }
    (void)PQregisterEventProc(connection, forget, "lockkeeper", NULL); /* once is enough */
    memory = calloc(1, sizeof *memory);
    if (memory != NULL && PQsetInstanceData(connection, forget, memory) == 0) {
        free(memory);
        return NULL;
    }
    return memory;
}

/* Its index among the calls that are made often; OFTEN: it is none of them. */
static size_t find(const struct lk_procedure_call *call) {
    size_t at = 0;

    while (at < OFTEN && (call->sql != NULL || strcmp(call->name, often[at]) != 0)) {
        at++;
    }
    return at;
}

static lk_outcome give_name(struct lk_postgresql *store, PGconn *connection, const char *name,
                            const char *sql, const struct lk_patience *patience, bool *ret_is_named,
                            lk_error *error) {
    PGresult *result = NULL;
    lk_outcome outcome;

    if (PQsendPrepare(connection, name, sql, 0, NULL) == 0) {
        return lk_postgresql_lose(connection, error);
    }
    outcome = lk_postgresql_receive(connection, patience, &result, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_is_named = PQresultStatus(result) == PGRES_COMMAND_OK;
    if (!*ret_is_named) {
        atomic_store(&store->is_nameless, true);
    }
    PQclear(result);
    return LK_OK;
}

lk_outcome lk_postgresql_name(struct lk_postgresql *store, PGconn *connection,
                              const struct lk_procedure_call *call, const char *sql,
                              const struct lk_patience *patience,
                              char ret_name[LK_POSTGRESQL_NAME_MAX + 1], lk_error *error) {
    size_t at = find(call);
    struct memory *memory = NULL;
    bool is_named = false;
    lk_outcome outcome = LK_OK;

    if (at < OFTEN && !atomic_load(&store->is_nameless)
        && snprintf(ret_name, LK_POSTGRESQL_NAME_MAX + 1, "%s/%d %s", call->name,
                    call->arguments->count, store->address.schema)
               <= LK_POSTGRESQL_NAME_MAX) {
        memory = memory_of(connection);
    }
    if (memory != NULL && memory->calls[at] == CALLED_ONCE && memory->is_checked) {
        outcome = give_name(store, connection, ret_name, sql, patience, &is_named, error);
        memory->calls[at] = is_named ? NAMED : CALLED_ONCE;
    } else if (memory != NULL && memory->calls[at] == NEW) {
        memory->calls[at] = CALLED_ONCE;
    }
    if (memory == NULL || memory->calls[at] != NAMED) {
        ret_name[0] = '\0';
    }
    return outcome;
}

bool lk_postgresql_is_checked(PGconn *connection) {
    const struct memory *memory = memory_of(connection);

    return memory != NULL && memory->is_checked;
}

void lk_postgresql_set_checked(PGconn *connection) {
    struct memory *memory = memory_of(connection);

    if (memory != NULL) {
        memory->is_checked = true;
    }
}

bool lk_postgresql_is_nameless(struct lk_postgresql *store, const PGresult *result) {
    if (!lk_postgresql_has_code(result, "26000")) {
        return false;
    }
    atomic_store(&store->is_nameless, true);
    return true;
}

/*
 * 0A000 is "cached plan must not change result type". The others are of names and signatures: the
 * statement was parsed while its function was being replaced, or with what the session remembered.
 */
bool lk_postgresql_is_outdated(PGconn *connection, const PGresult *result) {
    struct memory *memory = memory_of(connection);
    bool had_answered = memory != NULL && memory->has_answered;

    if (memory != NULL) {
        memory->has_answered = true;
    }
    return had_answered && lk_postgresql_has_code(result, "0A000 42883 42P01 42703 42704");
}

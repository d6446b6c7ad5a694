/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in transactions of several levels, and the same calls in new ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "people.h"

enum { SQL_BYTES = 4096, ANSWER_BYTES = 4096, UNSUPPORTED = 30079 };

/* Ways into a transaction. All but the last ones see what was there when they began. */
static const char *const ways[][6] = {
    {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION",
     "SELECT COUNT(*) FROM lk_locks"},
    {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
     "START TRANSACTION WITH CONSISTENT SNAPSHOT"},
    {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION",
     "SELECT COUNT(*) FROM lk_work", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"},
    {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
     "START TRANSACTION WITH CONSISTENT SNAPSHOT", "CALL lk_lock_renew('stale', 'stale', 1, NULL)",
     "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"},
    {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET autocommit = 0",
     "SELECT COUNT(*) FROM lk_numbers", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"},
    {"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "START TRANSACTION"},
    {"START TRANSACTION", "SELECT COUNT(*) FROM lk_locks"},
};

enum { WAYS = sizeof ways / sizeof ways[0], SERIALIZABLE = WAYS - 2, READ_COMMITTED = WAYS - 1 };

static MYSQL_RES *run(MYSQL *connection, const char *sql) {
    MYSQL_RES *rows = NULL;

    if (mysql_query(connection, sql) == 0) {
        do {
            MYSQL_RES *next = mysql_store_result(connection);
            if (rows == NULL) {
                rows = next;
            } else {
                mysql_free_result(next);
            }
        } while (mysql_next_result(connection) == 0);
    }
    return rows;
}

static void must(MYSQL *connection, const char *sql) {
    mysql_free_result(run(connection, sql));
    if (mysql_errno(connection) != 0 && mysql_errno(connection) != UNSUPPORTED) {
        test_die("%s: %s", sql, mysql_error(connection));
    }
}

static void roll_back(MYSQL *connection) {
    must(connection, "ROLLBACK");
    must(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    must(connection, "SET autocommit = 1");
}

void people_stale_begin(struct people *people) {
    if (people->stale_way != 0 || lk_random_between(&people->random, 1, 100) > 40) {
        return;
    }
    people->stale_way = 1 + (unsigned)lk_random_between(&people->random, 0, WAYS - 1);
    roll_back(people->stale);
    for (size_t i = 0; i < 6 && ways[people->stale_way - 1][i] != NULL; i++) {
        must(people->stale, ways[people->stale_way - 1][i]);
    }
}

/* The columns of an answer that both transactions have in common; what is refused is one word. */
static void answer_of(MYSQL *connection, const char *sql, char answer[ANSWER_BYTES]) {
    static const char *const common[] = {"outcome", "value", "in_doubt", "broken", "added",
                                         "changed", "was",   "id",       "attempt"};
    MYSQL_RES *rows = run(connection, sql);
    size_t used = 0;
    MYSQL_ROW row;

    answer[0] = '\0';
    if (mysql_errno(connection) != 0) {
        (void)snprintf(answer, ANSWER_BYTES, "error %u", mysql_errno(connection));
    }
    while (rows != NULL && (row = mysql_fetch_row(rows)) != NULL) {
        for (unsigned i = 0; i < mysql_num_fields(rows); i++) {
            for (size_t name = 0; name < sizeof common / sizeof common[0]; name++) {
                if (strcmp(mysql_fetch_fields(rows)[i].name, common[name]) == 0 && used < 4000) {
                    used += (size_t)snprintf(answer + used, ANSWER_BYTES - used, " %s=%.64s",
                                             common[name], row[i] != NULL ? row[i] : "");
                }
            }
        }
    }
    mysql_free_result(rows);
}

/* One of the rows that the transaction sees; its columns are copied, as literals. False: none. */
static bool pick(struct people *people, const char *columns, const char *from, char texts[3][600]) {
    MYSQL *source = people->stale_way - 1 == SERIALIZABLE ? people->connection : people->stale;
    char sql[SQL_BYTES];
    MYSQL_RES *rows;
    MYSQL_ROW row;

    (void)snprintf(sql, sizeof sql,
                   "SELECT %s FROM %s ORDER BY SHA2(CONCAT_WS(' ', %s, %d), 256)"
                   " LIMIT 1",
                   columns, from, columns, (int)lk_random_between(&people->random, 0, 1000));
    rows = run(source, sql);
    if (rows == NULL) {
        test_die("%s: %s", sql, mysql_error(source));
    }
    row = mysql_fetch_row(rows);
    for (unsigned i = 0; row != NULL && i < mysql_num_fields(rows); i++) {
        (void)snprintf(texts[i], 600, "%s", row[i]);
    }
    mysql_free_result(rows);
    return row != NULL;
}

/* A call about a request or an item that the transaction sees, or the path of the last decision. */
static bool make_call(struct people *people, const struct lk_path *path, char sql[SQL_BYTES]) {
    static const char *const on_requests[] = {
        "CALL lk_lock_acquire(%s, %s, '{\"with_value\": true}')",
        "CALL lk_lock_acquire(%s, 'stale', '{\"with_value\": true}')",
        "CALL lk_lock_renew(%s, %s, %s, NULL)",
        "CALL lk_lock_release(%s, %s, %s, 'x', NULL)",
        "CALL lk_value_put(%s, 'x', %s, %s, NULL)",
        "CALL lk_lock_break(%s, 'stale', '{\"now\": true}')",
        "CALL lk_lock_break(%s, 'stale', NULL)"};
    static const char *const on_items[] = {
        "CALL lk_work_claim(%s, 2, 'stale', NULL)",
        "CALL lk_work_drop(%s, %s, NULL)",
        "CALL lk_work_push(%s, %s, NULL, NULL)",
        "CALL lk_work_push(%s, %s, 'x', '{\"again\": true, \"needs\": \"need\"}')",
        "CALL lk_work_push(%s, %s, NULL, '{\"replace\": true}')",
        "CALL lk_work_unpark(%s, %s, NULL)",
        "CALL lk_work_done(%s, %s, %s, NULL, NULL)",
        "CALL lk_work_done(%s, %s, %s, NULL, '{\"keep\": 600, \"result\": \"x\"}')",
        "CALL lk_work_progress(%s, %s, %s, NULL, 'x', NULL)",
        "CALL lk_work_retry(%s, %s, %s, NULL, NULL)",
        "CALL lk_work_cancel(%s, %s, 'stale', NULL)",
        "CALL lk_work_cancel(%s, %s, 'stale', '{\"now\": true}')"};
    static const char *const on_path[] = {
        "CALL lk_lock_acquire('%s', 'stale', '{\"with_value\": true}')",
        "CALL lk_lock_acquire('%s?limit=2', 'stale', NULL)",
        "CALL lk_value_put('%s', 'x', NULL, NULL, NULL)",
        "CALL lk_work_push('%s', 'stale', NULL, NULL)"};
    char texts[3][600];
    char plain[LK_PATH_BYTES_MAX + 1];

    switch (lk_random_between(&people->random, 0, 2)) {
    case 0:
        (void)snprintf(plain, sizeof plain, "%.*s", (int)path->size, path->bytes);
        (void)snprintf(sql, SQL_BYTES, on_path[lk_random_between(&people->random, 0, 3)], plain);
        return true;
    case 1:
        (void)snprintf(sql, SQL_BYTES, "%s", on_requests[lk_random_between(&people->random, 0, 6)]);
        if (!pick(people, "QUOTE(path), QUOTE(owner), token",
                  "lk_requests WHERE part_count = 1 AND held", texts)) {
            return false;
        }
        break;
    default:
        (void)snprintf(sql, SQL_BYTES, "%s", on_items[lk_random_between(&people->random, 0, 11)]);
        if (!pick(people, "QUOTE(i.queue), QUOTE(i.id), QUOTE(COALESCE(r.owner, 'none'))",
                  "lk_items AS i LEFT JOIN lk_requests AS r ON r.id = i.claim AND r.part = 1",
                  texts)) {
            return false;
        }
        break;
    }
    for (size_t i = 0; strstr(sql, "%s") != NULL; i++) {
        char *mark = strstr(sql, "%s");
        char rest[SQL_BYTES];
        (void)snprintf(rest, sizeof rest, "%s", mark + 2);
        (void)snprintf(mark, SQL_BYTES - (size_t)(mark - sql), "%s%s", texts[i], rest);
    }
    return true;
}

static bool is_refused(const char *answer) {
    static const char *const refusals[] = {" outcome=busy", " outcome=waiting", " outcome=deadlock",
                                           " outcome=full", " outcome=lost",    "error "};

    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (strncmp(answer, refusals[i], strlen(refusals[i])) == 0) {
            return true;
        }
    }
    return answer[0] == '\0' || strcmp(answer, " broken=0") == 0;
}

/* A claim does not see what has become ready since, as an ask is told `busy` by what has become
 * free: an end marks no root. It claims what is left. */
static bool is_a_part(const char *sql, const char *old, const char *new) {
    static const char claim[] = "CALL lk_work_claim(";

    return strncmp(sql, claim, strlen(claim)) == 0 && strstr(new, old) != NULL;
}

void people_stale_play(struct people *people, const struct lk_path *path) {
    char sql[SQL_BYTES];
    char old[ANSWER_BYTES];
    char new[ANSWER_BYTES];
    bool is_current;

    if (people->stale_way == 0 || lk_random_between(&people->random, 1, 100) > 50) {
        return;
    }
    is_current = people->stale_way - 1 == READ_COMMITTED;
    if (make_call(people, path, sql)) {
        answer_of(people->stale, sql, old);
        roll_back(people->stale);
        must(people->connection, "START TRANSACTION");
        answer_of(people->connection, sql, new);
        must(people->connection, "ROLLBACK");
        if (strcmp(old, new) != 0
            && (is_current || (!is_refused(old) && !is_a_part(sql, old, new)))) {
            test_die("way %u: %s answered%s, and in a new transaction%s", people->stale_way, sql,
                     old, new);
        }
        people->stale_counts[strcmp(old, new) == 0 ? 0 : 1]++;
    } else {
        roll_back(people->stale);
    }
    people->stale_way = 0;
}

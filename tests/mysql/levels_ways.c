/* SPDX-License-Identifier: Apache-2.0 */
/* Calls, and statements that make them. */
#include "levels_ways.h"

#include <stdio.h>

const char levels_ways_schema[] =
    "CREATE TABLE sections (n BIGINT AUTO_INCREMENT PRIMARY KEY, path VARCHAR(64),"
    " owner VARCHAR(16), unit_limit INT, is_held INT, KEY (path, owner, n))"
    " ENGINE = InnoDB CHARACTER SET ascii|"
    "CREATE TABLE fires (queue VARCHAR(64), id VARCHAR(8)) ENGINE = InnoDB|"
    "CREATE TRIGGER fire AFTER INSERT ON fires FOR EACH ROW"
    " CALL lk_work_push_inside(NEW.queue, NEW.id, NULL, NULL)|"
    "CREATE PROCEDURE ways_run(IN the_call TEXT) BEGIN"
    " SET @ways_call = the_call; PREPARE ways FROM @ways_call; EXECUTE ways;"
    " DEALLOCATE PREPARE ways; END|"
    "CREATE PROCEDURE ways_alone(IN the_call TEXT) BEGIN"
    " DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;"
    " SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION;"
    " SELECT COUNT(*) INTO @ways_count FROM lk_requests; CALL ways_run(the_call); COMMIT; END";

static void write_lock(const struct level_call *call, char *sql, size_t size) {
    char limit[32] = "";

    if (call->limit > 0) {
        (void)snprintf(limit, sizeof limit, "?limit=%u", call->limit);
    }
    switch (call->verb) {
    case LEVEL_RENEW:
        (void)snprintf(sql, size, "CALL lk_lock_renew('%s', '%s', NULL, '{\"or_fail\": false}')",
                       call->path, call->owner);
        break;
    case LEVEL_RELEASE:
        (void)snprintf(sql, size,
                       "CALL lk_lock_release('%s', '%s', NULL, NULLIF('%s', ''),"
                       " '{\"or_fail\": false}')",
                       call->path, call->owner, call->value);
        break;
    case LEVEL_PUT:
        (void)snprintf(sql, size,
                       "CALL lk_value_put('%s', '%s', NULL, NULL, '{\"or_fail\": false}')",
                       call->path, call->value);
        break;
    case LEVEL_BREAK:
        (void)snprintf(sql, size, "CALL lk_lock_break('%s', 'a test', '{\"now\": true}')",
                       call->path);
        break;
    default:
        (void)snprintf(sql, size,
                       "CALL lk_lock_acquire('%s%s', '%s', '{\"ttl\": 3600, \"style\": \"%s\","
                       " \"with_value\": %s}')",
                       call->path, limit, call->owner, call->verb == LEVEL_TRY ? "try" : "queue",
                       call->with_value ? "true" : "false");
        break;
    }
}

static void write_call(const struct level_call *call, char *sql, size_t size) {
    const char *queue = call->path;

    switch (call->verb) {
    case LEVEL_PUSH:
        (void)snprintf(sql, size, "CALL lk_work_push('%s', '%s', NULL, NULL)", queue, call->id);
        break;
    case LEVEL_CLAIM:
        (void)snprintf(sql, size, "CALL lk_work_claim('%s', 1, '%s', '{\"ttl\": 3600}')", queue,
                       call->owner);
        break;
    case LEVEL_DONE:
    case LEVEL_RETRY:
        (void)snprintf(sql, size, "CALL lk_work_%s('%s', '%s', '%s', NULL, '{\"or_fail\": false}')",
                       call->verb == LEVEL_DONE ? "done" : "retry", queue, call->id, call->owner);
        break;
    case LEVEL_DROP:
        (void)snprintf(sql, size, "CALL lk_work_drop('%s', '%s', '{\"or_fail\": false}')", queue,
                       call->id);
        break;
    default:
        write_lock(call, sql, size);
        break;
    }
}

/* The call as a string of SQL. */
static void quote(const char *text, char *quoted) {
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            *quoted++ = '\'';
        }
        *quoted++ = *text;
    }
    *quoted = '\0';
}

void levels_write_calls(struct level_session *session, bool is_alone, char sql[LEVEL_SQL_MAX]) {
    int64_t way = lk_random_between(levels_random(), 1, 100);
    char call[1024];
    char quoted[2048];

    write_call(&session->asked[0], call, sizeof call);
    quote(call, quoted);
    if (session->asked[0].verb == LEVEL_PUSH && way <= 40) {
        session->is_elsewhere = is_alone; /* a trigger is refused at another level */
        (void)snprintf(sql, LEVEL_SQL_MAX, "INSERT INTO fires VALUES ('%s', '%s')",
                       session->asked[0].path, session->asked[0].id);
    } else if (is_alone && way <= 55) {
        session->is_elsewhere = true;
        (void)snprintf(sql, LEVEL_SQL_MAX, "CALL ways_alone('%s')", quoted);
    } else if (way <= 65) {
        (void)snprintf(sql, LEVEL_SQL_MAX, "CALL ways_run('%s')", quoted);
    } else {
        (void)snprintf(sql, LEVEL_SQL_MAX, "%s", call);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls as expressions, and statements that evaluate them. */
#include "levels_ways.h"

#include <stdio.h>

const char levels_ways_schema[] =
    "CREATE SCHEMA ways;"
    "CREATE TABLE ways.sections (n serial PRIMARY KEY, path text, owner text,"
    "  unit_limit integer, is_held integer);"
    "CREATE INDEX ON ways.sections (path, owner, n);"
    "CREATE TABLE ways.answers (session integer, answer text);"
    "CREATE TABLE ways.told (pid integer, a text);"
    "CREATE FUNCTION ways.run(e text) RETURNS text LANGUAGE plpgsql VOLATILE AS"
    "  $$ DECLARE a text; BEGIN EXECUTE 'SELECT ' || e INTO a; RETURN a; END $$;"
    "CREATE FUNCTION ways.stable(e text) RETURNS text LANGUAGE plpgsql STABLE AS"
    "  $$ DECLARE a text; BEGIN EXECUTE 'SELECT ' || e INTO a; RETURN a; END $$;"
    "CREATE FUNCTION ways.of_sql(e text) RETURNS text LANGUAGE sql STABLE AS"
    "  'SELECT ways.run(e)';"
    "CREATE FUNCTION ways.caught(e text) RETURNS text LANGUAGE plpgsql AS"
    "  $$ DECLARE a text; BEGIN"
    "  BEGIN a := ways.run(e); EXCEPTION WHEN division_by_zero THEN a := 'none'; END;"
    "  RETURN a; END $$;"
    "CREATE FUNCTION ways.undone(e text) RETURNS text LANGUAGE plpgsql AS"
    "  $$ DECLARE a text; BEGIN"
    "  BEGIN a := ways.run(e); RAISE SQLSTATE 'TS001';"
    "  EXCEPTION WHEN SQLSTATE 'TS001' THEN END;"
    "  RETURN a; END $$;"
    "CREATE PROCEDURE ways.alone(e text, level text, INOUT a text) LANGUAGE plpgsql AS $$ BEGIN"
    "  IF level = 'READ COMMITTED' THEN"
    "    COMMIT; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"
    "  ELSIF level = 'SERIALIZABLE' THEN"
    "    COMMIT; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;"
    "  ELSE COMMIT; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; END IF;"
    "  PERFORM count(*) FROM lockkeeper.requests; a := ways.run(e); END $$;"
    "CREATE TABLE ways.fires (e text, a text);"
    "CREATE FUNCTION ways.fire() RETURNS trigger LANGUAGE plpgsql AS"
    "  $$ BEGIN NEW.a := ways.run(NEW.e); RETURN NEW; END $$;"
    "CREATE TRIGGER fire BEFORE INSERT ON ways.fires"
    "  FOR EACH ROW EXECUTE FUNCTION ways.fire();"
    "CREATE TABLE ways.lates (session integer, e text);"
    "CREATE FUNCTION ways.fire_late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    "  INSERT INTO ways.answers SELECT NEW.session, ways.run(NEW.e); RETURN NULL; END $$;"
    "CREATE CONSTRAINT TRIGGER fire AFTER INSERT ON ways.lates"
    "  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ways.fire_late();";

/* ---- expressions ----------------------------------------------------------------------------- */

static void write_ask(const struct level_call *call, char *sql, size_t size) {
    char limit[32] = "";

    if (call->limit > 0) {
        (void)snprintf(limit, sizeof limit, "?limit=%u", call->limit);
    }
    (void)snprintf(sql, size,
                   "(SELECT x.outcome || CASE WHEN x.outcome = 'granted' AND %s THEN ' '"
                   " || coalesce(convert_from(x.value, 'UTF8'), 'none') ELSE '' END"
                   " FROM lockkeeper.acquire('%s%s', '%s', ttl => '1 hour', style => '%s',"
                   " with_value => %s) AS x)",
                   call->with_value ? "true" : "false", call->path, limit, call->owner,
                   call->verb == LEVEL_TRY ? "try" : "queue", call->with_value ? "true" : "false");
}

static void write_lock(const struct level_call *call, char *sql, size_t size) {
    switch (call->verb) {
    case LEVEL_RENEW:
        (void)snprintf(sql, size,
                       "CASE WHEN lockkeeper.renew('%s', '%s', or_fail => false) IS NULL"
                       " THEN 'lost' ELSE 'ok' END",
                       call->path, call->owner);
        break;
    case LEVEL_RELEASE:
        (void)snprintf(
            sql, size,
            "lockkeeper.release('%s', '%s', value => nullif('%s', ''), or_fail => false)",
            call->path, call->owner, call->value);
        break;
    case LEVEL_PUT:
        (void)snprintf(sql, size, "lockkeeper.put('%s', '%s'::text, or_fail => false)", call->path,
                       call->value);
        break;
    case LEVEL_BREAK:
        (void)snprintf(sql, size, "'broken ' || lockkeeper.break('%s', 'a test', now => true)",
                       call->path);
        break;
    default:
        write_ask(call, sql, size);
        break;
    }
}

static void write_call(const struct level_call *call, char *sql, size_t size) {
    const char *queue = call->path;

    switch (call->verb) {
    case LEVEL_PUSH:
        (void)snprintf(sql, size,
                       "CASE WHEN lockkeeper.push('%s', '%s') THEN 'added' ELSE 'known' END", queue,
                       call->id);
        break;
    case LEVEL_CLAIM:
        (void)snprintf(
            sql, size,
            "coalesce((SELECT 'granted ' || x.id || ':' || x.attempt"
            " FROM lockkeeper.claim('%s', owner => '%s', ttl => '1 hour') AS x), 'busy')",
            queue, call->owner);
        break;
    case LEVEL_DONE:
    case LEVEL_RETRY:
        (void)snprintf(sql, size, "lockkeeper.%s('%s', '%s'::text, '%s', or_fail => false)",
                       call->verb == LEVEL_DONE ? "done" : "retry", queue, call->id, call->owner);
        break;
    case LEVEL_DROP:
        (void)snprintf(sql, size, "lockkeeper.drop('%s', '%s', or_fail => false)", queue, call->id);
        break;
    default:
        write_lock(call, sql, size);
        break;
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

/* Two calls in one statement. */
static void write_two(struct level_session *session, const char *first, char sql[LEVEL_SQL_MAX]) {
    char second[1024];

    session->asked[1] = level_draw_call(levels_random(), session->asked[0].root);
    session->asked_count = 2;
    write_call(&session->asked[1], second, sizeof second);
    (void)snprintf(sql, LEVEL_SQL_MAX,
                   "SELECT string_agg(ways.run(x.e), '|')"
                   " FROM (VALUES (1, $e$%s$e$), (2, $e$%s$e$)) AS x (n, e)",
                   first, second);
}

/* In the order of the roots the last one, as it is decided behind all others of the transaction. */
static void write_late(struct level_session *session, char sql[LEVEL_SQL_MAX]) {
    char expression[1024];

    session->asked[0] = level_draw_call(levels_random(), LEVEL_ROOTS - 1);
    session->is_late = true;
    write_call(&session->asked[0], expression, sizeof expression);
    (void)snprintf(sql, LEVEL_SQL_MAX, "INSERT INTO lates VALUES (%u, $e$%s$e$)", session->number,
                   expression);
}

/* A cursor is opened long before it is read; the call is one of the last root for the same
 * reason. */
static void write_cursor(struct level_session *session, char sql[LEVEL_SQL_MAX]) {
    char expression[1024];

    if (session->has_cursor) {
        session->asked[0] = session->fetched;
        (void)snprintf(sql, LEVEL_SQL_MAX, "FETCH x");
        session->has_cursor = false;
        return;
    }
    session->fetched = level_draw_call(levels_random(), LEVEL_ROOTS - 1);
    session->has_cursor = true;
    session->asked_count = 0;
    write_call(&session->fetched, expression, sizeof expression);
    (void)snprintf(sql, LEVEL_SQL_MAX, "CLOSE ALL; DECLARE x NO SCROLL CURSOR FOR SELECT %s",
                   expression);
}

static void write_alone(const char *expression, char sql[LEVEL_SQL_MAX]) {
    static const char *const levels[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};

    (void)snprintf(sql, LEVEL_SQL_MAX, "CALL alone($e$%s$e$, '%s', NULL)", expression,
                   levels[lk_random_between(levels_random(), 0, 2)]);
}

/* Ways to evaluate one expression, which is written in the place of %s. */
static const char *const plain_ways[] = {
    "SELECT %s",
    "DEALLOCATE ALL; PREPARE x AS SELECT %s; EXECUTE x",
    "WITH x AS MATERIALIZED (SELECT %s AS e) SELECT e FROM x",
    "SELECT %s FROM generate_series(1, 1)",
    "SELECT ways.run($e$%s$e$)",
    "SELECT ways.stable($e$%s$e$)",
    "SELECT ways.of_sql($e$%s$e$)",
    "SELECT ways.caught($e$%s$e$)",
    "SELECT ways.undone($e$%s$e$)",
    "INSERT INTO fires (e) VALUES ($e$%s$e$) RETURNING a",
    ("DO $do$ BEGIN INSERT INTO told VALUES (pg_backend_pid(), ways.run($e$%s$e$)); END $do$;"
     " DELETE FROM told WHERE pid = pg_backend_pid() RETURNING a"),
};

static void write_plain(struct level_session *session, const char *expression,
                        char sql[LEVEL_SQL_MAX]) {
    const char *way = plain_ways[lk_random_between(levels_random(), 0,
                                                   sizeof plain_ways / sizeof plain_ways[0] - 1)];
    const char *mark = strstr(way, "%s");

    session->is_undone = strstr(way, "undone") != NULL;
    (void)snprintf(sql, LEVEL_SQL_MAX, "%.*s%s%s", (int)(mark - way), way, expression, mark + 2);
}

void levels_write_calls(struct level_session *session, bool is_alone, char sql[LEVEL_SQL_MAX]) {
    int64_t way = lk_random_between(levels_random(), 1, 100);
    char expression[1024];

    write_call(&session->asked[0], expression, sizeof expression);
    if (way <= 8) {
        write_two(session, expression, sql);
    } else if (way <= 14 && is_alone) {
        write_alone(expression, sql);
        session->is_elsewhere = true;
    } else if (way <= 14 && !session->has_late && !session->may_wait) {
        write_late(session, sql);
    } else if (way <= 24 && !is_alone) {
        write_cursor(session, sql);
    } else {
        write_plain(session, expression, sql);
    }
}

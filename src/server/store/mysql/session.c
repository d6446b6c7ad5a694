/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection. It must lead to the server itself: proxies divide the statements of a text, or
 * give them to different sessions.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/program.h"
#include "server/store/mysql/store.h"

enum {
    PACKET_BYTES_MIN = 2097152, /* more than the largest statement */
    PACKET_BYTES_OWN = 1024,    /* of a packet, beside the text */
    TEXT_BYTES_MAX = 8388608,
};

#define IDLE_S INT64_C(300)
#define IDLE_SLACK_S INT64_C(60)

void lk_store_mysql_disconnect(struct lk_store_mysql *store) {
    if (store->link != NULL) {
        lk_mysql_disconnect(store->link);
        store->link = NULL;
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

void lk_store_mysql_put(const struct lk_store_mysql *store, struct lk_buffer *text,
                        const char *sql) {
    static const char beginning[] = "lk_service_";
    const char *found;

    while ((found = strstr(sql, beginning)) != NULL) {
        lk_buffer_add(text, sql, (size_t)(found - sql));
        lk_buffer_add_text(text, store->address.prefix);
        sql = found + strlen("lk_");
        lk_buffer_add(text, sql, strlen("service_"));
        sql += strlen("service_");
    }
    lk_buffer_add_text(text, sql);
}

void lk_store_mysql_put_literal(struct lk_buffer *text, struct lk_slice bytes) {
    char *room = lk_buffer_reserve(text, LK_MYSQL_LITERAL_MAX(bytes.size));

    if (room != NULL) {
        text->size = (size_t)(lk_mysql_put_literal(room, bytes) - text->bytes);
    }
}

void lk_store_mysql_put_renew(const struct lk_store_mysql *store, struct lk_buffer *text,
                              uint64_t draw_floor, uint64_t last_event, const int64_t *watch_us) {
    lk_store_mysql_put(store, text, "CALL lk_service_renew(");
    lk_buffer_add_number(text, (int64_t)store->tables.epoch);
    lk_buffer_add_text(text, ",");
    lk_buffer_add_number(text, (int64_t)draw_floor);
    lk_buffer_add_text(text, ",");
    lk_buffer_add_number(text, (int64_t)last_event);
    lk_buffer_add_text(text, ",");
    if (watch_us != NULL) {
        lk_buffer_add_number(text, *watch_us);
    } else {
        lk_buffer_add_text(text, "NULL");
    }
    lk_buffer_add_text(text, ",");
    lk_buffer_add_number(text, LK_TABLES_FORMAT);
    lk_buffer_add_text(text, ");");
}

void lk_store_mysql_put_idle(const struct lk_store_mysql *store, struct lk_buffer *text) {
    int64_t lease_s = store->tables.lease_us / 1000000;

    lk_buffer_add_text(text, "SET SESSION wait_timeout = ");
    lk_buffer_add_number(text, lk_max(2 * lease_s + IDLE_SLACK_S, IDLE_S));
}

lk_outcome lk_store_mysql_explain(const struct lk_store_mysql *store, lk_error *error) {
    lk_outcome outcome = lk_mysql_explain(store->link->mysql, store->address.prefix, error);

    if (outcome != LK_DENIED) {
        return outcome;
    }
    return lk_error_set(error, LK_DENIED,
                        "MySQL: the user of the service may not make or use the tables %s...; "
                        "grant it SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE ROUTINE, "
                        "ALTER ROUTINE and EXECUTE on the database, or let a DBA run `%s schema "
                        "mysql-service`, which names the rights it needs",
                        store->name, lk_program());
}

static lk_outcome judge(struct lk_store_mysql *store, lk_error *error) {
    const char *state = mysql_sqlstate(store->link->mysql);

    if (strcmp(state, "LK001") == 0) {
        return lk_error_set(error, LK_LOST, "another service leads this store");
    }
    if (strcmp(state, "LK002") == 0) { /* the procedure tells the number in place of a sentence */
        return lk_tables_refuse_format(&store->tables,
                                       strtoll(mysql_error(store->link->mysql), NULL, 10), error);
    }
    return lk_store_mysql_explain(store, error);
}

lk_outcome lk_store_mysql_run(struct lk_store_mysql *store, struct lk_buffer *text,
                              const struct lk_patience *patience, MYSQL_RES **ret_rows,
                              lk_error *error) {
    MYSQL_RES *rows = NULL;
    lk_outcome outcome =
        text->failed ? lk_error_set(error, LK_INTERNAL, "memory is exhausted") : LK_OK;

    if (outcome == LK_OK) {
        outcome = lk_mysql_query(store->link, (struct lk_slice){text->bytes, text->size}, patience,
                                 &rows, error);
        outcome = outcome == LK_INTERNAL ? judge(store, error) : outcome;
    }
    lk_buffer_cut(text, 0);
    text->failed = false;
    if (outcome != LK_OK) {
        lk_store_mysql_disconnect(store); /* what is under way may still be done, or not */
        return outcome;
    }
    if (ret_rows != NULL) {
        *ret_rows = rows;
    } else {
        mysql_free_result(rows);
    }
    return LK_OK;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Columns of what is asked about the server. */
enum { PACKET_MAX, FLUSH, HAS_BINLOG, SYNC_BINLOG, SETTINGS };

static const char settings_question[] =
    "SELECT @@max_allowed_packet, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog";

static const struct lk_store_risk flush_risk = {
    "commits are not flushed to the disk of the database",
    "a crash of its machine may lose the last commits, which were acknowledged; set "
    "innodb_flush_log_at_trx_commit = 1 there"};
static const struct lk_store_risk binlog_risk = {
    "the binary log of the database is not flushed with each commit",
    "a crash of its machine may lose the last commits, which were acknowledged; set sync_binlog = "
    "1 there"};

static lk_outcome ask_settings(struct lk_store_mysql *store, const struct lk_patience *patience,
                               int64_t ret_settings[SETTINGS], lk_error *error) {
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row;
    lk_outcome outcome;

    lk_buffer_add_text(&store->text, settings_question);
    outcome = lk_store_mysql_run(store, &store->text, patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    for (int i = 0; i < SETTINGS; i++) {
        ret_settings[i] = row != NULL && row[i] != NULL ? strtoll(row[i], NULL, 10) : 0;
    }
    mysql_free_result(rows);
    return LK_OK;
}

/* A value and an item of the greatest size must fit into a text. */
static lk_outcome check_settings(struct lk_store_mysql *store, const struct lk_patience *patience,
                                 lk_error *error) {
    int64_t settings[SETTINGS];
    int64_t packet_max;
    lk_outcome outcome = ask_settings(store, patience, settings, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    store->risk = settings[FLUSH] != 1                                      ? &flush_risk
                  : settings[HAS_BINLOG] != 0 && settings[SYNC_BINLOG] != 1 ? &binlog_risk
                                                                            : NULL;
    packet_max = settings[PACKET_MAX];
    if (packet_max < PACKET_BYTES_MIN) {
        return lk_error_set(
            error, LK_UNSUPPORTED,
            "the server's max_allowed_packet is %lld, which is too small for what a "
            "service writes; set it to 16M there",
            (long long)packet_max);
    }
    store->text_max = (size_t)lk_min(packet_max - PACKET_BYTES_OWN, TEXT_BYTES_MAX);
    return LK_OK;
}

lk_outcome lk_store_mysql_connect(struct lk_store_mysql *store, const struct lk_patience *patience,
                                  lk_error *error) {
    lk_outcome outcome;

    if (store->link != NULL && lk_mysql_is_alive(store->link)) {
        return LK_OK;
    }
    lk_store_mysql_disconnect(store);
    outcome = lk_mysql_connect(&store->address, patience, &store->link, error);
    if (outcome != LK_OK) {
        store->link = NULL;
        return outcome;
    }
    lk_store_mysql_put_idle(store, &store->text);
    outcome = lk_store_mysql_run(store, &store->text, patience, NULL, error);
    if (outcome == LK_OK) {
        outcome = check_settings(store, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_store_mysql_prepare(store, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_mysql_allow_texts(store->link, patience, error);
    }
    if (outcome != LK_OK) {
        lk_store_mysql_disconnect(store);
    }
    return outcome;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/*
 * Pages of the tables. The epoch is checked after a page was read, in a transaction of its own: if
 * it is still the present one then, no other service had written before. So no lock waits for a
 * client that reads slowly.
 */

enum { PIECE_BYTES = 512 }; /* of a query, between its keys */

#define LIMIT " LIMIT 10000" /* LK_TABLES_PAGE_ROWS */

/* $1, $2: the page begins behind these keys, which are the first columns. */
static const char *const pages[LK_TABLES_PAGES] = {
    [LK_TABLES_PAGE_LEADER] =
        "SELECT draw_floor, last_event, watched_us, events_max, live_max, live_per_owner_max,"
        " live_per_root_max, waiters_per_path_max, (SELECT COUNT(*) FROM lk_service_ended)"
        " FROM lk_service_leader",
    [LK_TABLES_PAGE_VALUES] = "SELECT path, bytes, in_doubt FROM lk_service_value WHERE path > $1"
                              " ORDER BY path" LIMIT,
    [LK_TABLES_PAGE_QUEUES] =
        "SELECT path, pushed, duplicates, claims, steals, done, retried, parked"
        " FROM lk_service_queue WHERE path > $1 ORDER BY path" LIMIT,
    [LK_TABLES_PAGE_ITEMS] =
        "SELECT queue, id, sequence, state, due_us, attempts, was_lost, is_head, priority,"
        " keep_ms, value, needs, has_exit, last_exit, last_error, progress FROM lk_service_item"
        " WHERE queue > $1 OR (queue = $1 AND id > $2) ORDER BY queue, id" LIMIT,
    [LK_TABLES_PAGE_REQUESTS] =
        "SELECT id AS page_key, id, owner, note, state, revoked, attended, fixed, ticket, token,"
        " ttl_ms, expires_us, wants_value, is_claim, ask_number, max_attempts, parts, bound"
        " FROM lk_service_request WHERE id > CAST($1 AS SIGNED)"
        " ORDER BY id" LIMIT,
    [LK_TABLES_PAGE_ENDED] = "SELECT token, owner, parts, ended_us FROM lk_service_ended"
                             " ORDER BY ended_us",
    [LK_TABLES_PAGE_AUDIT] = "SELECT at_unix_us, broken_by, reason, path, owner, note, ticket,"
                             " token FROM lk_service_audit ORDER BY number",
    [LK_TABLES_PAGE_EVENTS] =
        "SELECT sequence, at_unix_us, event, refusal, parts, owner, note, ticket, token, attempt,"
        " is_of_item, is_deletion, broken_by, reason FROM lk_service_event ORDER BY sequence",
};

static void put_query(const struct lk_store_mysql *store, const char *sql, const char *const *keys,
                      struct lk_buffer *text) {
    char piece[PIECE_BYTES];
    const char *key;

    while ((key = strchr(sql, '$')) != NULL) {
        (void)snprintf(piece, sizeof piece, "%.*s", (int)(key - sql), sql);
        lk_store_mysql_put(store, text, piece);
        lk_store_mysql_put_literal(text, lk_slice_of(keys[key[1] - '1']));
        sql = key + 2;
    }
    lk_store_mysql_put(store, text, sql);
}

lk_outcome lk_store_mysql_fetch(struct lk_tables *tables, enum lk_tables_page page,
                                const char *const *keys, lk_error *error) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);
    const struct lk_patience patience = lk_tables_patience(tables);
    struct lk_buffer *text = &store->text;

    put_query(store, pages[page], keys, text);
    lk_buffer_add_text(text, ";START TRANSACTION;");
    lk_store_mysql_put_renew(store, text, 0, 0, NULL);
    lk_buffer_add_text(text, "COMMIT");
    return lk_store_mysql_run(store, text, &patience, &store->rows, error);
}

bool lk_store_mysql_next(struct lk_tables *tables) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);

    store->row = store->rows != NULL ? mysql_fetch_row(store->rows) : NULL;
    store->sizes = store->row != NULL ? mysql_fetch_lengths(store->rows) : NULL;
    return store->row != NULL;
}

struct lk_slice lk_store_mysql_cell(const struct lk_tables *tables, int column) {
    const struct lk_store_mysql *store = (const struct lk_store_mysql *)tables;

    return (struct lk_slice){store->row[column], store->sizes[column]};
}

/* Cells end with a 0 that is not part of them. No column can be NULL. */
int64_t lk_store_mysql_number(struct lk_slice cell) {
    return cell.bytes != NULL ? strtoll(cell.bytes, NULL, 10) : 0;
}

bool lk_store_mysql_truth(struct lk_slice cell) {
    return lk_store_mysql_number(cell) != 0;
}

void lk_store_mysql_fetched(struct lk_tables *tables) {
    struct lk_store_mysql *store = lk_store_mysql_of(tables);

    mysql_free_result(store->rows);
    store->rows = NULL;
    store->row = NULL;
}

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
                        "ALTER ROUTINE and EXECUTE on the database, or let a DBA run `lk schema "
                        "mysql-service`, which names the rights it needs",
                        store->name);
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

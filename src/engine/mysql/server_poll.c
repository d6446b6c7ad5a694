/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polling inside one call of the database (sql/55_poll.sql), on a connection that is kept for the
 * next such call. If there is no room for one, the waiter polls from here.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "engine/mysql/store.h"

#define SLEEP_MIN_US INT64_C(1000)
#define ANSWER_US INT64_C(1000000) /* the server has this long to answer after the sleep */

static struct lk_mysql_link *take_idle(struct lk_mysql *store) {
    struct lk_mysql_link *link = NULL;

    pthread_mutex_lock(&store->common.mutex);
    if (store->poll_link_count > 0) {
        link = store->poll_links[--store->poll_link_count];
    }
    pthread_mutex_unlock(&store->common.mutex);
    return link;
}

static struct lk_mysql_link *take(struct lk_mysql *store, const struct lk_patience *patience) {
    struct lk_mysql_link *link;
    lk_error error;

    while ((link = take_idle(store)) != NULL) {
        if (lk_mysql_is_alive(link)) {
            return link;
        }
        lk_mysql_disconnect(link);
    }
    return lk_mysql_connect(&store->address, patience, &link, &error) == LK_OK ? link : NULL;
}

static void give_back(struct lk_mysql *store, struct lk_mysql_link *link) {
    pthread_mutex_lock(&store->common.mutex);
    if (!link->is_lost && store->poll_link_count < LK_MYSQL_POLL_LINKS_MAX) {
        store->poll_links[store->poll_link_count++] = link;
        link = NULL;
    }
    pthread_mutex_unlock(&store->common.mutex);
    if (link != NULL) {
        lk_mysql_disconnect(link);
    }
}

void lk_mysql_poll_links_done(struct lk_mysql *store) {
    while (store->poll_link_count > 0) {
        lk_mysql_disconnect(store->poll_links[--store->poll_link_count]);
    }
}

/*
 * Whether the sleep ended as it should, because the request does not wait any more, or late. An
 * early end without reason would make the caller ask without a pause.
 */
static bool has_slept(lk_outcome outcome, MYSQL_RES *result, int64_t slept_us) {
    struct lk_rows *rows = outcome == LK_OK ? lk_mysql_rows(result) : NULL;
    bool is_over = rows != NULL && (rows->count == 0 || !lk_row_boolean(rows, 0, 0));

    if (rows == NULL) {
        mysql_free_result(result);
    }
    lk_rows_free(rows);
    return is_over || (outcome == LK_OK && slept_us >= SLEEP_MIN_US);
}

lk_outcome lk_mysql_server_poll(struct lk_mysql *store, uint64_t request, int64_t until_us,
                                struct lk_waker *waker) {
    int64_t begun_us = lk_clock_now_us();
    int64_t longest_us = until_us - begun_us;
    const struct lk_patience patience = {.until_us = until_us + ANSWER_US, .waker = waker};
    struct lk_mysql_link *link = NULL;
    MYSQL_RES *result = NULL;
    lk_error error;
    lk_outcome outcome;
    bool is_done;
    char sql[128];

    if (longest_us >= SLEEP_MIN_US) {
        link = take(store, &patience);
    }
    if (link == NULL) {
        return lk_waker_is_thrown(waker) ? LK_CANCELLED : LK_UNAVAILABLE;
    }
    (void)snprintf(sql, sizeof sql, "CALL %spoll(%" PRIu64 ", %" PRId64 ")", store->address.prefix,
                   request, longest_us);
    outcome = lk_mysql_query(link, lk_slice_of(sql), &patience, &result, &error);
    is_done = has_slept(outcome, result, lk_clock_now_us() - begun_us);
    link->is_lost = link->is_lost || outcome != LK_OK;
    give_back(store, link);
    return is_done ? LK_OK : outcome == LK_CANCELLED ? LK_CANCELLED : LK_UNAVAILABLE;
}

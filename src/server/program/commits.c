/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When and where a batch is written. The loop's thread writes small ones by itself, because to wake
 * another thread and to be woken by it takes longer. A large one, and every one while the disk is
 * slow, goes to the other thread; meanwhile the next batch collects.
 */
#include <event2/event.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "server/connections/monitor.h"
#include "server/core/exchange.h"
#include "server/log/log.h"
#include "server/program/state.h"

enum {
    ROWS_HERE_MAX = 128,
    BYTES_HERE_MAX = 256 * 1024,
};

#define SLOW_US (LK_WRITER_TAKE_OVER_US / 2)
#define LOAD_RETRY_US INT64_C(1000000) /* after a load that failed */
#define FOLLOW_US INT64_C(100000)      /* how often a service that does not lead looks again */

/* ---- what has become of a job ---------------------------------------------------------------- */

/* Said once for each time that this service begins to lead, or when the risk arises. */
static void note_risk(struct lk_server *server) {
    const struct lk_store_risk *risk = lk_writer_risk(server->writer);

    if (risk != NULL && !server->leadership.may_lose) {
        lk_log(LK_LOG_WARNING, risk->what, "%s", risk->advice);
    }
    server->leadership.may_lose = risk != NULL;
}

static void take_written(struct lk_server *server, const struct lk_job_result *result,
                         const struct lk_times *times) {
    server->monitor.committing_since_us = 0;
    server->is_disk_slow = result->took_us >= SLOW_US;
    if (result->outcome == LK_OK) {
        lk_buckets_add(&server->monitor.commits, result->took_us, 1);
        lk_slow_commit(server, result->took_us);
        note_risk(server);
        lk_core_batch_durable(server->core, times);
        lk_gathering_begin(&server->gathering, lk_core_awaited(server->core), result->took_us,
                           lk_clock_now_us());
        return;
    }
    lk_log(LK_LOG_ERROR, "a batch was not written", "%s", result->error.text);
    lk_core_batch_failed(server->core, result->error.text, times);
}

/* Said once for each service that leads. */
static void follow(struct lk_server *server, const struct lk_times *times) {
    const struct lk_leader *leader = lk_writer_leader(server->writer);

    if (leader->epoch != server->leadership.epoch) {
        server->leadership.epoch = leader->epoch;
        lk_log(LK_LOG_INFO, "another service leads", "%s, epoch %" PRIu64, leader->address,
               leader->epoch);
    }
    server->leadership.is_behind = leader->is_behind;
    server->leadership.may_lose = false;
    lk_core_follow(server->core, leader->address);
    server->load_after_us = times->now_us + FOLLOW_US;
}

/* Also a service that leads already begins a new epoch when it loads: that is no takeover. */
static void lead(struct lk_server *server, bool is_takeover) {
    const struct lk_leader *leader = lk_writer_leader(server->writer);

    server->leadership.epoch = leader->epoch;
    server->leadership.is_behind = false;
    server->leadership.takeovers += is_takeover;
    lk_log(LK_LOG_INFO, "this service leads", "epoch %" PRIu64, leader->epoch);
    server->leadership.may_lose = false;
    note_risk(server);
}

static void take_loaded(struct lk_server *server, const struct lk_job_result *result,
                        const struct lk_times *times) {
    lk_error error = result->error;
    bool is_takeover = result->outcome == LK_OK
                       && (result->snapshot->is_foreign || server->leadership.takeovers == 0);

    if (result->outcome == LK_BUSY) {
        follow(server, times);
        return;
    }
    if (result->outcome == LK_OK
        && lk_core_restore(server->core, result->snapshot, &server->times, &error) == LK_OK) {
        if (lk_server_is_shared(&server->options)) {
            lead(server, is_takeover);
        }
        return;
    }
    lk_log(LK_LOG_ERROR, "the store could not be loaded", "%s", error.text);
    if (lk_writer_is_outdated(server->writer)) {
        server->refusal = error; /* the service ends: clients find one that knows the format */
    }
    lk_core_follow(server->core, NULL);
    server->load_after_us = times->now_us + LOAD_RETRY_US;
}

static void take_result(struct lk_server *server, const struct lk_job_result *result) {
    struct lk_times times = lk_server_times(server);

    if (result->job == LK_JOB_WRITE) {
        take_written(server, result, &times);
    } else if (result->job == LK_JOB_LOAD) {
        take_loaded(server, result, &times);
    }
}

static void on_written(evutil_socket_t descriptor, short what, void *context) {
    struct lk_server *server = context;
    struct lk_job_result result = lk_writer_fetch(server->writer, false);

    (void)descriptor;
    (void)what;
    take_result(server, &result);
}

static bool is_idle(const struct lk_server *server) {
    return server->writer != NULL && !lk_writer_is_busy(server->writer);
}

/* Whether the pending batch waits for more calls: in a shared store alone, where each is a round
 * trip, and not when the service is to end. */
static bool is_gathering(struct lk_server *server) {
    return lk_server_is_shared(&server->options) && !server->is_shutting_down && is_idle(server)
           && lk_core_has_batch(server->core)
           && lk_gathering_waits(&server->gathering, lk_core_awaited(server->core),
                                 lk_clock_now_us());
}

/* The batch to write, if the store is idle. */
static const struct lk_batch *take_batch(struct lk_server *server) {
    const struct lk_batch *batch = is_idle(server) ? lk_core_take_batch(server->core) : NULL;

    if (batch != NULL) {
        server->monitor.committing_since_us = lk_server_times(server).now_us;
    }
    return batch;
}

enum lk_commit lk_commits_write(struct lk_server *server) {
    const struct lk_batch *batch = is_gathering(server) ? NULL : take_batch(server);
    struct lk_job_result result;

    if (batch == NULL) {
        return LK_COMMIT_NONE;
    }
    if (batch->row_count > ROWS_HERE_MAX || batch->arena.bytes > BYTES_HERE_MAX
        || server->is_disk_slow) {
        lk_writer_write(server->writer, batch);
        return LK_COMMIT_NONE;
    }
    if (!lk_writer_write_here(server->writer, batch, &result)) {
        return LK_COMMIT_LOST;
    }
    server->is_turning = false; /* the clocks are read again */
    take_result(server, &result);
    return LK_COMMIT_DONE;
}

bool lk_commits_wants_load(const struct lk_server *server) {
    /* One that is about to end must not begin to lead. */
    bool may_lead = !server->is_shutting_down || !lk_server_is_shared(&server->options);

    return is_idle(server) && lk_core_wants_snapshot(server->core) && may_lead;
}

void lk_commits_hand_over(struct lk_server *server) {
    struct lk_times times = lk_server_times(server);
    const struct lk_batch *batch = is_gathering(server) ? NULL : take_batch(server);
    struct lk_model_config config;

    if (batch != NULL) {
        lk_writer_write(server->writer, batch);
    } else if (lk_commits_wants_load(server) && server->load_after_us <= times.now_us) {
        config = lk_core_model_config(server->core, &times);
        lk_writer_load(server->writer, &config, &times);
    }
}

/*
 * What has been answered is durable, so the next service need not wait until the clients have read
 * it. Nothing is decided here any more; what was bound to connections ends at the next load.
 */
void lk_commits_resign(struct lk_server *server) {
    if (server->is_shutting_down && lk_server_is_shared(&server->options) && is_idle(server)
        && lk_core_leads(server->core) && lk_core_is_idle(server->core)) {
        lk_core_resign(server->core);
        lk_writer_resign(server->writer);
    }
}

lk_outcome lk_commits_begin(struct lk_server *server, struct lk_storage *storage,
                            void (*stand_by)(void *server), lk_error *error) {
    lk_outcome outcome = lk_writer_start(storage, stand_by, server, &server->writer, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    server->written = event_new(server->loop, lk_writer_descriptor(server->writer),
                                EV_READ | EV_PERSIST, on_written, server);
    if (server->written == NULL || event_add(server->written, NULL) != 0
        || (lk_server_is_shared(&server->options)
            && !lk_gathering_open(&server->gathering, server->loop))) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return LK_OK;
}

/* Also what the closing of connections has changed (R18). */
void lk_commits_flush(struct lk_server *server) {
    struct lk_job_result result;

    while (server->writer != NULL) {
        if (lk_writer_is_busy(server->writer)) {
            result = lk_writer_fetch(server->writer, true);
        } else {
            const struct lk_batch *batch = take_batch(server);
            if (batch == NULL) {
                return;
            }
            (void)lk_writer_write_here(server->writer, batch, &result);
        }
        if (result.job == LK_JOB_LOAD && lk_server_is_shared(&server->options)) {
            lk_core_snapshot_free(result.snapshot);
            return;
        }
        if (result.job != LK_JOB_WRITE || result.outcome != LK_OK) {
            lk_core_snapshot_free(result.snapshot);
            lk_log(LK_LOG_ERROR, "the last batch was not written", "%s", result.error.text);
            return;
        }
        lk_core_batch_durable(server->core, &server->times);
    }
}

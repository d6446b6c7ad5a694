/* SPDX-License-Identifier: Apache-2.0 */
/* A service: its core, its connections, and what it asks of the store, one request at a time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

#define RENEW_US (FAILOVER_US / 3)
#define PATIENCE_US INT64_C(1000000) /* with the store */
#define LOOK_US INT64_C(300000)      /* how often a follower looks */

struct lk_times service_times(const struct world *world, int index) {
    const int64_t wall_us = INT64_C(1700000000000000) + world->now_us;

    return (struct lk_times){.now_us = world->now_us,
                             .wall_us = wall_us + world->services[index].wall_ahead_us};
}

/* ---- answers --------------------------------------------------------------------------------- */

static void leave(struct connection *connection, const struct answer *answer) {
    struct world *world = connection->world;

    if (!connection->is_left && !world->is_dying) {
        world_schedule(world, world_between(world, 50, 5000),
                       &(struct event){.kind = EVENT_REPLY,
                                       .service = -1,
                                       .client = connection->client,
                                       .serial = connection->serial,
                                       .answer = *answer});
    }
}

static void let_go(struct connection *connection, uint64_t batch) {
    size_t kept = 0;

    for (size_t i = 0; i < connection->held_count; i++) {
        if (connection->held[i].batch <= batch) {
            leave(connection, &connection->held[i]);
        } else {
            connection->held[kept++] = connection->held[i];
        }
    }
    connection->held_count = kept;
}

static uint64_t read_value(const struct lk_model *model, const struct lk_path *path) {
    struct lk_value_record record;
    lk_value_ref value = model != NULL ? lk_model_value(model, path) : 0;

    if (value == 0) {
        return 0;
    }
    lk_model_value_record(model, value, &record);
    return strtoull(record.bytes.bytes, NULL, 10); /* ends with a letter */
}

static void on_answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct connection *connection = peer;
    struct answer *answer = &connection->held[connection->held_count++];
    static struct lk_record record;

    assert(connection->held_count < HELD_MAX);
    *answer = (struct answer){
        .says = connection->says, .outcome = reply->answer->outcome, .tag = tag, .batch = batch};
    if (answer->outcome == LK_GRANTED) {
        lk_model_record(reply->model, reply->answer->request, &record);
        answer->token = record.token;
    }
    if (answer->says == SAYS_GET && answer->outcome == LK_OK) {
        answer->value = read_value(reply->model, &connection->path);
    }
    if (batch == 0 || connection->world->flaw == ANSWERS_EARLY) {
        let_go(connection, UINT64_MAX);
    }
}

static void on_durable(void *peer, uint64_t batch) {
    let_go(peer, batch);
}

static void on_failed(void *peer, const char *why) {
    struct connection *connection = peer;

    (void)why;
    for (size_t i = 0; i < connection->held_count; i++) {
        connection->held[i].outcome = LK_UNAVAILABLE;
    }
    let_go(connection, UINT64_MAX);
}

static const struct lk_session_ops session_ops = {
    .answer = on_answer,
    .durable = on_durable,
    .failed = on_failed,
};

struct connection *service_connect(struct world *world, int index, int client) {
    struct service *service = &world->services[index];
    struct connection *connection;

    if (!service->is_up || service->is_ending) {
        return NULL;
    }
    connection = calloc(1, sizeof *connection);
    *connection = (struct connection){
        .world = world, .client = client, .service = index, .serial = ++world->serial};
    if (lk_core_session_open(service->core, &session_ops, connection, &connection->session, NULL)
        != LK_OK) {
        free(connection);
        return NULL;
    }
    LIST_INSERT_HEAD(&service->connections, connection, list);
    return connection;
}

void service_hang_up(struct world *world, struct connection *connection) {
    const struct lk_times times = service_times(world, connection->service);

    connection->is_left = true;
    lk_core_session_close(world->services[connection->service].core, connection->session, &times);
    LIST_REMOVE(connection, list);
    free(connection);
}

void service_call(struct world *world, struct message *message) {
    struct connection *connection = message->connection;
    const struct lk_times times = service_times(world, connection->service);

    connection->says = message->says;
    memcpy(connection->path_text, message->path, sizeof connection->path_text);
    (void)lk_path_parse(lk_slice_of(connection->path_text), &connection->path, NULL);
    lk_core_call(world->services[connection->service].core, connection->session, &message->call,
                 &times);
}

/* ---- a process ------------------------------------------------------------------------------- */

void service_start(struct world *world, int index) {
    struct service *service = &world->services[index];
    char epoch[TEXT_MAX];
    const struct lk_core_config config = {.hash_seed = 1,
                                          .epoch = epoch,
                                          .is_fenced = world->flaw != READS_UNFENCED,
                                          .renew_us = RENEW_US};

    text_write(epoch, "%d.%" PRIu64, index, service->life);
    service->core = lk_core_new(&config);
    assert(service->core != NULL);
    LIST_INIT(&service->connections);
    service->is_up = true;
    service->is_ending = false;
    service->is_foreign = true;
    service->keeps_epoch = false;
    service->job = JOB_NONE;
    service->epoch = 0;
    service->look_after_us = world->now_us;
    service->stopped_until_us = 0;
}

void service_kill(struct world *world, int index) {
    struct service *service = &world->services[index];

    if (!service->is_up) {
        return;
    }
    world->is_dying = true;
    while (!LIST_EMPTY(&service->connections)) {
        struct connection *connection = LIST_FIRST(&service->connections);
        struct client *client = &world->clients[connection->client];

        if (client->connection == connection) {
            client_reset(world, connection->client);
        }
        service_hang_up(world, connection);
    }
    world->is_dying = false;
    assert(world->retired_count < RETIRED_MAX);
    world->retired[world->retired_count++] = service->core;
    service->core = NULL;
    service->is_up = false;
    service->life++;
    world_schedule(world, world_between(world, 20000, 4000000),
                   &(struct event){.kind = EVENT_START, .service = -1, .client = index});
}

/* SIGTERM: what was asked is finished, and then the next one may lead at once. */
void service_terminate(struct world *world, int index) {
    struct service *service = &world->services[index];
    const struct lk_times times = service_times(world, index);

    if (service->is_up && !service->is_ending) {
        service->is_ending = true;
        lk_core_stop(service->core, &times);
    }
}

/* ---- the store ------------------------------------------------------------------------------- */

/* What becomes of a request on its way. It may arrive after its service has given up. */
static void dispatch(struct world *world, const struct request *request) {
    const struct service *service = &world->services[request->service];
    struct event event = {.kind = EVENT_AT_STORE, .service = -1, .request = *request};
    bool is_cut = service->cut_until_us > world->now_us;
    int64_t in_us = world_between(world, 100, world->store_us_max);

    if (is_cut || (world->has_faults && world_chance(world, world->lost_percent))) {
        if (world_chance(world, 40)) {
            return;
        }
        in_us = world_between(world, 0, 2 * PATIENCE_US);
        in_us += is_cut ? service->cut_until_us - world->now_us : 0;
    }
    world_schedule(world, in_us, &event);
}

static void begin(struct world *world, int index, enum job job, const struct lk_batch *batch) {
    struct service *service = &world->services[index];
    struct request request = {.job = job,
                              .service = index,
                              .life = service->life,
                              .number = ++service->number,
                              .epoch = service->epoch,
                              .batch = batch};

    service->job = job;
    dispatch(world, &request);
    world_schedule(
        world, PATIENCE_US,
        &(struct event){
            .kind = EVENT_PATIENCE, .service = index, .life = service->life, .request = request});
}

static void claim(struct world *world, int index, uint64_t seen) {
    struct service *service = &world->services[index];
    uint64_t own = service->epoch;

    service->epoch = seen;
    begin(world, index, JOB_CLAIM, NULL);
    service->epoch = own;
}

static void claimed(struct service *service, uint64_t epoch) {
    service->is_foreign = service->is_foreign || epoch != service->epoch + 1;
    service->epoch = epoch;
}

static void written(struct world *world, int index, const struct request *request) {
    struct service *service = &world->services[index];
    const struct lk_times times = service_times(world, index);
    bool is_unknown = request->outcome == LK_UNAVAILABLE;

    world->unknown += is_unknown;
    if (request->outcome == LK_OK || (is_unknown && world->flaw == TRUSTS_UNKNOWN)) {
        lk_core_batch_durable(service->core, &times);
    } else {
        world_say(world, "s%d: %s", index, is_unknown ? "no answer" : "replaced");
        lk_core_batch_failed(service->core, "the batch was not written", &times);
        service->keeps_epoch = is_unknown && world->flaw == KEEPS_EPOCH;
        service->look_after_us = world->now_us + (is_unknown ? 0 : LOOK_US);
    }
}

static void loaded(struct world *world, int index, const struct request *request) {
    struct service *service = &world->services[index];
    const struct lk_times times = service_times(world, index);
    lk_error error;

    request->snapshot->is_foreign = service->is_foreign;
    service->is_foreign = false;
    if (lk_core_restore(service->core, request->snapshot, &times, &error) != LK_OK
        && world->flaw == SOUND) {
        world_fail(world, "the core does not take what was loaded: %s", error.text);
    }
}

/* An answer of the store; LK_UNAVAILABLE: there was none in time. */
void service_result(struct world *world, const struct request *request) {
    struct service *service = &world->services[request->service];
    int index = request->service;

    if (service->job == JOB_NONE || request->number != service->number) {
        lk_core_snapshot_free(request->snapshot); /* too late */
        return;
    }
    service->job = JOB_NONE;
    if (request->job == JOB_WRITE) {
        written(world, index, request);
    } else if (request->outcome != LK_OK) {
        service->look_after_us = world->now_us + world_between(world, LOOK_US / 2, LOOK_US);
    } else if (request->job == JOB_LOOK) {
        claim(world, index, request->epoch);
    } else if (request->job == JOB_CLAIM) {
        claimed(service, request->epoch);
        begin(world, index, JOB_LOAD, NULL);
    } else if (request->job == JOB_LOAD) {
        loaded(world, index, request);
    }
}

/* ---- turns ----------------------------------------------------------------------------------- */

static bool wants_look(const struct service *service) {
    return service->job == JOB_NONE && !service->is_ending && lk_core_wants_snapshot(service->core);
}

int64_t service_due(const struct world *world, int index) {
    const struct service *service = &world->services[index];
    int64_t due_us;

    if (!service->is_up) {
        return LK_NEVER;
    }
    due_us = lk_core_next_due(service->core);
    if (wants_look(service) && service->look_after_us < due_us) {
        due_us = service->look_after_us;
    }
    return due_us < service->stopped_until_us ? service->stopped_until_us : due_us;
}

static void end_process(struct world *world, int index) {
    const struct service *service = &world->services[index];
    const struct request request = {
        .job = JOB_RESIGN, .service = index, .life = service->life, .epoch = service->epoch};

    if (service->core->model != NULL) {
        dispatch(world, &request);
    }
    world_say(world, "s%d ends", index);
    service_kill(world, index);
}

/* The memory of the last batch is still needed, although no answer is expected any more. */
static bool is_on_its_way(const struct world *world, int index) {
    for (size_t i = 0; i < world->event_count; i++) {
        const struct event *event = &world->events[i];

        if (event->kind == EVENT_AT_STORE && event->request.job == JOB_WRITE
            && event->request.service == index
            && event->request.life == world->services[index].life) {
            return true;
        }
    }
    return false;
}

void service_turn(struct world *world, int index) {
    struct service *service = &world->services[index];
    const struct lk_times times = service_times(world, index);
    const struct lk_batch *batch;

    if (!service->is_up || service->stopped_until_us > world->now_us) {
        return;
    }
    if (lk_core_next_due(service->core) <= world->now_us) {
        lk_core_tick(service->core, &times);
    }
    batch = service->job == JOB_NONE && !is_on_its_way(world, index)
                ? lk_core_take_batch(service->core)
                : NULL;
    if (batch != NULL) {
        begin(world, index, JOB_WRITE, batch);
    } else if (wants_look(service) && service->look_after_us <= world->now_us) {
        begin(world, index, service->keeps_epoch ? JOB_LOAD : JOB_LOOK, NULL);
        service->keeps_epoch = false;
    } else if (service->is_ending && service->job == JOB_NONE && lk_core_is_idle(service->core)) {
        end_process(world, index);
    }
}

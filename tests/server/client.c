/* SPDX-License-Identifier: Apache-2.0 */
/* Clients, which do one thing at a time, and their side of a connection. */
#include <inttypes.h>
#include <stdio.h>

#include "engine/event.h"
#include "sim.h"

static const char *const paths[] = {"a", "a/b", "a/c", "d", "pool"};

/* ---- the connection -------------------------------------------------------------------------- */

static void let_go(struct sim_connection *connection, uint64_t batch) {
    struct sim *sim = connection->sim;
    size_t kept = 0;

    for (size_t i = 0; i < connection->answer_count; i++) {
        const struct sim_answer *answer = &connection->answers[i];
        if (answer->batch <= batch) {
            struct sim_event event = {.kind = SIM_REPLY,
                                      .client = connection->client,
                                      .generation = connection->generation,
                                      .answer = *answer};
            check_answer(sim, &sim->clients[connection->client], answer);
            sim_schedule(sim, sim_between(sim, 50, 5000), &event);
        } else {
            connection->answers[kept++] = *answer;
        }
    }
    connection->answer_count = kept;
}

struct cover_search {
    const struct lk_model *model;
    lk_ref request;
    struct lk_slice owner;
    bool is_found;
};

static bool search_cover(void *context, lk_ref request) {
    struct cover_search *search = context;
    static struct lk_record record;

    lk_model_record(search->model, request, &record);
    search->is_found = request != search->request && record.state == LK_STATE_HELD
                       && lk_slice_equal(record.owner, search->owner);
    return !search->is_found;
}

/* Whether the owner of the record holds something else that is related to it. */
static bool is_covered(const struct lk_model *model, lk_ref request,
                       const struct lk_record *record) {
    struct cover_search search = {.model = model, .request = request, .owner = record->owner};

    for (size_t i = 0; i < record->part_count && !search.is_found; i++) {
        lk_model_each_related(model, &record->parts[i].path, search_cover, &search);
    }
    return search.is_found;
}

static uint64_t add_to_sum(uint64_t sum, const char *text) {
    for (; text != NULL && *text != '\0'; text++) {
        sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return sum;
}

static uint64_t sum_of(const lk_watch_event *event) {
    uint64_t sum = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)event->kind ^ event->ticket << 8
                   ^ event->token << 16 ^ (uint64_t)event->at_unix_ms << 24;

    if (event->kind == LK_WATCH_GAP) {
        return 0;
    }
    for (size_t i = 0; i < event->part_count; i++) {
        sum = add_to_sum(sum, event->parts[i]);
    }
    sum = add_to_sum(add_to_sum(sum, event->owner), event->note);
    sum = add_to_sum(add_to_sum(sum, event->by), event->reason);
    return sum != 0 ? sum : 1;
}

static void keep_events(const struct lk_event_page *page, struct sim_answer *answer) {
    assert(page->count <= SIM_ANSWER_EVENTS_MAX);
    answer->last = page->last;
    answer->event_count = page->count;
    for (size_t i = 0; i < page->count; i++) {
        answer->events[i].sequence = page->events[i].sequence;
        answer->events[i].sum = sum_of(&page->events[i]);
    }
}

/* LK_COMMAND_TICK: it is no command. */
static enum lk_command_kind decides(const struct lk_call *call) {
    return call->kind == LK_CALL_COMMAND ? call->command.kind : LK_COMMAND_TICK;
}

static void on_answer(void *peer, uint64_t tag, uint64_t batch, const struct lk_reply *reply) {
    struct sim_connection *connection = peer;
    struct sim *sim = connection->sim;
    struct sim_answer *answer = &connection->answers[connection->answer_count];
    static struct lk_record record;

    if (sim->is_dying) {
        return;
    }
    assert(connection->answer_count < SIM_ANSWERS_MAX);
    *answer = (struct sim_answer){
        .decides = decides(&sim->clients[connection->client].call), /* one at a time */
        .outcome = reply->answer->outcome,
        .tag = tag,
        .batch = batch,
        .number = ++sim->decisions,
        .decided_us = reply->times->now_us,
    };
    if (reply->answer->request != 0
        && (answer->outcome == LK_GRANTED || answer->outcome == LK_WAITING
            || (answer->decides == LK_COMMAND_RENEW && answer->outcome == LK_OK))) {
        lk_model_record(reply->model, reply->answer->request, &record);
        answer->until_us = record.deadline_us;
        answer->ticket = record.ticket;
        answer->token = record.token;
        answer->is_covered = is_covered(reply->model, reply->answer->request, &record);
        answer->is_drawn = record.token == lk_model_greatest_draw(reply->model);
    }
    if (answer->decides == LK_COMMAND_TAKE && answer->outcome == LK_GRANTED) {
        static struct lk_item_record item;
        lk_model_item_record(reply->model, reply->answer->item, &item);
        sim_write(answer->id, "%.*s", (int)item.id.size, item.id.bytes);
    }
    if (reply->page != NULL) {
        answer->is_of_events = true;
        keep_events(reply->page, answer);
    }
    connection->answer_count++;
    if (batch == 0 || sim->flaw == SIM_ANSWERS_EARLY) {
        let_go(connection, sim->flaw == SIM_ANSWERS_EARLY ? UINT64_MAX : 0);
    }
}

static void on_durable(void *peer, uint64_t batch) {
    let_go(peer, batch);
}

static void on_failed(void *peer, const char *why) {
    struct sim_connection *connection = peer;

    (void)why;
    for (size_t i = 0; i < connection->answer_count; i++) {
        connection->answers[i].outcome = LK_UNAVAILABLE;
        connection->answers[i].batch = 0;
    }
    let_go(connection, 0);
}

const struct lk_session_ops sim_session_ops = {
    .answer = on_answer,
    .durable = on_durable,
    .failed = on_failed,
};

/* ---- what it says ---------------------------------------------------------------------------- */

void client_init(struct sim *sim, int index) {
    struct sim_client *client = &sim->clients[index];

    *client = (struct sim_client){.connection = {.sim = sim, .client = index}};
    sim_write(client->name, "c%d", index);
}

static bool connect_client(struct sim *sim, struct sim_client *client) {
    struct sim_connection *connection = &client->connection;

    if (connection->is_open) {
        return true;
    }
    if (lk_core_session_open(sim->core, &sim_session_ops, connection, &connection->session, NULL)
        != LK_OK) {
        return false;
    }
    connection->is_open = true;
    connection->generation++;
    return true;
}

/* Half of them read, the other half write; all use the pool. No client converts. */
static void name_part(struct sim_client *client, size_t at, const char *path) {
    const char *suffix = strcmp(path, "pool") == 0            ? "?limit=2"
                         : client->connection.client % 3 == 2 ? "?shared"
                                                              : "";

    sim_write(client->parts_text[at], "%s%s", path, suffix);
}

static void parse_parts(struct sim_client *client, size_t count) {
    for (size_t i = 0; i < count; i++) {
        (void)lk_part_parse(lk_slice_of(client->parts_text[i]), NULL, &client->parts[i], NULL);
    }
}

static void choose_owner(struct sim *sim, struct sim_client *client) {
    struct lk_slice own = lk_session_owner(client->connection.session);

    if (sim_chance(sim, 15)) {
        sim_write(client->owner, "%.*s", (int)own.size, own.bytes);
        client->is_bound = true;
    } else {
        /* A name of its own for what is bound: another lease of the name must stay. */
        client->is_bound = sim_chance(sim, 10);
        sim_write(client->owner, "%s%s", client->name, client->is_bound ? "bound" : "");
    }
}

static void begin_command(struct sim_client *client, enum lk_command_kind kind) {
    client->call.kind = LK_CALL_COMMAND;
    client->call.command = (struct lk_command){.kind = kind};
}

static void say_ask(struct sim *sim, struct sim_client *client) {
    size_t count = sim_chance(sim, 80) ? 1 : 2;
    size_t first = (size_t)sim_between(sim, 0, 4);
    struct lk_ask *ask = &client->call.command.ask;

    choose_owner(sim, client);
    name_part(client, 0, paths[first]);
    if (count == 2) {
        name_part(client, 1, paths[(first + 3) % 4 == first ? 3 : (first + 3) % 4]);
        count = first == 4 || strcmp(client->parts_text[0], client->parts_text[1]) == 0 ? 1 : 2;
    }
    parse_parts(client, count);
    begin_command(client, LK_COMMAND_ASK);
    *ask = (struct lk_ask){
        .owner = lk_slice_of(client->owner),
        .parts = client->parts,
        .part_count = count,
        .style = (lk_style)sim_between(sim, LK_TRY, LK_WAIT),
        .ttl_ms = sim_chance(sim, 10) ? 0 : sim_between(sim, 50, 4000),
        .blockers_max = 4,
        .wants_value = sim_chance(sim, 30),
    };
    client->call.wait_ms = sim_between(sim, 10, 3000);
    client->call.is_bound = client->is_bound;
    client->call.ends_withdrawn = sim_chance(sim, 50);
}

/* One of the leases that it has, as far as its answers said. */
static struct sim_lease *some_lease(struct sim *sim, const struct sim_client *client) {
    size_t tries = sim->lease_count < 40 ? sim->lease_count : 40;

    for (size_t i = 0; i < tries; i++) {
        struct sim_lease *lease = &sim->leases[sim->lease_count - 1 - i];
        if (lease->client == client->connection.client && lease->ended_us == LK_NEVER
            && lease->until_us > sim->times.now_us - 100000 && sim_chance(sim, 60)) {
            return lease;
        }
    }
    return NULL;
}

/* R12: the call names no owner: over HTTP there is none, over RESP it is the connection's. */
static void leave_out_owner(struct sim *sim, struct sim_client *client, struct lk_target *target) {
    struct lk_slice own = lk_session_owner(client->connection.session);

    target->owner = sim_chance(sim, 50) ? own : (struct lk_slice){NULL, 0};
    client->call.is_by_token = true;
}

static void say_of_lease(struct sim *sim, struct sim_client *client, const struct sim_lease *lease,
                         bool ends) {
    struct lk_finish *finish;
    struct lk_target target;

    memcpy(client->owner, lease->owner, sizeof client->owner);
    memcpy(client->parts_text, lease->parts, sizeof client->parts_text);
    parse_parts(client, lease->part_count);
    target = (struct lk_target){
        .owner = lk_slice_of(client->owner),
        .parts = client->parts,
        .part_count = lease->part_count,
        .token = sim_chance(sim, 50) ? lease->token : 0,
    };
    if (target.token != 0 && !(ends && lease->is_claim) && sim_chance(sim, 40)) {
        leave_out_owner(sim, client, &target);
    }
    if (ends && lease->is_claim) {
        sim_write(client->id, "%s", lease->parts[0] + 2);
        begin_command(client, LK_COMMAND_FINISH);
        finish = &client->call.command.finish;
        *finish = (struct lk_finish){
            .owner = target.owner,
            .token = target.token,
            .id = lk_slice_of(client->id),
            .kind = sim_chance(sim, 65)   ? LK_FINISH_DONE
                    : sim_chance(sim, 75) ? LK_FINISH_RETRY
                                          : LK_FINISH_PROGRESS,
            .delay_ms = sim_chance(sim, 20) ? 0 : sim_between(sim, 0, 300),
        };
        (void)lk_path_parse(lk_slice_of("w"), &finish->queue, NULL);
        finish->delay_ms = finish->kind == LK_FINISH_RETRY ? finish->delay_ms : 0;
        if (finish->kind == LK_FINISH_DONE && sim_chance(sim, 30)) {
            finish->keep_ms = sim_between(sim, 1, 500);
            finish->result = lk_slice_of("what came of it");
        } else if (finish->kind == LK_FINISH_PROGRESS) {
            finish->progress = lk_slice_of("half of it");
        }
        finish->is_uncounted = finish->kind == LK_FINISH_RETRY && sim_chance(sim, 30);
        finish->parks =
            finish->kind == LK_FINISH_RETRY && finish->delay_ms == 0 && sim_chance(sim, 30);
    } else if (ends) {
        begin_command(client, LK_COMMAND_RELEASE);
        client->call.command.release = (struct lk_release){.target = target};
    } else {
        begin_command(client, LK_COMMAND_RENEW);
        client->call.command.renew = (struct lk_renew){.target = target};
    }
}

static void say_put(struct sim *sim, struct sim_client *client) {
    struct lk_put *put = &client->call.command.put;

    sim_write(client->value, "value-%" PRIu64, ++sim->values);
    sim_write(client->owner, "%s", client->name);
    begin_command(client, LK_COMMAND_PUT);
    *put = (struct lk_put){
        .owner = lk_slice_of(client->owner),
        .deletes = sim_chance(sim, 20),
        .bytes = lk_slice_of(client->value),
    };
    (void)lk_path_parse(lk_slice_of(paths[sim_between(sim, 0, 1)]), &put->path, NULL);
}

static void say_push(struct sim *sim, struct sim_client *client) {
    struct lk_push *push = &client->call.command.push;

    sim_write(client->id, "i%" PRId64, sim_between(sim, 1, 12));
    sim_write(client->value, "work-%" PRIu64, ++sim->values);
    begin_command(client, LK_COMMAND_PUSH);
    *push = (struct lk_push){
        .kind = sim_chance(sim, 60)   ? LK_PUSH_NEW
                : sim_chance(sim, 70) ? LK_PUSH_AGAIN
                                      : LK_PUSH_REPLACE,
        .id = lk_slice_of(client->id),
        .value = lk_slice_of(client->value),
        .delay_ms = sim_chance(sim, 30) ? sim_between(sim, 1, 500) : 0,
        .keep_ms = sim_chance(sim, 30) ? sim_between(sim, 1, 500) : 0,
    };
    if (sim_chance(sim, 20)) {
        sim_write(client->parts_text[0], "%s",
                  sim_chance(sim, 50) ? "pool?limit=2" : "line?strict");
        (void)lk_need_parse(lk_slice_of(client->parts_text[0]), &client->parts[0], NULL);
        push->needs = client->parts;
        push->need_count = 1;
    }
    (void)lk_path_parse(lk_slice_of("w"), &push->queue, NULL);
}

static void say_take(struct sim *sim, struct sim_client *client) {
    struct lk_take *take = &client->call.command.take;

    choose_owner(sim, client);
    begin_command(client, LK_COMMAND_TAKE);
    *take = (struct lk_take){
        .owner = lk_slice_of(client->owner),
        .ttl_ms = sim_between(sim, 50, 3000),
        .ask_number = ++client->ask_number,
    };
    (void)lk_path_parse(lk_slice_of("w"), &take->queue, NULL);
    client->call.wait_ms = sim_chance(sim, 60) ? sim_between(sim, 10, 2000) : 0;
    client->call.is_bound = client->is_bound;
}

static void say_break(struct sim *sim, struct sim_client *client) {
    struct lk_break *broken = &client->call.command.broken;

    begin_command(client, LK_COMMAND_BREAK);
    *broken = (struct lk_break){
        .at_once = sim_chance(sim, 50),
        .by = lk_slice_of("admin"),
        .reason = lk_slice_of("a reason"),
    };
    broken->cancels = sim_chance(sim, 40);
    sim_write(client->id, "w/i%" PRId64, sim_between(sim, 1, 12));
    (void)lk_path_parse(lk_slice_of(broken->cancels ? client->id : paths[sim_between(sim, 0, 4)]),
                        &broken->path, NULL);
}

static void say_something(struct sim *sim, struct sim_client *client) {
    int64_t kind = sim_between(sim, 0, 99);
    const struct sim_lease *lease = some_lease(sim, client);

    client->call = (struct lk_call){.kind = LK_CALL_LIST};
    client->is_bound = false;
    if (kind < 40 || (kind < 72 && lease == NULL)) {
        say_ask(sim, client);
    } else if (kind < 72) {
        say_of_lease(sim, client, lease, kind >= 52);
    } else if (kind < 78) {
        say_put(sim, client);
    } else if (kind < 86) {
        say_push(sim, client);
    } else if (kind < 94) {
        say_take(sim, client);
    } else if (kind < 97) {
        say_break(sim, client);
    }
    if (sim->has_followers && client->connection.client < 2 && sim_chance(sim, 40)) {
        client->call = (struct lk_call){
            .kind = LK_CALL_EVENTS,
            .selection = {.after = client->followed, .count = SIM_ANSWER_EVENTS_MAX - 1},
            .wait_ms = sim_chance(sim, 50) ? sim_between(sim, 1, 2000) : 0,
        };
        client->is_bound = false;
    }
}

/* The last phase: waits for a path that others want, and gives it back. */
static bool say_last(struct sim *sim, struct sim_client *client) {
    client->call = (struct lk_call){.wait_ms = LK_NEVER};
    begin_command(client, LK_COMMAND_ASK);
    client->is_bound = false;
    sim_write(client->owner, "%slast", client->name);
    name_part(client, 0, paths[client->connection.client % 5]);
    parse_parts(client, 1);
    (void)sim;
    if (client->healed == 0) {
        client->call.command.ask = (struct lk_ask){
            .owner = lk_slice_of(client->owner),
            .parts = client->parts,
            .part_count = 1,
            .style = LK_WAIT,
            .ttl_ms = 1000,
        };
    } else {
        begin_command(client, LK_COMMAND_RELEASE);
        client->call.command.release.target = (struct lk_target){
            .owner = lk_slice_of(client->owner),
            .parts = client->parts,
            .part_count = 1,
        };
    }
    return client->healed < 2;
}

/* ---- what it does ---------------------------------------------------------------------------- */

static void send_call(struct sim *sim, struct sim_client *client) {
    struct sim_event event = {.kind = SIM_ARRIVE,
                              .client = client->connection.client,
                              .generation = client->connection.generation};

    client->call.tag = ++client->tag;
    client->is_waiting = true;
    client->patience_us = sim->times.now_us + sim_between(sim, 500000, 6000000);
    sim_schedule(sim, sim_between(sim, 50, 5000), &event);
}

void client_cut(struct sim *sim, int index) {
    struct sim_client *client = &sim->clients[index];

    if (client->connection.is_open) {
        check_leaving(sim, index);
        client->connection.is_open = false;
        client->connection.generation++;
        client->connection.answer_count = 0;
    }
    client->is_waiting = false;
}

static void hang_up(struct sim *sim, int index) {
    sim_say(sim, "c%d hangs up", index);
    struct sim_client *client = &sim->clients[index];
    struct lk_session *session = client->connection.session;
    bool was_open = client->connection.is_open;

    client_cut(sim, index);
    if (was_open) {
        lk_core_session_close(sim->core, session, &sim->times);
        check_gone(sim, sim->core->model);
    }
}

void client_act(struct sim *sim, int index) {
    struct sim_client *client = &sim->clients[index];
    struct sim_event again = {.kind = SIM_ACT, .client = index};

    if (sim->has_faults && sim_chance(sim, sim->cut_percent)) {
        hang_up(sim, index);
    }
    if (client->is_waiting && sim->has_faults && client->patience_us < sim->times.now_us) {
        hang_up(sim, index);
    }
    if (!client->is_waiting && connect_client(sim, client)) {
        if (sim->has_faults) {
            say_something(sim, client);
            send_call(sim, client);
        } else if (say_last(sim, client)) {
            send_call(sim, client);
        }
    }
    sim_schedule(sim, sim_between(sim, 500, sim->has_faults ? 60000 : 200000), &again);
}

void client_arrive(struct sim *sim, int index, uint64_t generation) {
    struct sim_client *client = &sim->clients[index];

    if (client->connection.is_open && client->connection.generation == generation) {
        sim_say(sim, "%s: call %d %s %s%s%s", client->name, (int)decides(&client->call),
                client->owner, client->parts_text[0], client->is_bound ? " bound" : "",
                lk_call_is(&client->call, LK_COMMAND_ASK)
                        && client->call.command.ask.style == LK_WAIT
                    ? " waits"
                    : "");
        check_ending(sim, client);
        lk_core_call(sim->core, client->connection.session, &client->call, &sim->times);
    }
}

void client_reply(struct sim *sim, int index, uint64_t generation,
                  const struct sim_answer *answer) {
    struct sim_client *client = &sim->clients[index];

    if (!client->connection.is_open || client->connection.generation != generation) {
        return;
    }
    if (!client->is_waiting || answer->tag != client->tag) {
        sim_fail(sim, "client %d was answered twice", index);
        return;
    }
    client->is_waiting = false;
    if (answer->is_of_events && answer->outcome == LK_OK) {
        client->followed = answer->last;
    }
    if (!sim->has_faults) {
        client->healed = answer->decides == LK_COMMAND_ASK && answer->outcome == LK_GRANTED ? 1
                         : answer->decides == LK_COMMAND_RELEASE && client->healed == 1
                                 && (answer->outcome == LK_OK || answer->outcome == LK_LOST)
                             ? 2
                             : client->healed;
    }
}

bool client_is_healed(const struct sim *sim, int index) {
    return sim->clients[index].healed == 2 && !sim->clients[index].is_waiting;
}

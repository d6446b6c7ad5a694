/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client: one call at a time, and notes of when it called and was answered; and what the notes of
 * all clients must never show.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

static const char *const paths[] = {"a", "b"};

void client_init(struct world *world, int index) {
    struct client *client = &world->clients[index];

    *client = (struct client){.says = index < READERS ? SAYS_GET : SAYS_ASK};
    text_write(client->name, "c%d", index);
    /* Always the same: so a call that arrives late shortens no lease. */
    client->ttl_us = (world->has_long_leases ? 20000 : world_between(world, 400, 3000)) * 1000;
    client->service = (int)world_between(world, 0, SERVICES - 1);
}

static void choose_path(struct world *world, struct client *client) {
    text_write(client->path, "%s", paths[world_between(world, 0, 1)]);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void fill_put(struct world *world, struct client *client, struct message *message) {
    struct lk_command *command = &message->call.command;

    assert(world->put_count < PUTS_MAX);
    client->put = &world->puts[world->put_count++];
    *client->put =
        (struct put){.value = ++world->values, .call_us = world->now_us, .return_us = LK_NEVER};
    memcpy(client->put->path, client->path, sizeof client->path);
    text_write(message->value, "%" PRIu64 "x", client->put->value);
    command->kind = LK_COMMAND_PUT;
    command->put = (struct lk_put){.path = message->part.path,
                                   .owner = lk_slice_of(message->owner),
                                   .token = client->grant->token,
                                   .bytes = lk_slice_of(message->value)};
}

static void fill(struct world *world, struct client *client, struct message *message) {
    struct lk_call *call = &message->call;
    const struct lk_target target = {.owner = lk_slice_of(message->owner),
                                     .parts = &message->part,
                                     .part_count = 1,
                                     .token = client->grant != NULL ? client->grant->token : 0};

    (void)lk_part_parse(lk_slice_of(message->path), NULL, &message->part, NULL);
    call->kind = client->says == SAYS_GET ? LK_CALL_GET : LK_CALL_COMMAND;
    switch (client->says) {
    case SAYS_ASK:
        call->command.kind = LK_COMMAND_ASK;
        call->command.ask = (struct lk_ask){.owner = target.owner,
                                            .parts = &message->part,
                                            .part_count = 1,
                                            .style = world_chance(world, 50) ? LK_TRY : LK_WAIT,
                                            .ttl_ms = client->ttl_us / 1000};
        call->wait_ms = world_between(world, 10, 2000);
        break;
    case SAYS_RENEW:
        call->command.kind = LK_COMMAND_RENEW;
        call->command.renew.target = target;
        break;
    case SAYS_PUT:
        fill_put(world, client, message);
        break;
    case SAYS_RELEASE:
        call->command.kind = LK_COMMAND_RELEASE;
        call->command.release.target = target;
        break;
    case SAYS_GET:
        call->selection = (struct lk_selection){.has_path = true, .path = message->part.path};
        break;
    }
}

static void send_call(struct world *world, struct client *client) {
    struct message *message = calloc(1, sizeof *message);
    struct connection *connection = client->connection;

    message->connection = connection;
    message->says = client->says;
    memcpy(message->owner, client->name, sizeof message->owner);
    memcpy(message->path, client->path, sizeof message->path);
    fill(world, client, message);
    message->call.tag = ++client->tag;
    client->is_waiting = true;
    client->call_us = world->now_us;
    client->patience_us =
        world->now_us + world_between(world, 500000, client->says == SAYS_GET ? 2000000 : 4000000);
    if (client->says == SAYS_RELEASE && client->grant->until_us > world->now_us) {
        client->grant->until_us = world->now_us;
    }
    world_schedule(world, world_between(world, 50, 5000),
                   &(struct event){.kind = EVENT_CALL,
                                   .service = connection->service,
                                   .life = world->services[connection->service].life,
                                   .message = message});
}

static void next_service(struct client *client) {
    client->service = (client->service + 1) % SERVICES;
}

/* Goes on at another service. What it has asked may still arrive there. */
static void go_away(struct world *world, struct client *client) {
    struct connection *connection = client->connection;

    if (connection != NULL) {
        connection->is_left = true;
        world_schedule(world, 5001, /* behind its last call */
                       &(struct event){.kind = EVENT_HANG_UP,
                                       .service = connection->service,
                                       .life = world->services[connection->service].life,
                                       .connection = connection});
    }
    client->connection = NULL;
    client->is_waiting = false;
    client->put = NULL;
    next_service(client);
}

void client_reset(struct world *world, int index) {
    struct client *client = &world->clients[index];

    (void)world;
    client->connection = NULL;
    client->is_waiting = false;
    client->put = NULL;
    next_service(client);
}

/* ---- what it does next ----------------------------------------------------------------------- */

static void forget_grant(struct client *client) {
    client->grant = NULL;
    client->says = SAYS_ASK;
    client->asked_us = 0;
}

static void choose_next(struct world *world, struct client *client) {
    if (client->says == SAYS_RELEASE) {
        return; /* again */
    }
    if (client->grant->until_us <= world->now_us) {
        forget_grant(client);
    } else if (client->steps == 0) {
        client->says = SAYS_RELEASE;
    } else {
        client->steps--;
        client->says = (enum says)world_between(world, SAYS_RENEW, SAYS_PUT);
    }
}

void client_act(struct world *world, int index) {
    struct client *client = &world->clients[index];

    if (client->is_waiting && client->patience_us < world->now_us) {
        go_away(world, client);
    }
    if (client->connection == NULL) {
        client->connection = service_connect(world, client->service, index);
        if (client->connection == NULL) {
            next_service(client);
        }
    }
    if (!client->is_waiting && client->connection != NULL) {
        if (client->grant != NULL) {
            choose_next(world, client);
        }
        if (client->grant == NULL && client->asked_us == 0) {
            choose_path(world, client);
            client->asked_us = world->now_us;
        }
        send_call(world, client);
    }
    world_schedule(world, world_between(world, 500, world->pace_us),
                   &(struct event){.kind = EVENT_ACT, .service = -1, .client = index});
}

/* ---- answers --------------------------------------------------------------------------------- */

static void note_grant(struct world *world, struct client *client, const struct answer *answer) {
    assert(world->grant_count < GRANTS_MAX);
    client->grant = &world->grants[world->grant_count++];
    *client->grant = (struct grant){.client = (int)(client - world->clients),
                                    .token = answer->token,
                                    .asked_us = client->asked_us,
                                    .return_us = world->now_us,
                                    .until_us = client->call_us + client->ttl_us};
    memcpy(client->grant->path, client->path, sizeof client->path);
    client->steps = (unsigned)world_between(world, 0, 6);
}

static void note_get(struct world *world, const struct client *client,
                     const struct answer *answer) {
    struct get *get = &world->gets[world->get_count++];

    assert(world->get_count < GETS_MAX);
    *get = (struct get){
        .value = answer->value, .call_us = client->call_us, .return_us = world->now_us};
    memcpy(get->path, client->path, sizeof client->path);
}

/* Readers try every service now and then, also one that has been replaced and does not know. */
static void read_elsewhere(struct world *world, struct client *client) {
    if (world_chance(world, 20)) {
        go_away(world, client);
        client->service = (int)world_between(world, 0, SERVICES - 1);
    }
}

static void renewed(struct world *world, struct client *client, lk_outcome outcome) {
    if (outcome == LK_OK) {
        client->grant->until_us = client->call_us + client->ttl_us;
    } else if (world->now_us < client->grant->until_us) {
        world_fail(world, "%s was answered that it holds %s, and its renewal is %s", client->name,
                   client->path, lk_outcome_name(outcome));
    }
}

/* Any outcome but UNAVAILABLE: the call was decided. */
static void decided(struct world *world, struct client *client, const struct answer *answer) {
    switch (answer->says) {
    case SAYS_ASK:
        if (answer->outcome == LK_GRANTED) {
            note_grant(world, client, answer);
        } else {
            client->asked_us = 0;
        }
        break;
    case SAYS_RENEW:
        renewed(world, client, answer->outcome);
        break;
    case SAYS_GET:
        note_get(world, client, answer);
        if (client->grant == NULL) {
            client->asked_us = 0;
            read_elsewhere(world, client);
        }
        break;
    case SAYS_PUT:
        if (answer->outcome == LK_OK) {
            client->put->return_us = world->now_us;
        } else if (world->now_us < client->grant->until_us) {
            world_fail(world, "%s was answered that it holds %s, and its put is %s", client->name,
                       client->path, lk_outcome_name(answer->outcome));
        }
        break;
    case SAYS_RELEASE:
        client->cycles++;
        forget_grant(client);
        break;
    }
}

void client_reply(struct world *world, int index, const struct answer *answer) {
    struct client *client = &world->clients[index];

    if (!client->is_waiting || answer->tag != client->tag) {
        world_fail(world, "%s was answered twice", client->name);
        return;
    }
    client->is_waiting = false;
    world_say(world, "%s: %d %s is %s, token %" PRIu64 " value %" PRIu64, client->name,
              (int)answer->says, client->path, lk_outcome_name(answer->outcome), answer->token,
              answer->value);
    if (answer->outcome == LK_UNAVAILABLE) {
        go_away(world, client);
    } else {
        decided(world, client, answer);
    }
}

/* ---- what must never be, by the notes of the clients alone ----------------------------------- */

/* R6: no two hold at a time; R4: who asked after the other was answered has the greater token. */
static void check_pair(struct world *world, const struct grant *a, const struct grant *b) {
    if (a->client != b->client && a->token == b->token) {
        world_fail(world, "c%d and c%d have the same token %" PRIu64, a->client, b->client,
                   a->token);
    }
    if (a->client != b->client && a->return_us < b->until_us && b->return_us < a->until_us) {
        world_fail(world,
                   "granted twice: %s to c%d (token %" PRIu64 ") and c%d (token %" PRIu64 ")",
                   a->path, a->client, a->token, b->client, b->token);
    }
    if (a->return_us < b->asked_us && a->token > b->token) {
        world_fail(world, "R4: token %" PRIu64 " came after %" PRIu64, b->token, a->token);
    }
}

static const struct put *find_put(const struct world *world, uint64_t value) {
    return value > 0 && value <= world->put_count ? &world->puts[value - 1] : NULL;
}

/* A value that was replaced before the call, by a put that was answered, must not be read. */
static void check_get(struct world *world, const struct get *get) {
    const struct put *put = find_put(world, get->value);
    int64_t put_us = put != NULL ? put->return_us : -1;

    if (put != NULL && put->call_us > get->return_us) {
        world_fail(world, "value %" PRIu64 " was read before it was put", get->value);
    }
    for (size_t i = 0; i < world->put_count; i++) {
        const struct put *other = &world->puts[i];

        if (strcmp(other->path, get->path) == 0 && other->call_us > put_us
            && other->return_us < get->call_us) {
            world_fail(world, "value %" PRIu64 " of %s was read after %" PRIu64 " was put",
                       get->value, get->path, other->value);
            return;
        }
    }
}

void notes_check(struct world *world) {
    for (size_t i = 0; i < world->grant_count && world->wrong == NULL; i++) {
        for (size_t j = 0; j < world->grant_count; j++) {
            if (i != j && strcmp(world->grants[i].path, world->grants[j].path) == 0) {
                check_pair(world, &world->grants[i], &world->grants[j]);
            }
        }
    }
    for (size_t i = 0; i < world->get_count && world->wrong == NULL; i++) {
        check_get(world, &world->gets[i]);
    }
}

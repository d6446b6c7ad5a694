/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: shared_simulator [--worlds N] [--from N] [--replay N] [--flaw 1..6]
 *
 * The world: its clock, its events, and its faults. The program runs N generated worlds of several
 * services on one store, the first with a random seed unless LK_TEST_SEED or --from sets it. A
 * failure is printed with the command that replays it.
 */
#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../worlds.h"

#define FAULTS_US INT64_C(30000000)   /* how long faults go on */
#define HEALING_US INT64_C(600000000) /* after which every client must have made progress */

enum { CYCLES = 2 }; /* of each client, after the faults */

void world_fail(struct world *world, const char *format, ...) {
    va_list arguments;

    if (world->wrong == NULL) {
        va_start(arguments, format);
        (void)vsnprintf(world->wrong_text, sizeof world->wrong_text, format, arguments);
        va_end(arguments);
        world->wrong = world->wrong_text;
    }
}

void world_say(struct world *world, const char *format, ...) {
    va_list arguments;

    if (world->talks) {
        va_start(arguments, format);
        (void)printf("# %10.6f ", (double)world->now_us / 1e6);
        (void)vprintf(format, arguments);
        (void)printf("\n");
        va_end(arguments);
    }
}

void text_write(char ret_text[TEXT_MAX], const char *format, ...) {
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(ret_text, TEXT_MAX, format, arguments);
    va_end(arguments);
    assert(size >= 0 && size < TEXT_MAX);
    (void)size;
}

int64_t world_between(struct world *world, int64_t low, int64_t high) {
    return lk_random_between(&world->random, low, high);
}

bool world_chance(struct world *world, unsigned percent) {
    return world_between(world, 0, 99) < (int64_t)percent;
}

void world_schedule(struct world *world, int64_t in_us, const struct event *event) {
    struct event *slot = &world->events[world->event_count++];

    assert(world->event_count < EVENTS_MAX);
    *slot = *event;
    slot->at_us = world->now_us + in_us;
    slot->came_us = slot->at_us;
    slot->order = ++world->order;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* Never earlier than what an earlier fault has said. */
static void lengthen(struct world *world, int64_t *until_us) {
    int64_t at_us = world->now_us + world_between(world, 100000, 12000000);

    *until_us = at_us > *until_us ? at_us : *until_us;
}

static void cause_fault(struct world *world) {
    int index = (int)world_between(world, 0, SERVICES - 1);
    struct service *service = &world->services[index];

    if (world_chance(world, 60) && world->store.epoch > 0) {
        index = world->store.leader;
        service = &world->services[index];
    }
    switch (world_between(world, 0, 4)) {
    case 0:
        world_say(world, "s%d is killed", index);
        service_kill(world, index);
        break;
    case 1:
        lengthen(world, &service->stopped_until_us);
        service->is_suspended = world_chance(world, 50);
        world_say(world, "s%d is stopped until %.6f", index,
                  (double)service->stopped_until_us / 1e6);
        break;
    case 2:
        lengthen(world, &service->cut_until_us);
        world_say(world, "s%d is cut off until %.6f", index, (double)service->cut_until_us / 1e6);
        break;
    case 3:
        world_say(world, "s%d is terminated", index);
        service_terminate(world, index);
        break;
    default:
        service->wall_ahead_us = world_between(world, -3600, 3600) * 1000000;
        break;
    }
    if (world->has_faults) {
        world_schedule(world, world_between(world, 200000, 4000000),
                       &(struct event){.kind = EVENT_FAULT, .service = -1});
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void at_store(struct world *world, const struct event *event) {
    struct event back = *event;
    int64_t in_us = world_between(world, 100, world->store_us_max);

    store_take(world, &back.request);
    back.kind = EVENT_FROM_STORE;
    back.service = back.request.service;
    back.life = back.request.life;
    if (back.request.job == JOB_RESIGN || world->services[back.service].cut_until_us > world->now_us
        || (world->has_faults && world_chance(world, world->lost_percent))) {
        lk_core_snapshot_free(back.request.snapshot); /* the answer is lost */
        return;
    }
    world_schedule(world, in_us, &back);
}

static void handle(struct world *world, struct event *event) {
    switch (event->kind) {
    case EVENT_ACT:
        client_act(world, event->client);
        break;
    case EVENT_CALL:
        if (!world->services[event->service].is_suspended || !event->message->connection->is_left) {
            service_call(world, event->message);
        }
        break;
    case EVENT_HANG_UP:
        service_hang_up(world, event->connection);
        break;
    case EVENT_REPLY:
        if (world->clients[event->client].connection != NULL
            && world->clients[event->client].connection->serial == event->serial) {
            client_reply(world, event->client, &event->answer);
        }
        break;
    case EVENT_AT_STORE:
        at_store(world, event);
        break;
    case EVENT_PATIENCE:
        event->request.outcome = LK_UNAVAILABLE;
        event->request.snapshot = NULL;
        service_result(world, &event->request);
        break;
    case EVENT_FROM_STORE:
        service_result(world, &event->request);
        event->request.snapshot = NULL;
        break;
    case EVENT_START:
        service_start(world, event->client);
        break;
    case EVENT_FAULT:
        if (world->has_faults) {
            cause_fault(world);
        }
        break;
    }
}

static void drop_event(struct event *event) {
    free(event->message);
    if (event->kind == EVENT_FROM_STORE) {
        lk_core_snapshot_free(event->request.snapshot);
    }
}

static bool is_before(const struct event *a, const struct event *b) {
    if (a->at_us != b->at_us) {
        return a->at_us < b->at_us;
    }
    return a->came_us != b->came_us ? a->came_us < b->came_us : a->order < b->order;
}

static size_t first_event(const struct world *world) {
    size_t first = 0;

    for (size_t i = 1; i < world->event_count; i++) {
        first = is_before(&world->events[i], &world->events[first]) ? i : first;
    }
    return first;
}

/* A stopped service gets everything later, in its order; a dead one nothing. */
static void deliver(struct world *world, struct event *event) {
    struct service *service = event->service >= 0 ? &world->services[event->service] : NULL;

    if (service != NULL && event->life == service->life
        && service->stopped_until_us > world->now_us) {
        world_schedule(world, service->stopped_until_us - world->now_us, event);
        world->events[world->event_count - 1].came_us = event->came_us;
        return;
    }
    if (service == NULL || event->life == service->life) {
        handle(world, event);
    }
    drop_event(event);
}

static void step(struct world *world) {
    size_t first = first_event(world);
    int64_t at_us = world->events[first].at_us;
    int64_t due_us = LK_NEVER;

    for (int i = 0; i < SERVICES; i++) {
        int64_t service_us = service_due(world, i);
        due_us = service_us < due_us ? service_us : due_us;
    }
    if (due_us < at_us) {
        world->now_us = due_us > world->now_us ? due_us : world->now_us;
    } else {
        world->now_us = at_us;
    }
    /* All that has arrived belongs to one turn, such as what a stopped service finds. */
    while (world->events[first].at_us <= world->now_us) {
        struct event event = world->events[first];
        world->events[first] = world->events[--world->event_count];
        deliver(world, &event);
        first = first_event(world);
    }
    for (int i = 0; i < SERVICES; i++) {
        service_turn(world, i);
    }
}

/* ---- a whole world --------------------------------------------------------------------------- */

static void begin(struct world *world) {
    world->random.state = world->number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    world->now_us = 1000000000;
    world->has_faults = true;
    world->lost_percent = world_chance(world, 50) ? (unsigned)world_between(world, 0, 4) : 0;
    world->has_long_leases = world_chance(world, 50);
    world->pace_us = world_chance(world, 50) ? 60000 : 300000;
    world->store_us_max = world_chance(world, 50) ? 2000 : 50000;
    for (int i = 0; i < SERVICES; i++) {
        world->services[i].wall_ahead_us = world_between(world, -60, 60) * 1000000;
        service_start(world, i);
    }
    for (int i = 0; i < CLIENTS; i++) {
        client_init(world, i);
        world_schedule(world, world_between(world, 1, 50000),
                       &(struct event){.kind = EVENT_ACT, .service = -1, .client = i});
    }
    world_schedule(world, world_between(world, 500000, 4000000),
                   &(struct event){.kind = EVENT_FAULT, .service = -1});
}

static bool is_healed(const struct world *world, const unsigned *cycles) {
    for (int i = READERS; i < CLIENTS; i++) {
        if (world->clients[i].cycles < cycles[i] + CYCLES) {
            return false;
        }
    }
    return true;
}

static void heal(struct world *world) {
    int64_t end_us = world->now_us + HEALING_US;
    unsigned cycles[CLIENTS];

    world->has_faults = false;
    for (int i = 0; i < CLIENTS; i++) {
        cycles[i] = world->clients[i].cycles;
    }
    while (world->wrong == NULL && !is_healed(world, cycles)) {
        step(world);
        if (world->now_us > end_us) {
            world_fail(world, "a client got no lock after the faults were over");
        }
    }
}

static void finish(struct world *world) {
    for (int i = 0; i < SERVICES; i++) {
        service_kill(world, i);
    }
    for (size_t i = 0; i < world->event_count; i++) {
        drop_event(&world->events[i]);
    }
    for (size_t i = 0; i < world->retired_count; i++) {
        lk_core_free(world->retired[i]);
    }
}

const char *world_run(struct world *world, uint64_t number, enum flaw flaw, bool talks,
                      struct lk_storage *rows) {
    int64_t end_us;

    memset(world, 0, sizeof *world);
    world->number = number;
    world->flaw = flaw;
    world->talks = talks;
    world->store.rows = rows;
    begin(world);
    end_us = world->now_us + FAULTS_US;
    while (world->wrong == NULL && world->now_us < end_us) {
        step(world);
    }
    if (world->wrong == NULL) {
        heal(world);
    }
    if (world->wrong == NULL) {
        notes_check(world);
    }
    finish(world);
    return world->wrong;
}

/* ---- the program ----------------------------------------------------------------------------- */

enum { WORLDS = 200 };

struct totals {
    uint64_t grants;
    uint64_t gets;
    uint64_t takeovers;
    uint64_t replaced;
    uint64_t unknown;
    uint64_t wrong;
};

static void run(struct world *world, const struct worlds *worlds, uint64_t number,
                const struct scratch_store *scratch, struct totals *totals, const char *program) {
    const char *wrong;

    scratch_store_clear(scratch);
    wrong = world_run(world, number, (enum flaw)worlds->flaw, worlds->talks, scratch->storage);
    totals->grants += world->grant_count;
    totals->gets += world->get_count;
    totals->takeovers += world->takeovers;
    totals->replaced += world->replaced;
    totals->unknown += world->unknown;
    if (wrong != NULL) {
        worlds_complain(worlds, program, number, wrong);
        totals->wrong++;
    }
}

int main(int argc, char **argv) {
    const struct worlds worlds = worlds_read(argc, argv, WORLDS);
    struct world *world = calloc(1, sizeof *world);
    struct totals totals = {.wrong = 0};
    struct scratch_store scratch;

    if (world == NULL) {
        return 1;
    }
    scratch_store_open(&scratch);
    for (uint64_t i = 0; i < worlds.count && totals.wrong < WORLDS_WRONG_MAX; i++) {
        run(world, &worlds, worlds.from + i, &scratch, &totals, argv[0]);
    }
    (void)printf("# %" PRIu64 " grants, %" PRIu64 " reads, %" PRIu64 " takeovers, %" PRIu64
                 " batches refused, %" PRIu64 " without an answer\n",
                 totals.grants, totals.gets, totals.takeovers, totals.replaced, totals.unknown);
    scratch_store_close(&scratch);
    free(world);
    return worlds_end(&worlds, totals.wrong, "no violation, and every client makes progress");
}

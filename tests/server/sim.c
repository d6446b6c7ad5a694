/* SPDX-License-Identifier: Apache-2.0 */
/* The world: its clock, network and disk, and their faults. */
#include "sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FAULTS_US INT64_C(5000000)    /* how long misfortunes go on */
#define HEALING_US INT64_C(400000000) /* after which every client must have got what it waits for */

void sim_fail(struct sim *sim, const char *format, ...) {
    va_list arguments;

    if (sim->wrong == NULL) {
        va_start(arguments, format);
        (void)vsnprintf(sim->wrong_text, sizeof sim->wrong_text, format, arguments);
        va_end(arguments);
        sim->wrong = sim->wrong_text;
    }
}

void sim_say(struct sim *sim, const char *format, ...) {
    va_list arguments;

    if (sim->talks) {
        va_start(arguments, format);
        (void)printf("# %10.6f ", (double)sim->times.now_us / 1e6);
        (void)vprintf(format, arguments);
        (void)printf("\n");
        va_end(arguments);
    }
}

void sim_write(char ret_name[SIM_NAME_MAX], const char *format, ...) {
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(ret_name, SIM_NAME_MAX, format, arguments);
    va_end(arguments);
    assert(size >= 0 && size < SIM_NAME_MAX);
    (void)size;
}

int64_t sim_between(struct sim *sim, int64_t low, int64_t high) {
    return lk_random_between(&sim->random, low, high);
}

bool sim_chance(struct sim *sim, unsigned percent) {
    return sim_between(sim, 0, 99) < (int64_t)percent;
}

void sim_schedule(struct sim *sim, int64_t in_us, const struct sim_event *event) {
    struct sim_event *slot = &sim->events[sim->event_count++];

    assert(sim->event_count <= SIM_EVENTS_MAX);
    *slot = *event;
    slot->at_us = sim->times.now_us + in_us;
    slot->order = ++sim->order;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void start_core(struct sim *sim) {
    char epoch[32];
    const struct lk_core_config config = {.hash_seed = 1, .epoch = epoch};

    (void)snprintf(epoch, sizeof epoch, "%" PRIu64, ++sim->epoch);
    sim->core = lk_core_new(&config);
    assert(sim->core != NULL);
    sim->applied = 0;
    sim_schedule(sim, sim_between(sim, 1000, 300000), &(struct sim_event){.kind = SIM_LOADED});
}

static void apply(struct sim *sim) {
    lk_error error;

    if (sim->store->ops->write(sim->store, sim->writing, &error) != LK_OK) {
        sim_fail(sim, "the store refused a batch: %s", error.text);
    }
    free(sim->written);
    sim->written = sim->closing;
    sim->closing = NULL;
    sim->applied = sim->writing->number;
}

static void drop_writing(struct sim *sim) {
    free(sim->closing);
    sim->closing = NULL;
    sim->writing = NULL;
}

/* What the canaries do to a batch: a request's row is not written. */
static void lose_a_row(struct sim *sim) {
    struct lk_row *row = sim->writing->first;

    for (; row != NULL && row->next != NULL; row = row->next) {
        if (row->next->kind == LK_ROW_REQUEST) {
            row->next = row->next->next;
            return;
        }
    }
}

static void forget_bound(struct sim *sim) {
    for (struct lk_row *row = sim->writing->first; row != NULL; row = row->next) {
        if (row->kind == LK_ROW_REQUEST) {
            row->request.bound = false;
        }
    }
}

static void lose_events(struct sim *sim) {
    for (struct lk_row *row = sim->writing->first; row != NULL && row->next != NULL;
         row = row->next) {
        while (row->next != NULL && row->next->kind == LK_ROW_EVENT) {
            row->next = row->next->next;
        }
    }
    ((struct lk_batch *)(uintptr_t)sim->writing)->events.last = 0;
}

static void written(struct sim *sim) {
    bool fails = sim->has_faults && sim_chance(sim, sim->fail_percent);

    if (sim->flaw == SIM_LOSES_ROWS && sim_chance(sim, 20)) {
        lose_a_row(sim);
    }
    if (sim->flaw == SIM_FORGETS_BOUND) {
        forget_bound(sim);
    }
    if (sim->flaw == SIM_LOSES_EVENTS) {
        lose_events(sim);
    }
    if (!fails) {
        apply(sim);
        sim->writing = NULL;
        lk_core_batch_durable(sim->core, &sim->times);
        return;
    }
    sim->failures++;
    if (sim_chance(sim, 50)) { /* it is there, but no client knows */
        apply(sim);
    }
    drop_writing(sim);
    sim_say(sim, "a write fails");
    lk_core_batch_failed(sim->core, "the disk has failed", &sim->times);
    sim_schedule(sim, sim_between(sim, 1000, 100000), &(struct sim_event){.kind = SIM_LOADED});
}

static void loaded(struct sim *sim) {
    const struct lk_model_config config = {.hash_seed = 1};
    struct lk_core_snapshot *snapshot;
    lk_error error;

    if (!lk_core_wants_snapshot(sim->core)) {
        return;
    }
    if (sim->has_faults && sim_chance(sim, sim->fail_percent)) {
        sim_schedule(sim, sim_between(sim, 1000, 100000), &(struct sim_event){.kind = SIM_LOADED});
        return;
    }
    if (sim->store->ops->load(sim->store, &config, &sim->times, &snapshot, &error) != LK_OK) {
        sim_fail(sim, "the store cannot be loaded: %s", error.text);
        return;
    }
    check_snapshot(sim, snapshot);
    if (lk_core_restore(sim->core, snapshot, &sim->times, &error) != LK_OK) {
        sim_fail(sim, "the core does not take what was loaded: %s", error.text);
    }
    check_gone(sim, sim->core->model);
}

/* The process is gone, in the middle of whatever it did. */
static void crash(struct sim *sim) {
    struct lk_session *sessions[SIM_CLIENTS];
    size_t count = 0;
    size_t kept = 0;

    sim->crashes++;
    sim_say(sim, "a crash");
    for (int i = 0; i < SIM_CLIENTS; i++) {
        if (sim->clients[i].connection.is_open) {
            sessions[count++] = sim->clients[i].connection.session;
        }
        client_cut(sim, i);
    }
    if (sim->writing != NULL && sim_chance(sim, 50)) {
        apply(sim);
    }
    drop_writing(sim);
    for (size_t i = 0; i < sim->event_count; i++) {
        if (sim->events[i].kind != SIM_WRITTEN && sim->events[i].kind != SIM_LOADED) {
            sim->events[kept++] = sim->events[i];
        }
    }
    sim->event_count = kept;
    /* No client hears of this: it only gives memory back. */
    sim->is_dying = true;
    for (size_t i = 0; i < count; i++) {
        lk_core_session_close(sim->core, sessions[i], &sim->times);
    }
    sim->is_dying = false;
    lk_core_free(sim->core);
    start_core(sim);
}

static uint64_t count_waiting(const struct lk_core *core) {
    struct lk_model_stats stats = {.waiting = 0};

    if (core->model != NULL) {
        lk_model_stats(core->model, &stats);
    }
    return stats.waiting;
}

/* The waiting requests, as monitoring counts them by root. */
static uint64_t count_contended(const struct lk_core *core) {
    struct lk_contention_top top;
    uint64_t count;

    lk_core_contention(core, &top);
    count = top.rest.count;
    for (size_t i = 0; i < top.row_count; i++) {
        count += top.rows[i].count;
    }
    return count;
}

/* What a loop does at the end of a turn. */
static void end_turn(struct sim *sim) {
    const char *broken;

    if (lk_core_next_due(sim->core) <= sim->times.now_us) {
        lk_core_tick(sim->core, &sim->times);
    }
    if (lk_core_next_due(sim->core) <= sim->times.now_us) {
        sim_fail(sim, "what was due is due again at the same moment");
    }
    if (sim->writing == NULL) {
        sim->writing = lk_core_take_batch(sim->core);
        if (sim->writing != NULL) {
            sim->closing = check_dump(sim->core->model);
            sim_schedule(sim, sim_between(sim, 100, sim->disk_us_max),
                         &(struct sim_event){.kind = SIM_WRITTEN});
        }
    }
    broken =
        sim->core->model != NULL && sim->steps % 16 == 0 ? lk_model_check(sim->core->model) : NULL;
    if (broken != NULL) {
        sim_fail(sim, "the model: %s", broken);
    }
    if (count_contended(sim->core) != count_waiting(sim->core)) {
        sim_fail(sim, "%" PRIu64 " requests wait, and monitoring sees %" PRIu64,
                 count_waiting(sim->core), count_contended(sim->core));
    }
}

/* ---- the world ------------------------------------------------------------------------------- */

static struct sim_event take_event(struct sim *sim, size_t at) {
    struct sim_event event = sim->events[at];

    sim->events[at] = sim->events[--sim->event_count];
    return event;
}

static size_t first_event(const struct sim *sim) {
    size_t first = 0;

    for (size_t i = 1; i < sim->event_count; i++) {
        const struct sim_event *event = &sim->events[i];
        const struct sim_event *best = &sim->events[first];
        if (event->at_us < best->at_us
            || (event->at_us == best->at_us && event->order < best->order)) {
            first = i;
        }
    }
    return first;
}

static void pass_until(struct sim *sim, int64_t at_us) {
    if (at_us > sim->times.now_us) {
        sim->times.wall_us += at_us - sim->times.now_us;
        sim->times.now_us = at_us;
    }
    if (sim->has_faults && sim_between(sim, 0, 999) == 0) {
        sim->times.wall_us += sim_between(sim, -5000000, 5000000);
        sim_say(sim, "the wall clock is stepped");
    }
}

static void handle(struct sim *sim, const struct sim_event *event) {
    switch (event->kind) {
    case SIM_ACT:
        client_act(sim, event->client);
        break;
    case SIM_ARRIVE:
        client_arrive(sim, event->client, event->generation);
        break;
    case SIM_REPLY:
        client_reply(sim, event->client, event->generation, &event->answer);
        break;
    case SIM_WRITTEN:
        written(sim);
        break;
    case SIM_LOADED:
        loaded(sim);
        break;
    }
}

static void step(struct sim *sim) {
    size_t first = first_event(sim);
    int64_t due_us = lk_core_next_due(sim->core);

    sim->steps++;
    if (due_us < sim->events[first].at_us) {
        pass_until(sim, due_us);
    } else {
        struct sim_event event = take_event(sim, first);
        pass_until(sim, event.at_us);
        handle(sim, &event);
    }
    if (sim->has_faults && sim_between(sim, 0, 9999) < (int64_t)sim->crash_per_10000) {
        crash(sim);
    }
    end_turn(sim);
}

static void begin(struct sim *sim) {
    sim->random.state = sim->number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    sim->times = (struct lk_times){.now_us = 1000000000, .wall_us = INT64_C(1700000000000000)};
    sim->has_faults = true;
    sim->cut_percent = (unsigned)sim_between(sim, 0, 6);
    sim->fail_percent = sim_chance(sim, 50) ? (unsigned)sim_between(sim, 0, 8) : 0;
    sim->crash_per_10000 = (unsigned)sim_between(sim, 0, 60);
    sim->has_followers = sim_chance(sim, 50);
    sim->disk_us_max = sim_chance(sim, 50) ? 2000 : 50000;
    for (int i = 0; i < SIM_CLIENTS; i++) {
        client_init(sim, i);
        sim_schedule(sim, sim_between(sim, 1, 50000),
                     &(struct sim_event){.kind = SIM_ACT, .client = i});
    }
    start_core(sim);
}

static bool is_healed(const struct sim *sim) {
    for (int i = 0; i < SIM_CLIENTS; i++) {
        if (!client_is_healed(sim, i)) {
            return false;
        }
    }
    return lk_core_is_idle(sim->core);
}

/* Faults are over: every connection is made again, and every client must make progress. */
static void heal(struct sim *sim) {
    int64_t end_us = sim->times.now_us + HEALING_US;

    sim->has_faults = false;
    for (int i = 0; i < SIM_CLIENTS; i++) {
        struct sim_client *client = &sim->clients[i];
        struct lk_session *session = client->connection.session;
        bool was_open = client->connection.is_open;

        client_cut(sim, i);
        if (was_open) {
            lk_core_session_close(sim->core, session, &sim->times);
        }
    }
    while (sim->wrong == NULL && !is_healed(sim)) {
        step(sim);
        if (sim->times.now_us > end_us) {
            sim_fail(sim, "a client did not get what it waits for after the faults were over");
        }
    }
}

static void finish(struct sim *sim) {
    for (int i = 0; i < SIM_CLIENTS; i++) {
        if (sim->clients[i].connection.is_open) {
            lk_core_session_close(sim->core, sim->clients[i].connection.session, &sim->times);
        }
    }
    lk_core_free(sim->core);
    sim->core = NULL;
    drop_writing(sim);
    free(sim->written);
    sim->written = NULL;
}

const char *sim_run(struct sim *sim, uint64_t number, enum sim_flaw flaw,
                    struct lk_storage *store) {
    struct sim_lease *leases = sim->leases;
    uint64_t *known = sim->events_known;
    bool talks = sim->talks;
    int64_t slack_us = sim->slack_us;
    int64_t end_us;

    memset(sim, 0, sizeof *sim);
    sim->leases = leases != NULL ? leases : calloc(SIM_LEASES_MAX, sizeof *leases);
    sim->events_known = known != NULL ? known : malloc(SIM_EVENTS_KNOWN * sizeof *known);
    memset(sim->events_known, 0, SIM_EVENTS_KNOWN * sizeof *known);
    sim->talks = talks;
    sim->slack_us = slack_us;
    sim->number = number;
    sim->flaw = flaw;
    sim->store = store;
    begin(sim);
    end_us = sim->times.now_us + FAULTS_US;
    while (sim->wrong == NULL && sim->times.now_us < end_us) {
        step(sim);
    }
    if (sim->wrong == NULL) {
        heal(sim);
    }
    if (sim->wrong == NULL) {
        check_history(sim);
    }
    finish(sim);
    return sim->wrong;
}

void sim_done(struct sim *sim) {
    free(sim->leases);
    free(sim->events_known);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator: the service's core and store in a world generated from a seed.
 *
 *   clock     jumps from event to event; the wall clock is stepped now and then
 *   clients   ask, wait, renew, release, break, put, push, claim, finish, follow; lose their
 *             connection, reconnect and ask again
 *   network   delays, and cuts that lose messages in transit
 *   disk      delays; writes that fail, or whose result is unknown; crashes at any moment
 *
 * The first phase injects faults and checks safety (check.c). Then the faults end, and every waiter
 * must be granted. The same seed gives the same world, event for event.
 */
#ifndef LK_TESTS_SERVER_SIM_H
#define LK_TESTS_SERVER_SIM_H

#include "base/random.h"
#include "server/core/core_internal.h"
#include "server/store/store.h"

enum {
    SIM_CLIENTS = 8,
    SIM_EVENTS_MAX = 512,
    SIM_ANSWERS_MAX = 64,  /* answers of one connection that wait for their batch */
    SIM_LEASES_MAX = 8192, /* grants and queue entries that were answered, in one world */
    SIM_BREAKS_MAX = 1024,
    SIM_PARTS_MAX = 2,
    SIM_NAME_MAX = 64,
    SIM_ANSWER_EVENTS_MAX = 17, /* in one answer: 16, and a gap */
    SIM_EVENTS_KNOWN = 1 << 16, /* numbers of events, in one world */
};

/* Deliberate defects, which the checks must detect. */
enum sim_flaw {
    SIM_SOUND,
    SIM_ANSWERS_EARLY, /* answers leave before they are durable */
    SIM_LOSES_ROWS,    /* a row of a batch is not written */
    SIM_FORGETS_BOUND, /* that a request is bound to a connection is not written */
    SIM_LOSES_EVENTS,  /* events are not written */
    SIM_FLAWS
};

/* An answer, as it left the core. */
struct sim_answer {
    enum lk_command_kind decides; /* LK_COMMAND_TICK: it was no command */
    bool is_of_events;
    lk_outcome outcome;
    uint64_t tag;
    uint64_t batch;
    uint64_t number; /* of the decision, in their order */
    bool is_drawn;   /* its token was drawn by this very decision */
    bool is_covered; /* its owner holds something related, so that R8 may be at work */
    int64_t decided_us;
    int64_t until_us; /* the deadline that was promised */
    uint64_t ticket;
    uint64_t token;
    bool has_item;
    char id[SIM_NAME_MAX]; /* of an item that was claimed */
    size_t event_count;
    uint64_t last; /* all events up to here have been looked at */
    struct {
        uint64_t sequence;
        uint64_t sum; /* of all it says; 0: a gap */
    } events[SIM_ANSWER_EVENTS_MAX];
};

/* A grant, or a queued request, that a client was answered. */
struct sim_lease {
    char owner[SIM_NAME_MAX];
    char parts[SIM_PARTS_MAX][SIM_NAME_MAX]; /* as they were asked for */
    size_t part_count;
    uint64_t number; /* of the decision that drew its token; 0: no client was answered that */
    uint64_t ticket;
    uint64_t token; /* 0: it is queued */
    int64_t decided_us;
    int64_t until_us; /* the latest that was promised */
    int64_t ttl_us;   /* the shortest that it was asked for with */
    int64_t ended_us; /* when a client asked for its end; LK_NEVER: none did */
    bool bound;
    bool is_left; /* bound, and its connection is gone */
    bool is_claim;
    bool is_covered;
    int client;
};

/* An administrator's break: it may be of what no client has been answered yet. */
struct sim_break {
    int64_t at_us;
    bool at_once;
    char path[SIM_NAME_MAX];
};

struct sim_connection {
    bool is_open;
    uint64_t generation; /* counts the connections of this client */
    struct lk_session *session;
    struct sim_answer answers[SIM_ANSWERS_MAX];
    size_t answer_count;
    struct sim *sim;
    int client;
};

struct sim_client {
    struct sim_connection connection;
    char name[SIM_NAME_MAX];
    bool is_waiting; /* for an answer */
    uint64_t tag;    /* of the call under way */
    uint64_t ask_number;
    int64_t patience_us; /* when it gives up waiting for the answer */

    /* The call under way, with its words. */
    struct lk_call call;
    char owner[SIM_NAME_MAX];
    char parts_text[SIM_PARTS_MAX][SIM_NAME_MAX];
    struct lk_part parts[SIM_PARTS_MAX];
    char value[SIM_NAME_MAX];
    char id[SIM_NAME_MAX];
    bool is_bound;

    uint64_t followed; /* the last event that it has heard of, R21 */
    size_t healed;     /* steps of the last phase that are done */
};

enum sim_event_kind {
    SIM_ACT,     /* a client does something */
    SIM_ARRIVE,  /* its call arrives */
    SIM_REPLY,   /* an answer arrives */
    SIM_WRITTEN, /* the disk is done */
    SIM_LOADED,
};

struct sim_event {
    int64_t at_us;
    uint64_t order;
    enum sim_event_kind kind;
    int client;
    uint64_t generation;
    struct sim_answer answer;
};

struct sim {
    uint64_t number; /* all there is of this world comes from it */
    enum sim_flaw flaw;
    bool talks;
    struct lk_random random;
    struct lk_times times;
    struct sim_event events[SIM_EVENTS_MAX];
    size_t event_count;
    uint64_t order;
    struct sim_client clients[SIM_CLIENTS];
    bool has_faults;
    unsigned cut_percent;
    unsigned fail_percent;
    unsigned crash_per_10000;
    bool is_dying; /* what is answered now reaches no client */
    int64_t disk_us_max;
    int64_t slack_us; /* by how much a load may lengthen deadlines */

    struct lk_core *core;
    struct lk_storage *store;
    const struct lk_batch *writing;
    uint64_t epoch; /* how many times it was started */
    uint64_t decisions;
    uint64_t values;

    /* What was answered, and what the disk has to have. */
    struct sim_lease *leases;
    size_t lease_count;
    struct sim_break breaks[SIM_BREAKS_MAX];
    size_t break_count;
    char *written;    /* the whole state as of the last batch that is on disk */
    char *closing;    /* ... as of the one that is being written */
    uint64_t applied; /* number of the last batch on disk, in this epoch of the core */
    uint64_t steps;
    uint64_t crashes;
    uint64_t failures;
    uint64_t grants;
    uint64_t events_answered;
    uint64_t gaps_answered;
    uint64_t *events_known; /* by number, the sum of what was answered; 0: nothing */
    bool has_followers;
    const char *wrong; /* the first thing that must never be; NULL: nothing yet */
    char wrong_text[256];
};

/* sim.c: a whole world. NULL: all was well; else a sentence. */
const char *sim_run(struct sim *sim, uint64_t number, enum sim_flaw flaw, struct lk_storage *store);
void sim_done(struct sim *sim);

void sim_fail(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_say(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_write(char ret_name[SIM_NAME_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool sim_chance(struct sim *sim, unsigned percent);
int64_t sim_between(struct sim *sim, int64_t low, int64_t high);
void sim_schedule(struct sim *sim, int64_t in_us, const struct sim_event *event);

/* client.c: the clients. */
void client_init(struct sim *sim, int index);
void client_act(struct sim *sim, int index);
void client_arrive(struct sim *sim, int index, uint64_t generation);
void client_reply(struct sim *sim, int index, uint64_t generation, const struct sim_answer *answer);
void client_cut(struct sim *sim, int index); /* its connection is gone */
bool client_is_healed(const struct sim *sim, int index);
extern const struct lk_session_ops sim_session_ops;

/* check.c: what must never be. */
void check_answer(struct sim *sim, struct sim_client *client, const struct sim_answer *answer);
void check_ending(struct sim *sim, const struct sim_client *client); /* a call that may end one */
void check_leaving(struct sim *sim, int client);                     /* a connection is gone */
char *check_dump(const struct lk_model *model);                      /* to be freed */
void check_snapshot(struct sim *sim, const struct lk_core_snapshot *snapshot); /* as loaded */
void check_gone(struct sim *sim, const struct lk_model *model); /* R18: with its connection */
void check_history(struct sim *sim);                            /* at the end */
void check_events(struct sim *sim, const struct sim_client *client,
                  const struct sim_answer *answer);

#endif

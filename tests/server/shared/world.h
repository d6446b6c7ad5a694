/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several services on one store: their cores in a world generated from a seed.
 *
 *   store     invented: rows in a file, and who leads under which epoch
 *   services  three; killed, stopped and continued (so that they still believe to lead), ended,
 *             cut off from the store; each with a wall clock of its own
 *   network   delays; requests to the store that are lost, or whose answer is, or that arrive after
 *             the service has given up waiting for them
 *   clients   ask, renew, put, get and release at any service; go to another one when an answer is
 *             missing
 *
 * What is checked is what clients can know: when they called, when they were answered, and with
 * what (client.c). Deadlines are on one clock here: a real store translates them.
 */
#ifndef LK_TESTS_SERVER_SHARED_WORLD_H
#define LK_TESTS_SERVER_SHARED_WORLD_H

#include <sys/queue.h>

#include "base/random.h"
#include "server/core/core_internal.h"
#include "server/store/store.h"

enum {
    SERVICES = 3,
    CLIENTS = 8,
    READERS = 3, /* of the clients: they only read */
    EVENTS_MAX = 4096,
    HELD_MAX = 64, /* answers of one connection that wait for their batch */
    TEXT_MAX = 32,
    RETIRED_MAX = 256,
    GRANTS_MAX = 8192,
    PUTS_MAX = 8192,
    GETS_MAX = 16384,
};

#define FAILOVER_US INT64_C(3000000)

/* Deliberate defects, which the checks must detect. */
enum flaw {
    SOUND,
    WRITES_UNCHECKED, /* the store takes a batch under an epoch that is over */
    READS_UNFENCED,   /* answers that only read do not wait for a commit */
    TRUSTS_UNKNOWN,   /* a batch without an answer counts as written */
    KEEPS_EPOCH,      /* after a batch without an answer a service loads under the same epoch */
    TAKES_BLINDLY,    /* two services that take over at the same time both do */
    ANSWERS_EARLY,    /* answers leave before their batch is written */
    FLAWS
};

enum says { SAYS_ASK, SAYS_RENEW, SAYS_GET, SAYS_PUT, SAYS_RELEASE };

struct answer {
    enum says says;
    lk_outcome outcome;
    uint64_t tag;
    uint64_t batch;
    uint64_t token;
    uint64_t value; /* 0: none */
};

struct connection {
    LIST_ENTRY(connection) list;
    struct world *world;
    int client;
    int service;
    uint64_t serial;
    bool is_left; /* by its client: its answers are dropped */
    struct lk_session *session;
    struct lk_path path; /* of the call under way */
    char path_text[TEXT_MAX];
    enum says says;
    struct answer held[HELD_MAX];
    size_t held_count;
};

/* A call on its way to a service. */
struct message {
    struct connection *connection;
    enum says says;
    struct lk_call call;
    struct lk_part part;
    char owner[TEXT_MAX];
    char path[TEXT_MAX];
    char value[TEXT_MAX];
};

enum job { JOB_NONE, JOB_LOOK, JOB_CLAIM, JOB_LOAD, JOB_WRITE, JOB_RESIGN };

/* What a service asks of the store, and what comes back. */
struct request {
    enum job job;
    int service;
    uint64_t life;
    uint64_t number;
    uint64_t epoch; /* seen, to be claimed, or under which it leads */
    const struct lk_batch *batch;
    lk_outcome outcome;
    struct lk_core_snapshot *snapshot;
};

struct service {
    uint64_t life; /* counts its processes */
    bool is_up;
    bool is_ending;
    struct lk_core *core;
    LIST_HEAD(, connection) connections;
    int64_t stopped_until_us;
    bool is_suspended; /* with its machine: what clients sent that have gone is lost */
    int64_t cut_until_us;
    int64_t wall_ahead_us;
    enum job job;
    uint64_t number; /* of its last job */
    uint64_t epoch;  /* that it has claimed last */
    int64_t look_after_us;
    bool keeps_epoch; /* KEEPS_EPOCH */
    bool is_foreign;  /* another service has led since its last epoch */
};

struct store {
    struct lk_storage *rows;
    uint64_t epoch;
    int leader;
    uint64_t leader_life;
    int64_t renewed_us;
    bool is_free; /* handed over */
};

struct grant {
    char path[TEXT_MAX];
    int client;
    uint64_t token;
    int64_t asked_us; /* the first call for it */
    int64_t return_us;
    int64_t until_us; /* so long its client counts on it */
};

struct put {
    char path[TEXT_MAX];
    uint64_t value;
    int64_t call_us;
    int64_t return_us; /* LK_NEVER: it was never answered that it was done */
};

struct get {
    char path[TEXT_MAX];
    uint64_t value;
    int64_t call_us;
    int64_t return_us;
};

struct client {
    char name[TEXT_MAX];
    struct connection *connection; /* NULL: none */
    int service;                   /* that it tries */
    bool is_waiting;
    uint64_t tag;
    int64_t patience_us;
    int64_t ttl_us;
    enum says says; /* the call under way, or the next one */
    char path[TEXT_MAX];
    int64_t asked_us;
    int64_t call_us;
    struct grant *grant; /* NULL: it holds nothing that it knows of */
    struct put *put;
    unsigned steps; /* that it still does while it holds */
    unsigned cycles;
};

enum event_kind {
    EVENT_ACT,        /* a client does something */
    EVENT_CALL,       /* a call arrives at a service */
    EVENT_HANG_UP,    /* the end of a connection arrives there */
    EVENT_REPLY,      /* an answer arrives at a client */
    EVENT_AT_STORE,   /* a request arrives at the store */
    EVENT_FROM_STORE, /* its answer arrives at the service */
    EVENT_PATIENCE,   /* the service has waited long enough for it */
    EVENT_START,      /* of a service */
    EVENT_FAULT,
};

struct event {
    int64_t at_us;
    int64_t came_us; /* earlier, if it waits for a service that is stopped */
    uint64_t order;
    enum event_kind kind;
    int service; /* -1: it is for no service */
    uint64_t life;
    int client;
    uint64_t serial;
    struct message *message;
    struct connection *connection;
    struct request request;
    struct answer answer;
};

struct world {
    uint64_t number; /* all there is of this world comes from it */
    enum flaw flaw;
    bool talks;
    struct lk_random random;
    int64_t now_us;
    struct event events[EVENTS_MAX];
    size_t event_count;
    uint64_t order;
    uint64_t serial;
    bool has_faults;
    bool is_dying;        /* what is answered now reaches no client */
    bool has_long_leases; /* no deadline passes while a service is stopped */
    int64_t pace_us;      /* of the clients; slow ones leave a service without anything to write */
    unsigned lost_percent;
    int64_t store_us_max;
    struct service services[SERVICES];
    struct client clients[CLIENTS];
    struct store store;
    struct lk_core *retired[RETIRED_MAX]; /* of killed services: their batches may be on the way */
    size_t retired_count;
    uint64_t values;

    struct grant grants[GRANTS_MAX];
    size_t grant_count;
    struct put puts[PUTS_MAX];
    size_t put_count;
    struct get gets[GETS_MAX];
    size_t get_count;

    uint64_t takeovers;
    uint64_t replaced; /* batches that were refused because another service leads */
    uint64_t unknown;
    const char *wrong; /* the first thing that must never be; NULL: nothing yet */
    char wrong_text[256];
};

/* world.c. NULL: all was well; else a sentence. */
const char *world_run(struct world *world, uint64_t number, enum flaw flaw, bool talks,
                      struct lk_storage *rows);
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_say(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool world_chance(struct world *world, unsigned percent);
int64_t world_between(struct world *world, int64_t low, int64_t high);
void world_schedule(struct world *world, int64_t in_us, const struct event *event);
void text_write(char ret_text[TEXT_MAX], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* service.c */
void service_start(struct world *world, int index);
void service_kill(struct world *world, int index); /* and starts it again, later */
void service_terminate(struct world *world, int index);
void service_call(struct world *world, struct message *message);
void service_hang_up(struct world *world, struct connection *connection);
void service_result(struct world *world, const struct request *request);
void service_turn(struct world *world, int index);
int64_t service_due(const struct world *world, int index);
struct connection *service_connect(struct world *world, int index, int client);
struct lk_times service_times(const struct world *world, int index);

/* store.c: a request at the store, answered in its fields. */
void store_take(struct world *world, struct request *request);

/* client.c */
void client_init(struct world *world, int index);
void client_act(struct world *world, int index);
void client_reply(struct world *world, int index, const struct answer *answer);
void client_reset(struct world *world, int index); /* its connection is gone */

/* client.c: the whole history. */
void notes_check(struct world *world);

#endif

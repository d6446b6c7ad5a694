/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the program around the core, and its commits. Everything here belongs to the thread
 * that runs the loop; it changes hands when another thread takes the loop over (writer.h).
 */
#ifndef LK_SERVER_PROGRAM_STATE_H
#define LK_SERVER_PROGRAM_STATE_H

#include "server/connections/admission.h"
#include "server/connections/copies.h"
#include "server/connections/handshakes.h"
#include "server/connections/host.h"
#include "server/connections/listener.h"
#include "server/connections/logins.h"
#include "server/connections/monitor.h"
#include "server/options.h"
#include "server/program/gathering.h"
#include "server/program/resources.h"
#include "server/store/store.h"
#include "server/store/writer.h"

struct event;

enum { LK_LISTENERS_MAX = 3, LK_SIGNALS_MAX = 3 };

struct lk_server {
    struct lk_server_options options;
    struct lk_core *core;
    struct lk_writer *writer; /* NULL: ephemeral */
    struct event_base *loop;
    struct event *timer;
    struct event *written;
    struct lk_gathering gathering;
    struct lk_pace pace;
    bool is_disk_slow; /* by the last write: then the other thread does the next one */
    bool has_failed;   /* the event loop */
    lk_error refusal;  /* why the service has to end; LK_OK: it has not */
    struct lk_login_events login_events;
    struct lk_handshake_events handshake_events;
    struct lk_copies copies;
    struct event *alive; /* NULL: no callback is set */
    struct lk_trim trim;
    struct lk_monitor monitor;
    struct event *signals[LK_SIGNALS_MAX];
    struct lk_listener *listeners[LK_LISTENERS_MAX];
    size_t listener_count;
    struct lk_times times;
    bool is_turning; /* `times` are those of the current turn */
    bool has_backpressure;
    uint64_t buffered; /* bytes, of all connections */
    bool was_full;     /* since the listeners were last told that there is room */
    bool is_shutting_down;
    int64_t shutdown_deadline_us;
    int64_t load_after_us;           /* no load before this time */
    struct lk_leadership leadership; /* of a store that is shared */
    uint64_t files;                  /* how many may be open */
    bool is_default;                 /* the bound of connections is the default */
    int64_t armed_us;                /* when the timer fires; LK_NEVER: it is not set */
};

/* ---- commits.c ------------------------------------------------------------------------------- */

/* Starts the other thread, which calls `stand_by` with the server. */
lk_outcome lk_commits_begin(struct lk_server *server, struct lk_storage *storage,
                            void (*stand_by)(void *server), lk_error *error);

enum lk_commit {
    LK_COMMIT_NONE, /* there is nothing to write, or the other thread writes */
    LK_COMMIT_DONE, /* written: answers may leave */
    LK_COMMIT_LOST, /* the other thread runs the loop now: the caller must stand by */
};

/* Writes the batch that is pending, or has it written. */
enum lk_commit lk_commits_write(struct lk_server *server);

/* Whether the store is to be loaded, and no job is under way. */
bool lk_commits_wants_load(const struct lk_server *server);

/* A service that leads a shared store, and is shut down, hands it over once all is written. */
void lk_commits_resign(struct lk_server *server);

/* What is pending goes to the other thread, if that has no job: a batch, or a load. */
void lk_commits_hand_over(struct lk_server *server);

/* After the loop has ended: writes what is left. */
void lk_commits_flush(struct lk_server *server);

/* ---- shared.c -------------------------------------------------------------------------------- */

/*
 * A service that is one of several on a store (listener.h: struct lk_leadership). The one that
 * leads names in the store where clients find it: "HOST:PORT", of RESP, and behind a space that of
 * HTTP, if it has one.
 */

/* Opens the store of the URL. The outcomes are those of its header in server/store. */
lk_outcome lk_shared_open(const struct lk_server_options *options, struct lk_storage **ret_storage,
                          lk_error *error);

/*
 * Where clients find this service, whose listeners have these addresses ("": none). LK_INVALID:
 * they cannot, because --advertise is missing.
 */
lk_outcome lk_shared_write(const struct lk_server_options *options, const char *resp_address,
                           const char *http_address, char *ret_text, size_t bytes, lk_error *error);

#endif

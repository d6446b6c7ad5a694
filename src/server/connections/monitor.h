/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators see of the program: counters, refusals, and what is slow.
 *
 * What the program around the core counts for monitoring, and what it asks the system for. Counting
 * and asking take constant time. Used by the loop's thread only.
 */
#ifndef LK_SERVER_CONNECTIONS_MONITOR_H
#define LK_SERVER_CONNECTIONS_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buckets.h"
#include "base/text.h"
#include "command/draft.h"
#include "server/connections/host.h"

/* ---- refusals -------------------------------------------------------------------------------- */

/* Connections that are refused, or closed to make room: counted, and logged with the reason. */

struct lk_listen_socket; /* server/connections/listen.h */

enum lk_refusal {
    LK_REFUSED_FULL,     /* the bound of connections, or of pending ones, or memory */
    LK_REFUSED_EVICTED,  /* a pending connection was closed for a newer one */
    LK_REFUSED_PASSWORD, /* a wrong password; the connection may try again */
    LK_REFUSED_FILES,    /* no more files can be opened: connections wait to be accepted */
    LK_REFUSED_UNREAD,   /* it buffered most when all buffers were full */
    LK_REFUSED_ORIGIN,   /* a request that a web page elsewhere may have made */
    LK_REFUSED_PROTOCOL, /* it speaks another protocol than the listener */
    LK_REFUSED_SLOW,     /* its request did not arrive in time */
    LK_REFUSED_TLS,      /* its TLS handshake failed, or took too long */
    LK_REFUSALS
};

/* The name of a reason in metrics and in the log. */
const char *lk_refusal_name(enum lk_refusal why);

void lk_refusal_count(struct lk_server *server, enum lk_refusal why);

/* LK_REFUSED_FILES, counted and logged. The connections that wait are not known. */
void lk_refusal_exhausted(struct lk_server *server);

/* One connection: its line has the listener's name, the peer's address and the reason. */
void lk_refusal_note(struct lk_server *server, const struct lk_listener *listener,
                     const struct lk_listen_socket *listen_socket, int socket, enum lk_refusal why);

/* The same, with a message of its own. */
void lk_refusal_explain(struct lk_server *server, const struct lk_listener *listener,
                        const struct lk_listen_socket *listen_socket, int socket,
                        enum lk_refusal why, const char *message);

/* A message of the level LK_LOG_DEBUG about a connection: static text. */
void lk_connection_trace(const struct lk_listener *listener,
                         const struct lk_listen_socket *listen_socket, int socket,
                         const char *what);

/* ---- counters -------------------------------------------------------------------------------- */

struct lk_monitor {
    int64_t started_wall_us;
    uint64_t refused[LK_REFUSALS];
    struct lk_buckets commits;   /* batches written, as long as the write took */
    int64_t committing_since_us; /* on the now_us axis; 0: no batch is being written */
};

void lk_monitor_begin(struct lk_monitor *monitor, int64_t wall_us);

/* The process as the system sees it. */
struct lk_process_use {
    uint64_t resident_bytes; /* 0: unknown */
    uint64_t processor_us;
};
struct lk_process_use lk_monitor_process(void);

/* The sizes of the store's file and of its write-ahead log; false: the file cannot be read. */
bool lk_monitor_files(const char *directory, uint64_t *ret_file_bytes, uint64_t *ret_log_bytes);

/* ---- what an operator looks for, as lines of INFO -------------------------------------------- */

/*
 * Adds lines of `name:value`: since when it runs, its connections and the bound of them, those
 * refused by reason, the oldest wait and the oldest item that is ready, commits, memory, sizes and
 * room of the store's disk. `model` may be NULL. Takes constant time.
 */
void lk_operation_write(struct lk_server *server, const struct lk_core_stats *stats,
                        const struct lk_model *model, const struct lk_times *times,
                        struct lk_text *text);

/* ---- what is slow ---------------------------------------------------------------------------- */

/*
 * The log of what is slow: calls that held the loop, and commits, which hold back the answers that
 * depend on them. A wait for a grant is neither. Without a threshold (the default) the clock is not
 * read.
 */

/* When a call begins; 0: there is no threshold. */
int64_t lk_slow_begin(const struct lk_server *server);

/*
 * The call has been decided and its answer encoded. The draft is that of the current call if it is
 * of this command; a line has its first path.
 */
void lk_slow_end(const struct lk_server *server, const struct lk_listener *listener,
                 const struct lk_command_spec *command, const struct lk_draft *draft,
                 int64_t begun_us);

/* A transaction was written. */
void lk_slow_commit(const struct lk_server *server, int64_t took_us);

#endif

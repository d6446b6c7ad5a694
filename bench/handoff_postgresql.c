/* SPDX-License-Identifier: Apache-2.0 */
/* pg_advisory_lock(): fast and in order, without a deadline, lost with its connection. */
#include "bench.h"
#include "by_hand_postgresql.h"
#include "handoff.h"

static void *open_connection(void) {
    PGconn *connection = by_hand_connect();

    by_hand_prepare(connection, "lock", "SELECT pg_advisory_lock(7)");
    by_hand_prepare(connection, "unlock", "SELECT pg_advisory_unlock(7)");
    return connection;
}

static void lock(void *peer) {
    char ignored[16];

    by_hand_run(peer, "lock", 0, NULL, ignored, sizeof ignored);
}

static void unlock(void *peer) {
    char ignored[16];

    by_hand_run(peer, "unlock", 0, NULL, ignored, sizeof ignored);
}

static void close_connection(void *peer) {
    PQfinish(peer);
}

const struct handoff_peer handoff_peer = {
    .name = "pg_advisory_lock()",
    .open = open_connection,
    .lock = lock,
    .unlock = unlock,
    .close = close_connection,
};

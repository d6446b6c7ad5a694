/* SPDX-License-Identifier: Apache-2.0 */
/* GET_LOCK(): fast, without a deadline, lost with its connection. */
#include "by_hand_mysql.h"
#include "handoff.h"

static void *open_connection(void) {
    return by_hand_connect();
}

static void lock(void *peer) {
    char ignored[16];

    by_hand_run(peer, "SELECT GET_LOCK('handed on', 60)", ignored, sizeof ignored);
}

static void unlock(void *peer) {
    char ignored[16];

    by_hand_run(peer, "SELECT RELEASE_LOCK('handed on')", ignored, sizeof ignored);
}

static void close_connection(void *peer) {
    mysql_close(peer);
}

const struct handoff_peer handoff_peer = {
    .name = "GET_LOCK()",
    .open = open_connection,
    .lock = lock,
    .unlock = unlock,
    .close = close_connection,
};

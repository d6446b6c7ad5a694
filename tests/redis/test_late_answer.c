/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call is given up while its connection still has an answer to come (late_answer.py).
 * No later call may take that for its own.
 *
 *     test_late_answer URL
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../stretch.h"
#include "lockkeeper/lockkeeper.h"

enum { PATIENCE_MS = 500, CALLS = 4 };

/* So many times longer, on a machine that is busy (tests/timed). */
static int64_t stretch = 1;

static lk_outcome ask(lk_store *store, const char *owner) {
    const char *const parts[] = {"root/path"};
    lk_request request = lk_request_init(parts, 1);
    lk_error error = {0};

    request.owner = owner;
    request.style = LK_TRY;
    request.patience_ms = PATIENCE_MS * stretch;
    lk_outcome outcome = lk_ask(store, &request, NULL, &error);
    printf("# %s: %s: %s\n", owner, lk_outcome_name(outcome), error.text);
    return outcome;
}

int main(int argc, char **argv) {
    static const char scheme[] = "redis://";
    char command[512];
    lk_store *store = NULL;

    stretch = test_stretch();
    if (argc != 2 || strncmp(argv[1], scheme, strlen(scheme)) != 0
        || lk_open(argv[1], &store, NULL) != LK_OK || ask(store, "me") != LK_GRANTED) {
        return 2;
    }
    snprintf(command, sizeof command, "redis-cli -s %s SCRIPT FLUSH >/dev/null",
             argv[1] + strlen(scheme));
    if (system(command) != 0) {
        return 2;
    }
    (void)ask(store, "me"); /* UNAVAILABLE, unless the store was slow before that, too */
    for (int call = 0; call < CALLS; call++) {
        lk_outcome mine = ask(store, "me");
        lk_outcome other = ask(store, "other");
        if ((mine != LK_GRANTED && mine != LK_UNAVAILABLE)
            || (other != LK_BUSY && other != LK_UNAVAILABLE)) {
            return 1;
        }
    }
    lk_close(store);
    return 0;
}

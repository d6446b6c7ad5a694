/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of the C client, for the scripted opponent: carries out verbs from stdin, one at a
 * time, and answers each with a line (README.md). Its one argument is the URL of the store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lockkeeper/lockkeeper.h"

static void say(const char *word) {
    (void)printf("%s\n", word);
    (void)fflush(stdout);
}

/* lock PATH TTL WAIT PATIENCE */
static void lock(lk_store *store, const char *arguments, lk_lease **lease) {
    char path[LK_ERROR_TEXT_MAX];
    const char *parts[] = {path};
    lk_request request = lk_request_init(parts, 1);
    long ttl_ms;
    long wait_ms;
    long patience_ms;
    lk_result *result = NULL;
    lk_outcome outcome;

    if (sscanf(arguments, "%255s %ld %ld %ld", path, &ttl_ms, &wait_ms, &patience_ms) != 4) {
        say("usage");
        return;
    }
    request.ttl_ms = ttl_ms;
    request.wait_ms = wait_ms;
    request.patience_ms = patience_ms;
    outcome = lk_acquire(store, &request, lease, &result, NULL);
    say(lk_outcome_name(outcome));
    lk_result_free(result);
}

static void await_lost(lk_lease *lease) {
    const struct timespec moment = {.tv_nsec = 5000000};

    while (!lk_lease_is_lost(lease)) {
        (void)nanosleep(&moment, NULL);
    }
    say("lost");
}

static void obey(lk_store *store, const char *verb, const char *arguments, lk_lease **lease) {
    if (strcmp(verb, "lock") == 0 && *lease == NULL) {
        lock(store, arguments, lease);
    } else if (*lease == NULL) {
        say("usage");
    } else if (strcmp(verb, "held") == 0) {
        say(lk_lease_is_lost(*lease) ? "no" : "yes");
    } else if (strcmp(verb, "awaitlost") == 0) {
        await_lost(*lease);
    } else if (strcmp(verb, "release") == 0) {
        lk_outcome outcome = lk_lease_release(*lease, NULL);

        *lease = outcome == LK_OK || outcome == LK_LOST ? NULL : *lease;
        say(lk_outcome_name(outcome));
    } else {
        say("usage");
    }
}

int main(int count, char **arguments) {
    char line[1024];
    lk_store *store = NULL;
    lk_lease *lease = NULL;

    while (count == 2 && fgets(line, sizeof line, stdin) != NULL) {
        lk_outcome outcome = store == NULL ? lk_open(arguments[1], &store, NULL) : LK_OK;
        size_t size = strcspn(line, " \n");
        const char *rest = line + size + (line[size] != '\0');

        line[size] = '\0';
        if (outcome == LK_OK) {
            obey(store, line, rest, &lease);
        } else {
            say(lk_outcome_name(outcome));
        }
    }
    lk_lease_abandon(lease);
    if (store != NULL) {
        lk_close(store);
    }
    return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: shared_service URL RESP-ADDRESS HTTP-ADDRESS FAILOVER-MS
 *
 * A service that is one of several on a database. Says on stdout that it listens.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/server.h"

static void tell_ready(void *context, const char *resp_address, const char *unix_address,
                       const char *http_address) {
    (void)context;
    (void)unix_address;
    (void)printf("%s %s\n", resp_address, http_address);
    (void)fflush(stdout);
}

int main(int argc, char **argv) {
    struct lk_server_options options = {.ready = tell_ready, .log.level = LK_LOG_INFO};
    lk_error error;

    if (argc != 5) {
        return 64;
    }
    options.store_url = argv[1];
    options.resp_listen = argv[2];
    options.http_listen = argv[3];
    options.failover_us = strtoll(argv[4], NULL, 10) * 1000;
    if (lk_server_run(&options, &error) != LK_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        return lk_outcome_exit_code(error.outcome);
    }
    return 0;
}

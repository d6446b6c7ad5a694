/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opens_as FORMAT TEXT URL [reading]
 *
 * Opens a store as a program of another format does, whose `lk schema` is the file TEXT; with
 * `reading`, as one that changes nothing. Ends as lk does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support.h"
#include "engine/postgresql/libpq.h"
#include "engine/postgresql/postgresql.h"
#include "engine/postgresql/schema.h"
#include "engine/postgresql/store.h"
#include "lockkeeper/lockkeeper.h"

#define PATIENCE_US INT64_C(30000000)

int main(int argc, char **argv) {
    static struct lk_postgresql store;
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_postgresql_format format;
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome;

    if (argc < 4 || strncmp(argv[3], "postgresql:", strlen("postgresql:")) != 0) {
        test_die("usage: opens_as FORMAT TEXT URL [reading]");
    }
    format = (struct lk_postgresql_format){atoi(argv[1]), test_read_text(argv[2])};
    if (!lk_procedures_init(&store.common, &lk_engine_postgresql, &lk_postgresql_database)
        || lk_libpq_load(&error) != LK_OK
        || lk_postgresql_address_parse(lk_slice_of(argv[3] + strlen("postgresql:")), &store.address,
                                       &error)
               != LK_OK) {
        test_die("%s", error.text);
    }
    outcome = lk_postgresql_prepare(&store, &format, argc > 4, &patience, &error);
    if (outcome != LK_OK) {
        fprintf(stderr, "%s: %s\n", lk_outcome_name(outcome), error.text);
    }
    lk_procedures_done(&store.common);
    lk_postgresql_address_done(&store.address);
    free((char *)format.text);
    return lk_outcome_exit_code(outcome);
}

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
#include "engine/mysql/libmariadb.h"
#include "engine/mysql/mysql.h"
#include "engine/mysql/script.h"
#include "engine/mysql/store.h"
#include "lockkeeper/lockkeeper.h"

#define PATIENCE_US INT64_C(30000000)

int main(int argc, char **argv) {
    static struct lk_mysql store;
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_mysql_format format;
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome;

    if (argc < 4 || strncmp(argv[3], "mysql:", strlen("mysql:")) != 0) {
        test_die("usage: opens_as FORMAT TEXT URL [reading]");
    }
    format = (struct lk_mysql_format){atoi(argv[1]), test_read_text(argv[2])};
    if (!lk_procedures_init(&store.common, &lk_engine_mysql, &lk_mysql_database)
        || lk_libmariadb_load(&error) != LK_OK
        || lk_mysql_address_parse(lk_slice_of(argv[3] + strlen("mysql:")), &store.address, &error)
               != LK_OK) {
        test_die("%s", error.text);
    }
    outcome = lk_mysql_prepare(&store, &format, argc > 4, &patience, &error);
    if (outcome != LK_OK) {
        fprintf(stderr, "%s: %s\n", lk_outcome_name(outcome), error.text);
    }
    lk_procedures_done(&store.common);
    lk_mysql_address_done(&store.address);
    free((char *)format.text);
    return lk_outcome_exit_code(outcome);
}

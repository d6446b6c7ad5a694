/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the store's tables in SQL. */
#include "service_database.h"

#include "../support.h"
#include "base/buffer.h"

char *service_database_sql(const char *sql, const char *beginning) {
    struct lk_buffer text = {.max = 0};

    for (; *sql != '\0'; sql++) {
        if (*sql == '#') {
            lk_buffer_add_text(&text, beginning);
        } else {
            lk_buffer_add(&text, sql, 1);
        }
    }
    lk_buffer_add(&text, "", 1);
    if (text.failed) {
        test_die("memory is exhausted");
    }
    return text.bytes;
}

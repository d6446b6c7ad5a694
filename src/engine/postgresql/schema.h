/* SPDX-License-Identifier: Apache-2.0 */
/* The SQL that makes a store: sql/NN_*.sql in their order, as one text. */
#ifndef LK_ENGINE_POSTGRESQL_SCHEMA_H
#define LK_ENGINE_POSTGRESQL_SCHEMA_H

enum { LK_POSTGRESQL_FORMAT = 1 };

/* The schema's name in that text. */
#define LK_POSTGRESQL_WRITTEN_FOR "lockkeeper"

/* What a program makes, and knows: a number, as in `meta`, and that text. */
struct lk_postgresql_format {
    int number;
    const char *text;
};

#endif

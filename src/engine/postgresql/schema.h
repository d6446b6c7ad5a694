/* SPDX-License-Identifier: Apache-2.0 */
/* The SQL that makes a store: sql/NN_*.sql in their order, as one text. */
#ifndef LK_ENGINE_POSTGRESQL_SCHEMA_H
#define LK_ENGINE_POSTGRESQL_SCHEMA_H

enum { LK_POSTGRESQL_FORMAT = 2 };

/* The text for another schema than "lockkeeper", for free(). NULL: memory is exhausted. */
char *lk_postgresql_schema_for(const char *text, const char *schema);

#endif

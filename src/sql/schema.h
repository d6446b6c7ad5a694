/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQL that creates a store, as text. It is in every build, also where the engine that would run
 * it is left out: `lk schema` prints it, for stores that are made by hand.
 */
#ifndef LK_SQL_SCHEMA_H
#define LK_SQL_SCHEMA_H

/* For SQLite. Static storage. */
const char *lk_sql_schema_sqlite(void);

/* For PostgreSQL, tables and functions, in the schema `lockkeeper`. Static storage. */
const char *lk_sql_schema_postgresql(void);

/* For MySQL and MariaDB, tables and procedures, with the prefix `lk_`. Static storage. */
const char *lk_sql_schema_mysql(void);

/* The same for the tables of services that share a database, `lk serve --store`: in the schema
 * `lockkeeper_service`; with the prefix `lk_`. */
const char *lk_sql_schema_postgresql_service(void);
const char *lk_sql_schema_mysql_service(void);

#endif

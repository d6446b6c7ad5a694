/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose code a store is. Its procedures and views run with the rights of their caller (SQL
 * SECURITY INVOKER), so the user who made one of them can do what a caller can; a trigger on a
 * table of it changes what is decided. Each connection makes sure of them before its first call,
 * in the statement that makes its settings.
 *
 * Trusted are what the user itself has made, and the user that the URL names (owner=). A user
 * without rights beyond databases trusts the one user who made all of it, too: that is the usual
 * store. One with such rights, or with a role, does not, unless that user is an administrator
 * (SUPER): for it the store would be a way up. The maker of a routine is its DEFINER, which only
 * administrators can set to another user.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/mysql/store.h"

/* Names of users are compared as bytes: 'App' and 'app' are two, and the catalogue folds case. */
#define AS_BYTES " USING utf8mb4) COLLATE utf8mb4_bin"
#define MAKER "CONVERT(DEFINER" AS_BYTES

#define MADE                                                                                       \
    "(SELECT 1 AS place, 'procedure' AS kind, ROUTINE_NAME AS name, " MAKER " AS maker"            \
    " FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()"                          \
    " AND LEFT(ROUTINE_NAME, %zu) = '%s'"                                                          \
    " UNION ALL SELECT 2, 'view', TABLE_NAME, " MAKER " FROM information_schema.VIEWS"             \
    " WHERE TABLE_SCHEMA = DATABASE() AND LEFT(TABLE_NAME, %zu) = '%s'"                            \
    " UNION ALL SELECT 3, 'trigger', TRIGGER_NAME, " MAKER " FROM information_schema.TRIGGERS"     \
    " WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND LEFT(EVENT_OBJECT_TABLE, %zu) = '%s') AS o"

/*
 * Rights of all databases, but for those that only look; rights in the database `mysql`, by which a
 * user gives itself all others, also by a pattern; and roles, whose rights a member cannot see.
 */
#define IS_STRONG                                                                                  \
    "(EXISTS (SELECT 1 FROM information_schema.USER_PRIVILEGES AS p WHERE p.PRIVILEGE_TYPE NOT IN" \
    " ('USAGE', 'PROCESS', 'SHOW DATABASES', 'REPLICATION CLIENT', 'BINLOG MONITOR',"              \
    " 'SLAVE MONITOR'))"                                                                           \
    " OR EXISTS (SELECT 1 FROM information_schema.SCHEMA_PRIVILEGES AS p"                          \
    " WHERE 'mysql' LIKE p.TABLE_SCHEMA)"                                                          \
    " OR EXISTS (SELECT 1 FROM information_schema.TABLE_PRIVILEGES AS p"                           \
    " WHERE p.TABLE_SCHEMA = 'mysql')"                                                             \
    " /*M! OR EXISTS (SELECT 1 FROM information_schema.APPLICABLE_ROLES) */"                       \
    " /*!80019 OR EXISTS (SELECT 1 FROM information_schema.APPLICABLE_ROLES) */)"

/* Of a stranger; the argument is the user that is named, or the empty text. */
#define IS_STRANGE                                                                                 \
    "o.maker <> CONVERT(CURRENT_USER()" AS_BYTES " AND o.maker <> CONVERT('%s'" AS_BYTES           \
    " AND NOT EXISTS (SELECT 1"                                                                    \
    " FROM information_schema.USER_PRIVILEGES AS p WHERE p.PRIVILEGE_TYPE = 'SUPER'"               \
    " AND CONVERT(p.GRANTEE" AS_BYTES " = CONCAT('''', LEFT(o.maker, CHAR_LENGTH(o.maker) - 1"     \
    " - CHAR_LENGTH(SUBSTRING_INDEX(o.maker, '@', -1))), '''@''',"                                 \
    " SUBSTRING_INDEX(o.maker, '@', -1), ''''))"

/*
 * A user who is no administrator sees no rights of others: it trusts one maker. NULL, or an error
 * (1242, a subquery with two rows): some of it is a stranger's.
 */
static const char check[] = "(SELECT IF(COALESCE(SUM(x.is_strange), 0) = 0"
                            " OR ('%s' = '' AND COUNT(DISTINCT x.maker) = 1 AND NOT " IS_STRONG "),"
                            " 1, (SELECT 1 UNION ALL SELECT 2)) FROM (SELECT o.maker, " IS_STRANGE
                            " AS is_strange FROM " MADE ") AS x)";

/* Of several makers the one that made the least is told: the others are the usual one. */
static const char stranger[] =
    "SELECT o.kind, o.name, o.maker, CURRENT_USER() FROM " MADE " WHERE " IS_STRANGE
    " ORDER BY COUNT(*) OVER (PARTITION BY o.maker), o.place, o.name"
    " LIMIT 1";

static const char *named(const struct lk_mysql_address *address) {
    return address->texts[LK_MYSQL_OWNER] != NULL ? address->texts[LK_MYSQL_OWNER] : "";
}

char *lk_mysql_owner_check(const struct lk_mysql_address *address) {
    const char *prefix = address->prefix;
    size_t size = strlen(prefix);

    return lk_text_make(check, named(address), named(address), size, prefix, size, prefix, size,
                        prefix);
}

lk_outcome lk_mysql_explain_stranger(const struct lk_mysql_address *address,
                                     struct lk_mysql_link *link, const struct lk_patience *patience,
                                     lk_error *error) {
    const char *prefix = address->prefix;
    size_t size = strlen(prefix);
    char *sql = lk_text_make(stranger, size, prefix, size, prefix, size, prefix, named(address));
    MYSQL_RES *result = NULL;
    MYSQL_ROW row = NULL;
    lk_outcome outcome = sql != NULL
                             ? lk_mysql_query(link, lk_slice_of(sql), patience, &result, error)
                             : lk_error_set(error, LK_INTERNAL, "no memory for a statement");

    free(sql);
    if (outcome == LK_OK && result != NULL) {
        row = mysql_fetch_row(result);
    }
    if (outcome == LK_OK || outcome == LK_INTERNAL) {
        outcome = lk_error_set(
            error, LK_DENIED,
            "the %s %s was made by %s, whose code would run with the rights of %s; look as that "
            "user, or as one without further rights, or name the user in the URL, "
            "?owner=USER@HOST, if it is trusted (docs/dba.md)",
            row != NULL ? row[0] : "store", row != NULL ? row[1] : prefix,
            row != NULL ? row[2] : "another user", row != NULL ? row[3] : "this one");
    }
    mysql_free_result(result);
    return outcome;
}

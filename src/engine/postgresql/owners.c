/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose code a store is. All code of a store runs with the rights of its caller, so a role that
 * owns a function, a view or a table of it, or a function that a trigger there calls, can do what a
 * caller can. So can the owner of a table that refers to one of the store's: a deletion that
 * cascades runs its triggers. On each connection the check precedes the first statement that
 * touches the store, in the same round trip.
 *
 * Trusted are the caller itself, superusers, and the role that the URL names (owner=). A caller
 * without further rights trusts the one role that owns all of the store, too: that is the usual
 * store, which an application has made and others may use. A caller that can do more (a superuser,
 * a role that makes roles, a member of one of these or of a predefined one) does not: for it the
 * role would be a way up. The caller is the session's user, to which any code can go back from the
 * role that SET ROLE has set.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/postgresql/store.h"

/*
 * What a schema contains depends on it: pg_depend has an index by that, and pg_class and pg_proc
 * have none by schema, so the check costs the same in a database that is full of other things. Only
 * superusers can remove such a dependency.
 *
 * Arguments: the schema; the role that is named, or the empty text. In the block names are looked
 * up in pg_catalog alone, whatever the role's search_path.
 */
static const char check[] =
    "DO $lk$\n"
    "DECLARE\n"
    "    the_schema CONSTANT pg_catalog.text := '%s';\n"
    "    named CONSTANT pg_catalog.text := '%s';\n"
    "    stranger record;\n"
    "    is_strong boolean;\n"
    "BEGIN\n"
    "    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);\n"
    "    SELECT EXISTS (\n"
    "        SELECT FROM pg_roles AS p\n"
    "        WHERE (p.rolsuper OR p.rolcreaterole OR p.rolreplication OR p.rolbypassrls\n"
    "               OR p.rolname LIKE 'pg\\_%%'\n"
    "                  AND p.rolname <> 'pg_database_owner') -- of which the database's is one\n"
    "          AND pg_has_role(session_user, p.oid, 'member')) INTO is_strong;\n"
    "    SELECT o.kind, o.name, r.rolname INTO stranger\n"
    "    FROM pg_namespace AS n\n"
    "    CROSS JOIN LATERAL (\n"
    "        SELECT 1 AS place, 'the schema' AS kind, n.nspname::text AS name,\n"
    "               n.nspowner AS owner\n"
    "        UNION ALL\n"
    "        SELECT 2, 'the table or view', c.relname::text, c.relowner\n"
    "        FROM pg_depend AS d JOIN pg_class AS c ON c.oid = d.objid\n"
    "        WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid\n"
    "          AND d.classid = 'pg_class'::regclass\n"
    "          AND c.relkind IN ('r', 'v', 'm', 'f', 'p', 'S')\n"
    "        UNION ALL\n"
    "        SELECT 3, 'the function', p.proname::text, p.proowner\n"
    "        FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid\n"
    "        WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid\n"
    "          AND d.classid = 'pg_proc'::regclass\n"
    "        UNION ALL\n"
    "        SELECT 4, 'a trigger''s ' || u.kind, u.name, u.owner\n"
    "        FROM pg_depend AS c JOIN pg_trigger AS t ON t.tgrelid = c.objid\n"
    "        JOIN pg_depend AS d ON d.classid = 'pg_trigger'::regclass AND d.objid = t.oid\n"
    "        CROSS JOIN LATERAL (\n"
    "            SELECT 'function' AS kind, p.proname::text AS name, p.proowner AS owner\n"
    "            FROM pg_proc AS p\n"
    "            WHERE d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid\n"
    "            UNION ALL -- in its condition\n"
    "            SELECT 'operator', q.oprname::text, q.oprowner FROM pg_operator AS q\n"
    "            WHERE d.refclassid = 'pg_operator'::regclass AND q.oid = d.refobjid\n"
    "            UNION ALL\n"
    "            SELECT 'type', y.typname::text, y.typowner FROM pg_type AS y\n"
    "            WHERE d.refclassid = 'pg_type'::regclass AND y.oid = d.refobjid) AS u\n"
    "        WHERE c.refclassid = 'pg_namespace'::regclass AND c.refobjid = n.oid\n"
    "          AND c.classid = 'pg_class'::regclass AND NOT t.tgisinternal\n"
    "        UNION ALL\n"
    "        SELECT 5, 'a table that refers to the store,', c.relname || ',', c.relowner\n"
    "        FROM pg_depend AS s\n"
    "        JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = s.objid\n"
    "        JOIN pg_constraint AS k ON k.oid = d.objid AND k.confrelid = s.objid\n"
    "        JOIN pg_class AS c ON c.oid = k.conrelid\n"
    "        WHERE s.refclassid = 'pg_namespace'::regclass AND s.refobjid = n.oid\n"
    "          AND s.classid = 'pg_class'::regclass\n"
    "          AND d.classid = 'pg_constraint'::regclass) AS o\n"
    "    JOIN pg_database AS b ON b.datname = current_database()\n"
    "    JOIN pg_roles AS r -- 6171: pg_database_owner, whose member the owner is\n"
    "         ON r.oid = CASE o.owner WHEN 6171 THEN b.datdba ELSE o.owner END\n"
    "    WHERE n.nspname = the_schema AND NOT r.rolsuper AND r.rolname <> named\n"
    "      AND r.rolname NOT IN (session_user,\n"
    "                            CASE WHEN is_strong THEN session_user ELSE current_user END)\n"
    "      AND (is_strong OR named <> '' OR o.owner <> n.nspowner)\n"
    "    ORDER BY o.place, o.name LIMIT 1;\n"
    "    IF FOUND THEN\n"
    "        RAISE EXCEPTION USING ERRCODE = 'LK077', MESSAGE = format(\n"
    "            '%%s %%s belongs to %%s, whose code would run with the rights of %%s',\n"
    "            stranger.kind, stranger.name, stranger.rolname, session_user);\n"
    "    END IF;\n"
    "END $lk$";

/* In a transaction of its own, so that a procedure after it may commit. */
static const char begin[] = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY";
static const char commit[] = "COMMIT";

static const char meta[] =
    "SELECT format, (\n"
    "    SELECT pg_catalog.pg_get_userbyid(n.nspowner) FROM pg_catalog.pg_namespace AS n\n"
    "    WHERE n.nspname OPERATOR(pg_catalog.=) '%s'::pg_catalog.name) FROM %s.meta";

char *lk_postgresql_check_sql(const char *schema, const char *owner) {
    return lk_text_make(check, schema, owner);
}

static char *check_of(const struct lk_postgresql_address *address) {
    return lk_postgresql_check_sql(address->schema, address->owner);
}

char *lk_postgresql_present_sql(const struct lk_postgresql_address *address) {
    char *first = check_of(address);
    char *second = lk_text_make(meta, address->schema, address->schema);
    char *text = first != NULL && second != NULL ? lk_text_make("%s;\n%s", first, second) : NULL;

    free(first);
    free(second);
    return text;
}

char *lk_postgresql_checked_sql(const struct lk_postgresql_address *address, const char *sql) {
    char *first = check_of(address);
    char *text =
        first != NULL ? lk_text_make("%s;\n%s;\n%s;\n%s", begin, first, commit, sql) : NULL;

    free(first);
    return text;
}

bool lk_postgresql_send_check(const struct lk_postgresql_address *address, PGconn *connection) {
    char *sql = check_of(address);
    bool is_sent = sql != NULL && lk_postgresql_send_text(connection, begin)
                   && lk_postgresql_send_text(connection, sql)
                   && lk_postgresql_send_text(connection, commit);

    free(sql);
    return is_sent;
}

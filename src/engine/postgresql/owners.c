/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose code a store is. All code of a store runs with the rights of its caller, so a role that
 * owns a function, a view or a table of it, or the function of a trigger there, can do what a
 * caller can. The check precedes the first statement that touches a table of the store, in the
 * same round trip.
 *
 * Trusted are the caller itself, superusers, and the role that the URL names (owner=). A caller
 * without further rights trusts the one role that owns all of the store, too: that is the usual
 * store, which an application has made and others may use. A caller that can do more (a superuser,
 * a role that makes roles, a member of a predefined one) does not: for it the role would be a way
 * up.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/postgresql/store.h"

/*
 * Arguments: the schema; the role that is named, or the empty text. In the block names are looked
 * up in pg_catalog alone, whatever the role's search_path.
 */
static const char check[] =
    "DO $lk$\n"
    "DECLARE\n"
    "    the_schema CONSTANT text := '%s';\n"
    "    named CONSTANT text := '%s';\n"
    "    stranger record;\n"
    "    is_strong boolean;\n"
    "BEGIN\n"
    "    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);\n"
    "    SELECT r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls\n"
    "           OR EXISTS (SELECT FROM pg_roles AS p WHERE p.rolname LIKE 'pg\\_%%'\n"
    "                      AND p.rolname <> 'pg_database_owner' -- of which the database's is one\n"
    "                      AND pg_has_role(r.oid, p.oid, 'member'))\n"
    "    INTO is_strong FROM pg_roles AS r WHERE r.rolname = current_user;\n"
    "    SELECT o.kind, o.name, r.rolname INTO stranger\n"
    "    FROM pg_namespace AS n\n"
    "    CROSS JOIN LATERAL (\n"
    "        SELECT 1 AS place, 'the schema' AS kind, n.nspname::text AS name,\n"
    "               n.nspowner AS owner\n"
    "        UNION ALL\n"
    "        SELECT 2, 'the table or view', c.relname::text, c.relowner FROM pg_class AS c\n"
    "        WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'v', 'm', 'f', 'p', 'S')\n"
    "        UNION ALL\n"
    "        SELECT 3, 'the function', p.proname::text, p.proowner FROM pg_proc AS p\n"
    "        WHERE p.pronamespace = n.oid\n"
    "        UNION ALL\n"
    "        SELECT 4, 'a trigger''s function', p.proname::text, p.proowner FROM pg_trigger AS t\n"
    "        JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_proc AS p ON p.oid = t.tgfoid\n"
    "        WHERE c.relnamespace = n.oid AND NOT t.tgisinternal) AS o\n"
    "    JOIN pg_roles AS r ON r.oid = o.owner\n"
    "    WHERE n.nspname = the_schema AND NOT r.rolsuper AND r.rolname <> current_user\n"
    "      AND r.rolname <> named\n"
    "      AND (is_strong OR named <> '' OR o.owner <> n.nspowner)\n"
    "    ORDER BY o.place, o.name LIMIT 1;\n"
    "    IF FOUND THEN\n"
    "        RAISE EXCEPTION USING ERRCODE = 'LK077', MESSAGE = format(\n"
    "            '%%s %%s belongs to %%s, whose code would run with the rights of %%s',\n"
    "            stranger.kind, stranger.name, stranger.rolname, current_user);\n"
    "    END IF;\n"
    "END $lk$;\n"
    "SELECT format, writable_from, (\n"
    "    SELECT pg_catalog.pg_get_userbyid(n.nspowner) FROM pg_catalog.pg_namespace AS n\n"
    "    WHERE n.nspname OPERATOR(pg_catalog.=) '%s'::pg_catalog.name) FROM %s.meta";

char *lk_postgresql_present_sql(const struct lk_postgresql_address *address) {
    return lk_text_make(check, address->schema, address->owner, address->schema, address->schema);
}

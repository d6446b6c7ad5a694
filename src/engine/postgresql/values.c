/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page of values (R15). The tables' statistics may be missing or old, so the plan is fixed for
 * this transaction alone, as the functions of the store have it: by indexes, in their order. OFFSET
 * keeps the search for a dead holder from being made for all values at once.
 */
#include "base/text.h"
#include "engine/postgresql/store.h"

const char lk_postgresql_plan_sql[] = "SELECT pg_catalog.set_config('enable_seqscan', 'off', true),"
                                      " pg_catalog.set_config('enable_bitmapscan', 'off', true),"
                                      " pg_catalog.set_config('enable_sort', 'off', true),"
                                      " pg_catalog.set_config('jit', 'off', true),"
                                      " pg_catalog.set_config('search_path',"
                                      " 'pg_catalog, pg_temp', true)";

char *lk_postgresql_values_sql(const struct lk_procedures *common) {
    static const char values[] =
        "SELECT v.path, pg_catalog.octet_length(v.bytes), v.in_doubt OR EXISTS (" /* unswept */
        "SELECT FROM %s.parts AS p JOIN %s.requests AS r ON r.id = p.request"
        " WHERE p.path = v.path AND p.units = 0 AND r.held AND r.wants_value"
        " AND r.deadline_us <= %s.now_us() OFFSET 0)"
        " FROM ((SELECT o.* FROM %s.\"values\" AS o WHERE o.path = $1 AND o.path > $2)"
        " UNION ALL (SELECT o.* FROM %s.\"values\" AS o"
        " WHERE o.path > $3 AND ($4 IS NULL OR o.path < $4) ORDER BY o.path LIMIT $5)) AS v"
        " ORDER BY v.path LIMIT $5";
    const struct lk_postgresql *store = (const struct lk_postgresql *)common;
    const char *schema = store->address.schema;

    return lk_text_make(values, schema, schema, schema, schema, schema);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A page of values (R15). What is searched for each of them must not be made a join: README.md. */
#include "base/text.h"
#include "engine/mysql/store.h"

char *lk_mysql_values_sql(const struct lk_procedures *common) {
    static const char values[] =
        "SELECT v.path, v.size, v.in_doubt OR (" /* its holder is dead and unswept */
        "SELECT 1 FROM %srequests AS r FORCE INDEX (requests_by_path)"
        " WHERE r.path = v.path AND r.units = 0 AND r.held AND r.wants_value AND r.deadline_us"
        " <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) LIMIT 1) IS NOT NULL"
        " FROM ((SELECT o.path, LENGTH(o.bytes) AS size, o.in_doubt"
        " FROM %svalues AS o FORCE INDEX (PRIMARY) WHERE o.path = \1A AND o.path > \1B)"
        " UNION ALL (SELECT o.path, LENGTH(o.bytes), o.in_doubt"
        " FROM %svalues AS o FORCE INDEX (PRIMARY)"
        " WHERE o.path > \1C AND (\1D IS NULL OR o.path < \1D) ORDER BY o.path LIMIT \1E)) AS v"
        " ORDER BY v.path LIMIT \1E";
    const char *prefix = ((const struct lk_mysql *)common)->address.prefix;

    return lk_text_make(values, prefix, prefix, prefix);
}

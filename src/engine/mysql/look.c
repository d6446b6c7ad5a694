/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statement that looks before a try (engine/procedures/look.c). A plain SELECT and not a
 * procedure, of which each statement is planned again in each call; its leases as rows and not as
 * one text, whose strings the server would have to quote. No lock, one snapshot. While nothing is
 * due below the root, all that is held there lives.
 */
#include "base/text.h"
#include "engine/mysql/store.h"

#define NOW_US "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"

char *lk_mysql_write_look(struct lk_procedures *common, const struct lk_ask *ask, int max) {
    const char *prefix = lk_mysql_of(&common->engine)->address.prefix;
    const struct lk_path *path = &ask->parts[0].path;
    char path_text[LK_MYSQL_LITERAL_MAX(LK_PATH_BYTES_MAX)];
    char root_text[LK_MYSQL_LITERAL_MAX(LK_SEGMENT_BYTES_MAX)];
    char owner_text[LK_MYSQL_LITERAL_MAX(LK_OWNER_BYTES_MAX)];

    *lk_mysql_put_literal(path_text, (struct lk_slice){path->bytes, path->size}) = '\0';
    *lk_mysql_put_literal(root_text, lk_path_root(path)) = '\0';
    *lk_mysql_put_literal(owner_text, ask->owner) = '\0';
    return lk_text_make(
        "SELECT p.units, p.owner, p.note, p.ticket, p.deadline_us - " NOW_US
        " FROM %sroots AS k STRAIGHT_JOIN %smeta AS m"
        " STRAIGHT_JOIN %srequests AS p FORCE INDEX (requests_by_path)"
        " WHERE k.root = %s AND m.only_row = 1 AND k.due_us > " NOW_US
        " AND GREATEST(k.mixed_until_us, m.told_until_us) <= " NOW_US
        " AND k.kind = %u AND NOT k.has_waiting AND p.path = %s AND p.held = 1"
        " AND (SELECT MIN(r.held) FROM %srequests AS r FORCE INDEX (requests_by_owner)"
        " WHERE r.owner = %s) IS NULL ORDER BY p.ticket LIMIT %d",
        prefix, prefix, prefix, root_text, 2U * path->depth, path_text, prefix, owner_text, max);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch as columns: one array for each column of a kind of rows. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/store/postgresql/store.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

/* In the binary format. */

enum { HEADER_BYTES = 20, CAPACITY_FIRST = 256 };

void lk_array_put32(char *ret_bytes, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        ret_bytes[i] = (char)(unsigned char)(value >> (24 - 8 * i));
    }
}

static void put64(char *ret_bytes, uint64_t value) {
    lk_array_put32(ret_bytes, (uint32_t)(value >> 32));
    lk_array_put32(ret_bytes + 4, (uint32_t)value);
}

int64_t lk_array_get64(const char *bytes) {
    uint64_t value = 0;

    for (int i = 0; i < 8; i++) {
        value = value << 8 | (unsigned char)bytes[i];
    }
    return (int64_t)value;
}

void lk_array_done(struct lk_array *array) {
    free(array->bytes);
    *array = (struct lk_array){.bytes = NULL};
}

void lk_array_clear(struct lk_array *array) {
    array->size = 0;
    array->count = 0;
    array->has_failed = false;
}

/* Room for so many bytes more, which become part of the array. NULL: memory is exhausted. */
static char *take(struct lk_array *array, size_t size) {
    size_t capacity = array->capacity > 0 ? array->capacity : CAPACITY_FIRST;
    char *bytes;

    while (capacity < array->size + size) {
        capacity *= 2;
    }
    if (capacity != array->capacity) {
        bytes = realloc(array->bytes, capacity);
        if (bytes == NULL) {
            array->has_failed = true;
            return NULL;
        }
        array->bytes = bytes;
        array->capacity = capacity;
    }
    bytes = array->bytes + array->size;
    array->size += size;
    return bytes;
}

/* The same for one element, whose size comes first. */
static char *take_element(struct lk_array *array, size_t size) {
    char *bytes = array->size == 0 ? take(array, HEADER_BYTES) : array->bytes;

    if (bytes == NULL || array->has_failed || (bytes = take(array, size + 4)) == NULL) {
        return NULL;
    }
    lk_array_put32(bytes, (uint32_t)size);
    array->count++;
    return bytes + 4;
}

void lk_array_add_bigint(struct lk_array *array, int64_t value) {
    char *bytes = take_element(array, sizeof value);

    if (bytes != NULL) {
        put64(bytes, (uint64_t)value);
    }
}

void lk_array_add_boolean(struct lk_array *array, bool value) {
    char *bytes = take_element(array, 1);

    if (bytes != NULL) {
        bytes[0] = value ? 1 : 0;
    }
}

void lk_array_add_bytes(struct lk_array *array, struct lk_slice bytes) {
    char *room = take_element(array, bytes.size);

    if (room != NULL && bytes.size > 0) {
        memcpy(room, bytes.bytes, bytes.size);
    }
}

bool lk_array_close(struct lk_array *array, enum lk_array_kind kind) {
    static const uint32_t element_types[] = {[LK_ARRAY_BIGINT] = 20,
                                             [LK_ARRAY_BOOLEAN] = 16,
                                             [LK_ARRAY_TEXT] = 25,
                                             [LK_ARRAY_BYTEA] = 17};

    if (array->has_failed || array->count == 0 || array->size > INT_MAX) {
        return false;
    }
    lk_array_put32(array->bytes, 1);     /* dimensions */
    lk_array_put32(array->bytes + 4, 0); /* no NULL in it */
    lk_array_put32(array->bytes + 8, element_types[kind]);
    lk_array_put32(array->bytes + 12, array->count);
    lk_array_put32(array->bytes + 16, 1); /* the first index */
    return true;
}

/* ---- columns --------------------------------------------------------------------------------- */

static struct lk_pg_group *group_of(struct lk_tables *tables, enum lk_tables_kind kind) {
    return &lk_store_pg_of(tables)->groups[kind];
}

void lk_pg_add_row(struct lk_tables *tables, enum lk_tables_kind kind) {
    group_of(tables, kind)->count++;
}

void lk_pg_add_number(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                      int64_t number) {
    lk_array_add_bigint(&group_of(tables, kind)->columns[column], number);
}

void lk_pg_add_truth(struct lk_tables *tables, enum lk_tables_kind kind, int column, bool truth) {
    lk_array_add_boolean(&group_of(tables, kind)->columns[column], truth);
}

void lk_pg_add_bytes(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                     struct lk_slice bytes) {
    lk_array_add_bytes(&group_of(tables, kind)->columns[column], bytes);
}

void lk_pg_clear(struct lk_tables *tables, enum lk_tables_kind kind) {
    struct lk_pg_group *group = group_of(tables, kind);

    for (size_t i = 0; i < LK_TABLES_COLUMNS_MAX; i++) {
        lk_array_clear(&group->columns[i]);
    }
    group->count = 0;
}

bool lk_pg_flush(struct lk_tables *tables, enum lk_tables_kind kind) {
    static const int formats[LK_TABLES_COLUMNS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                       1, 1, 1, 1, 1, 1, 1, 1};
    const struct lk_pg_statement *statement = &lk_pg_statements[kind];
    struct lk_pg_group *group = group_of(tables, kind);
    const char *values[LK_TABLES_COLUMNS_MAX];
    int lengths[LK_TABLES_COLUMNS_MAX];
    int count = (int)strlen(statement->columns);
    bool is_sent;

    if (group->count == 0) {
        return true;
    }
    for (int i = 0; i < count; i++) {
        if (!lk_array_close(&group->columns[i], lk_pg_column_kind(statement->columns[i]))) {
            return false;
        }
        values[i] = group->columns[i].bytes;
        lengths[i] = (int)group->columns[i].size;
    }
    is_sent = lk_pg_send(lk_store_pg_of(tables), statement->name, count, values, lengths, formats);
    lk_pg_clear(tables, kind);
    return is_sent;
}

bool lk_pg_sweep(struct lk_tables *tables, enum lk_tables_sweep sweep, uint64_t last) {
    static const char *const names[LK_TABLES_SWEEPS] = {
        [LK_TABLES_FORGET] = "lk_forget",
        [LK_TABLES_ENDED_BOUND] = "lk_ended_bound",
        [LK_TABLES_ENDED_SWEEP] = "lk_ended_sweep",
    };
    char text[LK_PG_NUMBER_BYTES];
    const char *const parameters[] = {text};

    (void)snprintf(text, sizeof text, "%" PRIu64, last);
    return lk_pg_send(lk_store_pg_of(tables), names[sweep], sweep == LK_TABLES_FORGET ? 1 : 0,
                      parameters, NULL, NULL);
}

void lk_pg_columns_done(struct lk_store_pg *store) {
    for (int kind = 0; kind < LK_TABLES_KINDS; kind++) {
        for (size_t i = 0; i < LK_TABLES_COLUMNS_MAX; i++) {
            lk_array_done(&store->groups[kind].columns[i]);
        }
    }
}

/* ---- statements ------------------------------------------------------------------------------ */

/*
 * The statements. Rows of one kind that are about the same value or item are in their order, and
 * the last one counts.
 */

#define S "lockkeeper_service."

const struct lk_pg_statement lk_pg_statements[LK_TABLES_KINDS] = {
    [LK_TABLES_REQUEST] =
        {"lk_request",
         "INSERT INTO " S "request AS r (id, owner, note, state, revoked, attended, fixed, ticket,"
         " token, ttl_ms, expires_us, wants_value, is_claim, ask_number, max_attempts, parts,"
         " bound) SELECT a.id, a.owner, a.note, a.state,"
         " a.revoked, a.attended, a.fixed, a.ticket, a.token, a.ttl_ms, n.us + a.left_us,"
         " a.wants_value, a.is_claim, a.ask_number, a.max_attempts, a.parts, a.bound"
         " FROM (SELECT " S "now_us() AS us OFFSET 0) AS n,"
         " unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::boolean[],"
         " $6::boolean[], $7::boolean[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],"
         " $12::boolean[], $13::boolean[], $14::bigint[], $15::bigint[], $16::text[],"
         " $17::boolean[]) AS a (id, owner, note, state, revoked, attended, fixed,"
         " ticket, token, ttl_ms, left_us, wants_value, is_claim, ask_number, max_attempts, parts,"
         " bound) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner,"
         " note = excluded.note, state = excluded.state, revoked = excluded.revoked,"
         " attended = excluded.attended, fixed = excluded.fixed, graced = false,"
         " ticket = excluded.ticket, token = excluded.token, ttl_ms = excluded.ttl_ms,"
         " expires_us = excluded.expires_us, wants_value = excluded.wants_value,"
         " is_claim = excluded.is_claim, ask_number = excluded.ask_number,"
         " max_attempts = excluded.max_attempts, parts = excluded.parts, bound = excluded.bound",
         "itttbbbiiiibbiitb"},
    [LK_TABLES_REQUEST_GONE] = {"lk_request_gone",
                                "DELETE FROM " S "request WHERE id = ANY ($1::bigint[])", "i"},
    [LK_TABLES_VALUE] =
        {"lk_value",
         "INSERT INTO " S "value (path, bytes, in_doubt) SELECT DISTINCT ON (a.path COLLATE \"C\")"
         " a.path, a.bytes, false FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY"
         " AS a (path, bytes, n) ORDER BY a.path COLLATE \"C\", a.n DESC"
         " ON CONFLICT (path) DO UPDATE SET bytes = excluded.bytes, in_doubt = false",
         "ty"},
    [LK_TABLES_VALUE_DOUBT] = {"lk_value_doubt",
                               "UPDATE " S
                               "value SET in_doubt = true WHERE path = ANY ($1::text[])",
                               "t"},
    [LK_TABLES_VALUE_GONE] = {"lk_value_gone",
                              "DELETE FROM " S "value WHERE path = ANY ($1::text[])", "t"},
    [LK_TABLES_ITEM_NEW] =
        {"lk_item_new",
         "INSERT INTO " S "item (queue, id, sequence, state, due_us, attempts, was_lost, is_head,"
         " priority, keep_ms, value, needs, has_exit, last_exit, last_error, progress)"
         " SELECT DISTINCT ON"
         " (a.queue COLLATE \"C\", a.id COLLATE \"C\") a.queue, a.id, a.sequence, a.state,"
         " n.us + a.left_us, a.attempts, a.was_lost, a.is_head, a.priority, a.keep_ms,"
         " a.value, a.needs, a.has_exit, a.last_exit, a.last_error, a.progress FROM (SELECT " S
         "now_us() AS us OFFSET 0) AS n,"
         " unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[],"
         " $7::boolean[], $8::boolean[], $9::bigint[], $10::bigint[], $11::bytea[], $12::text[],"
         " $13::boolean[], $14::bigint[], $15::bytea[], $16::bytea[]) WITH ORDINALITY"
         " AS a (queue, id, sequence, state, left_us, attempts, was_lost, is_head,"
         " priority, keep_ms, value, needs, has_exit, last_exit, last_error, progress, n)"
         " ORDER BY a.queue COLLATE \"C\", a.id COLLATE \"C\", a.n DESC"
         " ON CONFLICT (queue, id) DO UPDATE SET sequence = excluded.sequence,"
         " state = excluded.state, due_us = excluded.due_us, attempts = excluded.attempts,"
         " was_lost = excluded.was_lost, is_head = excluded.is_head,"
         " priority = excluded.priority, keep_ms = excluded.keep_ms, value = excluded.value,"
         " needs = excluded.needs, progress = excluded.progress",
         "ttitiibbiiytbiyy"},
    [LK_TABLES_ITEM] =
        {"lk_item",
         "UPDATE " S "item AS i SET state = a.state, due_us = n.us + a.left_us,"
         " attempts = a.attempts, was_lost = a.was_lost, is_head = a.is_head,"
         " has_exit = a.has_exit, last_exit = a.last_exit, last_error = a.last_error,"
         " progress = a.progress FROM (SELECT " S
         "now_us() AS us OFFSET 0) AS n, (SELECT DISTINCT ON"
         " (u.queue COLLATE \"C\", u.id COLLATE \"C\") u.* FROM unnest($1::text[], $2::text[],"
         " $3::text[], $4::bigint[], $5::bigint[], $6::boolean[], $7::boolean[], $8::boolean[],"
         " $9::bigint[], $10::bytea[], $11::bytea[]) WITH ORDINALITY AS u (queue, id, state,"
         " left_us, attempts, was_lost, is_head, has_exit, last_exit, last_error, progress, n)"
         " ORDER BY"
         " u.queue COLLATE \"C\", u.id COLLATE \"C\", u.n DESC) AS a"
         " WHERE i.queue = a.queue AND i.id = a.id",
         "tttiibbbiyy"},
    [LK_TABLES_ITEM_GONE] = {"lk_item_gone",
                             "DELETE FROM " S "item AS i USING unnest($1::text[], $2::text[])"
                             " AS a (queue, id) WHERE i.queue = a.queue AND i.id = a.id",
                             "tt"},
    [LK_TABLES_QUEUE_GONE] = {"lk_queue_gone",
                              "DELETE FROM " S "queue WHERE path = ANY ($1::text[])", "t"},
    [LK_TABLES_QUEUE] =
        {"lk_queue",
         "INSERT INTO " S "queue (path, pushed, duplicates, claims, steals, done, retried, parked)"
         " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[],"
         " $6::bigint[], $7::bigint[], $8::bigint[]) ON CONFLICT (path) DO UPDATE SET"
         " pushed = excluded.pushed, duplicates = excluded.duplicates, claims = excluded.claims,"
         " steals = excluded.steals, done = excluded.done, retried = excluded.retried,"
         " parked = excluded.parked",
         "tiiiiiii"},
    [LK_TABLES_ENDED] = {"lk_ended",
                         "INSERT INTO " S
                         "ended (token, owner, parts, ended_us) SELECT a.token, a.owner, a.parts,"
                         " n.us + a.left_us FROM (SELECT " S "now_us() AS us OFFSET 0) AS n,"
                         " unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])"
                         " AS a (token, owner, parts, left_us) ON CONFLICT DO NOTHING",
                         "itti"},
    [LK_TABLES_AUDIT] =
        {"lk_audit",
         "INSERT INTO " S "audit (at_unix_us, broken_by, reason, path, owner, note, ticket, token)"
         " SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[],"
         " $6::text[], $7::bigint[], $8::bigint[])",
         "itttttii"},
    [LK_TABLES_EVENT] =
        {"lk_event",
         "INSERT INTO " S "event SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[],"
         " $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[],"
         " $10::bigint[], $11::boolean[], $12::boolean[], $13::text[], $14::text[])",
         "iitttttiiibbtt"},
    [LK_TABLES_LIMITS] = {"lk_limits",
                          "UPDATE " S "leader SET events_max = ($1::bigint[])[array_upper($1, 1)],"
                          " live_max = ($2::bigint[])[array_upper($2, 1)],"
                          " live_per_owner_max = ($3::bigint[])[array_upper($3, 1)],"
                          " live_per_root_max = ($4::bigint[])[array_upper($4, 1)],"
                          " waiters_per_path_max = ($5::bigint[])[array_upper($5, 1)]",
                          "iiiii"},
};

enum lk_array_kind lk_pg_column_kind(char column) {
    switch (column) {
    case 'i':
        return LK_ARRAY_BIGINT;
    case 'b':
        return LK_ARRAY_BOOLEAN;
    case 't':
        return LK_ARRAY_TEXT;
    default:
        return LK_ARRAY_BYTEA;
    }
}

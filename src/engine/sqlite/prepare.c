/* SPDX-License-Identifier: Apache-2.0 */
/* Statements out of the owner's SQL (R17), and the guard over it. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/sqlite/source.h"
#include "sql/format.h"

/* ---- the guard ------------------------------------------------------------------------------- */

static int add_own_name(void *context, struct lk_slice name) {
    bool is_new;

    return lk_set_add(context, name, &is_new) ? SQLITE_OK : SQLITE_NOMEM;
}

static bool is_own(const struct lk_sqlite_sources *sources, const char *table) {
    char name[64];
    size_t size = strnlen(table, sizeof name);

    for (size_t i = 0; i < size && size < sizeof name; i++) {
        name[i] = (char)(table[i] >= 'A' && table[i] <= 'Z' ? table[i] - 'A' + 'a' : table[i]);
    }
    return size < sizeof name && lk_set_has(&sources->own, (struct lk_slice){name, size});
}

static int refuse(struct lk_sqlite_sources *sources, const char *what, const char *name) {
    (void)snprintf(sources->refused, sizeof sources->refused, "it must not %s%s%.64s", what,
                   name != NULL ? " " : "", name != NULL ? name : "");
    return SQLITE_DENY;
}

static int authorize_write(struct lk_sqlite_sources *sources, const char *table) {
    if (sources->guard != LK_SQLITE_GUARD_WRITE) {
        return refuse(sources, "write", NULL);
    }
    return is_own(sources, table) ? refuse(sources, "write to the store's own table", table)
                                  : SQLITE_OK;
}

/* An authorizer of SQLite's. Its arguments mean what the action says. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *database, const char *trigger) {
    struct lk_sqlite_sources *sources = context;

    (void)database;
    (void)trigger;
    if (sources->guard == LK_SQLITE_GUARD_NONE) {
        return SQLITE_OK;
    }
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return sqlite3_stricmp(second, "load_extension") == 0 ? refuse(sources, "call", second)
                                                              : SQLITE_OK;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        return authorize_write(sources, first);
    case SQLITE_PRAGMA:
        /* Full-text search asks for this one behind the scenes. */
        return sqlite3_stricmp(first, "data_version") == 0 ? SQLITE_OK
                                                           : refuse(sources, "use PRAGMA", first);
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        return refuse(sources, "attach or detach databases", NULL);
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        return refuse(sources, "begin or end transactions", NULL);
    default:
        return refuse(sources, "change the schema", NULL);
    }
}

/* lk_row_id(ID, MAX): the id as a segment; NULL where it cannot be one of MAX bytes at most. */
static void row_id(sqlite3_context *context, int count, sqlite3_value **values) {
    struct lk_row_id segment;
    int type = sqlite3_value_type(values[0]);

    (void)count;
    if (type != SQLITE_INTEGER && type != SQLITE_TEXT) {
        sqlite3_result_null(context);
        return;
    }
    const char *bytes = (const char *)sqlite3_value_text(values[0]);
    if (bytes == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    struct lk_slice id = {bytes, (size_t)sqlite3_value_bytes(values[0])};
    if (lk_row_id_encode(id, &segment) && (int64_t)segment.size <= sqlite3_value_int64(values[1])) {
        sqlite3_result_text(context, segment.bytes, (int)segment.size, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_null(context);
    }
}

/* Once for a connection. An authorizer that is set again would expire every kept statement. */
static int set_guard(struct lk_sqlite *store) {
    struct lk_sqlite_sources *sources = store->sources;
    int code;

    if (sources != NULL && sources->is_guarded) {
        return SQLITE_OK;
    }
    if (sources == NULL) {
        store->sources = sources = calloc(1, sizeof *sources);
    }
    if (sources == NULL) {
        return SQLITE_NOMEM;
    }
    code = lk_sql_format_each_name(add_own_name, &sources->own);
    if (code == SQLITE_OK) {
        code = sqlite3_create_function(store->sql.handle, "lk_row_id", 2,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                       row_id, NULL, NULL);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_set_authorizer(store->sql.handle, authorize, sources);
    }
    sources->is_guarded = code == SQLITE_OK;
    return code;
}

/* ---- texts ----------------------------------------------------------------------------------- */

enum { TEXTS = 6 };

static const struct lk_slice *text_at(const struct lk_source *source, struct lk_slice *queue,
                                      size_t index) {
    *queue = (struct lk_slice){source->queue.bytes, source->queue.size};
    const struct lk_slice *texts[TEXTS] = {queue,          &source->table, &source->id_column,
                                           &source->where, &source->order, &source->done};
    return texts[index];
}

static bool is_same(const struct lk_source *a, const struct lk_source *b) {
    struct lk_slice room_a;
    struct lk_slice room_b;
    bool same = true;

    for (size_t i = 0; i < TEXTS && same; i++) {
        same = lk_slice_equal(*text_at(a, &room_a, i), *text_at(b, &room_b, i));
    }
    return same;
}

/* Copies every text, each terminated. */
static bool copy_texts(struct lk_sqlite_source *source, const struct lk_source *text) {
    struct lk_slice *copies[TEXTS] = {NULL,
                                      &source->text.table,
                                      &source->text.id_column,
                                      &source->text.where,
                                      &source->text.order,
                                      &source->text.done};
    struct lk_slice queue;
    size_t size = 0;
    char *at;

    for (size_t i = 0; i < TEXTS; i++) {
        size += text_at(text, &queue, i)->size + 1;
    }
    at = source->bytes = calloc(1, size);
    for (size_t i = 0; i < TEXTS && at != NULL; i++) {
        const struct lk_slice *from = text_at(text, &queue, i);
        if (from->size > 0) {
            memcpy(at, from->bytes, from->size);
        }
        if (i == 0) {
            (void)lk_path_parse((struct lk_slice){at, from->size}, &source->text.queue, NULL);
        } else {
            *copies[i] = (struct lk_slice){at, from->size};
        }
        at += from->size + 1;
    }
    return at != NULL;
}

/* ---- statements ------------------------------------------------------------------------------ */

/* One statement, and nothing behind it but blanks and comments. */
static int prepare(struct lk_sqlite *store, struct lk_sqlite_source *source, const char *what,
                   const char *text, enum lk_sqlite_guard guard, sqlite3_stmt **ret_statement) {
    sqlite3 *handle = store->sql.handle;
    sqlite3_stmt *more = NULL;
    const char *tail = "";
    int code;

    if (text == NULL) {
        return SQLITE_NOMEM;
    }
    store->sources->guard = guard;
    store->sources->refused[0] = '\0';
    code = sqlite3_prepare_v3(handle, text, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, &tail);
    (void)lk_sqlite_source_blame(store, source, what, code);
    if (code == SQLITE_OK && *ret_statement == NULL) {
        (void)snprintf(source->complaint, sizeof source->complaint, "R17: %s: it is empty", what);
        code = SQLITE_ERROR;
    }
    while (code == SQLITE_OK && *tail != '\0' && more == NULL) {
        const char *from = tail;
        int ignored = sqlite3_prepare_v2(handle, from, -1, &more, &tail);
        if (ignored != SQLITE_OK || more != NULL) {
            (void)snprintf(source->complaint, sizeof source->complaint,
                           "R17: %s: it is more than one statement", what);
            code = SQLITE_ERROR;
        } else if (tail == from) {
            break;
        }
    }
    (void)sqlite3_finalize(more);
    store->sources->guard = LK_SQLITE_GUARD_NONE;
    return code;
}

static int prepare_format(struct lk_sqlite *store, struct lk_sqlite_source *source,
                          const char *what, char *text, sqlite3_stmt **ret_statement) {
    int code = prepare(store, source, what, text, LK_SQLITE_GUARD_READ, ret_statement);

    sqlite3_free(text);
    return code;
}

static const char *where_of(const struct lk_sqlite_source *source) {
    return source->text.where.size > 0 ? source->text.where.bytes : "1";
}

/* What the owner wrote, by itself: so that a mistake is not found in the middle of ours. */
static int try_query(struct lk_sqlite *store, struct lk_sqlite_source *source) {
    const struct lk_source *text = &source->text;
    bool is_ordered = text->order.size > 0;
    sqlite3_stmt *statement = NULL;
    int code =
        prepare_format(store, source, "the table, its id, --where or --order",
                       sqlite3_mprintf("SELECT \"%w\".\"%w\" FROM \"%w\" WHERE (\n%s\n)"
                                       " %s\n%s\n LIMIT 1",
                                       text->table.bytes, text->id_column.bytes, text->table.bytes,
                                       where_of(source), is_ordered ? "ORDER BY" : "",
                                       is_ordered ? text->order.bytes : ""),
                       &statement);

    if (code == SQLITE_OK
        && (sqlite3_bind_parameter_count(statement) != 0 || sqlite3_column_count(statement) != 1)) {
        (void)snprintf(source->complaint, sizeof source->complaint,
                       "R17: the condition and the order of a table have no parameters");
        code = SQLITE_ERROR;
    }
    (void)sqlite3_finalize(statement);
    return code;
}

static int prepare_find(struct lk_sqlite *store, struct lk_sqlite_source *source) {
    static const char find[] =
        "SELECT lk_row_id(\"%w\".\"%w\", %d) FROM \"%w\" WHERE (\n%s\n)"
        " AND lk_row_id(\"%w\".\"%w\", %d) IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM lk_item WHERE lk_item.queue = ?1"
        "  AND lk_item.id = lk_row_id(\"%w\".\"%w\", %d))"
        " AND NOT EXISTS (SELECT 1 FROM lk_done_row WHERE lk_done_row.queue = ?1"
        "  AND lk_done_row.id = lk_row_id(\"%w\".\"%w\", %d))"
        " %s\n%s\n LIMIT ?2";
    static const char skipped[] = "SELECT substr(CAST(\"%w\".\"%w\" AS TEXT), 1, %d),"
                                  " length(CAST(\"%w\".\"%w\" AS BLOB)) FROM \"%w\" WHERE (\n%s\n)"
                                  " AND lk_row_id(\"%w\".\"%w\", %d) IS NULL LIMIT ?1";
    const char *table = source->text.table.bytes;
    const char *column = source->text.id_column.bytes;
    int max = (int)lk_source_id_max(&source->text);
    bool is_ordered = source->text.order.size > 0;
    int code = prepare_format(store, source, "looking for rows",
                              sqlite3_mprintf(find, table, column, max, table, where_of(source),
                                              table, column, max, table, column, max, table, column,
                                              max, is_ordered ? "ORDER BY" : "",
                                              is_ordered ? source->text.order.bytes : ""),
                              &source->find);

    return code == SQLITE_OK ? prepare_format(
               store, source, "looking for rows",
               sqlite3_mprintf(skipped, table, column, LK_SKIPPED_ID_BYTES, table, column, table,
                               where_of(source), table, column, max),
               &source->skipped)
                             : code;
}

static int prepare_rows(struct lk_sqlite *store, struct lk_sqlite_source *source) {
    static const char one[] =
        "SELECT \"%w\".\"%w\" FROM \"%w\" WHERE \"%w\".\"%w\" = ?1 AND (\n%s\n) LIMIT 1";
    const char *table = source->text.table.bytes;
    const char *column = source->text.id_column.bytes;
    int code = prepare_format(
        store, source, "reading a row",
        sqlite3_mprintf(one, table, column, table, table, column, where_of(source)), &source->fits);

    return code == SQLITE_OK
               ? prepare_format(store, source, "reading a row",
                                sqlite3_mprintf(one, table, column, table, table, column, "1"),
                                &source->row)
               : code;
}

static int prepare_done(struct lk_sqlite *store, struct lk_sqlite_source *source) {
    static const char *const known[] = {":id", ":token", ":owner", ":attempt"};
    static const char what[] = "the --done statement";
    int found = 0;
    int code;

    if (source->text.done.size == 0) {
        return SQLITE_OK;
    }
    code =
        prepare(store, source, what, source->text.done.bytes, LK_SQLITE_GUARD_WRITE, &source->done);
    for (size_t i = 0; i < sizeof known / sizeof known[0] && code == SQLITE_OK; i++) {
        found += sqlite3_bind_parameter_index(source->done, known[i]) != 0;
    }
    if (code == SQLITE_OK && found != sqlite3_bind_parameter_count(source->done)) {
        (void)snprintf(source->complaint, sizeof source->complaint,
                       "R17: %s: it knows :id, :token, :owner and :attempt alone", what);
        code = SQLITE_ERROR;
    }
    return code;
}

/* ---- all together ---------------------------------------------------------------------------- */

static void source_free(struct lk_sqlite_source *source) {
    if (source != NULL) {
        (void)sqlite3_finalize(source->find);
        (void)sqlite3_finalize(source->skipped);
        (void)sqlite3_finalize(source->fits);
        (void)sqlite3_finalize(source->row);
        (void)sqlite3_finalize(source->done);
        free(source->bytes);
        free(source);
    }
}

void lk_sqlite_sources_done(struct lk_sqlite_sources *sources) {
    if (sources != NULL) {
        for (size_t i = 0; i < LK_SQLITE_SOURCES_MAX; i++) {
            source_free(sources->prepared[i]);
        }
        source_free(sources->failed);
        lk_set_done(&sources->own);
        free(sources);
    }
}

static int make(struct lk_sqlite *store, const struct lk_source *text,
                struct lk_sqlite_source *source) {
    int code = copy_texts(source, text) ? SQLITE_OK : SQLITE_NOMEM;

    if (code == SQLITE_OK) {
        code = try_query(store, source);
    }
    if (code == SQLITE_OK) {
        code = prepare_find(store, source);
    }
    if (code == SQLITE_OK) {
        code = prepare_rows(store, source);
    }
    return code == SQLITE_OK ? prepare_done(store, source) : code;
}

int lk_sqlite_source_get(struct lk_sqlite *store, const struct lk_source *text,
                         struct lk_sqlite_source **ret_source) {
    struct lk_sqlite_source *source;
    struct lk_sqlite_sources *sources;
    int code = set_guard(store);

    if (code != SQLITE_OK) {
        return code;
    }
    sources = store->sources;
    for (size_t i = 0; i < LK_SQLITE_SOURCES_MAX; i++) {
        if (sources->prepared[i] != NULL && is_same(&sources->prepared[i]->text, text)) {
            *ret_source = sources->prepared[i];
            return SQLITE_OK;
        }
    }
    source = calloc(1, sizeof *source);
    if (source == NULL) {
        return SQLITE_NOMEM;
    }
    *ret_source = source;
    code = make(store, text, source);
    if (code == SQLITE_OK) {
        source_free(sources->prepared[sources->next]);
        sources->prepared[sources->next] = source;
        sources->next = (sources->next + 1) % LK_SQLITE_SOURCES_MAX;
    } else {
        /* Kept for its complaint. */
        source_free(sources->failed);
        sources->failed = source;
    }
    return code;
}

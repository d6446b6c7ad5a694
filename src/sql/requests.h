/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as rows: the model's record to columns and back, and the queries that find them.
 *
 * Rows are hostile until they are checked. A row that no rule could have written is SQLITE_CORRUPT,
 * with the row named in the connection's complaint.
 */
#ifndef LK_SQL_REQUESTS_H
#define LK_SQL_REQUESTS_H

#include "model/model.h"
#include "sql/database.h"

/* A request with what only a store needs. Large: keep it off deep stacks. */
struct lk_sql_request {
    struct lk_record record; /* its slices point into this struct */
    int64_t expires_unix_us; /* its deadline by the wall clock */
    bool graced;             /* R11: lives on since a restart, not renewed since */
    bool bound;              /* R18; set only by a service, never unset */
    char owner[LK_IDENTITY_BYTES_MAX];
    char note[LK_NOTE_BYTES_MAX];
};

/* SQLITE_OK with *ret_request filled. No such request, or one without parts, is SQLITE_CORRUPT. */
int lk_sql_request_load(struct lk_sql *sql, uint64_t id, struct lk_sql_request *ret_request);

/*
 * Writes the request without its parts, new or changed. `expires_unix_us` and whether it is graced
 * are kept as they are in the file when the deadline is the same.
 */
int lk_sql_request_save(struct lk_sql *sql, const struct lk_record *record, int64_t expires_unix_us,
                        bool bound);

/* Called for each request, which is borrowed for the call; a code other than SQLITE_OK ends it. */
typedef int lk_sql_visit_request(void *context, const struct lk_sql_request *request);

/* Every request, by rising id, in one pass. `request` is the buffer. */
int lk_sql_requests_each(struct lk_sql *sql, struct lk_sql_request *request,
                         lk_sql_visit_request *visit, void *context);

/* Writes the request's parts. Unchanged parts cost no write. */
int lk_sql_parts_save(struct lk_sql *sql, const struct lk_record *record);

/* Ends the request and its parts. */
int lk_sql_request_delete(struct lk_sql *sql, uint64_t id);

/* The greatest id in use; 0: none. */
int lk_sql_request_greatest(struct lk_sql *sql, uint64_t *ret_id);

/* Whether the index of paths has the first part of this request: SQLITE_CORRUPT if it has not. */
int lk_sql_request_is_found(struct lk_sql *sql, uint64_t id);

/*
 * Called for an id; a code other than SQLITE_OK ends the walk and is its result, SQLITE_DONE as
 * SQLITE_OK.
 */
typedef int lk_sql_visit(void *context, uint64_t id);

/* Visits the ids that a bound statement selects, and ends its use. */
int lk_sql_walk(sqlite3_stmt *statement, lk_sql_visit *visit, void *context);

/* The same for a statement of one text, of a path and an owner, and of all that is below a path. */
int lk_sql_walk_text(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice text,
                     lk_sql_visit *visit, void *context);
int lk_sql_walk_of(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice path,
                   struct lk_slice owner, lk_sql_visit *visit, void *context);
int lk_sql_walk_below(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice path,
                      lk_sql_visit *visit, void *context);

int lk_sql_each(struct lk_sql *sql, lk_sql_visit *visit, void *context);
int lk_sql_each_at(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit, void *context);
int lk_sql_each_at_of(struct lk_sql *sql, struct lk_slice path, struct lk_slice owner,
                      lk_sql_visit *visit, void *context);
int lk_sql_each_below(struct lk_sql *sql, struct lk_slice path, lk_sql_visit *visit, void *context);
int lk_sql_each_waiting_of(struct lk_sql *sql, struct lk_slice owner, lk_sql_visit *visit,
                           void *context);

/* R16: the claims that this owner got by that ask; and the overdue claims below the queue. */
int lk_sql_each_claim_of(struct lk_sql *sql, struct lk_slice owner, uint64_t ask_number,
                         lk_sql_visit *visit, void *context);
int lk_sql_each_overdue_claim(struct lk_sql *sql, struct lk_slice queue, int64_t now_us,
                              lk_sql_visit *visit, void *context);

/* At most `max`, the longest overdue first. */
int lk_sql_each_overdue(struct lk_sql *sql, int64_t now_us, int max, lk_sql_visit *visit,
                        void *context);

/* The bounds of the range "below path": ret_low < every path below < ret_high. */
enum { LK_SQL_BOUND_MAX = LK_PATH_BYTES_MAX + 1 };
struct lk_sql_range {
    size_t size; /* of each */
    char low[LK_SQL_BOUND_MAX];
    char high[LK_SQL_BOUND_MAX];
};
void lk_sql_range_below(struct lk_slice path, struct lk_sql_range *ret_range);

/*
 * Binds both bounds, at `index` and the next. The range must stay valid until the statement is
 * done.
 */
void lk_sql_bind_range(sqlite3_stmt *statement, int index, const struct lk_sql_range *range);

/*
 * The statement of a page by path, with its arguments: the prefix (empty: every path), the bounds
 * of what is below it, and behind which path. The slices, and *room, which is filled, must stay
 * valid until it is done.
 */
int lk_sql_page_from(struct lk_sql *sql, enum lk_sql_statement which, struct lk_slice prefix,
                     struct lk_slice behind, struct lk_sql_range *room,
                     sqlite3_stmt **ret_statement);

#endif

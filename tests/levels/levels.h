/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories of transactions: several sessions call the SQL for people in transactions of
 * levels that are drawn, set in ways that are drawn, and commit or roll back at random, beside the
 * library on the same paths. Nothing may be granted because a transaction has an old snapshot.
 *
 * What took effect is played again on one model, in the order of the commits, and must have been
 * answered the same: a transaction that decides below a root has it to itself until its commit. A
 * table of critical sections is written along with it, and may never have two at once. It knows
 * nothing of Lockkeeper. One thread sends all statements. It goes on when each session has answered
 * or waits for a lock, which the server says. So a seed gives the same history again.
 */
#ifndef LK_TESTS_LEVELS_LEVELS_H
#define LK_TESTS_LEVELS_LEVELS_H

#include "../support.h"

enum {
    LEVEL_SESSIONS = 4,
    LEVEL_CALLS_MAX = 32, /* of one transaction */
    LEVEL_ASKED_MAX = 2,  /* of one statement */
    LEVEL_TEXT_MAX = 64,
    LEVEL_SQL_MAX = 8192,
};

/* ---- calls ----------------------------------------------------------------------------------- */

enum level_verb {
    LEVEL_TRY,
    LEVEL_QUEUE,
    LEVEL_RENEW,
    LEVEL_RELEASE,
    LEVEL_PUT,
    LEVEL_BREAK,
    LEVEL_PUSH,
    LEVEL_CLAIM,
    LEVEL_DONE,
    LEVEL_RETRY,
    LEVEL_DROP,
    LEVEL_VERBS
};

struct level_call {
    enum level_verb verb;
    unsigned root;
    char path[LEVEL_TEXT_MAX]; /* or the queue */
    char id[8];                /* of an item */
    char owner[16];
    char value[16];              /* LEVEL_PUT; LEVEL_RELEASE, unless it is empty */
    unsigned limit;              /* LEVEL_TRY, LEVEL_QUEUE; 0: exclusive */
    bool with_value;             /* the same */
    char answer[LEVEL_TEXT_MAX]; /* a word, and what comes with it; empty: it is not known */
};

/* The last root comes behind all others in the order in which a transaction takes them. */
enum { LEVEL_ROOTS = 2 };

/* About something below this root or a later one. */
struct level_call level_draw_call(struct lk_random *random, unsigned root_min);

void level_print_call(const struct level_call *call, char *text, size_t size);

/* What a model answers; it takes effect there. */
void level_model_answers(struct lk_model *model, const struct level_call *call,
                         char answer[LEVEL_TEXT_MAX]);

/* What an engine answers. */
void level_engine_answers(struct lk_engine *engine, const struct level_call *call,
                          char answer[LEVEL_TEXT_MAX]);

/* What is in a model, as a store's `listing` has it. */
void level_model_lists(const struct lk_model *model, char *listing, size_t size);

/* ---- stores ---------------------------------------------------------------------------------- */

enum level_state { LEVEL_IDLE, LEVEL_OPEN, LEVEL_PREPARED };
enum level_busy { LEVEL_RESTS, LEVEL_CALLS, LEVEL_CALLS_ALONE, LEVEL_COMMITS };

struct level_session {
    void *connection;
    unsigned number;
    enum level_state state;
    enum level_busy busy;
    const char *way;  /* into its transaction, for people */
    bool must_decide; /* its transaction sees all that is committed, so that nothing is refused */
    bool has_default; /* the same of the transactions of its statements */
    bool may_wait;    /* each statement may, so none that this thread waits for is sent */
    unsigned root_min;

    struct level_call asked[LEVEL_ASKED_MAX]; /* by the statement that has been sent */
    size_t asked_count;
    bool is_undone;    /* the statement rolls back what it has asked for */
    bool is_elsewhere; /* it is made in a transaction of its own, of any level */
    bool is_late;      /* what it has asked for is decided by the commit */

    struct level_call calls[LEVEL_CALLS_MAX]; /* that a commit makes last */
    size_t count;
    struct level_call late; /* the last of them */
    bool has_late;
    bool has_cursor; /* and `fetched` is what it calls when it is read */
    struct level_call fetched;
    bool has_savepoint;
    size_t savepoint; /* how many calls there were */
};

enum level_end {
    LEVEL_ANSWERED,
    LEVEL_REFUSED, /* by LK079: for the level, or the snapshot */
    LEVEL_BROKEN,  /* the server has ended the transaction */
};

struct level_ops {
    const char *name;
    struct lk_engine *(*open)(struct lk_random *random); /* the library's, on a store that is new */
    void (*close)(struct lk_engine *engine);
    void *(*connect)(void);
    void (*disconnect)(void *connection);

    /* A statement that waits for no lock. LEVEL_BROKEN: it has failed. NULL: in no session. */
    enum level_end (*run)(struct level_session *session, const char *sql);

    /* Into a transaction, by a way that is drawn. */
    void (*begin)(struct level_session *session);

    /* The statement that makes the calls `asked`, in a way that is drawn; may draw a second one. */
    void (*write_calls)(struct level_session *session, bool is_alone, char sql[LEVEL_SQL_MAX]);

    /* Sends a statement. Whether it has been answered. What it answered: a text for each call. */
    void (*send)(struct level_session *session, const char *sql);
    bool (*is_answered)(struct level_session *session);
    enum level_end (*collect)(struct level_session *session);
    void (*collect_late)(struct level_session *session); /* behind the commit */

    unsigned (*waiting)(void); /* statements that wait for locks, on the whole server */
    bool (*prepare)(
        struct level_session *session); /* the first half of a commit in two; NULL: none */
    const char *(*end_prepared)(const struct level_session *session, bool commits);

    /* After a refusal: NULL: roll back; else what is run before the transaction goes on. */
    const char *(*go_on)(struct level_session *session);
    void (*list)(char *listing, size_t size);
    unsigned (*overlaps)(void); /* critical sections at once, as the plain table has them */

    bool begins_late; /* a savepoint alone begins no transaction, and may be lost as one begins */
};

/* Plays `histories` histories of `steps` steps, for LK_TEST_SCALE=100. Prints TAP. The exit
 * code. */
int levels_run(const struct level_ops *ops, unsigned histories, unsigned steps);

/* It has rolled back to its savepoint. */
void level_go_back(struct level_session *session);

struct lk_random *levels_random(void); /* of the present history */
bool levels_chance(int percent);

/*
 * The plain table: `sections`, with a row for what begins and what ends, in their order; the owner
 * '*' stands for all. Each store makes it so, and counts what overlaps.
 */
#define LEVEL_OVERLAPS                                                                             \
    "WITH held AS (SELECT s.path, s.owner, s.unit_limit FROM sections AS s WHERE s.is_held = 1"    \
    " AND s.n = (SELECT MAX(x.n) FROM sections AS x"                                               \
    "  WHERE x.path = s.path AND x.owner IN (s.owner, '*')))"                                      \
    " SELECT (SELECT COUNT(*) FROM held AS a JOIN held AS b ON a.owner < b.owner"                  \
    "  AND (a.path = b.path OR b.path LIKE CONCAT(a.path, '/%')"                                   \
    "       OR a.path LIKE CONCAT(b.path, '/%'))"                                                  \
    "  WHERE a.unit_limit = 0 OR b.unit_limit = 0)"                                                \
    " + (SELECT COUNT(*) FROM (SELECT h.path FROM held AS h GROUP BY h.path, h.unit_limit"         \
    "  HAVING COUNT(*) > 2 AND h.unit_limit = 2) AS more)"

/* SQL that writes down what the call has got, or NULL: nothing. */
const char *level_witness(const struct level_call *call, char sql[LEVEL_SQL_MAX]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random histories: what owners do on one store through several engines, beside one model that has
 * everything (src/model). Every store gets the same moves, and must give the model's answers and
 * leave the model's requests behind, step by step.
 *
 * A store brings a clock that the test sets (struct store_ops), so that nothing waits and a seed
 * gives the same history again. A move names tokens by whose they are, not by number: moves can be
 * left out of a history, and the rest still means something (run.c).
 *
 * A store is lazy where deadlines take effect root by root, when something asks there (R11). Its
 * draws (R4) are later ones than the model's, and are compared in whether there is one. A cycle
 * that came to be unseen (R13) is reported to the waiter with the greatest ticket there, and to the
 * first that asks by the model: such a history ends, once one waiter has received it.
 */
#ifndef LK_TESTS_HISTORIES_HISTORY_H
#define LK_TESTS_HISTORIES_HISTORY_H

#include "../support.h"
#include "engine/reply/reply.h"

enum {
    HISTORY_ENGINES = 3,
    HISTORY_STEPS_MAX = 250,
    HISTORY_TOKENS = 4096,
    HISTORY_SERIES_MAX = 6,
};

/* What a history varies. */
struct variant {
    const char *name;
    struct lk_quotas quotas;
    int64_t pause_max_us; /* between steps; deadlines are up to two seconds away */
    int work_percent;     /* of the steps are about work */
    int ending_percent;   /* of the others end something */
    const char *root;     /* everything happens below it, as in "r/"; NULL: under several roots */
    bool keeps_events;    /* all that happens is kept, and compared (R21) */
};

/* ---- stores ---------------------------------------------------------------------------------- */

enum store_laziness { LAZY_NEVER, LAZY_ACROSS_ROOTS, LAZY_ALWAYS };

struct store_ops {
    const char *name;
    const struct lk_engine_ops *engine;
    enum store_laziness laziness;
    bool decides_one_root;   /* in one decision: plays histories below one root only */
    bool takes_have_one_ttl; /* in a series, as the client library asks for them */
    bool blocks; /* a wait is a call that blocks, and not an ask (R10): asked in queue style */

    /* A fresh store, opened HISTORY_ENGINES times. */
    void *(*open)(const struct variant *variant, struct lk_engine **ret_engines);
    void (*close)(void *store, struct lk_engine **engines);

    /* Its time from now on, for all its engines. `wall_us` is the time at which it was opened, or
     * a later one. A store with one clock goes by `wall_us`. */
    void (*set_clock)(void *store, struct lk_engine **engines, const struct lk_times *times);

    /* Lets what is overdue take effect under all roots; NULL: it always has. */
    void (*tick)(void *store, struct lk_engine **engines);

    /* Closes one engine and opens it again; NULL: not done. */
    void (*reopen)(void *store, struct lk_engine **engine);
};

/* ---- moves ----------------------------------------------------------------------------------- */

enum token_choice {
    TOKEN_NONE,
    TOKEN_LATEST,  /* the last one known of this owner and path */
    TOKEN_FORMER,  /* the one before it */
    TOKEN_FOREIGN, /* the last one that was learnt of anything else under its root */
};

/* One thing that is done, in words: the same on every store, whatever was done before. */
struct move {
    enum lk_command_kind kind; /* LK_COMMAND_TICK: time passes, and nothing else */
    int64_t pause_us;          /* before it */
    bool leaps;                /* nothing looks at the store before it; of kept ones only */
    unsigned engine;           /* that is asked */
    char owner[16];
    char parts[120]; /* of an ask, a target, the needs of a push; or the path of a put, a break */
    char queue[32];
    char id[16];
    char series[32]; /* ids with a space between: a series of commands, one for each; or empty */
    enum token_choice token;
    bool names_owner; /* LK_COMMAND_BREAK: only that owner's; LK_COMMAND_PUT: for that owner */

    lk_style style;
    int64_t ttl_ms;
    int64_t until_ms; /* from then; 0: none */
    char note[16];
    bool note_given;
    unsigned blockers_max;
    bool wants_value;

    char value[32];
    unsigned puts; /* LK_COMMAND_RELEASE: which of its parts, 1 << n the n-th */
    bool deletes;  /* LK_COMMAND_PUT */
    bool at_once;  /* LK_COMMAND_BREAK */
    bool cancels;  /* LK_COMMAND_BREAK: of an item, as one does of work */

    enum lk_finish_kind finish;
    int64_t delay_ms;
    int64_t keep_ms; /* of a push, and of LK_FINISH_DONE, whose result is `value` */
    int32_t priority;
    enum lk_push_kind push;
    bool is_uncounted; /* these five: LK_FINISH_RETRY */
    bool parks;
    bool has_exit;
    int32_t exit_code;
    char failure[16]; /* its text */
    bool only_parked; /* LK_COMMAND_DROP */
    unsigned max_attempts;
    unsigned ask_number;

    /* Afterwards. */
    bool looks_at_all;  /* lists everything */
    char look_path[32]; /* shows what is related to it, and reads its value; empty: does not */
    char look_queue[32];
    bool reopens; /* one of the engines */
};

/* As C, to be kept in kept.c. */
void move_print(const struct move *move);

/* ---- histories ------------------------------------------------------------------------------- */

struct token_pair {
    char owner[LK_OWNER_BYTES_MAX + 1];
    char path[LK_PATH_BYTES_MAX + 1]; /* of one of its parts */
    uint64_t model;
    uint64_t store;
    bool is_drawn; /* the store keeps it; what a lazy one only shows may never be drawn */
};

struct history {
    const struct store_ops *ops;
    const struct variant *variant;
    bool is_lazy;
    void *store;
    struct lk_engine *engines[HISTORY_ENGINES];
    struct lk_model *model;
    struct lk_times times; /* of the present step */
    struct move moves[HISTORY_STEPS_MAX];
    size_t step;   /* the move that is played */
    bool is_over;  /* it came to a hidden cycle, or to a token that only the store shares */
    bool is_quiet; /* what differs is not printed */
    uint64_t last_event;

    /* The present move: what is said to the model, and to the store. */
    struct lk_command command;
    struct lk_command asked;
    struct test_parts parts;
    struct lk_release_put puts[LK_PARTS_MAX];
    char put_texts[LK_PARTS_MAX][64];
    struct lk_path queue;
    char item[64]; /* QUEUE/ID */

    struct token_pair tokens[HISTORY_TOKENS]; /* the oldest make room */
    size_t token_count;
};

/* Makes history->moves[history->step], much of it about what is there. */
void history_generate(struct history *history, struct lk_random *random);

/*
 * Plays moves on a fresh store: the first `count` of `moves`, or, where `random` is not NULL, as
 * many that are generated on the way. What differed, in words, in history->step; NULL: nothing.
 */
const char *history_play(struct history *history, const struct move *moves, size_t count,
                         struct lk_random *random);

/* Makes history->command of a move, and history->asked: the same with the store's tokens. */
void history_build_command(struct history *history, const struct move *move);

/* Learns that the model's token of a grant is the store's. `is_drawn` as in struct token_pair. */
void history_learn(struct history *history, const char *owner, const char *path, uint64_t model,
                   uint64_t store, bool is_drawn);

/* Leaves out moves of a history that differs, as long as the rest does. Returns how many remain. */
size_t history_shrink(struct history *history, size_t count);

/*
 * Plays the kept histories, then random ones of every variant that the store can play: `histories`
 * of `steps` moves each, both for LK_TEST_SCALE=100. Prints TAP.
 */
void histories_run(const struct store_ops *ops, unsigned histories, unsigned steps);
int histories_end(void); /* the exit code */

/* Histories that have found something, kept.c. */
struct kept {
    const char *name;
    size_t count;
    const struct move *moves;
    bool keeps_events; /* and compares them, where the store can */
};
extern const struct kept histories_kept[];
extern const size_t histories_kept_count;

#endif

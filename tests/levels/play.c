/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that take turns: what is sent, what has come of it, and what of that takes effect. */
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "levels.h"

enum { LINES_MAX = 4096, LINE_MAX = 320, LISTING_MAX = 16384, HANGS_US = 120000000 };

static const struct level_ops *ops;
static struct lk_random random_numbers;
static struct lk_model *model;
static struct lk_engine *library;
static struct level_session sessions[LEVEL_SESSIONS];
static const char *difference; /* NULL: none yet */

enum { DECIDED, REFUSED, BROKEN, BY_LIBRARY, COMMITS, ROLLBACKS, IN_TWO, COUNTS };
static unsigned counts[COUNTS];

struct lk_random *levels_random(void) {
    return &random_numbers;
}

bool levels_chance(int percent) {
    return lk_random_between(&random_numbers, 1, 100) <= percent;
}

/* ---- what has been done, for people ---------------------------------------------------------- */

static char lines[LINES_MAX][LINE_MAX];
static size_t line_count;

static void note(const struct level_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(const struct level_session *session, const char *format, ...) {
    char *line = lines[line_count++ % LINES_MAX];
    va_list arguments;
    int used =
        snprintf(line, LINE_MAX,
                 session != NULL ? "s%u: " : "library: ", session != NULL ? session->number : 0);

    va_start(arguments, format);
    (void)vsnprintf(line + used, LINE_MAX - (size_t)used, format, arguments);
    va_end(arguments);
}

static void note_call(const struct level_session *session, const char *what,
                      const struct level_call *call) {
    char text[256];

    level_print_call(call, text, sizeof text);
    note(session, "%s %s", what, text);
}

/* ---- what takes effect ----------------------------------------------------------------------- */

static void must_run(struct level_session *session, const char *sql) {
    if (ops->run(session, sql) != LEVEL_ANSWERED) {
        test_die("%s: %s", ops->name, sql);
    }
}

/* The model makes the same call now. */
static void take_effect(const struct level_session *session, const struct level_call *call) {
    char answer[LEVEL_TEXT_MAX];

    level_model_answers(model, call, answer);
    note_call(session, "took effect:", call);
    if (call->answer[0] != '\0' && strcmp(answer, call->answer) != 0 && difference == NULL) {
        note(session, "the model answers %s", answer);
        difference = "an answer";
    }
    counts[DECIDED]++;
}

static void write_down(struct level_session *session, const struct level_call *call) {
    char sql[LEVEL_SQL_MAX];

    if (level_witness(call, sql) != NULL) {
        must_run(session, sql);
    }
}

static void check_sections(void) {
    if (ops->overlaps() > 0 && difference == NULL) {
        difference = "the plain table: two critical sections at once";
    }
}

static void forget(struct level_session *session) {
    session->state = LEVEL_IDLE;
    session->count = 0;
    session->has_late = session->has_cursor = session->has_savepoint = session->is_late = false;
    session->may_wait = false;
    session->must_decide = false;
    session->root_min = 0;
}

static void committed(struct level_session *session) {
    note(session, "commits");
    for (size_t i = 0; i < session->count; i++) {
        take_effect(session, &session->calls[i]);
    }
    if (session->has_late) {
        session->asked[0] = session->late;
        session->asked_count = 1;
        ops->collect_late(session);
        take_effect(session, &session->asked[0]);
        write_down(NULL, &session->asked[0]);
    }
    forget(session);
    counts[COMMITS]++;
    check_sections();
}

/* ---- the library, in a thread of its own ----------------------------------------------------- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct level_call call;
    bool is_asked;
    bool is_over;
    atomic_bool is_answered;
    bool is_busy; /* of the thread that asks */
} caller = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *call_library(void *unused) {
    (void)unused;
    (void)pthread_mutex_lock(&caller.mutex);
    while (!caller.is_over) {
        if (caller.is_asked) {
            caller.is_asked = false;
            (void)pthread_mutex_unlock(&caller.mutex);
            level_engine_answers(library, &caller.call, caller.call.answer);
            atomic_store(&caller.is_answered, true);
            (void)pthread_mutex_lock(&caller.mutex);
        } else {
            (void)pthread_cond_wait(&caller.changed, &caller.mutex);
        }
    }
    (void)pthread_mutex_unlock(&caller.mutex);
    return NULL;
}

static void ask_library(void) {
    (void)pthread_mutex_lock(&caller.mutex);
    caller.call = level_draw_call(&random_numbers, 0);
    note_call(NULL, "asks", &caller.call);
    atomic_store(&caller.is_answered, false);
    caller.is_busy = caller.is_asked = true;
    (void)pthread_cond_signal(&caller.changed);
    (void)pthread_mutex_unlock(&caller.mutex);
}

static void library_answered(void) {
    caller.is_busy = false;
    take_effect(NULL, &caller.call);
    write_down(NULL, &caller.call);
    counts[BY_LIBRARY]++;
    check_sections();
}

/* ---- answers --------------------------------------------------------------------------------- */

static void roll_back(struct level_session *session) {
    note(session, "rolls back");
    must_run(session, "ROLLBACK");
    forget(session);
    counts[ROLLBACKS]++;
}

static bool must_decide(const struct level_session *session) {
    return !session->is_elsewhere
           && (session->state == LEVEL_OPEN ? session->must_decide : session->has_default);
}

static void refused(struct level_session *session) {
    const char *next = NULL;

    note(session, "is refused, in %s", session->way);
    counts[REFUSED]++;
    if (must_decide(session) && difference == NULL) {
        difference = "a refusal: that transaction sees all there is";
    }
    if (session->state == LEVEL_OPEN && session->busy == LEVEL_CALLS) {
        next = ops->go_on(session);
    }
    if (next != NULL) {
        note(session, "goes on: %s", next);
        must_run(session, next);
    } else if (session->state == LEVEL_OPEN) {
        roll_back(session);
    }
}

static void called(struct level_session *session) {
    for (size_t i = 0; i < session->asked_count && !session->is_undone; i++) {
        struct level_call *call = &session->asked[i];
        if (session->state == LEVEL_OPEN) {
            note_call(session, "is told", call);
            session->calls[session->count++] = *call;
            write_down(session, call);
        } else {
            take_effect(session, call);
            write_down(NULL, call);
        }
    }
    if (session->state != LEVEL_OPEN) {
        check_sections();
    }
}

static void answered(struct level_session *session) {
    enum level_busy busy = session->busy;
    enum level_end end = ops->collect(session);

    if (end == LEVEL_REFUSED) {
        refused(session);
    } else if (end == LEVEL_BROKEN) {
        note(session, "the server has ended its transaction");
        counts[BROKEN]++;
        if (session->state == LEVEL_OPEN) {
            roll_back(session);
        }
    } else if (busy == LEVEL_COMMITS) {
        committed(session);
    } else {
        called(session);
    }
    session->busy = LEVEL_RESTS;
}

static unsigned count_busy(bool *ret_any_answered) {
    unsigned busy = caller.is_busy && !atomic_load(&caller.is_answered);
    bool any = caller.is_busy && busy == 0;

    for (size_t i = 0; i < LEVEL_SESSIONS; i++) {
        if (sessions[i].busy != LEVEL_RESTS) {
            bool is_answered = ops->is_answered(&sessions[i]);
            busy += !is_answered;
            any = any || is_answered;
        }
    }
    *ret_any_answered = any;
    return busy;
}

/* Until each has been answered, or waits for a lock. */
static void settle(void) {
    int64_t until_us = lk_clock_now_us() + HANGS_US;
    bool any;

    while (true) {
        unsigned busy = count_busy(&any);
        if (busy == 0 || (ops->waiting() == busy && count_busy(&any) == busy)) {
            return;
        }
        if (lk_clock_now_us() > until_us) {
            test_die("%s: %u sessions neither answer nor wait for a lock", ops->name, busy);
        }
        (void)poll(NULL, 0, 1);
    }
}

/*
 * A session that commits comes first: the others have gone on because of it. One that calls comes
 * last: what another one has committed meanwhile was there before it had the lock.
 */
static void take_answers(struct level_session *acting) {
    bool any = true;

    for (settle(); any; settle()) {
        if (acting != NULL && acting->busy == LEVEL_COMMITS && ops->is_answered(acting)) {
            answered(acting);
        }
        if (caller.is_busy && atomic_load(&caller.is_answered)) {
            library_answered();
        }
        for (size_t i = 0; i < LEVEL_SESSIONS; i++) {
            if (&sessions[i] != acting && sessions[i].busy != LEVEL_RESTS
                && ops->is_answered(&sessions[i])) {
                answered(&sessions[i]);
            }
        }
        if (acting != NULL && acting->busy != LEVEL_RESTS && ops->is_answered(acting)) {
            answered(acting);
        }
        (void)count_busy(&any);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What commits by itself: of two that wait, it would not be known which one came first. */
static bool is_any_alone(void) {
    bool is_any = caller.is_busy;

    for (size_t i = 0; i < LEVEL_SESSIONS; i++) {
        is_any = is_any || sessions[i].busy == LEVEL_CALLS_ALONE
                 || (sessions[i].busy == LEVEL_COMMITS && sessions[i].has_late);
    }
    return is_any;
}

static void send_calls(struct level_session *session, bool is_alone) {
    static char sql[LEVEL_SQL_MAX];

    session->asked[0] = level_draw_call(&random_numbers, is_alone ? 0 : session->root_min);
    session->asked_count = 1;
    session->is_undone = session->is_late = session->is_elsewhere = false;
    ops->write_calls(session, is_alone, sql);
    note_call(session, is_alone ? "calls alone" : "calls", &session->asked[0]);
    note(session, "by %.250s", sql);
    if (!is_alone && session->asked_count > 0 && !session->is_late) {
        session->root_min = session->asked[session->asked_count - 1].root;
    }
    if (session->is_late) {
        session->late = session->asked[0];
        session->has_late = true;
        must_run(session, sql);
        return;
    }
    session->busy = is_alone ? LEVEL_CALLS_ALONE : LEVEL_CALLS;
    ops->send(session, sql);
}

static void end_prepared(struct level_session *session) {
    bool commits = levels_chance(70);
    const char *sql = ops->end_prepared(session, commits);

    note(session, "%s", sql);
    must_run(session, sql);
    counts[IN_TWO]++;
    if (commits) {
        committed(session);
    } else {
        forget(session);
        counts[ROLLBACKS]++;
    }
}

static void commit(struct level_session *session) {
    if (ops->prepare != NULL && !session->has_late && levels_chance(20)) {
        note(session, "prepares its commit");
        if (ops->prepare(session)) {
            session->state = LEVEL_PREPARED;
        } else {
            forget(session);
        }
    } else if (session->has_late && is_any_alone()) {
        roll_back(session); /* what is alone may wait for it, and its late call for a lock, too */
    } else {
        session->busy = LEVEL_COMMITS;
        ops->send(session, "COMMIT");
    }
}

void level_go_back(struct level_session *session) {
    session->count = session->savepoint;
    session->has_late = session->has_cursor = false; /* none is older */
}

static void use_savepoint(struct level_session *session) {
    if (session->has_savepoint && levels_chance(60)) {
        note(session, "goes back to its savepoint");
        must_run(session, "ROLLBACK TO SAVEPOINT a_test");
        level_go_back(session);
    } else if (!session->has_late && !session->has_cursor
               && (session->count > 0 || !ops->begins_late)) {
        note(session, "makes a savepoint");
        must_run(session, "SAVEPOINT a_test");
        session->has_savepoint = true;
        session->savepoint = session->count;
    }
}

static void go_on(struct level_session *session) {
    int64_t drawn = lk_random_between(&random_numbers, 1, 100);

    if (session->count + LEVEL_ASKED_MAX >= LEVEL_CALLS_MAX || drawn > 78) {
        commit(session);
    } else if (drawn > 68) {
        roll_back(session);
    } else if (drawn > 55) {
        use_savepoint(session);
    } else {
        send_calls(session, false);
    }
}

static void act(struct level_session *session) {
    if (session->state == LEVEL_PREPARED) {
        end_prepared(session);
    } else if (session->state == LEVEL_OPEN) {
        go_on(session);
    } else if (levels_chance(65)) {
        session->state = LEVEL_OPEN;
        ops->begin(session);
        note(session, "begins: %s", session->way);
    } else if (!is_any_alone()) {
        send_calls(session, true);
    }
}

/* What the store has, beside the model: while no transaction is open. */
static void check_listing(void) {
    static char expected[LISTING_MAX];
    static char listed[LISTING_MAX];

    level_model_lists(model, expected, sizeof expected);
    ops->list(listed, sizeof listed);
    if (strcmp(expected, listed) != 0 && difference == NULL) {
        (void)printf("# the model has:\n%s# the store has:\n%s", expected, listed);
        difference = "what the store has";
    }
}

static bool is_any_at_rest(void) {
    bool is_any = false;

    for (size_t i = 0; i < LEVEL_SESSIONS; i++) {
        is_any = is_any || sessions[i].busy == LEVEL_RESTS;
    }
    return is_any;
}

/*
 * A server counts a session among those that wait for a moment after it has the lock, and before it
 * breaks a deadlock. So all may seem to wait, until one of them is answered.
 */
static void wait_for_rest(void) {
    int64_t until_us = lk_clock_now_us() + HANGS_US;

    while (!is_any_at_rest()) {
        if (lk_clock_now_us() > until_us) {
            test_die("%s: all sessions wait for a lock", ops->name);
        }
        (void)poll(NULL, 0, 1);
        take_answers(NULL);
    }
}

/* One of those that do not wait. NULL: the library. */
static struct level_session *choose(void) {
    struct level_session *chosen;

    wait_for_rest();
    if (levels_chance(12) && !is_any_alone()) {
        return NULL;
    }
    do {
        chosen = &sessions[lk_random_between(&random_numbers, 0, LEVEL_SESSIONS - 1)];
    } while (chosen->busy != LEVEL_RESTS);
    return chosen;
}

static void step(void) {
    struct level_session *session = choose();

    if (session != NULL) {
        act(session);
    } else {
        ask_library();
    }
    take_answers(session);
}

/* Ends all transactions, so that none has changes that only it sees. */
static void come_to_rest(void) {
    bool is_open = true;

    while (is_open && difference == NULL) {
        is_open = caller.is_busy;
        for (size_t i = 0; i < LEVEL_SESSIONS && difference == NULL; i++) {
            struct level_session *session = &sessions[i];
            is_open = is_open || session->state != LEVEL_IDLE || session->busy != LEVEL_RESTS;
            if (session->busy == LEVEL_RESTS && session->state == LEVEL_OPEN) {
                commit(session);
            } else if (session->busy == LEVEL_RESTS && session->state == LEVEL_PREPARED) {
                end_prepared(session);
            }
            take_answers(session);
        }
    }
    check_listing();
}

/* ---- histories ------------------------------------------------------------------------------- */

static void play(unsigned steps) {
    const struct lk_model_config config = {.hash_seed = 1};
    pthread_t thread;

    model = lk_model_new(&config);
    library = ops->open(&random_numbers);
    for (unsigned i = 0; i < LEVEL_SESSIONS; i++) {
        sessions[i] = (struct level_session){.number = i,
                                             .has_default = true,
                                             .way = "no transaction",
                                             .connection = ops->connect()};
    }
    caller.is_over = false;
    if (model == NULL || pthread_create(&thread, NULL, call_library, NULL) != 0) {
        test_die("no memory or thread for a history");
    }
    line_count = 0;
    for (unsigned i = 0; i < steps && difference == NULL; i++) {
        step();
        if (i % 50 == 49) {
            come_to_rest();
        }
    }
    come_to_rest();
    for (unsigned i = 0; i < LEVEL_SESSIONS; i++) {
        ops->disconnect(sessions[i].connection);
    }
    (void)pthread_mutex_lock(&caller.mutex);
    caller.is_over = true;
    (void)pthread_cond_signal(&caller.changed);
    (void)pthread_mutex_unlock(&caller.mutex);
    (void)pthread_join(thread, NULL);
    ops->close(library);
    lk_model_free(model);
}

static void complain(uint64_t seed) {
    size_t from = line_count > LINES_MAX ? line_count - LINES_MAX : 0;

    (void)printf("# differs in %s; LK_TEST_SEED=%llu\n", difference, (unsigned long long)seed);
    for (size_t i = from; i < line_count; i++) {
        (void)printf("# %s\n", lines[i % LINES_MAX]);
    }
}

/* Each of these has happened, or nothing is shown. */
static bool is_about_something(void) {
    return counts[DECIDED] > 0 && counts[REFUSED] > 0 && counts[BY_LIBRARY] > 0
           && counts[COMMITS] > 0 && counts[ROLLBACKS] > 0;
}

int levels_run(const struct level_ops *its_ops, unsigned histories, unsigned steps) {
    struct lk_random seeds = test_random();
    unsigned wanted = test_scaled(histories);

    ops = its_ops;
    for (unsigned i = 0; i < wanted && difference == NULL; i++) {
        uint64_t seed = seeds.state++; /* the first one's is that of the whole run */
        random_numbers = (struct lk_random){seed};
        (void)printf("# history %u: LK_TEST_SEED=%llu\n", i + 1, (unsigned long long)seed);
        (void)fflush(stdout);
        play(steps);
        if (difference != NULL) {
            complain(seed);
        }
    }
    (void)printf("# %u decisions, %u of them by the library; %u refused; %u ended by the server;"
                 " %u commits, %u rollbacks, %u in two halves\n",
                 counts[DECIDED], counts[BY_LIBRARY], counts[REFUSED], counts[BROKEN],
                 counts[COMMITS], counts[ROLLBACKS], counts[IN_TWO]);
    (void)printf("%s 1 - %s: transactions of any level get what the model gives\n",
                 difference == NULL ? "ok" : "not ok", ops->name);
    (void)printf("%s 2 - %s: some decided, others were refused\n1..2\n",
                 difference != NULL || is_about_something() ? "ok" : "not ok", ops->name);
    return difference == NULL && is_about_something() ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     labour [URL [ROWS]]
 *
 * A table of the user's (R17): finders and workers, killed with SIGKILL at random moments and
 * replaced, until every row is done. The statement for what is done marks the row and writes a line
 * of a log, which nothing keeps from having two for a row. In the end:
 *
 *   - Every row is marked, and the log has exactly one line for each.
 *   - The line's claim is the last that any worker was given of the row, by token and by attempt:
 *     whoever had lost the claim has completed nothing.
 *   - No worker saw a failure: nothing that is normal here is an error anywhere.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../sqlite/fixture.h"
#include "base/clock.h"
#include "field.h"

enum { ROWS = 20000, FINDERS = 3, WORKERS = 8, CREW = FINDERS + WORKERS, KILLS = 60, TTL_MS = 500 };

/* What workers have seen, in memory that they share. */
struct book {
    atomic_uint_least64_t claims;
    atomic_uint_least64_t failures;
    atomic_uint_least64_t token[ROWS + 1];   /* of the last claim of each row */
    atomic_uint_least32_t attempt[ROWS + 1]; /* likewise */
};

struct labour {
    struct field *field;
    int rows;
    struct book *book;
    struct lk_random random;
    pid_t crew[CREW]; /* finders first; 0: has ended by itself */
};

static const lk_work_table table = {
    .size = sizeof table,
    .name = "jobs to do",
    .id = "the id",
    .where = "state = 'new'",
    .order = "\"the id\"",
    .done = "INSERT INTO finish VALUES (:id, :token, :attempt)",
};

/* ---- the crew -------------------------------------------------------------------------------- */

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    struct book *book = context;
    int row = atoi(claim->row_id);

    (void)lease;
    if (row < 1 || row > ROWS) {
        test_die("no such row: %s", claim->row_id);
    }
    atomic_fetch_add(&book->claims, 1);
    uint_least64_t last = atomic_load(&book->token[row]);
    while (claim->token > last
           && !atomic_compare_exchange_weak(&book->token[row], &last, claim->token)) {
    }
    uint_least32_t attempt = atomic_load(&book->attempt[row]);
    while (claim->attempt > attempt
           && !atomic_compare_exchange_weak(&book->attempt[row], &attempt, claim->attempt)) {
    }
    return 0;
}

static void see(void *context, const lk_work_progress *progress) {
    struct book *book = context;

    /* On a busy machine the end of a claim may come too late: unknown, and harmless. */
    if (progress->text != NULL) {
        (void)fprintf(stderr, "failure: %s\n", progress->text);
        atomic_fetch_add(&book->failures, 1);
    }
}

/* Where connections are cut, the first one may be. */
static lk_outcome open_store(const struct labour *labour, lk_store **ret_store, lk_error *error) {
    lk_outcome outcome = LK_UNAVAILABLE;

    for (int tries = 0; tries < 20 && outcome == LK_UNAVAILABLE; tries++) {
        outcome = lk_open(field_url(labour->field), ret_store, error);
    }
    return outcome;
}

static _Noreturn void work(const struct labour *labour, bool is_finder) {
    const lk_work_options options = {
        .size = sizeof options,
        .table = &table,
        .handle = handle,
        .progress = see,
        .context = labour->book,
        .ttl_ms = TTL_MS,
        .drain = true,
        .loops = is_finder ? LK_WORK_ANNOUNCES : LK_WORK_CLAIMS,
    };
    lk_store *store;
    lk_error error;

    if (open_store(labour, &store, &error) != LK_OK
        || lk_work(store, &options, NULL, &error) != LK_OK) {
        (void)fprintf(stderr, "%s: %s\n", is_finder ? "finder" : "worker", error.text);
        atomic_fetch_add(&labour->book->failures, 1);
        _exit(1);
    }
    lk_close(store);
    _exit(0);
}

static void start(struct labour *labour, size_t place) {
    (void)fflush(NULL);
    pid_t pid = fork();

    if (pid < 0) {
        test_die("no more processes");
    }
    if (pid == 0) {
        work(labour, place < FINDERS);
    }
    labour->crew[place] = pid;
}

/* ---- trouble --------------------------------------------------------------------------------- */

static void pause_at_random(struct labour *labour) {
    const struct timespec pause = {.tv_nsec =
                                       lk_random_between(&labour->random, 5000000, 60000000)};

    (void)nanosleep(&pause, NULL);
}

/* Somebody dies, and another one comes. Those who have ended by themselves had nothing to do. */
static unsigned kill_some(struct labour *labour, unsigned kills) {
    unsigned killed = 0;

    for (unsigned i = 0; i < kills; i++) {
        size_t place = (size_t)lk_random_between(&labour->random, 0, CREW - 1);
        int status = 0;

        pause_at_random(labour);
        if (labour->crew[place] == 0) {
            continue;
        }
        (void)kill(labour->crew[place], SIGKILL);
        if (waitpid(labour->crew[place], &status, 0) < 0) {
            test_die("no child to wait for");
        }
        killed += WIFSIGNALED(status) ? 1 : 0;
        start(labour, place);
    }
    return killed;
}

static void wait_for_all(struct labour *labour) {
    for (size_t place = 0; place < CREW; place++) {
        int status = 0;

        if (waitpid(labour->crew[place], &status, 0) < 0 || !WIFEXITED(status)
            || WEXITSTATUS(status) != 0) {
            test_die("crew %zu ended with status %d", place, status);
        }
    }
}

/* ---- the judgement --------------------------------------------------------------------------- */

static void demand(const struct labour *labour, const char *query, int64_t wanted) {
    int64_t found = field_number(labour->field, query);

    if (found != wanted) {
        test_die("%s: %lld, not %lld", query, (long long)found, (long long)wanted);
    }
}

static void judge_line(void *context, int row, uint64_t token, uint32_t attempt) {
    const struct book *book = context;

    if (token != book->token[row] || attempt != book->attempt[row]) {
        test_die("row %d was completed by claim %llu, attempt %u, after claim %llu, %u", row,
                 (unsigned long long)token, attempt, (unsigned long long)book->token[row],
                 book->attempt[row]);
    }
}

static void judge(const struct labour *labour) {
    demand(labour, "SELECT count(*) FROM \"jobs to do\" WHERE state <> 'done'", 0);
    demand(labour, "SELECT count(DISTINCT job) FROM log", labour->rows);
    demand(labour, "SELECT count(*) FROM log", labour->rows);
    demand(labour, "SELECT count(*) FROM items", 0);
    demand(labour, "SELECT count(*) FROM done_rows", 0);
    demand(labour, "SELECT done FROM queues WHERE path = 'jobs%20to%20do'", labour->rows);
    field_each_line(labour->field, judge_line, labour->book);
    if (labour->book->failures != 0) {
        test_die("%llu failures", (unsigned long long)labour->book->failures);
    }
}

/* ---- all together ---------------------------------------------------------------------------- */

int main(int argc, char **argv) {
    static struct labour labour;
    int64_t begun_us = lk_clock_now_us();
    unsigned killed;

    labour.random = test_random();
    labour.rows = (int)test_scaled(argc > 2 ? (unsigned)atoi(argv[2]) : ROWS);
    labour.rows = labour.rows < ROWS ? labour.rows : ROWS;
    labour.field = field_make(labour.rows, argc > 1 ? argv[1] : NULL);
    labour.book =
        mmap(NULL, sizeof *labour.book, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (labour.book == MAP_FAILED) {
        test_die("no memory");
    }
    for (size_t place = 0; place < CREW; place++) {
        start(&labour, place);
    }
    killed = kill_some(&labour, test_scaled(KILLS));
    wait_for_all(&labour);
    judge(&labour);
    (void)printf("%d rows, %llu claims, %u killed, %lld duplicates, %lld ms\n", labour.rows,
                 (unsigned long long)labour.book->claims, killed,
                 (long long)field_number(labour.field, "SELECT duplicates FROM queues"),
                 (long long)((lk_clock_now_us() - begun_us) / 1000));
    field_remove(labour.field);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     killed_workers [URL [ROWS]]
 *
 * Work in a table of the application (R17): finders and workers are killed with SIGKILL at random
 * moments and replaced, until every row is done. The `done` statement marks the row and inserts a
 * line into a log, which has no unique key. At the end:
 *
 *   - Every row is marked, and the log has exactly one line for each.
 *   - The line names the row's last claim, by token and attempt: a worker that had lost its claim
 *     completed nothing.
 *   - No worker reported a failure.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../sqlite/fixture.h"
#include "base/clock.h"
#include "database.h"

enum {
    ROWS = 20000,
    FINDERS = 3,
    WORKERS = 8,
    PROCESSES = FINDERS + WORKERS,
    KILLS = 60,
    TTL_MS = 500
};

/* What workers have seen, in shared memory. */
struct claim_record {
    atomic_uint_least64_t claims;
    atomic_uint_least64_t failures;
    atomic_uint_least64_t token[ROWS + 1];   /* of the last claim of each row */
    atomic_uint_least32_t attempt[ROWS + 1]; /* likewise */
};

struct run {
    struct database *database;
    int rows;
    struct claim_record *record;
    struct lk_random random;
    pid_t processes[PROCESSES]; /* finders first; 0: has ended by itself */
};

static const lk_work_table table = {
    .size = sizeof table,
    .name = "jobs to do",
    .id = "the id",
    .where = "state = 'new'",
    .order = "\"the id\"",
    .done = "INSERT INTO finish VALUES (:id, :token, :attempt)",
};

/* ---- the processes --------------------------------------------------------------------------- */

static int handle(void *context, const lk_claim_info *claim, lk_lease *lease) {
    struct claim_record *record = context;
    int row = atoi(claim->row_id);

    (void)lease;
    if (row < 1 || row > ROWS) {
        test_die("no such row: %s", claim->row_id);
    }
    atomic_fetch_add(&record->claims, 1);
    uint_least64_t last = atomic_load(&record->token[row]);
    while (claim->token > last
           && !atomic_compare_exchange_weak(&record->token[row], &last, claim->token)) {
    }
    uint_least32_t attempt = atomic_load(&record->attempt[row]);
    while (claim->attempt > attempt
           && !atomic_compare_exchange_weak(&record->attempt[row], &attempt, claim->attempt)) {
    }
    return 0;
}

static void see(void *context, const lk_work_progress *progress) {
    struct claim_record *record = context;

    /* On a busy machine the end of a claim may come too late: unknown, and harmless. */
    if (progress->text != NULL) {
        (void)fprintf(stderr, "failure: %s\n", progress->text);
        atomic_fetch_add(&record->failures, 1);
    }
}

/* Retries, because the test may cut the first connection. */
static lk_outcome open_store(const struct run *run, lk_store **ret_store, lk_error *error) {
    lk_outcome outcome = LK_UNAVAILABLE;

    for (int tries = 0; tries < 20 && outcome == LK_UNAVAILABLE; tries++) {
        outcome = lk_open(database_url(run->database), ret_store, error);
    }
    return outcome;
}

static _Noreturn void work(const struct run *run, bool is_finder) {
    const lk_work_options options = {
        .size = sizeof options,
        .table = &table,
        .handle = handle,
        .progress = see,
        .context = run->record,
        .ttl_ms = TTL_MS,
        .drain = true,
        .loops = is_finder ? LK_WORK_ANNOUNCES : LK_WORK_CLAIMS,
    };
    lk_store *store;
    lk_error error;
    lk_outcome outcome = open_store(run, &store, &error);

    if (outcome == LK_OK) {
        outcome = lk_work(store, &options, NULL, &error);
    }
    if (outcome != LK_OK) {
        (void)fprintf(stderr, "%s: %s: %s\n", is_finder ? "finder" : "worker",
                      lk_outcome_name(outcome), error.text);
        atomic_fetch_add(&run->record->failures, 1);
        _exit(1);
    }
    lk_close(store);
    _exit(0);
}

static void start(struct run *run, size_t slot) {
    pid_t pid = test_fork();

    if (pid == 0) {
        work(run, slot < FINDERS);
    }
    run->processes[slot] = pid;
}

/* ---- kills ----------------------------------------------------------------------------------- */

static void pause_at_random(struct run *run) {
    const struct timespec pause = {.tv_nsec = lk_random_between(&run->random, 5000000, 60000000)};

    (void)nanosleep(&pause, NULL);
}

/* Kills and replaces random processes. Returns how many had not ended by themselves. */
static unsigned kill_and_replace(struct run *run, unsigned kills) {
    unsigned killed = 0;

    for (unsigned i = 0; i < kills; i++) {
        size_t slot = (size_t)lk_random_between(&run->random, 0, PROCESSES - 1);
        pause_at_random(run);
        if (run->processes[slot] == 0) {
            continue;
        }
        (void)kill(run->processes[slot], SIGKILL);
        killed += test_exit_status(run->processes[slot]) == 128 + SIGKILL;
        start(run, slot);
    }
    return killed;
}

static void wait_for_all(struct run *run) {
    for (size_t slot = 0; slot < PROCESSES; slot++) {
        int status = test_exit_status(run->processes[slot]);

        if (status != 0) {
            test_die("process %zu ended with status %d", slot, status);
        }
    }
}

/* ---- the check ------------------------------------------------------------------------------- */

static void expect(const struct run *run, const char *query, int64_t wanted) {
    int64_t found = database_number(run->database, query);

    if (found != wanted) {
        test_die("%s: %lld, not %lld", query, (long long)found, (long long)wanted);
    }
}

static void check_line(void *context, int row, uint64_t token, uint32_t attempt) {
    const struct claim_record *record = context;

    if (token != record->token[row] || attempt != record->attempt[row]) {
        test_die("row %d was completed by claim %llu, attempt %u, after claim %llu, %u", row,
                 (unsigned long long)token, attempt, (unsigned long long)record->token[row],
                 record->attempt[row]);
    }
}

static void check(const struct run *run) {
    expect(run, "SELECT count(*) FROM \"jobs to do\" WHERE state <> 'done'", 0);
    expect(run, "SELECT count(DISTINCT job) FROM log", run->rows);
    expect(run, "SELECT count(*) FROM log", run->rows);
    expect(run, "SELECT count(*) FROM lk_item", 0);
    expect(run, "SELECT count(*) FROM lk_done_row", 0);
    expect(run, "SELECT done FROM lk_queue WHERE path = 'jobs%20to%20do'", run->rows);
    database_each_line(run->database, check_line, run->record);
    if (run->record->failures != 0) {
        test_die("%llu failures", (unsigned long long)run->record->failures);
    }
}

/* ---- the test -------------------------------------------------------------------------------- */

int main(int argc, char **argv) {
    static struct run run;
    int64_t begun_us = lk_clock_now_us();
    unsigned killed;

    run.random = test_random();
    run.rows = (int)test_scaled(argc > 2 ? (unsigned)atoi(argv[2]) : ROWS);
    run.rows = run.rows < ROWS ? run.rows : ROWS;
    run.database = database_make(run.rows, argc > 1 ? argv[1] : NULL);
    run.record =
        mmap(NULL, sizeof *run.record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.record == MAP_FAILED) {
        test_die("no memory");
    }
    for (size_t slot = 0; slot < PROCESSES; slot++) {
        start(&run, slot);
    }
    killed = kill_and_replace(&run, test_scaled(KILLS));
    wait_for_all(&run);
    check(&run);
    (void)printf("%d rows, %llu claims, %u killed, %lld duplicates, %lld ms\n", run.rows,
                 (unsigned long long)run.record->claims, killed,
                 (long long)database_number(run.database, "SELECT duplicates FROM lk_queue"),
                 (long long)((lk_clock_now_us() - begun_us) / 1000));
    database_remove(run.database);
    return 0;
}

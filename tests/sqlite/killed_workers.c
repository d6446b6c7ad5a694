/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker processes at one queue are killed with SIGKILL at random moments and replaced. In shared
 * memory each worker logs the answer to each claim, and each completion that succeeded. The check
 * reads this log and the file:
 *
 *   - At the end every item is gone, a holder of its claim had asked to complete it, and at most
 *     one completion succeeded (none if the worker was killed before it read the answer).
 *   - The leases of two claims of one item do not overlap.
 *   - Of two claims of an item, the later one has the greater token and attempt. A claim that was
 *     stolen cannot complete the item.
 *   - At most two items that need the same pool are claimed at once.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixture.h"

enum { WORKERS = 6, ITEMS = 400, KILLS = 60, TTL_MS = 300, CLAIMS_MAX = 1 << 14, POOL = 2 };

static const char queue[] = "jobs/now";

/* One claim, as its worker saw it. Complete once `taken_us` is set. */
struct claim {
    int item;
    uint32_t attempt;
    uint64_t token;
    _Atomic int64_t taken_us; /* the answer was there; 0: not complete */
    _Atomic int64_t until_us; /* promised: ask sent + ttl, or finish sent */
    atomic_int asked;         /* to complete it */
    atomic_int done;          /* ... and answered with LK_OK */
};

struct claim_log {
    atomic_size_t count;
    struct claim claims[CLAIMS_MAX];
};

struct group {
    struct fixture fixture;
    struct claim_log *log;
    struct lk_random random;
    int progress[2]; /* a byte for each claim */
    int next_number;
};

/* ---- working --------------------------------------------------------------------------------- */

struct worker {
    struct claim_log *log;
    struct lk_engine *engine;
    struct lk_random random;
    char owner[32];
    int progress;
};

static struct claim *log_claim(struct worker *worker, const lk_claim_info *info, int64_t sent_us) {
    size_t index = atomic_fetch_add(&worker->log->count, 1);
    struct claim *claim = &worker->log->claims[index];

    if (index >= CLAIMS_MAX) {
        test_die("more claims than there is room for");
    }
    claim->item = atoi(info->id);
    claim->attempt = info->attempt;
    claim->token = info->token;
    claim->until_us = sent_us + (int64_t)TTL_MS * 1000;
    claim->taken_us = lk_clock_now_us();
    return claim;
}

/* From the moment the request is sent, the item may be claimed by another worker, or be gone. */
static void finish(struct worker *worker, const lk_claim_info *info, struct claim *claim) {
    bool gives_back = lk_random_between(&worker->random, 1, 10) == 1;
    int64_t sent_us = lk_clock_now_us();

    if (sent_us < claim->until_us) {
        claim->until_us = sent_us;
    }
    if (gives_back) {
        (void)fixture_finish(worker->engine, info, LK_FINISH_RETRY,
                             lk_random_between(&worker->random, 0, 5));
        return;
    }
    claim->asked = 1;
    if (fixture_finish(worker->engine, info, LK_FINISH_DONE, 0) == LK_OK) {
        claim->done = 1;
    }
}

static bool is_all_done(struct worker *worker) {
    struct lk_patience patience = test_patience(20000000);
    struct lk_path path;
    lk_queue_stats stats;
    lk_error error;

    if (lk_path_parse(lk_slice_of(queue), &path, NULL) != LK_OK
        || worker->engine->ops->stats(worker->engine, &path, LK_STATS_WHOLE, &patience, &stats,
                                      &error)
               != LK_OK) {
        test_die("no stats");
    }
    return stats.ready_now + stats.delayed_now + stats.claimed_now + stats.parked_now == 0;
}

static void wait_for_work(struct worker *worker, const struct pending_call *pending) {
    if (call_await(worker->engine, pending, lk_clock_now_us() + 5000000, NULL) != LK_OK) {
        test_die("no waiting");
    }
}

static void work(struct worker *worker) {
    lk_claim_info *info = NULL;
    bool is_over = false;

    while (!is_over) {
        int64_t sent_us = lk_clock_now_us();
        struct pending_call pending;
        lk_outcome outcome =
            fixture_take(worker->engine, queue, worker->owner, TTL_MS, &info, &pending);
        if (outcome == LK_GRANTED) {
            struct claim *claim = log_claim(worker, info, sent_us);
            if (write(worker->progress, "", 1) != 1) {
                test_die("the pipe is closed");
            }
            finish(worker, info, claim);
        } else if (outcome == LK_BUSY) {
            is_over = is_all_done(worker);
            if (!is_over) {
                wait_for_work(worker, &pending);
            }
        } else {
            test_die("a take ended in %s", lk_outcome_name(outcome));
        }
    }
    lk_claim_free(info);
}

static pid_t start_worker(struct group *group) {
    struct worker worker = {.log = group->log,
                            .random = {lk_random_next(&group->random)},
                            .progress = group->progress[1]};
    pid_t child;

    (void)snprintf(worker.owner, sizeof worker.owner, "worker %d", group->next_number++);
    child = test_fork();
    if (child > 0) {
        return child;
    }
    worker.engine = fixture_open(group->fixture.file, &lk_sqlite_options_default);
    work(&worker);
    fixture_close(worker.engine);
    _exit(0);
}

/* ---- the check ------------------------------------------------------------------------------- */

static bool needs_pool(int item) {
    return item % 3 == 0;
}

static unsigned wrong_with(const char *what, int item, unsigned wrong) {
    if (wrong > 0) {
        (void)printf("# item %d: %s\n", item, what);
    }
    return wrong;
}

static bool overlap(const struct claim *a, const struct claim *b) {
    return a->taken_us < b->until_us && b->taken_us < a->until_us;
}

/* Two claims of one item, `a` of the smaller token. */
static unsigned check_pair(const struct claim *a, const struct claim *b) {
    return wrong_with("two claims overlap", a->item, overlap(a, b))
           + wrong_with("a later claim has no greater attempt", a->item, a->attempt >= b->attempt)
           + wrong_with("done, and claimed again", a->item, a->done != 0);
}

static unsigned check_item(const struct claim_log *log, size_t count, int item) {
    unsigned done = 0;
    unsigned may_be_done = 0;
    unsigned wrong = 0;

    for (size_t i = 0; i < count; i++) {
        const struct claim *a = &log->claims[i];
        if (a->taken_us == 0 || a->item != item) {
            continue;
        }
        done += a->done != 0;
        may_be_done += a->asked != 0;
        for (size_t j = 0; j < count; j++) {
            const struct claim *b = &log->claims[j];
            if (b->taken_us != 0 && b->item == item && a->token < b->token) {
                wrong += check_pair(a, b);
            }
            wrong +=
                wrong_with("one token twice", item,
                           i != j && b->taken_us != 0 && b->item == item && a->token == b->token);
        }
    }
    return wrong + wrong_with("done twice", item, done > 1)
           + wrong_with("gone, though no holder asked for that", item, may_be_done == 0);
}

/* Counts the claims of the pool that were held at each moment at which one was granted. */
static unsigned check_pool(const struct claim_log *log, size_t count) {
    unsigned wrong = 0;

    for (size_t i = 0; i < count; i++) {
        const struct claim *a = &log->claims[i];
        unsigned at_once = 0;
        for (size_t j = 0; j < count && a->taken_us != 0 && needs_pool(a->item); j++) {
            const struct claim *b = &log->claims[j];
            at_once += b->taken_us != 0 && needs_pool(b->item) && b->taken_us <= a->taken_us
                       && a->taken_us < b->until_us;
        }
        wrong += wrong_with("the pool is too full", a->item, at_once > POOL);
    }
    return wrong;
}

static unsigned check_file(const char *file) {
    unsigned wrong = 0;

    wrong += fixture_sql(file, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") != 1;
    wrong += fixture_sql(file, "SELECT count(*) FROM lk_item") != 0;
    wrong += fixture_sql(file, "SELECT count(*) FROM lk_item_value") != 0;
    wrong += fixture_sql(file, "SELECT count(*) FROM lk_request WHERE is_claim") != 0;
    wrong +=
        fixture_sql(file, "SELECT pushed <> done OR claims < done + retried FROM lk_queue") != 0;
    return wrong;
}

static unsigned check(const struct group *group, unsigned items) {
    size_t count = atomic_load(&group->log->count);
    unsigned wrong = check_pool(group->log, count) + check_file(group->fixture.file);
    char query[128];

    for (unsigned item = 0; item < items; item++) {
        wrong += check_item(group->log, count, (int)item);
    }
    (void)snprintf(query, sizeof query, "SELECT done <> %u FROM lk_queue", items);
    wrong += fixture_sql(group->fixture.file, query) != 0;
    (void)printf(
        "%s 1 - workers killed at one queue: %u items, %zu claims, %lld stolen, %u wrong\n",
        wrong == 0 ? "ok" : "not ok", items, count,
        (long long)fixture_sql(group->fixture.file, "SELECT steals FROM lk_queue"), wrong);
    return wrong;
}

/* ---- the test -------------------------------------------------------------------------------- */

static void push_items(const struct group *group, unsigned items) {
    struct lk_engine *engine = fixture_open(group->fixture.file, &lk_sqlite_options_default);

    for (unsigned item = 0; item < items; item++) {
        char id[32];
        (void)snprintf(id, sizeof id, "%u", item);
        if (fixture_push(engine, queue, id, lk_slice_of(id), 0,
                         needs_pool((int)item) ? "pool?limit=2" : "")
            != LK_OK) {
            test_die("no push");
        }
    }
    fixture_close(engine);
}

enum { CLAIMS_A_KILL = 8 }; /* at most, between two kills */

/* Kills and replaces a random worker, a random number of claims after the last kill. */
static void kill_one(struct group *group, pid_t *workers) {
    size_t index =
        test_kill_one(workers, WORKERS, group->progress[0], CLAIMS_A_KILL, &group->random);

    workers[index] = start_worker(group);
}

int main(void) {
    struct lk_random random = test_random();
    struct group group = {.fixture = fixture_make(), .random = random};
    unsigned kills = test_scaled(KILLS);
    unsigned items = test_scaled(ITEMS) + CLAIMS_A_KILL;
    pid_t workers[WORKERS];
    bool all_succeed = true;
    unsigned wrong;

    group.log =
        mmap(NULL, sizeof *group.log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (group.log == MAP_FAILED || pipe(group.progress) != 0) {
        test_die("no shared memory, or no pipe");
    }
    push_items(&group, items);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = start_worker(&group);
    }
    /* Each item is claimed at least once: with fewer claims left, kill_one() would block. */
    for (unsigned i = 0; i < kills && (i + 1) * CLAIMS_A_KILL <= items; i++) {
        kill_one(&group, workers);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        all_succeed = test_exit_status(workers[i]) == 0 && all_succeed;
    }
    wrong = check(&group, items);
    fixture_remove(&group.fixture);
    (void)printf("1..1\n");
    return wrong == 0 && all_succeed ? 0 : 1;
}

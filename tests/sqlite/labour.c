/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes at one queue, killed with SIGKILL at random moments and replaced. Judged by what
 * the workers saw alone, in memory that they share: a worker writes down each claim when it has the
 * answer, and each completion that was answered with success.
 *
 *   - Every item is gone in the end, somebody who held its claim had asked for that, and nobody was
 *     told twice that it is done (once or, if the worker was killed over the answer, never).
 *   - No two workers worked on one item at a time that was promised to each.
 *   - Of two claims of an item, the later one has the greater token and attempt; and whoever was
 *     robbed could not complete it.
 *   - At most two items that need the same pool are worked on at once.
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

struct book {
    atomic_size_t count;
    struct claim claims[CLAIMS_MAX];
};

struct troop {
    struct fixture fixture;
    struct book *book;
    struct lk_random random;
    int news[2]; /* a byte for each claim */
    int next_number;
};

/* ---- working --------------------------------------------------------------------------------- */

struct worker {
    struct book *book;
    struct lk_engine *engine;
    struct lk_random random;
    char owner[32];
    int news;
};

static struct claim *write_down(struct worker *worker, const lk_claim_info *info, int64_t sent_us) {
    size_t index = atomic_fetch_add(&worker->book->count, 1);
    struct claim *claim = &worker->book->claims[index];

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

/* From the moment it is sent, the item may be somebody else's, or nobody's any more. */
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

static void wait_for_work(struct worker *worker, const struct standing *standing) {
    if (call_await(worker->engine, standing, lk_clock_now_us() + 5000000, NULL) != LK_OK) {
        test_die("no waiting");
    }
}

static void work(struct worker *worker) {
    lk_claim_info *info = NULL;
    bool is_over = false;

    while (!is_over) {
        int64_t sent_us = lk_clock_now_us();
        struct standing standing;
        lk_outcome outcome =
            fixture_take(worker->engine, queue, worker->owner, TTL_MS, &info, &standing);
        if (outcome == LK_GRANTED) {
            struct claim *claim = write_down(worker, info, sent_us);
            if (write(worker->news, "", 1) != 1) {
                test_die("nobody reads the news");
            }
            finish(worker, info, claim);
        } else if (outcome == LK_BUSY) {
            is_over = is_all_done(worker);
            if (!is_over) {
                wait_for_work(worker, &standing);
            }
        } else {
            test_die("a take ended in %s", lk_outcome_name(outcome));
        }
    }
    lk_claim_free(info);
}

static pid_t start_worker(struct troop *troop) {
    struct worker worker = {
        .book = troop->book, .random = {lk_random_next(&troop->random)}, .news = troop->news[1]};
    pid_t child;

    (void)snprintf(worker.owner, sizeof worker.owner, "worker %d", troop->next_number++);
    (void)fflush(NULL);
    child = fork();
    if (child < 0) {
        test_die("no more processes");
    }
    if (child > 0) {
        return child;
    }
    worker.engine = fixture_open(troop->fixture.file, &lk_sqlite_options_default);
    work(&worker);
    fixture_close(worker.engine);
    _exit(0);
}

/* ---- judging --------------------------------------------------------------------------------- */

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
static unsigned judge_pair(const struct claim *a, const struct claim *b) {
    return wrong_with("worked on by two", a->item, overlap(a, b))
           + wrong_with("a later claim has no greater attempt", a->item, a->attempt >= b->attempt)
           + wrong_with("done, and claimed again", a->item, a->done != 0);
}

static unsigned judge_item(const struct book *book, size_t count, int item) {
    unsigned done = 0;
    unsigned may_be_done = 0;
    unsigned wrong = 0;

    for (size_t i = 0; i < count; i++) {
        const struct claim *a = &book->claims[i];
        if (a->taken_us == 0 || a->item != item) {
            continue;
        }
        done += a->done != 0;
        may_be_done += a->asked != 0;
        for (size_t j = 0; j < count; j++) {
            const struct claim *b = &book->claims[j];
            if (b->taken_us != 0 && b->item == item && a->token < b->token) {
                wrong += judge_pair(a, b);
            }
            wrong +=
                wrong_with("one token twice", item,
                           i != j && b->taken_us != 0 && b->item == item && a->token == b->token);
        }
    }
    return wrong + wrong_with("done twice", item, done > 1)
           + wrong_with("gone, and nobody asked for that", item, may_be_done == 0);
}

/* At each moment at which a claim of the pool was taken, how many others were held. */
static unsigned judge_pool(const struct book *book, size_t count) {
    unsigned wrong = 0;

    for (size_t i = 0; i < count; i++) {
        const struct claim *a = &book->claims[i];
        unsigned at_once = 0;
        for (size_t j = 0; j < count && a->taken_us != 0 && needs_pool(a->item); j++) {
            const struct claim *b = &book->claims[j];
            at_once += b->taken_us != 0 && needs_pool(b->item) && b->taken_us <= a->taken_us
                       && a->taken_us < b->until_us;
        }
        wrong += wrong_with("the pool is too full", a->item, at_once > POOL);
    }
    return wrong;
}

static unsigned judge_file(const char *file) {
    unsigned wrong = 0;

    wrong += fixture_sql(file, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") != 1;
    wrong += fixture_sql(file, "SELECT count(*) FROM items") != 0;
    wrong += fixture_sql(file, "SELECT count(*) FROM item_values") != 0;
    wrong += fixture_sql(file, "SELECT count(*) FROM requests WHERE is_claim") != 0;
    wrong += fixture_sql(file, "SELECT pushed <> done OR claims < done + retried FROM queues") != 0;
    return wrong;
}

static unsigned judge(const struct troop *troop, unsigned items) {
    size_t count = atomic_load(&troop->book->count);
    unsigned wrong = judge_pool(troop->book, count) + judge_file(troop->fixture.file);
    char query[128];

    for (unsigned item = 0; item < items; item++) {
        wrong += judge_item(troop->book, count, (int)item);
    }
    (void)snprintf(query, sizeof query, "SELECT done <> %u FROM queues", items);
    wrong += fixture_sql(troop->fixture.file, query) != 0;
    (void)printf(
        "%s 1 - workers killed at one queue: %u items, %zu claims, %lld stolen, %u wrong\n",
        wrong == 0 ? "ok" : "not ok", items, count,
        (long long)fixture_sql(troop->fixture.file, "SELECT steals FROM queues"), wrong);
    return wrong;
}

/* ---- the play -------------------------------------------------------------------------------- */

static void push_items(const struct troop *troop, unsigned items) {
    struct lk_engine *engine = fixture_open(troop->fixture.file, &lk_sqlite_options_default);

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

/* Kills whoever it hits, a random number of claims after the last. */
static void kill_one(struct troop *troop, pid_t *workers) {
    int64_t claims = lk_random_between(&troop->random, 0, 8);
    size_t index = (size_t)lk_random_between(&troop->random, 0, WORKERS - 1);
    char byte;

    while (claims-- > 0 && read(troop->news[0], &byte, 1) == 1) {
    }
    (void)kill(workers[index], SIGKILL);
    (void)waitpid(workers[index], NULL, 0);
    workers[index] = start_worker(troop);
}

int main(void) {
    struct lk_random random = test_random();
    struct troop troop = {.fixture = fixture_make(), .random = random};
    unsigned items = test_scaled(ITEMS);
    unsigned kills = test_scaled(KILLS);
    pid_t workers[WORKERS];
    bool all_well = true;
    unsigned wrong;

    troop.book =
        mmap(NULL, sizeof *troop.book, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (troop.book == MAP_FAILED || pipe(troop.news) != 0) {
        test_die("no shared memory, or no pipe");
    }
    push_items(&troop, items);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = start_worker(&troop);
    }
    /* So many claims there are at least: each item is claimed once. */
    for (unsigned i = 0; i < kills && i * 8 < items; i++) {
        kill_one(&troop, workers);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        int status = 0;
        all_well = waitpid(workers[i], &status, 0) == workers[i] && WIFEXITED(status)
                   && WEXITSTATUS(status) == 0 && all_well;
    }
    wrong = judge(&troop, items);
    fixture_remove(&troop.fixture);
    (void)printf("1..1\n");
    return wrong == 0 && all_well ? 0 : 1;
}

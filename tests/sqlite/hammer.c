/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many processes at one store, first left in peace, then killed with SIGKILL at random moments and
 * replaced. Judged by what the clients saw alone (lease_log.h): nothing is granted twice, nothing
 * that was promised is lost; afterwards the file is whole.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixture.h"
#include "lease_log.h"

enum { WORKERS = 8, ROUNDS = 150, KILLS = 60, CALM_TTL_MS = 60000, SHORT_TTL_MS = 400 };

/* What is asked for; limits of one path are all the same, so that the witness can judge them. */
static const struct want {
    size_t count;
    struct logged_part parts[LEASE_PARTS_MAX];
} wants[] = {
    {1, {{.path = "x"}}},
    {1, {{.path = "x/1"}}},
    {1, {{.path = "x/2"}}},
    {1, {{.path = "x", .shared = true, .units = 1}}},
    {1, {{.path = "x/1", .shared = true, .units = 1}}},
    {1, {{.path = "pool", .shared = true, .limit = 3, .units = 1}}},
    {1, {{.path = "pool", .shared = true, .limit = 3, .units = 2}}},
    {2, {{.path = "y"}, {.path = "x/2"}}},
    {2,
     {{.path = "y/1", .shared = true, .units = 1},
      {.path = "pool", .shared = true, .limit = 3, .units = 1}}},
};
enum { WANTS = sizeof wants / sizeof wants[0] };

struct worker {
    struct lease_log *log;
    struct lk_engine *engine;
    struct lk_random random;
    int number; /* unlike any other's, also of those that were killed */
    char owner[32];
    int64_t ttl_ms;
    int news; /* a byte is written here for every grant */
};

static void fill_parts(const struct want *want, struct lk_part *ret_parts) {
    for (size_t i = 0; i < want->count; i++) {
        const struct logged_part *part = &want->parts[i];
        if (lk_path_parse(lk_slice_of(part->path), &ret_parts[i].path, NULL) != LK_OK) {
            test_die("%s is no path", part->path);
        }
        ret_parts[i].mode = part->shared ? LK_SHARED : LK_EXCLUSIVE;
        ret_parts[i].limit = part->limit;
        ret_parts[i].units = part->units;
    }
}

/* Asks until granted or refused, or for a while. *ret_sent_us: when the last ask was sent. */
static lk_outcome obtain(struct worker *worker, const struct lk_ask *ask, lk_result *result,
                         int64_t *ret_sent_us) {
    int64_t give_up_us = lk_clock_now_us() + 300000;

    do {
        struct lk_patience patience = test_patience(20000000);
        struct standing standing;
        int64_t now_us = lk_clock_now_us();
        lk_result_clear(result);
        *ret_sent_us = now_us;
        if (call_ask_and_stand(worker->engine, ask, &patience, result, &standing) == LK_WAITING) {
            (void)call_await(worker->engine, &standing, give_up_us, NULL);
        }
    } while (result->outcome == LK_WAITING && lk_clock_now_us() < give_up_us);
    return result->outcome;
}

/* The store may not deny what it promised until `promised_us`. */
static void expect_kept(struct worker *worker, int64_t promised_us, lk_outcome outcome) {
    if (outcome != LK_OK && lk_clock_now_us() < promised_us) {
        atomic_fetch_add(&worker->log->lost, 1);
    }
}

static void renew(struct worker *worker, const struct lk_target *target,
                  struct logged_lease *lease) {
    struct lk_patience patience = test_patience(20000000);
    const struct lk_renew renewal = {.target = *target};
    lk_result result = {.outcome = LK_OK};
    int64_t sent_us = lk_clock_now_us();
    lk_outcome outcome = call_renew(worker->engine, &renewal, &patience, &result);

    expect_kept(worker, lease->until_us, outcome);
    if (outcome == LK_OK) {
        lease->until_us = sent_us + worker->ttl_ms * 1000;
    }
    lk_result_clear(&result);
}

/* From the moment it is sent, the release may have taken effect. */
static void release(struct worker *worker, const struct lk_target *target,
                    struct logged_lease *lease) {
    struct lk_patience patience = test_patience(20000000);
    const struct lk_release ending = {.target = *target};
    lk_result result = {.outcome = LK_OK};
    int64_t promised_us = lease->until_us;
    int64_t sent_us = lk_clock_now_us();

    lease->until_us = sent_us < promised_us ? sent_us : promised_us;
    expect_kept(worker, promised_us, call_release(worker->engine, &ending, &patience, &result));
    lk_result_clear(&result);
}

/* Writes the lease down, keeps it for a moment, and gives it back. */
static void hold(struct worker *worker, const struct lk_target *target, const struct want *want,
                 uint64_t token, int64_t sent_us) {
    struct logged_lease *lease = lease_log_add(worker->log);
    struct lk_target named = *target;

    lease->owner = worker->number;
    lease->part_count = want->count;
    memcpy(lease->parts, want->parts, sizeof lease->parts);
    lease->token = named.token = token;
    lease->until_us = sent_us + worker->ttl_ms * 1000;
    lease->granted_us = lk_clock_now_us();
    if (write(worker->news, "", 1) != 1) {
        test_die("nobody reads the news");
    }
    if (lk_random_between(&worker->random, 0, 2) == 0) {
        renew(worker, &named, lease);
    }
    release(worker, &named, lease);
}

static void withdraw(struct worker *worker, const struct lk_target *target) {
    struct lk_patience patience = test_patience(20000000);
    const struct lk_release ending = {.target = *target};
    lk_result result = {.outcome = LK_OK};

    (void)call_release(worker->engine, &ending, &patience, &result);
    lk_result_clear(&result);
}

static void play_round(struct worker *worker) {
    const struct want *want = &wants[lk_random_between(&worker->random, 0, WANTS - 1)];
    struct lk_part parts[LEASE_PARTS_MAX];
    const struct lk_target target = {
        .owner = lk_slice_of(worker->owner), .parts = parts, .part_count = want->count};
    const struct lk_ask ask = {
        .owner = target.owner,
        .parts = parts,
        .part_count = want->count,
        .style = (lk_style)lk_random_between(&worker->random, LK_TRY, LK_WAIT),
        .ttl_ms = worker->ttl_ms,
        .blockers_max = 4,
    };
    lk_result result = {.outcome = LK_OK};
    int64_t sent_us = 0;

    fill_parts(want, parts);
    switch (obtain(worker, &ask, &result, &sent_us)) {
    case LK_GRANTED:
        hold(worker, &target, want, result.token, sent_us);
        break;
    case LK_WAITING:
        withdraw(worker, &target);
        break;
    case LK_BUSY:
        break;
    default:
        test_die("%s: %s", lk_outcome_name(result.outcome),
                 result.error != NULL ? result.error : "");
    }
    lk_result_clear(&result);
}

/* ---- processes ------------------------------------------------------------------------------- */

struct troop {
    struct fixture fixture;
    struct lease_log *log;
    struct lk_random random;
    int64_t ttl_ms;
    unsigned rounds; /* 0: until killed */
    int news[2];
    int next_number;
};

static pid_t start_worker(struct troop *troop) {
    struct worker worker = {
        .log = troop->log,
        .random = {lk_random_next(&troop->random)},
        .number = troop->next_number++,
        .ttl_ms = troop->ttl_ms,
        .news = troop->news[1],
    };
    pid_t child;

    (void)fflush(NULL);
    child = fork();
    if (child < 0) {
        test_die("no more processes");
    }
    if (child > 0) {
        return child;
    }
    (void)snprintf(worker.owner, sizeof worker.owner, "worker %d", worker.number);
    worker.engine = fixture_open(troop->fixture.file, &lk_sqlite_options_default);
    for (unsigned i = 0; troop->rounds == 0 || i < troop->rounds; i++) {
        play_round(&worker);
    }
    fixture_close(worker.engine);
    _exit(0);
}

static struct troop start_troop(struct lk_random *random) {
    struct troop troop = {
        .fixture = fixture_make(), .log = lease_log_make(), .random = {lk_random_next(random)}};

    if (pipe(troop.news) != 0) {
        test_die("no pipe");
    }
    /* There from the start, so that no worker is killed while it makes the file's tables. */
    fixture_close(fixture_open(troop.fixture.file, &lk_sqlite_options_default));
    return troop;
}

/* What is left must be whole, and must come free by itself. Returns how much is wrong. */
static unsigned judge_file(const struct troop *troop) {
    struct worker worker = {.engine =
                                fixture_open(troop->fixture.file, &lk_sqlite_options_default)};
    const char *file = troop->fixture.file;
    lk_result result = {.outcome = LK_OK};
    struct test_parts parts;
    struct lk_ask ask = {.owner = lk_slice_of("last"), .style = LK_WAIT};
    int64_t sent_us = 0;
    unsigned wrong = 0;

    test_parts_parse(&parts, "x y pool");
    ask.parts = parts.parts;
    ask.part_count = parts.count;

    wrong += fixture_sql(file, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") != 1;
    wrong += fixture_sql(file, "SELECT count(*) FROM parts WHERE NOT EXISTS"
                               " (SELECT 1 FROM requests WHERE id = request)")
             != 0;
    wrong += fixture_sql(file, "SELECT count(*) FROM requests WHERE NOT EXISTS"
                               " (SELECT 1 FROM parts WHERE id = request)")
             != 0;
    while (obtain(&worker, &ask, &result, &sent_us) == LK_WAITING) {
    }
    wrong += result.outcome != LK_GRANTED;
    wrong += fixture_sql(file, "SELECT count(*) FROM requests") != 1;
    lk_result_clear(&result);
    fixture_close(worker.engine);
    return wrong;
}

static bool report(int number, const char *what, struct troop *troop) {
    size_t leases = 0;
    unsigned wrong = judge_file(troop) + lease_log_check(troop->log, &leases);

    (void)printf("%s %d - %s: %zu leases, %u wrong\n", wrong == 0 && leases > 0 ? "ok" : "not ok",
                 number, what, leases, wrong);
    (void)close(troop->news[0]);
    (void)close(troop->news[1]);
    fixture_remove(&troop->fixture);
    return wrong == 0 && leases > 0;
}

static bool work_in_peace(struct lk_random *random) {
    struct troop troop = start_troop(random);
    bool all_well = true;
    int status = 0;

    troop.ttl_ms = CALM_TTL_MS;
    troop.rounds = test_scaled(ROUNDS);
    for (int i = 0; i < WORKERS; i++) {
        (void)start_worker(&troop);
    }
    while (wait(&status) > 0) {
        all_well = all_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return report(1, "many processes at one store", &troop) && all_well;
}

/* Kills whoever it hits, a random number of grants after the last. */
static void kill_one(struct troop *troop, pid_t *workers) {
    int64_t grants = lk_random_between(&troop->random, 0, 12);
    size_t index = (size_t)lk_random_between(&troop->random, 0, WORKERS - 1);
    char byte;

    while (grants-- > 0 && read(troop->news[0], &byte, 1) == 1) {
    }
    (void)kill(workers[index], SIGKILL);
    (void)waitpid(workers[index], NULL, 0);
    workers[index] = start_worker(troop);
}

static bool work_and_die(struct lk_random *random) {
    struct troop troop = start_troop(random);
    unsigned kills = test_scaled(KILLS);
    pid_t workers[WORKERS];

    troop.ttl_ms = SHORT_TTL_MS;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = start_worker(&troop);
    }
    for (unsigned i = 0; i < kills; i++) {
        kill_one(&troop, workers);
    }
    for (int i = 0; i < WORKERS; i++) {
        (void)kill(workers[i], SIGKILL);
        (void)waitpid(workers[i], NULL, 0);
    }
    return report(2, "processes killed at random moments", &troop);
}

int main(void) {
    struct lk_random random = test_random();
    bool in_peace = work_in_peace(&random);
    bool in_death = work_and_die(&random);

    (void)printf("1..2\n");
    return in_peace && in_death ? 0 : 1;
}

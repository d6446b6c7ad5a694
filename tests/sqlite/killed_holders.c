/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes acquire, renew and release leases of one store: first undisturbed, then killed with
 * SIGKILL at random moments and replaced. Afterwards the file is sound.
 *
 * Their holders log the leases as they saw them. The check knows nothing of the store: no
 * conflicting leases at the same time, limits are kept, tokens rise, and no lease is lost before
 * its deadline. It compares every pair of leases: slow, and simple enough to be trusted.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixture.h"
#include "model/part.h"
#include "model/rules.h"

/* ---- a log of leases ------------------------------------------------------------------------- */

enum { LEASES_MAX = 1 << 16, LEASE_PARTS_MAX = 2, LEASE_PATH_MAX = 16 };

/* One lease as its holder saw it. Complete once `granted_us` is set. */
struct logged_part {
    char path[LEASE_PATH_MAX];
    bool shared;
    uint32_t limit;
    uint32_t units;
};

struct logged_lease {
    int owner;
    size_t part_count;
    struct logged_part parts[LEASE_PARTS_MAX];
    uint64_t token;
    _Atomic int64_t granted_us; /* the reply was there; 0: not complete */
    _Atomic int64_t until_us;   /* promised so far: ask sent + ttl, or release sent */
};

/* In memory that all processes share. */
struct lease_log {
    atomic_size_t count;
    atomic_int lost; /* leases that the store denied while they were promised */
    struct logged_lease leases[LEASES_MAX];
};

enum { PRINTED_MAX = 10 };

/* For this process and its children; never freed. */
static struct lease_log *lease_log_make(void) {
    struct lease_log *log =
        mmap(NULL, sizeof *log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (log == MAP_FAILED) {
        test_die("no memory to share");
    }
    return log;
}

/* Returns a new entry. Aborts the program if the log is full. */
static struct logged_lease *lease_log_add(struct lease_log *log) {
    size_t index = atomic_fetch_add(&log->count, 1);

    if (index >= LEASES_MAX) {
        test_die("the log of leases is full");
    }
    return &log->leases[index];
}

static bool is_related(const struct logged_part *a, const struct logged_part *b) {
    struct lk_path left;
    struct lk_path right;

    return lk_path_parse(lk_slice_of(a->path), &left, NULL) == LK_OK
           && lk_path_parse(lk_slice_of(b->path), &right, NULL) == LK_OK
           && lk_path_related(&left, &right);
}

static bool conflicts(const struct logged_lease *a, const struct logged_lease *b) {
    for (size_t i = 0; i < a->part_count; i++) {
        for (size_t j = 0; j < b->part_count; j++) {
            if (is_related(&a->parts[i], &b->parts[j])
                && (!a->parts[i].shared || !b->parts[j].shared)) {
                return true;
            }
        }
    }
    return false;
}

/* Units that `lease` holds at exactly this path. */
static uint32_t units_at(const struct logged_lease *lease, const char *path) {
    for (size_t i = 0; i < lease->part_count; i++) {
        if (lease->parts[i].shared && strcmp(lease->parts[i].path, path) == 0) {
            return lease->parts[i].units;
        }
    }
    return 0;
}

static void report_leases(unsigned *wrong, const char *what, const struct logged_lease *a,
                          const struct logged_lease *b) {
    if ((*wrong)++ < PRINTED_MAX) {
        (void)printf("# %s: %s (owner %d, token %llu) and %s (owner %d, token %llu)\n", what,
                     a->parts[0].path, a->owner, (unsigned long long)a->token, b->parts[0].path,
                     b->owner, (unsigned long long)b->token);
    }
}

static int by_grant(const void *a, const void *b) {
    int64_t left = (*(struct logged_lease *const *)a)->granted_us;
    int64_t right = (*(struct logged_lease *const *)b)->granted_us;

    return (left > right) - (left < right);
}

/* The lease against those granted before it. */
static void check_lease(struct logged_lease *const *order, size_t at, unsigned *wrong) {
    const struct logged_lease *lease = order[at];
    uint64_t units[LEASE_PARTS_MAX] = {0};

    for (size_t i = 0; i < at; i++) {
        const struct logged_lease *former = order[i];
        bool is_held = former->until_us > lease->granted_us;
        if (former->owner != lease->owner && conflicts(former, lease)) {
            if (is_held) {
                report_leases(wrong, "held at the same time", former, lease);
            }
            if (former->token >= lease->token) {
                report_leases(wrong, "tokens do not rise", former, lease);
            }
        }
        for (size_t p = 0; is_held && p < lease->part_count; p++) {
            units[p] += units_at(former, lease->parts[p].path);
        }
    }
    for (size_t p = 0; p < lease->part_count; p++) {
        if (lease->parts[p].limit != 0
            && units[p] + lease->parts[p].units > lease->parts[p].limit) {
            report_leases(wrong, "over the limit", lease, lease);
        }
    }
}

/* Prints each violation on stdout. Returns their number, and the number of leases checked. */
static unsigned lease_log_check(struct lease_log *log, size_t *ret_leases) {
    static struct logged_lease *order[LEASES_MAX];
    unsigned wrong = (unsigned)log->lost;
    size_t count = 0;

    for (size_t i = 0; i < log->count; i++) {
        if (log->leases[i].granted_us != 0) {
            order[count++] = &log->leases[i];
        }
    }
    qsort(order, count, sizeof order[0], by_grant);
    for (size_t i = 0; i < count; i++) {
        check_lease(order, i, &wrong);
    }
    if (log->lost > 0) {
        (void)printf("# %d leases were denied while they were promised\n", log->lost);
    }
    *ret_leases = count;
    return wrong;
}

/* ---- the holders ----------------------------------------------------------------------------- */

enum { WORKERS = 8, ROUNDS = 150, KILLS = 60, LONG_TTL_MS = 60000, SHORT_TTL_MS = 400 };

/* What is asked for; limits of one path are all the same, as the check of the log requires. */
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
    int number; /* unique, also among those that were killed */
    char owner[32];
    int64_t ttl_ms;
    int progress; /* a byte is written here for every grant */
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

/* Asks until granted, refused, or timed out. *ret_sent_us: when the last ask was sent. */
static lk_outcome obtain(struct worker *worker, const struct lk_ask *ask, lk_result *result,
                         int64_t *ret_sent_us) {
    int64_t give_up_us = lk_clock_now_us() + 300000;

    do {
        struct lk_patience patience = test_patience(20000000);
        struct pending_call pending;
        int64_t now_us = lk_clock_now_us();
        lk_result_clear(result);
        *ret_sent_us = now_us;
        if (call_ask_pending(worker->engine, ask, &patience, result, &pending) == LK_WAITING) {
            (void)call_await(worker->engine, &pending, give_up_us, NULL);
        }
    } while (result->outcome == LK_WAITING && lk_clock_now_us() < give_up_us);
    return result->outcome;
}

/* Counts a lease as lost if it was refused before `promised_us`. */
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

/* The release may take effect from the moment it is sent. */
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

/* Logs the lease, renews it at random, and releases it. */
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
    if (write(worker->progress, "", 1) != 1) {
        test_die("the pipe is closed");
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

static void work_round(struct worker *worker) {
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

struct group {
    struct fixture fixture;
    struct lease_log *log;
    struct lk_random random;
    int64_t ttl_ms;
    unsigned rounds; /* 0: until killed */
    int progress[2];
    int next_number;
};

static pid_t start_worker(struct group *group) {
    struct worker worker = {
        .log = group->log,
        .random = {lk_random_next(&group->random)},
        .number = group->next_number++,
        .ttl_ms = group->ttl_ms,
        .progress = group->progress[1],
    };
    pid_t child;

    child = test_fork();
    if (child > 0) {
        return child;
    }
    (void)snprintf(worker.owner, sizeof worker.owner, "worker %d", worker.number);
    worker.engine = fixture_open(group->fixture.file, &lk_sqlite_options_default);
    for (unsigned i = 0; group->rounds == 0 || i < group->rounds; i++) {
        work_round(&worker);
    }
    fixture_close(worker.engine);
    _exit(0);
}

static struct group start_group(struct lk_random *random) {
    struct group group = {
        .fixture = fixture_make(), .log = lease_log_make(), .random = {lk_random_next(random)}};

    if (pipe(group.progress) != 0) {
        test_die("no pipe");
    }
    /* Creates the tables first, so that no worker is killed while it does. */
    fixture_close(fixture_open(group.fixture.file, &lk_sqlite_options_default));
    return group;
}

/* The file must be sound, and all leases left in it must expire. Returns the number of errors. */
static unsigned check_file(const struct group *group) {
    struct worker worker = {.engine =
                                fixture_open(group->fixture.file, &lk_sqlite_options_default)};
    const char *file = group->fixture.file;
    lk_result result = {.outcome = LK_OK};
    struct test_parts parts;
    struct lk_ask ask = {.owner = lk_slice_of("last"), .style = LK_WAIT};
    int64_t sent_us = 0;
    unsigned wrong = 0;

    test_parts_parse(&parts, "x y pool");
    ask.parts = parts.parts;
    ask.part_count = parts.count;

    wrong += fixture_sql(file, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") != 1;
    wrong += fixture_sql(file, "SELECT count(*) FROM lk_part WHERE NOT EXISTS"
                               " (SELECT 1 FROM lk_request WHERE id = request)")
             != 0;
    wrong += fixture_sql(file, "SELECT count(*) FROM lk_request WHERE NOT EXISTS"
                               " (SELECT 1 FROM lk_part WHERE id = request)")
             != 0;
    while (obtain(&worker, &ask, &result, &sent_us) == LK_WAITING) {
    }
    wrong += result.outcome != LK_GRANTED;
    wrong += fixture_sql(file, "SELECT count(*) FROM lk_request") != 1;
    lk_result_clear(&result);
    fixture_close(worker.engine);
    return wrong;
}

static bool report(int number, const char *what, struct group *group) {
    size_t leases = 0;
    unsigned wrong = check_file(group) + lease_log_check(group->log, &leases);

    (void)printf("%s %d - %s: %zu leases, %u wrong\n", wrong == 0 && leases > 0 ? "ok" : "not ok",
                 number, what, leases, wrong);
    (void)close(group->progress[0]);
    (void)close(group->progress[1]);
    fixture_remove(&group->fixture);
    return wrong == 0 && leases > 0;
}

static bool run_without_kills(struct lk_random *random) {
    struct group group = start_group(random);
    bool all_succeed = true;

    group.ttl_ms = LONG_TTL_MS;
    group.rounds = test_scaled(ROUNDS);
    for (int i = 0; i < WORKERS; i++) {
        (void)start_worker(&group);
    }
    for (int i = 0; i < WORKERS; i++) {
        all_succeed = test_exit_status(-1) == 0 && all_succeed;
    }
    return report(1, "many processes at one store", &group) && all_succeed;
}

/* Kills and replaces a random worker, a random number of grants after the last kill. */
static void kill_one(struct group *group, pid_t *workers) {
    size_t index = test_kill_one(workers, WORKERS, group->progress[0], 12, &group->random);

    workers[index] = start_worker(group);
}

static bool run_with_kills(struct lk_random *random) {
    struct group group = start_group(random);
    unsigned kills = test_scaled(KILLS);
    pid_t workers[WORKERS];

    group.ttl_ms = SHORT_TTL_MS;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = start_worker(&group);
    }
    for (unsigned i = 0; i < kills; i++) {
        kill_one(&group, workers);
    }
    for (int i = 0; i < WORKERS; i++) {
        (void)kill(workers[i], SIGKILL);
        (void)waitpid(workers[i], NULL, 0);
    }
    return report(2, "processes killed at random moments", &group);
}

int main(void) {
    struct lk_random random = test_random();
    bool without_kills = run_without_kills(&random);
    bool with_kills = run_with_kills(&random);

    (void)printf("1..2\n");
    return without_kills && with_kills ? 0 : 1;
}

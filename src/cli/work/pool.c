/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent process of the pool. It has no store open while workers run, because a store does not
 * survive a fork; the workers' counts are in shared memory (counters.h).
 *
 * On a terminal the counts are a line that is drawn again and again, unless CMD writes to the same
 * terminal. Every other line clears it first, in the same write (lk_run_status_begin_with()).
 *
 * Orders to workers are signals of their own (worker.h), since what ends programs may be ignored
 * here (a background job of a script) and may have reached the workers already (a terminal, or a
 * service manager, sends it to every process). When this process dies, its workers end at once.
 */
#include "cli/work/pool.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "cli/print/say.h"
#include "cli/run/descriptors.h"
#include "cli/run/open.h"
#include "cli/run/run.h"
#include "cli/run/status.h"
#include "cli/store/url.h"
#include "cli/work/worker.h"
#include "client/work/stuck.h"
#include "model/model.h"

enum {
    PROGRESS_INTERVAL_MS = 200,
    FINDER_INTERVAL_MS = 10,
    PROGRESS_TEXT_MAX = 160,
    PROGRESS_LINE_MAX = PROGRESS_TEXT_MAX + LK_QUEUE_TEXT_MAX + 16,
    DEATHS_IN_A_ROW_MAX = 16, /* workers killed without a claim in between: something is wrong */
};

static const char clear_line[] = "\r\033[K";

enum phase { WORKING, STOPPING, ENDING };

struct pool {
    const struct lk_cli *cli;
    const struct lk_pool_options *options;
    struct lk_run_signals signals;
    struct lk_pool_counters *counters;
    char queue[LK_QUEUE_TEXT_MAX];
    pid_t workers[LK_POOL_SLOTS_MAX]; /* 0: none in this slot */
    size_t first;                     /* slot in use */
    size_t slot_count;                /* the finder's is the one behind the workers' */
    size_t living;
    enum phase phase;
    struct {
        int signal;
        bool is_from_kernel;
        int64_t until_us; /* CMD may go on; LK_NEVER: --stop-after is not given, or not begun */
    } stop;               /* the first signal */
    int end_signal;       /* that had CMD ended; 0: none did */
    int failure_code;
    uint64_t parked_before; /* items of the queue, in its life */
    unsigned deaths;        /* in a row */
    uint64_t claims_at_death;
    bool is_on_terminal;
    bool shows_progress;
    char shown[PROGRESS_TEXT_MAX];
};

/* ---- progress -------------------------------------------------------------------------------- */

/* In one write, so that a worker's line comes before or after it. */
static void write_progress(const struct pool *pool, const char *text) {
    char line[PROGRESS_LINE_MAX];
    int size = snprintf(line, sizeof line, "%s%s: %s", clear_line, pool->queue, text);

    (void)fwrite(line, 1, (size_t)size, pool->cli->err);
    (void)fflush(pool->cli->err);
}

static void show_progress(struct pool *pool) {
    char text[PROGRESS_TEXT_MAX];

    if (!pool->shows_progress) {
        return;
    }
    lk_pool_counters_describe(pool->counters, text, sizeof text);
    if (strcmp(text, pool->shown) != 0) {
        memcpy(pool->shown, text, sizeof text);
        write_progress(pool, text);
    }
}

/* Clears the line, for what is printed by other means than lk_run_status(). */
static void end_progress(struct pool *pool) {
    if (pool->shown[0] != '\0') {
        pool->shown[0] = '\0';
        (void)fputs(clear_line, pool->cli->err);
        (void)fflush(pool->cli->err);
    }
}

/* Whether CMD, which has lk's standard output, writes to the terminal that stderr is. */
static bool shares_terminal(const struct pool *pool) {
    struct stat out;
    struct stat err;

    return isatty(STDOUT_FILENO) == 1 && fstat(STDOUT_FILENO, &out) == 0
           && fstat(fileno(pool->cli->err), &err) == 0 && out.st_rdev == err.st_rdev;
}

/* The counts at the end, if there was anything to count; not behind the reason of a failure. */
static void say_summary(struct pool *pool) {
    struct lk_pool_counters *counters = pool->counters;
    char text[PROGRESS_TEXT_MAX];

    if (!pool->cli->quiet && pool->failure_code == 0
        && (atomic_load(&counters->claims) > 0 || atomic_load(&counters->announced) > 0)) {
        lk_pool_counters_summarise(counters, text, sizeof text);
        lk_run_status("ENDED", "%s: %s", pool->queue, text);
    }
}

/* ---- workers --------------------------------------------------------------------------------- */

static _Noreturn void be_worker(struct pool *pool, size_t index, pid_t parent) {
    const struct lk_pool_slot slot = {.cli = pool->cli,
                                      .options = pool->options,
                                      .signals = &pool->signals,
                                      .counters = pool->counters,
                                      .queue = pool->queue,
                                      .index = index,
                                      .is_finder = index == pool->options->workers};

    prctl(PR_SET_PDEATHSIG, LK_POOL_ORDER_END);
    /* If the parent died before prctl() took effect, getppid() differs. */
    _exit(getppid() == parent ? lk_pool_worker(&slot) : 0);
}

static bool start_worker(struct pool *pool, size_t index) {
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid == 0) {
        be_worker(pool, index, parent);
    }
    if (pid < 0) {
        return false;
    }
    pool->workers[index] = pid;
    pool->living++;
    return true;
}

static void signal_workers(const struct pool *pool, int signal) {
    for (size_t index = 0; index < pool->slot_count; index++) {
        if (pool->workers[index] > 0) {
            kill(pool->workers[index], signal);
        }
    }
}

static void set_phase(struct pool *pool, enum phase phase) {
    if (phase > pool->phase) {
        pool->phase = phase;
        signal_workers(pool, phase == STOPPING ? LK_POOL_ORDER_STOP : LK_POOL_ORDER_END);
    }
}

static void fail(struct pool *pool, int exit_code) {
    if (pool->failure_code == 0) {
        pool->failure_code = exit_code;
    }
    set_phase(pool, STOPPING);
}

static void fail_saying(struct pool *pool, const char *text) {
    end_progress(pool);
    fail(pool, lk_pool_counters_may_say_failure(pool->counters)
                   ? lk_say_failure(pool->cli, LK_INTERNAL, text)
                   : lk_outcome_exit_code(LK_INTERNAL));
}

/*
 * The worker was killed. Its guard has killed its CMD; its item is claimed again when the
 * claim has perished. Another worker takes its place.
 */
static void replace_worker(struct pool *pool, size_t index, int signal) {
    uint64_t claims = atomic_load(&pool->counters->claims);
    char text[LK_ERROR_TEXT_MAX];

    pool->deaths = claims != pool->claims_at_death ? 1 : pool->deaths + 1;
    pool->claims_at_death = claims;
    if (pool->phase != WORKING) {
        return;
    }
    if (pool->deaths > DEATHS_IN_A_ROW_MAX) {
        (void)snprintf(text, sizeof text, "workers die of signal %d before they claim anything",
                       signal);
        fail_saying(pool, text);
        return;
    }
    if (!pool->cli->quiet) {
        lk_run_status("DIED", "a worker, of signal %d; another one takes its place", signal);
    }
    if (!start_worker(pool, index)) {
        (void)snprintf(text, sizeof text, "a worker cannot be started: %s", strerror(errno));
        fail_saying(pool, text);
    }
}

static void note_end(struct pool *pool, pid_t pid, int status) {
    size_t index = 0;

    while (index < pool->slot_count && pool->workers[index] != pid) {
        index++;
    }
    if (index == pool->slot_count) {
        return; /* no worker: a guard, say, of one that was killed */
    }
    pool->workers[index] = 0;
    pool->living--;
    lk_pool_counters_clear(pool->counters, index);
    if (WIFSIGNALED(status)) {
        replace_worker(pool, index, WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        fail(pool, WEXITSTATUS(status));
    }
}

static void reap(struct pool *pool) {
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        note_end(pool, pid, status);
    }
}

/* ---- signals --------------------------------------------------------------------------------- */

static void end_commands(struct pool *pool, int signal, bool is_from_kernel) {
    if (pool->end_signal == 0) {
        lk_run_signal_ends(signal, is_from_kernel);
    }
    pool->end_signal = pool->end_signal != 0 ? pool->end_signal : signal;
    set_phase(pool, ENDING);
}

/* The first has running commands end by themselves, the next ends them; so does SIGQUIT. */
static void handle_end_signal(struct pool *pool, int signal, bool is_from_kernel) {
    if (signal == SIGQUIT || pool->phase != WORKING) {
        end_commands(pool, signal, is_from_kernel);
        return;
    }
    pool->stop.signal = signal;
    pool->stop.is_from_kernel = is_from_kernel;
    if (pool->options->stop_after_ms >= 0) {
        pool->stop.until_us = lk_clock_now_us() + pool->options->stop_after_ms * 1000;
    }
    set_phase(pool, STOPPING);
    if (pool->is_on_terminal) {
        lk_run_status("STOPPING", "what runs may end; once more to end it now");
    }
}

/* --stop-after: the commands have had their time. */
static void handle_stop_end(struct pool *pool) {
    if (pool->phase == STOPPING && lk_clock_now_us() >= pool->stop.until_us) {
        end_commands(pool, pool->stop.signal, pool->stop.is_from_kernel);
    }
}

static void handle_signals(struct pool *pool) {
    bool is_from_kernel;
    int signal;

    while ((signal = lk_run_signals_next_from(&pool->signals, &is_from_kernel)) != 0) {
        switch (signal) {
        case SIGCHLD:
            reap(pool);
            break;
        case SIGTSTP:
            signal_workers(pool, SIGTSTP);
            if (lk_run_signals_stop_here(false)) {
                signal_workers(pool, SIGCONT);
            }
            break;
        case SIGCONT:
            signal_workers(pool, SIGCONT);
            break;
        case SIGTERM:
        case SIGINT:
        case SIGHUP:
        case SIGALRM:
        case SIGQUIT:
            handle_end_signal(pool, signal, is_from_kernel);
            break;
        default:
            break;
        }
    }
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Checks whether the store is reachable and keeps work: reported once, before workers start. */
static lk_outcome ask_counts(const struct pool *pool, lk_queue_stats *ret_stats, bool *ret_stuck,
                             lk_error *error) {
    lk_store *store;
    lk_outcome outcome = lk_run_open(pool->options->store_url, LK_FOREVER, &store, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_cli_check_shared(store, error);
    if (outcome == LK_OK) {
        outcome = lk_stats(store, pool->queue, ret_stats, error);
    }
    if (outcome == LK_OK && ret_stuck != NULL) {
        *ret_stuck = ret_stats->ready_now > 0 && ret_stats->parked_now > 0
                     && lk_queue_is_stuck(store, pool->queue);
    }
    if (outcome == LK_OK && pool->counters == NULL && !pool->cli->quiet) {
        lk_warn_of_eviction(store, LK_FOREVER); /* once, at the start */
    }
    lk_close(store);
    return outcome;
}

/* The queue's path, which a table may have to give, and whether there is such a table. */
static lk_outcome find_queue(struct pool *pool, lk_error *error) {
    const struct lk_pool_options *options = pool->options;
    lk_store *store;
    lk_outcome outcome;

    if (options->table == NULL) {
        (void)snprintf(pool->queue, sizeof pool->queue, "%s", options->queue);
        return LK_OK;
    }
    outcome = lk_run_open(options->store_url, LK_FOREVER, &store, error);
    if (outcome == LK_OK) {
        outcome = lk_table_check(store, options->queue, options->table, pool->queue, error);
        lk_close(store);
    }
    return outcome;
}

/* R17: whether the finder is left alone. */
static bool has_only_finder(const struct pool *pool) {
    return pool->first == 0 && pool->slot_count > pool->options->workers && pool->living == 1
           && pool->workers[pool->options->workers] > 0;
}

/*
 * R17: beside workers, the finder ends with the last of them. They may have found the queue drained
 * before the finder has looked at it: its first round is awaited.
 */
static void dismiss_finder(const struct pool *pool) {
    if (has_only_finder(pool) && atomic_load(&pool->counters->is_announcing)) {
        kill(pool->workers[pool->options->workers], LK_POOL_ORDER_STOP);
    }
}

/*
 * How long until the progress is to be shown, the finder may be dismissed, or commands are to be
 * ended; -1: none of them. Sleeps do not count the time that the machine is suspended.
 */
static int pause_ms(const struct pool *pool) {
    if (has_only_finder(pool)) {
        return FINDER_INTERVAL_MS;
    }
    if (pool->phase == STOPPING && pool->stop.until_us != LK_NEVER) {
        int64_t left_ms = (pool->stop.until_us - lk_clock_now_us()) / 1000 + 1;
        return (int)lk_max(0, lk_min(left_ms, PROGRESS_INTERVAL_MS));
    }
    return pool->shows_progress ? PROGRESS_INTERVAL_MS : -1;
}

/* R16: ready items are left, for the order that a parked one keeps. */
static void tell_stuck(const struct pool *pool, const lk_queue_stats *stats) {
    lk_run_status(
        "HINT",
        "%s: %llu ready items wait for the order of a parked one (lk items %s); lk unpark "
        "or lk drop lets them go on",
        pool->queue, (unsigned long long)stats->ready_now, pool->queue);
}

/*
 * What the queue's own counts say at the end: the hint at too many workers or too short a ttl; and
 * whether an item was parked meanwhile, also by the death of a worker. Returns the latter.
 */
static bool look_at_counts(const struct pool *pool) {
    bool has_parked = atomic_load(&pool->counters->parked) > 0;
    bool may_hint = !pool->cli->quiet && atomic_load(&pool->counters->claims) > 0;
    bool is_stuck = false;
    lk_queue_stats stats;

    if ((!may_hint && !pool->options->drain)
        || ask_counts(pool, &stats, pool->options->drain ? &is_stuck : NULL, NULL) != LK_OK) {
        return has_parked;
    }
    const char *hint = may_hint ? lk_stats_hint(&stats) : NULL;
    if (hint != NULL) {
        lk_run_status("HINT", "%s", hint);
    }
    if (is_stuck && !pool->cli->quiet) {
        tell_stuck(pool, &stats);
    }
    return has_parked || is_stuck || stats.parked > pool->parked_before;
}

static void run_workers(struct pool *pool) {
    struct pollfd news = {.fd = pool->signals.descriptor, .events = POLLIN};

    for (size_t index = pool->first; index < pool->slot_count; index++) {
        if (!start_worker(pool, index)) {
            fail_saying(pool, "the system has no room for so many workers");
            break;
        }
    }
    while (pool->living > 0) {
        (void)poll(&news, 1, pause_ms(pool));
        handle_signals(pool);
        handle_stop_end(pool);
        dismiss_finder(pool);
        show_progress(pool);
    }
    end_progress(pool);
}

static int conclude(const struct pool *pool, bool has_parked) {
    if (pool->failure_code != 0) {
        return pool->failure_code;
    }
    if (pool->end_signal != 0) {
        return LK_RUN_EXIT_SIGNAL + pool->end_signal;
    }
    return pool->options->drain && has_parked ? LK_POOL_EXIT_PARKED : 0;
}

int lk_cli_pool(const struct lk_cli *cli, const struct lk_pool_options *options) {
    struct pool pool = {.cli = cli,
                        .options = options,
                        .signals.descriptor = -1,
                        .stop.until_us = LK_NEVER,
                        .is_on_terminal = !cli->quiet && isatty(fileno(cli->err)) == 1};
    struct lk_own_store own = lk_own_store_find(options->store_url);
    lk_queue_stats stats;
    lk_error error;

    pool.first =
        options->table != NULL && options->loops == LK_WORK_ANNOUNCES ? options->workers : 0;
    pool.slot_count =
        options->workers + (options->table != NULL && options->loops != LK_WORK_CLAIMS);
    if (find_queue(&pool, &error) != LK_OK || ask_counts(&pool, &stats, NULL, &error) != LK_OK) {
        lk_own_store_done(&own);
        return lk_say_failure(cli, error.outcome, error.text);
    }
    if (!cli->quiet) {
        lk_own_store_say_new(&own, cli->err);
    }
    lk_own_store_done(&own);
    pool.parked_before = stats.parked;
    pool.shows_progress =
        pool.is_on_terminal && (options->loops == LK_WORK_ANNOUNCES || !shares_terminal(&pool));
    if (pool.shows_progress) {
        lk_run_status_begin_with(clear_line);
    }
    /* If these were ignored, the orders would not reach the workers. */
    (void)signal(LK_POOL_ORDER_STOP, SIG_DFL);
    (void)signal(LK_POOL_ORDER_END, SIG_DFL);
    pool.counters = lk_pool_counters_new();
    if (pool.counters == NULL || !lk_run_signals_open(&pool.signals)) {
        lk_pool_counters_free(pool.counters);
        (void)lk_run_explain_lack("the workers cannot be started", &error);
        return lk_say_failure(cli, error.outcome, error.text);
    }
    run_workers(&pool);
    say_summary(&pool);
    bool has_parked = look_at_counts(&pool);
    close(pool.signals.descriptor);
    lk_pool_counters_free(pool.counters);
    return conclude(&pool, has_parked);
}

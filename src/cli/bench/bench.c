/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk bench: what acquire and release cost against a store, as its users have it.
 *
 * Each client is a thread with a store and an owner of its own, and does nothing but acquire and
 * release until the time is up. All keys are below one fresh path, so that they conflict with no
 * other lock. The leases of a killed bench perish by their ttl.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "cli/print/say.h"
#include "form/form.h"

/* ---- how long things took -------------------------------------------------------------------- */

/* How long things took: counted in narrow buckets, so that any number of them takes one size. */

enum {
    HISTOGRAM_STEPS = 32, /* buckets for each doubling */
    HISTOGRAM_DOUBLINGS = 36,
    HISTOGRAM_BUCKETS = HISTOGRAM_STEPS * HISTOGRAM_DOUBLINGS,
};

/* Zeroed it is empty. */
struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t count;
    int64_t max;
};

static unsigned bucket_of(int64_t value) {
    uint64_t bits = value > 0 ? (uint64_t)value : 0;
    unsigned shift = 0;
    unsigned bucket;

    while (bits >> shift >= 2 * HISTOGRAM_STEPS) {
        shift++;
    }
    /* From here on bits >> shift is below two times the steps, and from the first shift on it is
     * at least once the steps. */
    bucket = shift * HISTOGRAM_STEPS + (unsigned)(bits >> shift);
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The greatest value that falls into it. */
static int64_t top_of(unsigned bucket) {
    unsigned shift = bucket < 2 * HISTOGRAM_STEPS ? 0 : bucket / HISTOGRAM_STEPS - 1;
    uint64_t first = bucket - shift * HISTOGRAM_STEPS;

    return (int64_t)(((first + 1) << shift) - 1);
}

static void histogram_add(struct histogram *histogram, int64_t value) {
    histogram->counts[bucket_of(value)]++;
    histogram->count++;
    if (value > histogram->max) {
        histogram->max = value;
    }
}

static void histogram_merge(struct histogram *histogram, const struct histogram *other) {
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        histogram->counts[i] += other->counts[i];
    }
    histogram->count += other->count;
    if (other->max > histogram->max) {
        histogram->max = other->max;
    }
}

/* What `share` (0 to 1) of all are at or below, up to a bucket's width above; 0: there is none. */
static int64_t histogram_at(const struct histogram *histogram, double share) {
    uint64_t wanted = (uint64_t)(share * (double)histogram->count);
    uint64_t seen = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->counts[i];
        if (seen > wanted) {
            int64_t top = top_of(i);
            return top < histogram->max ? top : histogram->max;
        }
    }
    return histogram->max;
}

/* ---- the bench ------------------------------------------------------------------------------- */

enum { CLIENTS_DEFAULT = 1, SECONDS_DEFAULT = 5, TTL_MS = 10000, PART_BYTES = 96 };

/* In the order of the choices of --pattern. */
enum pattern { PATTERN_MANY, PATTERN_ONE, PATTERN_SHARED, PATTERN_LIMIT };

/* What all clients share. */
struct bench {
    enum pattern pattern;
    unsigned client_count;
    int64_t end_us;           /* on lk_clock_now_us() */
    char root[32];            /* the path that all keys are below */
    _Atomic int64_t freed_us; /* PATTERN_ONE: when the last release was sent; 0: since taken */
    _Atomic bool has_granted; /* to any client */
    _Atomic bool is_over;     /* a client failed */
};

struct client {
    struct bench *bench;
    unsigned number;
    pthread_t thread;
    lk_store *store;
    lk_error error; /* why it gave up; LK_OK: the time was up */
    struct histogram acquires_us;
    struct histogram releases_us;
    struct histogram handoffs_us;
};

/* ---- one client ------------------------------------------------------------------------------ */

static void write_part(const struct client *client, char ret_part[PART_BYTES]) {
    const struct bench *bench = client->bench;

    switch (bench->pattern) {
    case PATTERN_MANY:
        (void)snprintf(ret_part, PART_BYTES, "%s/%u", bench->root, client->number);
        break;
    case PATTERN_ONE:
        (void)snprintf(ret_part, PART_BYTES, "%s/key", bench->root);
        break;
    case PATTERN_SHARED:
        (void)snprintf(ret_part, PART_BYTES, "%s/key?shared", bench->root);
        break;
    case PATTERN_LIMIT:
        (void)snprintf(ret_part, PART_BYTES, "%s/key?limit=%u", bench->root,
                       (bench->client_count + 1) / 2);
        break;
    }
}

/* The first grant after a release that another client waited for is a hand-off. */
static void note_grant(struct client *client, int64_t asked_us, int64_t now_us) {
    int64_t freed_us = atomic_exchange(&client->bench->freed_us, 0);

    atomic_store(&client->bench->has_granted, true);
    histogram_add(&client->acquires_us, now_us - asked_us);
    if (freed_us > asked_us) {
        histogram_add(&client->handoffs_us, now_us - freed_us);
    }
}

/*
 * Whether the time was up while the client waited: for the lease, or for its turn to write in a
 * file that other clients wrote in meanwhile. A store that served no client is away.
 */
static bool is_time_up(const struct bench *bench, lk_outcome outcome, int64_t now_us) {
    return outcome == LK_TIMEOUT
           || (outcome == LK_UNAVAILABLE && now_us >= bench->end_us
               && atomic_load(&bench->has_granted));
}

/* One acquire and its release. Returns whether to go on. */
static bool do_pair(struct client *client, lk_request *request) {
    struct bench *bench = client->bench;
    int64_t asked_us = lk_clock_now_us();
    int64_t now_us;
    lk_result *result = NULL;
    uint64_t token;
    lk_outcome outcome;

    request->wait_ms = (bench->end_us - asked_us + 999) / 1000;
    if (asked_us >= bench->end_us || atomic_load(&bench->is_over)) {
        return false;
    }
    outcome = lk_ask(client->store, request, &result, &client->error);
    now_us = lk_clock_now_us();
    token = result != NULL ? result->token : 0;
    lk_result_free(result);
    if (is_time_up(bench, outcome, now_us)) {
        client->error.outcome = LK_OK;
        return false;
    }
    if (outcome != LK_GRANTED) {
        return false;
    }
    note_grant(client, asked_us, now_us);
    now_us = lk_clock_now_us();
    atomic_store(&bench->freed_us, bench->pattern == PATTERN_ONE ? now_us : 0);
    outcome = lk_release(client->store, request, token, NULL, &client->error);
    histogram_add(&client->releases_us, lk_clock_now_us() - now_us);
    return outcome == LK_OK;
}

static void *run_client(void *context) {
    struct client *client = context;
    char owner[129];
    char part[PART_BYTES];
    const char *parts[] = {part};
    lk_request request = lk_request_init(parts, 1);

    lk_owner_make(owner);
    write_part(client, part);
    request.owner = owner;
    request.ttl_ms = TTL_MS;
    request.blockers_max = 0;
    while (do_pair(client, &request)) {
    }
    if (client->error.outcome != LK_OK) {
        atomic_store(&client->bench->is_over, true);
    }
    return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Returns how many are running. */
static unsigned start(struct client *clients, struct bench *bench) {
    unsigned count = 0;

    while (count < bench->client_count
           && lk_thread_start(&clients[count].thread, run_client, &clients[count])) {
        count++;
    }
    if (count < bench->client_count) {
        atomic_store(&bench->is_over, true);
        (void)snprintf(clients[count].error.text, sizeof clients[count].error.text,
                       "the system has no more threads than %u", count);
        clients[count].error.outcome = LK_INTERNAL;
    }
    return count;
}

/* LK_OK: they have run until the time was up; else what the first of them gave up for. */
static lk_outcome run_all(struct client *clients, struct bench *bench, int64_t duration_us,
                          lk_error *error) {
    unsigned count;

    bench->end_us = lk_clock_now_us() + duration_us;
    count = start(clients, bench);
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(clients[i].thread, NULL);
    }
    for (unsigned i = 0; i < bench->client_count; i++) {
        if (clients[i].error.outcome != LK_OK) {
            return lk_error_copy(error, &clients[i].error);
        }
    }
    return LK_OK;
}

static lk_outcome open_stores(struct client *clients, struct bench *bench, const char *url,
                              lk_error *error) {
    for (unsigned i = 0; i < bench->client_count; i++) {
        lk_outcome outcome = lk_open(url, &clients[i].store, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        clients[i].bench = bench;
        clients[i].number = i;
    }
    return LK_OK;
}

/* ---- the report ------------------------------------------------------------------------------ */

struct figures {
    const char *name;
    const struct histogram *times_us;
};

static void write_times(struct lk_form_writer *form, const struct figures *figures) {
    const struct histogram *times_us = figures->times_us;

    lk_form_open_map(form, figures->name);
    lk_form_add_count(form, "count", times_us->count);
    lk_form_add_number(form, "p50", histogram_at(times_us, 0.5));
    lk_form_add_number(form, "p90", histogram_at(times_us, 0.9));
    lk_form_add_number(form, "p99", histogram_at(times_us, 0.99));
    lk_form_add_number(form, "max", times_us->max);
    lk_form_close(form);
}

static const char *name_of(enum pattern pattern) {
    return lk_option_at(LK_OPTION_PATTERN)->choices[pattern];
}

static int say_json(const struct lk_cli *cli, const struct bench *bench, double seconds,
                    const struct figures *figures) {
    uint64_t pairs = figures[0].times_us->count;
    struct lk_object object;
    struct lk_form_writer *form = lk_object_begin(&object);

    lk_form_open_answer(form, LK_OK);
    lk_form_add_text(form, "pattern", name_of(bench->pattern));
    lk_form_add_number(form, "clients", bench->client_count);
    lk_form_add_real(form, "seconds", seconds);
    lk_form_add_count(form, "pairs", pairs);
    lk_form_add_real(form, "pairs_per_s", (double)pairs / seconds);
    for (; figures->name != NULL; figures++) {
        if (figures->times_us->count > 0) {
            write_times(form, figures);
        }
    }
    lk_form_close(form);
    return lk_say_object(cli, LK_OK, &object);
}

static int say(const struct lk_cli *cli, const struct bench *bench, double seconds,
               const struct figures *figures) {
    if (cli->json) {
        return say_json(cli, bench, seconds, figures);
    }
    (void)fprintf(cli->out, "%s: %u client%s, %.1f s\n%.0f pairs/s\n", name_of(bench->pattern),
                  bench->client_count, bench->client_count == 1 ? "" : "s", seconds,
                  (double)figures[0].times_us->count / seconds);
    for (; figures->name != NULL; figures++) {
        const struct histogram *times_us = figures->times_us;
        if (times_us->count > 0) {
            (void)fprintf(cli->out,
                          "%-11s  p50 %" PRId64 "  p90 %" PRId64 "  p99 %" PRId64 "  max %" PRId64
                          "\n",
                          figures->name, histogram_at(times_us, 0.5), histogram_at(times_us, 0.9),
                          histogram_at(times_us, 0.99), times_us->max);
        }
    }
    return 0;
}

/* The first client's histograms take in all others'. */
static int report(const struct lk_cli *cli, struct client *clients, const struct bench *bench,
                  double seconds) {
    const struct figures figures[] = {{"acquire_us", &clients[0].acquires_us},
                                      {"release_us", &clients[0].releases_us},
                                      {"handoff_us", &clients[0].handoffs_us},
                                      {NULL, NULL}};

    for (unsigned i = 1; i < bench->client_count; i++) {
        histogram_merge(&clients[0].acquires_us, &clients[i].acquires_us);
        histogram_merge(&clients[0].releases_us, &clients[i].releases_us);
        histogram_merge(&clients[0].handoffs_us, &clients[i].handoffs_us);
    }
    return say(cli, bench, seconds, figures);
}

int lk_cli_bench(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct bench bench = {
        .pattern = (enum pattern)lk_command_line_number(line, LK_OPTION_PATTERN, PATTERN_MANY),
        .client_count = (unsigned)lk_command_line_number(line, LK_OPTION_CLIENTS, CLIENTS_DEFAULT),
    };
    int64_t duration_us =
        lk_command_line_number(line, LK_OPTION_SECONDS, SECONDS_DEFAULT * 1000) * 1000;
    struct client *clients = calloc(bench.client_count, sizeof *clients);
    lk_error error;
    lk_outcome outcome;
    int exit_code;

    if (clients == NULL) {
        return lk_say_failure(cli, LK_INTERNAL, "no memory for so many clients");
    }
    (void)snprintf(bench.root, sizeof bench.root, "lk-bench-%016" PRIx64, lk_random_draw());
    outcome = open_stores(clients, &bench, lk_command_line_text(line, LK_OPTION_STORE), &error);
    if (outcome == LK_OK) {
        outcome = run_all(clients, &bench, duration_us, &error);
    }
    exit_code = outcome == LK_OK ? report(cli, clients, &bench, (double)duration_us / 1e6)
                                 : lk_say_failure(cli, outcome, error.text);
    for (unsigned i = 0; i < bench.client_count; i++) {
        lk_close(clients[i].store);
    }
    free(clients);
    return exit_code;
}

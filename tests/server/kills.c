/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real service, killed with SIGKILL at random moments under load, and started again on the same
 * directory; real clients over its socket.
 *
 * Each worker acquires one of a few counters with its value, checks that no other worker holds it,
 * and puts the value plus one with the release, which it repeats (R3) as long as the result is
 * unknown. So at the end every counter is exactly the number of times it was counted up:
 * nothing that was acknowledged is lost, nothing is done twice, nothing granted twice.
 * Between kills the same is pushed as work, which has to be done once for each push.
 *
 * LK_TEST_SEED: the moments of the kills. LK_TEST_SCALE: percent of the kills.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "lockkeeper/work.h"
#include "server/options.h"

enum { WORKERS = 6, COUNTERS = 3, KILLS = 12, PATH_BYTES = 300, PATIENCE_MS = 600000 };

struct scene {
    char directory[128];
    char socket[PATH_BYTES];
    char url[PATH_BYTES];
    pid_t service;
    atomic_bool is_over;
    atomic_int holder[COUNTERS]; /* the worker that has the lease, plus 1; 0: none */
    atomic_uint_fast64_t token[COUNTERS];
    atomic_uint_fast64_t counted[COUNTERS];
    atomic_uint_fast64_t pushed;
    atomic_uint_fast64_t unknown; /* pushes that may have taken effect, and were repeated */
    atomic_uint_fast64_t done;
    atomic_int wrong;
    char complaint[256];
};

struct worker {
    struct scene *scene;
    int number;
    pthread_t thread;
};

static void complain(struct scene *scene, const char *what, int counter, uint64_t one,
                     uint64_t other) {
    if (atomic_exchange(&scene->wrong, 1) == 0) {
        (void)snprintf(scene->complaint, sizeof scene->complaint,
                       "%s: counter %d, %" PRIu64 " and %" PRIu64, what, counter, one, other);
    }
}

/* ---- the service ----------------------------------------------------------------------------- */

static void tell_ready(void *context, const char *resp_address, const char *unix_address,
                       const char *http_address) {
    const int *descriptor = context;

    (void)resp_address;
    (void)unix_address;
    (void)http_address;
    (void)!write(*descriptor, "r", 1);
    (void)close(*descriptor);
}

/* This program again, as `kills DIRECTORY ADDRESS`: the service, which says on stdout that it is
 * ready. */
static int serve(const char *directory, const char *address) {
    int descriptor = STDOUT_FILENO;
    const struct lk_server_options options = {
        .directory = directory,
        .resp_listen = address,
        .ready = tell_ready,
        .context = &descriptor,
    };
    lk_error error;

    if (lk_server_run(&options, &error) == LK_OK) {
        return 0;
    }
    (void)fprintf(stderr, "# the service: %s\n", error.text);
    return 1;
}

/* In a process of its own; returns once it answers. false: it did not begin. */
static bool start_service(struct scene *scene) {
    int ends[2];
    char byte;
    bool is_ready;

    if (pipe(ends) != 0) {
        return false;
    }
    scene->service = fork();
    if (scene->service == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execl("/proc/self/exe", "kills", scene->directory, scene->socket, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    is_ready = scene->service > 0 && read(ends[0], &byte, 1) == 1;
    (void)close(ends[0]);
    return is_ready;
}

static bool end_service(struct scene *scene, int number) {
    int status = 0;

    (void)kill(scene->service, number);
    (void)waitpid(scene->service, &status, 0);
    return number == SIGKILL || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- workers --------------------------------------------------------------------------------- */

/* While it is unknown whether it took effect, the same again. */
static bool goes_on(lk_outcome outcome) {
    return outcome == LK_UNAVAILABLE;
}

/* One more, by a worker that has the lease. */
static void count_up(struct worker *worker, lk_store *store, lk_request *request, int counter,
                     const lk_result *result) {
    struct scene *scene = worker->scene;
    uint64_t value = result->value != NULL ? strtoull(result->value, NULL, 10) : 0;
    uint64_t counted = atomic_load(&scene->counted[counter]);
    uint64_t last = atomic_exchange(&scene->token[counter], result->token);
    int none = 0;
    char text[32];
    lk_outcome outcome;

    if (!atomic_compare_exchange_strong(&scene->holder[counter], &none, worker->number + 1)) {
        complain(scene, "two hold it", counter, (uint64_t)none, (uint64_t)worker->number + 1);
    }
    if (result->token <= last) {
        complain(scene, "its token did not rise", counter, last, result->token);
    }
    if (value != counted) {
        complain(scene, "acknowledged and lost, or done twice", counter, counted, value);
    }
    (void)snprintf(text, sizeof text, "%" PRIu64, value + 1);
    atomic_store(&scene->counted[counter], value + 1);
    atomic_store(&scene->holder[counter], 0);
    do {
        outcome = lk_release_put(store, request, result->token, text, strlen(text), NULL, NULL);
    } while (goes_on(outcome));
    if (outcome != LK_OK) {
        complain(scene, lk_outcome_name(outcome), counter, result->token, value);
    }
}

static void take_counter(struct worker *worker, lk_store *store, struct lk_random *random) {
    int counter = (int)lk_random_between(random, 0, COUNTERS - 1);
    char owner[32];
    char path[32];
    const char *parts[] = {path};
    lk_request request = lk_request_init(parts, 1);
    lk_result *result = NULL;
    lk_outcome outcome;

    (void)snprintf(path, sizeof path, "counter/%d", counter);
    (void)snprintf(owner, sizeof owner, "worker-%d", worker->number);
    request.owner = owner;
    request.value = true;
    do {
        lk_result_free(result);
        outcome = lk_ask(store, &request, &result, NULL);
    } while (goes_on(outcome));
    if (outcome == LK_GRANTED) {
        count_up(worker, store, &request, counter, result);
    } else {
        complain(worker->scene, lk_outcome_name(outcome), counter, 0, 0);
    }
    lk_result_free(result);
}

/*
 * A push that is repeated adds the item once more if it took effect at first and the item has been
 * done meanwhile: R16 keeps ids apart only as long as their items are there.
 */
static void push_work(struct worker *worker, lk_store *store) {
    struct scene *scene = worker->scene;
    char id[64];
    lk_push_request request = {.size = sizeof request, .queue = "work", .id = id};
    lk_outcome outcome;

    (void)snprintf(id, sizeof id, "%d-%" PRIuFAST64, worker->number,
                   atomic_fetch_add(&scene->pushed, 1));
    outcome = lk_push(store, &request, NULL, NULL);
    while (goes_on(outcome)) {
        atomic_fetch_add(&scene->unknown, 1);
        outcome = lk_push(store, &request, NULL, NULL);
    }
    if (outcome != LK_OK) {
        complain(scene, lk_outcome_name(outcome), -1, 0, 0);
    }
}

/* Claims one item and finishes it. false: there is none. It is patient: a claim that it gave up,
 * not knowing whether it had taken effect, would keep its item from all workers for a minute. */
static bool do_work(struct scene *scene, lk_store *store) {
    const lk_claim_request request = {
        .size = sizeof request, .queue = "work", .wait_ms = 0, .patience_ms = PATIENCE_MS};
    lk_claim_info *claim = NULL;
    lk_outcome outcome;

    do {
        outcome = lk_claim_next(store, &request, &claim, NULL);
    } while (goes_on(outcome));
    if (outcome != LK_GRANTED) {
        return false;
    }
    do {
        outcome = lk_done(store, "work", claim->id, claim->owner, claim->token, NULL);
    } while (goes_on(outcome));
    if (outcome == LK_OK) {
        atomic_fetch_add(&scene->done, 1);
    } else {
        complain(scene, lk_outcome_name(outcome), -1, claim->token, 0);
    }
    lk_claim_free(claim);
    return true;
}

/* However often it is killed meanwhile. */
static lk_store *open_store(struct scene *scene) {
    lk_store *store = NULL;
    lk_outcome outcome;

    do {
        outcome = lk_open(scene->url, &store, NULL);
    } while (goes_on(outcome));
    if (outcome != LK_OK) {
        complain(scene, lk_outcome_name(outcome), -1, 0, 0);
        return NULL;
    }
    return store;
}

static void *run_worker(void *argument) {
    struct worker *worker = argument;
    struct lk_random random = {.state = (uint64_t)worker->number};
    lk_store *store = open_store(worker->scene);

    while (store != NULL && !atomic_load(&worker->scene->is_over)
           && atomic_load(&worker->scene->wrong) == 0) {
        take_counter(worker, store, &random);
        if (lk_random_between(&random, 0, 3) == 0) {
            push_work(worker, store);
        } else if (lk_random_between(&random, 0, 3) == 0) {
            (void)do_work(worker->scene, store);
        }
    }
    lk_close(store);
    return NULL;
}

/* ---- the story ------------------------------------------------------------------------------- */

static void pass_us(int64_t duration_us) {
    const struct timespec duration = {.tv_sec = duration_us / 1000000,
                                      .tv_nsec = duration_us % 1000000 * 1000};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL);
}

/* What is left of the work is done; what was pushed and what was done are as many. */
static void check_work(struct scene *scene) {
    lk_store *store = open_store(scene);
    uint64_t pushed = atomic_load(&scene->pushed);
    lk_queue_stats stats = {0};

    if (store == NULL) {
        return;
    }
    while (do_work(scene, store)) {
    }
    if (lk_stats(store, "work", &stats, NULL) != LK_OK || stats.done != stats.pushed) {
        complain(scene, "pushed and done differ", -1, stats.pushed, stats.done);
    }
    if (stats.pushed < pushed || stats.pushed > pushed + atomic_load(&scene->unknown)) {
        complain(scene, "a push is lost, or was done twice", -1, pushed, stats.pushed);
    }
    lk_close(store);
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t sum_counted(struct scene *scene) {
    uint64_t counted = 0;

    for (int i = 0; i < COUNTERS; i++) {
        counted += atomic_load(&scene->counted[i]);
    }
    return counted;
}

/* A busy machine may take longer to begin than all kills last. */
static void await_first_count(struct scene *scene) {
    for (int ms = 0; sum_counted(scene) == 0 && atomic_load(&scene->wrong) == 0; ms++) {
        if (ms == PATIENCE_MS) {
            complain(scene, "nothing is counted", -1, 0, 0);
        }
        pass_us(1000);
    }
}

static bool run_kills(struct scene *scene, struct lk_random *random, uint64_t kills) {
    for (uint64_t i = 0; i < kills && atomic_load(&scene->wrong) == 0; i++) {
        /* The moment of the kill: nothing is waited for. */
        pass_us(lk_random_between(random, 1000, 400000));
        (void)end_service(scene, SIGKILL);
        if (!start_service(scene)) {
            complain(scene, "the service does not start again", -1, i, 0);
            return false;
        }
    }
    return true;
}

static void remove_directory(const struct scene *scene) {
    static const char *const names[] = {"locks.db", "locks.db-wal", "locks.db-shm",
                                        "locks.db-served", "socket"};
    char path[PATH_BYTES];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", scene->directory, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(scene->directory);
}

int main(int argc, char **argv) {
    static struct scene scene;
    static struct worker workers[WORKERS];
    uint64_t seed = number_of("LK_TEST_SEED", lk_random_draw() >> 32);
    uint64_t kills = KILLS * number_of("LK_TEST_SCALE", 100) / 100;
    struct lk_random random = {.state = seed};
    const char *temporary = getenv("TMPDIR");
    uint64_t counted;

    if (argc == 3) {
        return serve(argv[1], argv[2]);
    }
    (void)printf("# LK_TEST_SEED=%" PRIu64 "\n", seed);
    (void)fflush(stdout);
    (void)snprintf(scene.directory, sizeof scene.directory, "%s/lk-kills-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(scene.directory) == NULL) {
        return 1;
    }
    (void)snprintf(scene.socket, sizeof scene.socket, "unix:%s/socket", scene.directory);
    (void)snprintf(scene.url, sizeof scene.url, "lk+unix:%s/socket", scene.directory);
    if (!start_service(&scene)) {
        complain(&scene, "the service does not start", -1, 0, 0);
    }
    for (int i = 0; i < WORKERS && atomic_load(&scene.wrong) == 0; i++) {
        workers[i] = (struct worker){.scene = &scene, .number = i};
        (void)pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
    }
    await_first_count(&scene);
    (void)run_kills(&scene, &random, kills > 0 ? kills : 1);
    atomic_store(&scene.is_over, true);
    for (int i = 0; i < WORKERS && workers[i].scene != NULL; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    if (atomic_load(&scene.wrong) == 0) {
        check_work(&scene);
    }
    if (scene.service > 0 && !end_service(&scene, SIGTERM)) {
        complain(&scene, "SIGTERM does not end the service with 0", -1, 0, 0);
    }
    counted = sum_counted(&scene);
    (void)printf("# %" PRIu64 " counted, %" PRIuFAST64 " items done\n", counted,
                 atomic_load(&scene.done));
    if (atomic_load(&scene.wrong) != 0) {
        (void)printf("# %s\n# the store is left in %s\n", scene.complaint, scene.directory);
    } else {
        remove_directory(&scene);
    }
    (void)printf("%s 1 - killed under load, nothing acknowledged is lost or done twice\n1..1\n",
                 atomic_load(&scene.wrong) == 0 && counted > 0 ? "ok" : "not ok");
    return atomic_load(&scene.wrong) == 0 && counted > 0 ? 0 : 1;
}

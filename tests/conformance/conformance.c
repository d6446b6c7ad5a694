/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance runner: every scenario on every store, each in a process of its own, several at
 * a time because most of their time is pauses.
 *
 *     conformance [--jobs N] [--only TEXT] [--matrix FILE] [--before PROGRAM] [--empty PROGRAM]
 *                 --store URL... FILE.scenario...
 *
 * Prints a line of TAP for each, and the matrix of stores by rules, which --matrix also writes.
 * {fresh} in a URL is replaced by a path, {name} by a word, that no other scenario of the run is
 * given; --before names a program that makes the store fresh, or makes what {name} is the name of:
 * $LK_TEST_NAME there. Without {name} in each URL one scenario plays at a time then. --empty names
 * a program that empties the store of $LK_TEST_NAME: a process then plays one scenario after the
 * other on one store, with the handles that it has, because to make the store of a database, and to
 * compile its procedures in each session, takes longer than to play. With --serve the program LK is
 * started as a service at lk+unix:{fresh}, or, to be spoken to over HTTP, at http+unix:{fresh}, one
 * for each scenario. Exit code 0: all passed or are unsupported by declaration; 1: something
 * failed; 2: bad arguments or files.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../service/launch.h"
#include "base/clock.h"
#include "client/store.h"
#include "engine/engine.h"
#include "play.h"
#include "playback.h"
#include "scenario.h"

enum {
    TARGETS_MAX = 16,
    FILES_MAX = 64,
    PLAYED_MAX = 4096,
    JOBS_MAX = 64,
    JOBS_DEFAULT = 8,
    STRETCH_MAX = 16,
    SECONDS_MAX = 240, /* for one scenario, replays included */
    URL_MAX = 1024,
    FILE_BYTES_MAX = 1 << 20,
};

#define OPEN_US INT64_C(20000000)

struct run {
    struct target targets[TARGETS_MAX];
    size_t target_count;
    struct scenario_file *files;
    size_t file_count;
    struct played played[PLAYED_MAX];
    size_t played_count;
    size_t jobs;
    size_t lines;       /* of TAP */
    const char *only;   /* NULL: all; else scenarios whose name or file contains it */
    const char *matrix; /* NULL: printed only */
    const char *serve;  /* NULL: services are there already */
    const char *before; /* NULL: none */
    const char *empty;  /* NULL: each scenario has a store, and a process, of its own */
    bool is_bad;        /* a child has ended badly behind its last scenario */
    char folder[64];    /* where {fresh} names live */
};

/* A child, and the scenario that it plays. */
struct job {
    pid_t child; /* 0: none */
    bool is_busy;
    size_t played;
    FILE *report; /* shared with the child, which has written when its verdict comes */
    int orders;   /* to it: the scenario's number */
    int verdicts; /* from it: a byte each */
};

/* In a child: the store that it plays on again, once it is emptied. */
struct keeping {
    bool is_open;
    char name[64];
    char url[URL_MAX];
    struct handles handles;
};

/* ---- arguments and files --------------------------------------------------------------------- */

/* What the very store can: with several nodes that may be less than what its kind can (R14). */
static bool capabilities_find(const struct lk_engine_ops *ops, struct lk_slice rest,
                              unsigned *ret_can) {
    struct lk_patience patience = {.until_us = lk_clock_now_us() + OPEN_US};
    struct lk_engine *engine = NULL;
    lk_error error;

    *ret_can = lk_engine_capabilities(ops);
    if (ops->node_of == NULL) {
        return true;
    }
    if (ops->open(rest, &patience, &engine, &error) != LK_OK) {
        fprintf(stderr, "conformance: %s\n", error.text);
        return false;
    }
    *ret_can = lk_engine_status(engine).capabilities;
    ops->close(engine);
    return true;
}

static bool target_add(struct run *run, const char *url) {
    if (run->target_count == TARGETS_MAX) {
        fprintf(stderr, "conformance: more than %d stores\n", TARGETS_MAX);
        return false;
    }
    const struct lk_engine_ops *ops;
    struct lk_slice rest;
    lk_error error;
    if (lk_store_engine_of(url, &ops, &rest, &error) != LK_OK) {
        fprintf(stderr, "conformance: %s: %s\n", url, error.text);
        return false;
    }
    struct target *target = &run->targets[run->target_count++];
    *target = (struct target){.name = ops->scheme, .url = url};
    return capabilities_find(ops, rest, &target->capabilities);
}

static bool file_add(struct run *run, const char *path) {
    if (run->file_count == FILES_MAX) {
        fprintf(stderr, "conformance: more than %d files\n", FILES_MAX);
        return false;
    }
    FILE *in = fopen(path, "r");
    char *text = malloc(FILE_BYTES_MAX + 1);
    if (in == NULL || text == NULL) {
        fprintf(stderr, "conformance: %s: %s\n", path, strerror(errno));
        free(text);
        return false;
    }
    size_t size = fread(text, 1, FILE_BYTES_MAX, in);
    text[size] = '\0';
    fclose(in);
    char name[128];
    const char *base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
    struct complaint complaint;
    bool good = size < FILE_BYTES_MAX
                && scenario_file_read(&run->files[run->file_count++], name, text, &complaint);
    if (!good) {
        fprintf(stderr, "conformance: %s\n", size < FILE_BYTES_MAX ? complaint.text : "too long");
    }
    free(text);
    return good;
}

static bool option_take(struct run *run, const char *option, const char *value) {
    if (value == NULL) {
        fprintf(stderr, "conformance: %s needs a value\n", option);
        return false;
    }
    if (strcmp(option, "--store") == 0) {
        return target_add(run, value);
    }
    if (strcmp(option, "--only") == 0) {
        run->only = value;
    } else if (strcmp(option, "--matrix") == 0) {
        run->matrix = value;
    } else if (strcmp(option, "--serve") == 0) {
        run->serve = value;
    } else if (strcmp(option, "--before") == 0) {
        run->before = value;
    } else if (strcmp(option, "--empty") == 0) {
        run->empty = value;
    } else if (strcmp(option, "--jobs") == 0) {
        run->jobs = strtoul(value, NULL, 10);
    } else {
        fprintf(stderr, "conformance: unknown option %s\n", option);
        return false;
    }
    return true;
}

static bool arguments_take(struct run *run, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (!option_take(run, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) {
                return false;
            }
            i++;
        } else if (!file_add(run, argv[i])) {
            return false;
        }
    }
    if (run->target_count == 0 || run->file_count == 0 || run->jobs == 0 || run->jobs > JOBS_MAX) {
        fputs("usage: conformance [--jobs N] [--only TEXT] [--matrix FILE] [--before PROGRAM] "
              "[--empty PROGRAM] [--serve LK] --store URL... FILE.scenario...\n",
              stderr);
        return false;
    }
    return true;
}

/* ---- playing --------------------------------------------------------------------------------- */

static const char name_mark[] = "{name}";

static void name_make(size_t played, int64_t stretch, char *ret_name, size_t size) {
    snprintf(ret_name, size, "t%ld_%zu_%lld", (long)getppid(), played, (long long)stretch);
}

/* The target's URL with {fresh} (a file's path) or {name} (a-z, 0-9, _) replaced. */
static void url_make(const struct run *run, size_t played, int64_t stretch, char *ret_url,
                     size_t size) {
    static const char path_mark[] = "{fresh}";
    const char *template = run->played[played].target->url;
    const char *path = strstr(template, path_mark);
    const char *name = strstr(template, name_mark);
    if (path != NULL) {
        snprintf(ret_url, size, "%.*s%s/%zu-%lld%s", (int)(path - template), template, run->folder,
                 played, (long long)stretch, path + strlen(path_mark));
    } else if (name != NULL) {
        char word[64];
        name_make(played, stretch, word, sizeof word);
        snprintf(ret_url, size, "%.*s%s%s", (int)(name - template), template, word,
                 name + strlen(name_mark));
    } else {
        snprintf(ret_url, size, "%s", template);
    }
}

/* Plays on a service of the scenario's own, if it is to have one. */
static enum verdict play_served(const struct run *run, const struct scenario *scenario,
                                const char *url, bool persistent, struct handles *kept,
                                int64_t stretch, FILE *report) {
    static const char resp[] = "lk+unix:";
    static const char http[] = "http+unix:";
    bool is_http = strncmp(url, http, strlen(http)) == 0;
    struct service service = {.program = run->serve, .is_http = is_http};
    enum verdict verdict;
    if (run->serve == NULL || (!is_http && strncmp(url, resp, strlen(resp)) != 0)) {
        return scenario_play(scenario, url, persistent, kept, stretch, report);
    }
    if (!service_place(&service, url + strlen(is_http ? http : resp)) || !service_start(&service)) {
        fputs("    the service did not start\n", report);
        return VERDICT_FAILED;
    }
    verdict = scenario_play(scenario, url, persistent, NULL, stretch, report);
    int status = service_end(&service, SIGTERM);
    if (status != 0) {
        fprintf(report, "    the service ended with status %#x\n", (unsigned)status);
        return VERDICT_FAILED;
    }
    return verdict;
}

/* A store that has to be made is made before, so that this takes none of the scenario's time. */
static void make_store(const char *url) {
    lk_store *store;
    lk_error error;

    if (lk_open(url, &store, &error) == LK_OK) { /* else the scenario tells */
        lk_close(store);
    }
}

static bool run_for(const char *program, const char *name) {
    return program == NULL || (setenv("LK_TEST_NAME", name, 1) == 0 && system(program) == 0);
}

/* A store of the scenario's own. */
static bool make_fresh(const struct run *run, size_t played, int64_t stretch,
                       struct keeping *keeping) {
    name_make(played, stretch, keeping->name, sizeof keeping->name);
    url_make(run, played, stretch, keeping->url, sizeof keeping->url);
    if (!run_for(run->before, keeping->name)) {
        return false;
    }
    if (strstr(run->played[played].target->url, name_mark) != NULL) {
        make_store(keeping->url);
    }
    return true;
}

/* The store that the child has, emptied, or a fresh one. */
static bool make_ready(const struct run *run, size_t played, int64_t stretch,
                       struct keeping *keeping) {
    if (keeping->is_open && run_for(run->empty, keeping->name)) {
        return true;
    }
    handles_close(&keeping->handles);
    keeping->is_open = false;
    return make_fresh(run, played, stretch, keeping);
}

/* In the child: plays until the machine was fast enough for the scenario's durations. */
static enum verdict play_patiently(const struct run *run, size_t played, struct keeping *keeping,
                                   FILE *report) {
    const struct played *mine = &run->played[played];
    bool persistent = (mine->target->capabilities & LK_CAN_PERSIST) != 0;
    struct handles *kept = run->empty != NULL ? &keeping->handles : NULL;
    for (int64_t stretch = 1; stretch <= STRETCH_MAX; stretch *= 2) {
        char *text = NULL;
        size_t size = 0;
        FILE *attempt = open_memstream(&text, &size);
        if (attempt == NULL) {
            return VERDICT_FAILED;
        }
        if (!make_ready(run, played, stretch, keeping)) {
            fprintf(report, "    %s has failed\n", run->before);
            fclose(attempt);
            free(text);
            return VERDICT_FAILED;
        }
        enum verdict verdict =
            play_served(run, mine->scenario, keeping->url, persistent, kept, stretch, attempt);
        keeping->is_open = kept != NULL && verdict == VERDICT_PASSED;
        fclose(attempt);
        if (verdict == VERDICT_FAILED || stretch == STRETCH_MAX) {
            fwrite(text, 1, size, report);
        }
        free(text);
        if (verdict != VERDICT_TOO_SLOW) {
            return verdict;
        }
    }
    fputs("    the machine was too slow, even with durations stretched\n", report);
    return VERDICT_TOO_SLOW;
}

/* ---- children -------------------------------------------------------------------------------- */

/* Plays what it is told to, until there is no more to come. */
static _Noreturn void child_play(const struct run *run, const struct job *job, int orders,
                                 int verdicts) {
    static struct keeping keeping;
    size_t played;

    while (read(orders, &played, sizeof played) == (ssize_t)sizeof played) {
        alarm(SECONDS_MAX);
        unsigned char verdict = (unsigned char)play_patiently(run, played, &keeping, job->report);
        alarm(0); /* it may take long until the next one comes, or the others are at their end */
        fflush(job->report);
        if (write(verdicts, &verdict, 1) != 1) {
            break;
        }
    }
    alarm(SECONDS_MAX);
    handles_close(&keeping.handles);
    exit(0);
}

/* The ends of the others' pipes, which would keep them open. */
static void close_others(const struct run *run, const struct job *jobs) {
    for (size_t i = 0; i < run->jobs; i++) {
        if (jobs[i].child > 0) {
            close(jobs[i].orders);
            close(jobs[i].verdicts);
        }
    }
}

static bool child_start(const struct run *run, struct job *jobs, struct job *job) {
    int orders[2];
    int verdicts[2];

    job->report = tmpfile();
    if (job->report == NULL || pipe2(orders, O_CLOEXEC) != 0 || pipe2(verdicts, O_CLOEXEC) != 0) {
        return false;
    }
    fflush(stdout);
    fflush(stderr);
    pid_t child = fork();
    if (child < 0) {
        return false;
    }
    if (child == 0) {
        close_others(run, jobs);
        close(orders[1]);
        close(verdicts[0]);
        child_play(run, job, orders[0], verdicts[1]);
    }
    close(orders[0]);
    close(verdicts[1]);
    job->child = child;
    job->orders = orders[1];
    job->verdicts = verdicts[0];
    return true;
}

/* Lets the child come to its end. Returns its status. */
static int child_end(struct job *job) {
    int status = 0;

    close(job->orders);
    close(job->verdicts);
    (void)waitpid(job->child, &status, 0);
    job->child = 0;
    return status;
}

static bool job_start(const struct run *run, struct job *jobs, struct job *job, size_t played) {
    if ((job->child == 0 && !child_start(run, jobs, job))
        || write(job->orders, &played, sizeof played) != (ssize_t)sizeof played) {
        fprintf(stderr, "conformance: cannot start a child: %s\n", strerror(errno));
        return false;
    }
    job->played = played;
    job->is_busy = true;
    return true;
}

/* One line of TAP. What is unsupported by declaration is a result like any other. */
static void line_print(struct run *run, bool good, const struct played *played,
                       const char *remark) {
    printf("%s %zu - %s %s: %s%s\n", good ? "ok" : "not ok", ++run->lines, played->target->name,
           played->scenario->file, played->scenario->name, remark);
}

/* What a scenario needs and a store declares that it lacks. */
static void unsupported_print(struct run *run, const struct played *played) {
    char remark[256] = " (unsupported, as declared:";
    unsigned lacking = played->scenario->needs & ~played->target->capabilities;
    for (const struct capability_name *known = capability_names; known->name != NULL; known++) {
        if ((lacking & known->capability) != 0) {
            size_t used = strlen(remark);
            snprintf(remark + used, sizeof remark - used, " %s", known->name);
        }
    }
    size_t used = strlen(remark);
    snprintf(remark + used, sizeof remark - used, ")");
    line_print(run, true, played, remark);
}

static void status_print(int status) {
    printf("#     its process died: %s %d\n", WIFSIGNALED(status) ? "signal" : "exit code",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Prints what the child has written since its last verdict. */
static void report_print(const struct job *job) {
    char line[512];

    rewind(job->report);
    while (fgets(line, sizeof line, job->report) != NULL) {
        printf("# %s", line);
    }
    rewind(job->report);
    if (ftruncate(fileno(job->report), 0) != 0) {
        perror("conformance: the report");
    }
}

/* The child has a verdict, or none: it has died. If all is well, it plays the next scenario. */
static void job_end(struct run *run, struct job *job) {
    struct played *played = &run->played[job->played];
    unsigned char verdict = VERDICT_FAILED;
    bool has_verdict = read(job->verdicts, &verdict, 1) == 1;
    int status = has_verdict && verdict == VERDICT_PASSED ? 0 : child_end(job);

    played->verdict = has_verdict && status == 0 ? (enum verdict)verdict : VERDICT_FAILED;
    line_print(run, played->verdict == VERDICT_PASSED, played, "");
    if (!has_verdict || status != 0) {
        status_print(status);
    }
    report_print(job);
    if (job->child == 0) {
        fclose(job->report);
    }
    job->is_busy = false;
    fflush(stdout);
}

/* Waits for a verdict of one child at least. */
static void any_job_end(struct run *run, struct job *jobs) {
    struct pollfd polled[JOBS_MAX];

    for (size_t i = 0; i < run->jobs; i++) {
        polled[i] =
            (struct pollfd){.fd = jobs[i].is_busy ? jobs[i].verdicts : -1, .events = POLLIN};
    }
    if (poll(polled, run->jobs, -1) <= 0) {
        return;
    }
    for (size_t i = 0; i < run->jobs; i++) {
        if (polled[i].revents != 0) {
            job_end(run, &jobs[i]);
        }
    }
}

static struct job *free_job(struct run *run, struct job *jobs) {
    for (;;) {
        for (size_t i = 0; i < run->jobs; i++) {
            if (!jobs[i].is_busy) {
                return &jobs[i];
            }
        }
        any_job_end(run, jobs);
    }
}

static void end_children(struct run *run, struct job *jobs) {
    for (size_t i = 0; i < run->jobs; i++) {
        while (jobs[i].is_busy) {
            any_job_end(run, jobs);
        }
    }
    for (size_t i = 0; i < run->jobs; i++) {
        if (jobs[i].child > 0) {
            int status = child_end(&jobs[i]);
            if (status != 0) {
                run->is_bad = true;
                status_print(status);
            }
            fclose(jobs[i].report);
        }
    }
}

static bool play_all(struct run *run) {
    struct job jobs[JOBS_MAX] = {0};
    bool good = true;
    printf("1..%zu\n", run->played_count);
    for (size_t i = 0; i < run->played_count && good; i++) {
        struct played *played = &run->played[i];
        if ((played->scenario->needs & ~played->target->capabilities) != 0) {
            played->verdict = VERDICT_UNSUPPORTED;
            unsupported_print(run, played);
            continue;
        }
        good = job_start(run, jobs, free_job(run, jobs), i);
    }
    end_children(run, jobs);
    return good;
}

static bool is_chosen(const struct run *run, const struct scenario *scenario) {
    return run->only == NULL || strstr(scenario->name, run->only) != NULL
           || strstr(scenario->file, run->only) != NULL;
}

static bool choose(struct run *run) {
    for (size_t s = 0; s < run->target_count; s++) {
        for (size_t f = 0; f < run->file_count; f++) {
            for (size_t i = 0; i < run->files[f].count; i++) {
                const struct scenario *scenario = &run->files[f].scenarios[i];
                if (!is_chosen(run, scenario)) {
                    continue;
                }
                if (run->played_count == PLAYED_MAX) {
                    fprintf(stderr, "conformance: more than %d to play\n", PLAYED_MAX);
                    return false;
                }
                run->played[run->played_count++] =
                    (struct played){.scenario = scenario, .target = &run->targets[s]};
            }
        }
    }
    if (run->played_count == 0) {
        fputs("conformance: no scenario is chosen\n", stderr);
    }
    return run->played_count > 0;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static int conclude(const struct run *run) {
    size_t failed = 0;
    for (size_t i = 0; i < run->played_count; i++) {
        enum verdict verdict = run->played[i].verdict;
        failed += verdict == VERDICT_FAILED || verdict == VERDICT_TOO_SLOW ? 1 : 0;
    }
    FILE *out = run->matrix != NULL ? fopen(run->matrix, "w+") : tmpfile();
    if (out == NULL) {
        fprintf(stderr, "conformance: the matrix cannot be written: %s\n", strerror(errno));
        return 2;
    }
    matrix_write(out, run->targets, run->target_count, run->played, run->played_count);
    rewind(out);
    char line[1024];
    while (fgets(line, sizeof line, out) != NULL) {
        printf("# %s", line);
    }
    fclose(out);
    printf("# %zu played, %zu failed\n", run->played_count, failed);
    return failed == 0 && !run->is_bad ? 0 : 1;
}

/* Whether each scenario has a store of its own by name. */
static bool has_names(const struct run *run) {
    for (size_t i = 0; i < run->target_count; i++) {
        if (strstr(run->targets[i].url, name_mark) == NULL) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    struct run *run = calloc(1, sizeof *run);
    int code = 2;
    if (run == NULL || (run->files = calloc(FILES_MAX, sizeof *run->files)) == NULL) {
        free(run);
        return code;
    }
    run->jobs = JOBS_DEFAULT;
    const char *temporary = getenv("TMPDIR");
    snprintf(run->folder, sizeof run->folder, "%.40s/conformance-XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    if (!arguments_take(run, argc, argv) || !choose(run)) {
        goto done;
    }
    run->jobs = run->before != NULL && !has_names(run) ? 1 : run->jobs;
    if (mkdtemp(run->folder) == NULL) {
        fprintf(stderr, "conformance: %s: %s\n", run->folder, strerror(errno));
        goto done;
    }
    if (play_all(run)) {
        code = conclude(run);
    }
    nftw(run->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
done:
    for (size_t i = 0; i < run->file_count; i++) {
        scenario_file_free(&run->files[i]);
    }
    free(run->files);
    free(run);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command under a lock costs, from start to end, beside flock(1) on the same machine:
 *
 *     bench-command NAME URL|service LK [AT_MOST_MS]
 *     bench-command version LK [AT_MOST_MS]        `lk version`, which does nothing, beside true(1)
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "store.h"

enum { RUNS = 15, RUNS_SMOKE = 1, PATH_BYTES = 512 };

extern char **environ;

struct commands {
    char *ours[8];
    char *theirs[4];
    bool is_silent; /* what they print is not wanted */
};

/* Milliseconds, the middle of some runs one after the other. */
static double run(char *const *words, bool is_silent) {
    posix_spawn_file_actions_t actions;
    double took_ms[RUNS];
    size_t runs = bench_count(RUNS, RUNS_SMOKE);

    (void)posix_spawn_file_actions_init(&actions);
    if (is_silent) {
        (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    for (size_t i = 0; i < runs; i++) {
        int64_t begun_ns = bench_now_ns();
        int status = 0;
        pid_t child;

        if (posix_spawnp(&child, words[0], &actions, NULL, words, environ) != 0
            || waitpid(child, &status, 0) != child || status != 0) {
            bench_give_up("%s failed", words[0]);
        }
        took_ms[i] = (double)(bench_now_ns() - begun_ns) / 1e6;
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return bench_median(took_ms, runs);
}

static double run_ours(void *context) {
    const struct commands *commands = context;

    return run(commands->ours, commands->is_silent);
}

static double run_theirs(void *context) {
    const struct commands *commands = context;

    return run(commands->theirs, commands->is_silent);
}

static void compare(struct commands *commands, const char *what, const char *peer,
                    const char *at_most_ms) {
    bench_duel(&(struct bench_duel){.what = what,
                                    .peer = peer,
                                    .unit = "ms",
                                    .is_cost = true,
                                    .own_bar = at_most_ms != NULL ? strtod(at_most_ms, NULL) : 0,
                                    .ours = run_ours,
                                    .theirs = run_theirs,
                                    .context = commands});
}

static int compare_start(char *lk, const char *at_most_ms) {
    struct commands commands = {.ours = {lk, "version", NULL}, .theirs = {"true", NULL}};

    commands.is_silent = true;
    bench_begin("bench-command", "A command that does nothing: lk version beside true(1)");
    bench_title_print("A command that does nothing");
    compare(&commands, "lk version", "true(1)", at_most_ms);
    return 0;
}

int main(int argc, char **argv) {
    struct commands commands;
    char title[BENCH_TEXT_BYTES];
    char file[PATH_BYTES];
    lk_store *store;

    if (argc > 2 && strcmp(argv[1], "version") == 0) {
        return compare_start(argv[2], argv[3]);
    }
    if (argc < 4) {
        bench_give_up("usage: bench-command NAME URL|service LK [AT_MOST_MS] | version LK");
    }
    (void)snprintf(file, sizeof file, "%s/lk-bench-flock-%d",
                   getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", (int)getpid());
    (void)snprintf(title, sizeof title, "A command under a lock: %s beside flock(1)", argv[1]);
    bench_begin("bench-command", title);
    bench_title_print("A command under a lock: `lk run NAME -- true`");
    commands = (struct commands){.ours = {argv[3], "run", "-S",
                                          (char *)(uintptr_t)bench_store_url(argv[2], argv[3]), "x",
                                          "--", "true", NULL},
                                 .theirs = {"flock", file, "true", NULL}};
    store = bench_store_open(commands.ours[3]); /* made before the first command uses it */
    lk_close(store);
    (void)snprintf(title, sizeof title, "%s: lk run x -- true", argv[1]);
    compare(&commands, title, "flock(1)", argv[4]);
    (void)unlink(file);
    bench_store_end();
    return 0;
}

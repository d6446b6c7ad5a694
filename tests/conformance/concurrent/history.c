/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a concurrent history: several actors on one store, some of them killed at random moments
 * and replaced by new ones, each writing a log of its own. Judges nothing: that is checker.c's,
 * which this program runs on the logs at the end.
 *
 *     history [--one-root] [--slow] [--silent] [--restarts PROGRAM | --faults PROGRAM]
 *             STORE_URL CHECKER [LK [--kill]]
 *
 * {fresh} in the URL is replaced by a fresh path, {name} by a fresh word. Where the store outlives
 * its users, actors are processes and are killed with SIGKILL; else they are threads that stop in
 * mid-air. --slow: the store's connections take long to make; all takes SLOW times as long.
 * --silent: some processes are stopped for longer than their leases last, in the middle of anything
 * and with their connections open, and then go on. --restarts: a fail-over, or a backup that is
 * restored, at random moments while all go on, by `PROGRAM --restart MS URL`: what happens in the
 * last MS milliseconds before the store goes is to be lost, and what is printed, a line that begins
 * with "restart" (evidence_read.c), is for the checker. --faults: in the same way `PROGRAM --fault
 * NUMBER URL` does one thing to the store that loses nothing, by that number, and prints what it
 * was; and some more of the processes are keepers (keeper.c). LK_TEST_SEED chooses the history,
 * LK_TEST_SCALE (percent) how long it is. On a machine so busy that there is little to judge by
 * then, it goes on until there is.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../service/launch.h"
#include "actor.h"
#include "client/store.h"
#include "engine/engine.h"

enum {
    ACTORS = 8,
    KEEPERS = 4,
    DURATION_MS = 4000, /* at 100 percent */
    DURATION_MIN_MS = 1500,
    DURATION_MAX_MS = 180000, /* for these many answers */
    ANSWERS_MIN = 300,
    ROUNDS_MAX = 4,      /* if nothing can be judged by them */
    KILL_EVERY_MS = 150, /* about, */
    ANSWERS_A_KILL = 12, /* at least, so that also on a busy machine actors live to do something */
    SILENT_MAX_MS = 900, /* the longest ttl is 400, where calls are quick */
    SLOW = 3,
    LAST_RESTART_MS = 800, /* at least before the end of the history */
    LOST_MIN_MS = 60,
    LOST_SPREAD_MS = 200,
    CLOSE_WAIT_MS = 60000,
    OPEN_ATTEMPTS = 2400, /* a database may take long to start on a busy machine */
    OPEN_PAUSE_MS = 25,
    ARGUMENTS_MAX = 1024,
    URL_MAX = 512,
    PATH_BYTES_MAX = 256,
};

struct history {
    char folder[64];
    char url[URL_MAX];
    bool processes;
    bool one_root;
    bool silences; /* processes only */
    unsigned silenced;
    int64_t began_us; /* by the clock since boot */
    int64_t ahead_us; /* the wall clock of that one, then */
    int64_t pace;     /* what takes so many times as long */
    lk_store *shared; /* threads only */
    uint64_t random;
    struct actor_shared *actor_shared; /* in shared memory */
    unsigned incarnations;
    unsigned kills;
    unsigned long answers_at_kill; /* the last one */
    struct service service;
    bool kills_service;
    unsigned service_kills;
    const char *restarter; /* NULL: none */
    bool faults;           /* that is what it does; some are keepers */
    unsigned count;        /* of slots in use */
    pid_t restarting;      /* 0: it does not run */
    unsigned restarts;
    int restart_log;
    struct slot {
        pid_t process;
        pthread_t thread;
        atomic_bool stop;
        struct actor actor;
        unsigned requests_max;
        int64_t silent_until_us; /* 0: it is not stopped */
    } slots[ACTORS + KEEPERS];
};

static _Noreturn void give_up(const char *what) {
    fprintf(stderr, "history: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint64_t draw(struct history *history, uint64_t below) {
    uint64_t mixed = (history->random += UINT64_C(0x9e3779b97f4a7c15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (mixed ^ (mixed >> 31)) % below;
}

static void sleep_ms(int64_t duration_ms) {
    struct timespec left = {.tv_sec = (time_t)(duration_ms / 1000),
                            .tv_nsec = (long)(duration_ms % 1000 * 1000000)};
    while (nanosleep(&left, &left) != 0) {
    }
}

/* ---- actors ---------------------------------------------------------------------------------- */

static void actor_prepare(struct history *history, struct slot *slot) {
    char path[PATH_BYTES_MAX];
    struct actor *actor = &slot->actor;
    unsigned number = history->incarnations++;
    *actor = (struct actor){.random = draw(history, UINT64_MAX),
                            .shared = history->actor_shared,
                            .requests_max = slot->requests_max,
                            .one_root = history->one_root,
                            .outlasts = history->restarter != NULL,
                            .store = history->shared};
    snprintf(actor->owner, sizeof actor->owner, "actor%u", number);
    snprintf(path, sizeof path, "%s/%u.log", history->folder, number);
    actor->log = open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (actor->log < 0) {
        give_up(path);
    }
}

static lk_store *open_store(const struct history *history) {
    lk_store *store = NULL;
    lk_error error = {0};
    for (int attempt = 0; attempt < OPEN_ATTEMPTS; attempt++) {
        if (lk_open(history->url, &store, &error) != LK_UNAVAILABLE) {
            break;
        }
        sleep_ms(OPEN_PAUSE_MS); /* it is being started again, or the connection was cut */
    }
    if (store == NULL) {
        fprintf(stderr, "history: %s: %s\n", history->url, error.text);
        exit(2);
    }
    return store;
}

static void *play_in_thread(void *context) {
    struct slot *slot = context;
    actor_play(&slot->actor);
    return NULL;
}

static void actor_start(struct history *history, struct slot *slot) {
    actor_prepare(history, slot);
    if (!history->processes) {
        atomic_store(&slot->stop, false);
        slot->actor.stop = &slot->stop;
        if (pthread_create(&slot->thread, NULL, play_in_thread, slot) != 0) {
            give_up("no thread");
        }
        return;
    }
    fflush(stdout);
    slot->process = fork();
    if (slot->process < 0) {
        give_up("no process");
    }
    if (slot->process == 0) {
        slot->actor.store = open_store(history);
        (slot < &history->slots[ACTORS] ? actor_play : keeper_play)(&slot->actor);
        lk_close(slot->actor.store);
        /* The leak checker that exit() starts stops its process to look at it, and waits for ever
         * when a SIGCONT comes in between. */
        if (history->silences) {
            _exit(0);
        }
        exit(0);
    }
}

/* Takes an actor away; `kill_it` in mid-air, else when its time is over. */
static void actor_end(struct history *history, struct slot *slot, bool kill_it) {
    if (!history->processes) {
        atomic_store(&slot->stop, kill_it);
        pthread_join(slot->thread, NULL);
    } else {
        int status = 0;
        if (kill_it) {
            kill(slot->process, SIGKILL);
        }
        slot->silent_until_us = 0;
        if (waitpid(slot->process, &status, 0) < 0) {
            give_up("waiting for an actor");
        }
        if (!WIFEXITED(status) ? !kill_it : WEXITSTATUS(status) != 0) {
            fprintf(stderr, "history: %s ended with status %#x\n", slot->actor.owner,
                    (unsigned)status);
            exit(1);
        }
    }
    close(slot->actor.log);
    history->kills += kill_it ? 1 : 0;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void start_service(struct history *history, const char *program) {
    static const char local[] = "lk+unix:";
    struct service *service = &history->service;
    if (strncmp(history->url, local, strlen(local)) != 0) {
        fputs("history: a service is started for lk+unix: only\n", stderr);
        exit(2);
    }
    service->program = program;
    if (!service_place(service, history->url + strlen(local)) || !service_start(service)) {
        fputs("history: the service did not start\n", stderr);
        exit(2);
    }
}

static const char restart_log_name[] = "restarts.log";

static void open_restart_log(struct history *history) {
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s/%s", history->folder, restart_log_name);
    history->restart_log = open(path, O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (history->restart_log < 0) {
        give_up(path);
    }
}

/* The history goes on for as much longer as the service was away. */
static void restart_service(struct history *history) {
    int64_t gone_us = actor_now_us();
    int64_t until_us = atomic_exchange(&history->actor_shared->until_us, INT64_MAX);
    service_end(&history->service, SIGKILL);
    int64_t down_us = actor_now_us();
    if (!service_start(&history->service)) {
        fputs("history: the service did not start again\n", stderr);
        exit(1);
    }
    atomic_store(&history->actor_shared->until_us, until_us + actor_now_us() - gone_us);
    if (dprintf(history->restart_log, "restart %" PRId64 " %" PRId64 " down %" PRId64 "\n", gone_us,
                actor_now_us(), down_us)
        < 0) {
        give_up("the log of restarts");
    }
    history->service_kills++;
}

/* ---- restarts by a program ------------------------------------------------------------------- */

static void begin_restart(struct history *history) {
    char number[24];
    uint64_t lost_ms = LOST_MIN_MS + draw(history, LOST_SPREAD_MS);
    snprintf(number, sizeof number, "%" PRIu64,
             history->faults ? draw(history, UINT32_MAX) : lost_ms);
    fflush(stdout);
    history->restarting = fork();
    if (history->restarting < 0) {
        give_up("no process");
    }
    if (history->restarting == 0) {
        if (dup2(history->restart_log, STDOUT_FILENO) >= 0) {
            execl(history->restarter, history->restarter, history->faults ? "--fault" : "--restart",
                  number, history->url, (char *)NULL);
        }
        give_up(history->restarter);
    }
}

/* Looks whether the program has ended, or waits until it has. */
static void end_restart(struct history *history, int options) {
    int status = 0;
    if (history->restarting == 0
        || waitpid(history->restarting, &status, options) != history->restarting) {
        return;
    }
    if (status != 0) {
        fprintf(stderr, "history: %s ended with status %#x\n", history->restarter,
                (unsigned)status);
        exit(1);
    }
    history->restarting = 0;
    history->restarts++;
}

/* Begins the next one now and then, in time for something to come after it. */
static void consider_restart(struct history *history) {
    int64_t left_us = atomic_load(&history->actor_shared->until_us) - actor_now_us();
    if (history->restarting != 0) {
        end_restart(history, WNOHANG);
    } else if (history->restarter != NULL && left_us > LAST_RESTART_MS * 1000 * history->pace
               && draw(history, 2) == 0) {
        begin_restart(history);
    }
}

/* ---- the history ----------------------------------------------------------------------------- */

/* A process that is there and says nothing: its peer gets nothing either. */
static void silence(struct history *history, struct slot *slot) {
    if (slot->silent_until_us == 0 && kill(slot->process, SIGSTOP) == 0) {
        slot->silent_until_us =
            actor_now_us() + (int64_t)draw(history, SILENT_MAX_MS * 1000) * history->pace;
        history->silenced++;
    }
}

/* Lets those go on whose time has come; `all`: everyone. */
static void end_silences(struct history *history, bool all) {
    for (unsigned i = 0; i < history->count; i++) {
        struct slot *slot = &history->slots[i];
        if (slot->silent_until_us != 0 && (all || slot->silent_until_us <= actor_now_us())) {
            kill(slot->process, SIGCONT);
            slot->silent_until_us = 0;
        }
    }
}

static bool is_over(const struct history *history) {
    return actor_now_us() >= atomic_load(&history->actor_shared->until_us);
}

/* Puts the end off, before actors come to it, while too little has been answered. */
static void prolong(struct history *history, int64_t last_us) {
    int64_t later_us = actor_now_us() + INT64_C(1000) * DURATION_MIN_MS * history->pace;

    if (later_us > atomic_load(&history->actor_shared->until_us) && later_us < last_us
        && atomic_load(&history->actor_shared->answers) < ANSWERS_MIN) {
        atomic_store(&history->actor_shared->until_us, later_us);
    }
}

static bool is_time_to_kill(struct history *history) {
    unsigned long answers = atomic_load(&history->actor_shared->answers);
    bool is_allowed = history->restarter == NULL || draw(history, 3) == 0;

    if (is_over(history) || !is_allowed || answers - history->answers_at_kill < ANSWERS_A_KILL) {
        return false;
    }
    history->answers_at_kill = answers;
    return true;
}

static int64_t duration_ms(const struct history *history) {
    const char *given = getenv("LK_TEST_SCALE");
    long percent =
        (history->restarter != NULL ? 2 : 1) * (given != NULL ? strtol(given, NULL, 10) : 100);
    int64_t scaled = (int64_t)DURATION_MS * percent / 100;
    int64_t least = history->restarter != NULL ? DURATION_MS : DURATION_MIN_MS;
    return (scaled > least ? scaled : least) * history->pace;
}

/* A round. Its time begins when all actors are there: a busy machine is long at starting them. */
static void play(struct history *history) {
    int64_t last_us = actor_now_us() + INT64_C(1000) * DURATION_MAX_MS;

    atomic_store(&history->actor_shared->answers, 0);
    atomic_store(&history->actor_shared->until_us, last_us);
    history->answers_at_kill = 0;
    for (unsigned i = 0; i < history->count; i++) {
        /* Most have one request at a time, so that the order of grants is known from outside. */
        history->slots[i].requests_max = i % 4 == 3 ? 3 : 1;
        actor_start(history, &history->slots[i]);
    }
    atomic_store(&history->actor_shared->until_us, actor_now_us() + duration_ms(history) * 1000);
    while (!is_over(history)) {
        struct slot *victim = &history->slots[draw(history, history->count)];
        sleep_ms((KILL_EVERY_MS / 2 + (int64_t)draw(history, KILL_EVERY_MS)) * history->pace);
        end_silences(history, false);
        consider_restart(history);
        prolong(history, last_us);
        if (history->kills_service && draw(history, 2) == 0) {
            restart_service(history);
        } else if (history->silences && draw(history, 3) != 0) {
            silence(history, victim);
        } else if (is_time_to_kill(history)) {
            actor_end(history, victim, true);
            actor_start(history, victim);
        }
    }
    end_silences(history, true);
    end_restart(history, 0);
    for (unsigned i = 0; i < history->count; i++) {
        actor_end(history, &history->slots[i], false);
    }
}

/* Whatever the killed left must perish: then each root can be had alone. */
static bool close_roots(struct history *history) {
    static const char *const roots[] = {"r", "pool", "t", "s", "v"}; /* with faults the last */
    size_t count = sizeof roots / sizeof roots[0] - (history->faults ? 0 : 2);
    struct slot *slot = &history->slots[0];
    bool good = true;
    actor_prepare(history, slot);
    if (slot->actor.store == NULL) {
        slot->actor.store = open_store(history);
    }
    if (history->faults && !keeper_close(&slot->actor, CLOSE_WAIT_MS)) {
        puts("# what was kept cannot be had at the end");
        good = false;
    }
    for (size_t i = 0; good && i < count; i++) {
        lk_outcome outcome = actor_close(&slot->actor, roots[i], CLOSE_WAIT_MS);
        if (outcome != LK_GRANTED) {
            printf("# %s is not free at the end: %s\n", roots[i], lk_outcome_name(outcome));
            good = false;
        }
    }
    close(slot->actor.log);
    lk_close(slot->actor.store);
    return good;
}

/* The wall clock, by which some stores count, beside the clock since boot. */
static int64_t wall_ahead_us(void) {
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    return (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000 - actor_now_us();
}

/*
 * Rules allow clocks to differ by 500 ppm (R11). Where the machine's own differ by more, as when a
 * virtual machine catches up after a pause, a log says by how much: leases end so much earlier.
 */
static bool log_clock(const struct history *history, char path[PATH_BYTES_MAX]) {
    int64_t moved_us = wall_ahead_us() - history->ahead_us;
    if (moved_us <= (actor_now_us() - history->began_us) / 2000) {
        return false;
    }
    snprintf(path, PATH_BYTES_MAX, "%s/clock.log", history->folder);
    FILE *out = fopen(path, "w");
    if (out == NULL || fprintf(out, "clock %" PRId64 "\n", moved_us) < 0 || fclose(out) != 0) {
        give_up(path);
    }
    printf("# the wall clock ran %" PRId64 " us ahead: so much earlier leases may end\n", moved_us);
    return true;
}

/* Runs a program with arguments. Returns whether it ended with 0. */
static bool runs_well(char *program, char **arguments) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execv(program, arguments);
        give_up(program);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Runs the checker on all logs, with an option if that is not NULL. */
static bool check(const struct history *history, char *checker, char *option) {
    static char paths[ARGUMENTS_MAX][PATH_BYTES_MAX];
    static char restarts[PATH_BYTES_MAX];
    static char clock[PATH_BYTES_MAX];
    char *arguments[ARGUMENTS_MAX + 5] = {checker, option};
    unsigned count = option != NULL ? 2 : 1;
    for (unsigned i = 0; i < history->incarnations && i < ARGUMENTS_MAX; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%u.log", history->folder, i);
        arguments[count++] = paths[i];
    }
    if (history->restart_log >= 0) {
        snprintf(restarts, sizeof restarts, "%s/%s", history->folder, restart_log_name);
        arguments[count++] = restarts;
    }
    if (log_clock(history, clock)) {
        arguments[count++] = clock;
    }
    return runs_well(checker, arguments);
}

static void url_make(struct history *history, const char *template) {
    static const char path_mark[] = "{fresh}";
    static const char name_mark[] = "{name}";
    const char *path = strstr(template, path_mark);
    const char *name = strstr(template, name_mark);
    if (path != NULL) {
        snprintf(history->url, sizeof history->url, "%.*s%s/store%s", (int)(path - template),
                 template, history->folder, path + strlen(path_mark));
    } else if (name != NULL) {
        snprintf(history->url, sizeof history->url, "%.*sh%ld%s", (int)(name - template), template,
                 (long)getpid(), name + strlen(name_mark));
    } else {
        snprintf(history->url, sizeof history->url, "%s", template);
    }
}

static bool outlives_its_users(const char *url) {
    const struct lk_engine_ops *ops;
    struct lk_slice rest;
    lk_error error;

    if (lk_store_engine_of(url, &ops, &rest, &error) != LK_OK) {
        fprintf(stderr, "history: %s: %s\n", url, error.text);
        exit(2);
    }
    return (ops->capabilities & LK_CAN_PERSIST) != 0;
}

static uint64_t seed(void) {
    const char *given = getenv("LK_TEST_SEED");
    uint64_t drawn = 0;
    if (given != NULL) {
        drawn = strtoull(given, NULL, 10);
    } else if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) {
        give_up("no randomness");
    }
    printf("# LK_TEST_SEED=%" PRIu64 "\n", drawn);
    return drawn;
}

/*
 * Plays again while there is nothing to judge by: on a busy machine some hundred answers may not
 * have two leases that were certainly held at the same time.
 */
static void play_enough(struct history *history, char *checker) {
    static char option[] = "--enough";
    unsigned rounds = history->processes && !history->faults ? ROUNDS_MAX : 1;
    do {
        play(history);
    } while (--rounds > 0 && !check(history, checker, option));
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

/* The options, up to the first word that is none. Returns how many words they are. */
static int read_options(struct history *history, int argc, char **argv) {
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        bool faults = strcmp(argv[at], "--faults") == 0;
        if ((faults || strcmp(argv[at], "--restarts") == 0) && at + 1 < argc) {
            history->restarter = argv[++at];
            history->faults = faults;
            continue;
        }
        history->one_root = history->one_root || strcmp(argv[at], "--one-root") == 0;
        history->silences = history->silences || strcmp(argv[at], "--silent") == 0;
        history->pace = strcmp(argv[at], "--slow") == 0 ? SLOW : history->pace;
    }
    return at - 1;
}

static void print_figures(const struct history *history) {
    printf("# %u %s, %u of them killed, %u times one stopped for a while\n",
           history->incarnations - 1, history->processes ? "processes" : "threads", history->kills,
           history->silenced);
    if (history->kills_service) {
        printf("# the service was killed %u times\n", history->service_kills);
    }
    if (history->restarter != NULL) {
        printf("# %u %s\n", history->restarts, history->faults ? "faults" : "restarts that forget");
    }
}

int main(int argc, char **argv) {
    static struct history history;
    history.pace = 1;
    history.restart_log = -1;
    int options = read_options(&history, argc, argv);
    argc -= options;
    argv += options;
    if (argc < 3 || argc > 5 || (argc == 5 && strcmp(argv[4], "--kill") != 0)) {
        fputs("usage: history [--one-root] [--slow] [--silent]"
              " [--restarts PROGRAM | --faults PROGRAM]"
              " STORE_URL CHECKER [LK [--kill]]\n",
              stderr);
        return 2;
    }
    const char *temporary = getenv("TMPDIR");
    snprintf(history.folder, sizeof history.folder, "%.40s/history-XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(history.folder) == NULL) {
        give_up(history.folder);
    }
    history.actor_shared = mmap(NULL, sizeof *history.actor_shared, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (history.actor_shared == MAP_FAILED) {
        give_up("no shared memory");
    }
    history.began_us = actor_now_us();
    history.ahead_us = wall_ahead_us();
    history.random = seed();
    history.processes = outlives_its_users(argv[1]);
    history.silences = history.silences && history.processes;
    history.count = ACTORS + (history.faults ? KEEPERS : 0);
    url_make(&history, argv[1]);
    history.kills_service = argc == 5;
    if (history.kills_service || history.restarter != NULL) {
        open_restart_log(&history);
    }
    if (argc > 3) {
        start_service(&history, argv[3]);
    }
    lk_close(open_store(&history)); /* made before the first is killed over it */
    history.shared = history.processes ? NULL : open_store(&history);
    play_enough(&history, argv[2]);
    bool free_at_the_end = close_roots(&history);
    print_figures(&history);
    service_end(&history.service, SIGTERM);
    bool right = check(&history, argv[2], NULL);
    printf("1..2\n%s 1 - every root is free at the end\n%s 2 - what was seen keeps the rules\n",
           free_at_the_end ? "ok" : "not ok", right ? "ok" : "not ok");
    if (history.restarter != NULL && history.restarts == 0) {
        printf("# the store did not go: nothing was tested\n");
    } else if (right && free_at_the_end) {
        nftw(history.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        return 0;
    }
    printf("# the logs are kept in %s\n", history.folder);
    return 1;
}

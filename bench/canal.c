/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an acquire and a release of canal.h cost, beside their bars and peers, in one run: a bare
 * compare-and-swap up and down, a semaphore, a robust mutex, and counters with a manager in Erlang
 * (bench/erlang), where there is one.
 *
 *     bench-canal [limit_counters.erl]
 *
 * Peers of shared memory take turns, many short ones. What is told is the middle of the turns: the
 * least of them would leave out most of what processes cost that contend for a line of the cache.
 */
#include "lockkeeper/canal.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "companion.h"

enum {
    TURNS = 40,
    PAIRS = 50000, /* in one turn */
    MANY_KEYS = 100000,
    KEY_TEXT_MAX = 14,
    CHILDREN_MAX = 2,
    ERLANG_PAIRS = 100000,
    PAIRS_SMOKE = 500,
    BLOCKS = 5, /* of turns, whose middles are told */
};

/* What all processes see. Each counter has two cache lines of its own. */
struct counter {
    _Alignas(128) _Atomic uint64_t count;
    sem_t semaphore;
    pthread_mutex_t mutex;
};

/* A count behind a hash table, as bare as can be: keys are never taken away. */
struct hashed {
    _Alignas(128) _Atomic uint64_t count;
    struct key {
        uint16_t size;
        char text[KEY_TEXT_MAX];
    } key;
};

struct shared {
    _Atomic uint32_t turn;  /* children begin the turn with this number together */
    _Atomic uint32_t ready; /* and say so here when they are through */
    int64_t began_ns[CHILDREN_MAX];
    int64_t ended_ns[CHILDREN_MAX];
    struct counter counters[MANY_KEYS];
    struct hashed table[MANY_KEYS * 3 / 2];
};

struct bench {
    struct shared *shared;
    size_t key_count;
    size_t bytes;
    char name[64];
};

/* One of the processes of a measurement. */
struct worker {
    struct bench *bench;
    lk_canal_holder *holder;
    struct key *keys;
    size_t number;
    size_t share; /* of the keys, of `shares` */
    size_t shares;
};

/* ---- the peers ------------------------------------------------------------------------------- */

static size_t key_of(const struct worker *worker, size_t round) {
    size_t own = worker->bench->key_count / worker->shares;

    return worker->share * own + round * 7919 % own;
}

static void pair_by_swap(struct worker *worker, size_t key) {
    _Atomic uint64_t *count = &worker->bench->shared->counters[key].count;
    uint64_t seen = atomic_load_explicit(count, memory_order_relaxed);

    do {
        if (seen >= 100) {
            bench_give_up("a count is off");
        }
    } while (!atomic_compare_exchange_weak(count, &seen, seen + 1));
    seen = atomic_load_explicit(count, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(count, &seen, seen - 1)) {
        /* again, with what it is now */
    }
}

/* FNV-1a, stirred, and the next slots from there on. */
static _Atomic uint64_t *count_of(struct worker *worker, size_t number) {
    const struct key *key = &worker->keys[number];
    struct hashed *table = worker->bench->shared->table;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    size_t slot;

    for (size_t i = 0; i < key->size; i++) {
        hash = (hash ^ (unsigned char)key->text[i]) * UINT64_C(0x100000001b3);
    }
    hash = (hash ^ (hash >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
    slot = (size_t)((hash >> 32) * (MANY_KEYS * 3 / 2) >> 32);
    while (table[slot].key.size != key->size
           || memcmp(table[slot].key.text, key->text, key->size) != 0) {
        if (table[slot].key.size == 0) {
            table[slot].key = *key; /* by each of two processes the same, before they are timed */
        } else {
            slot = (slot + 1) % (MANY_KEYS * 3 / 2);
        }
    }
    return &table[slot].count;
}

static void pair_by_hash(struct worker *worker, size_t key) {
    _Atomic uint64_t *count = count_of(worker, key);
    uint64_t seen = atomic_load_explicit(count, memory_order_relaxed);

    while (!atomic_compare_exchange_weak(count, &seen, seen + 1)) {
        /* again, with what it is now */
    }
    count = count_of(worker, key);
    seen = atomic_load_explicit(count, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(count, &seen, seen - 1)) {
        /* again */
    }
}

static void pair_by_semaphore(struct worker *worker, size_t key) {
    sem_t *semaphore = &worker->bench->shared->counters[key].semaphore;

    if (sem_trywait(semaphore) != 0 || sem_post(semaphore) != 0) {
        bench_give_up("a semaphore is off");
    }
}

static void pair_by_mutex(struct worker *worker, size_t key) {
    pthread_mutex_t *mutex = &worker->bench->shared->counters[key].mutex;

    if (pthread_mutex_lock(mutex) != 0 || pthread_mutex_unlock(mutex) != 0) {
        bench_give_up("a mutex is off");
    }
}

static void pair_by_canal(struct worker *worker, size_t key) {
    lk_canal_permit permit;

    if (lk_canal_acquire(worker->holder, worker->keys[key].text, worker->keys[key].size, 100, 1,
                         &permit)
            != LK_CANAL_OK
        || lk_canal_release(worker->holder, &permit) != LK_CANAL_OK) {
        bench_give_up("a permit is off");
    }
}

static const struct peer {
    const char *name;
    void (*pair)(struct worker *worker, size_t key);
} peers[] = {
    {"bare compare-and-swap", pair_by_swap},
    {"the same, found by its key", pair_by_hash},
    {"sem_trywait + sem_post", pair_by_semaphore},
    {"robust mutex", pair_by_mutex},
    {"canal.h", pair_by_canal},
};
enum { PEERS = sizeof peers / sizeof peers[0], SWAP = 0, HASHED = 1, CANAL = PEERS - 1 };

/* ---- measuring ------------------------------------------------------------------------------- */

static void shared_begin(struct bench *bench, size_t key_count) {
    const lk_canal_options options = {.size = sizeof options, .keys = MANY_KEYS};
    pthread_mutexattr_t attributes;
    lk_canal *canal;
    char text[LK_CANAL_TEXT_MAX];

    bench->key_count = key_count;
    bench->bytes = sizeof *bench->shared;
    bench->shared =
        mmap(NULL, bench->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bench->shared == MAP_FAILED || pthread_mutexattr_init(&attributes) != 0
        || pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) != 0
        || pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) != 0) {
        bench_give_up("no shared memory");
    }
    for (size_t i = 0; i < key_count; i++) {
        (void)sem_init(&bench->shared->counters[i].semaphore, 1, 100);
        (void)pthread_mutex_init(&bench->shared->counters[i].mutex, &attributes);
    }
    (void)snprintf(bench->name, sizeof bench->name, "bench.%d", (int)getpid());
    if (lk_canal_open(bench->name, &options, &canal, text) != LK_CANAL_OK) {
        bench_give_up("%s", text);
    }
    lk_canal_close(canal);
}

static void shared_end(struct bench *bench) {
    (void)munmap(bench->shared, bench->bytes);
    (void)lk_canal_remove(bench->name);
}

static void worker_begin(struct worker *worker) {
    size_t key_count = worker->bench->key_count;
    lk_canal *canal;

    worker->keys = calloc(key_count, sizeof *worker->keys);
    if (worker->keys == NULL
        || lk_canal_open(worker->bench->name, NULL, &canal, NULL) != LK_CANAL_OK
        || lk_canal_join(canal, LK_CANAL_PROCESS, "bench", &worker->holder) != LK_CANAL_OK) {
        bench_give_up("a worker cannot begin");
    }
    for (size_t i = 0; i < key_count; i++) {
        struct key *key = &worker->keys[i];

        key->size = (uint16_t)snprintf(key->text, sizeof key->text, "node:%zu", i % 1000000);
        pair_by_canal(worker, i);
        (void)count_of(worker, i); /* enters it there, too */
    }
}

static size_t pairs(void) {
    return bench_amount(PAIRS, PAIRS_SMOKE);
}

static void take_turn(struct worker *worker, const struct peer *peer) {
    worker->bench->shared->began_ns[worker->number] = bench_now_ns();
    for (size_t i = 0; i < pairs(); i++) {
        peer->pair(worker, key_of(worker, i));
    }
    worker->bench->shared->ended_ns[worker->number] = bench_now_ns();
}

/* From the first start to the last end: longer if the processes did not run in parallel. */
static double span_ns(const struct shared *shared, size_t processes) {
    int64_t began_ns = shared->began_ns[0];
    int64_t ended_ns = shared->ended_ns[0];

    for (size_t i = 1; i < processes; i++) {
        began_ns = shared->began_ns[i] < began_ns ? shared->began_ns[i] : began_ns;
        ended_ns = shared->ended_ns[i] > ended_ns ? shared->ended_ns[i] : ended_ns;
    }
    return (double)(ended_ns - began_ns) / (double)pairs();
}

/* All turns of one process, each begun together with the others'. */
static void work(struct worker *worker) {
    struct shared *shared = worker->bench->shared;

    worker_begin(worker);
    (void)atomic_fetch_add(&shared->ready, 1);
    for (uint32_t turn = 1; turn <= TURNS * PEERS; turn++) {
        while (atomic_load(&shared->turn) < turn) {
            /* spinning: both have a core, and a wake-up would be measured */
        }
        take_turn(worker, &peers[turn % PEERS]);
        (void)atomic_fetch_add(&shared->ready, 1);
    }
    _exit(0);
}

static void await_ready(struct shared *shared, uint32_t count) {
    const struct timespec nap = {.tv_nsec = 100000};

    while (atomic_load(&shared->ready) < count) {
        (void)nanosleep(&nap, NULL); /* the cores are the workers' */
    }
}

/* What a pair cost in the turns of each peer, of the slowest of the processes in that turn. */
struct turns {
    double ns[PEERS][TURNS];
};

static void measure(size_t processes, size_t key_count, bool apart, struct turns *ret_turns) {
    struct bench bench = {0};
    uint32_t ready = (uint32_t)processes;

    bench_progress("%zu processes, %zu keys", processes, key_count);
    shared_begin(&bench, key_count);
    for (size_t i = 0; i < processes; i++) {
        struct worker worker = {.bench = &bench, .number = i, .share = apart ? i : 0};

        worker.shares = apart ? processes : 1;
        if (fork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* it spins until it is told its turn */
            work(&worker);
        }
    }
    await_ready(bench.shared, ready);
    for (uint32_t turn = 1; turn <= TURNS * PEERS; turn++) {
        atomic_store(&bench.shared->turn, turn);
        ready += (uint32_t)processes;
        await_ready(bench.shared, ready);
        ret_turns->ns[turn % PEERS][(turn - 1) / PEERS] = span_ns(bench.shared, processes);
    }
    while (wait(NULL) > 0) {
        /* until all have ended */
    }
    shared_end(&bench);
}

/* The middles of blocks of turns, one after the other, as rounds of a comparison. */
static void blocks_of(const double turns[TURNS], double ret_ns[BLOCKS]) {
    for (size_t i = 0; i < BLOCKS; i++) {
        double block[TURNS / BLOCKS];

        memcpy(block, turns + i * (TURNS / BLOCKS), sizeof block);
        ret_ns[i] = bench_median(block, TURNS / BLOCKS);
    }
}

static double middle_of(const double turns[TURNS]) {
    double copy[TURNS];

    memcpy(copy, turns, sizeof copy);
    return bench_median(copy, TURNS);
}

/* ---- Erlang ---------------------------------------------------------------------------------- */

/* Compiles the program, and for "canal" the binding, to a folder of its own, and runs it there. */
static bool play_erlang(const char *source, const char *counters, size_t processes,
                        size_t key_count, double ret_ns[BLOCKS], char why[BENCH_TEXT_BYTES]) {
    static const char binding[] = SOURCE_ROOT "/bindings/erlang";
    char command[2048];
    const char *const words[] = {"sh", "-c", command, NULL};
    struct companion peer;

    (void)snprintf(
        command, sizeof command,
        "command -v erlc >/dev/null || { echo 'no: Erlang is not installed'; exit; }; "
        "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && trap 'exit 0' TERM && mkdir \"$d/ebin\" && "
        "{ erlc -o \"$d/ebin\" '%s' '%s/src/lockkeeper_canal.erl' && { [ %s = ets ] || "
        "make -C '%s/c_src' OUT=\"$d/priv\" INCLUDES='-I%s/include' LIBS='%s'; }; } >&2 || "
        "{ echo 'no: it was not compiled (erlang-dev?)'; exit; }; ERL_CRASH_DUMP=/dev/null "
        "erl -noshell -pa \"$d/ebin\" -s limit_counters main %s %zu %zu %zu",
        source, binding, counters, binding, SOURCE_ROOT, CANAL_ARCHIVE, counters, processes,
        key_count, bench_amount(ERLANG_PAIRS, PAIRS_SMOKE));
    if (!companion_start(&peer, words, why)) {
        return false;
    }
    (void)companion_round(&peer, "warm up");
    for (size_t i = 0; i < BLOCKS; i++) {
        ret_ns[i] = companion_round(&peer, "go");
    }
    companion_stop(&peer);
    return true;
}

static void print_beside_erlang(const char *what, double bar, const double own_ns[BLOCKS],
                                const double peer_ns[BLOCKS]) {
    bench_comparison_print(&(struct bench_comparison){.what = what,
                                                      .peer = "Erlang: counters and a manager",
                                                      .unit = "ns",
                                                      .is_cost = true,
                                                      .bar = bar,
                                                      .ours = own_ns,
                                                      .theirs = peer_ns,
                                                      .count = BLOCKS});
}

/* canal.h, and its binding for Erlang, beside counters in an ETS table. */
static void print_erlang(const char *source, size_t processes, size_t key_count,
                         const double own_ns[BLOCKS]) {
    static const char from_c[] = "acquire + release";
    static const char from_erlang[] = "acquire + release, from Erlang";
    double peer_ns[BLOCKS];
    double binding_ns[BLOCKS];
    char why[BENCH_TEXT_BYTES];

    if (!play_erlang(source, "ets", processes, key_count, peer_ns, why)) {
        bench_missing_print(from_c, "Erlang: counters and a manager", why);
        return;
    }
    print_beside_erlang(from_c, 50, own_ns, peer_ns);
    if (!play_erlang(source, "canal", processes, key_count, binding_ns, why)) {
        bench_missing_print(from_erlang, "Erlang: counters and a manager", why);
        return;
    }
    print_beside_erlang(from_erlang, 0, binding_ns, peer_ns);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* What canal.h must reach of the bare thing that does the same: three times its time. */
static double bar_beside(size_t peer, size_t key_count) {
    return peer == (key_count == 1 ? (size_t)SWAP : (size_t)HASHED) ? 1.0 / 3 : 0;
}

static void print_all(const char *title, const char *erlang, size_t processes, size_t key_count,
                      const struct turns *turns) {
    double own_ns[BLOCKS];

    bench_title_print(title);
    blocks_of(turns->ns[CANAL], own_ns);
    for (size_t peer = 0; peer < CANAL; peer++) {
        double peer_ns[BLOCKS];

        blocks_of(turns->ns[peer], peer_ns);
        bench_comparison_print(&(struct bench_comparison){.what = "acquire + release",
                                                          .peer = peers[peer].name,
                                                          .unit = "ns",
                                                          .is_cost = true,
                                                          .bar = bar_beside(peer, key_count),
                                                          .ours = own_ns,
                                                          .theirs = peer_ns,
                                                          .count = BLOCKS});
    }
    print_erlang(erlang, processes, key_count, own_ns);
}

static void bench_full(void) {
    lk_canal_holder *holder;
    lk_canal_permit permit;
    lk_canal *canal;
    char name[64];
    int64_t began_ns;

    (void)snprintf(name, sizeof name, "bench.%d", (int)getpid());
    if (lk_canal_open(name, NULL, &canal, NULL) != LK_CANAL_OK
        || lk_canal_join(canal, LK_CANAL_PROCESS, NULL, &holder) != LK_CANAL_OK
        || lk_canal_acquire(holder, "k", 1, 1, 1, &permit) != LK_CANAL_OK) {
        bench_give_up("no region");
    }
    began_ns = bench_now_ns();
    for (size_t i = 0; i < pairs(); i++) {
        (void)lk_canal_acquire(holder, "k", 1, 1, 1, &permit);
    }
    bench_figure_print("a full answer, no other holder",
                       (double)(bench_now_ns() - began_ns) / (double)pairs(), "ns");
    lk_canal_close(canal);
    (void)lk_canal_remove(name);
}

int main(int argc, char **argv) {
    const char *erlang = argc > 1 ? argv[1] : ERLANG_SOURCE;
    static struct turns alone;
    static struct turns both;

    bench_begin("bench-canal", "Counters in shared memory");
    measure(1, 1, false, &alone);
    print_all("1 process, 1 key", erlang, 1, 1, &alone);
    measure(1, MANY_KEYS, false, &alone);
    print_all("1 process, 100,000 keys", erlang, 1, MANY_KEYS, &alone);
    measure(2, 1, false, &both);
    print_all("2 processes, 1 key", erlang, 2, 1, &both);
    measure(2, MANY_KEYS, true, &both);
    print_all("2 processes, 100,000 keys, each its half", erlang, 2, MANY_KEYS / 2, &both);
    bench_title_print("Two cores");
    bench_figure_print("canal.h, pairs/s of two to pairs/s of one",
                       2 * middle_of(alone.ns[CANAL]) / middle_of(both.ns[CANAL]), "times");
    bench_figure_print("bare compare-and-swap, the same",
                       2 * middle_of(alone.ns[SWAP]) / middle_of(both.ns[SWAP]), "times");
    bench_full();
    return 0;
}

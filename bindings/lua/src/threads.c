/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the binding. None of them touches a Lua state.
 *
 * A wait sleeps on a semaphore, which the handler of a signal interrupts. What a signal means to
 * the interpreter is in a hook: `lua` answers SIGINT with a hook that raises "interrupted!", other
 * libraries run handlers of the user's in one. A hook is called when a function is called; so the
 * sleeper calls a small one. A signal that comes just before the sleep does not interrupt it, so
 * the function is also called once a second.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "module.h"

enum { SLICE_S = 1, DISPOSALS_MS = 3000 };

bool lk_lua_thread(void *(*run)(void *), void *argument) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, former;
    bool is_started;

    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all); /* signals are for the thread of the interpreter */
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    is_started = pthread_create(&thread, &attributes, run, argument) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    (void)pthread_attr_destroy(&attributes);
    return is_started;
}

/* What the main coroutine's hook was when the sleep began. */
struct sleep {
    lua_State *main;
    lua_Hook former;
};

/* The function that a hook is called for. `lua` sets its hook in the main coroutine alone; it is
 * not called for another one, but it says that there is an interrupt. */
static int awake(lua_State *L) {
    const struct sleep *sleep = lua_touserdata(L, 1);
    lua_Hook hook = lua_gethook(sleep->main);

    if (sleep->main != L && hook != NULL && hook != sleep->former) {
        (void)lk_lua_raise(L, LK_CANCELLED, "interrupted");
    }
    return 0;
}

static bool is_interrupted(lua_State *L, struct sleep *sleep) {
    lua_pushcfunction(L, awake);
    lua_pushlightuserdata(L, sleep);
    return lua_pcall(L, 1, 0, 0) != LUA_OK;
}

static struct sleep sleep_begin(lua_State *L) {
    struct sleep sleep;

    (void)lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    sleep.main = lua_tothread(L, -1);
    lua_pop(L, 1);
    sleep.former = lua_gethook(sleep.main);
    return sleep;
}

bool lk_lua_sleep(lua_State *L, sem_t *semaphore) {
    struct sleep sleep;

    luaL_checkstack(L, 8, NULL);
    sleep = sleep_begin(L);
    for (;;) {
        struct timespec end;

        (void)clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += SLICE_S;
        if (sem_timedwait(semaphore, &end) == 0) {
            return true;
        }
        if (is_interrupted(L, &sleep)) {
            return false;
        }
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

bool lk_lua_job_init(struct lk_lua_job *job) {
    atomic_init(&job->count, 1);
    job->cancel = lk_cancel_new();
    return job->cancel != NULL && sem_init(&job->ended, 0, 0) == 0;
}

void lk_lua_job_free(void *thing) {
    struct lk_lua_job *job = thing;

    if (atomic_fetch_sub(&job->count, 1) == 1) {
        lk_cancel_free(job->cancel);
        (void)sem_destroy(&job->ended);
        job->destroy(job);
    }
}

static void *job_thread(void *thing) {
    struct lk_lua_job *job = thing;

    job->run(job);
    (void)sem_post(&job->ended);
    lk_lua_job_free(job);
    return NULL;
}

bool lk_lua_job_run(lua_State *L, struct lk_lua_store *store, struct lk_lua_job *job) {
    bool is_whole;

    luaL_checkstack(L, 16, NULL); /* what sleeps raises nothing */
    (void)atomic_fetch_add(&job->count, 1);
    if (!lk_lua_thread(job_thread, job)) {
        (void)atomic_fetch_sub(&job->count, 1);
        lk_lua_push_error(L, LK_INTERNAL, "the system has no thread for a wait", NULL);
        return false;
    }
    store->calls++;
    is_whole = lk_lua_sleep(L, &job->ended);
    if (!is_whole) {
        lk_cancel_now(job->cancel);
        while (sem_wait(&job->ended) != 0) {
        }
    }
    store->calls--;
    return is_whole;
}

/* ---- disposals ------------------------------------------------------------------------------- */

static atomic_int disposals; /* in progress */
static atomic_int disposals_process;

struct disposal {
    void (*end)(void *thing);
    void *thing;
};

static void *disposal_thread(void *argument) {
    struct disposal *disposal = argument;

    disposal->end(disposal->thing);
    free(disposal);
    (void)atomic_fetch_sub(&disposals, 1);
    return NULL;
}

/* A child of fork() has none of its parent's. */
static void disposals_of_process(void) {
    if (atomic_exchange(&disposals_process, (int)getpid()) != (int)getpid()) {
        atomic_store(&disposals, 0);
    }
}

void lk_lua_dispose(void (*end)(void *thing), void *thing) {
    struct disposal *disposal = malloc(sizeof *disposal);

    disposals_of_process();
    if (disposal != NULL) {
        *disposal = (struct disposal){end, thing};
        (void)atomic_fetch_add(&disposals, 1);
        if (lk_lua_thread(disposal_thread, disposal)) {
            return;
        }
        (void)atomic_fetch_sub(&disposals, 1);
        free(disposal);
    }
    end(thing);
}

void lk_lua_disposals_await(void) {
    const struct timespec moment = {.tv_nsec = 1000000};

    disposals_of_process();
    for (int i = 0; i < DISPOSALS_MS && atomic_load(&disposals) > 0; i++) {
        (void)nanosleep(&moment, NULL);
    }
}

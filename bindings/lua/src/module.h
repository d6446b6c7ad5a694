/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Lua binding: what its files share.
 *
 * lua_error() leaves C functions by longjmp(). So whatever the library allocates belongs to an
 * object with __gc before anything of Lua's is called: a guard for what lives as long as one call,
 * or a store, a lease, a watch or a pool of work.
 *
 * A Lua state is used by one thread at a time. Threads of the binding run calls of the library that
 * wait, and never touch a Lua state: they use memory of their own (jobs, feeds), which is counted.
 */
#ifndef LOCKKEEPER_LUA_MODULE_H
#define LOCKKEEPER_LUA_MODULE_H

#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lockkeeper/lockkeeper.h"

#if LUA_VERSION_NUM < 504
#error "the binding needs Lua 5.4"
#endif

#define LK_LUA_STORE "lockkeeper.store"
#define LK_LUA_LEASE "lockkeeper.lease"
#define LK_LUA_LEASE_ENDED "lockkeeper.lease.ended" /* has no __close: it is no scope any more */
#define LK_LUA_WORK "lockkeeper.work"
#define LK_LUA_ITEM "lockkeeper.item"
#define LK_LUA_WATCH "lockkeeper.watch"

/* One more than a request can have: the library refuses those that have it. */
enum { LK_LUA_PARTS_MAX = 17 };

struct lk_lua_feed;
struct lk_lua_watch;

/* A store. Its watches and pools are ended before it is closed. */
struct lk_lua_store {
    lk_store *handle; /* NULL: closed */
    size_t calls;     /* that wait in threads of the binding */
    struct lk_lua_watch *watches;
    struct lk_lua_feed *feeds; /* each is counted */
};

/* ---- objects (objects.c) --------------------------------------------------------------------- */

/* Pushes an owner of `thing` (set it later) that frees it when it is collected. */
struct lk_lua_guard {
    void *thing;
    void (*release)(void *thing);
};
struct lk_lua_guard *lk_lua_guard(lua_State *L, void (*release)(void *thing));
void lk_lua_guard_end(struct lk_lua_guard *guard); /* frees it now */
void lk_lua_guards_open(lua_State *L);

/* Creates the metatable of a kind of objects. Objects have a table of fields as their first user
 * value, and what must outlive them as the second one. */
void lk_lua_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *metamethods);
/* Pushes a new object, all zero, with an empty table of fields. */
void *lk_lua_object(lua_State *L, const char *name, size_t size, int keeps);

struct lk_lua_store *lk_lua_store(lua_State *L, int arg); /* an open one, or raises */

/* ---- errors (objects.c) ---------------------------------------------------------------------- */

/* Pushes an error object; `result` (may be NULL) has its blockers and its cycle. */
void lk_lua_push_error(lua_State *L, lk_outcome outcome, const char *text, const lk_result *result);
int lk_lua_raise(lua_State *L, lk_outcome outcome, const char *text);
void lk_lua_check(lua_State *L, lk_outcome outcome, const lk_error *error); /* raises unless done */
void lk_lua_push_blockers(lua_State *L, const lk_blocker_info *blockers, size_t count);
void lk_lua_errors_open(lua_State *L);

/* Set a field of the table on top of the stack; a NULL text sets nothing. */
void lk_lua_set_text(lua_State *L, const char *name, const char *text);
void lk_lua_set_bytes(lua_State *L, const char *name, const void *bytes, size_t size);
void lk_lua_set_integer(lua_State *L, const char *name, uint64_t value);
void lk_lua_set_bool(lua_State *L, const char *name, bool value);
void lk_lua_set_seconds(lua_State *L, const char *name, int64_t ms);
void lk_lua_set_texts(lua_State *L, const char *name, char *const *texts, size_t count);

/* ---- arguments (arguments.c) ----------------------------------------------------------------- */

/* All options of all calls. Texts belong to the table that they were read from. */
struct lk_lua_options {
    const char *owner, *note, *style, *reason, *by;
    bool shared, value, bound, outlives, drain, at_once, now, has_exit, uncounted, park, again,
        replace;
    int64_t wait_ms, ttl_ms, until_unix_ms, patience_ms, at_least_ms, delay_ms, keep_ms,
        retry_min_ms, retry_max_ms;
    uint32_t limit, units, max_attempts;
    uint64_t token, after;
    int32_t priority, exit_code;
};

/* Reads a table of options, or nothing. `allowed`: their names, with spaces around each. What is
 * "put", "needs" or "table" is left to the caller. Raises for other names and for wrong values. */
void lk_lua_options(lua_State *L, int arg, const char *allowed, struct lk_lua_options *options);

const char *lk_lua_text(lua_State *L, int arg);          /* without a NUL */
const char *lk_lua_optional_text(lua_State *L, int arg); /* NULL: none or nil */
/* The text on top of the stack, named in the error if it is none. */
const char *lk_lua_top_text(lua_State *L, const char *name);
const char *lk_lua_bytes(lua_State *L, int arg, size_t *ret_size); /* a string, not a number */
int64_t lk_lua_wait(lua_State *L, int arg); /* seconds to milliseconds; none: LK_FOREVER */
/* One text, or a list of texts; those of a list belong to it. */
size_t lk_lua_texts(lua_State *L, int arg, const char *texts[LK_LUA_PARTS_MAX]);
/* A list of any number of texts, which belong to it: pushes their array. */
const char **lk_lua_ids(lua_State *L, int arg, size_t *ret_count);
/* lk_lua_texts() for a field of the table at `arg`. */
size_t lk_lua_field_texts(lua_State *L, int arg, const char *name,
                          const char *texts[LK_LUA_PARTS_MAX]);
/* The puts of a field "put": pushes a guard of them, or nil if there are none. */
const lk_part_put *lk_lua_puts(lua_State *L, int arg, size_t *ret_count);

/* ---- threads (threads.c) --------------------------------------------------------------------- */

/* A call in a thread of its own. Counted: the caller and the thread have it. */
struct lk_lua_job {
    void (*run)(struct lk_lua_job *job);
    void (*destroy)(struct lk_lua_job *job);
    lk_cancel *cancel;
    sem_t ended;
    atomic_int count;
};
bool lk_lua_job_init(struct lk_lua_job *job); /* false: no memory */
void lk_lua_job_free(void *job);              /* the caller has it no more */
/*
 * Runs the job in a thread, with the store counted as used. Returns true when it has ended. An
 * error that a hook of the interpreter raises meanwhile cancels it: returns false, with that error
 * pushed, and the job has ended, too.
 */
bool lk_lua_job_run(lua_State *L, struct lk_lua_store *store, struct lk_lua_job *job);

/* Sleeps until the semaphore is posted. False: a hook has raised the error that is pushed. */
bool lk_lua_sleep(lua_State *L, sem_t *semaphore);

bool lk_lua_thread(void *(*run)(void *), void *argument); /* detached, without signals */

/* Calls end(thing) in a thread: it may wait for the store, and the collector must not. */
void lk_lua_dispose(void (*end)(void *thing), void *thing);
void lk_lua_disposals_await(void); /* for a moment; at the end of a state */

/* ---- parts of the module --------------------------------------------------------------------- */

void lk_lua_lease_open(lua_State *L);
void lk_lua_work_open(lua_State *L);
void lk_lua_watch_open(lua_State *L);

extern const luaL_Reg lk_lua_lease_methods[]; /* those of a store, by file */
extern const luaL_Reg lk_lua_request_methods[];
extern const luaL_Reg lk_lua_value_methods[];
extern const luaL_Reg lk_lua_admin_methods[];
extern const luaL_Reg lk_lua_queue_methods[];
extern const luaL_Reg lk_lua_claim_methods[];
extern const luaL_Reg lk_lua_work_methods[];
extern const luaL_Reg lk_lua_watch_methods[];

/* A request whose texts are its own. */
struct lk_lua_request {
    lk_request request;
    const char *parts[LK_LUA_PARTS_MAX];
    char *texts[LK_LUA_PARTS_MAX + 2];
    size_t text_count;
};
#define LK_LUA_REQUEST_OPTIONS                                                                     \
    " wait ttl until shared limit units owner note value bound outlives patience at_least "
bool lk_lua_request_make(struct lk_lua_request *made, const char *const *parts, size_t count,
                         const struct lk_lua_options *options); /* false: no memory */
void lk_lua_request_free(struct lk_lua_request *made);
void lk_lua_request_values(lua_State *L,
                           const lk_result *result); /* sets value, values, in_doubt, doubts */

lk_outcome lk_lua_value_put(lua_State *L, struct lk_lua_store *store, const char *path,
                            const struct lk_lua_options *options, const char *bytes, size_t size);

/* Ends the pools of a store that is being closed; waits for them. */
void lk_lua_feeds_end(struct lk_lua_feed *feeds);
void lk_lua_watches_end(struct lk_lua_store *store); /* frees memory, and waits for nothing */

/* ---- feeds (feed.c) -------------------------------------------------------------------------- */

/*
 * A feed: lk_work() with one worker in a thread of its own, whose items one loop in Lua decides on.
 * The library claims, renews, finishes and retries; here is only the hand-over.
 */
enum { LK_LUA_FEED_TEXTS = 8, LK_LUA_FAILURE_MAX = 1024 };

/* Verdicts, as lk_work_handle() returns them. What is parked has failed. */
enum { LK_LUA_DONE = 0, LK_LUA_FAILED = 1, LK_LUA_PARKED = 2 };

struct lk_lua_feed {
    /* Fixed once the thread runs. */
    pid_t process;
    lk_store *store;
    lk_cancel *cancel;
    lk_work_options options;
    lk_work_table table;
    char *texts[LK_LUA_FEED_TEXTS];
    size_t text_count;

    atomic_int count;         /* of the loop, the store and the thread */
    bool is_started;          /* used by the thread of the interpreter alone, as `next` */
    struct lk_lua_feed *next; /* of the same store */
    sem_t news;               /* an item, a step or the end: for the loop */
    sem_t decided;            /* a verdict: for the thread */

    pthread_mutex_t mutex; /* for all below */
    pthread_cond_t over;
    const lk_claim_info *claim; /* the present item; NULL: none */
    lk_lease *lease;
    uint64_t number; /* of the present or last item; 0: none yet */
    bool is_decided;
    bool is_lost; /* of the present or last item */
    int verdict;
    char failure[LK_LUA_FAILURE_MAX];
    size_t failure_size;
    bool has_exit, has_delay, is_uncounted, has_result;
    int32_t exit_code;
    int64_t delay_ms, keep_ms;
    char result[LK_VALUE_MAX]; /* stays as it is from the decision to the next item */
    size_t result_size;
    uint64_t ended; /* the number of the item whose result `end` is about */
    lk_outcome end;
    lk_error end_error;
    uint64_t stepped; /* the number of the item that `step` is of */
    lk_work_step step;
    bool is_closing;
    bool is_over;
    lk_outcome outcome;
    lk_error error;
    lk_work_counts counts;
};

struct lk_lua_feed *lk_lua_feed_new(lk_store *store); /* NULL: no memory */
void lk_lua_feed_free(void *feed);                    /* one that counts it does so no more */
/* A copy that the feed owns; NULL also for no text. */
const char *lk_lua_feed_text(struct lk_lua_feed *feed, const char *text, bool *is_made);
bool lk_lua_feed_start(struct lk_lua_feed *feed); /* false: no thread */

struct lk_lua_verdict {
    int verdict;
    const char *failure; /* NULL: not said */
    size_t failure_size;
    bool has_exit, has_delay, is_uncounted;
    int32_t exit_code;
    int64_t delay_ms;
    const char *result; /* of what is done; NULL: none */
    size_t result_size; /* up to LK_VALUE_MAX */
    int64_t keep_ms;
};
static const struct lk_lua_verdict lk_lua_given_back = {.verdict = LK_WORK_GIVE_BACK};

/* Decides on the item, unless it is decided on, or another one is the present one. */
bool lk_lua_feed_decide(struct lk_lua_feed *feed, uint64_t number,
                        const struct lk_lua_verdict *verdict);
/* Ends the work, which claims nothing more. The present item gets the verdict unless it has one. */
void lk_lua_feed_cancel(struct lk_lua_feed *feed, const struct lk_lua_verdict *verdict);
/* Claims nothing more. The item with the number `taken` stays with its loop; another goes back. */
void lk_lua_feed_stop(struct lk_lua_feed *feed, uint64_t taken);
void lk_lua_feed_await(struct lk_lua_feed *feed); /* its end */

#endif

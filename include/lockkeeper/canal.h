/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/canal.h - "at most N at once of this key" in the shared memory of one machine.
 *
 * For routers, pools and prefork servers: counters in a region of shared memory that threads and
 * processes of one machine open by name. There is no server, no helper process and no queue. The
 * caller names the limit in each call (max_per for each of `resources`), and may name another one
 * in the next call. Each call is checked exactly against its own limit. The permits of a process or
 * thread that dies are given back.
 *
 *     lk_canal *canal;
 *     lk_canal_holder *holder;
 *     lk_canal_permit permit;
 *
 *     lk_canal_open("router", NULL, &canal, NULL);
 *     lk_canal_join(canal, LK_CANAL_PROCESS, "worker 7", &holder);
 *     if (lk_canal_acquire(holder, "db", 2, 3, backends, &permit) == LK_CANAL_OK) {
 *         ... permit.ordinal of 3 * backends ...
 *         lk_canal_release(holder, &permit);
 *     }
 *
 * Stands alone: link with -llockkeeper-canal (or -llockkeeper, which has it too). Linux on
 * x86-64 or aarch64.
 *
 * What is promised:
 *  - LK_CANAL_OK: at the moment of the grant, the permits of that key, this one included, were at
 *    most the limit named. LK_CANAL_FULL: during the call that many permits were held, each by a
 *    holder that was not yet known to be dead. The call itself has looked for dead holders.
 *  - A permit ends with its holder, however the holder ends: kill -9 at any instruction, exec,
 *    exit. The permit is given back, exactly once, by the next call that needs it. No other process
 *    is stopped meanwhile.
 *  - A stopped holder (SIGSTOP) is alive, and keeps its permits.
 *
 * What to know before use:
 *  - fork(): the child holds nothing. The region is not mapped there, its handles are void
 *    (LK_CANAL_LEFT), and the permits of the parent stay with the parent. A child opens the region
 *    itself.
 *  - A process that shares this one's memory (vfork, clone) must not call anything here.
 *  - A process that may write to the region can also damage it. The region is created for its owner
 *    alone (0600) unless another mode is requested. Shrinking the file kills the processes that use
 *    it (SIGBUS).
 *  - A region lasts until lk_canal_remove(), or until the machine is restarted (for a name without
 *    a slash). It does not end with the processes that use it.
 *  - If the file is removed by other means (rm; systemd's RemoveIPC=yes, when its user logs out),
 *    processes that open the name create a new region, which does not count the permits in the old
 *    one. A holder in the old region detects this: after 10 ms, or 16 of its acquires where that
 *    takes longer, each acquire returns LK_CANAL_GONE. Permits granted before then stay held, and
 *    are not counted in the new region. lk_canal_is_gone() returns true.
 */
#ifndef LOCKKEEPER_CANAL_H
#define LOCKKEEPER_CANAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(LK_PUBLIC) && defined(__GNUC__)
#define LK_PUBLIC __attribute__((visibility("default")))
#elif !defined(LK_PUBLIC)
#define LK_PUBLIC
#endif

enum {
    LK_CANAL_KEY_BYTES_MAX = 64,
    LK_CANAL_NAME_BYTES_MAX = 200,
    LK_CANAL_LABEL_BYTES_MAX = 384,
    LK_CANAL_KEYS_MAX = 16 * 1024 * 1024,    /* in one region */
    LK_CANAL_HOLDERS_MAX = 16 * 1024,        /* in one region */
    LK_CANAL_PERMITS_MAX = 64 * 1024 * 1024, /* in one region, of all keys */
    LK_CANAL_COUNT_MAX = 1000000000,         /* of one key; a greater limit means this many */
    LK_CANAL_TEXT_MAX = 256
};

/* The values are part of the ABI: new ones are added at the end only. */
typedef enum lk_canal_status {
    LK_CANAL_OK = 0,
    LK_CANAL_FULL = 1,     /* as many permits are held as the caller's limit allows */
    LK_CANAL_NOT_HELD = 2, /* this permit is not held (any more) */
    LK_CANAL_NO_ROOM = 3,  /* keys, holders or permits that the region was made for are used up */
    LK_CANAL_INVALID = 4,  /* the arguments of the call are wrong */
    LK_CANAL_NONE = 5,     /* there is no such region */
    LK_CANAL_DENIED = 6,   /* not allowed to open it, or it belongs to another user */
    LK_CANAL_FOREIGN = 7,  /* not a region, incomplete, or of another version */
    LK_CANAL_DAMAGED = 8,  /* the region contains data that this library never writes */
    LK_CANAL_LEFT = 9,     /* the handle was opened before a fork: this process holds nothing */
    LK_CANAL_TIMEOUT = 10, /* not granted within the time given */
    LK_CANAL_SYSTEM = 11,  /* a system call failed; the text names it */
    LK_CANAL_GONE = 12     /* the region's file was removed, or replaced by a new region */
} lk_canal_status;

enum { LK_CANAL_STATUS_COUNT = 13 };

/* The lower-case name: "ok", "full", ... Static storage; never NULL. */
LK_PUBLIC const char *lk_canal_status_name(lk_canal_status status);

typedef struct lk_canal lk_canal;               /* an open region */
typedef struct lk_canal_holder lk_canal_holder; /* a process or thread that may hold permits */

/* ---- regions --------------------------------------------------------------------------------- */

/* The capacities of a new region; zero: the default. An existing region keeps its own, and is not
 * opened if it has less than one that is set here. */
typedef struct lk_canal_options {
    size_t size;      /* sizeof(lk_canal_options) */
    uint32_t keys;    /* in use at once; 0: 4096 */
    uint32_t holders; /* joined at once; 0: 1024 */
    uint32_t permits; /* held at once; each holder reserves them 64 at a time. 0: one for each key
                         and 64 for each holder */
    uint32_t mode;    /* of the file, as with chmod; 0: 0600 */
    bool must_exist;  /* do not create a region: LK_CANAL_NONE */
    bool is_shared;   /* open it also when it belongs to another user */
} lk_canal_options;

/*
 * Opens the region, and creates it if it does not exist. A name without a slash is in /dev/shm (as
 * "canal." and the name); one with a slash is the path of a file. Several processes may create it
 * at once; a region becomes visible only when it is complete. options and ret_text
 * (LK_CANAL_TEXT_MAX bytes, an explanation) may be NULL. Returns LK_CANAL_OK with *ret_canal; NONE,
 * DENIED, FOREIGN, SYSTEM; INVALID, also: a region that exists was made for less than the options
 * ask for; NO_ROOM: too many processes use the region.
 */
LK_PUBLIC lk_canal_status lk_canal_open(const char *name, const lk_canal_options *options,
                                        lk_canal **ret_canal, char *ret_text);

/*
 * Ends all holders that joined through this handle, which gives back their permits, and frees the
 * handle. No other thread may be using it. Accepts NULL.
 */
LK_PUBLIC void lk_canal_close(lk_canal *canal);

/*
 * Removes the name. Processes that open the name afterwards get a new region. Processes that use
 * the removed one can release the permits that they hold there, and acquire no more
 * (LK_CANAL_GONE).
 */
LK_PUBLIC lk_canal_status lk_canal_remove(const char *name);

/*
 * Checks whether the region's file was removed, or its name refers to another file. In that case
 * processes that open the name now do not count the permits held through this handle. Close it, and
 * open the name again. Once true it stays true. Also true for a handle opened before a fork.
 */
LK_PUBLIC bool lk_canal_is_gone(lk_canal *canal);

/* ---- holders --------------------------------------------------------------------------------- */

/* What a holder ends with. */
typedef enum lk_canal_bond {
    LK_CANAL_PROCESS = 0, /* this process's program: ended by exit, kill and exec */
    LK_CANAL_THREAD = 1   /* the calling thread, and also the process */
} lk_canal_bond;

/*
 * Creates a holder, which can hold any number of permits. A holder is used by one thread at a time;
 * a holder that is bound to a thread, by that thread only. Each worker thread should have its own.
 * label: up to LK_CANAL_LABEL_BYTES_MAX bytes, shown in listings; may be NULL. Returns OK with
 * *ret_holder; NO_ROOM, INVALID, LEFT, SYSTEM. The end of a thread ends the holders bound to it.
 */
LK_PUBLIC lk_canal_status lk_canal_join(lk_canal *canal, lk_canal_bond bond, const char *label,
                                        lk_canal_holder **ret_holder);

/* Gives back all permits of the holder and frees it. Accepts NULL. */
LK_PUBLIC void lk_canal_leave(lk_canal_holder *holder);

/* ---- permits --------------------------------------------------------------------------------- */

typedef struct lk_canal_permit {
    uint64_t operation; /* the number of this grant; unique in a region */
    uint32_t entry;     /* the entry in the region that records it */
    uint32_t ordinal;   /* permits held of the key at the moment of the grant, this one included */
} lk_canal_permit;

/*
 * Takes a permit of the key if fewer than max_per * resources are held. Never waits. A key is 1 to
 * LK_CANAL_KEY_BYTES_MAX bytes of any kind. Returns OK with *ret_permit; FULL; NO_ROOM; INVALID;
 * DAMAGED; LEFT; GONE.
 */
LK_PUBLIC lk_canal_status lk_canal_acquire(lk_canal_holder *holder, const char *key,
                                           size_t key_size, uint32_t max_per, uint32_t resources,
                                           lk_canal_permit *ret_permit);

/* The same with a weight: takes `units` at once if the sum with those held is within the limit. */
LK_PUBLIC lk_canal_status lk_canal_acquire_units(lk_canal_holder *holder, const char *key,
                                                 size_t key_size, uint32_t limit, uint32_t units,
                                                 lk_canal_permit *ret_permit);

/*
 * lk_canal_acquire() that sleeps while the key is full, for up to wait_ms, and looks for dead
 * holders from time to time. Returns LK_CANAL_TIMEOUT in place of FULL. There is no queue: waiting
 * calls are granted in no particular order.
 */
LK_PUBLIC lk_canal_status lk_canal_acquire_wait(lk_canal_holder *holder, const char *key,
                                                size_t key_size, uint32_t max_per,
                                                uint32_t resources, int64_t wait_ms,
                                                lk_canal_permit *ret_permit);

/* Gives back a permit of this holder. Returns OK; NOT_HELD: the permit is not held by this holder
 * (any more), even if another holder has it; LEFT. */
LK_PUBLIC lk_canal_status lk_canal_release(lk_canal_holder *holder, const lk_canal_permit *permit);

/* Stores a number with a permit of this holder, for listings. Returns OK; NOT_HELD; LEFT. */
LK_PUBLIC lk_canal_status lk_canal_mark(lk_canal_holder *holder, const lk_canal_permit *permit,
                                        uint64_t mark);

/* ---- looking --------------------------------------------------------------------------------- */

/*
 * Returns how many permits of the key are held; 0 for an unknown key. The count includes permits of
 * dead holders that have not been given back yet. lk_canal_look() gives them back.
 */
LK_PUBLIC lk_canal_status lk_canal_count(lk_canal *canal, const char *key, size_t key_size,
                                         uint32_t *ret_count);

/* Looks for dead holders and gives back their permits. Returns how many dead holders were found. */
LK_PUBLIC uint32_t lk_canal_look(lk_canal *canal);

/*
 * For event loops and schedulers that no call may hold up. lk_canal_look(), and an acquire of a key
 * that is full, give back what dead holders held, which takes longer the more they held. This call
 * gives back nothing, and takes a system call for each other process and each holder that is bound
 * to a thread. Returns false if no holder is dead; true if one is, or if more than `checks_max`
 * processes and holders would have to be checked.
 */
LK_PUBLIC bool lk_canal_may_have_dead(lk_canal *canal, uint32_t checks_max);

/* One permit, as it was at some moment of the listing. Valid during the visit only. */
typedef struct lk_canal_entry {
    const char *key; /* key_size bytes and a terminating 0 */
    size_t key_size;
    const char *label;      /* of its holder */
    uint64_t operation;     /* of its permit */
    uint64_t mark;          /* set by lk_canal_mark(); else 0 */
    int64_t joined_unix_ms; /* when its holder joined */
    uint32_t units;
    uint32_t limit;  /* as named by the call that acquired it */
    int32_t process; /* in the pid namespace of the holder */
    int32_t thread;  /* 0: the holder is bound to the process */
} lk_canal_entry;

/* Visits every permit that is held, in no particular order, until `visit` returns false. */
LK_PUBLIC lk_canal_status lk_canal_list(lk_canal *canal,
                                        bool (*visit)(void *context, const lk_canal_entry *entry),
                                        void *context);

typedef struct lk_canal_figures {
    uint32_t keys;          /* capacity of the region */
    uint32_t keys_held;     /* keys with a permit */
    uint32_t holders;       /* capacity */
    uint32_t holders_in;    /* joined */
    uint32_t permits;       /* capacity */
    uint32_t permits_taken; /* reserved by holders, 64 at a time */
    uint32_t processes_in;
    uint32_t version; /* of the layout */
    uint64_t bytes;
} lk_canal_figures;

LK_PUBLIC lk_canal_status lk_canal_measure(lk_canal *canal, lk_canal_figures *ret_figures);

/*
 * Returns a number greater than every number drawn before in this region. A number drawn after an
 * acquire is a fencing token. It is never below the wall clock in microseconds. 0 for a handle
 * opened before a fork.
 */
LK_PUBLIC uint64_t lk_canal_draw(lk_canal *canal);

#ifdef __cplusplus
}
#endif
#endif

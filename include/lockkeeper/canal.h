/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lockkeeper/canal.h - "at most N at once of this key" in the shared memory of one machine.
 *
 * For routers, pools and prefork servers: counters in a region of shared memory that threads and
 * processes of one machine open by name. There is no server, no helper process and no queue. The
 * asker names the limit at each call (max_per for each of `resources`), and may name another one
 * the next moment; each call is judged by its own, exactly. Whoever dies gives back what it held.
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
 * Stands alone: link with -llockkeeper-canal (or -llockkeeper, which has it too). Linux; x86-64.
 *
 * What is promised:
 *  - LK_CANAL_OK: at the moment of the grant, the permits of that key, this one included, were at
 *    most the limit named. LK_CANAL_FULL: during the call so many permits were held, each by
 *    somebody who was not yet known to be dead; the call itself has looked for the dead.
 *  - A permit ends with its holder, however that ends: kill -9 at any instruction, exec, exit. It
 *    comes back, exactly once, with the next asker that needs it. Nobody is stopped meanwhile.
 *  - A stopped holder (SIGSTOP) is alive, and holds.
 *
 * What to know before use:
 *  - fork(): the child holds nothing. The region is not mapped there, its handles are void
 *    (LK_CANAL_LEFT), and what its parent holds stays its parent's. A child opens for itself.
 *  - A process that shares this one's memory (vfork, clone) must not call anything here.
 *  - Whoever may write to the region may also spoil it: it is made for its owner alone (0600)
 *    unless another mode is asked for, and shrinking the file kills its users (SIGBUS).
 *  - A region lives until lk_canal_remove() or the end of the machine's uptime (for a name without
 *    a slash); processes come and go.
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
    LK_CANAL_COUNT_MAX = 1000000000,         /* of one key; no limit counts for more */
    LK_CANAL_TEXT_MAX = 256
};

/* The values are part of the ABI: new ones are added at the end only. */
typedef enum lk_canal_status {
    LK_CANAL_OK = 0,
    LK_CANAL_FULL = 1,     /* as many permits are held as the asker allows */
    LK_CANAL_NOT_HELD = 2, /* this permit is not held (any more) */
    LK_CANAL_NO_ROOM = 3,  /* keys, holders or permits that the region was made for are used up */
    LK_CANAL_INVALID = 4,  /* the call itself is wrong */
    LK_CANAL_NONE = 5,     /* there is no such region */
    LK_CANAL_DENIED = 6,   /* not allowed to open it, or it belongs to somebody else */
    LK_CANAL_FOREIGN = 7,  /* not a region, not whole, or another version's */
    LK_CANAL_DAMAGED = 8,  /* the region holds what this library never writes */
    LK_CANAL_LEFT = 9,     /* a handle of before a fork: this process holds nothing */
    LK_CANAL_TIMEOUT = 10, /* not granted within the time given */
    LK_CANAL_SYSTEM = 11   /* the system refused; the text says what */
} lk_canal_status;

enum { LK_CANAL_STATUS_COUNT = 12 };

/* The lower-case name: "ok", "full", ... Static storage; never NULL. */
LK_PUBLIC const char *lk_canal_status_name(lk_canal_status status);

typedef struct lk_canal lk_canal;               /* an open region */
typedef struct lk_canal_holder lk_canal_holder; /* somebody who may hold permits */

/* ---- regions --------------------------------------------------------------------------------- */

/* What a new region is made for; one that is there already stays as it is. Zero: the default. */
typedef struct lk_canal_options {
    size_t size;      /* sizeof(lk_canal_options) */
    uint32_t keys;    /* in use at once; 4096 unless named */
    uint32_t holders; /* joined at once; 1024 unless named */
    uint32_t permits; /* held at once; each holder takes them 64 at a time. Unless named, one for
                         each key and 64 for each holder */
    uint32_t mode;    /* of the file, as with chmod; 0600 unless named */
    bool must_exist;  /* do not make one: LK_CANAL_NONE */
    bool is_shared;   /* open it also when it belongs to another user */
} lk_canal_options;

/*
 * Opens the region, and makes it if it is not there: a name without a slash is in /dev/shm (as
 * "canal." and the name), one with a slash is a file. Several may make it at once; a region is
 * never seen before it is whole. options and ret_text (LK_CANAL_TEXT_MAX bytes, a sentence for
 * people) may be NULL. LK_CANAL_OK with *ret_canal; NONE, DENIED, FOREIGN, INVALID, SYSTEM;
 * NO_ROOM: too many processes are in it.
 */
LK_PUBLIC lk_canal_status lk_canal_open(const char *name, const lk_canal_options *options,
                                        lk_canal **ret_canal, char *ret_text);

/*
 * Leaves with all holders that joined through this handle, which gives back their permits, and
 * frees the handle. No other thread may be using it. Accepts NULL.
 */
LK_PUBLIC void lk_canal_close(lk_canal *canal);

/* Takes the name away. Who has the region open keeps it; who opens the name gets a new one. */
LK_PUBLIC lk_canal_status lk_canal_remove(const char *name);

/* ---- holders --------------------------------------------------------------------------------- */

/* What a holder's life is bound to. */
typedef enum lk_canal_bond {
    LK_CANAL_PROCESS = 0, /* this process's program: exit, kill and exec end it */
    LK_CANAL_THREAD = 1   /* the calling thread, and with it the process */
} lk_canal_bond;

/*
 * One who holds permits, any number of them. A holder is used by one thread at a time; one that is
 * bound to a thread, by that thread only. Each thread that works should have its own.
 * label: up to LK_CANAL_LABEL_BYTES_MAX bytes, shown in listings; may be NULL. NO_ROOM, INVALID,
 * LEFT, SYSTEM. A thread that ends leaves with what is bound to it.
 */
LK_PUBLIC lk_canal_status lk_canal_join(lk_canal *canal, lk_canal_bond bond, const char *label,
                                        lk_canal_holder **ret_holder);

/* Gives back all its permits and frees the holder. Accepts NULL. */
LK_PUBLIC void lk_canal_leave(lk_canal_holder *holder);

/* ---- permits --------------------------------------------------------------------------------- */

typedef struct lk_canal_permit {
    uint64_t operation; /* which grant this is; never given twice in a region */
    uint32_t entry;     /* where it is written down */
    uint32_t ordinal;   /* permits held of the key at the moment of the grant, this one included */
} lk_canal_permit;

/*
 * Takes a permit of the key if fewer than max_per * resources are held. Never waits. A key is 1 to
 * LK_CANAL_KEY_BYTES_MAX bytes of any kind. OK with *ret_permit; FULL; NO_ROOM; INVALID; DAMAGED;
 * LEFT.
 */
LK_PUBLIC lk_canal_status lk_canal_acquire(lk_canal_holder *holder, const char *key,
                                           size_t key_size, uint32_t max_per, uint32_t resources,
                                           lk_canal_permit *ret_permit);

/* The same with a weight: takes `units` at once, which together with those held fit the limit. */
LK_PUBLIC lk_canal_status lk_canal_acquire_units(lk_canal_holder *holder, const char *key,
                                                 size_t key_size, uint32_t limit, uint32_t units,
                                                 lk_canal_permit *ret_permit);

/*
 * lk_canal_acquire() that sleeps while it is full, up to wait_ms (and looks for the dead now and
 * then); LK_CANAL_TIMEOUT in place of FULL. Nobody is served first.
 */
LK_PUBLIC lk_canal_status lk_canal_acquire_wait(lk_canal_holder *holder, const char *key,
                                                size_t key_size, uint32_t max_per,
                                                uint32_t resources, int64_t wait_ms,
                                                lk_canal_permit *ret_permit);

/* Gives back a permit that this holder holds. OK; NOT_HELD: it does not (any more). */
LK_PUBLIC lk_canal_status lk_canal_release(lk_canal_holder *holder, const lk_canal_permit *permit);

/* Writes a number beside a permit that this holder holds, for listings. OK; NOT_HELD; LEFT. */
LK_PUBLIC lk_canal_status lk_canal_mark(lk_canal_holder *holder, const lk_canal_permit *permit,
                                        uint64_t mark);

/* ---- looking --------------------------------------------------------------------------------- */

/*
 * How many permits of the key are held; 0 for one never heard of. As counted at this moment: with
 * those of the dead that nobody has come by to look for; lk_canal_look() does that.
 */
LK_PUBLIC lk_canal_status lk_canal_count(lk_canal *canal, const char *key, size_t key_size,
                                         uint32_t *ret_count);

/* Looks for the dead and gives back what they held. Returns how many holders were found dead. */
LK_PUBLIC uint32_t lk_canal_look(lk_canal *canal);

/* One permit, as it was at some moment of the listing. Valid during the visit only. */
typedef struct lk_canal_entry {
    const char *key; /* key_size bytes, and a 0 behind them */
    size_t key_size;
    const char *label;      /* of its holder */
    uint64_t operation;     /* of its permit */
    uint64_t mark;          /* of lk_canal_mark(); 0 */
    int64_t joined_unix_ms; /* when its holder came */
    uint32_t units;
    uint32_t limit;  /* as its asker named it */
    int32_t process; /* in the pid namespace of the holder */
    int32_t thread;  /* 0: it is bound to the process */
} lk_canal_entry;

/* Visits every permit that is held, in no order, until `visit` returns false. */
LK_PUBLIC lk_canal_status lk_canal_list(lk_canal *canal,
                                        bool (*visit)(void *context, const lk_canal_entry *entry),
                                        void *context);

typedef struct lk_canal_figures {
    uint32_t keys;          /* what the region was made for */
    uint32_t keys_held;     /* with a permit */
    uint32_t holders;       /* ... */
    uint32_t holders_in;    /* joined */
    uint32_t permits;       /* ... */
    uint32_t permits_taken; /* by holders, 64 at a time */
    uint32_t processes_in;
    uint32_t version; /* of the layout */
    uint64_t bytes;
} lk_canal_figures;

LK_PUBLIC lk_canal_status lk_canal_measure(lk_canal *canal, lk_canal_figures *ret_figures);

/*
 * A number greater than every one drawn before in this region: drawn after an acquire, a fencing
 * token. Never below the wall clock in microseconds. 0 for a handle of before a fork.
 */
LK_PUBLIC uint64_t lk_canal_draw(lk_canal *canal);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Places among the processes of a region, and whether their locks are still held. */
#include "canal/alive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "canal/region.h"
#include "canal/repair.h"

/* Behind the end of every region. */
#define LOCKS_START ((off_t)1 << 40)

/* ---- forks ----------------------------------------------------------------------------------- */

/* One for the process, as fork() is: the only state here that all regions share. */
static pthread_mutex_t fork_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

void lk_canal_forks_go_on(void) {
    (void)pthread_mutex_unlock(&fork_mutex);
}

static void hold_for_fork(void) {
    (void)pthread_mutex_lock(&fork_mutex);
}

static void watch_forks(void) {
    (void)pthread_atfork(hold_for_fork, lk_canal_forks_go_on, lk_canal_forks_go_on);
}

void lk_canal_forks_hold(void) {
    (void)pthread_once(&fork_once, watch_forks);
    (void)pthread_mutex_lock(&fork_mutex);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static struct flock lock_of(uint32_t process, short type) {
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = LOCKS_START + process, .l_len = 1};
}

static bool is_locked(int file, uint32_t process) {
    struct flock lock = lock_of(process, F_WRLCK);

    /* If the query fails, the process counts as alive. */
    return fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool lk_canal_process_is_dead(const lk_canal *canal, uint32_t process, uint64_t word) {
    const struct lk_canal_process *record = &canal->region.processes[process];

    /* A process that leaves clears its word before its lock: a word without a lock was killed. */
    return process != canal->process && !is_locked(canal->file, process)
           && atomic_load_explicit(&record->word, memory_order_acquire) == word;
}

bool lk_canal_thread_is_dead(const lk_canal *canal, uint32_t process, int32_t thread) {
    const struct lk_canal_process *record = &canal->region.processes[process];
    /* The caller reads the holder's word again afterwards: these must not be of a later process. */
    int32_t pid = atomic_load_explicit(&record->pid, memory_order_acquire);

    if (canal->namespace == 0
        || atomic_load_explicit(&record->namespace, memory_order_acquire) != canal->namespace
        || pid <= 0 || thread <= 0) {
        return false; /* the ids are of another namespace; the end of its process is detected */
    }
    return syscall(SYS_tgkill, pid, thread, 0) != 0 && errno == ESRCH;
}

/* ---- places ---------------------------------------------------------------------------------- */

uint64_t lk_canal_namespace(void) {
    struct stat status;

    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

void lk_canal_raise(_Atomic uint32_t *top, uint32_t count) {
    uint32_t seen = atomic_load_explicit(top, memory_order_relaxed);

    while (seen < count
           && !atomic_compare_exchange_weak_explicit(top, &seen, count, memory_order_acq_rel,
                                                     memory_order_relaxed)) {
        /* `seen` is what it is now */
    }
}

/* The lock first: a process with a word has a lock at every instant. */
static bool enter_at(lk_canal *canal, int file, uint32_t process) {
    struct lk_canal_process *record = &canal->region.processes[process];
    uint64_t word = atomic_load_explicit(&record->word, memory_order_acquire);
    struct flock lock = lock_of(process, F_WRLCK);

    if (lk_canal_is_owned(word) || fcntl(file, F_OFD_SETLK, &lock) != 0) {
        return false;
    }
    atomic_store_explicit(&record->pid, (int32_t)getpid(), memory_order_relaxed);
    atomic_store_explicit(&record->namespace, canal->namespace, memory_order_relaxed);
    lk_canal_raise(&canal->region.head->process_top, process + 1);
    canal->word = lk_canal_owned(word, process);
    if (!atomic_compare_exchange_strong(&record->word, &word, canal->word)) {
        lock.l_type = F_UNLCK;
        (void)fcntl(file, F_OFD_SETLK, &lock);
        return false;
    }
    canal->process = process;
    return true;
}

static bool enter_somewhere(lk_canal *canal, int file) {
    for (uint32_t process = 0; process < canal->region.holder_count; process++) {
        if (enter_at(canal, file, process)) {
            return true;
        }
    }
    return false;
}

lk_canal_status lk_canal_process_enter(lk_canal *canal, int file, char *text) {
    struct flock probe = lock_of(canal->region.holder_count, F_WRLCK);

    canal->process = NONE;
    if (fcntl(canal->file, F_OFD_GETLK, &probe) != 0) {
        return lk_canal_say(text, LK_CANAL_SYSTEM, "no locks can be had on it: %s",
                            strerror(errno));
    }
    if (!enter_somewhere(canal, file)) {
        (void)lk_canal_look_for_dead(canal);
        if (!enter_somewhere(canal, file)) {
            return lk_canal_say(text, LK_CANAL_NO_ROOM, "%u processes are in it already",
                                canal->region.holder_count);
        }
    }
    if (!is_locked(canal->file, canal->process)) {
        lk_canal_process_leave(canal);
        return lk_canal_say(text, LK_CANAL_SYSTEM, "locks are not seen on this file system");
    }
    return LK_CANAL_OK;
}

void lk_canal_process_leave(lk_canal *canal) {
    uint64_t word = canal->word;

    (void)atomic_compare_exchange_strong(&canal->region.processes[canal->process].word, &word,
                                         lk_canal_disowned(word));
}

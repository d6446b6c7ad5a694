/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over /proc gives a snapshot of (process, parent); the scope is found in it. A process
 * is signalled by a pidfd that was opened first and then checked against the snapshot's start time,
 * so that a process that has reused the pid is not signalled.
 *
 * The snapshot lives in pages of its own, and directories and numbers are read by hand, because
 * the guard is a fork of a process with threads, where malloc() and stdio may not be called.
 */
#include "cli/run/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "cli/run/proc.h"

struct process {
    pid_t pid;
    pid_t parent;
    pid_t group;
    unsigned long long started_ticks;
    bool is_dead;  /* a zombie: nothing to end any more */
    bool is_meant; /* in the scope */
};

struct snapshot {
    struct process *processes; /* in the order of their numbers */
    size_t count;
    size_t bytes; /* mapped */
};

enum { SNAPSHOT_BYTES = 65536 }; /* some 2,000 processes; doubled as often as necessary */

/* The number that `*text` begins with after spaces; moves on behind it. */
static unsigned long long read_number(const char **text) {
    unsigned long long number = 0;

    while (**text == ' ') {
        ++*text;
    }
    while (**text >= '0' && **text <= '9') {
        number = number * 10 + (unsigned long long)(*(*text)++ - '0');
    }
    return number;
}

static void skip_fields(const char **text, int count) {
    for (int i = 0; i < count; i++) {
        *text += strspn(*text, " ");
        *text += strcspn(*text, " ");
    }
}

/* Reads /proc/PID/stat. False when the process is gone. */
static bool read_process(pid_t pid, struct process *ret_process) {
    enum { BETWEEN_GROUP_AND_START = 16 }; /* fields that are not needed */
    char text[1024];

    if (!lk_run_proc_read(pid, "stat", text, sizeof text)) {
        return false;
    }
    /* The name before it may hold anything, parentheses too. */
    const char *field = strrchr(text, ')');
    if (field == NULL || field[1] != ' ' || field[2] == '\0') {
        return false;
    }
    char state = field[2];
    field += 3;
    struct process process = {.pid = pid, .is_dead = state == 'Z' || state == 'X' || state == 'x'};
    process.parent = (pid_t)read_number(&field);
    process.group = (pid_t)read_number(&field);
    skip_fields(&field, BETWEEN_GROUP_AND_START);
    process.started_ticks = read_number(&field);
    *ret_process = process;
    return true;
}

static bool make_room(struct snapshot *snapshot) {
    size_t bytes = snapshot->bytes == 0 ? SNAPSHOT_BYTES : snapshot->bytes * 2;

    if ((snapshot->count + 1) * sizeof *snapshot->processes <= snapshot->bytes) {
        return true;
    }
    void *pages =
        snapshot->bytes == 0
            ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            : mremap(snapshot->processes, snapshot->bytes, bytes, MREMAP_MAYMOVE);
    if (pages == MAP_FAILED) {
        return false;
    }
    snapshot->processes = pages;
    snapshot->bytes = bytes;
    return true;
}

/* /proc lists processes in the order of their numbers: the place is nearly always the last. */
static bool add_process(struct snapshot *snapshot, const struct process *process) {
    if (!make_room(snapshot)) {
        return false;
    }
    size_t place = snapshot->count++;
    while (place > 0 && snapshot->processes[place - 1].pid > process->pid) {
        snapshot->processes[place] = snapshot->processes[place - 1];
        place--;
    }
    snapshot->processes[place] = *process;
    return true;
}

/* The processes that one piece of the directory names. False: there is no memory for more. */
static bool add_entries(struct snapshot *snapshot, const char *entries, size_t size) {
    struct process process;

    for (size_t at = 0; at < size;) {
        const struct dirent64 *entry = (const void *)(entries + at);
        const char *name = entry->d_name;
        pid_t pid = (pid_t)read_number(&name);

        if (pid > 0 && *name == '\0' && read_process(pid, &process)
            && !add_process(snapshot, &process)) {
            return false;
        }
        at += entry->d_reclen;
    }
    return true;
}

/* Processes for which there is no memory are left out; the next pass may find them. */
static void take_snapshot(struct snapshot *snapshot) {
    _Alignas(struct dirent64) char entries[4096];
    int directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t size;

    while (directory >= 0 && (size = getdents64(directory, entries, sizeof entries)) > 0
           && add_entries(snapshot, entries, (size_t)size)) {
    }
    if (directory >= 0) {
        close(directory);
    }
}

static void drop_snapshot(struct snapshot *snapshot) {
    if (snapshot->bytes > 0) {
        munmap(snapshot->processes, snapshot->bytes);
    }
}

static bool is_meant(const struct snapshot *snapshot, pid_t pid) {
    size_t low = 0;
    size_t high = snapshot->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct process *process = &snapshot->processes[middle];

        if (process->pid == pid) {
            return process->is_meant;
        }
        if (process->pid < pid) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

static bool is_named(const struct lk_run_scope *scope, const struct process *process) {
    return (scope->group > 0 && process->group == scope->group)
           || (scope->mark != NULL && !process->is_dead
               && lk_run_mark_is_on(scope->mark, process->pid));
}

static bool is_spared(const struct lk_run_scope *scope, const struct process *process) {
    return process->pid == scope->spared || process->pid == scope->spared_too;
}

/* Each pass goes at least one generation deeper, until one finds no further process. */
static void mark_meant(struct snapshot *snapshot, const struct lk_run_scope *scope) {
    /* If the parent has died since, another process may have reused its pid. */
    pid_t root = scope->root == getpid() || scope->root == getppid() ? scope->root : 0;
    bool is_changed = true;

    for (size_t i = 0; i < snapshot->count; i++) {
        struct process *process = &snapshot->processes[i];
        process->is_meant = !is_spared(scope, process) && is_named(scope, process);
    }
    while (is_changed) {
        is_changed = false;
        for (size_t i = 0; i < snapshot->count; i++) {
            struct process *process = &snapshot->processes[i];
            if (!process->is_meant && !is_spared(scope, process)
                && ((root > 0 && process->parent == root) || is_meant(snapshot, process->parent))) {
                process->is_meant = true;
                is_changed = true;
            }
        }
    }
}

/* Where a kernel or a sandbox refuses pidfds, its number may be reused between check and signal. */
static void signal_process(const struct process *process, int signal) {
    struct process present;
    int descriptor = pidfd_open(process->pid, 0);

    if (read_process(process->pid, &present) && present.started_ticks == process->started_ticks
        && (descriptor < 0
            || (pidfd_send_signal(descriptor, signal, NULL, 0) != 0 && errno != ESRCH))) {
        kill(process->pid, signal);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
}

unsigned long long lk_run_descendants_started(pid_t pid) {
    struct process process;

    return read_process(pid, &process) && !process.is_dead ? process.started_ticks : 0;
}

size_t lk_run_descendants_signal(const struct lk_run_scope *scope, int signal) {
    struct snapshot snapshot = {0};
    size_t found = 0;

    take_snapshot(&snapshot);
    mark_meant(&snapshot, scope);
    for (size_t i = 0; i < snapshot.count; i++) {
        const struct process *process = &snapshot.processes[i];
        if (process->is_meant && !process->is_dead) {
            found++;
            if (signal != 0 && (scope->group == 0 || process->group != scope->group)
                && (scope->within == 0 || process->group == scope->within)) {
                signal_process(process, signal);
            }
        }
    }
    drop_snapshot(&snapshot);
    return found;
}

bool lk_run_descendants_is_alone(void) {
    struct snapshot snapshot = {0};
    bool is_alone = true;

    take_snapshot(&snapshot);
    for (size_t i = 0; i < snapshot.count && is_alone; i++) {
        const struct process *process = &snapshot.processes[i];
        is_alone = process->group != getpgrp() || process->pid == getpid() || process->is_dead;
    }
    drop_snapshot(&snapshot);
    return is_alone;
}

bool lk_run_descendants_own_group(pid_t group) {
    const struct lk_run_scope below = {.root = getpid()};
    struct snapshot snapshot = {0};
    bool is_own = true;

    take_snapshot(&snapshot);
    mark_meant(&snapshot, &below);
    for (size_t i = 0; i < snapshot.count && is_own; i++) {
        const struct process *process = &snapshot.processes[i];
        is_own = process->group != group || process->is_dead || process->is_meant;
    }
    drop_snapshot(&snapshot);
    return is_own;
}

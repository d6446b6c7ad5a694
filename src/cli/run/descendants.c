/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over /proc gives a snapshot of (process, parent); what hangs below this process is
 * found in it. A process is signalled by a pidfd that was opened first and checked against the
 * snapshot's start time then: a number that was used again meanwhile is not hit.
 */
#include "cli/run/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

struct process {
    pid_t pid;
    pid_t parent;
    pid_t group;
    unsigned long long started_ticks;
    bool is_dead; /* a zombie: nothing to end any more */
    bool is_below;
};

struct snapshot {
    struct process *processes; /* in the order of their numbers */
    size_t count;
    size_t capacity;
};

/* Reads /proc/PID/stat. False when the process is gone. */
static bool read_process(pid_t pid, struct process *ret_process) {
    char path[64];
    char text[1024];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return false;
    }
    ssize_t size = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (size <= 0) {
        return false;
    }
    text[size] = '\0';
    /* The name before it may hold anything, parentheses too. */
    const char *fields = strrchr(text, ')');
    struct process process = {.pid = pid};
    char state;
    int parent;
    int group;
    if (fields == NULL
        || sscanf(fields + 1,
                  " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &state, &parent, &group, &process.started_ticks)
               != 4) {
        return false;
    }
    process.parent = parent;
    process.group = group;
    process.is_dead = state == 'Z' || state == 'X' || state == 'x';
    *ret_process = process;
    return true;
}

static bool add_process(struct snapshot *snapshot, const struct process *process) {
    if (snapshot->count == snapshot->capacity) {
        size_t capacity = snapshot->capacity == 0 ? 256 : snapshot->capacity * 2;
        struct process *grown =
            realloc(snapshot->processes, capacity * sizeof *snapshot->processes);
        if (grown == NULL) {
            return false;
        }
        snapshot->processes = grown;
        snapshot->capacity = capacity;
    }
    snapshot->processes[snapshot->count++] = *process;
    return true;
}

static int compare_processes(const void *a, const void *b) {
    pid_t left = ((const struct process *)a)->pid;
    pid_t right = ((const struct process *)b)->pid;

    return (left > right) - (left < right);
}

/* What memory does not suffice for is left out; the next pass may find it. */
static void take_snapshot(struct snapshot *snapshot) {
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    struct process process;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && read_process(pid, &process) && !add_process(snapshot, &process)) {
            break;
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    if (snapshot->count > 0) {
        qsort(snapshot->processes, snapshot->count, sizeof *snapshot->processes, compare_processes);
    }
}

static bool is_below(const struct snapshot *snapshot, pid_t pid) {
    struct process key = {.pid = pid};
    const struct process *found = bsearch(&key, snapshot->processes, snapshot->count,
                                          sizeof *snapshot->processes, compare_processes);

    return found != NULL && found->is_below;
}

/* Each pass goes at least one generation deeper, until one finds nobody new. */
static void mark_below(struct snapshot *snapshot, pid_t root, pid_t spared) {
    bool is_changed = true;

    while (is_changed) {
        is_changed = false;
        for (size_t i = 0; i < snapshot->count; i++) {
            struct process *process = &snapshot->processes[i];
            if (!process->is_below && process->pid != spared
                && (process->parent == root || is_below(snapshot, process->parent))) {
                process->is_below = true;
                is_changed = true;
            }
        }
    }
}

static void signal_process(const struct process *process, int signal) {
    struct process present;
    int descriptor = pidfd_open(process->pid, 0);

    if (descriptor < 0) {
        return;
    }
    if (read_process(process->pid, &present) && present.started_ticks == process->started_ticks) {
        pidfd_send_signal(descriptor, signal, NULL, 0);
    }
    close(descriptor);
}

size_t lk_run_descendants_signal(pid_t spared, pid_t skipped_group, int signal) {
    struct snapshot snapshot = {0};
    size_t found = 0;

    take_snapshot(&snapshot);
    mark_below(&snapshot, getpid(), spared);
    for (size_t i = 0; i < snapshot.count; i++) {
        const struct process *process = &snapshot.processes[i];
        if (process->is_below && !process->is_dead) {
            found++;
            if (signal != 0 && process->group != skipped_group) {
                signal_process(process, signal);
            }
        }
    }
    free(snapshot.processes);
    return found;
}

bool lk_run_descendants_own_group(pid_t group) {
    struct snapshot snapshot = {0};
    bool is_own = true;

    take_snapshot(&snapshot);
    mark_below(&snapshot, getpid(), 0);
    for (size_t i = 0; i < snapshot.count && is_own; i++) {
        const struct process *process = &snapshot.processes[i];
        is_own = process->group != group || process->is_dead || process->is_below;
    }
    free(snapshot.processes);
    return is_own;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of /proc, the variable LK_RUN, and one pass over /proc. */
#include "cli/run/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "base/system_call.h"
#include "base/text.h"

/* ---- files of /proc -------------------------------------------------------------------------- */

/* Paths are written digit by digit: snprintf() is not safe between fork and exec. */

int lk_run_proc_open(pid_t pid, const char *name) {
    char path[sizeof "/proc//" + 16 + LK_RUN_PROC_NAME_MAX];
    char digits[16];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + pid % 10);
        pid /= 10;
    } while (pid > 0);
    char *end = stpcpy(path, "/proc/");
    while (count > 0) {
        *end++ = digits[--count];
    }
    *end++ = '/';
    stpcpy(end, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool lk_run_proc_read(pid_t pid, const char *name, char *ret_text, size_t size) {
    int descriptor = lk_run_proc_open(pid, name);

    if (descriptor < 0) {
        return false;
    }
    ssize_t filled = read(descriptor, ret_text, size - 1);
    close(descriptor);
    ret_text[filled > 0 ? filled : 0] = '\0';
    return filled > 0;
}

/* ---- the mark of a run ----------------------------------------------------------------------- */

/* The variable LK_RUN: written for CMD, and searched in /proc/PID/environ. */

static const char variable_name[] = "LK_RUN=";

void lk_run_mark_make(struct lk_run_mark *mark) {
    (void)snprintf(mark->text, sizeof mark->text, "%016" PRIx64 "%016" PRIx64, lk_random_draw(),
                   lk_random_draw());
}

static bool is_mark_variable(const char *variable) {
    return strncmp(variable, variable_name, sizeof variable_name - 1) == 0;
}

char **lk_run_mark_environment(const struct lk_run_mark *mark, char *const *environment) {
    const char *outer = NULL;
    size_t count = 0;

    while (environment[count] != NULL) {
        count++;
    }
    char **marked = calloc(count + 2, sizeof *marked);
    if (marked == NULL) {
        return NULL;
    }
    /* The first is the one that was made here: the only one to be freed. */
    size_t kept = 1;
    for (size_t i = 0; i < count; i++) {
        if (is_mark_variable(environment[i])) {
            outer = environment[i] + sizeof variable_name - 1;
        } else {
            marked[kept++] = environment[i];
        }
    }
    marked[0] = outer != NULL && outer[0] != '\0'
                    ? lk_text_make("%s%s %s", variable_name, outer, mark->text)
                    : lk_text_make("%s%s", variable_name, mark->text);
    if (marked[0] == NULL) {
        free(marked);
        return NULL;
    }
    return marked;
}

void lk_run_mark_environment_free(char **environment) {
    free(environment[0]);
    free(environment);
}

/* No other text is equal to a mark, so the search need not separate the variables. */
bool lk_run_mark_is_on(const struct lk_run_mark *mark, pid_t pid) {
    enum { MARK_LENGTH = LK_RUN_MARK_SIZE - 1 };
    char text[4096];
    size_t kept = 0; /* of the piece before: a mark may lie across two */
    bool is_found = false;
    ssize_t size;

    int descriptor = lk_run_proc_open(pid, "environ");
    if (descriptor < 0) {
        return false;
    }
    while (!is_found && (size = read(descriptor, text + kept, sizeof text - kept)) > 0) {
        size_t filled = kept + (size_t)size;

        is_found = memmem(text, filled, mark->text, MARK_LENGTH) != NULL;
        kept = filled < MARK_LENGTH ? filled : MARK_LENGTH - 1;
        memmove(text, text + filled - kept, kept);
    }
    close(descriptor);
    return is_found;
}

/* ---- the processes --------------------------------------------------------------------------- */

/*
 * One pass over /proc gives a snapshot of (process, parent); the scope is found in it. A process
 * is signalled by a pidfd that was opened first and then checked against the snapshot's start time,
 * so that a process that has reused the pid is not signalled.
 *
 * The snapshot lives in pages of its own, and directories and numbers are read by hand, because
 * the guard is a fork of a process with threads, where malloc() and stdio may not be called.
 */

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

    while (directory >= 0 && (size = lk_getdents(directory, entries, sizeof entries)) > 0
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
    int descriptor = lk_pidfd_open(process->pid);

    if (read_process(process->pid, &present) && present.started_ticks == process->started_ticks
        && (descriptor < 0 || (lk_pidfd_send_signal(descriptor, signal) != 0 && errno != ESRCH))) {
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

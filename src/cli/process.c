/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some shells run the command of $(...) in a copy of themselves and some do not, sometimes
 * depending on a redirection inside it. TOKEN=$(lk acquire x) means the script in both cases. Such
 * a copy has its parent's program and arguments, and its stdout is a pipe that the parent reads. A
 * subshell that runs beside its script, `( ... ) &`, is not such a copy and counts as itself.
 */
#include "cli/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PROC_PATH_SIZE = 64,
    STAT_SIZE = 1024,
    ARGUMENTS_SIZE = 4096, /* two shells that differ only behind that count as one */
    LINK_SIZE = 4096,
    STAT_PARENT = 4, /* fields of /proc/PID/stat, proc(5) */
    STAT_START = 22,
    NESTING_MAX = 16, /* substitutions inside substitutions */
};

static void proc_path(char path[PROC_PATH_SIZE], pid_t pid, const char *name) {
    (void)snprintf(path, PROC_PATH_SIZE, "/proc/%ld/%s", (long)pid, name);
}

/* Reads the start of a file of /proc; returns its size, 0 if it cannot be read. */
static size_t read_proc(pid_t pid, const char *name, char *ret_bytes, size_t size) {
    char path[PROC_PATH_SIZE];
    size_t used = 0;

    proc_path(path, pid, name);
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        used = fread(ret_bytes, 1, size, file);
        (void)fclose(file);
    }
    return used;
}

/* A number of /proc/PID/stat; 0 if it cannot be read. */
static unsigned long long stat_field(pid_t pid, int wanted) {
    char stat[STAT_SIZE];

    stat[read_proc(pid, "stat", stat, sizeof stat - 1)] = '\0';
    /* Field 2 is the program's name in parentheses and may hold anything, also these. */
    const char *field = strrchr(stat, ')');
    for (int number = 2; field != NULL && number < wanted; number++) {
        field = strchr(field + 1, ' ');
    }
    return field != NULL ? strtoull(field + 1, NULL, 10) : 0;
}

/* Where a link of /proc leads, terminated; false if that cannot be read. */
static bool read_link(const char *path, char ret_link[LINK_SIZE]) {
    ssize_t size = readlink(path, ret_link, LINK_SIZE - 1);
    ret_link[size > 0 ? size : 0] = '\0';
    return size > 0;
}

static bool is_copy(pid_t child, pid_t parent) {
    char path[PROC_PATH_SIZE];
    char programs[2][LINK_SIZE];
    char arguments[2][ARGUMENTS_SIZE];

    proc_path(path, child, "exe");
    if (!read_link(path, programs[0])) {
        return false;
    }
    proc_path(path, parent, "exe");
    if (!read_link(path, programs[1]) || strcmp(programs[0], programs[1]) != 0) {
        return false;
    }
    size_t child_size = read_proc(child, "cmdline", arguments[0], ARGUMENTS_SIZE);
    size_t parent_size = read_proc(parent, "cmdline", arguments[1], ARGUMENTS_SIZE);
    return child_size > 0 && child_size == parent_size
           && memcmp(arguments[0], arguments[1], child_size) == 0;
}

/* Whether the process has the reading end of the pipe open that a link of /proc names. */
static bool reads_pipe(pid_t pid, const char *pipe_link) {
    char path[PROC_PATH_SIZE];
    char link[LINK_SIZE];
    bool found = false;

    proc_path(path, pid, "fd");
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return false;
    }
    const struct dirent *entry;
    while (!found && (entry = readdir(directory)) != NULL) {
        struct stat status;
        /* The mode of these links says what the descriptor was opened for. */
        if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0
            && S_ISLNK(status.st_mode) && (status.st_mode & S_IRUSR) != 0) {
            ssize_t size = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
            link[size > 0 ? size : 0] = '\0';
            found = strcmp(link, pipe_link) == 0;
        }
    }
    (void)closedir(directory);
    return found;
}

static bool is_substitution(pid_t child, pid_t parent) {
    char path[PROC_PATH_SIZE];
    char link[LINK_SIZE];

    proc_path(path, child, "fd/1");
    return parent > 0 && read_link(path, link) && strncmp(link, "pipe:", strlen("pipe:")) == 0
           && is_copy(child, parent) && reads_pipe(parent, link);
}

pid_t lk_process_shell(void) {
    pid_t shell = getppid();

    for (int i = 0; i < NESTING_MAX && shell > 0; i++) {
        pid_t parent = (pid_t)stat_field(shell, STAT_PARENT);
        if (!is_substitution(shell, parent)) {
            break;
        }
        shell = parent;
    }
    return shell;
}

unsigned long long lk_process_start(pid_t pid) {
    return stat_field(pid, STAT_START);
}

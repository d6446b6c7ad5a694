/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of the caller, and an owner that names it. */
#include "cli/parse/caller.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/random.h"
#include "base/slice.h"
#include "lockkeeper/lockkeeper.h"

/* ---- processes ------------------------------------------------------------------------------- */

/*
 * Some shells run the command of $(...) in a copy of themselves and some do not, sometimes
 * depending on a redirection inside it. TOKEN=$(lk acquire x) means the script in both cases. Such
 * a copy has its parent's program and arguments, and its stdout is a pipe that the parent reads. A
 * subshell that runs beside its script, `( ... ) &`, is not such a copy and counts as itself.
 */

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

/* ---- shells ---------------------------------------------------------------------------------- */

static bool is_shell_name(struct lk_slice name) {
    static const char *const names[] = {
        "ash", "bash", "csh", "dash",  "fish", "hush",  "ksh", "ksh93", "lksh", "loksh", "mksh",
        "nu",  "oksh", "osh", "pdksh", "posh", "rbash", "rc",  "sh",    "tcsh", "yash",  "zsh"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (lk_slice_equal(name, lk_slice_of(names[i]))) {
            return true;
        }
    }
    return false;
}

/* The last segment of a path, without the dash of a login shell and the mark of a program that was
 * replaced since it was started. */
static struct lk_slice name_of(const char *path) {
    static const char deleted[] = " (deleted)";
    const char *slash = strrchr(path, '/');
    struct lk_slice name = lk_slice_of(slash != NULL ? slash + 1 : path);
    size_t end_size = sizeof deleted - 1;

    if (name.size > end_size && memcmp(name.bytes + name.size - end_size, deleted, end_size) == 0) {
        name.size -= end_size;
    }
    if (name.size > 0 && name.bytes[0] == '-') {
        name.bytes++;
        name.size--;
    }
    return name;
}

/* Programs that are many: the word that chose one of them is their first or second argument. */
static bool is_multi_call(struct lk_slice name) {
    return lk_slice_equal(name, lk_slice_of("busybox"))
           || lk_slice_equal(name, lk_slice_of("toybox"));
}

static bool runs_as_shell(pid_t pid) {
    char arguments[ARGUMENTS_SIZE + 2] = "";
    struct lk_slice name;

    (void)read_proc(pid, "cmdline", arguments, ARGUMENTS_SIZE);
    name = name_of(arguments);
    return is_shell_name(is_multi_call(name) ? name_of(arguments + strlen(arguments) + 1) : name);
}

bool lk_process_is_shell(pid_t pid) {
    char path[PROC_PATH_SIZE];
    char program[LINK_SIZE];
    size_t size;

    proc_path(path, pid, "exe");
    if (!read_link(path, program)) {
        size = read_proc(pid, "comm", program, sizeof program - 1);
        program[size] = '\0';
        program[strcspn(program, "\n")] = '\0';
    }
    return is_multi_call(name_of(program)) ? runs_as_shell(pid) : is_shell_name(name_of(program));
}

bool lk_process_has_shell(void) {
    return lk_process_is_shell(lk_process_shell());
}

/* ---- time ------------------------------------------------------------------------------------ */

unsigned long long lk_process_start(pid_t pid) {
    return stat_field(pid, STAT_START);
}

/* ---- its owner ------------------------------------------------------------------------------- */

/*
 * An owner that names the calling process. A pid alone is reused, and means a different process in
 * a different container; with start time, boot id and pid namespace it is unique. A number that the
 * system does not provide is 0.
 */

static unsigned long long pid_namespace(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (unsigned long long)status.st_ino : 0;
}

void lk_shell_user(char ret_user[LK_OWNER_TEXT_SIZE]) {
    struct lk_text user = lk_text_in(ret_user, LK_OWNER_TEXT_SIZE);

    lk_owner_add_user(&user);
}

/* `number` beside the caller's pid. In another pid namespace each process that entered it in this
 * way has the same parent pid, 0, so a fresh owner is safer than one that they would share. */
static void make_owner(pid_t caller, unsigned long long number,
                       char ret_owner[LK_OWNER_TEXT_SIZE]) {
    struct lk_text owner = lk_text_in(ret_owner, LK_OWNER_TEXT_SIZE);

    if (caller == 0) {
        lk_owner_make(ret_owner);
        return;
    }
    lk_owner_add_process(&owner, caller);
    lk_text_format(&owner, ":%llu:%llu", pid_namespace(), number);
}

void lk_caller_owner(char ret_owner[LK_OWNER_TEXT_SIZE]) {
    pid_t caller = lk_process_shell();

    make_owner(caller, lk_process_is_shell(caller) ? lk_process_start(caller) : lk_random_draw(),
               ret_owner);
}

void lk_caller_claimant(char ret_owner[LK_OWNER_TEXT_SIZE]) {
    pid_t caller = lk_process_shell();

    make_owner(caller, lk_process_start(caller), ret_owner);
}

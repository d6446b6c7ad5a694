/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polls processes, files and /proc until they have the awaited state. A separate connection takes
 * or probes the write lock of the store.
 */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../stretch.h"
#include "base/system_call.h"

enum { WORDS_MAX = 32, PAUSE_NS = 2000000, BOUND_MS = 60000 };

int fixture_stretch(void) {
    return test_stretch();
}

int fixture_bound_ms(void) {
    return BOUND_MS * fixture_stretch();
}

int64_t fixture_now_ms(void) {
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void fixture_pause(void) {
    const struct timespec pause = {.tv_nsec = PAUSE_NS};

    nanosleep(&pause, NULL);
}

/* Fails the test if the wait for `what` has taken too long. */
static void check_bound(int64_t since_ms, const char *what) {
    if (fixture_now_ms() - since_ms > fixture_bound_ms()) {
        fail_msg("waited too long for %s", what);
    }
}

/* ---- the fixture ----------------------------------------------------------------------------- */

int fixture_setup(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    const char *base = getenv("TMPDIR");

    if (fixture == NULL) {
        return -1;
    }
    (void)snprintf(fixture->directory, sizeof fixture->directory, "%s/lk-run-XXXXXX",
                   base != NULL && strlen(base) < 40 ? base : "/tmp");
    if (mkdtemp(fixture->directory) == NULL) {
        free(fixture);
        return -1;
    }
    setenv("LK_STORE", fixture_text(fixture, "sqlite:%s/locks.db", fixture->directory), 1);
    unsetenv("LK_OWNER");
    *state = fixture;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

int fixture_teardown(void **state) {
    struct fixture *fixture = *state;

    for (size_t i = 0; i < fixture->process_count; i++) {
        kill(fixture->processes[i], SIGCONT);
        kill(fixture->processes[i], SIGKILL);
        waitpid(fixture->processes[i], NULL, 0);
    }
    nftw(fixture->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < fixture->text_count; i++) {
        free(fixture->texts[i]);
    }
    free(fixture);
    return 0;
}

const char *fixture_child(void) {
    const char *child = getenv("LK_TEST_CHILD");

    assert_non_null(child);
    return child;
}

static const char *keep_text(struct fixture *fixture, char *text) {
    assert_non_null(text);
    assert_true(fixture->text_count < FIXTURE_TEXTS_MAX);
    fixture->texts[fixture->text_count++] = text;
    return text;
}

const char *fixture_text(struct fixture *fixture, const char *format, ...) {
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    assert_true(size >= 0);
    return keep_text(fixture, text);
}

const char *fixture_seconds(struct fixture *fixture, int seconds) {
    return fixture_text(fixture, "%ds", seconds * fixture_stretch());
}

const char *fixture_path(struct fixture *fixture, const char *name) {
    return fixture_text(fixture, "%s/%s", fixture->directory, name);
}

/* ---- processes ------------------------------------------------------------------------------- */

enum way { IN_A_GROUP, ALONE, TRACED };

static _Noreturn void become(struct fixture *fixture, char *const *words, enum way way) {
    int in = open("/dev/null", O_RDONLY);
    int out = open(fixture_path(fixture, "out"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    int err = open(fixture_path(fixture, "err"), O_WRONLY | O_CREAT | O_APPEND, 0600);

    if (way == ALONE) {
        setsid();
    } else {
        setpgid(0, 0);
    }
    if (way == TRACED && ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
        _exit(99);
    }
    if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) {
        _exit(99);
    }
    lk_close_range(STDERR_FILENO + 1, ~0U); /* inherited from the test runner */
    execv(words[0], words);
    _exit(99);
}

static pid_t start(struct fixture *fixture, const char *const *words, enum way way) {
    char *line[WORDS_MAX + 2] = {getenv("LK_TEST_LK")};
    size_t count = 1;

    assert_non_null(line[0]);
    for (; words[count - 1] != NULL; count++) {
        assert_true(count < WORDS_MAX);
        line[count] = (char *)words[count - 1];
    }
    assert_true(fixture->process_count < FIXTURE_PROCESSES_MAX);
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        become(fixture, line, way);
    }
    if (way != ALONE) {
        setpgid(process, process);
    }
    fixture->processes[fixture->process_count++] = process;
    return process;
}

pid_t fixture_start(struct fixture *fixture, ...) {
    const char *words[WORDS_MAX + 1];
    size_t count = 0;
    va_list arguments;

    va_start(arguments, fixture);
    do {
        assert_true(count <= WORDS_MAX);
        words[count] = va_arg(arguments, const char *);
    } while (words[count++] != NULL);
    va_end(arguments);
    return start(fixture, words, IN_A_GROUP);
}

pid_t fixture_start_alone(struct fixture *fixture, const char *const *words) {
    return start(fixture, words, ALONE);
}

pid_t fixture_start_traced(struct fixture *fixture, const char *const *words) {
    return start(fixture, words, TRACED);
}

static void forget(struct fixture *fixture, pid_t process) {
    for (size_t i = 0; i < fixture->process_count; i++) {
        if (fixture->processes[i] == process) {
            fixture->processes[i] = fixture->processes[--fixture->process_count];
            return;
        }
    }
    fail_msg("process %ld was not started here", (long)process);
}

int fixture_end(struct fixture *fixture, pid_t process) {
    struct pollfd end = {.fd = lk_pidfd_open(process), .events = POLLIN};
    int status;

    assert_true(end.fd >= 0);
    int news = poll(&end, 1, fixture_bound_ms());
    close(end.fd);
    if (news != 1) {
        fail_msg("lk did not end; it said: %s",
                 fixture_read(fixture, fixture_path(fixture, "err")));
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    forget(fixture, process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : FIXTURE_DIED + WTERMSIG(status);
}

/* ---- what they do ---------------------------------------------------------------------------- */

const char *fixture_read(struct fixture *fixture, const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;

    if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return keep_text(fixture, text);
}

bool fixture_exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* Reads into a buffer of the caller, for loops. */
static size_t read_some(const char *path, char *text, size_t capacity) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = descriptor < 0 ? 0 : read(descriptor, text, capacity - 1);

    if (descriptor >= 0) {
        close(descriptor);
    }
    text[size > 0 ? size : 0] = '\0';
    return size > 0 ? (size_t)size : 0;
}

long fixture_await(const char *path) {
    int64_t since_ms = fixture_now_ms();
    char text[64];

    while (read_some(path, text, sizeof text) == 0) {
        check_bound(since_ms, path);
        fixture_pause();
    }
    return strtol(text, NULL, 10);
}

void fixture_await_text(const char *path, const char *wanted) {
    int64_t since_ms = fixture_now_ms();
    char text[8192];

    while (read_some(path, text, sizeof text) == 0 || strstr(text, wanted) == NULL) {
        check_bound(since_ms, wanted);
        fixture_pause();
    }
}

/* The state letter of /proc/PID/stat; 0 if the process is gone. */
static char state_of(pid_t process) {
    char path[64];
    char text[512];

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
    if (read_some(path, text, sizeof text) == 0) {
        return '\0';
    }
    const char *end = strrchr(text, ')');
    return end != NULL ? end[2] : '\0';
}

bool fixture_is_dead(pid_t process) {
    char state = state_of(process);

    return state == '\0' || state == 'Z' || state == 'X';
}

void fixture_await_dead(pid_t process) {
    int64_t since_ms = fixture_now_ms();

    while (!fixture_is_dead(process)) {
        check_bound(since_ms, "the end of a process");
        fixture_pause();
    }
}

static void await_state(pid_t process, char state, const char *what) {
    int64_t since_ms = fixture_now_ms();

    while (state_of(process) != state) {
        check_bound(since_ms, what);
        fixture_pause();
    }
}

void fixture_await_stopped(pid_t process) {
    await_state(process, 'T', "a process to stop");
}

void fixture_await_asleep(pid_t process) {
    await_state(process, 'S', "a process to have nothing to do");
}

void fixture_await_listed(struct fixture *fixture, const char *path, const char *state) {
    int64_t since_ms = fixture_now_ms();
    const char *out = fixture_path(fixture, "out");
    const char *wanted = fixture_text(fixture, "\"state\":\"%s\"", state);
    bool is_listed = false;

    while (!is_listed) {
        check_bound(since_ms, "a request to be listed");
        assert_int_equal(truncate(out, 0) == 0 || errno == ENOENT, 1);
        assert_int_equal(FIXTURE_RUN(fixture, "ls", path, "--json"), 0);
        char text[8192];
        is_listed = read_some(out, text, sizeof text) > 0 && strstr(text, wanted) != NULL;
        fixture_pause();
    }
}

pid_t fixture_await_child(pid_t parent, const char *name, pid_t not_this) {
    int64_t since_ms = fixture_now_ms();
    char path[96];
    char children[4096];
    char comm[64];

    (void)snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)parent, (long)parent);
    for (;;) {
        (void)read_some(path, children, sizeof children);
        for (char *rest = children, *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
            char where[96];
            (void)snprintf(where, sizeof where, "/proc/%s/comm", word);
            (void)read_some(where, comm, sizeof comm);
            comm[strcspn(comm, "\n")] = '\0';
            if (strcmp(comm, name) == 0 && atol(word) != (long)not_this) {
                return (pid_t)atol(word);
            }
        }
        check_bound(since_ms, name);
        fixture_pause();
    }
}

int64_t fixture_last_number(struct fixture *fixture, const char *path) {
    const char *text = fixture_read(fixture, path);
    size_t size = strlen(text);

    assert_true(size > 1);
    const char *line = text + size - 1;
    while (line > text && line[-1] != '\n') {
        line--;
    }
    return strtoll(line, NULL, 10);
}

/* ---- the store, by another connection -------------------------------------------------------- */

/* Longer than any transaction of a running process; a stopped one never ends its transaction. */
enum { FREE_MS_MAX = 300 };

static sqlite3 *open_store(struct fixture *fixture, int patience_ms) {
    char path[sizeof fixture->directory + sizeof "/locks.db"];
    sqlite3 *database;

    (void)snprintf(path, sizeof path, "%s/locks.db", fixture->directory);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_busy_timeout(database, patience_ms);
    return database;
}

sqlite3 *store_lock(struct fixture *fixture) {
    sqlite3 *database = open_store(fixture, fixture_bound_ms());

    assert_int_equal(sqlite3_exec(database, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    return database;
}

void store_unlock(sqlite3 *database) {
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static int count_requests(sqlite3 *database) {
    sqlite3_stmt *query = NULL;
    int count = 0;

    assert_int_equal(
        sqlite3_prepare_v2(database, "SELECT count(*) FROM lk_request", -1, &query, NULL),
        SQLITE_OK);
    if (sqlite3_step(query) == SQLITE_ROW) {
        count = sqlite3_column_int(query, 0);
    }
    assert_int_equal(sqlite3_finalize(query), SQLITE_OK);
    return count;
}

void store_await_requests(struct fixture *fixture, int count) {
    sqlite3 *database = open_store(fixture, fixture_bound_ms());
    int64_t until_ms = fixture_now_ms() + fixture_bound_ms();

    while (count_requests(database) < count) {
        assert_true(fixture_now_ms() < until_ms);
        fixture_pause();
    }
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

bool store_is_unlocked(struct fixture *fixture, int patience_ms) {
    sqlite3 *database = open_store(fixture, patience_ms);
    int code = sqlite3_exec(database, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL, NULL);

    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    return code == SQLITE_OK;
}

void store_stop_unlocked(struct fixture *fixture, pid_t process) {
    kill(process, SIGSTOP);
    fixture_await_stopped(process);
    while (!store_is_unlocked(fixture, FREE_MS_MAX * fixture_stretch())) {
        kill(process, SIGCONT);
        fixture_pause();
        kill(process, SIGSTOP);
        fixture_await_stopped(process);
    }
}

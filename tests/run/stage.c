/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, files and /proc, looked at again and again until they are as they should be. */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 32, BREATH_NS = 2000000 };

int64_t stage_now_ms(void) {
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void stage_breathe(void) {
    const struct timespec breath = {.tv_nsec = BREATH_NS};

    nanosleep(&breath, NULL);
}

/* Fails the test with what it waited for in vain. */
static void check_bound(int64_t since_ms, const char *what) {
    if (stage_now_ms() - since_ms > STAGE_BOUND_MS) {
        fail_msg("waited too long for %s", what);
    }
}

/* ---- the stage ------------------------------------------------------------------------------- */

int stage_open(void **state) {
    struct stage *stage = calloc(1, sizeof *stage);
    const char *base = getenv("TMPDIR");

    if (stage == NULL) {
        return -1;
    }
    (void)snprintf(stage->directory, sizeof stage->directory, "%s/lk-run-XXXXXX",
                   base != NULL && strlen(base) < 40 ? base : "/tmp");
    if (mkdtemp(stage->directory) == NULL) {
        free(stage);
        return -1;
    }
    setenv("LK_STORE", stage_text(stage, "sqlite:%s/locks.db", stage->directory), 1);
    unsetenv("LK_OWNER");
    *state = stage;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

int stage_close(void **state) {
    struct stage *stage = *state;

    for (size_t i = 0; i < stage->process_count; i++) {
        kill(stage->processes[i], SIGCONT);
        kill(stage->processes[i], SIGKILL);
        waitpid(stage->processes[i], NULL, 0);
    }
    nftw(stage->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    for (size_t i = 0; i < stage->text_count; i++) {
        free(stage->texts[i]);
    }
    free(stage);
    return 0;
}

const char *stage_actor(void) {
    const char *actor = getenv("LK_TEST_ACTOR");

    assert_non_null(actor);
    return actor;
}

static const char *keep_text(struct stage *stage, char *text) {
    assert_non_null(text);
    assert_true(stage->text_count < STAGE_TEXTS_MAX);
    stage->texts[stage->text_count++] = text;
    return text;
}

const char *stage_text(struct stage *stage, const char *format, ...) {
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    assert_true(size >= 0);
    return keep_text(stage, text);
}

const char *stage_path(struct stage *stage, const char *name) {
    return stage_text(stage, "%s/%s", stage->directory, name);
}

/* ---- processes ------------------------------------------------------------------------------- */

enum way { IN_A_GROUP, ALONE, TRACED };

static _Noreturn void become(struct stage *stage, char *const *words, enum way way) {
    int in = open("/dev/null", O_RDONLY);
    int out = open(stage_path(stage, "out"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    int err = open(stage_path(stage, "err"), O_WRONLY | O_CREAT | O_APPEND, 0600);

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
    close_range(STDERR_FILENO + 1, ~0U, 0); /* whatever started the tests may have left some */
    execv(words[0], words);
    _exit(99);
}

static pid_t start(struct stage *stage, const char *const *words, enum way way) {
    char *line[WORDS_MAX + 2] = {getenv("LK_TEST_LK")};
    size_t count = 1;

    assert_non_null(line[0]);
    for (; words[count - 1] != NULL; count++) {
        assert_true(count < WORDS_MAX);
        line[count] = (char *)words[count - 1];
    }
    assert_true(stage->process_count < STAGE_PROCESSES_MAX);
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        become(stage, line, way);
    }
    if (way != ALONE) {
        setpgid(process, process);
    }
    stage->processes[stage->process_count++] = process;
    return process;
}

pid_t stage_start(struct stage *stage, ...) {
    const char *words[WORDS_MAX + 1];
    size_t count = 0;
    va_list arguments;

    va_start(arguments, stage);
    do {
        assert_true(count <= WORDS_MAX);
        words[count] = va_arg(arguments, const char *);
    } while (words[count++] != NULL);
    va_end(arguments);
    return start(stage, words, IN_A_GROUP);
}

pid_t stage_start_alone(struct stage *stage, const char *const *words) {
    return start(stage, words, ALONE);
}

pid_t stage_start_traced(struct stage *stage, const char *const *words) {
    return start(stage, words, TRACED);
}

static void forget(struct stage *stage, pid_t process) {
    for (size_t i = 0; i < stage->process_count; i++) {
        if (stage->processes[i] == process) {
            stage->processes[i] = stage->processes[--stage->process_count];
            return;
        }
    }
    fail_msg("process %ld was not started here", (long)process);
}

int stage_end(struct stage *stage, pid_t process) {
    struct pollfd end = {.fd = pidfd_open(process, 0), .events = POLLIN};
    int status;

    assert_true(end.fd >= 0);
    int news = poll(&end, 1, STAGE_BOUND_MS);
    close(end.fd);
    if (news != 1) {
        fail_msg("lk did not end; it said: %s", stage_read(stage, stage_path(stage, "err")));
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    forget(stage, process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : STAGE_DIED + WTERMSIG(status);
}

/* ---- what they do ---------------------------------------------------------------------------- */

const char *stage_read(struct stage *stage, const char *path) {
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
    return keep_text(stage, text);
}

bool stage_exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* Reads without keeping, for loops. */
static size_t read_some(const char *path, char *text, size_t capacity) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = descriptor < 0 ? 0 : read(descriptor, text, capacity - 1);

    if (descriptor >= 0) {
        close(descriptor);
    }
    text[size > 0 ? size : 0] = '\0';
    return size > 0 ? (size_t)size : 0;
}

long stage_await(const char *path) {
    int64_t since_ms = stage_now_ms();
    char text[64];

    while (read_some(path, text, sizeof text) == 0) {
        check_bound(since_ms, path);
        stage_breathe();
    }
    return strtol(text, NULL, 10);
}

void stage_await_text(const char *path, const char *wanted) {
    int64_t since_ms = stage_now_ms();
    char text[8192];

    while (read_some(path, text, sizeof text) == 0 || strstr(text, wanted) == NULL) {
        check_bound(since_ms, wanted);
        stage_breathe();
    }
}

/* The letter of /proc/PID/stat; 0 when the process is gone. */
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

bool stage_is_dead(pid_t process) {
    char state = state_of(process);

    return state == '\0' || state == 'Z' || state == 'X';
}

void stage_await_dead(pid_t process) {
    int64_t since_ms = stage_now_ms();

    while (!stage_is_dead(process)) {
        check_bound(since_ms, "the end of a process");
        stage_breathe();
    }
}

static void await_state(pid_t process, char state, const char *what) {
    int64_t since_ms = stage_now_ms();

    while (state_of(process) != state) {
        check_bound(since_ms, what);
        stage_breathe();
    }
}

void stage_await_stopped(pid_t process) {
    await_state(process, 'T', "a process to stop");
}

void stage_await_asleep(pid_t process) {
    await_state(process, 'S', "a process to have nothing to do");
}

void stage_await_listed(struct stage *stage, const char *path, const char *state) {
    int64_t since_ms = stage_now_ms();
    const char *out = stage_path(stage, "out");
    const char *wanted = stage_text(stage, "\"state\":\"%s\"", state);
    bool is_listed = false;

    while (!is_listed) {
        check_bound(since_ms, "a request to be listed");
        assert_int_equal(truncate(out, 0) == 0 || errno == ENOENT, 1);
        assert_int_equal(STAGE_RUN(stage, "ls", path, "--json"), 0);
        char text[8192];
        is_listed = read_some(out, text, sizeof text) > 0 && strstr(text, wanted) != NULL;
        stage_breathe();
    }
}

pid_t stage_await_child(pid_t parent, const char *name, pid_t not_this) {
    int64_t since_ms = stage_now_ms();
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
        stage_breathe();
    }
}

int64_t stage_last_number(struct stage *stage, const char *path) {
    const char *text = stage_read(stage, path);
    size_t size = strlen(text);

    assert_true(size > 1);
    const char *line = text + size - 1;
    while (line > text && line[-1] != '\n') {
        line--;
    }
    return strtoll(line, NULL, 10);
}

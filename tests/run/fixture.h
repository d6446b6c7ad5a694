/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fixture of tests of `lk run`: a fresh directory with a store, real processes, and bounded
 * waits for what they do. LK_TEST_LK and LK_TEST_CHILD name the programs lk and child.
 *
 * Every function fails the test itself if its bound is passed or a system call fails.
 */
#ifndef LK_TESTS_RUN_FIXTURE_H
#define LK_TESTS_RUN_FIXTURE_H

#include <sqlite3.h>

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
    FIXTURE_PROCESSES_MAX = 32,
    FIXTURE_TEXTS_MAX = 256,
    FIXTURE_DIED = 1000, /* + N: signal N ended lk itself */
};

struct fixture {
    char directory[64];
    pid_t processes[FIXTURE_PROCESSES_MAX]; /* started and not ended yet */
    size_t process_count;
    char *texts[FIXTURE_TEXTS_MAX]; /* returned to the test, freed at the end */
    size_t text_count;
};

/* By how much all times are multiplied: more than 1 after a failure on a busy machine. */
int fixture_stretch(void);

/* These seconds, stretched, as an option takes them; valid as long as the fixture. */
const char *fixture_seconds(struct fixture *fixture, int seconds);

/* The bound of every wait; far more than any takes. */
int fixture_bound_ms(void);

/* Set-up and tear-down of cmocka. Tear-down kills all processes and removes the directory. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

const char *fixture_child(void);

/* The path of a file of this name in the directory; valid as long as the fixture. */
const char *fixture_path(struct fixture *fixture, const char *name);

/* A formatted text; valid as long as the fixture. */
const char *fixture_text(struct fixture *fixture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Starts `lk` with these words, ended by NULL, in a process group of its own, with the fixture's
 * store in LK_STORE. stdin is empty, stdout and stderr go to the files `out` and `err`.
 */
pid_t fixture_start(struct fixture *fixture, ...) __attribute__((sentinel));

/* The same in a new session: an orphaned process group, which job control does not stop. */
pid_t fixture_start_alone(struct fixture *fixture, const char *const *words);

/* The same, traced by this process: it halts after its exec. */
pid_t fixture_start_traced(struct fixture *fixture, const char *const *words);

/* Waits until the process has ended. Returns its exit code, or FIXTURE_DIED + N. */
int fixture_end(struct fixture *fixture, pid_t process);

#define FIXTURE_RUN(fixture, ...) fixture_end(fixture, fixture_start(fixture, __VA_ARGS__, NULL))
#define FIXTURE_START(fixture, ...) fixture_start(fixture, __VA_ARGS__, NULL)

/* Waits until the file exists and is not empty. Returns the number at its beginning. */
long fixture_await(const char *path);

/* Waits until the file holds the text. */
void fixture_await_text(const char *path, const char *text);

/* Waits until the process is a zombie or gone. It need not be a child of this process. */
void fixture_await_dead(pid_t process);
bool fixture_is_dead(pid_t process);

/* Waits until the process is stopped by a signal. */
void fixture_await_stopped(pid_t process);

/* Waits until the process sleeps. */
void fixture_await_asleep(pid_t process);

/* Waits until `lk ls PATH` lists a part in this state: `held` or `waiting`. */
void fixture_await_listed(struct fixture *fixture, const char *path, const char *state);

/* Waits for a child of `parent` with this name, other than `not_this`, and returns it. */
pid_t fixture_await_child(pid_t parent, const char *name, pid_t not_this);

/* The file's text, empty if it does not exist; valid as long as the fixture. */
const char *fixture_read(struct fixture *fixture, const char *path);
bool fixture_exists(const char *path);

/* The number in the last line of the file. */
int64_t fixture_last_number(struct fixture *fixture, const char *path);

int64_t fixture_now_ms(void); /* since boot, as `child tick` writes it */

/* Sleeps between two polls. */
void fixture_pause(void);

/* ---- the store, by another connection -------------------------------------------------------- */

/* Takes the write lock: no process can write until store_unlock(). */
sqlite3 *store_lock(struct fixture *fixture);
void store_unlock(sqlite3 *database);

/* Waits until the file holds `count` requests. */
void store_await_requests(struct fixture *fixture, int count);

/* Whether the write lock can be taken within `patience_ms`. */
bool store_is_unlocked(struct fixture *fixture, int patience_ms);

/* Stops the process (SIGSTOP) at a moment at which it does not hold the write lock. */
void store_stop_unlocked(struct fixture *fixture, pid_t process);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage for `lk run`: a fresh directory with a store in it, real processes, and ways to wait for
 * what they do, all bounded. The program and the actor are named by LK_TEST_LK and LK_TEST_ACTOR.
 *
 * Everything here fails the test by itself when the bound is passed or the system refuses.
 */
#ifndef LK_TESTS_RUN_STAGE_H
#define LK_TESTS_RUN_STAGE_H

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
    STAGE_BOUND_MS = 60000, /* for whatever is waited for; far more than it ever takes */
    STAGE_PROCESSES_MAX = 32,
    STAGE_TEXTS_MAX = 256,
    STAGE_DIED = 1000, /* + N: lk itself died of signal N */
};

struct stage {
    char directory[64];
    pid_t processes[STAGE_PROCESSES_MAX]; /* started and not ended yet */
    size_t process_count;
    char *texts[STAGE_TEXTS_MAX]; /* handed out, freed at the end */
    size_t text_count;
};

int stage_open(void **state);  /* cmocka set-up */
int stage_close(void **state); /* cmocka tear-down: kills what still runs, removes the directory */

const char *stage_actor(void);

/* The path of a file of this name on the stage; lives as long as it. */
const char *stage_path(struct stage *stage, const char *name);

/* A text that lives as long as the stage. */
const char *stage_text(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Starts `lk` with these words, ended by NULL, in a process group of its own, with the stage's
 * store in LK_STORE. stdin is empty, stdout and stderr go to the files `out` and `err`.
 */
pid_t stage_start(struct stage *stage, ...) __attribute__((sentinel));

/* The same in a session of its own: an orphaned process group, which nobody stops. */
pid_t stage_start_alone(struct stage *stage, const char *const *words);

/* As stage_start(), but traced by this process: it halts when it has become lk. */
pid_t stage_start_traced(struct stage *stage, const char *const *words);

/* Waits until it has ended. Its exit code, or STAGE_DIED + N. */
int stage_end(struct stage *stage, pid_t process);

#define STAGE_RUN(stage, ...) stage_end(stage, stage_start(stage, __VA_ARGS__, NULL))
#define STAGE_START(stage, ...) stage_start(stage, __VA_ARGS__, NULL)

/* Waits until there is such a file, with something in it; gives the number it begins with. */
long stage_await(const char *path);

/* Waits until the file holds the text. */
void stage_await_text(const char *path, const char *text);

/* Waits until the process is dead or gone; whose child it is does not matter. */
void stage_await_dead(pid_t process);
bool stage_is_dead(pid_t process);

/* Waits until the process is stopped (as job control does it). */
void stage_await_stopped(pid_t process);

/* Waits until the process waits for something. */
void stage_await_asleep(pid_t process);

/* Waits until `lk ls PATH` lists a part in this state: `held` or `waiting`. */
void stage_await_listed(struct stage *stage, const char *path, const char *state);

/* The child of `parent` that is called `name`; waits for it. `not_this`: another one than that. */
pid_t stage_await_child(pid_t parent, const char *name, pid_t not_this);

/* The file's text, empty when there is none; lives as long as the stage. */
const char *stage_read(struct stage *stage, const char *path);
bool stage_exists(const char *path);

/* The last number of a log of numbers, one a line. */
int64_t stage_last_number(struct stage *stage, const char *path);

int64_t stage_now_ms(void); /* since boot, as the actor's tick writes it */

/* One pause of a loop that waits for something. */
void stage_breathe(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of engines. */
#include "support.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

_Noreturn void test_die(const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    (void)fprintf(stderr, "not testable: ");
    (void)vfprintf(stderr, format, arguments);
    (void)fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

struct lk_random test_random(void) {
    const char *given = getenv("LK_TEST_SEED");
    struct lk_random random = {given != NULL ? strtoull(given, NULL, 0) : lk_random_draw()};

    (void)printf("# LK_TEST_SEED=%llu\n", (unsigned long long)random.state);
    (void)fflush(stdout);
    return random;
}

unsigned test_scaled(unsigned count) {
    const char *given = getenv("LK_TEST_SCALE");
    unsigned long percent = given != NULL ? strtoul(given, NULL, 10) : 100;
    unsigned long scaled = count * percent / 100;

    return scaled > 0 ? (unsigned)scaled : 1;
}

struct lk_patience test_patience(int64_t duration_us) {
    return (struct lk_patience){.until_us = lk_clock_now_us() + duration_us};
}

pid_t test_fork(void) {
    pid_t child;

    (void)fflush(NULL);
    child = fork();
    if (child < 0) {
        test_die("fork: no process");
    }
    return child;
}

int test_exit_status(pid_t child) {
    int status = 0;

    if (waitpid(child, &status, 0) < 0) {
        test_die("waitpid: no child %ld", (long)child);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

size_t test_kill_one(const pid_t *children, size_t count, int progress, int bytes_max,
                     struct lk_random *random) {
    int64_t bytes = lk_random_between(random, 0, bytes_max);
    size_t index = (size_t)lk_random_between(random, 0, (int64_t)count - 1);
    char byte;

    while (bytes-- > 0 && read(progress, &byte, 1) == 1) {
    }
    (void)kill(children[index], SIGKILL);
    (void)test_exit_status(children[index]);
    return index;
}

void test_parts_parse(struct test_parts *parts, const char *text) {
    (void)snprintf(parts->text, sizeof parts->text, "%s", text);
    parts->count = 0;
    for (const char *at = parts->text; *at != '\0';) {
        size_t size = strcspn(at, " ");
        lk_error error;
        if (lk_need_parse((struct lk_slice){at, size}, &parts->parts[parts->count], &error)
            != LK_OK) {
            test_die("%s: %s", text, error.text);
        }
        parts->count++;
        at += size + (at[size] == ' ');
    }
}

char *test_read_text(const char *name) {
    enum { TEXT_BYTES_MAX = 1 << 20 };
    char *text = calloc(1, TEXT_BYTES_MAX);
    FILE *file = fopen(name, "r");

    if (text == NULL || file == NULL || fread(text, 1, TEXT_BYTES_MAX - 1, file) == 0) {
        test_die("%s cannot be read", name);
    }
    (void)fclose(file);
    return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long random histories, model against reference after every step.
 *
 *   test_random                 the suite's fixed numbers; LK_TEST_SCALE percent of them
 *   test_random --work          the same with values and items
 *   LK_TEST_SEED=N test_random  the history of this number only
 *   test_random --replay FILE   the lines of a file
 *
 * A history that fails is shortened, as far as leaving out lines can do it, and printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "generator.h"
#include "history.h"
#include "lockstep.h"

enum {
    HISTORY_COUNT = 12000,
    WORK_HISTORY_COUNT = 5000,
    HISTORY_LENGTH = 250,
    NUMBER_FIRST = 1,
};

/* The lines of a history, each allocated: events borrow them. */
struct lines {
    char *at[HISTORY_LENGTH];
    size_t count;
    struct lk_quotas quotas;
    uint32_t ended_max;
    char wrong[128]; /* what the last replay failed with */
};

static void add_line(struct lines *lines, const char *text) {
    lines->at[lines->count] = strdup(text);
    if (lines->at[lines->count++] == NULL) {
        abort();
    }
}

static void free_lines(struct lines *lines) {
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->at[i]);
    }
    lines->count = 0;
}

/* Steps one line. NULL, or what is wrong. */
static const char *step_line(struct lockstep *lockstep, struct lk_times *times, const char *line) {
    struct history_command command;
    const char *wrong = history_read(line, strlen(line), NULL, times, &command);

    return wrong != NULL ? wrong : lockstep_step(lockstep, &command.command);
}

/* Whether all lines can be replayed; if not, lines->wrong says why. */
static bool replay(struct lines *lines) {
    struct lockstep lockstep;
    struct lk_times times = history_start();
    const char *wrong = NULL;

    lockstep_open_forgetful(&lockstep, &lines->quotas, lines->ended_max, NULL);
    for (size_t i = 0; i < lines->count && wrong == NULL; i++) {
        wrong = step_line(&lockstep, &times, lines->at[i]);
    }
    if (wrong != NULL) {
        snprintf(lines->wrong, sizeof lines->wrong, "%s", wrong);
    }
    lockstep_close(&lockstep);
    return wrong == NULL;
}

/* Lets `line` begin as much later as `gone` did, so that all stays in its time. */
static char *put_off(const char *line, const char *gone) {
    long long gone_now = 0;
    long long gone_wall = 0;
    long long now = 0;
    long long wall = 0;
    char *later;

    if (sscanf(gone, "+%lld/%lld", &gone_now, &gone_wall) != 2
        || sscanf(line, "+%lld/%lld", &now, &wall) != 2
        || asprintf(&later, "+%lld/%lld%s", now + gone_now, wall + gone_wall, strchr(line, ' '))
               < 0) {
        abort();
    }
    return later;
}

static void leave_out(struct lines *lines, size_t at) {
    if (at + 1 < lines->count) {
        char *later = put_off(lines->at[at + 1], lines->at[at]);
        free(lines->at[at + 1]);
        lines->at[at + 1] = later;
    }
    free(lines->at[at]);
    memmove(lines->at + at, lines->at + at + 1, (lines->count - at - 1) * sizeof *lines->at);
    lines->count--;
}

static void copy_lines(const struct lines *lines, struct lines *ret_copy) {
    *ret_copy = *lines;
    for (size_t i = 0; i < lines->count; i++) {
        ret_copy->at[i] = strdup(lines->at[i]);
        if (ret_copy->at[i] == NULL) {
            abort();
        }
    }
}

/* Leaves out what the failure does not need: halves, quarters, ... single lines. */
static void shorten(struct lines *lines) {
    for (size_t size = lines->count; size > 0; size /= 2) {
        for (size_t at = 0; at < lines->count;) {
            struct lines fewer;
            copy_lines(lines, &fewer);
            for (size_t left = size; left > 0 && at < fewer.count; left--) {
                leave_out(&fewer, at);
            }
            if (replay(&fewer)) {
                free_lines(&fewer);
                at += size;
            } else {
                free_lines(lines);
                *lines = fewer;
            }
        }
    }
}

/* What is shortened may fail for another reason: numbers in it are those of the whole history. */
static void report(struct lines *lines, uint64_t number, const char *wrong) {
    print_message("history %llu: %s, in step %zu: %s\nshortened:\n", (unsigned long long)number,
                  wrong, lines->count, lines->at[lines->count - 1]);
    shorten(lines);
    if (replay(lines)) {
        snprintf(lines->wrong, sizeof lines->wrong, "fails only the first time");
    }
    print_message(
        "history %llu: %s; quotas %llu %llu %llu %llu, ended tokens %u\n",
        (unsigned long long)number, lines->wrong, (unsigned long long)lines->quotas.live_max,
        (unsigned long long)lines->quotas.live_per_owner_max,
        (unsigned long long)lines->quotas.live_per_root_max,
        (unsigned long long)lines->quotas.waiters_per_path_max, (unsigned)lines->ended_max);
    for (size_t i = 0; i < lines->count; i++) {
        print_message("%s\n", lines->at[i]);
    }
}

/* What the histories have met, so that one that meets nothing does not pass unnoticed. */
struct tally {
    uint64_t steps;
    uint64_t outcomes[LK_OUTCOME_COUNT];
    uint64_t changes[LK_CHANGE_QUEUE_FORGOTTEN + 1];
};

static void count_step(struct tally *tally, const struct lockstep *lockstep) {
    tally->steps++;
    tally->outcomes[lockstep->effects->answer.outcome]++;
    for (size_t i = 0; i < lockstep->effects->change_count; i++) {
        tally->changes[lockstep->effects->changes[i].kind]++;
    }
}

/* Whether the history of this number came to its end. */
static bool run_history(uint64_t number, bool with_work, struct tally *tally) {
    struct generator generator;
    struct lines lines = {.count = 0};
    struct lockstep lockstep;
    struct lk_times times = history_start();
    const char *wrong = NULL;
    char line[HISTORY_LINE_MAX];

    if (with_work) {
        generator_open_work(&generator, number);
    } else {
        generator_open(&generator, number);
    }
    lines.quotas = generator.quotas;
    lines.ended_max = generator.ended_max;
    lockstep_open_forgetful(&lockstep, &generator.quotas, generator.ended_max, NULL);
    while (lines.count < HISTORY_LENGTH && wrong == NULL) {
        generator_line(&generator, lockstep.reference, times, line);
        add_line(&lines, line);
        wrong = step_line(&lockstep, &times, lines.at[lines.count - 1]);
        if (wrong == NULL) {
            count_step(tally, &lockstep);
        }
    }
    lockstep_close(&lockstep);
    if (wrong != NULL) {
        report(&lines, number, wrong);
    }
    free_lines(&lines);
    return wrong == NULL;
}

static uint64_t scaled(uint64_t count) {
    const char *percent = getenv("LK_TEST_SCALE");
    uint64_t result = percent != NULL ? count * strtoull(percent, NULL, 10) / 100 : count;

    return result > 0 ? result : 1;
}

static void histories(void **state) {
    const char *only = getenv("LK_TEST_SEED");
    bool with_work = *state != NULL;
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : NUMBER_FIRST;
    uint64_t count = only != NULL ? 1 : scaled(with_work ? WORK_HISTORY_COUNT : HISTORY_COUNT);
    enum lk_change_kind last_kind = with_work ? LK_CHANGE_QUEUE_FORGOTTEN : LK_CHANGE_BROKEN;
    struct tally tally = {.steps = 0};

    print_message("histories %llu to %llu (LK_TEST_SEED=N runs one of them)\n",
                  (unsigned long long)first, (unsigned long long)(first + count - 1));
    for (uint64_t number = first; number < first + count; number++) {
        if (!run_history(number, with_work, &tally)) {
            fail_msg("LK_TEST_SEED=%llu fails, as printed above", (unsigned long long)number);
        }
    }
    print_message("%llu steps:", (unsigned long long)tally.steps);
    for (int i = 0; i < LK_OUTCOME_COUNT; i++) {
        if (tally.outcomes[i] > 0) {
            print_message(" %s %llu", lk_outcome_name((lk_outcome)i),
                          (unsigned long long)tally.outcomes[i]);
        }
    }
    print_message("\n");
    for (size_t i = 0; only == NULL && i <= last_kind; i++) {
        assert_true(tally.changes[i] > 0);
    }
}

static int replay_file(const char *name) {
    FILE *file = fopen(name, "r");
    struct lockstep lockstep;
    struct lk_times times = history_start();
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int status = EXIT_SUCCESS;

    if (file == NULL) {
        perror(name);
        return EXIT_FAILURE;
    }
    lockstep_open(&lockstep, NULL, 0, NULL);
    while (status == EXIT_SUCCESS && (size = getline(&line, &room, file)) > 0) {
        const char *wrong = step_line(&lockstep, &times, line);
        printf("%-8s %s", lk_outcome_name(lockstep.effects->answer.outcome), line);
        if (wrong != NULL) {
            printf("wrong: %s\n", wrong);
            status = EXIT_FAILURE;
        }
        line = NULL; /* the reference borrows it, to the end of the program */
        room = 0;
    }
    free(line);
    fclose(file);
    lockstep_close(&lockstep);
    return status;
}

int main(int argc, char **argv) {
    bool with_work = argc == 2 && strcmp(argv[1], "--work") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(histories, with_work ? argv[1] : NULL)};

    if (argc == 3 && strcmp(argv[1], "--replay") == 0) {
        return replay_file(argv[2]);
    }
    return cmocka_run_group_tests_name("random histories", tests, NULL, NULL);
}

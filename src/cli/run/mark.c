/* SPDX-License-Identifier: Apache-2.0 */
/* The variable LK_RUN: written for CMD, and searched in /proc/PID/environ. */
#include "cli/run/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "base/text.h"
#include "cli/run/proc.h"

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

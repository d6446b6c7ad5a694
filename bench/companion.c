/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are asked for rounds. */
#include "companion.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const char *const *words, int input, int output) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the benchmark */
    (void)dup2(input, STDIN_FILENO);
    (void)dup2(output, STDOUT_FILENO);
    (void)execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

bool companion_start(struct companion *companion, const char *const *words,
                     char ret_why[BENCH_TEXT_BYTES]) {
    char line[BENCH_TEXT_BYTES] = "";
    int to[2];
    int from[2];

    (void)signal(SIGPIPE, SIG_IGN);
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
        bench_give_up("no pipes");
    }
    companion->pid = fork();
    if (companion->pid == 0) {
        become(words, to[0], from[1]);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    companion->to = fdopen(to[1], "w");
    companion->from = fdopen(from[0], "r");
    if (companion->pid < 0 || companion->to == NULL || companion->from == NULL) {
        bench_give_up("no process");
    }
    if (fgets(line, sizeof line, companion->from) != NULL && strcmp(line, "ready\n") == 0) {
        return true;
    }
    companion_stop(companion);
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "no: ", 4) == 0) {
        (void)snprintf(ret_why, BENCH_TEXT_BYTES, "%s", line + 4);
    } else {
        (void)snprintf(ret_why, BENCH_TEXT_BYTES, "%s does not run", words[0]);
    }
    return false;
}

double companion_round(const struct companion *companion, const char *format, ...) {
    char line[BENCH_TEXT_BYTES] = "";
    char *end;
    double figure;
    va_list arguments;

    va_start(arguments, format);
    (void)vfprintf(companion->to, format, arguments);
    va_end(arguments);
    (void)fputc('\n', companion->to);
    (void)fflush(companion->to);
    if (fgets(line, sizeof line, companion->from) == NULL) {
        bench_give_up("a peer ended before its round did");
    }
    figure = strtod(line, &end);
    if (end == line || figure <= 0) {
        bench_give_up("a peer answered: %s", line);
    }
    return figure;
}

void companion_stop(struct companion *companion) {
    (void)fclose(companion->to);
    (void)fclose(companion->from);
    (void)kill(companion->pid, SIGTERM);
    (void)waitpid(companion->pid, NULL, 0);
}

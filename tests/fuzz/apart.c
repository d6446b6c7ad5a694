/* SPDX-License-Identifier: Apache-2.0 */
/* The child, and what became of it. */
#include "apart.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct apart_board *apart_board_new(void) {
    void *memory = mmap(NULL, sizeof(struct apart_board), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("fuzz: mmap");
        exit(EXIT_FAILURE);
    }
    return memory;
}

void apart_board_free(struct apart_board *board) {
    (void)munmap(board, sizeof *board);
}

/* A copy of exactly the input's size: a sanitizer sees the first byte read behind it. */
static void run_one(const struct apart_board *board) {
    uint8_t *copy = malloc(board->size > 0 ? board->size : 1);

    if (copy == NULL) {
        perror("fuzz: malloc");
        exit(EXIT_FAILURE);
    }
    memcpy(copy, board->bytes, board->size);
    (void)LLVMFuzzerTestOneInput(copy, board->size);
    free(copy);
}

_Noreturn static void be_child(struct apart_board *board, apart_next *next, void *context,
                               size_t first, unsigned seconds_max) {
    for (size_t number = first; next(context, number, board); number++) {
        board->number = number;
        (void)alarm(seconds_max);
        run_one(board);
    }
    (void)alarm(0);
    exit(EXIT_SUCCESS);
}

static struct apart_fate fate_of(int status, unsigned seconds_max) {
    struct apart_fate fate = {.lived = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS};

    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        (void)snprintf(fate.text, sizeof fate.text, "it took more than %u s", seconds_max);
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(fate.text, sizeof fate.text, "it died of signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    } else if (!fate.lived) {
        (void)snprintf(fate.text, sizeof fate.text, "it ended with code %d", WEXITSTATUS(status));
    }
    return fate;
}

struct apart_fate apart_run(struct apart_board *board, apart_next *next, void *context,
                            size_t first, unsigned seconds_max) {
    int status = 0;
    pid_t child;

    board->number = first;
    board->size = 0;
    (void)fflush(NULL);
    child = fork();
    if (child < 0) {
        perror("fuzz: fork");
        exit(EXIT_FAILURE);
    }
    if (child == 0) {
        be_child(board, next, context, first, seconds_max);
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            perror("fuzz: waitpid");
            exit(EXIT_FAILURE);
        }
    }
    return fate_of(status, seconds_max);
}

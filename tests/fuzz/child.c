/* SPDX-License-Identifier: Apache-2.0 */
/* The child, and what became of it. */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct child_input *child_input_new(void) {
    void *memory = mmap(NULL, sizeof(struct child_input), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("fuzz: mmap");
        exit(EXIT_FAILURE);
    }
    return memory;
}

void child_input_free(struct child_input *input) {
    (void)munmap(input, sizeof *input);
}

/* A copy of exactly the input's size: a sanitizer sees the first byte read behind it. */
static void run_one(const struct child_input *input) {
    uint8_t *copy = malloc(input->size > 0 ? input->size : 1);

    if (copy == NULL) {
        perror("fuzz: malloc");
        exit(EXIT_FAILURE);
    }
    memcpy(copy, input->bytes, input->size);
    (void)LLVMFuzzerTestOneInput(copy, input->size);
    free(copy);
}

_Noreturn static void be_child(struct child_input *input, child_next *next, void *context,
                               size_t first, unsigned seconds_max) {
    for (size_t number = first; next(context, number, input); number++) {
        input->number = number;
        (void)alarm(seconds_max);
        run_one(input);
    }
    (void)alarm(0);
    exit(EXIT_SUCCESS);
}

static struct child_result fate_of(int status, unsigned seconds_max) {
    struct child_result result = {.lived =
                                      WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS};

    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        (void)snprintf(result.text, sizeof result.text, "it took more than %u s", seconds_max);
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(result.text, sizeof result.text, "it died of signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (!result.lived) {
        (void)snprintf(result.text, sizeof result.text, "it ended with code %d",
                       WEXITSTATUS(status));
    }
    return result;
}

struct child_result child_run(struct child_input *input, child_next *next, void *context,
                              size_t first, unsigned seconds_max) {
    int status = 0;
    pid_t child;

    input->number = first;
    input->size = 0;
    (void)fflush(NULL);
    child = fork();
    if (child < 0) {
        perror("fuzz: fork");
        exit(EXIT_FAILURE);
    }
    if (child == 0) {
        be_child(input, next, context, first, seconds_max);
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            perror("fuzz: waitpid");
            exit(EXIT_FAILURE);
        }
    }
    return fate_of(status, seconds_max);
}

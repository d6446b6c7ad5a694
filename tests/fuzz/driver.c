/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target without a fuzzer, by any compiler.
 *
 *   fuzz-TARGET [--milliseconds N] [--patience SECONDS] CORPUS...
 *   fuzz-TARGET --input HEX
 *
 * Replays the files of the corpus, then runs inputs made of it for a while (two seconds,
 * times LK_TEST_SCALE percent). The seed is printed; LK_TEST_SEED sets it, and the same seed gives
 * the same inputs in the same order. An input that fails is printed in hexadecimal: --input runs
 * just that one, in this very process, where a debugger can follow. TAP on stdout.
 *
 * Targets that need files find a directory in TMPDIR, which is removed however they end.
 */
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "target.h"

enum {
    MILLISECONDS_DEFAULT = 2000,
    PATIENCE_DEFAULT_S = 30, /* for one input, under a sanitizer on a busy machine */
    CASE_COUNT = 2,
};

struct options {
    int64_t milliseconds;
    unsigned patience_s;
    char **files;
};

_Noreturn static void usage(void) {
    (void)fputs("usage: fuzz-TARGET [--milliseconds N] [--patience SECONDS] CORPUS...\n"
                "       fuzz-TARGET --input HEX\n",
                stderr);
    exit(EXIT_FAILURE);
}

static int64_t number_of(const char *text) {
    char *end = NULL;
    long long number = text != NULL ? strtoll(text, &end, 10) : -1;

    if (number < 0 || end == text || *end != '\0') {
        usage();
    }
    return number;
}

static struct options read_options(char **argv) {
    const char *scale = getenv("LK_TEST_SCALE");
    struct options options = {.milliseconds = MILLISECONDS_DEFAULT,
                              .patience_s = PATIENCE_DEFAULT_S};

    if (scale != NULL) {
        options.milliseconds = options.milliseconds * number_of(scale) / 100;
    }
    for (; argv[0] != NULL && strncmp(argv[0], "--", 2) == 0; argv += 2) {
        int64_t number = number_of(argv[1]);
        if (strcmp(argv[0], "--milliseconds") == 0) {
            options.milliseconds = number;
        } else if (strcmp(argv[0], "--patience") == 0) {
            options.patience_s = (unsigned)number;
        } else {
            usage();
        }
    }
    options.files = argv;
    return options;
}

/*
 * ---- inputs in a child process -----------------------------------------------------------------
 *
 * Whatever an input brings about - an abort, a signal, a sanitizer's verdict, a hang - is reported
 * with it.
 */

/* In memory that parent and child share. */
struct child_input {
    size_t number; /* of the input in hand, from the first of the run */
    size_t size;
    uint8_t bytes[FUZZ_INPUT_MAX];
};

/* Puts the input of that number on the input; false: there is none. Called in the child. */
typedef bool child_next(void *context, size_t number, struct child_input *input);

struct child_result {
    bool lived;
    char text[128]; /* what became of it otherwise */
};

/* Ends the program if the system has no memory for it. */
static struct child_input *child_input_new(void) {
    void *memory = mmap(NULL, sizeof(struct child_input), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("fuzz: mmap");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static void child_input_free(struct child_input *input) {
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

/*
 * Runs inputs from `first` on in one child, until there is none. No input may take longer than
 * `seconds_max`. If the child died, the input has the input, and its number, that it died of.
 */
static struct child_result child_run(struct child_input *input, child_next *next, void *context,
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

/* ---- one input by itself --------------------------------------------------------------------- */

static int run_hex(const char *hex) {
    static uint8_t bytes[FUZZ_INPUT_MAX];
    long size = corpus_from_hex(hex, strlen(hex), bytes);

    if (size < 0) {
        usage();
    }
    (void)LLVMFuzzerTestOneInput(bytes, (size_t)size);
    return EXIT_SUCCESS;
}

static void print_failure(const struct child_result *result, const struct child_input *input) {
    (void)printf("# %s; once more by: --input ", result->text);
    for (size_t i = 0; i < input->size; i++) {
        (void)printf("%02x", input->bytes[i]);
    }
    (void)printf("\n");
}

/* ---- the corpus ------------------------------------------------------------------------------ */

static bool next_of_corpus(void *context, size_t number, struct child_input *input) {
    const struct corpus *corpus = context;

    if (number == corpus->count) {
        return false;
    }
    input->size = corpus->inputs[number].size;
    memcpy(input->bytes, corpus->inputs[number].bytes, input->size);
    return true;
}

/* Goes on behind an input that failed. Returns how many did. */
static size_t replay(const struct corpus *corpus, struct child_input *input, unsigned patience_s) {
    size_t failed = 0;

    for (size_t first = 0; first < corpus->count; first = input->number + 1) {
        struct child_result result =
            child_run(input, next_of_corpus, (void *)corpus, first, patience_s);
        if (result.lived) {
            break;
        }
        failed++;
        (void)printf("# %s\n", corpus->inputs[input->number].place);
        print_failure(&result, input);
    }
    return failed;
}

/* ---- inputs made of it ----------------------------------------------------------------------- */

struct mutants {
    const struct corpus *corpus;
    struct lk_random random;
    int64_t until_us;
};

static bool next_mutant(void *context, size_t number, struct child_input *input) {
    struct mutants *mutants = context;

    if (lk_clock_now_us() >= mutants->until_us) {
        input->number = number;
        return false;
    }
    input->size = mutate(mutants->corpus, &mutants->random, input->bytes);
    return true;
}

static bool run_mutants(const struct corpus *corpus, struct child_input *input,
                        const struct options *options) {
    const char *given = getenv("LK_TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : lk_random_draw();
    struct mutants mutants = {.corpus = corpus,
                              .random = {seed},
                              .until_us = lk_clock_now_us() + options->milliseconds * 1000};
    struct child_result result;

    (void)printf("# LK_TEST_SEED=%" PRIu64 "\n", seed);
    result = child_run(input, next_mutant, &mutants, 0, options->patience_s);
    if (!result.lived) {
        print_failure(&result, input);
    }
    (void)printf("# %zu inputs in %" PRId64 " ms\n", input->number, options->milliseconds);
    return result.lived;
}

/* ---- a directory for the targets ------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void make_place(char ret_place[], size_t size) {
    const char *parent = getenv("TMPDIR");

    (void)snprintf(ret_place, size, "%s/lk-fuzz-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(ret_place) == NULL || setenv("TMPDIR", ret_place, 1) != 0) {
        perror("fuzz: a directory for the targets");
        exit(EXIT_FAILURE);
    }
}

static bool run(const struct corpus *corpus, const struct options *options) {
    struct child_input *input = child_input_new();
    size_t failed = replay(corpus, input, options->patience_s);
    bool lived;

    (void)printf("%s 1 - the corpus, %zu inputs\n", failed == 0 ? "ok" : "not ok", corpus->count);
    lived = run_mutants(corpus, input, options);
    (void)printf("%s 2 - inputs made of it\n", lived ? "ok" : "not ok");
    child_input_free(input);
    return failed == 0 && lived;
}

int main(int argc, char **argv) {
    static struct corpus corpus;
    char place[4096];
    struct options options;
    bool passed;

    if (argc == 3 && strcmp(argv[1], "--input") == 0) {
        return run_hex(argv[2]);
    }
    options = read_options(argv + 1);
    for (char **file = options.files; *file != NULL; file++) {
        corpus_read(&corpus, *file);
    }
    if (corpus.count == 0) {
        (void)fputs("fuzz: there is no corpus\n", stderr);
        return EXIT_FAILURE;
    }
    make_place(place, sizeof place);
    (void)printf("1..%d\n", CASE_COUNT);
    passed = run(&corpus, &options);
    (void)nftw(place, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    corpus_free(&corpus);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds files to a fuzz target, one after the other, where no fuzzer is at hand: the kept corpus
 * stays tested by any compiler. TAP on stdout, a line for each file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUT_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
    static uint8_t input[INPUT_MAX];

    printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        size_t size;
        if (file == NULL) {
            perror(argv[i]);
            return EXIT_FAILURE;
        }
        size = fread(input, 1, sizeof input, file);
        fclose(file);
        LLVMFuzzerTestOneInput(input, size);
        printf("ok %d - %s\n", i, argv[i]);
        fflush(stdout);
    }
    return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}

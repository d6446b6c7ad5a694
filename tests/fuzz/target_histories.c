/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing histories (history.h), model against reference: what test_random.c does, led by cover. */
#include "../model/history.h"
#include "../model/lockstep.h"
#include "target.h"

enum { LINES_MAX = 100 };

/* Names that cannot be printed or are long are for others to test; here they only cost time. */
static bool is_text(const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\n' && (data[i] < ' ' || data[i] > '~')) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *at = (const char *)data;
    const char *end = at + size;
    struct lk_times times = history_start();
    struct lockstep lockstep;

    if (size == 0 || !is_text(data, size)) {
        return 0;
    }
    lockstep_open(&lockstep, NULL, 3, NULL);
    for (size_t i = 0; i < LINES_MAX && at < end; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct history_command command;
        const char *wrong;
        stop = stop != NULL ? stop : end;
        if (history_read(at, (size_t)(stop - at), NULL, &times, &command) == NULL
            && command.command.kind <= LK_COMMAND_TICK) {
            wrong = lockstep_step(&lockstep, &command.command);
            if (wrong != NULL) {
                fprintf(stderr, "line %zu: %s\n", i + 1, wrong);
                abort();
            }
        }
        at = stop + 1;
    }
    lockstep_close(&lockstep);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads: interrupt.h has one, wait_log.h the other. */
#include "cli/commands/waiting.h"

#include "cli/print/say.h"

bool lk_waiting_begin(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store,
                      const lk_request *request, const char *queue, int64_t wait_ms,
                      struct lk_waiting *ret_waiting) {
    bool is_told = !cli->quiet && !cli->json;
    bool is_verbose = lk_command_line_has(line, LK_OPTION_VERBOSE);

    *ret_waiting = (struct lk_waiting){
        .interrupt = lk_interrupt_open(is_told ? store : NULL, wait_ms == LK_FOREVER)};
    if (ret_waiting->interrupt == NULL) {
        (void)lk_say_failure(cli, LK_INTERNAL, "the system has no room for one more thread");
        return false;
    }
    if (is_told && wait_ms != 0) {
        ret_waiting->log = request != NULL
                               ? lk_run_wait_log_start(store, request, NULL, is_verbose)
                               : lk_run_wait_log_start_at_queue(store, queue, is_verbose);
    }
    return true;
}

int lk_waiting_end(struct lk_waiting *waiting) {
    (void)lk_run_wait_log_end(waiting->log); /* which may take its time: signals are noted */
    int signal = lk_interrupt_end(waiting->interrupt);

    if (signal != 0) {
        lk_waiting_close(waiting);
    }
    return signal;
}

void lk_waiting_close(struct lk_waiting *waiting) {
    (void)lk_interrupt_close(waiting->interrupt);
    waiting->interrupt = NULL;
}

bool lk_waiting_is_printed(const struct lk_cli *cli) {
    return fflush(cli->out) == 0 && ferror(cli->out) == 0;
}

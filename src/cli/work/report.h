/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CMD tells of its items while it runs: lines of JSON in a pipe, whose writing end CMD has as
 * the descriptor in LK_REPORT (docs/cli.md, "Reports of CMD"). A line that cannot be read is
 * passed over; the first of each CMD is told on stderr.
 */
#ifndef LK_CLI_WORK_REPORT_H
#define LK_CLI_WORK_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkeeper/lockkeeper.h"
#include "model/command.h"

/* Room for a result of 64 KiB each byte of which is escaped in JSON. */
enum { LK_POOL_REPORT_LINE_MAX = 6 * LK_VALUE_BYTES_MAX + 4096 };

enum lk_pool_report_kind { LK_POOL_REPORT_DONE, LK_POOL_REPORT_RETRY, LK_POOL_REPORT_PROGRESS };

struct lk_pool_report {
    enum lk_pool_report_kind kind;
    int64_t delay_ms; /* of a retry; -1: not said */
    bool is_uncounted;
    bool parks;
    size_t text_size; /* why, or the progress; 0: not said */
    char text[LK_FAILURE_BYTES_MAX + 1];
    char *result; /* of what is done, to be freed; NULL: not said */
    size_t result_size;
    int64_t keep_ms; /* for how long, at least; 0: not said */
};

/* A line as it was written. `ret_id`, which is to be freed, is NULL where it names no item. */
lk_outcome lk_pool_report_parse(const char *line, size_t size, char **ret_id,
                                struct lk_pool_report *ret_report, lk_error *error);

/*
 * Takes a report about an item, and its result with it unless it is about progress. LK_INVALID: it
 * cannot, as the text says.
 */
typedef lk_outcome lk_pool_report_take(void *context, const char *id,
                                       const struct lk_pool_report *report, lk_error *error);

/* The pipe of one CMD. */
struct lk_pool_channel {
    int input;  /* -1: there is none, or no more */
    int output; /* for CMD; -1: closed here */
    char *line; /* what has come of the next one */
    size_t used;
    bool is_cut; /* it is too long, and its rest is passed over */
    bool is_refusal_said;
    lk_pool_report_take *take;
    void *context;
    const char *queue;
    bool is_quiet;
};

/* False with errno. To be closed in both cases. */
bool lk_pool_channel_open(struct lk_pool_channel *channel);
void lk_pool_channel_close(struct lk_pool_channel *channel);

/* CMD has its end: this process closes its own. */
void lk_pool_channel_hand_over(struct lk_pool_channel *channel);

/* Takes what has been written, without waiting for more. */
void lk_pool_channel_read(struct lk_pool_channel *channel);

/*
 * The number that the descriptor has in CMD: one digit, as not every shell has more, and none that
 * CMD would inherit. -1: there is none.
 */
int lk_pool_channel_number(void);

#endif

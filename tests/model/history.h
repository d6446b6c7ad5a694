/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories as text: one event a line, so that a failing one can be read, replayed and shortened.
 *
 *   OWNER try|queue|wait PART... [ttl=MS] [until=MS] [note=TEXT] [max=BLOCKERS] [get=yes]
 *   OWNER renew PATH... [ttl=MS] [token=N]
 *   OWNER release PATH... [token=N] [put=TEXT]
 *   OWNER leave PATH... [token=N] [claim=yes]
 *   break PATH [owner=OWNER] [now]
 *   [OWNER] put PATH value=TEXT [token=N]
 *   [OWNER] del PATH [token=N]
 *   push QUEUE ID [value=TEXT] [delay=MS] [needs=PART[,PART...]] [priority=N]
 *   OWNER claim QUEUE [ttl=MS] [attempts=N] [ask=N] [note=TEXT] [share=TOKEN]
 *   OWNER done QUEUE ID [token=N]
 *   OWNER retry QUEUE ID [token=N] [delay=MS] [exit=N] [error=TEXT]
 *   unpark QUEUE ID
 *   drop QUEUE ID [parked]
 *   pass [MS]
 *
 * A line may begin with `+NOW/WALL`: by how many microseconds both clocks move before it; else
 * each moves by one millisecond. `until` counts from the wall clock of the event. `token=$x` is
 * the token kept as x.
 */
#ifndef LK_TESTS_MODEL_HISTORY_H
#define LK_TESTS_MODEL_HISTORY_H

#include <stdio.h>

#include "model/model.h"

#define HISTORY_STEP_US INT64_C(1000)
#define HISTORY_SPAN_MS UINT64_C(1000000000000)   /* no line leaps further */
#define HISTORY_WALL_US INT64_C(1700000000000000) /* where the wall clock of a history starts */

enum { HISTORY_LINE_MAX = 4096 };

/* An event with the parts that it points to: it must not be copied. */
struct history_command {
    struct lk_command command;
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_release_put puts[LK_PARTS_MAX];
};

struct history_tokens {
    uint64_t of['z' + 1];
};

/* The clocks before the first event. */
struct lk_times history_start(void);

/*
 * Reads one line that ends at `size`; the event borrows it. `times` are those of the event
 * before, and become those of this one. NULL: read; otherwise what is wrong with the line.
 */
const char *history_read(const char *line, size_t size, const struct history_tokens *tokens,
                         struct lk_times *times, struct history_command *ret_event);

/* Whether the word is `name=NUMBER` or `name=$x`; then its number. */
bool history_number(struct lk_slice word, const char *name, const struct history_tokens *tokens,
                    uint64_t *ret_number);

/* The same for a number that may be negative. */
bool history_signed(struct lk_slice word, const char *name, int64_t *ret_number);

/* Whether the word starts with `name`; then what is behind it. */
bool history_starts_with(struct lk_slice word, const char *name, struct lk_slice *ret_rest);

/*
 * Reads what is about values and items, for history_read(); `owner` is empty where none is named.
 * The event's times are set. NULL: read; otherwise what is wrong.
 */
const char *history_read_work(struct lk_slice owner, struct lk_slice verb, struct lk_slice text,
                              const struct history_tokens *tokens,
                              struct history_command *ret_event);

/* Cuts the next word off the text; an empty one at its end. */
struct lk_slice history_word(struct lk_slice *text);
bool history_is(struct lk_slice word, const char *name);

#endif

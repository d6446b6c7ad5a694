/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of the running service: lines on stderr, as text or as JSON. Writing never blocks: a line
 * that finds no room (a pipe without a reader, a stopped terminal) is dropped and counted. Each
 * kind of message is written at most ten times a second; the next one says how many were left out.
 * Values, notes and passwords are never written.
 *
 * stderr belongs to the process, so this state exists once. Used by the loop's thread only.
 */
#ifndef LK_SERVER_LOG_LOG_H
#define LK_SERVER_LOG_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum lk_log_level {
    LK_LOG_ERROR,   /* the service could not do what it is for */
    LK_LOG_WARNING, /* an operator may have to act: a client was refused, a bound was reached */
    LK_LOG_INFO,    /* the service started, read its settings again, ended */
    LK_LOG_DEBUG,   /* each connection */
};

struct lk_log_options {
    enum lk_log_level level; /* the last one that is written */
    bool is_json;
};

/* Called before the loop starts and after it has ended. */
void lk_log_begin(const struct lk_log_options *options);
void lk_log_end(void); /* writes how many lines were left out, if there is room */

void lk_log_change(const struct lk_log_options *options); /* while the loop runs */

/* Whether messages of this level are written. */
bool lk_log_has(enum lk_log_level level);

/* One more fact of a message: a member of the object in JSON, `NAME=TEXT` in a text line. */
struct lk_log_field {
    const char *name;
    const char *text;
    bool is_number; /* in decimal; so it is a number in JSON */
};

/*
 * Writes one line. As text: `lk serve: KIND: MESSAGE (NAME=TEXT ...)`. As JSON: time (UTC), level,
 * kind, message, and the fields. Kinds are few and static: lines are counted by kind. A message
 * longer than 512 bytes is cut.
 */
void lk_log_fields(enum lk_log_level level, const char *kind, const struct lk_log_field *fields,
                   size_t field_count, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define lk_log(level, kind, ...) lk_log_fields(level, kind, NULL, 0, __VA_ARGS__)

#endif

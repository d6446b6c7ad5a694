/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of all commands, declared once. A name means the same thing and takes the same kind
 * of value in every command; the table of commands lists which commands take it. The parser and the
 * help texts read both tables and nothing else.
 */
#ifndef LK_CLI_PARSE_OPTION_H
#define LK_CLI_PARSE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which help lists them. */
enum lk_option_id {
    LK_OPTION_OWNER,
    LK_OPTION_SHARED,
    LK_OPTION_EXCLUSIVE,
    LK_OPTION_LIMIT,
    LK_OPTION_UNITS,
    LK_OPTION_TTL,
    LK_OPTION_UNTIL,
    LK_OPTION_TRY,
    LK_OPTION_WAIT,
    LK_OPTION_QUEUE,
    LK_OPTION_NOTE,
    LK_OPTION_CONFLICT_EXIT_CODE,
    LK_OPTION_TOKEN,
    LK_OPTION_VALUE,
    LK_OPTION_PUT,
    LK_OPTION_PUT_FILE,
    LK_OPTION_DELAY,
    LK_OPTION_AT,
    LK_OPTION_UNCOUNTED,
    LK_OPTION_PARK,
    LK_OPTION_RESULT,
    LK_OPTION_KEEP,
    LK_OPTION_AGAIN,
    LK_OPTION_REPLACE,
    LK_OPTION_NEEDS,
    LK_OPTION_PRIORITY,
    LK_OPTION_PARKED,
    LK_OPTION_ALL,
    LK_OPTION_MAX_ATTEMPTS,
    LK_OPTION_BACKOFF,
    LK_OPTION_STOP_AFTER,
    LK_OPTION_BATCH,
    LK_OPTION_WORKERS,
    LK_OPTION_DRAIN,
    LK_OPTION_TABLE,
    LK_OPTION_ID,
    LK_OPTION_WHERE,
    LK_OPTION_ORDER,
    LK_OPTION_DONE,
    LK_OPTION_ANNOUNCE_ONLY,
    LK_OPTION_NO_ANNOUNCE,
    LK_OPTION_AFTER,
    LK_OPTION_REASON,
    LK_OPTION_NOW,
    LK_OPTION_INHERIT,
    LK_OPTION_ON_LOST,
    LK_OPTION_MAX_TIME,
    LK_OPTION_AT_LEAST,
    LK_OPTION_CLEANUP,
    LK_OPTION_REPORT,
    LK_OPTION_FOR_PID,
    LK_OPTION_CONFIG,
    LK_OPTION_LISTEN,
    LK_OPTION_UNIX,
    LK_OPTION_HTTP,
    LK_OPTION_DIR,
    LK_OPTION_EPHEMERAL,
    LK_OPTION_FAILOVER,
    LK_OPTION_ADVERTISE,
    LK_OPTION_PASSWORD_FILE,
    LK_OPTION_TLS_CERT,
    LK_OPTION_TLS_KEY,
    LK_OPTION_TLS_CA,
    LK_OPTION_USERS,
    LK_OPTION_NEW_TOKEN,
    LK_OPTION_CERTIFICATE,
    LK_OPTION_ALLOW,
    LK_OPTION_REMOVE,
    LK_OPTION_INSECURE,
    LK_OPTION_ALLOW_HOST,
    LK_OPTION_GRAB,
    LK_OPTION_BOUND,
    LK_OPTION_TCP_KEEPALIVE,
    LK_OPTION_LOG_LEVEL,
    LK_OPTION_LOG_FORMAT,
    LK_OPTION_SLOW_LOG,
    LK_OPTION_PATTERN,
    LK_OPTION_CLIENTS,
    LK_OPTION_SECONDS,
    LK_OPTION_BIND,
    LK_OPTION_VERBOSE,
    LK_OPTION_QUIET,
    LK_OPTION_JSON,
    LK_OPTION_STORE,
    LK_OPTION_HELP,
    LK_OPTION_VERSION,
    LK_OPTION_COUNT
};

__extension__ typedef unsigned __int128 lk_option_set;
#define LK_OPTION_BIT(id) ((lk_option_set)1 << (id))

enum lk_option_kind {
    LK_KIND_FLAG,     /* takes no value */
    LK_KIND_TEXT,     /* any text */
    LK_KIND_LIST,     /* any text, any number of times */
    LK_KIND_CHOICE,   /* one of `choices` */
    LK_KIND_NUMBER,   /* a whole number from min to max */
    LK_KIND_DURATION, /* milliseconds from min to max */
    LK_KIND_TIME,     /* an instant that is to come, Unix milliseconds */
    LK_KIND_INSTANT,  /* the same, or one that is over */
};

struct lk_option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum lk_option_kind kind;
    const char *value;          /* what help calls the value; NULL for a flag */
    int64_t min, max;           /* LK_KIND_NUMBER and LK_KIND_DURATION */
    const char *const *choices; /* LK_KIND_CHOICE; ended by NULL */
    lk_option_set excludes;     /* options that contradict it */
    const char *help;           /* lines of at most 50 characters */
};

const struct lk_option *lk_option_at(enum lk_option_id id);

/*
 * By the letter behind one dash, or by the name behind two; of two options with one name, the one
 * that is among `taken`. LK_OPTION_COUNT if there is none.
 */
enum lk_option_id lk_option_by_letter(char letter);
enum lk_option_id lk_option_by_name(const char *name, size_t size, lk_option_set taken);

/* The option whose name is most like `name`; LK_OPTION_COUNT if none is like it. */
enum lk_option_id lk_option_like(const char *name, size_t size);

/* ---- words of other programs ----------------------------------------------------------------- */

/* What other programs call a command or an option of lk, for "did you mean". */

/* The command of lk that does what another program calls `word`, of `size` bytes; NULL: none. */
const char *lk_other_command(const char *word, size_t size);

/* The same of an option, without its dashes. */
const char *lk_other_option(const char *word, size_t size);

#endif

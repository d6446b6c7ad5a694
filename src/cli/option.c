/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options. flock's letters mean here what they mean there: -n -w -s -x -E. */
#include "cli/option.h"

#include <string.h>

#include "cli/bench/bench.h"
#include "cli/likeness.h"
#include "cli/value.h"
#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

#define BIT(name) LK_OPTION_BIT(LK_OPTION_##name)

static const char *const on_lost_choices[] = {"kill", "warn", NULL};

static const struct lk_option options[] =
    {
        [LK_OPTION_OWNER] =
            {
                .name = "owner",
                .kind = LK_KIND_TEXT,
                .value = "ID",
                .help = "who asks: any text of 1 to 128 bytes",
            },
        [LK_OPTION_SHARED] =
            {
                .name = "shared",
                .letter = 's',
                .kind = LK_KIND_FLAG,
                .excludes = BIT(EXCLUSIVE),
                .help = "shared with other shared ones, for every PART\n"
                        "that does not say its own mode",
            },
        [LK_OPTION_EXCLUSIVE] =
            {
                .name = "exclusive",
                .letter = 'x',
                .kind = LK_KIND_FLAG,
                .excludes = BIT(SHARED) | BIT(LIMIT) | BIT(UNITS),
                .help = "alone (the default)",
            },
        [LK_OPTION_LIMIT] =
            {
                .name = "limit",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = LK_LIMIT_MAX,
                .excludes = BIT(EXCLUSIVE),
                .help = "shared, at most N units in all, for every PART\n"
                        "that does not say its own limit",
            },
        [LK_OPTION_UNITS] =
            {
                .name = "units",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = LK_LIMIT_MAX,
                .excludes = BIT(EXCLUSIVE),
                .help = "how many units of the limit to take (1), for\n"
                        "every PART that does not say its own",
            },
        [LK_OPTION_TTL] =
            {
                .name = "ttl",
                .kind = LK_KIND_DURATION,
                .value = "D",
                .min = LK_TTL_MIN_MS,
                .max = LK_TTL_MAX_MS,
                .excludes = BIT(UNTIL),
                .help = "how long it lives without being refreshed,\n"
                        "50ms to 366d (60s; renew: as before)",
            },
        [LK_OPTION_UNTIL] =
            {
                .name = "until",
                .kind = LK_KIND_TIME,
                .value = "TIME",
                .excludes = BIT(TTL),
                .help = "a fixed end that no renewal moves: 17:00, or\n"
                        "a day of the next 366, 2030-01-31T17:00:00Z",
            },
        [LK_OPTION_TRY] =
            {
                .name = "try",
                .letter = 'n',
                .kind = LK_KIND_FLAG,
                .excludes = BIT(WAIT) | BIT(QUEUE),
                .help = "granted now, or BUSY",
            },
        [LK_OPTION_WAIT] =
            {
                .name = "wait",
                .letter = 'w',
                .kind = LK_KIND_DURATION,
                .value = "D",
                .min = 0,
                .max = LK_DURATION_MAX_MS,
                .excludes = BIT(TRY) | BIT(QUEUE),
                .help = "wait at most so long, then TIMEOUT; 0 is a try\n"
                        "(default: wait for ever)",
            },
        [LK_OPTION_QUEUE] =
            {
                .name = "queue",
                .kind = LK_KIND_FLAG,
                .excludes = BIT(TRY) | BIT(WAIT),
                .help = "granted now, or WAITING: it stays in line until\n"
                        "its ttl is over; ask again to stay longer",
            },
        [LK_OPTION_NOTE] =
            {
                .name = "note",
                .kind = LK_KIND_TEXT,
                .value = "TEXT",
                .help = "up to 255 bytes, shown wherever it is listed",
            },
        [LK_OPTION_CONFLICT_EXIT_CODE] =
            {
                .name = "conflict-exit-code",
                .letter = 'E',
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 0,
                .max = 255,
                .help = "exit code for BUSY and TIMEOUT in place of 75",
            },
        [LK_OPTION_TOKEN] =
            {
                .name = "token",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = INT64_MAX,
                .help = "only the lease with this token; else LOST",
            },
        [LK_OPTION_VALUE] =
            {
                .name = "value",
                .kind = LK_KIND_FLAG,
                .help = "ask for the first PART's value, which comes with\n"
                        "the grant, on a second line",
            },
        [LK_OPTION_PUT] =
            {
                .name = "put",
                .kind = LK_KIND_TEXT,
                .value = "TEXT",
                .excludes = BIT(PUT_FILE),
                .help = "write this value to the first PART's path, if the\n"
                        "lease is an exclusive one and still held",
            },
        [LK_OPTION_PUT_FILE] =
            {
                .name = "put-file",
                .kind = LK_KIND_TEXT,
                .value = "FILE",
                .excludes = BIT(PUT),
                .help = "the same with what is in FILE (- is stdin)",
            },
        [LK_OPTION_DELAY] =
            {
                .name = "delay",
                .kind = LK_KIND_DURATION,
                .value = "D",
                .min = 0,
                .max = LK_TTL_MAX_MS,
                .help = "not claimed before so long",
            },
        [LK_OPTION_NEEDS] =
            {
                .name = "needs",
                .kind = LK_KIND_LIST,
                .value = "PART",
                .help = "what the work locks as well, such as\n"
                        "'pool?limit=3'; may be given 15 times",
            },
        [LK_OPTION_MAX_ATTEMPTS] =
            {
                .name = "max-attempts",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 0,
                .max = LK_ATTEMPTS_MAX,
                .help = "park an item whose Nth claim fails (0: never)",
            },
        [LK_OPTION_WORKERS] =
            {
                .name = "workers",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = LK_WORKERS_MAX,
                .help = "how many items to work on at once (1)",
            },
        [LK_OPTION_DRAIN] =
            {
                .name = "drain",
                .kind = LK_KIND_FLAG,
                .help = "end when nothing is left: nothing ready, delayed\n"
                        "or claimed",
            },
        [LK_OPTION_AFTER] =
            {
                .name = "after",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = INT64_MAX,
                .help = "go on behind the event of this sequence (1: all\n"
                        "that are kept)",
            },
        [LK_OPTION_TABLE] =
            {
                .name = "table",
                .kind = LK_KIND_TEXT,
                .value = "TABLE",
                .help = "the work is in this table or view of yours, in\n"
                        "the store's own database",
            },
        [LK_OPTION_ID] =
            {
                .name = "id",
                .kind = LK_KIND_TEXT,
                .value = "COLUMN",
                .help = "the column that tells its rows apart (id)",
            },
        [LK_OPTION_WHERE] =
            {
                .name = "where",
                .kind = LK_KIND_TEXT,
                .value = "SQL",
                .help = "which rows are work: a condition (every row)",
            },
        [LK_OPTION_ORDER] =
            {
                .name = "order",
                .kind = LK_KIND_TEXT,
                .value = "SQL",
                .help = "which come first, as behind ORDER BY",
            },
        [LK_OPTION_DONE] =
            {
                .name = "done",
                .kind = LK_KIND_TEXT,
                .value = "SQL",
                .help = "a statement that marks :id as done, together with\n"
                        "the end of its claim or not at all",
            },
        [LK_OPTION_ANNOUNCE_ONLY] =
            {
                .name = "announce-only",
                .kind = LK_KIND_FLAG,
                .excludes = BIT(NO_ANNOUNCE),
                .help = "find rows and push them; work on none",
            },
        [LK_OPTION_NO_ANNOUNCE] =
            {
                .name = "no-announce",
                .kind = LK_KIND_FLAG,
                .excludes = BIT(ANNOUNCE_ONLY),
                .help = "work on what others announce",
            },
        [LK_OPTION_REASON] =
            {
                .name = "reason",
                .kind = LK_KIND_TEXT,
                .value = "TEXT",
                .help = "why; goes on record (needed)",
            },
        [LK_OPTION_NOW] =
            {
                .name = "now",
                .kind = LK_KIND_FLAG,
                .help = "pass the lock on at once: unsafe unless the\n"
                        "holder is known to be dead",
            },
        [LK_OPTION_INHERIT] =
            {
                .name = "inherit",
                .kind = LK_KIND_FLAG,
                .help = "the lease that this runs under covers PART: run\n"
                        "CMD under it, take nothing, end nothing",
            },
        [LK_OPTION_ON_LOST] =
            {
                .name = "on-lost",
                .kind = LK_KIND_CHOICE,
                .value = "WHAT",
                .choices = on_lost_choices,
                .help = "when the lease is lost: kill CMD (the default),\n"
                        "or only warn",
            },
        [LK_OPTION_MAX_TIME] =
            {
                .name = "max-time",
                .kind = LK_KIND_DURATION,
                .value = "D",
                .min = 1,
                .max = LK_DURATION_MAX_MS,
                .help = "end CMD after so long, with exit code 124",
            },
        [LK_OPTION_CLEANUP] =
            {
                .name = "cleanup",
                .kind = LK_KIND_TEXT,
                .value = "CMD2",
                .help = "for /bin/sh, with $LK_EXIT: runs once after CMD,\n"
                        "however it ended, before the release",
            },
        [LK_OPTION_LISTEN] =
            {
                .name = "listen",
                .kind = LK_KIND_TEXT,
                .value = "ADDR:PORT",
                .help = "the door of the Redis protocol, or none; port 0:\n"
                        "any that is free (127.0.0.1:7420; with --unix:\n"
                        "none)",
            },
        [LK_OPTION_UNIX] =
            {
                .name = "unix",
                .kind = LK_KIND_TEXT,
                .value = "PATH",
                .help = "the same door at a socket of this user's",
            },
        [LK_OPTION_HTTP] =
            {
                .name = "http",
                .kind = LK_KIND_TEXT,
                .value = "ADDR:PORT",
                .help = "the door of HTTP, or none (127.0.0.1:7421)",
            },
        [LK_OPTION_DIR] =
            {
                .name = "dir",
                .kind = LK_KIND_TEXT,
                .value = "DIR",
                .excludes = BIT(EPHEMERAL),
                .help = "where it keeps its file (lockkeeper/service in\n"
                        "${XDG_STATE_HOME:-~/.local/state})",
            },
        [LK_OPTION_EPHEMERAL] =
            {
                .name = "ephemeral",
                .kind = LK_KIND_FLAG,
                .excludes = BIT(DIR),
                .help = "keep everything in memory only",
            },
        [LK_OPTION_PASSWORD_FILE] =
            {
                .name = "password-file",
                .kind = LK_KIND_TEXT,
                .value = "FILE",
                .help = "what everybody has to say first: its first line",
            },
        [LK_OPTION_INSECURE] =
            {
                .name = "insecure",
                .kind = LK_KIND_FLAG,
                .help = "let other machines in, whoever they are",
            },
        [LK_OPTION_BOUND] =
            {
                .name = "bound",
                .kind = LK_KIND_LIST,
                .value = "NAME=N",
                .help = "as often as one likes: connections, live,\n"
                        "live-per-owner, live-per-root, request-seconds,\n"
                        "waiters-per-path",
            },
        [LK_OPTION_PATTERN] =
            {
                .name = "pattern",
                .kind = LK_KIND_CHOICE,
                .value = "P",
                .choices = lk_bench_patterns,
                .help = "many (a key for each client, the default), one\n"
                        "(they take turns), shared, or limit (half of\n"
                        "them at once)",
            },
        [LK_OPTION_CLIENTS] =
            {
                .name = "clients",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = LK_BENCH_CLIENTS_MAX,
                .help = "how many at once (1)",
            },
        [LK_OPTION_SECONDS] =
            {
                .name = "seconds",
                .kind = LK_KIND_DURATION,
                .value = "S",
                .min = 1,
                .max = INT64_C(24) * 60 * 60 * 1000,
                .help = "for how long (5)",
            },
        [LK_OPTION_VERBOSE] =
            {
                .name = "verbose",
                .letter = 'v',
                .kind = LK_KIND_FLAG,
                .excludes = BIT(QUIET),
                .help = "say who is in the way while waiting",
            },
        [LK_OPTION_QUIET] =
            {
                .name = "quiet",
                .letter = 'q',
                .kind = LK_KIND_FLAG,
                .excludes = BIT(VERBOSE),
                .help = "no messages: the exit code says it",
            },
        [LK_OPTION_JSON] =
            {
                .name = "json",
                .kind = LK_KIND_FLAG,
                .help = "one JSON object a line, whatever the outcome",
            },
        [LK_OPTION_STORE] =
            {
                .name = "store",
                .letter = 'S',
                .kind = LK_KIND_TEXT,
                .value = "URL",
                .help = "the store, as in sqlite:PATH (default: $LK_STORE,\n"
                        "else a file of your own)",
            },
        [LK_OPTION_HELP] =
            {
                .name = "help",
                .letter = 'h',
                .kind = LK_KIND_FLAG,
                .help = "this text",
            },
        [LK_OPTION_VERSION] =
            {
                .name = "version",
                .letter = 'V',
                .kind = LK_KIND_FLAG,
                .help = "the version of lk",
            },
};

_Static_assert(sizeof options / sizeof options[0] == LK_OPTION_COUNT, "every option is described");
_Static_assert(LK_OPTION_COUNT <= 64, "a set of options is 64 bits");

const struct lk_option *lk_option_at(enum lk_option_id id) {
    return &options[id];
}

enum lk_option_id lk_option_by_letter(char letter) {
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        if (letter != 0 && options[id].letter == letter) {
            return (enum lk_option_id)id;
        }
    }
    return LK_OPTION_COUNT;
}

enum lk_option_id lk_option_by_name(const char *name, size_t size) {
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        if (strlen(options[id].name) == size && memcmp(options[id].name, name, size) == 0) {
            return (enum lk_option_id)id;
        }
    }
    return LK_OPTION_COUNT;
}

enum lk_option_id lk_option_like(const char *name, size_t size) {
    enum lk_option_id best = LK_OPTION_COUNT;
    size_t best_distance = LK_LIKENESS_NONE;

    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        size_t distance = lk_likeness(name, size, options[id].name);
        if (distance < best_distance) {
            best = (enum lk_option_id)id;
            best_distance = distance;
        }
    }
    return best;
}

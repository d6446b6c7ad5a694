/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options. The letters of flock(1) have the same meaning: -n -w -s -x -E. */
#include "cli/parse/option.h"

#include <string.h>

#include "cli/bench/bench.h"
#include "cli/parse/likeness.h"
#include "cli/parse/value.h"
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
                .help = "the owner: any text of 1 to 128 bytes",
            },
        [LK_OPTION_SHARED] =
            {
                .name = "shared",
                .letter = 's',
                .kind = LK_KIND_FLAG,
                .excludes = BIT(EXCLUSIVE),
                .help = "share with other shared requests; for every PART\n"
                        "that names no mode",
            },
        [LK_OPTION_EXCLUSIVE] =
            {
                .name = "exclusive",
                .letter = 'x',
                .kind = LK_KIND_FLAG,
                .excludes = BIT(SHARED) | BIT(LIMIT) | BIT(UNITS),
                .help = "exclude all others (the default)",
            },
        [LK_OPTION_LIMIT] =
            {
                .name = "limit",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = LK_LIMIT_MAX,
                .excludes = BIT(EXCLUSIVE),
                .help = "shared, at most N units in all; for every PART\n"
                        "that names no limit",
            },
        [LK_OPTION_UNITS] =
            {
                .name = "units",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = LK_LIMIT_MAX,
                .excludes = BIT(EXCLUSIVE),
                .help = "how many units of the limit to take (1); for\n"
                        "every PART that names no units",
            },
        [LK_OPTION_TTL] =
            {
                .name = "ttl",
                .kind = LK_KIND_DURATION,
                .value = "D",
                .min = LK_TTL_MIN_MS,
                .max = LK_TTL_MAX_MS,
                .excludes = BIT(UNTIL),
                .help = "how long it lives unless it is refreshed,\n"
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
                .help = "be granted now, or fail with BUSY",
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
                .help = "wait at most this long, then TIMEOUT; 0: --try\n"
                        "(default: wait for ever)",
            },
        [LK_OPTION_QUEUE] =
            {
                .name = "queue",
                .kind = LK_KIND_FLAG,
                .excludes = BIT(TRY) | BIT(WAIT),
                .help = "be granted now, or WAITING: stays in the queue\n"
                        "until its ttl ends; repeat to stay longer",
            },
        [LK_OPTION_NOTE] =
            {
                .name = "note",
                .kind = LK_KIND_TEXT,
                .value = "TEXT",
                .help = "up to 255 bytes, shown where requests are listed",
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
                .help = "not to be claimed before this time has passed",
            },
        [LK_OPTION_NEEDS] =
            {
                .name = "needs",
                .kind = LK_KIND_LIST,
                .value = "PART",
                .help = "a lock that each claim takes too, such as\n"
                        "'pool?limit=3'; up to 15 times",
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
                .help = "end when no item is ready, delayed or claimed",
            },
        [LK_OPTION_AFTER] =
            {
                .name = "after",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = INT64_MAX,
                .help = "begin after the event with this sequence (1: all\n"
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
                .help = "the column that identifies a row (id)",
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
                .help = "the order of rows, as after ORDER BY",
            },
        [LK_OPTION_DONE] =
            {
                .name = "done",
                .kind = LK_KIND_TEXT,
                .value = "SQL",
                .help = "a statement that marks :id as done, in one\n"
                        "transaction with the end of its claim",
            },
        [LK_OPTION_ANNOUNCE_ONLY] =
            {
                .name = "announce-only",
                .kind = LK_KIND_FLAG,
                .excludes = BIT(NO_ANNOUNCE),
                .help = "find and push rows, but run nothing; --drain then\n"
                        "ends when every matching row is pushed",
            },
        [LK_OPTION_NO_ANNOUNCE] =
            {
                .name = "no-announce",
                .kind = LK_KIND_FLAG,
                .excludes = BIT(ANNOUNCE_ONLY),
                .help = "only work on rows that another process pushed",
            },
        [LK_OPTION_REASON] =
            {
                .name = "reason",
                .kind = LK_KIND_TEXT,
                .value = "TEXT",
                .help = "why; is recorded (required)",
            },
        [LK_OPTION_NOW] =
            {
                .name = "now",
                .kind = LK_KIND_FLAG,
                .help = "end the lease at once: unsafe unless the holder\n"
                        "is known to be dead",
            },
        [LK_OPTION_INHERIT] =
            {
                .name = "inherit",
                .kind = LK_KIND_FLAG,
                .help = "run CMD under the lease that lk itself runs under,\n"
                        "if it covers PART; take and end no lease",
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
                .help = "end CMD after this long, with exit code 124",
            },
        [LK_OPTION_CLEANUP] =
            {
                .name = "cleanup",
                .kind = LK_KIND_TEXT,
                .value = "CMD2",
                .help = "run this by /bin/sh once CMD has ended, before\n"
                        "the release; $LK_EXIT is the exit code of CMD",
            },
        [LK_OPTION_LISTEN] =
            {
                .name = "listen",
                .kind = LK_KIND_TEXT,
                .value = "ADDR:PORT",
                .help = "the address of the Redis protocol, or none; port\n"
                        "0: any free port (127.0.0.1:7420; with --unix:\n"
                        "none)",
            },
        [LK_OPTION_UNIX] =
            {
                .name = "unix",
                .kind = LK_KIND_TEXT,
                .value = "PATH",
                .help = "the same protocol on a socket for this user only",
            },
        [LK_OPTION_HTTP] =
            {
                .name = "http",
                .kind = LK_KIND_TEXT,
                .value = "ADDR:PORT",
                .help = "the address of HTTP, or unix:PATH, or none\n"
                        "(127.0.0.1:7421; with --unix: none)",
            },
        [LK_OPTION_DIR] =
            {
                .name = "dir",
                .kind = LK_KIND_TEXT,
                .value = "DIR",
                .excludes = BIT(EPHEMERAL),
                .help = "the directory of its file (lockkeeper/service in\n"
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
                .help = "its first line is the password that clients send",
            },
        [LK_OPTION_INSECURE] =
            {
                .name = "insecure",
                .kind = LK_KIND_FLAG,
                .help = "accept other machines without a password",
            },
        [LK_OPTION_ALLOW_HOST] =
            {
                .name = "allow-host",
                .kind = LK_KIND_LIST,
                .value = "NAME",
                .help = "accept HTTP requests to this name, as in\n"
                        "http://NAME/ or https://NAME/; may be repeated",
            },
        [LK_OPTION_BOUND] =
            {
                .name = "bound",
                .kind = LK_KIND_LIST,
                .value = "NAME=N",
                .help = "may be repeated: buffer-bytes,\n"
                        "connections, event-bytes, live,\n"
                        "live-per-owner, live-per-root, request-seconds,\n"
                        "strangers, value-bytes, waiters-per-path",
            },
        [LK_OPTION_TCP_KEEPALIVE] =
            {
                .name = "tcp-keepalive",
                .kind = LK_KIND_DURATION,
                .value = "D",
                .max = INT64_C(8) * 60 * 60 * 1000,
                .help = "close connections whose peer cannot be reached,\n"
                        "or has read nothing of what it was sent, for\n"
                        "this long: 2s to 8h (30s); 0: never",
            },
        [LK_OPTION_PATTERN] =
            {
                .name = "pattern",
                .kind = LK_KIND_CHOICE,
                .value = "P",
                .choices = lk_bench_patterns,
                .help = "many (a key for each client, the default), one\n"
                        "(clients take turns), shared, or limit (half of\n"
                        "the clients at once)",
            },
        [LK_OPTION_CLIENTS] =
            {
                .name = "clients",
                .kind = LK_KIND_NUMBER,
                .value = "N",
                .min = 1,
                .max = LK_BENCH_CLIENTS_MAX,
                .help = "the number of clients (1)",
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
                .help = "print the blockers while waiting",
            },
        [LK_OPTION_QUIET] =
            {
                .name = "quiet",
                .letter = 'q',
                .kind = LK_KIND_FLAG,
                .excludes = BIT(VERBOSE),
                .help = "no messages, only the exit code",
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
                        "else a file of this user)",
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

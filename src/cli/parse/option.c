/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options. The letters of flock(1) have the same meaning: -n -w -s -x -E. */
#include "cli/parse/option.h"

#include <string.h>

#include "base/text.h"
#include "cli/parse/value.h"
#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

#define BIT(name) LK_OPTION_BIT(LK_OPTION_##name)

static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const on_lost_choices[] = {"kill", "warn", NULL};
static const char *const bench_patterns[] = {"many", "one", "shared", "limit", NULL};

enum { BENCH_CLIENTS_MAX = 1000 };

/* The fields of struct lk_option; below, those that an option of each kind has. */
#define ROW(id, letter, name, kind, value, min, max, choices, excludes, help)                      \
    [LK_OPTION_##id] = {name, letter, LK_KIND_##kind, value, min, max, choices, excludes, help}
#define FLAG(id, letter, name, excludes, help)                                                     \
    ROW(id, letter, name, FLAG, NULL, 0, 0, NULL, excludes, help)
#define TEXT(id, letter, name, value, excludes, help)                                              \
    ROW(id, letter, name, TEXT, value, 0, 0, NULL, excludes, help)
#define LIST(id, letter, name, value, excludes, help)                                              \
    ROW(id, letter, name, LIST, value, 0, 0, NULL, excludes, help)
#define CHOICE(id, letter, name, value, choices, help)                                             \
    ROW(id, letter, name, CHOICE, value, 0, 0, choices, 0, help)
#define NUMBER(id, letter, name, value, min, max, excludes, help)                                  \
    ROW(id, letter, name, NUMBER, value, min, max, NULL, excludes, help)
#define DURATION(id, letter, name, value, min, max, excludes, help)                                \
    ROW(id, letter, name, DURATION, value, min, max, NULL, excludes, help)

static const struct lk_option options[] = {
    TEXT(OWNER, 0, "owner", "ID", 0, "the owner: any text of 1 to 128 bytes"),
    FLAG(SHARED, 's', "shared", BIT(EXCLUSIVE),
         "share with other shared requests; for every PART\n"
         "that names no mode"),
    FLAG(EXCLUSIVE, 'x', "exclusive", BIT(SHARED) | BIT(LIMIT) | BIT(UNITS),
         "exclude all others (the default)"),
    NUMBER(LIMIT, 0, "limit", "N", 1, LK_LIMIT_MAX, BIT(EXCLUSIVE),
           "shared, at most N units in all; for every PART\n"
           "that names no limit"),
    NUMBER(UNITS, 0, "units", "N", 1, LK_LIMIT_MAX, BIT(EXCLUSIVE),
           "how many units of the limit to take (1); for\n"
           "every PART that names no units"),
    DURATION(TTL, 0, "ttl", "D", LK_TTL_MIN_MS, LK_TTL_MAX_MS, BIT(UNTIL),
             "time to live: it ends this long after its last\n"
             "renewal, 50ms to 366d (60s)"),
    ROW(UNTIL, 0, "until", TIME, "TIME", 0, 0, NULL, BIT(TTL) | BIT(AT_LEAST),
        "a fixed end that no renewal moves: 17:00, or\n"
        "2030-01-31, or 2030-01-31T17:00:00Z, within 366\n"
        "days"),
    FLAG(TRY, 'n', "try", BIT(WAIT) | BIT(QUEUE), "be granted now, or fail with BUSY"),
    DURATION(WAIT, 'w', "wait", "D", 0, LK_DURATION_MAX_MS, BIT(TRY) | BIT(QUEUE),
             "wait at most this long, then TIMEOUT; 0: --try\n"
             "(default: wait for ever)"),
    FLAG(QUEUE, 0, "queue", BIT(TRY) | BIT(WAIT),
         "be granted now, or WAITING: stays in the queue\n"
         "until its ttl ends; repeat to stay longer"),
    TEXT(NOTE, 0, "note", "TEXT", 0, "up to 255 bytes, shown in listings"),
    NUMBER(CONFLICT_EXIT_CODE, 'E', "conflict-exit-code", "N", 0, 255, 0,
           "exit code for BUSY and TIMEOUT in place of 75;\n"
           "neither is a failure then, and nothing is printed"),
    NUMBER(TOKEN, 0, "token", "N", 1, INT64_MAX, 0, "only the lease with this token; else LOST"),
    FLAG(VALUE, 0, "value", BIT(AT_LEAST),
         "ask for the PARTs' values, which come with the\n"
         "grant: the first one's on a second line, all of\n"
         "them with --json"),
    LIST(PUT, 0, "put", "TEXT", BIT(PUT_FILE),
         "write this value to the first PART's path, a\n"
         "second one to that of the second PART, and so on,\n"
         "if the lease is exclusive there and still held"),
    LIST(PUT_FILE, 0, "put-file", "FILE", BIT(PUT), "the same with what is in FILE (- is stdin)"),
    DURATION(DELAY, 0, "delay", "D", 0, LK_TTL_MAX_MS, BIT(AT),
             "not to be claimed before this time has passed"),
    ROW(AT, 0, "at", INSTANT, "TIME", 0, 0, NULL, BIT(DELAY),
        "not to be claimed before this time: 17:00, or\n"
        "2030-01-31T17:00:00Z; one that is over: at once"),
    FLAG(UNCOUNTED, 0, "uncounted", 0,
         "the attempt does not count: it was stopped, or\n"
         "cannot be done now"),
    FLAG(AGAIN, 0, "again", 0,
         "an item that exists is worked on once more, with\n"
         "this value; one that is claimed, behind its claim"),
    FLAG(REPLACE, 0, "replace", 0,
         "an item that exists and waits to be claimed gets\n"
         "this value, priority, delay and needs"),
    FLAG(PARK, 0, "park", 0, "the item is parked, whatever its attempts"),
    TEXT(RESULT, 0, "result", "TEXT", 0,
         "what came of the work, up to 64 KiB; - reads it\n"
         "from stdin. It is kept for the time of the push,\n"
         "or of --keep"),
    DURATION(KEEP, 0, "keep", "D", 0, LK_TTL_MAX_MS, 0,
             "keep the item with its result for this long once\n"
             "it is done (0): see lk result"),
    LIST(NEEDS, 0, "needs", "PART", 0,
         "a lock that each claim takes too, such as\n"
         "'pool?limit=3'; up to 15 times. 'PATH?strict' keeps\n"
         "the order: none overtakes an item that has failed"),
    NUMBER(PRIORITY, 0, "priority", "N", INT16_MIN, INT16_MAX, 0,
           "from -32768 to 32767 (0): the greatest is claimed\n"
           "first, and the oldest of one priority"),
    FLAG(PARKED, 0, "parked", 0, "all parked items, in place of an ID"),
    FLAG(ALL, 0, "all", 0, "all parked items, in place of an ID"),
    NUMBER(MAX_ATTEMPTS, 0, "max-attempts", "N", 0, LK_ATTEMPTS_MAX, 0,
           "park an item whose Nth claim fails (0: never)"),
    DURATION(BACKOFF, 0, "backoff", "D", 1, LK_TTL_MAX_MS, 0,
             "how long after its first failure an item is\n"
             "claimed again (1s); doubles up to 5m"),
    DURATION(STOP_AFTER, 0, "stop-after", "D", 0, LK_DURATION_MAX_MS, 0,
             "how long CMD may go on after the first SIGTERM\n"
             "(until it ends); then as after the second"),
    NUMBER(BATCH, 0, "batch", "N", 1, LK_CLAIMS_MAX, BIT(TABLE),
           "claim up to N items at once, and run CMD once for\n"
           "all of them: ids in $LK_ITEMS, JSON lines on stdin"),
    NUMBER(WORKERS, 0, "workers", "N", 1, LK_WORKERS_MAX, 0,
           "how many items to work on at once (1)"),
    FLAG(DRAIN, 0, "drain", 0, "end when no item is ready, delayed or claimed"),
    NUMBER(AFTER, 0, "after", "N", 1, INT64_MAX, 0,
           "begin after the event with this sequence (1: all\n"
           "that are kept)"),
    TEXT(TABLE, 0, "table", "TABLE", 0,
         "the work is in this table or view of yours, in\n"
         "the store's own database"),
    TEXT(ID, 0, "id", "COLUMN", 0, "the column that identifies a row (id)"),
    TEXT(WHERE, 0, "where", "SQL", 0, "which rows are work: a condition (every row)"),
    TEXT(ORDER, 0, "order", "SQL", 0, "the order of rows, as after ORDER BY"),
    TEXT(DONE, 0, "done", "SQL", 0,
         "a statement that marks :id as done, in one\n"
         "transaction with the end of its claim"),
    FLAG(ANNOUNCE_ONLY, 0, "announce-only", BIT(NO_ANNOUNCE),
         "find and push rows, but run nothing; --drain then\n"
         "ends when every matching row is pushed"),
    FLAG(NO_ANNOUNCE, 0, "no-announce", BIT(ANNOUNCE_ONLY),
         "only work on rows that another process pushed"),
    TEXT(REASON, 0, "reason", "TEXT", 0, "why; is recorded (required)"),
    FLAG(NOW, 0, "now", 0,
         "end the lease at once: unsafe unless the holder\n"
         "is known to be dead"),
    FLAG(INHERIT, 0, "inherit", BIT(AT_LEAST),
         "run CMD under the lease that lk itself runs under,\n"
         "if it covers PART; take and end no lease"),
    CHOICE(ON_LOST, 0, "on-lost", "WHAT", on_lost_choices,
           "when the lease is lost: kill CMD (the default),\n"
           "or only warn"),
    DURATION(MAX_TIME, 0, "max-time", "D", 1, LK_DURATION_MAX_MS, 0,
             "end CMD after this long, with exit code 124"),
    DURATION(AT_LEAST, 0, "at-least", "D", LK_TTL_MIN_MS, LK_TTL_MAX_MS,
             BIT(UNTIL) | BIT(VALUE) | BIT(INHERIT) | BIT(BIND),
             "if it is quicker, leave the lease held until D\n"
             "after the grant: clocks that differ by less do not\n"
             "run it twice"),
    TEXT(CLEANUP, 0, "cleanup", "CMD2", 0,
         "run this by /bin/sh once CMD has ended, before\n"
         "the release; $LK_EXIT is the exit code of CMD"),
    TEXT(REPORT, 0, "report", "FD|FILE", 0,
         "write a line of JSON at the end: how long it has\n"
         "waited and held, and what came of it"),
    NUMBER(FOR_PID, 0, "for-pid", "N", 1, INT32_MAX, 0,
           "hold it as long as this process lives (default:\n"
           "the shell, or other program, that calls lk)"),
    TEXT(CONFIG, 0, "config", "FILE", 0,
         "read these options from FILE: lines NAME = VALUE;\n"
         "flags: NAME = yes"),
    TEXT(LISTEN, 0, "listen", "ADDR:PORT", 0,
         "the address of the Redis protocol, or none; port\n"
         "0: any free port (127.0.0.1:7420; with --unix:\n"
         "none)"),
    TEXT(UNIX, 0, "unix", "PATH", 0, "the same protocol on a socket for this user only"),
    TEXT(HTTP, 0, "http", "ADDR:PORT", 0,
         "the address of HTTP, or unix:PATH, or none\n"
         "(127.0.0.1:7421; with --unix: none)"),
    TEXT(DIR, 0, "dir", "DIR", BIT(EPHEMERAL) | BIT(STORE),
         "the directory of its file (lockkeeper/service in\n"
         "${XDG_STATE_HOME:-~/.local/state})"),
    FLAG(EPHEMERAL, 0, "ephemeral", BIT(DIR) | BIT(STORE), "keep everything in memory only"),
    DURATION(FAILOVER, 0, "failover", "D", 500, INT64_C(60) * 60 * 1000, 0,
             "with --store: another service takes over from one\n"
             "that has been silent for so long: 500ms to 1h (3s)"),
    TEXT(ADVERTISE, 0, "advertise", "HOST:PORT", 0,
         "with --store: where clients reach this service\n"
         "(the address of --listen)"),
    TEXT(PASSWORD_FILE, 0, "password-file", "FILE", BIT(USERS),
         "its first line is the password that clients send"),
    TEXT(USERS, 0, "users", "FILE", BIT(PASSWORD_FILE) | BIT(GRAB),
         "only these users may come in, each by its rules:\n"
         "one a line (lk passwd; read again on SIGHUP)"),
    FLAG(NEW_TOKEN, 0, "token", 0,
         "make a token, which is printed once, and keep its\n"
         "digest; with --remove: remove the user's tokens"),
    FLAG(CERTIFICATE, 0, "certificate", BIT(NEW_TOKEN),
         "let in clients whose certificate has the name of\n"
         "USER (lk serve --tls-ca); with --remove: do not"),
    LIST(ALLOW, 0, "allow", "RULE", BIT(REMOVE),
         "RIGHT,RIGHT:PREFIX, as in lock,read:db; may be\n"
         "repeated; the rules given are all of the user's.\n"
         "Rights: lock, read, put, break, watch, push,\n"
         "claim, admin, all. PREFIX /: every path"),
    FLAG(REMOVE, 0, "remove", BIT(ALLOW), "remove the user"),
    TEXT(TLS_CERT, 0, "tls-cert", "FILE", 0,
         "TLS at both ports: the certificate, in PEM, with\n"
         "the intermediate ones behind it"),
    TEXT(TLS_KEY, 0, "tls-key", "FILE", 0, "its key, which other users may not read"),
    TEXT(TLS_CA, 0, "tls-ca", "FILE", 0, "clients need a certificate signed by one of these"),
    FLAG(INSECURE, 0, "insecure", 0,
         "accept other machines without a password or\n"
         "without TLS"),
    LIST(ALLOW_HOST, 0, "allow-host", "NAME", 0,
         "accept HTTP requests to this name, as in\n"
         "http://NAME/ or https://NAME/; may be repeated"),
    FLAG(GRAB, 0, "grab", BIT(USERS), "serve the interface of \"grab\" over HTTP, at /grab/"),
    LIST(BOUND, 0, "bound", "NAME=N", 0,
         "may be repeated: buffer-bytes,\n"
         "connections, event-bytes, live,\n"
         "live-per-owner, live-per-root, request-seconds,\n"
         "strangers, value-bytes, waiters-per-path"),
    DURATION(TCP_KEEPALIVE, 0, "tcp-keepalive", "D", 0, INT64_C(8) * 60 * 60 * 1000, 0,
             "close connections whose peer cannot be reached,\n"
             "or has read nothing of what it was sent, for\n"
             "this long: 2s to 8h (30s); 0: never"),
    CHOICE(LOG_LEVEL, 0, "log-level", "LEVEL", log_levels,
           "log on stderr up to this level: error, warning\n"
           "(the default), info, or debug"),
    CHOICE(LOG_FORMAT, 0, "log-format", "FORMAT", log_formats,
           "text (the default), or json: an object a line"),
    DURATION(SLOW_LOG, 0, "slow-log", "D", 0, LK_DURATION_MAX_MS, 0,
             "log calls that hold up others, and transactions,\n"
             "that take at least this long (0: none)"),
    CHOICE(PATTERN, 0, "pattern", "P", bench_patterns,
           "many (a key for each client, the default), one\n"
           "(clients take turns), shared, or limit (half of\n"
           "the clients at once)"),
    NUMBER(CLIENTS, 0, "clients", "N", 1, BENCH_CLIENTS_MAX, 0, "the number of clients (1)"),
    DURATION(SECONDS, 0, "seconds", "S", 1, INT64_C(24) * 60 * 60 * 1000, 0, "for how long (5)"),
    FLAG(BIND, 0, "bound", 0,
         "bind the lease to the connection to a service:\n"
         "it ends when that does, at once"),
    FLAG(VERBOSE, 'v', "verbose", BIT(QUIET), "print the blockers while waiting"),
    FLAG(QUIET, 'q', "quiet", BIT(VERBOSE),
         "nothing of progress, of BUSY and of TIMEOUT: the\n"
         "exit code says it; other failures are printed"),
    FLAG(JSON, 0, "json", 0, "one JSON object a line, whatever the outcome"),
    TEXT(STORE, 'S', "store", "URL", BIT(DIR) | BIT(EPHEMERAL),
         "the store, as in sqlite:PATH (default: $LK_STORE,\n"
         "lockkeeper.conf, else a file of this user alone)"),
    FLAG(HELP, 'h', "help", 0, "this text"),
    FLAG(VERSION, 'V', "version", 0, "the version of lk"),
};

_Static_assert(sizeof options / sizeof options[0] == LK_OPTION_COUNT, "every option is described");
_Static_assert(LK_OPTION_COUNT <= 128, "a set of options is 128 bits");

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

enum lk_option_id lk_option_by_name(const char *name, size_t size, lk_option_set taken) {
    enum lk_option_id first = LK_OPTION_COUNT;

    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        if (strlen(options[id].name) == size && memcmp(options[id].name, name, size) == 0) {
            if ((taken & LK_OPTION_BIT(id)) != 0) {
                return (enum lk_option_id)id;
            }
            first = first == LK_OPTION_COUNT ? (enum lk_option_id)id : first;
        }
    }
    return first;
}

enum lk_option_id lk_option_like(const char *name, size_t size) {
    enum lk_option_id best = LK_OPTION_COUNT;
    size_t best_distance = LK_LIKENESS_NONE;
    const char *own = lk_other_option(name, size);

    if (own != NULL) {
        return lk_option_by_name(own, strlen(own), 0);
    }
    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        size_t distance = lk_likeness(name, size, options[id].name);
        if (distance < best_distance) {
            best = (enum lk_option_id)id;
            best_distance = distance;
        }
    }
    return best;
}

/* ---- words of other programs ----------------------------------------------------------------- */

/* From flock(1), consul lock, GNU parallel and others, where lk has a word for the same. */

struct pair {
    const char *other;
    const char *own;
};

static const struct pair other_commands[] = {
    {"exec", "run"},      {"flock", "run"},    {"list", "ls"},       {"lock", "acquire"},
    {"locks", "ls"},      {"status", "show"},  {"steal", "break"},   {"unlock", "release"},
    {"refresh", "renew"}, {"enqueue", "push"}, {"monitor", "watch"},
};

static const struct pair other_options[] = {
    {"nb", "try"},      {"nonblock", "try"}, {"nonblocking", "try"},
    {"no-wait", "try"}, {"timeout", "wait"}, {"expire", "ttl"},
    {"lease", "ttl"},   {"message", "note"}, {"error-exitcode", "conflict-exit-code"},
};

static const char *find(const struct pair *pairs, size_t count, const char *word, size_t size) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(pairs[i].other) == size && memcmp(pairs[i].other, word, size) == 0) {
            return pairs[i].own;
        }
    }
    return NULL;
}

const char *lk_other_command(const char *word, size_t size) {
    return find(other_commands, sizeof other_commands / sizeof other_commands[0], word, size);
}

const char *lk_other_option(const char *word, size_t size) {
    return find(other_options, sizeof other_options / sizeof other_options[0], word, size);
}

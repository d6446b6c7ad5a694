/* SPDX-License-Identifier: Apache-2.0 */
/* The program's counters, the sizes that the system knows, what INFO has of them, and the log. */
#include "server/connections/monitor.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/connections/listen.h"
#include "server/connections/listener.h"
#include "server/core/contention.h"
#include "server/log/log.h"

#define US_PER_S UINT64_C(1000000)

static const int64_t commit_bounds_us[] = {
    250,   500,    1000,   2500,   5000,    10000,   25000,
    50000, 100000, 250000, 500000, 1000000, 2500000, 10000000,
};

_Static_assert(sizeof commit_bounds_us / sizeof commit_bounds_us[0] <= LK_BUCKETS_MAX,
               "every bound has its bucket");

void lk_monitor_begin(struct lk_monitor *monitor, int64_t wall_us) {
    *monitor = (struct lk_monitor){
        .started_wall_us = wall_us,
        .commits.bounds_us = commit_bounds_us,
        .commits.count = sizeof commit_bounds_us / sizeof commit_bounds_us[0],
    };
}

static uint64_t us_of(struct timeval time) {
    return (uint64_t)time.tv_sec * US_PER_S + (uint64_t)time.tv_usec;
}

/* The second number of /proc/self/statm is in pages. */
static uint64_t read_resident_bytes(void) {
    char text[128] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    char *end = text;

    if (file >= 0) {
        (void)close(file);
    }
    if (size <= 0) {
        return 0;
    }
    (void)strtoull(text, &end, 10);
    return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct lk_process_use lk_monitor_process(void) {
    struct lk_process_use process = {.resident_bytes = read_resident_bytes()};
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        process.processor_us = us_of(usage.ru_utime) + us_of(usage.ru_stime);
    }
    return process;
}

bool lk_monitor_files(const char *directory, uint64_t *ret_file_bytes, uint64_t *ret_log_bytes) {
    char path[PATH_MAX];
    struct stat status;
    int size = snprintf(path, sizeof path, "%s/locks.db-wal", directory);

    if (size < 0 || (size_t)size >= sizeof path) {
        return false;
    }
    *ret_log_bytes = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    path[(size_t)size - (sizeof "-wal" - 1)] = '\0';
    if (stat(path, &status) != 0) {
        return false;
    }
    *ret_file_bytes = (uint64_t)status.st_size;
    return true;
}

/* ---- INFO; lk doctor makes warnings of it (engine/service/examine.c) ------------------------- */

/* No root is named: a user that may ask for INFO need not be one that sees every path. */
static int64_t oldest_wait_us(const struct lk_core *core, const struct lk_times *times) {
    struct lk_contention_top top;
    int64_t since_us;

    lk_core_contention(core, &top);
    since_us = top.rest.count > 0 ? top.rest.since_us : times->now_us;
    for (size_t i = 0; i < top.row_count; i++) {
        since_us = top.rows[i].since_us < since_us ? top.rows[i].since_us : since_us;
    }
    return times->now_us - since_us;
}

/* The bound below which this share of the times lie; the greatest one if they lie above all. */
static int64_t percentile_us(const struct lk_buckets *buckets, double share) {
    uint64_t total = 0;
    uint64_t below = 0;
    size_t i = 0;

    for (size_t at = 0; at <= buckets->count; at++) {
        total += buckets->counts[at];
    }
    while (i + 1 < buckets->count
           && (double)(below += buckets->counts[i]) < share * (double)total) {
        i++;
    }
    return total > 0 ? buckets->bounds_us[i] : 0;
}

static void write_store(const char *directory, struct lk_text *text) {
    uint64_t file_bytes = 0;
    uint64_t log_bytes = 0;
    struct statvfs disk;

    if (directory == NULL) {
        return;
    }
    if (lk_monitor_files(directory, &file_bytes, &log_bytes)) {
        lk_text_format(text, "store_bytes:%" PRIu64 "\r\nlog_bytes:%" PRIu64 "\r\n", file_bytes,
                       log_bytes);
    }
    if (statvfs(directory, &disk) == 0) {
        lk_text_format(text, "disk_free_bytes:%" PRIu64 "\r\n",
                       (uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize);
    }
}

static int64_t oldest_ready_us(const struct lk_model *model, const struct lk_times *times) {
    struct lk_ready_root root;

    return model != NULL && lk_model_oldest_ready(model, times->now_us, &root, 1) > 0
               ? times->now_us - root.since_us
               : 0;
}

void lk_operation_write(struct lk_server *server, const struct lk_core_stats *stats,
                        const struct lk_model *model, const struct lk_times *times,
                        struct lk_text *text) {
    const struct lk_monitor *monitor = lk_server_monitor(server);
    const struct lk_server_options *options = lk_server_options_of(server);
    int64_t running_us =
        monitor->committing_since_us != 0 ? times->now_us - monitor->committing_since_us : 0;

    lk_text_format(text, "uptime_in_seconds:%" PRId64 "\r\n",
                   (times->wall_us - monitor->started_wall_us) / 1000000);
    lk_text_format(text, "can_write:%d\r\n", !stats->cannot_write);
    lk_text_format(text, "connections_max:%" PRIu32 "\r\n", options->connections_max);
    for (int why = 0; why < LK_REFUSALS; why++) {
        lk_text_format(text, "refused_%s:%" PRIu64 "\r\n", lk_refusal_name((enum lk_refusal)why),
                       monitor->refused[why]);
    }
    lk_text_format(text, "oldest_wait_ms:%" PRId64 "\r\n",
                   oldest_wait_us(lk_server_core(server), times) / 1000);
    lk_text_format(text, "oldest_ready_item_ms:%" PRId64 "\r\n",
                   oldest_ready_us(model, times) / 1000);
    lk_text_format(text, "commit_p50_us:%" PRId64 "\r\ncommit_p99_us:%" PRId64 "\r\n",
                   percentile_us(&monitor->commits, 0.5), percentile_us(&monitor->commits, 0.99));
    lk_text_format(text, "commit_running_ms:%" PRId64 "\r\n", running_us / 1000);
    lk_text_format(text, "resident_bytes:%" PRIu64 "\r\n", lk_monitor_process().resident_bytes);
    write_store(options->directory, text);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Each reason is a kind of line of its own, so that a flood of one does not hide the others. */

static const struct {
    const char *name;
    const char *kind;
    const char *message;
} reasons[] = {
    [LK_REFUSED_FULL] = {"full", "connection refused", "too many connections"},
    [LK_REFUSED_EVICTED] =
        {"evicted", "connection closed",
         "it had not sent the password, or not done its TLS handshake, and a newer "
         "one takes its place"},
    [LK_REFUSED_PASSWORD] = {"password", "wrong password", "the refusal is delayed"},
    [LK_REFUSED_FILES] = {"files", "connections wait to be accepted",
                          "no more files can be opened"},
    [LK_REFUSED_UNREAD] = {"unread", "connection dropped", "it buffered most when all were full"},
    [LK_REFUSED_ORIGIN] = {"origin", "cross-site request refused", "see Host and Origin"},
    [LK_REFUSED_PROTOCOL] = {"protocol", "another protocol", "the connection is closed"},
    [LK_REFUSED_SLOW] = {"slow", "slow request", "it was not complete in time"},
    [LK_REFUSED_TLS] = {"tls", "TLS refused", "the handshake failed"},
};

_Static_assert(sizeof reasons / sizeof reasons[0] == LK_REFUSALS, "every reason is described");

const char *lk_refusal_name(enum lk_refusal why) {
    return reasons[why].name;
}

void lk_refusal_count(struct lk_server *server, enum lk_refusal why) {
    lk_server_monitor(server)->refused[why]++;
}

void lk_refusal_exhausted(struct lk_server *server) {
    struct rlimit limit = {.rlim_cur = 0};

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    lk_log(LK_LOG_ERROR, "connections wait to be accepted",
           "too many open files (the limit is %" PRIu64 "), or memory is exhausted",
           (uint64_t)limit.rlim_cur);
    lk_refusal_count(server, LK_REFUSED_FILES);
}

void lk_refusal_note(struct lk_server *server, const struct lk_listener *listener,
                     const struct lk_listen_socket *listen_socket, int socket,
                     enum lk_refusal why) {
    lk_refusal_explain(server, listener, listen_socket, socket, why, reasons[why].message);
}

void lk_refusal_explain(struct lk_server *server, const struct lk_listener *listener,
                        const struct lk_listen_socket *listen_socket, int socket,
                        enum lk_refusal why, const char *message) {
    char peer[LK_ADDRESS_BYTES_MAX] = "";
    const struct lk_log_field fields[] = {
        {"reason", reasons[why].name}, {"listener", listener->name}, {"peer", peer}};

    lk_refusal_count(server, why);
    if (!lk_log_has(LK_LOG_WARNING)) {
        return;
    }
    lk_listen_socket_name_peer(listen_socket, socket, peer);
    lk_log_fields(LK_LOG_WARNING, reasons[why].kind, fields, sizeof fields / sizeof fields[0], "%s",
                  message);
}

void lk_connection_trace(const struct lk_listener *listener,
                         const struct lk_listen_socket *listen_socket, int socket,
                         const char *what) {
    char peer[LK_ADDRESS_BYTES_MAX] = "";
    const struct lk_log_field fields[] = {{"listener", listener->name}, {"peer", peer}};

    if (lk_log_has(LK_LOG_DEBUG)) {
        lk_listen_socket_name_peer(listen_socket, socket, peer);
        lk_log_fields(LK_LOG_DEBUG, "connection", fields, sizeof fields / sizeof fields[0], "%s",
                      what);
    }
}

/* ---- what is slow ---------------------------------------------------------------------------- */

/* Lines of kinds of their own, so that many slow calls do not hide a slow commit. */

enum { PATH_BYTES_SHOWN = 256, NUMBER_BYTES = 32 };

static int64_t threshold_us(const struct lk_server *server) {
    return lk_server_options_of(server)->slow_us;
}

static void write_ms(char ret_text[NUMBER_BYTES], int64_t us) {
    (void)snprintf(ret_text, NUMBER_BYTES, "%" PRId64 ".%03d", us / 1000, (int)(us % 1000));
}

int64_t lk_slow_begin(const struct lk_server *server) {
    return threshold_us(server) > 0 ? lk_clock_now_us() : 0;
}

/* The first path; empty: the command has none. */
static struct lk_slice first_path(const struct lk_draft *draft) {
    return draft->part_count > 0 ? draft->part_texts[0]
           : draft->has_path     ? draft->path
                                 : (struct lk_slice){.size = 0};
}

void lk_slow_end(const struct lk_server *server, const struct lk_listener *listener,
                 const struct lk_command_spec *command, const struct lk_draft *draft,
                 int64_t begun_us) {
    int64_t took_us = begun_us > 0 ? lk_clock_now_us() - begun_us : 0;
    const char *name = command != NULL && command->name != NULL ? command->name : "INFO";
    char took[NUMBER_BYTES];
    char path[PATH_BYTES_SHOWN + 1] = "";
    const struct lk_log_field fields[] = {
        {"command", name, false},
        {"took_ms", took, true},
        {"listener", listener->name, false},
        {"path", path, false},
    };
    size_t count = sizeof fields / sizeof fields[0];

    if (begun_us == 0 || took_us < threshold_us(server)) {
        return;
    }
    write_ms(took, took_us);
    if (draft->command == command) {
        struct lk_slice text = first_path(draft);
        (void)snprintf(path, sizeof path, "%.*s", (int)text.size, text.bytes);
    }
    lk_log_fields(LK_LOG_WARNING, "slow call", fields, path[0] != '\0' ? count : count - 1,
                  "it held up all others");
}

void lk_slow_commit(const struct lk_server *server, int64_t took_us) {
    char took[NUMBER_BYTES];
    const struct lk_log_field fields[] = {{"took_ms", took, true}};

    if (threshold_us(server) > 0 && took_us >= threshold_us(server)) {
        write_ms(took, took_us);
        lk_log_fields(LK_LOG_WARNING, "slow commit", fields, 1,
                      "the answers of a batch waited for the disk");
    }
}

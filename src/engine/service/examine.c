/* SPDX-License-Identifier: Apache-2.0 */
/* lk_examine(): INFO as a report, and what in it needs an operator, as warnings. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/service/call.h"
#include "engine/service/command_builder.h"
#include "engine/service/connections.h"
#include "engine/service/service.h"

enum {
    REPORT_BYTES_MAX = 4096,
    WARNINGS_BYTES_MAX = 2048,
    CONNECTIONS_PERCENT = 80,
    COMMIT_SLOW_US = 50000,
    COMMIT_HANGS_MS = 1000,
};

#define LOG_BYTES_LARGE INT64_C(67108864)   /* 64 MiB */
#define DISK_BYTES_SMALL INT64_C(268435456) /* 256 MiB */

/* ---- the report ------------------------------------------------------------------------------ */

/* Fields for clients of Redis, and the one that clocks are compared by, are left out of reports. */
static bool is_reported(struct lk_slice name) {
    static const char *const others[] = {"redis_version", "redis_mode", "role", "time_us"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (lk_slice_equal(name, lk_slice_of(others[i]))) {
            return false;
        }
    }
    return true;
}

/* Lines of `name:value`, between headings and empty lines, become `name: value`. */
static void write_report(struct lk_slice info, struct lk_text *report) {
    while (info.size > 0) {
        const char *end = memchr(info.bytes, '\n', info.size);
        size_t size = end != NULL ? (size_t)(end - info.bytes) : info.size;
        size_t line = size > 0 && info.bytes[size - 1] == '\r' ? size - 1 : size;
        const char *colon = line > 0 ? memchr(info.bytes, ':', line) : NULL;

        int name_size = colon != NULL ? (int)(colon - info.bytes) : 0;

        if (name_size > 0 && info.bytes[0] != '#'
            && is_reported((struct lk_slice){info.bytes, (size_t)name_size})) {
            lk_text_format(report, "%.*s: %.*s\n", name_size, info.bytes, (int)line - name_size - 1,
                           colon + 1);
        }
        info.bytes += size + (end != NULL);
        info.size -= size + (end != NULL);
    }
}

/* ---- warnings -------------------------------------------------------------------------------- */

static void warn_of_connections(struct lk_slice info, struct lk_text *warnings) {
    int64_t count = lk_service_info_number(info, "connected_clients", 0);
    int64_t max = lk_service_info_number(info, "connections_max", 0);
    int64_t full = lk_service_info_number(info, "refused_full", 0);
    int64_t files = lk_service_info_number(info, "refused_files", 0);

    if (max > 0 && count >= max * CONNECTIONS_PERCENT / 100) {
        lk_text_format(warnings,
                       "%" PRId64 " connections are open, and each listener takes %" PRId64
                       ": raise --bound connections\n",
                       count, max);
    }
    if (full > 0) {
        lk_text_format(warnings,
                       "%" PRId64 " connections were refused since the start, as there were too "
                       "many: raise --bound connections\n",
                       full);
    }
    if (files > 0) {
        lk_text_format(warnings,
                       "connections had to wait %" PRId64
                       " times, as no more files could be opened: raise ulimit -n\n",
                       files);
    }
}

static void warn_of_store(struct lk_slice info, struct lk_text *warnings) {
    int64_t running_ms = lk_service_info_number(info, "commit_running_ms", 0);
    int64_t free_bytes = lk_service_info_number(info, "disk_free_bytes", DISK_BYTES_SMALL);

    if (lk_service_info_number(info, "loading", 0) != 0) {
        lk_text_format(warnings, "the store is not loaded: calls are answered UNAVAILABLE; the "
                                 "service's log says why\n");
    }
    if (lk_service_info_number(info, "can_write", 1) == 0) {
        lk_text_format(warnings, "the last write failed: changes are answered UNAVAILABLE; the "
                                 "service's log says why\n");
    }
    if (running_ms >= COMMIT_HANGS_MS) {
        lk_text_format(warnings,
                       "a transaction has been under way for %" PRId64 " ms: the disk hangs\n",
                       running_ms);
    }
    if (lk_service_info_number(info, "commit_p99_us", 0) > COMMIT_SLOW_US) {
        lk_text_format(warnings,
                       "more than one commit in a hundred takes longer than %d ms: the "
                       "disk is slow\n",
                       COMMIT_SLOW_US / 1000);
    }
    if (lk_service_info_number(info, "log_bytes", 0) > LOG_BYTES_LARGE) {
        lk_text_format(warnings,
                       "the write-ahead log is large: a program keeps reading the file\n");
    }
    if (free_bytes < DISK_BYTES_SMALL) {
        lk_text_format(warnings, "only %" PRId64 " MiB are left on the disk of the store\n",
                       free_bytes >> 20);
    }
}

static void warn_of_lost_commits(struct lk_slice info, struct lk_text *warnings) {
    if (lk_service_info_number(info, "may_lose_commits", 0) != 0) {
        lk_text_format(warnings,
                       "a crash or a fail-over of the database may lose the last commits, which "
                       "were acknowledged: PostgreSQL waits for no standby (name it in "
                       "synchronous_standby_names), or MySQL does not flush each commit (set "
                       "innodb_flush_log_at_trx_commit and sync_binlog to 1); the service's log "
                       "says which\n");
    }
}

static void warn_of_version(struct lk_slice info, struct lk_text *warnings) {
    struct lk_slice version = lk_service_info_text(info, "lockkeeper_version");

    if (version.size > 0 && !lk_slice_equal(version, lk_slice_of(LK_VERSION))) {
        lk_text_format(warnings, "the service is of version %.*s, and this program of %s\n",
                       (int)version.size, version.bytes, LK_VERSION);
    }
    if (lk_slice_equal(lk_service_info_text(info, "durability"), lk_slice_of("none"))) {
        lk_text_format(warnings, "the service keeps everything in memory only: its end is the end "
                                 "of all locks\n");
    }
}

/* ---- the call -------------------------------------------------------------------------------- */

static lk_report *make_report(const struct lk_service_link *link, struct lk_slice info) {
    char bytes[REPORT_BYTES_MAX];
    char warning_bytes[WARNINGS_BYTES_MAX];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);
    struct lk_text warnings = lk_text_in(warning_bytes, sizeof warning_bytes);

    write_report(info, &text);
    lk_tls_client_report(link->tls, "the service", "", &text, &warnings);
    warn_of_store(info, &warnings);
    warn_of_lost_commits(info, &warnings);
    warn_of_connections(info, &warnings);
    warn_of_version(info, &warnings);
    return lk_report_make(bytes, warning_bytes);
}

/*
 * INFO is answered by any service. Other commands are sent to the one that leads. Where none does,
 * half of the patience is left for a report on another one, which may say why.
 */
static void find_leader(struct lk_service *service, const struct lk_patience *patience) {
    struct lk_builder builder = {.count = 0};
    struct lk_patience half = *patience;
    struct lk_service_answer answer;
    int64_t now_us = lk_clock_now_us();

    half.until_us = now_us + (patience->until_us - now_us) / 2;
    lk_builder_add_text(&builder, "LIMITS");
    (void)lk_service_call(service, &builder, LK_SERVICE_AGAIN, &half, &answer, NULL);
    lk_service_answer_done(&answer);
}

lk_outcome lk_service_examine(struct lk_engine *engine, const struct lk_patience *patience,
                              lk_report **ret_report, struct lk_error *error) {
    struct lk_builder builder = {.count = 0};
    struct lk_service_answer answer;
    struct lk_slice info;
    lk_report *report;
    int64_t begun_us = lk_clock_wall_us();
    int64_t round_trip_us;
    int64_t time_us;
    lk_outcome outcome;

    if (lk_service_has_several(lk_service_of(engine))) {
        find_leader(lk_service_of(engine), patience);
        begun_us = lk_clock_wall_us();
    }
    lk_builder_add_text(&builder, "INFO");
    outcome = lk_service_call(lk_service_of(engine), &builder, LK_SERVICE_AGAIN, patience, &answer,
                              error);
    round_trip_us = lk_clock_wall_us() - begun_us;
    if (outcome != LK_OK) {
        lk_service_answer_done(&answer);
        return outcome;
    }
    info = answer.head.kind == LK_RESP_BULK ? answer.head.text : (struct lk_slice){.size = 0};
    report = make_report(answer.link, info);
    time_us = lk_service_info_number(info, "time_us", 0);
    lk_service_answer_done(&answer);
    if (report == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the report");
    }
    report->round_trip_us = round_trip_us;
    report->clock_offset_us = time_us != 0 ? time_us - begun_us - round_trip_us / 2 : 0;
    *ret_report = report;
    return LK_OK;
}

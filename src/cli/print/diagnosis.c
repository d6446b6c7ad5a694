/* SPDX-License-Identifier: Apache-2.0 */
/* Each sentence is made of the fields of INFO that it needs; a service of another version may have
 * fewer, and then it is left out. */
#include "cli/print/diagnosis.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "cli/print/human.h"

/* Of a line `name: value`; empty if there is none. */
static struct lk_slice field(const char *report, const char *name) {
    size_t size = strlen(name);

    for (const char *line = report; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        size_t length = end != NULL ? (size_t)(end - line) : strlen(line);
        if (length > size + 2 && strncmp(line, name, size) == 0 && line[size] == ':') {
            return (struct lk_slice){line + size + 2, length - size - 2};
        }
        line = end != NULL ? end + 1 : NULL;
    }
    return (struct lk_slice){.size = 0};
}

static bool has(const char *report, const char *name) {
    return field(report, name).size > 0;
}

static int64_t number(const char *report, const char *name) {
    struct lk_slice value = field(report, name);

    return value.size > 0 ? strtoll(value.bytes, NULL, 10) : 0;
}

static void say_field(FILE *out, const char *report, const char *name) {
    struct lk_slice value = field(report, name);

    if (value.size > 0) {
        (void)fprintf(out, "%s: %.*s\n", name, (int)value.size, value.bytes);
    }
}

static void say_service(FILE *out, const char *report) {
    struct lk_slice version = field(report, "lockkeeper_version");
    struct lk_slice leader = field(report, "leader");
    char up[LK_HUMAN_DURATION_SIZE];

    lk_human_duration(number(report, "uptime_in_seconds") * 1000, up);
    (void)fprintf(out, "a service of version %.*s, which has run for %s%s\n", (int)version.size,
                  version.bytes, up, number(report, "loading") != 0 ? "; it loads its store" : "");
    if (has(report, "is_leader")) {
        bool leads = number(report, "is_leader") == 1;
        (void)fprintf(out, "it %s; epoch %" PRId64 ", leader: %.*s\n",
                      leads ? "leads the services that share its store" : "follows another service",
                      number(report, "epoch"), leader.size > 0 ? (int)leader.size : 4,
                      leader.size > 0 ? leader.bytes : "none");
    }
}

static void say_requests(FILE *out, const char *report) {
    int64_t live = number(report, "live");
    int64_t waiting = number(report, "waiting");
    char oldest[LK_HUMAN_DURATION_SIZE];

    (void)fprintf(out, "requests: %" PRId64 " held, %" PRId64 " waiting", live - waiting, waiting);
    if (number(report, "oldest_wait_ms") > 0) {
        lk_human_duration(number(report, "oldest_wait_ms"), oldest);
        (void)fprintf(out, ", the first of them for %s", oldest);
    }
    (void)fputc('\n', out);
    if (number(report, "oldest_ready_item_ms") > 0) {
        lk_human_duration(number(report, "oldest_ready_item_ms"), oldest);
        (void)fprintf(out, "work: an item has been ready for %s, and no worker has claimed it\n",
                      oldest);
    }
}

static void say_store(FILE *out, const char *report) {
    struct lk_slice durability = field(report, "durability");

    (void)fprintf(out, "durability: %.*s", (int)durability.size, durability.bytes);
    if (number(report, "commit_p50_us") > 0) {
        (void)fprintf(out,
                      "; half of the commits take at most %.1f ms, and 99 of 100 at most %.1f ms",
                      (double)number(report, "commit_p50_us") / 1e3,
                      (double)number(report, "commit_p99_us") / 1e3);
    }
    (void)fputc('\n', out);
    if (has(report, "disk_free_bytes")) {
        (void)fprintf(out,
                      "disk: %" PRId64 " MiB are free; the store has %" PRId64
                      " KiB, its log %" PRId64 " KiB\n",
                      number(report, "disk_free_bytes") >> 20, number(report, "store_bytes") >> 10,
                      number(report, "log_bytes") >> 10);
    }
}

bool lk_diagnosis_say(FILE *out, const char *report) {
    static const char *const before[] = {"named by", "store", "engine", "library", "capabilities"};
    static const char *const behind[] = {"tls", "certificate_ends", "bounds", "events"};

    if (!has(report, "lockkeeper_version") || !has(report, "connected_clients")) {
        return false;
    }
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        say_field(out, report, before[i]);
    }
    say_service(out, report);
    say_requests(out, report);
    (void)fprintf(out,
                  "connections: %" PRId64 " of at most %" PRId64 ", %" PRId64 " of them wait\n",
                  number(report, "connected_clients"), number(report, "connections_max"),
                  number(report, "blocked_clients"));
    say_store(out, report);
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        say_field(out, report, behind[i]);
    }
    return true;
}

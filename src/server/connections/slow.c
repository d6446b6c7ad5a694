/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of kinds of their own, so that many slow calls do not hide a slow commit. */
#include "server/connections/slow.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "server/connections/host.h"
#include "server/connections/listener.h"
#include "server/log/log.h"

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

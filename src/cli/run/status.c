/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from several threads, beside the output of CMD; a line must not be split. */
#include "cli/run/status.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "cli/print/human.h"
#include "client/store.h"

enum { PATIENCE_MS = 1000 };

static const char *line_prefix = "";

void lk_run_status_begin_with(const char *prefix) {
    line_prefix = prefix;
}

static bool await_room(int patience_ms) {
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&room, 1, patience_ms) == 1;
}

bool lk_run_status_has_room(void) {
    return await_room(0);
}

void lk_run_status(const char *word, const char *format, ...) {
    char text[LK_RUN_STATUS_MAX];
    char line[LK_RUN_STATUS_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *visible = lk_human_sentence(text);
    (void)snprintf(line, sizeof line - 1, "%s%s: %s: %s", line_prefix, lk_program(), word,
                   visible != NULL ? visible : "");
    free(visible);
    size_t size = strlen(line);
    line[size++] = '\n';
    /* A failure to write to stderr cannot be reported. */
    ssize_t written = await_room(PATIENCE_MS) ? write(STDERR_FILENO, line, size) : 0;
    (void)written;
}

/* ---- a store that is away -------------------------------------------------------------------- */

/* Lines at growing intervals, so that a long outage does not fill a log. */

enum { FIRST_LINE_MS = 1000 };

/* A store that answers, but not what it was asked for, is among the reasons. */
static void say(const struct lk_run_outage_log *log, int64_t away_ms, const char *why,
                const lk_lease *lease) {
    const char *goes_on = log->has_no_limit
                              ? "the wait goes on without a limit, which -w D would set"
                              : "the wait goes on";
    char away[LK_HUMAN_DURATION_SIZE];
    char left[LK_HUMAN_DURATION_SIZE] = "";
    const char *what = why[0] != '\0' ? "for " : "the store has not answered for ";

    lk_human_duration(away_ms, away);
    if (lease != NULL) {
        lk_human_duration(lk_lease_remaining_ms(lease), left);
    }
    lk_run_status("AWAY", "%s%s%s%s; %s%s%s", what, away, why[0] != '\0' ? ": " : "", why,
                  lease != NULL ? "the lease is promised for " : goes_on, left,
                  lease != NULL ? " more" : "");
}

enum lk_run_outage_news lk_run_outage_log_next(struct lk_run_outage_log *log, int64_t away_ms,
                                               bool knows_why) {
    if (away_ms < FIRST_LINE_MS) {
        bool has_said = log->has_said;

        log->next_ms = 0;
        log->has_said = false;
        log->has_said_why = false;
        return has_said ? LK_RUN_OUTAGE_BACK : LK_RUN_OUTAGE_NOTHING;
    }
    if (away_ms < log->next_ms && (log->has_said_why || !knows_why)) {
        return LK_RUN_OUTAGE_NOTHING;
    }
    log->next_ms = 2 * away_ms;
    log->has_said = true;
    log->has_said_why = knows_why;
    return LK_RUN_OUTAGE_AWAY;
}

void lk_run_outage_log_look(struct lk_run_outage_log *log, lk_store *store, const lk_lease *lease) {
    lk_error error;
    int64_t away_ms = lk_away_ms(store, &error);

    if (away_ms >= FIRST_LINE_MS && !lk_run_status_has_room()) {
        return; /* a line must not block */
    }
    enum lk_run_outage_news news = lk_run_outage_log_next(log, away_ms, error.text[0] != '\0');
    if (news == LK_RUN_OUTAGE_NOTHING
        || (log->may_say != NULL && !log->may_say(log->context, news))) {
        return;
    }
    switch (news) {
    case LK_RUN_OUTAGE_AWAY:
        say(log, away_ms, error.text, lease);
        break;
    case LK_RUN_OUTAGE_BACK:
        lk_run_status("BACK", "the store answers again");
        break;
    case LK_RUN_OUTAGE_NOTHING:
        break;
    }
}

/* ---- a store that drops what it should keep -------------------------------------------------- */

/*
 * An item that was evicted is missing without a trace: the worker finds no item, and the queue
 * counts as drained. So the warning comes before work begins, and not only from `lk doctor`.
 */

void lk_warn_of_eviction(lk_store *store, int64_t wait_ms) {
    static const char scheme[] = "redis";
    static const char policy[] = "(maxmemory-policy "; /* engine/redis/examine.c */
    lk_report *report = NULL;
    char *rest;

    if (strncmp(lk_store_url(store), scheme, sizeof scheme - 1) != 0
        || lk_store_examine_within(store, wait_ms, &report, NULL) != LK_OK) {
        return;
    }
    for (const char *line = strtok_r(report->warnings, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strstr(line, policy) != NULL) {
            lk_run_status("WARNING", "%s", line);
        }
    }
    lk_report_free(report);
}

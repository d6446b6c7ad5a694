/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk watch: events as they happen (R21), a line each, until interrupted.
 *
 * Every line is written before the next event is read. If stdout is a closed pipe or socket, the
 * command ends without an error, within a second even if there is no event.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <time.h>

#include "base/program.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/parse/ask.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "cli/store/url.h"
#include "form/form.h"

enum {
    CHECK_MS = 1000,        /* between two checks of stdout */
    FILE_PAUSE_MS = 100,    /* between two looks for a file that does not exist yet... */
    SERVER_PAUSE_MS = 1000, /* ...and two connections to a server that has no store yet */
    WHEN_SIZE = 40,
};

/* Local time with milliseconds. */
static void write_when(int64_t at_unix_ms, char when[WHEN_SIZE]) {
    time_t at_s = (time_t)(at_unix_ms / 1000);
    struct tm local;
    char text[WHEN_SIZE / 2 + 4] = "";

    if (localtime_r(&at_s, &local) != NULL) {
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
    }
    (void)snprintf(when, WHEN_SIZE, "%s.%03d", text, (int)(at_unix_ms % 1000));
}

/*
 * `before` and what `make` makes of the text; nothing if text is NULL. false: memory is exhausted.
 */
static bool write_made(FILE *out, const char *before, const char *text,
                       char *(*make)(const char *text)) {
    char *visible;

    if (text == NULL) {
        return true;
    }
    visible = make(text);
    if (visible != NULL) {
        (void)fprintf(out, "%s%s", before, visible);
    }
    free(visible);
    return visible != NULL;
}

static bool write_word(FILE *out, const char *before, const char *text) {
    return write_made(out, before, text, lk_human_visible);
}

static bool write_event(FILE *out, const lk_watch_event *event) {
    char when[WHEN_SIZE];
    bool whole = true;

    write_when(event->at_unix_ms, when);
    (void)fprintf(out, "%s  %-13s", when, lk_watch_kind_name(event->kind));
    if (event->kind == LK_WATCH_GAP) {
        (void)fprintf(out, "  what happened before is not known any more\n");
        return true;
    }
    for (size_t i = 0; i < event->part_count && whole; i++) {
        whole = write_word(out, i == 0 ? "  " : " + ", event->parts[i]);
    }
    if (event->refusal != LK_OK) {
        (void)fprintf(out, "  %s", lk_outcome_name(event->refusal));
    }
    if (event->is_deletion) {
        (void)fputs("  deleted", out);
    }
    whole = whole && write_made(out, "  by ", event->owner, lk_human_owner)
            && write_word(out, " of ", event->user);
    if (event->attempt > 0) {
        (void)fprintf(out, "  attempt %" PRIu32, event->attempt);
    }
    if (event->token != 0) {
        (void)fprintf(out, "  token %" PRIu64, event->token);
    } else if (event->ticket != 0) {
        (void)fprintf(out, "  ticket %" PRIu64, event->ticket);
    }
    whole = whole && write_word(out, "  broken by ", event->by)
            && write_word(out, ": ", event->reason) && write_word(out, "  # ", event->note);
    (void)fputc('\n', out);
    return whole;
}

/* Returns 0, or the exit code of a failure. */
static int say_event(const struct lk_cli *cli, const lk_watch_event *event) {
    if (cli->json) {
        struct lk_object object;
        lk_form_write_event(lk_object_begin(&object), event);
        return lk_say_object(cli, LK_OK, &object);
    }
    return write_event(cli->out, event) ? 0
                                        : lk_say_failure(cli, LK_INTERNAL, "memory is exhausted");
}

/* Whether the other end of a pipe or socket is closed, so that output can never be read. */
static bool has_no_reader(FILE *out) {
    struct pollfd look = {.fd = fileno(out), .events = 0};

    return poll(&look, 1, 0) == 1 && (look.revents & (POLLERR | POLLHUP)) != 0;
}

/* Discards unwritten output, so that no error is reported for it. */
static void give_up(FILE *out) {
    __fpurge(out);
    clearerr(out);
}

/* Whether all is written; if not, *ret_goes_quietly: the reader has closed the pipe. */
static bool flush(FILE *out, bool *ret_goes_quietly) {
    errno = 0;
    if (fflush(out) == 0 && ferror(out) == 0) {
        return true;
    }
    *ret_goes_quietly = errno == EPIPE || has_no_reader(out);
    if (*ret_goes_quietly) {
        give_up(out);
    }
    return false;
}

static int follow(const struct lk_cli *cli, lk_watch *watch, lk_cancel *cancel) {
    int exit_code = 0;
    bool goes_quietly = false;

    while (exit_code == 0 && !has_no_reader(cli->out)) {
        const lk_watch_event *event;
        lk_error error;
        lk_outcome outcome = lk_watch_next(watch, CHECK_MS, cancel, &event, &error);

        if (outcome == LK_TIMEOUT) {
            continue;
        }
        if (outcome != LK_OK) {
            return outcome == LK_CANCELLED ? 0 : lk_say_failure(cli, outcome, error.text);
        }
        exit_code = say_event(cli, event);
        if (!flush(cli->out, &goes_quietly)) {
            return goes_quietly ? 0 : exit_code;
        }
    }
    return exit_code;
}

static int watch_store(const struct lk_cli *cli, const struct lk_command_line *line,
                       lk_store *store) {
    lk_watch_options options = {
        .size = sizeof options,
        .prefix = line->words[0],
        .after = (uint64_t)lk_command_line_number(line, LK_OPTION_AFTER, 0),
    };
    struct lk_interrupt *interrupt;
    lk_watch *watch;
    lk_error error;
    int signal_number;
    int exit_code;

    if (lk_cli_check_shared(store, &error) != LK_OK) {
        return lk_say_failure(cli, LK_UNSUPPORTED, error.text);
    }
    interrupt = lk_interrupt_open(NULL, false);
    if (interrupt == NULL) {
        return lk_say_failure(cli, LK_INTERNAL, "the system has no room for one more thread");
    }
    lk_outcome outcome = lk_watch_open(store, &options, &watch, &error);
    if (outcome == LK_OK) {
        exit_code = follow(cli, watch, lk_interrupt_cancel(interrupt));
        lk_watch_close(watch);
    } else {
        exit_code = lk_say_failure(cli, outcome, error.text);
    }
    signal_number = lk_interrupt_close(interrupt);
    return signal_number != 0 ? LK_EXIT_SIGNAL + signal_number : exit_code;
}

/* Waits for a store that does not exist yet; a signal ends lk meanwhile. */
static lk_outcome await_store(const struct lk_cli *cli, const char *url, lk_store **ret_store,
                              lk_error *error) {
    bool is_late = false;
    lk_outcome outcome;

    for (; (outcome = lk_open_if_there(url, NULL, ret_store, error)) == LK_NONE; is_late = true) {
        (void)poll(NULL, 0, lk_store_is_there(url) ? SERVER_PAUSE_MS : FILE_PAUSE_MS);
    }
    if (outcome == LK_OK && is_late && !cli->quiet && !cli->json) {
        (void)fprintf(cli->err, "%s: NOTE: the store exists now; its first events may be missing\n",
                      lk_program());
    }
    return outcome;
}

int lk_cli_watch(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_store *store;
    char *prefix = NULL;
    lk_error error;
    int exit_code;
    lk_outcome outcome;

    if (line->words[0] != NULL && lk_ask_path(line->words[0], &prefix, &error) != LK_OK) {
        return lk_say_failure(cli, error.outcome, error.text);
    }
    free(prefix);
    outcome = await_store(cli, lk_command_line_text(line, LK_OPTION_STORE), &store, &error);
    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    exit_code = watch_store(cli, line, store);
    lk_close(store);
    return exit_code;
}

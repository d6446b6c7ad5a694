/* SPDX-License-Identifier: Apache-2.0 */
/* lk push: one item of the command line, or many that come as lines of JSON (R16). */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/program.h"
#include "cli/cli.h"
#include "cli/commands/result.h"
#include "cli/parse/ask.h"
#include "cli/parse/json_line.h"
#include "cli/parse/value.h"
#include "cli/print/say.h"
#include "form/duration.h"
#include "form/form.h"
#include "form/text.h"
#include "lockkeeper/lockkeeper.h"
#include "model/part.h"

/* ---- an item as a line of JSON --------------------------------------------------------------- */

/*
 * A line of `lk push QUEUE -`: an item as a JSON object. `id` is a text or a whole number, `value`
 * a text (`value_base64`: any bytes), `needs` a list of parts, `delay` and `keep` a duration or a
 * number of seconds, `priority` a whole number, `again` and `replace` are true or false. There are
 * no other names. What a store checks is left to it.
 */

enum { NEEDS_MAX = 15 };

struct item_line {
    lk_push_request request;                /* borrows what follows: the struct must not move */
    char number[LK_JSON_LINE_NUMBER_BYTES]; /* an id that is one */
    const char *needs[NEEDS_MAX];
    char *value; /* decoded; NULL: there was nothing to decode */
    void *object;
};

typedef lk_outcome read_member(struct item_line *line, const json_t *value, lk_error *error);

static lk_outcome wrong(lk_error *error, const char *name, const char *what) {
    return lk_error_set(error, LK_INVALID, "\"%s\" is %s", name, what);
}

static lk_outcome read_id(struct item_line *line, const json_t *value, lk_error *error) {
    line->request.id = lk_json_line_id(value, line->number);
    return line->request.id != NULL ? LK_OK : wrong(error, "id", "a text or a whole number");
}

static lk_outcome read_value(struct item_line *line, const json_t *value, lk_error *error) {
    if (!json_is_string(value)) {
        return wrong(error, "value", "a text");
    }
    line->request.value = json_string_value(value);
    line->request.value_size = json_string_length(value);
    return LK_OK;
}

static lk_outcome read_bytes(struct item_line *line, const json_t *value, lk_error *error) {
    size_t size = json_string_length(value);

    free(line->value);
    line->value = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
    if (line->value == NULL || !lk_form_read_base64(line->value, size, &size)) {
        return wrong(error, "value_base64", "a text in base64");
    }
    line->request.value = line->value;
    line->request.value_size = size;
    return LK_OK;
}

static lk_outcome read_needs(struct item_line *line, const json_t *value, lk_error *error) {
    size_t count = json_array_size(value);

    for (size_t i = 0; i < count && i < NEEDS_MAX; i++) {
        line->needs[i] = json_string_value(json_array_get(value, i));
        if (line->needs[i] == NULL) {
            return wrong(error, "needs", "a list of texts");
        }
    }
    if (!json_is_array(value) || count > NEEDS_MAX) {
        return wrong(error, "needs", "a list of at most 15 parts");
    }
    line->request.needs = line->needs;
    line->request.need_count = count;
    return LK_OK;
}

static lk_outcome read_duration(const char *name, const json_t *value, int64_t *ret_ms,
                                lk_error *error) {
    char seconds[48];

    if (json_is_number(value)) {
        (void)snprintf(seconds, sizeof seconds, "%.3f", json_number_value(value));
    } else if (!json_is_string(value)) {
        return wrong(error, name, "a duration, or a number of seconds");
    }
    return lk_duration_parse(json_is_string(value) ? json_string_value(value) : seconds, ret_ms,
                             error);
}

static lk_outcome read_delay(struct item_line *line, const json_t *value, lk_error *error) {
    return read_duration("delay", value, &line->request.delay_ms, error);
}

static lk_outcome read_at(struct item_line *line, const json_t *value, lk_error *error) {
    int64_t now_unix_ms = lk_clock_wall_us() / 1000;
    int64_t at_unix_ms;
    lk_outcome outcome;

    if (!json_is_string(value)) {
        return wrong(error, "at", "a time, as a text");
    }
    outcome = lk_instant_parse(json_string_value(value), now_unix_ms, &at_unix_ms, error);
    if (outcome == LK_OK) {
        line->request.delay_ms = lk_delay_until_ms(at_unix_ms, now_unix_ms);
    }
    return outcome;
}

static lk_outcome read_priority(struct item_line *line, const json_t *value, lk_error *error) {
    json_int_t priority = json_integer_value(value);

    if (!json_is_integer(value) || priority < INT16_MIN || priority > INT16_MAX) {
        return wrong(error, "priority", "a whole number from -32768 to 32767");
    }
    line->request.priority = (int32_t)priority;
    return LK_OK;
}

static lk_outcome read_flag(const char *name, const json_t *value, bool *ret_flag,
                            lk_error *error) {
    *ret_flag = json_is_true(value);
    return json_is_boolean(value) ? LK_OK : wrong(error, name, "true or false");
}

static lk_outcome read_again(struct item_line *line, const json_t *value, lk_error *error) {
    return read_flag("again", value, &line->request.again, error);
}

static lk_outcome read_replace(struct item_line *line, const json_t *value, lk_error *error) {
    return read_flag("replace", value, &line->request.replaces, error);
}

static lk_outcome read_keep(struct item_line *line, const json_t *value, lk_error *error) {
    return read_duration("keep", value, &line->request.keep_ms, error);
}

static const struct {
    const char *name;
    read_member *read;
} members[] = {{"id", read_id},       {"value", read_value}, {"value_base64", read_bytes},
               {"needs", read_needs}, {"delay", read_delay}, {"priority", read_priority},
               {"at", read_at},       {"again", read_again}, {"replace", read_replace},
               {"keep", read_keep}};

static lk_outcome read_named(struct item_line *line, const char *name, const json_t *value,
                             lk_error *error) {
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strcmp(members[i].name, name) == 0) {
            return members[i].read(line, value, error);
        }
    }
    return lk_error_set(error, LK_INVALID, "\"%.40s\" is not known of an item", name);
}

static lk_outcome read_object(struct item_line *line, json_t *object, lk_error *error) {
    const char *name;
    json_t *value;
    lk_outcome outcome = LK_OK;

    json_object_foreach(object, name, value) {
        if (outcome == LK_OK) {
            outcome = read_named(line, name, value, error);
        }
    }
    return outcome == LK_OK && line->request.id == NULL
               ? lk_error_set(error, LK_INVALID, "it has no \"id\"")
               : outcome;
}

static void item_line_done(struct item_line *line) {
    free(line->value);
    json_decref(line->object);
}

/*
 * `usual` has the queue, and what the line does not say. LK_OK, to be ended with
 * item_line_done(); LK_INVALID, with a sentence that does not name the line.
 */
static lk_outcome item_line_parse(const char *text, size_t size, const lk_push_request *usual,
                                  struct item_line *ret_line, lk_error *error) {
    json_t *object;
    lk_outcome outcome = lk_json_line_parse(text, size, &object, error);

    *ret_line = (struct item_line){.request = *usual, .object = object};
    if (outcome == LK_OK) {
        outcome = read_object(ret_line, object, error);
    }
    if (outcome != LK_OK) {
        item_line_done(ret_line);
    }
    return outcome;
}

/* ---- lk push --------------------------------------------------------------------------------- */

/* A result that is waited for is kept so long unless --keep says otherwise. */
enum { KEEP_WAITED_MS = 600000, KEEP_WAITED_MIN_MS = 2000 };

/* What the options say of every item. */
static lk_push_request usual_of(const struct lk_command_line *line) {
    return (lk_push_request){
        .size = sizeof(lk_push_request),
        .queue = line->words[0],
        .delay_ms = lk_ask_delay_ms(line),
        .needs = (const char *const *)line->listed,
        .need_count = line->listed_count,
        .priority = (int32_t)lk_command_line_number(line, LK_OPTION_PRIORITY, 0),
        .again = lk_command_line_has(line, LK_OPTION_AGAIN),
        .replaces = lk_command_line_has(line, LK_OPTION_REPLACE),
        .keep_ms = lk_command_line_number(
            line, LK_OPTION_KEEP, lk_command_line_has(line, LK_OPTION_WAIT) ? KEEP_WAITED_MS : 0),
    };
}

/* ---- one item -------------------------------------------------------------------------------- */

/* What became of an item that was there. */
static const char *fate_of(const lk_push_result *result) {
    if (!result->changed) {
        return "nothing was added";
    }
    return strcmp(result->was, "claimed") == 0 || strcmp(result->was, "cancelled") == 0
               ? "it will be worked on once more"
               : "it was changed";
}

static int say_pushed(const struct lk_cli *cli, const char *queue, const char *id,
                      const lk_push_result *result) {
    if (cli->json) {
        struct lk_object object;
        lk_form_write_pushed(lk_object_begin(&object), result);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (!result->added && !cli->quiet) {
        (void)fprintf(cli->err, "%s: %s/%s was there already (%s); %s\n", lk_program(), queue, id,
                      result->was, fate_of(result));
    }
    return 0;
}

/* With --wait the answer is what came of the item. */
static int say_added(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store,
                     const lk_push_result *result) {
    return lk_command_line_has(line, LK_OPTION_WAIT)
               ? lk_cli_await_result(cli, store, line->words[0], line->words[1],
                                     lk_command_line_number(line, LK_OPTION_WAIT, 0))
               : say_pushed(cli, line->words[0], line->words[1], result);
}

/* A result that is waited for has to be kept. */
static lk_outcome check_wait(const struct lk_command_line *line, bool is_bulk, lk_error *error) {
    if (lk_command_line_has(line, LK_OPTION_WAIT) && is_bulk) {
        return lk_error_set(error, LK_INVALID, "--wait is for one item; see: %s result",
                            lk_program());
    }
    return lk_command_line_has(line, LK_OPTION_WAIT) && lk_command_line_has(line, LK_OPTION_KEEP)
                   && lk_command_line_number(line, LK_OPTION_KEEP, 0) < KEEP_WAITED_MIN_MS
               ? lk_error_set(error, LK_INVALID,
                              "--wait: the result is kept for less than %d s (--keep)",
                              KEEP_WAITED_MIN_MS / 1000)
               : LK_OK;
}

static int push_one(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct lk_input input = {NULL, 0};
    lk_store *store;
    lk_error error;
    lk_push_result result;
    int exit_code;

    if (line->word_count > 2 && lk_input_text(line->words[2], &input, &error) != LK_OK) {
        return lk_say_failure(cli, error.outcome, error.text);
    }
    if (lk_cli_open(cli, line, &store, &exit_code) == LK_OK) {
        lk_push_request request = usual_of(line);
        request.id = line->words[1];
        request.value = input.bytes;
        request.value_size = input.size;
        lk_outcome outcome = lk_push_item(store, &request, &result, &error);
        exit_code = outcome == LK_OK ? say_added(cli, line, store, &result)
                                     : lk_say_failure(cli, outcome, error.text);
        lk_close(store);
    }
    free(input.bytes);
    return exit_code;
}

/* ---- many items ------------------------------------------------------------------------------ */

enum {
    SERIES_BYTES_MAX = 1 << 20, /* of lines in one transaction */
};
#define PROGRESS_INTERVAL_US INT64_C(200000)

struct bulk {
    const struct lk_cli *cli;
    const struct lk_command_line *line;
    lk_store *store;
    lk_push_request usual;
    struct item_line *lines; /* LK_MANY_MAX: of the next transaction */
    lk_push_request *requests;
    uint64_t *numbers; /* of the lines, by which a message names them */
    size_t count;
    size_t bytes;
    uint64_t number; /* of the line that was read last */
    lk_push_counts counts;
    bool shows_progress;
    int64_t shown_us;
};

static void show_progress(struct bulk *bulk) {
    int64_t now_us = lk_clock_now_us();

    if (bulk->shows_progress && now_us - bulk->shown_us >= PROGRESS_INTERVAL_US) {
        bulk->shown_us = now_us;
        (void)fprintf(bulk->cli->err, "\r\033[K%s: %" PRIu64 " added, %" PRIu64 " there already",
                      bulk->usual.queue, bulk->counts.added, bulk->counts.duplicates);
        (void)fflush(bulk->cli->err);
    }
}

static void end_progress(const struct bulk *bulk) {
    if (bulk->shown_us > 0) {
        (void)fputs("\r\033[K", bulk->cli->err);
        (void)fflush(bulk->cli->err);
    }
}

/* *error becomes the message that names a line which cannot be pushed, and why. */
static lk_outcome refuse(lk_error *error, const lk_error *why, lk_outcome outcome,
                         uint64_t number) {
    return lk_error_set(error, outcome, "line %" PRIu64 ": %.300s; the lines before it are pushed",
                        number, why->text);
}

static lk_outcome push_each(struct bulk *bulk, lk_error *error) {
    lk_outcome outcome = LK_OK;
    lk_error why;

    for (size_t i = 0; i < bulk->count && outcome == LK_OK; i++) {
        lk_push_result result = {.was = NULL};

        outcome = lk_push_item(bulk->store, &bulk->requests[i], &result, &why);
        bulk->counts.added += result.added;
        bulk->counts.duplicates += outcome == LK_OK && !result.added;
        bulk->counts.changed += result.changed;
        if (outcome != LK_OK && outcome != LK_UNAVAILABLE) {
            (void)refuse(error, &why, outcome, bulk->numbers[i]);
        } else {
            (void)lk_error_copy(error, &why);
        }
    }
    return outcome;
}

/*
 * Pushes the lines that have been collected; in one transaction, if the store can and all of them
 * are right. One by one otherwise, which finds the line that is wrong.
 */
static lk_outcome flush(struct bulk *bulk, lk_error *error) {
    lk_push_counts counts = {.added = 0};
    lk_outcome outcome = LK_OK;

    if (bulk->count > 0) {
        outcome = lk_push_many(bulk->store, bulk->requests, bulk->count, &counts, error);
        bulk->counts.added += counts.added;
        bulk->counts.duplicates += counts.duplicates;
        bulk->counts.changed += counts.changed;
    }
    if (outcome == LK_UNSUPPORTED || outcome == LK_INVALID) {
        outcome = push_each(bulk, error);
    }
    for (size_t i = 0; i < bulk->count; i++) {
        item_line_done(&bulk->lines[i]);
    }
    bulk->count = 0;
    bulk->bytes = 0;
    show_progress(bulk);
    return outcome;
}

/* A line that is wrong ends the call; what was before it is pushed. */
static lk_outcome refuse_line(struct bulk *bulk, const lk_error *why, lk_error *error) {
    lk_outcome outcome = flush(bulk, error);

    return outcome == LK_OK ? refuse(error, why, LK_INVALID, bulk->number) : outcome;
}

static lk_outcome add_line(struct bulk *bulk, const char *text, size_t size, lk_error *error) {
    struct item_line *line = &bulk->lines[bulk->count];
    lk_error why;

    bulk->number++;
    if (lk_json_line_is_blank(text, size)) {
        return LK_OK;
    }
    bulk->usual.delay_ms = lk_ask_delay_ms(bulk->line); /* until --at it becomes less */
    if (item_line_parse(text, size, &bulk->usual, line, &why) != LK_OK) {
        return refuse_line(bulk, &why, error);
    }
    bulk->numbers[bulk->count] = bulk->number;
    bulk->requests[bulk->count++] = line->request;
    bulk->bytes += size;
    return bulk->count == LK_MANY_MAX || bulk->bytes >= SERIES_BYTES_MAX ? flush(bulk, error)
                                                                         : LK_OK;
}

static lk_outcome push_lines(struct bulk *bulk, lk_error *error) {
    char *text = NULL;
    size_t capacity = 0;
    ssize_t size;
    lk_outcome outcome = LK_OK;

    errno = 0;
    while (outcome == LK_OK && (size = getline(&text, &capacity, stdin)) >= 0) {
        outcome = add_line(bulk, text, (size_t)size, error);
    }
    if (outcome == LK_OK && ferror(stdin) != 0) {
        outcome = lk_error_set(error, LK_INVALID, "cannot read stdin: %s", strerror(errno));
    }
    free(text);
    return outcome == LK_OK ? flush(bulk, error) : outcome;
}

static int say_counts(const struct bulk *bulk) {
    const struct lk_cli *cli = bulk->cli;

    if (cli->json) {
        struct lk_object object;
        struct lk_form_writer *writer = lk_object_begin(&object);
        lk_form_open_answer(writer, LK_OK);
        lk_form_add_count(writer, "added", bulk->counts.added);
        lk_form_add_count(writer, "duplicates", bulk->counts.duplicates);
        lk_form_add_count(writer, "changed", bulk->counts.changed);
        lk_form_close(writer);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (!cli->quiet) {
        (void)fprintf(cli->out, "added %" PRIu64 "\nduplicates %" PRIu64 "\n", bulk->counts.added,
                      bulk->counts.duplicates);
        if (bulk->counts.changed > 0) {
            (void)fprintf(cli->out, "changed %" PRIu64 "\n", bulk->counts.changed);
        }
    }
    return 0;
}

static int push_many(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct bulk bulk = {.cli = cli,
                        .line = line,
                        .usual = usual_of(line),
                        .lines = calloc(LK_MANY_MAX, sizeof *bulk.lines),
                        .requests = calloc(LK_MANY_MAX, sizeof *bulk.requests),
                        .numbers = calloc(LK_MANY_MAX, sizeof *bulk.numbers),
                        .shows_progress =
                            !cli->quiet && !cli->json && isatty(fileno(cli->err)) == 1};
    lk_error error;
    int exit_code;

    if (bulk.lines == NULL || bulk.requests == NULL || bulk.numbers == NULL) {
        exit_code = lk_say_failure(cli, LK_INTERNAL, "memory is exhausted");
    } else if (lk_cli_open(cli, line, &bulk.store, &exit_code) == LK_OK) {
        lk_outcome outcome = push_lines(&bulk, &error);

        end_progress(&bulk);
        exit_code = outcome == LK_OK ? say_counts(&bulk) : lk_say_failure(cli, outcome, error.text);
        lk_close(bulk.store);
    }
    free(bulk.lines);
    free(bulk.requests);
    free(bulk.numbers);
    return exit_code;
}

/* What the command line says of every item, so that no line of the input is blamed for it. */
static lk_outcome check_usual(const struct lk_command_line *line, lk_error *error) {
    struct lk_path queue;
    struct lk_part part;
    lk_error why;

    for (size_t i = 0; i < line->listed_count; i++) {
        if (lk_need_parse(lk_slice_of(line->listed[i]), &part, &why) != LK_OK) {
            return lk_error_set(error, LK_INVALID, "--needs: \"%.*s\": %s", LK_ERROR_TEXT_MAX / 2,
                                line->listed[i], why.text);
        }
    }
    return lk_path_parse(lk_slice_of(line->words[0]), &queue, error);
}

int lk_cli_push(const struct lk_cli *cli, const struct lk_command_line *line) {
    bool is_bulk = line->word_count == 2 && strcmp(line->words[1], "-") == 0;
    lk_error error;

    if (check_wait(line, is_bulk, &error) != LK_OK) {
        return lk_say_failure(cli, LK_INVALID, error.text);
    }
    if (is_bulk && check_usual(line, &error) != LK_OK) {
        return lk_say_failure(cli, LK_INVALID, error.text);
    }
    return is_bulk ? push_many(cli, line) : push_one(cli, line);
}

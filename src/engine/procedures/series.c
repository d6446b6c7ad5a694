/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several commands of one kind about one queue in one decision (R16): one call of a procedure,
 * which gets them as a JSON array and answers a row for each. Lists in it are texts in the form
 * that the database's procedures parse.
 */
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/procedures/procedures.h"
#include "engine/reply/reply.h"
#include "form/writer.h"
#include "model/command_check.h"

/* Columns of lk_push_many(). */
enum { PUSHED_ADDED, PUSHED_CHANGED };

/* What is sent. */
struct sending {
    struct lk_form_writer writer;
    struct lk_arguments lists; /* of the command that is being written */
};

/* ---- commands -------------------------------------------------------------------------------- */

/* LK_OK; LK_INVALID with a sentence. */
static lk_outcome check(const struct lk_command *command, lk_error *error) {
    struct lk_item_path item;

    switch (command->kind) {
    case LK_COMMAND_PUSH:
        return lk_push_check(&command->push, &item, error);
    case LK_COMMAND_TAKE:
        return lk_take_check(&command->take, error);
    case LK_COMMAND_FINISH:
        return lk_finish_check(&command->finish, &item, error);
    case LK_COMMAND_UNPARK:
        return lk_item_path_make(&command->unpark.queue, command->unpark.id, &item, error);
    case LK_COMMAND_DROP:
        return lk_item_path_make(&command->drop.queue, command->drop.id, &item, error);
    default:
        return lk_error_set(error, LK_UNSUPPORTED, "commands of this kind are decided one by one");
    }
}

static void add_hexadecimal(struct lk_form_writer *writer, const char *name,
                            struct lk_slice bytes) {
    static const char digits[] = "0123456789abcdef";
    struct lk_buffer text = {.bytes = NULL};

    for (size_t i = 0; i < bytes.size; i++) {
        unsigned byte = (unsigned char)bytes.bytes[i];

        lk_buffer_add(&text, &digits[byte >> 4], 1);
        lk_buffer_add(&text, &digits[byte & 15], 1);
    }
    writer->failed = writer->failed || text.failed;
    lk_form_add_slice(writer, name, (struct lk_slice){text.bytes, text.size});
    lk_buffer_done(&text);
}

static void add_push(struct sending *sending, const struct lk_push *push) {
    static const char *const names[] = {"needs", "limits", "counts", "roots"};
    struct lk_form_writer *writer = &sending->writer;
    struct lk_arguments *lists = &sending->lists;

    lk_form_add_slice(writer, "id", push->id);
    if (push->value.size > 0) {
        add_hexadecimal(writer, "value", push->value);
    }
    lk_form_add_number(writer, "delay_ms", push->delay_ms);
    lk_form_add_number(writer, "priority", push->priority);
    lk_form_add_number(writer, "kind", push->kind);
    if (push->keep_ms > 0) {
        lk_form_add_number(writer, "keep_ms", push->keep_ms);
    }
    lk_arguments_clear(lists);
    lk_arguments_add_parts(lists, push->needs, push->need_count);
    lk_arguments_add_roots(lists, push->needs, push->need_count);
    for (int i = 0; i < lists->count; i++) {
        lk_form_add_slice(writer, names[i], lists->values[i]);
    }
}

static void add_result(struct lk_form_writer *writer, const struct lk_finish *done) {
    if (done->result.size > 0) {
        add_hexadecimal(writer, "result", done->result);
    }
    if (done->keep_ms > 0) {
        lk_form_add_number(writer, "keep_ms", done->keep_ms);
    }
}

static void add_command(struct sending *sending, const struct lk_command *command) {
    struct lk_form_writer *writer = &sending->writer;

    lk_form_open_map(writer, NULL);
    switch (command->kind) {
    case LK_COMMAND_PUSH:
        add_push(sending, &command->push);
        break;
    case LK_COMMAND_TAKE:
        lk_form_add_number(writer, "ask_number", (int64_t)command->take.ask_number);
        break;
    case LK_COMMAND_FINISH:
        lk_form_add_slice(writer, "id", command->finish.id);
        lk_form_add_slice(writer, "owner", command->finish.owner);
        lk_form_add_number(writer, "token", (int64_t)command->finish.token);
        add_result(writer, &command->finish);
        break;
    case LK_COMMAND_UNPARK:
        lk_form_add_slice(writer, "id", command->unpark.id);
        break;
    default:
        lk_form_add_slice(writer, "id", command->drop.id);
        lk_form_add_boolean(writer, "only_parked", command->drop.only_parked);
        break;
    }
    lk_form_close(writer);
}

static bool add_commands(const struct lk_procedures *store, const struct lk_series *series,
                         struct lk_buffer *text) {
    struct sending sending = {.writer = lk_form_writer_json(text)};
    bool is_whole;

    lk_arguments_init(&sending.lists, store->database->lists);
    lk_form_open_array(&sending.writer, NULL);
    for (size_t i = 0; i < series->command_count; i++) {
        add_command(&sending, &series->commands[i]);
    }
    lk_form_close(&sending.writer);
    is_whole = !sending.lists.is_broken && !lk_form_writer_failed(&sending.writer);
    lk_arguments_done(&sending.lists);
    lk_buffer_add(text, "", 1);
    return is_whole && !text->failed;
}

static const char *procedure_of(enum lk_command_kind kind) {
    switch (kind) {
    case LK_COMMAND_PUSH:
        return "lk_push_many";
    case LK_COMMAND_TAKE:
        return "lk_take_many";
    case LK_COMMAND_FINISH:
        return "lk_finish_many";
    case LK_COMMAND_UNPARK:
        return "lk_unpark_many";
    default:
        return "lk_drop_many";
    }
}

/* Whether it gives the same answers when it is sent again (R3). */
static enum lk_repeat repeat_of(const struct lk_series *series) {
    for (size_t i = 0; i < series->command_count; i++) {
        const struct lk_command *command = &series->commands[i];

        if (!(command->kind == LK_COMMAND_TAKE && command->take.ask_number != 0)
            && !(command->kind == LK_COMMAND_FINISH && command->finish.token != 0)) {
            return LK_ONCE;
        }
    }
    return LK_REPEATABLE;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void read_answer(const struct lk_rows *rows, int row, uint64_t version,
                        const struct lk_command *command, struct lk_decision *decision) {
    lk_decision_begin(decision, command);
    if (command->kind == LK_COMMAND_PUSH) {
        decision->pushed.added = lk_row_boolean(rows, row, PUSHED_ADDED);
        decision->pushed.changed = lk_row_boolean(rows, row, PUSHED_CHANGED);
        (void)lk_error_clear(&decision->error, LK_OK);
    } else if (command->kind == LK_COMMAND_TAKE) {
        (void)lk_procedures_taken(rows, row, &command->take, version, decision);
    } else {
        (void)lk_procedures_answered(rows, row, decision);
    }
}

/* Only a series of takes may have fewer answers than commands: then the last one is a refusal. */
static lk_outcome read_answers(const struct lk_rows *rows, uint64_t version,
                               struct lk_series *series) {
    struct lk_command command;

    for (int row = 0; lk_series_next(series, &command); row++) {
        struct lk_decision decision;

        if (row == rows->count) {
            return lk_series_fail(series, LK_INTERNAL, "the store has not answered every command");
        }
        read_answer(rows, row, version, &series->commands[series->count], &decision);
        lk_series_add(series, &decision);
    }
    return series->error.outcome;
}

/* ---- all together ---------------------------------------------------------------------------- */

static void add_arguments(struct lk_arguments *arguments, const struct lk_command *first,
                          const struct lk_buffer *commands) {
    const struct lk_path *queue = lk_command_queue(first);

    lk_arguments_add_path(arguments, queue);
    if (first->kind == LK_COMMAND_TAKE) {
        lk_arguments_add_above(arguments, queue);
    }
    lk_arguments_add_root(arguments, queue);
    if (first->kind == LK_COMMAND_TAKE) {
        lk_arguments_add_text(arguments, first->take.owner);
        lk_arguments_add_integer(arguments, first->take.ttl_ms);
        lk_arguments_add_integer(arguments, first->take.max_attempts);
        lk_arguments_add_text(arguments,
                              first->take.note_given ? first->take.note : (struct lk_slice){"", 0});
    }
    lk_arguments_add_bytes(arguments, (struct lk_slice){commands->bytes, commands->size - 1});
}

static lk_outcome decide_many(struct lk_engine *engine, const struct lk_command *commands,
                              size_t count, const struct lk_patience *patience,
                              struct lk_series *series) {
    struct lk_procedures *store = lk_procedures_of(engine);
    uint64_t version = lk_procedures_version(store);
    int64_t begun_us = lk_clock_now_us();
    struct lk_buffer text = {.bytes = NULL};
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome = LK_OK;

    lk_series_begin(series, commands, count);
    for (size_t i = 0; i < count && outcome == LK_OK; i++) {
        outcome = check(&commands[i], &error);
    }
    if (outcome == LK_OK && !add_commands(store, series, &text)) {
        outcome = lk_error_set(&error, LK_INTERNAL, "no memory for a call");
    }
    if (outcome == LK_OK) {
        lk_arguments_init(&arguments, store->database->lists);
        add_arguments(&arguments, &commands[0], &text);
        outcome = lk_procedures_call_series(store, procedure_of(commands[0].kind),
                                            repeat_of(series), &arguments, patience, &rows, &error);
    }
    lk_buffer_done(&text);
    if (outcome != LK_OK) {
        return lk_series_fail(series, outcome, "%s", error.text);
    }
    outcome = read_answers(rows, version, series);
    series->cursor.took_us = lk_clock_now_us() - begun_us;
    lk_rows_free(rows);
    if (outcome == LK_OK && commands[0].kind == LK_COMMAND_FINISH) {
        lk_procedures_sweep_sometimes(store);
    }
    return outcome;
}

const struct lk_batch_ops lk_procedures_batch_ops = {
    .decide_many = decide_many,
    .parked = lk_procedures_parked,
    .queues = lk_procedures_queues,
};

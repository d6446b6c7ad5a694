/* SPDX-License-Identifier: Apache-2.0 */
/* Tables; outcomes as lines and objects; and the sentences that explain a refusal (R20, R13). */
#include "cli/print/say.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "cli/parse/caller.h"
#include "cli/print/broken.h"
#include "cli/print/human.h"
#include "form/form.h"

/* ---- tables ---------------------------------------------------------------------------------- */

/* Aligned columns, two spaces apart; the last one is not padded. */

enum { CELLS_FIRST = 64, NUMBER_SIZE = 24 };

void lk_table_open(struct lk_table *table, const char *const *titles, size_t column_count) {
    *table = (struct lk_table){.column_count = column_count};
    for (size_t i = 0; i < column_count; i++) {
        lk_table_add(table, titles[i]);
    }
}

void lk_table_close(struct lk_table *table) {
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i].text);
        free(table->cells[i].below);
    }
    free(table->cells);
    *table = (struct lk_table){.column_count = 0};
}

static bool make_room(struct lk_table *table) {
    if (table->cell_count < table->capacity) {
        return true;
    }
    size_t capacity = table->capacity > 0 ? table->capacity * 2 : CELLS_FIRST;
    struct lk_table_cell *cells = reallocarray(table->cells, capacity, sizeof cells[0]);
    if (cells == NULL) {
        return false;
    }
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

/* Takes over the text, which may be NULL: memory is exhausted. */
static void add_visible(struct lk_table *table, char *visible, const char *colour) {
    if (visible == NULL || table->failed || !make_room(table)) {
        table->failed = true;
        free(visible);
        return;
    }
    table->cells[table->cell_count++] = (struct lk_table_cell){.text = visible, .colour = colour};
}

void lk_table_add_coloured(struct lk_table *table, const char *text, const char *colour) {
    add_visible(table, lk_human_visible(text), colour);
}

void lk_table_add_owner(struct lk_table *table, const char *owner, const char *user) {
    add_visible(table, lk_human_owner_of(owner, user), NULL);
}

void lk_table_add(struct lk_table *table, const char *text) {
    lk_table_add_coloured(table, text, NULL);
}

void lk_table_add_below(struct lk_table *table, char *lines) {
    if (lines == NULL || table->failed) {
        table->failed = true;
        free(lines);
        return;
    }
    struct lk_table_cell *last = &table->cells[table->cell_count - 1];
    free(last->below);
    last->below = lines;
}

void lk_table_add_number(struct lk_table *table, uint64_t number) {
    char text[NUMBER_SIZE];

    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    lk_table_add(table, text);
}

void lk_table_add_duration(struct lk_table *table, int64_t duration_ms) {
    char text[LK_HUMAN_DURATION_SIZE];

    lk_human_duration(duration_ms, text);
    lk_table_add(table, text);
}

static int column_width(const struct lk_table *table, size_t column) {
    int widest = 0;

    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        int width = lk_width_of(table->cells[i].text);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void write_cell(FILE *out, const struct lk_table_cell *cell, bool colour) {
    bool coloured = colour && cell->colour != NULL && cell->text[0] != '\0';

    (void)fprintf(out, "%s%s%s", coloured ? cell->colour : "", cell->text,
                  coloured ? "\x1b[0m" : "");
}

static void write_row(const struct lk_table *table, FILE *out, size_t first, const int *widths,
                      bool colour) {
    size_t last = table->column_count - 1;

    while (last > 0 && table->cells[first + last].text[0] == '\0') {
        last--; /* no blanks at the end of a line */
    }
    for (size_t column = 0; column < last; column++) {
        const struct lk_table_cell *cell = &table->cells[first + column];
        write_cell(out, cell, colour);
        (void)fprintf(out, "%*s", widths[column] - lk_width_of(cell->text) + 2, "");
    }
    write_cell(out, &table->cells[first + last], colour);
}

bool lk_table_write(const struct lk_table *table, FILE *out, bool colour) {
    int *widths = !table->failed ? calloc(table->column_count, sizeof widths[0]) : NULL;

    if (widths == NULL) {
        return false;
    }
    for (size_t column = 0; column < table->column_count; column++) {
        widths[column] = column_width(table, column);
    }
    for (size_t first = 0; first + table->column_count <= table->cell_count;
         first += table->column_count) {
        const char *below = table->cells[first + table->column_count - 1].below;
        bool bold = colour && first == 0;
        (void)fputs(bold ? "\x1b[1m" : "", out);
        write_row(table, out, first, widths, colour);
        (void)fprintf(out, "%s\n%s", bold ? "\x1b[0m" : "", below != NULL ? below : "");
    }
    free(widths);
    return true;
}

/* ---- outcomes -------------------------------------------------------------------------------- */

int lk_say_exit_code(const struct lk_cli *cli, lk_outcome outcome) {
    if (outcome == LK_BUSY || outcome == LK_TIMEOUT) {
        return cli->conflict_exit_code;
    }
    return lk_outcome_exit_code(outcome);
}

/* What -q keeps quiet of is a result that its exit code says whole. A failure is always printed:
 * cron mails what is printed, and reads no exit codes. */
static bool is_told(const struct lk_cli *cli, lk_outcome outcome) {
    switch (outcome) {
    case LK_BUSY:
    case LK_TIMEOUT:
        return cli->is_conflict_told;
    case LK_WAITING:
    case LK_NONE:
    case LK_CANCELLED:
        return !cli->quiet;
    default:
        return true;
    }
}

/* `lk: OUTCOME: text`, on one line whatever the text contains. */
static void say_line(const struct lk_cli *cli, lk_outcome outcome, const char *text) {
    if (!is_told(cli, outcome)) {
        return;
    }
    (void)fprintf(cli->err, "%s: ", lk_program());
    for (const char *name = lk_outcome_name(outcome); *name != '\0'; name++) {
        (void)fputc(*name >= 'a' && *name <= 'z' ? *name - 'a' + 'A' : *name, cli->err);
    }
    char *sentence = lk_human_sentence(text);
    (void)fprintf(cli->err, ": %s\n", sentence != NULL ? sentence : lk_outcome_text(outcome));
    free(sentence);
}

struct lk_form_writer *lk_object_begin(struct lk_object *object) {
    object->bytes = (struct lk_buffer){.max = 0};
    object->form = lk_form_writer_json(&object->bytes);
    return &object->form;
}

int lk_say_object(const struct lk_cli *cli, lk_outcome outcome, struct lk_object *object) {
    bool is_whole = !lk_form_writer_failed(&object->form);

    if (is_whole) {
        (void)fwrite(object->bytes.bytes, 1, object->bytes.size, cli->out);
        (void)fputc('\n', cli->out);
    } else {
        say_line(cli, LK_INTERNAL, "memory is exhausted");
    }
    lk_buffer_done(&object->bytes);
    return is_whole ? lk_say_exit_code(cli, outcome) : lk_outcome_exit_code(LK_INTERNAL);
}

int lk_say_failure(const struct lk_cli *cli, lk_outcome outcome, const char *text) {
    struct lk_object object;

    if (cli->json) {
        lk_form_write_failure(lk_object_begin(&object), outcome, text);
        return lk_say_object(cli, outcome, &object);
    }
    say_line(cli, outcome, text != NULL && text[0] != '\0' ? text : lk_outcome_text(outcome));
    return lk_say_exit_code(cli, outcome);
}

int lk_say_table(const struct lk_cli *cli, struct lk_table *table) {
    bool is_whole = lk_table_write(table, cli->out, cli->colour);

    lk_table_close(table);
    return is_whole ? 0 : lk_say_failure(cli, LK_INTERNAL, "memory is exhausted");
}

int lk_say_done(const struct lk_cli *cli, lk_outcome outcome, const lk_error *error) {
    struct lk_object object;

    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error->text);
    }
    if (!cli->json) {
        return 0;
    }
    lk_form_write_ok(lk_object_begin(&object));
    return lk_say_object(cli, LK_OK, &object);
}

int lk_say_lost_by_caller(const struct lk_cli *cli, const char *owner, const char *hint,
                          const char *text) {
    char sentence[LK_ERROR_TEXT_MAX];

    if (cli->json) {
        return lk_say_failure(cli, LK_LOST, text);
    }
    (void)snprintf(sentence, sizeof sentence, "%s (by %.*s, the owner made for this %s; %s)",
                   text != NULL && text[0] != '\0' ? text : lk_outcome_text(LK_LOST),
                   lk_human_owner_size(owner), owner,
                   lk_process_has_shell() ? "shell" : "command, which no shell has started", hint);
    return lk_say_failure(cli, LK_LOST, sentence);
}

/* A hint for the next step; `lead` separates it from the text before. */
static void write_advice(FILE *sentence, const lk_result *result, const char *lead,
                         const char *command) {
    if (result->path_count > 0) {
        (void)fprintf(sentence, "%s%s %s %s", lead, lk_program(), command, result->paths[0]);
    }
}

/* The first blocker, and how many more there are. */
static void write_blockers(FILE *sentence, lk_store *store, const lk_result *result) {
    const lk_blocker_info *first = &result->blockers[0];
    char left[LK_HUMAN_DURATION_SIZE];

    lk_human_duration(first->expires_in_ms, left);
    (void)fprintf(sentence, "%s is %s %.*s", first->path, first->held ? "held by" : "waited for by",
                  lk_human_owner_size(first->owner), first->owner);
    if (first->user != NULL) {
        (void)fprintf(sentence, " of %s", first->user);
    }
    if (first->note != NULL && first->note[0] != '\0') {
        (void)fprintf(sentence, " (%s)", first->note);
    }
    (void)fprintf(sentence, ", %s left%s", left,
                  store != NULL && lk_broken_is_revoked(store, first) ? " (revoked)" : "");
    if (result->position > 1) {
        (void)fprintf(sentence, ", and %s%zu more in the way",
                      result->position > LK_POSITION_EXACT ? "at least " : "",
                      result->position - 1);
        write_advice(sentence, result, "; see: ", "show");
    }
}

static void write_cycle(FILE *sentence, const lk_result *result) {
    for (size_t i = 0; i < result->cycle_count; i++) {
        const char *waiter = result->cycle[i];
        const char *blocker = result->cycle[(i + 1) % result->cycle_count];
        (void)fprintf(sentence, "%s%.*s waits for %.*s", i > 0 ? ", " : "",
                      lk_human_owner_size(waiter), waiter, lk_human_owner_size(blocker), blocker);
    }
    (void)fputs("; release what is held, or ask for all of it in one request", sentence);
}

/* The outcome's own text where blockers are named too; a plain BUSY needs none. */
static const char *reason_text(const lk_result *result) {
    if (result->error != NULL && result->error[0] != '\0') {
        return result->error;
    }
    return result->outcome == LK_BUSY ? "" : lk_outcome_text(result->outcome);
}

/* What is to be known of a lease that is held by another owner, or was broken. */
static void write_loss(FILE *sentence, lk_store *store, const lk_result *result) {
    char *broken = store != NULL ? lk_broken_by(store, result) : NULL;

    if (broken != NULL) {
        (void)fprintf(sentence, "; on record: %s", broken);
    }
    free(broken);
    write_advice(sentence, result, "; see: ", "show");
    write_advice(sentence, result, ", ", "audit");
}

/* An explanation, to be freed; NULL when there is none or memory is exhausted. */
static char *explain(lk_store *store, const lk_result *result) {
    char *text = NULL;
    size_t size = 0;
    FILE *sentence = open_memstream(&text, &size);

    if (sentence == NULL) {
        return NULL;
    }
    if (result->outcome == LK_DEADLOCK && result->cycle_count > 0) {
        write_cycle(sentence, result);
    } else if (result->blocker_count > 0) {
        const char *reason = reason_text(result);
        (void)fprintf(sentence, "%s%s", reason, reason[0] != '\0' ? ": " : "");
        write_blockers(sentence, store, result);
    } else if (result->error != NULL) {
        (void)fputs(result->error, sentence);
        if (result->outcome == LK_LOST) {
            write_loss(sentence, store, result);
        }
    }
    if (fclose(sentence) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

void lk_say_requeued(const struct lk_cli *cli, const lk_result *result) {
    if (result->requeued && !cli->json && !cli->quiet) {
        (void)fprintf(cli->err,
                      "%s: the store lost the request while it waited, so it was asked for again, "
                      "at the end of the queue\n",
                      lk_program());
    }
}

int lk_say_result(const struct lk_cli *cli, lk_store *store, const lk_result *result) {
    struct lk_object object;

    if (cli->json) {
        lk_form_write_result(lk_object_begin(&object), result);
        return lk_say_object(cli, result->outcome, &object);
    }
    if (result->outcome != LK_OK && result->outcome != LK_GRANTED) {
        char *text = explain(cli->quiet ? NULL : store, result);
        int exit_code = lk_say_failure(cli, result->outcome, text);
        free(text);
        return exit_code;
    }
    return lk_say_exit_code(cli, result->outcome);
}

/* ---- requests of a listing ------------------------------------------------------------------- */

void lk_entry_mode_text(const lk_entry *entry, char ret_text[LK_ENTRY_MODE_SIZE]) {
    if (entry->limit != 0) {
        (void)snprintf(ret_text, LK_ENTRY_MODE_SIZE, "shared %" PRIu32 "/%" PRIu32, entry->units,
                       entry->limit);
    } else {
        (void)snprintf(ret_text, LK_ENTRY_MODE_SIZE, "%s", entry->shared ? "shared" : "exclusive");
    }
}

const char *lk_entry_state_text(const lk_entry *entry) {
    if (!entry->held) {
        return "waiting";
    }
    return entry->revoked ? "revoked" : "held";
}

const char *lk_entry_colour(const lk_entry *entry) {
    if (!entry->held) {
        return "\x1b[33m";
    }
    return entry->revoked ? "\x1b[31m" : "\x1b[32m";
}

int lk_entries_say(const struct lk_cli *cli, const lk_listing *listing, bool with_blockers) {
    for (size_t i = 0; i < listing->count; i++) {
        struct lk_object object;
        lk_form_write_entry(lk_object_begin(&object), &listing->entries[i], with_blockers);
        int exit_code = lk_say_object(cli, LK_OK, &object);
        if (exit_code != 0) {
            return exit_code;
        }
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that are more than one answer: the events of a step, the model's and those that a store has
 * kept; and a series of commands, which the store decides together, the model one by one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "compare.h"

/* ---- events ---------------------------------------------------------------------------------- */

/* ---- the model's ----------------------------------------------------------------------------- */

struct expectation {
    const struct history *history;
    const struct lk_event_query *query;
    struct lk_event_page *expected;
};

/* As the store will number them. */
static bool add_expected(void *context, const struct lk_event *step_event) {
    struct expectation *expectation = context;
    lk_watch_event command;

    return lk_watch_event_make(step_event, expectation->expected->last + 1,
                               expectation->history->times.wall_us / 1000, &command)
           && lk_event_page_add(expectation->expected, expectation->query, &command);
}

static struct lk_event_page *expect(struct history *history, const struct lk_effects *effects,
                                    const struct lk_event_query *query) {
    struct expectation expectation = {history, query, lk_event_page_new(query)};

    if (expectation.expected == NULL
        || !lk_events_of_step(history->model, effects, &history->command, add_expected,
                              &expectation)) {
        test_die("no memory for events");
    }
    return expectation.expected;
}

/* ---- their order ----------------------------------------------------------------------------- */

typedef int compare_function(const void *a, const void *b);

static int compare_tickets(const void *a, const void *b) {
    const lk_watch_event *left = a;
    const lk_watch_event *right = b;

    return (left->ticket > right->ticket) - (left->ticket < right->ticket);
}

static int compare_texts(const char *a, const char *b) {
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

/* By all that a store without the model's draws has like the model. */
static int compare_contents(const void *a, const void *b) {
    const lk_watch_event *left = a;
    const lk_watch_event *right = b;
    size_t count = left->part_count < right->part_count ? left->part_count : right->part_count;
    int order = (int)left->kind - (int)right->kind;

    for (size_t i = 0; order == 0 && i < count; i++) {
        order = compare_texts(left->parts[i], right->parts[i]);
    }
    if (order == 0) {
        order = (left->part_count > right->part_count) - (left->part_count < right->part_count);
    }
    if (order == 0) {
        order = compare_texts(left->owner, right->owner);
    }
    if (order == 0) {
        order = compare_texts(left->note, right->note);
    }
    if (order == 0) {
        order = compare_texts(left->queue, right->queue);
    }
    return order != 0 ? order : (left->attempt > right->attempt) - (left->attempt < right->attempt);
}

/* The numbers stay where they are. */
static void put_in_order(lk_watch_event *events, size_t count, compare_function *compare) {
    uint64_t sequence = count > 0 ? events[0].sequence : 0;

    for (size_t i = 0; i < count; i++) {
        if (events[i].sequence != sequence + i) {
            return; /* not without gaps: a difference */
        }
    }
    if (count > 0) {
        qsort(events, count, sizeof *events, compare);
    }
    for (size_t i = 0; i < count; i++) {
        events[i].sequence = sequence + i;
    }
}

/* What one break ends, it ends together: those events have no order among themselves. */
static void order_broken(struct lk_event_page *page) {
    size_t first = 0;

    while (first < page->count) {
        lk_watch_event *events = &page->events[first];
        size_t count = 0;

        while (first + count < page->count && events[count].kind == LK_WATCH_BROKEN) {
            count++;
        }
        put_in_order(events, count, compare_tickets);
        first += count + 1;
    }
}

static void bring_into(struct lk_event_page *page, bool has_order) {
    if (has_order) {
        order_broken(page);
    } else {
        put_in_order(page->events, page->count, compare_contents);
    }
}

/* ---- beside each other ----------------------------------------------------------------------- */

static void show(const char *side, const struct lk_event_page *page) {
    for (size_t i = 0; i < page->count; i++) {
        const lk_watch_event *command = &page->events[i];
        (void)printf("# %s: %" PRIu64 " %s", side, command->sequence,
                     lk_watch_kind_name(command->kind));
        for (size_t part = 0; part < command->part_count; part++) {
            (void)printf(" %s", command->parts[part]);
        }
        (void)printf(" of %s (%s), ticket %" PRIu64 ", token %" PRIu64,
                     command->owner != NULL ? command->owner : "no owner",
                     command->note != NULL ? command->note : "", command->ticket, command->token);
        (void)printf(", broken by %s (%s)\n", command->by != NULL ? command->by : "no user",
                     command->reason != NULL ? command->reason : "");
    }
}

const char *events_differ(struct history *history, struct lk_engine *engine,
                          const struct lk_effects *effects) {
    bool has_order = !history->is_lazy || history->variant->root != NULL;
    struct lk_patience patience = test_patience(20000000);
    const struct lk_event_query query = {.after = history->last_event, .max = 1000};
    struct lk_event_page *expected = expect(history, effects, &query);
    struct lk_event_page *kept = NULL;
    lk_error error;
    const char *difference;

    if (engine->ops->events->read(engine, &query, &patience, &kept, &error) != LK_OK) {
        lk_event_page_free(expected);
        return "whether events are kept";
    }
    bring_into(kept, has_order);
    bring_into(expected, has_order);
    difference = compare_events(history->is_lazy, kept, expected);
    if (difference != NULL && !history->is_quiet) {
        show("store", kept);
        show("model", expected);
    }
    history->last_event = kept->last;
    lk_event_page_free(kept);
    lk_event_page_free(expected);
    return difference;
}

const char *events_begin(struct history *history) {
    const struct lk_event_query query = {.after = LK_EVENTS_FROM_NOW, .max = 1};
    struct lk_patience patience = test_patience(20000000);
    struct lk_engine *engine = history->engines[0];
    struct lk_event_page *page = NULL;
    lk_error error;

    if (engine->ops->events->read(engine, &query, &patience, &page, &error) != LK_OK) {
        return "whether events are kept";
    }
    history->last_event = page->last;
    lk_event_page_free(page);
    return NULL;
}

/* ---- series of commands ---------------------------------------------------------------------- */

enum { PATIENCE_US = 20000000 };

/*
 * As the client library makes the takes of one ask, but each ends at a time of its own, where the
 * store can: those of one time end in no order (R11).
 */
static void complete(const struct store_ops *ops, struct lk_take *take, size_t index) {
    take->ttl_ms = take->ttl_ms != 0 ? take->ttl_ms : LK_TTL_DEFAULT_MS;
    take->ttl_ms += ops->takes_have_one_ttl ? 0 : (int64_t)index;
    take->ask_number += take->ask_number != 0 ? index : 0; /* lk_take_number() */
}

/* The commands of the move, one for each of its ids. */
static size_t build(struct history *history, const struct move *move,
                    struct lk_command commands[HISTORY_SERIES_MAX],
                    struct lk_command asked[HISTORY_SERIES_MAX],
                    struct move moves[HISTORY_SERIES_MAX]) {
    const char *id = move->series;
    size_t count = 0;

    while (*id != '\0' && count < HISTORY_SERIES_MAX) {
        size_t size = strcspn(id, " ");

        moves[count] = *move;
        (void)snprintf(moves[count].id, sizeof moves[count].id, "%.*s", (int)size, id);
        history_build_command(history, &moves[count]);
        commands[count] = history->command;
        asked[count] = history->asked;
        if (move->kind == LK_COMMAND_TAKE) {
            complete(history->ops, &commands[count].take, count);
            complete(history->ops, &asked[count].take, count);
        }
        count++;
        id += size + strspn(id + size, " ");
    }
    return count;
}

/* R4: it gives the next item no token of its own. */
static bool does_not_share(const struct lk_series *series, size_t i) {
    return series->answers[i].outcome == LK_BUSY && strncmp(series->error.text, "R4:", 3) == 0;
}

static bool is_refusal_to_share(const struct lk_effects *effects) {
    return effects->answer.outcome == LK_BUSY && strncmp(effects->answer.text, "R4:", 3) == 0;
}

/* What the claims of a series share. */
struct shared {
    uint64_t model; /* the token of the first claim; 0: none yet */
    uint64_t store;
};

static uint64_t token_of(const struct history *history, lk_ref request) {
    struct lk_record *record = calloc(1, sizeof *record);
    uint64_t token;

    if (record == NULL) {
        test_die("no memory for a record");
    }
    lk_model_record(history->model, request, record);
    token = record->token;
    free(record);
    return token;
}

/* Whether two paths, or parts, have one root. */
static bool have_one_root(const char *a, const char *b) {
    size_t size = strcspn(a, "/?");

    return size == strcspn(b, "/?") && strncmp(a, b, size) == 0;
}

/* Whether the store has drawn a greater number under the root of this part, as far as is known. */
static bool has_drawn_more(const struct history *history, const char *part, uint64_t token) {
    size_t known = history->token_count < HISTORY_TOKENS ? history->token_count : HISTORY_TOKENS;

    for (size_t i = 0; i < known; i++) {
        const struct token_pair *pair = &history->tokens[i];
        if (pair->is_drawn && pair->store > token && have_one_root(pair->path, part)) {
            return true;
        }
    }
    return false;
}

/*
 * The store shares the token where the model does not: it remembers for longer what a root has
 * drawn, or has drawn less in the meantime. It may, unless one of the roots has drawn more (R4).
 * The model cannot follow: the history is over.
 */
static const char *end_where_shared(struct history *history, const lk_claim_info *claim) {
    lk_item_list *items = NULL;
    bool has_drawn = has_drawn_more(history, claim->queue, claim->token);

    (void)lk_items_from_model(history->model, &history->times,
                              &(struct lk_item_query){.queue = &history->queue}, &items);
    for (size_t i = 0; i < items->count; i++) {
        const lk_item_info *item = &items->items[i];
        for (size_t k = 0; strcmp(item->id, claim->id) == 0 && k < item->need_count; k++) {
            has_drawn = has_drawn || has_drawn_more(history, item->needs[k], claim->token);
        }
    }
    lk_item_list_free(items);
    history->is_over = true;
    return has_drawn ? "a token that is shared after a greater one" : NULL;
}

/* Whether the store may refuse to share: an eager one has drawn a greater number somewhere. */
static bool may_refuse(const struct history *history, const struct shared *shared) {
    return shared->model != 0
           && (history->is_lazy || lk_model_greatest_draw(history->model) > shared->model);
}

/* The store's answer to this command, beside the model's step. */
static const char *step_differs(struct history *history, struct lk_engine *engine,
                                const struct lk_series *series, size_t i, struct shared *shared) {
    const struct lk_series_answer *given = &series->answers[i];
    struct answer answer = {.claim = given->claim, .pushed = given->pushed, .is_of_series = true};
    const struct lk_effects *effects;
    const char *difference;
    bool is_refusal = given->outcome != LK_OK && given->outcome != LK_GRANTED;

    if (history->command.kind == LK_COMMAND_TAKE) {
        history->command.take.share_token = shared->model;
    }
    effects = lk_model_step(history->model, &history->command);
    if (given->claim != NULL && shared->model != 0 && is_refusal_to_share(effects)) {
        return given->claim->token == shared->store ? end_where_shared(history, given->claim)
                                                    : "whether the claims share a token";
    }
    answer.error.outcome = given->outcome;
    if (is_refusal) { /* only the last sentence is kept */
        (void)snprintf(answer.error.text, sizeof answer.error.text, "%s",
                       i + 1 == series->count ? series->error.text : effects->answer.text);
    }
    if (effects->answer.outcome == LK_GRANTED && given->claim != NULL) {
        if (shared->model == 0) {
            *shared = (struct shared){.model = token_of(history, effects->answer.request),
                                      .store = given->claim->token};
        } else if (effects->answer.created && given->claim->token != shared->store) {
            return "whether the claims share a token";
        }
    }
    difference = answer_differs(history, effects, &answer);
    return difference == NULL && history->variant->keeps_events
               ? events_differ(history, engine, effects)
               : difference;
}

static const char *beside_model(struct history *history, struct lk_engine *engine,
                                const struct lk_command *commands, const struct lk_series *series) {
    const char *difference = NULL;
    struct shared shared = {.model = 0};

    for (size_t i = 0; i < series->count && difference == NULL && !history->is_over; i++) {
        if (does_not_share(series, i) && may_refuse(history, &shared)) {
            break;
        }
        history->command = commands[i];
        difference = step_differs(history, engine, series, i, &shared);
    }
    return difference != NULL ? difference : lk_model_check(history->model);
}

const char *series_differ(struct history *history, struct lk_engine *engine) {
    struct lk_patience patience = test_patience(PATIENCE_US);
    struct lk_command commands[HISTORY_SERIES_MAX];
    struct lk_command asked[HISTORY_SERIES_MAX];
    struct move moves[HISTORY_SERIES_MAX]; /* what the commands borrow */
    struct lk_series_answer answers[HISTORY_SERIES_MAX];
    struct lk_series series = {.answers = answers};
    size_t count = build(history, &history->moves[history->step], commands, asked, moves);
    const char *difference;

    if (engine->ops->batches->decide_many(engine, asked, count, &patience, &series) != LK_OK) {
        (void)printf("# store: %s (%s)\n", lk_outcome_name(series.error.outcome),
                     series.error.text);
        return "whether a series is decided";
    }
    difference = beside_model(history, engine, commands, &series);
    if (difference == NULL && series.count < count
        && (series.count == 0 || answers[series.count - 1].outcome == LK_GRANTED)) {
        difference = "the number of answers";
    }
    lk_series_done(&series);
    return difference;
}

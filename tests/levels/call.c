/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: drawn, as commands, and their answers as words. */
#include <stdio.h>
#include <stdlib.h>

#include "levels.h"

enum { OWNERS = 4, ITEMS = 4, TTL_MS = 3600000, LINES_MAX = 400 };

/* ---- drawing --------------------------------------------------------------------------------- */

static unsigned draw(struct lk_random *random, unsigned count) {
    return (unsigned)lk_random_between(random, 0, (int64_t)count - 1);
}

static enum level_verb draw_verb(struct lk_random *random) {
    static const unsigned weights[LEVEL_VERBS] = {
        [LEVEL_TRY] = 26, [LEVEL_QUEUE] = 9, [LEVEL_RENEW] = 4, [LEVEL_RELEASE] = 18,
        [LEVEL_PUT] = 5,  [LEVEL_BREAK] = 3, [LEVEL_PUSH] = 12, [LEVEL_CLAIM] = 12,
        [LEVEL_DONE] = 6, [LEVEL_RETRY] = 3, [LEVEL_DROP] = 2};
    unsigned drawn = draw(random, 100);
    unsigned verb = 0;

    while (drawn >= weights[verb]) {
        drawn -= weights[verb++];
    }
    return (enum level_verb)verb;
}

struct level_call level_draw_call(struct lk_random *random, unsigned root_min) {
    static const char *const places[] = {"", "/a", "/a", "/a/x", "/b"};
    struct level_call call = {.verb = draw_verb(random)};

    call.root = root_min + draw(random, LEVEL_ROOTS - root_min);
    (void)snprintf(call.path, sizeof call.path, "r%u%s", call.root,
                   call.verb >= LEVEL_PUSH ? "/q" : places[draw(random, 5)]);
    if (call.verb >= LEVEL_PUSH && call.verb != LEVEL_CLAIM) {
        (void)snprintf(call.id, sizeof call.id, "%u", 1 + draw(random, ITEMS));
    }
    if (call.verb <= LEVEL_RELEASE || call.verb >= LEVEL_CLAIM) {
        /* Each owner stays below one root: a cycle over two is seen late (R13). */
        (void)snprintf(call.owner, sizeof call.owner, "o%ur%u", draw(random, OWNERS), call.root);
    }
    call.limit = draw(random, 4) == 0 ? 2 : 0;
    call.with_value = draw(random, 3) == 0;
    if (call.verb == LEVEL_PUT || (call.verb == LEVEL_RELEASE && call.limit > 0)) {
        (void)snprintf(call.value, sizeof call.value, "v%u", draw(random, 1000));
    }
    return call;
}

void level_print_call(const struct level_call *call, char *text, size_t size) {
    static const char *const names[LEVEL_VERBS] = {"try",  "queue", "renew", "release",
                                                   "put",  "break", "push",  "claim",
                                                   "done", "retry", "drop"};
    char limit[32] = "";

    if (call->verb <= LEVEL_QUEUE && call->limit > 0) {
        (void)snprintf(limit, sizeof limit, "?limit=%u", call->limit);
    }
    (void)snprintf(text, size, "%s %s%s%s%s %s %s -> %s", names[call->verb], call->path, limit,
                   call->id[0] != '\0' ? "/" : "", call->id, call->owner, call->value,
                   call->answer);
}

/* ---- commands -------------------------------------------------------------------------------- */

struct built {
    struct lk_command command;
    struct lk_part part;
    struct lk_path path;
    struct lk_release_put put;
};

static void build_lock(const struct level_call *call, struct built *built) {
    const struct lk_target target = {
        .owner = lk_slice_of(call->owner), .parts = &built->part, .part_count = 1};

    built->part = (struct lk_part){.path = built->path,
                                   .mode = call->limit > 0 ? LK_SHARED : LK_EXCLUSIVE,
                                   .limit = call->limit,
                                   .units = call->limit > 0 ? 1 : 0};
    switch (call->verb) {
    case LEVEL_RENEW:
        built->command.kind = LK_COMMAND_RENEW;
        built->command.renew = (struct lk_renew){.target = target, .ttl_ms = TTL_MS};
        break;
    case LEVEL_RELEASE:
        built->put = (struct lk_release_put){.part = 0, .bytes = lk_slice_of(call->value)};
        built->command.kind = LK_COMMAND_RELEASE;
        built->command.release = (struct lk_release){
            .target = target, .puts = &built->put, .put_count = call->value[0] != '\0'};
        break;
    case LEVEL_PUT:
        built->command.kind = LK_COMMAND_PUT;
        built->command.put =
            (struct lk_put){.path = built->path, .bytes = lk_slice_of(call->value)};
        break;
    case LEVEL_BREAK:
        built->command.kind = LK_COMMAND_BREAK;
        built->command.broken = (struct lk_break){.path = built->path,
                                                  .at_once = true,
                                                  .by = lk_slice_of("a test"),
                                                  .reason = lk_slice_of("a test")};
        break;
    default:
        built->command.kind = LK_COMMAND_ASK;
        built->command.ask = (struct lk_ask){.owner = target.owner,
                                             .parts = &built->part,
                                             .part_count = 1,
                                             .style = call->verb == LEVEL_TRY ? LK_TRY : LK_QUEUE,
                                             .ttl_ms = TTL_MS,
                                             .wants_value = call->with_value};
        break;
    }
}

static void build_work(const struct level_call *call, struct built *built) {
    const struct lk_slice id = lk_slice_of(call->id);
    const struct lk_slice owner = lk_slice_of(call->owner);

    switch (call->verb) {
    case LEVEL_PUSH:
        built->command.kind = LK_COMMAND_PUSH;
        built->command.push = (struct lk_push){.queue = built->path, .id = id};
        break;
    case LEVEL_CLAIM:
        built->command.kind = LK_COMMAND_TAKE;
        built->command.take =
            (struct lk_take){.queue = built->path, .owner = owner, .ttl_ms = TTL_MS};
        break;
    case LEVEL_DROP:
        built->command.kind = LK_COMMAND_DROP;
        built->command.drop = (struct lk_drop){.queue = built->path, .id = id};
        break;
    default:
        built->command.kind = LK_COMMAND_FINISH;
        built->command.finish =
            (struct lk_finish){.queue = built->path,
                               .id = id,
                               .owner = owner,
                               .kind = call->verb == LEVEL_DONE ? LK_FINISH_DONE : LK_FINISH_RETRY};
        break;
    }
}

static void build(const struct level_call *call, struct built *built) {
    memset(built, 0, sizeof *built);
    (void)lk_path_parse(lk_slice_of(call->path), &built->path, NULL);
    if (call->verb >= LEVEL_PUSH) {
        build_work(call, built);
    } else {
        build_lock(call, built);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static void word_value(const struct level_call *call, struct lk_slice bytes, bool is_there,
                       char answer[LEVEL_TEXT_MAX]) {
    if (call->verb <= LEVEL_QUEUE && call->with_value && strcmp(answer, "granted") == 0) {
        (void)snprintf(answer, LEVEL_TEXT_MAX, "granted %.*s", is_there ? (int)bytes.size : 4,
                       is_there ? bytes.bytes : "none");
    }
}

/* Of a model or an engine, but for the value and the item. */
static void word_answer(const struct level_call *call, lk_outcome outcome, bool is_added,
                        size_t broken, char answer[LEVEL_TEXT_MAX]) {
    if (call->verb == LEVEL_PUSH && outcome == LK_OK) {
        (void)snprintf(answer, LEVEL_TEXT_MAX, "%s", is_added ? "added" : "known");
    } else if (call->verb == LEVEL_BREAK && outcome == LK_OK) {
        (void)snprintf(answer, LEVEL_TEXT_MAX, "broken %zu", broken);
    } else {
        (void)snprintf(answer, LEVEL_TEXT_MAX, "%s", lk_outcome_name(outcome));
    }
}

void level_model_answers(struct lk_model *model, const struct level_call *call,
                         char answer[LEVEL_TEXT_MAX]) {
    static int64_t now_us = INT64_C(1000000000000);
    static struct lk_item_record item;
    struct lk_value_record value;
    const struct lk_answer *answered;
    struct built built;

    build(call, &built);
    now_us++;
    built.command.times = (struct lk_times){.now_us = now_us, .wall_us = now_us};
    answered = &lk_model_step(model, &built.command)->answer;
    word_answer(call, answered->outcome, answered->created, answered->broken, answer);
    if (call->verb == LEVEL_CLAIM && answered->outcome == LK_GRANTED) {
        lk_model_item_record(model, answered->item, &item);
        (void)snprintf(answer, LEVEL_TEXT_MAX, "granted %.*s:%u", (int)item.id.size, item.id.bytes,
                       item.attempts);
    }
    if (answered->value_count > 0 && answered->values[0] != 0) {
        lk_model_value_record(model, answered->values[0], &value);
        word_value(call, value.bytes, true, answer);
    } else {
        word_value(call, (struct lk_slice){"", 0}, false, answer);
    }
}

void level_engine_answers(struct lk_engine *engine, const struct level_call *call,
                          char answer[LEVEL_TEXT_MAX]) {
    struct lk_patience patience = test_patience(INT64_C(300000000));
    struct lk_decision decision;
    struct built built;
    lk_outcome outcome;

    build(call, &built);
    outcome = engine->ops->decide(engine, &built.command, &patience, &decision);
    word_answer(call, outcome, decision.pushed.added, decision.broken, answer);
    if (decision.claim != NULL) {
        (void)snprintf(answer, LEVEL_TEXT_MAX, "granted %s:%u", decision.claim->id,
                       decision.claim->attempt);
    }
    if (decision.result.values != NULL && decision.result.values[0].value != NULL) {
        const lk_part_value *value = &decision.result.values[0];
        word_value(call, (struct lk_slice){value->value, value->value_size}, true, answer);
    } else {
        word_value(call, (struct lk_slice){"", 0}, false, answer);
    }
    lk_decision_done(&decision);
}

/* ---- listings -------------------------------------------------------------------------------- */

struct lines {
    const struct lk_model *model;
    char texts[LINES_MAX][LEVEL_TEXT_MAX];
    size_t count;
};

static bool add_request(void *context, lk_ref request) {
    static struct lk_record record;
    struct lines *lines = context;

    lk_model_record(lines->model, request, &record);
    (void)snprintf(lines->texts[lines->count++], LEVEL_TEXT_MAX, "%.*s %.*s %s",
                   (int)record.parts[0].path.size, record.parts[0].path.bytes,
                   (int)record.owner.size, record.owner.bytes,
                   record.state == LK_STATE_HELD ? "held" : "waiting");
    return lines->count < LINES_MAX;
}

static bool add_item(void *context, lk_item_ref item) {
    static const char *const states[] = {"ready", "delayed", "claimed", "parked", "gone"};
    static struct lk_item_record record;
    struct lines *lines = context;

    lk_model_item_record(lines->model, item, &record);
    (void)snprintf(lines->texts[lines->count++], LEVEL_TEXT_MAX, "item %.*s/%.*s %s %u",
                   (int)record.queue.size, record.queue.bytes, (int)record.id.size, record.id.bytes,
                   states[record.state], record.attempts);
    return lines->count < LINES_MAX;
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(a, b);
}

void level_model_lists(const struct lk_model *model, char *listing, size_t size) {
    static struct lines lines;
    size_t used = 0;

    lines.model = model;
    lines.count = 0;
    lk_model_each(model, add_request, &lines);
    for (unsigned root = 0; root < LEVEL_ROOTS; root++) {
        struct lk_path queue;
        char text[16];
        (void)snprintf(text, sizeof text, "r%u/q", root);
        (void)lk_path_parse(lk_slice_of(text), &queue, NULL);
        lk_model_each_item(model, &queue, add_item, &lines);
    }
    qsort(lines.texts, lines.count, sizeof lines.texts[0], compare_lines);
    listing[0] = '\0';
    for (size_t i = 0; i < lines.count && used < size; i++) {
        used += (size_t)snprintf(listing + used, size - used, "%s\n", lines.texts[i]);
    }
}

/* ---- the plain table ------------------------------------------------------------------------- */

/* `sections` has a row for what begins or ends, in order; the owner '*' is all of them. */
const char *level_witness(const struct level_call *call, char sql[LEVEL_SQL_MAX]) {
    bool is_granted = strncmp(call->answer, "granted", 7) == 0;
    bool is_over =
        strcmp(call->answer, "ok") == 0
        && (call->verb == LEVEL_RELEASE || call->verb == LEVEL_DONE || call->verb == LEVEL_RETRY);
    char id[16] = "";

    if (call->verb == LEVEL_BREAK) {
        is_over = true;
    } else if (call->verb == LEVEL_CLAIM && is_granted) {
        (void)snprintf(id, sizeof id, "/%.*s", (int)strcspn(call->answer + 8, ":"),
                       call->answer + 8);
    } else if (call->verb > LEVEL_CLAIM) {
        (void)snprintf(id, sizeof id, "/%s", call->id);
    }
    if (!is_granted && !is_over) {
        return NULL;
    }
    (void)snprintf(sql, LEVEL_SQL_MAX,
                   "INSERT INTO sections (path, owner, unit_limit, is_held)"
                   " VALUES ('%s%s', '%s', %u, %d)",
                   call->path, id, call->verb == LEVEL_BREAK ? "*" : call->owner,
                   call->verb <= LEVEL_QUEUE ? call->limit : 0, is_granted);
    return sql;
}

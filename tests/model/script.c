/* SPDX-License-Identifier: Apache-2.0 */
/* Telling scripts: each line is stepped on both sides, then its expectations are looked at. */
#include "script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "history.h"
#include "lockstep.h"

struct script {
    struct lockstep lockstep;
    struct lk_times times;
    struct history_tokens tokens;
    struct lk_record record;    /* of the request that the line is about */
    struct lk_item_record item; /* that the line is about; no id: none */
    const char *line;
};

static void fail_line(const struct script *script, const char *why) {
    fail_msg("%s\n  in: %s", why, script->line);
}

static void expect(const struct script *script, bool holds, struct lk_slice word) {
    if (!holds) {
        fail_msg("not true: %.*s\n  in: %s", (int)word.size, word.bytes, script->line);
    }
}

/* Whether the owners in `list`, separated by commas, are these. */
static bool is_list(struct lk_slice list, const struct lk_slice *owners, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t size = owners[i].size;
        if (list.size < size || memcmp(list.bytes, owners[i].bytes, size) != 0) {
            return false;
        }
        list.bytes += size;
        list.size -= size;
        if (list.size > 0 && list.bytes[0] == ',') {
            list.bytes++;
            list.size--;
        }
    }
    return list.size == 0;
}

static bool is_in_the_way(const struct script *script, struct lk_slice list) {
    const struct lk_answer *answer = &script->lockstep.effects->answer;
    static struct lk_record records[8];
    struct lk_slice owners[8];
    size_t count = answer->blocker_count < 8 ? answer->blocker_count : 8;

    for (size_t i = 0; i < count; i++) {
        lk_model_record(script->lockstep.model, answer->blockers[i].request, &records[i]);
        owners[i] = records[i].owner;
    }
    return answer->in_the_way == count && is_list(list, owners, count);
}

static char letter(const struct script *script, struct lk_slice word) {
    char name = word.bytes[word.size - 1];

    if (name < 'a' || name > 'z') {
        fail_line(script, "a token is kept under a letter from a to z");
    }
    return name;
}

/* What can be expected of a request. false: no such word. */
static bool expect_of_request(struct script *script, struct lk_slice word) {
    const struct lk_record *record = &script->record;
    uint64_t number;

    if (history_number(word, "token", &script->tokens, &number)) {
        expect(script, record->token == number, word);
    } else if (word.size > 6 && memcmp(word.bytes, "token>", 6) == 0) {
        expect(script, record->token > script->tokens.of[(size_t)letter(script, word)], word);
    } else if (word.size == 6 && memcmp(word.bytes, "keep=", 5) == 0) {
        script->tokens.of[(size_t)letter(script, word)] = record->token;
    } else if (history_number(word, "left", NULL, &number)) {
        expect(script, record->deadline_us - script->times.now_us == (int64_t)number * 1000, word);
    } else if (word.size >= 5 && memcmp(word.bytes, "note=", 5) == 0) {
        expect(script,
               lk_slice_equal(record->note, (struct lk_slice){word.bytes + 5, word.size - 5}),
               word);
    } else if (history_is(word, "revoked")) {
        expect(script, record->revoked, word);
    } else {
        return false;
    }
    return true;
}

/* What can be expected of an item. false: no such word. */
static bool expect_of_item(struct script *script, struct lk_slice word) {
    const struct lk_item_failure *failure = &script->item.last_failure;
    struct lk_slice text;
    uint64_t number;
    int64_t value;

    if (history_starts_with(word, "item=", &text)) {
        expect(script, lk_slice_equal(script->item.id, text), word);
    } else if (history_number(word, "attempts", NULL, &number)) {
        expect(script, script->item.id.size > 0 && script->item.attempts == number, word);
    } else if (history_number(word, "due", NULL, &number)) {
        expect(script,
               lk_item_has_due(script->item.state)
                   && script->item.due_us - script->times.now_us == (int64_t)number * 1000,
               word);
    } else if (history_signed(word, "priority", &value)) {
        expect(script, script->item.priority == value, word);
    } else if (history_signed(word, "exit", &value)) {
        expect(script, failure->has_exit && failure->exit_code == value, word);
    } else if (history_starts_with(word, "with=", &text)) {
        expect(script, lk_slice_equal(script->item.value, text), word);
    } else if (history_starts_with(word, "progress=", &text)) {
        expect(script, lk_slice_equal(script->item.progress, text), word);
    } else if (history_is(word, "noexit")) {
        expect(script, !failure->has_exit, word);
    } else if (history_starts_with(word, "error=", &text)) {
        expect(script, lk_slice_equal(failure->text, text), word);
    } else {
        return false;
    }
    return true;
}

static bool has_change(const struct script *script, enum lk_change_kind kind) {
    for (size_t i = 0; i < script->lockstep.effects->change_count; i++) {
        if (script->lockstep.effects->changes[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* The values of all parts: "one,two!,-", with ! where one is in doubt, - where there is none. */
static bool are_values(const struct script *script, struct lk_slice text) {
    const struct lk_answer *answer = &script->lockstep.effects->answer;
    char said[HISTORY_LINE_MAX] = "";
    size_t size = 0;

    for (size_t i = 0; i < answer->value_count; i++) {
        struct lk_value_record record = {.bytes = {"-", 1}};

        if (answer->values[i] != 0) {
            lk_model_value_record(script->lockstep.model, answer->values[i], &record);
        }
        size += (size_t)snprintf(said + size, sizeof said - size, "%s%.*s%s", i > 0 ? "," : "",
                                 (int)record.bytes.size, record.bytes.bytes,
                                 record.in_doubt ? "!" : "");
    }
    return lk_slice_equal(lk_slice_of(said), text);
}

/* What came with a grant; of one value, the first part's. false: no such word. */
static bool expect_of_value(struct script *script, struct lk_slice word) {
    const struct lk_answer *answer = &script->lockstep.effects->answer;
    lk_value_ref value = answer->value_count > 0 ? answer->values[0] : 0;
    struct lk_value_record record = {.in_doubt = false};
    struct lk_slice text;

    if (value != 0) {
        lk_model_value_record(script->lockstep.model, value, &record);
    }
    if (history_starts_with(word, "values=", &text)) {
        expect(script, are_values(script, text), word);
    } else if (history_starts_with(word, "value=", &text)) {
        expect(script, value != 0 && lk_slice_equal(record.bytes, text), word);
    } else if (history_is(word, "novalue")) {
        expect(script, value == 0, word);
    } else if (history_is(word, "sure") || history_is(word, "doubted")) {
        expect(script, value != 0 && record.in_doubt == history_is(word, "doubted"), word);
    } else {
        return false;
    }
    return true;
}

static void expect_of_answer(struct script *script, struct lk_slice word) {
    const struct lk_answer *answer = &script->lockstep.effects->answer;
    uint64_t number;

    if (history_number(word, "in_use", NULL, &number)) {
        expect(script, answer->in_use == number, word);
    } else if (history_number(word, "broken", NULL, &number)) {
        expect(script, answer->broken == number, word);
    } else if (word.size >= 4 && memcmp(word.bytes, "for=", 4) == 0) {
        expect(script, is_in_the_way(script, (struct lk_slice){word.bytes + 4, word.size - 4}),
               word);
    } else if (word.size >= 6 && memcmp(word.bytes, "cycle=", 6) == 0) {
        expect(script,
               is_list((struct lk_slice){word.bytes + 6, word.size - 6}, answer->cycle,
                       answer->cycle_count),
               word);
    } else if (history_is(word, "created") || history_is(word, "again")) {
        expect(script, answer->created == history_is(word, "created"), word);
    } else if (history_is(word, "stolen")) {
        expect(script, has_change(script, LK_CHANGE_ITEM_STOLEN), word);
    } else if (history_is(word, "parked")) {
        expect(script, has_change(script, LK_CHANGE_ITEM_PARKED), word);
    } else if (history_is(word, "forgotten")) {
        expect(script, has_change(script, LK_CHANGE_ITEM_FORGOTTEN), word);
    } else if (history_is(word, "dropped")) {
        expect(script, has_change(script, LK_CHANGE_ITEM_DROPPED), word);
    } else if (!expect_of_item(script, word) && !expect_of_value(script, word)
               && !expect_of_request(script, word)) {
        expect(script, false, word);
    }
}

static void tell_event(struct script *script, const char *arrow) {
    struct history_command command;
    struct lk_slice rest = lk_slice_of(arrow + 2);
    struct lk_slice outcome = history_word(&rest);
    const struct lk_answer *answer;
    const char *wrong = history_read(script->line, (size_t)(arrow - script->line), &script->tokens,
                                     &script->times, &command);

    if (wrong != NULL) {
        fail_line(script, wrong);
    }
    wrong = lockstep_step(&script->lockstep, &command.command);
    if (wrong != NULL) {
        print_message("model and reference differ, or a check failed: ");
        fail_line(script, wrong);
    }
    answer = &script->lockstep.effects->answer;
    if (!history_is(outcome, lk_outcome_name(answer->outcome))) {
        fail_msg("the outcome is %s\n  in: %s", lk_outcome_name(answer->outcome), script->line);
    }
    if (answer->request != 0) {
        lk_model_record(script->lockstep.model, answer->request, &script->record);
    }
    script->item.id.size = 0;
    if (answer->item != 0) {
        lk_model_item_record(script->lockstep.model, answer->item, &script->item);
    }
    for (struct lk_slice word = history_word(&rest); word.size > 0; word = history_word(&rest)) {
        expect_of_answer(script, word);
    }
}

static bool is_state(struct lk_slice word) {
    return history_is(word, "held") || history_is(word, "waiting") || history_is(word, "gone");
}

static void tell_standing(struct script *script, struct lk_slice owner, struct lk_slice rest) {
    struct lk_part parts[LK_PARTS_MAX];
    size_t count = 0;
    struct lk_slice word = history_word(&rest);
    lk_ref request;

    for (; word.size > 0 && !is_state(word); word = history_word(&rest)) {
        if (count == LK_PARTS_MAX || lk_part_parse(word, NULL, &parts[count++], NULL) != LK_OK) {
            fail_line(script, "not a path");
        }
    }
    request = lk_model_find(script->lockstep.model, owner, parts, count);
    if (request == 0) {
        expect(script, history_is(word, "gone"), word);
        return;
    }
    lk_model_record(script->lockstep.model, request, &script->record);
    expect(script, history_is(word, script->record.state == LK_STATE_HELD ? "held" : "waiting"),
           word);
    for (word = history_word(&rest); word.size > 0; word = history_word(&rest)) {
        if (!expect_of_request(script, word)) {
            expect(script, false, word);
        }
    }
}

static void tell_value(struct script *script, struct lk_slice rest) {
    struct lk_path path;
    struct lk_value_record record;
    struct lk_slice text;
    lk_value_ref value;

    if (lk_path_parse(history_word(&rest), &path, NULL) != LK_OK) {
        fail_line(script, "not a path");
    }
    text = history_word(&rest);
    value = lk_model_value(script->lockstep.model, &path);
    if (value == 0 || history_is(text, "none")) {
        expect(script, value == 0 && history_is(text, "none"), text);
        return;
    }
    lk_model_value_record(script->lockstep.model, value, &record);
    expect(script, lk_slice_equal(record.bytes, text), text);
    text = history_word(&rest);
    expect(script, history_is(text, record.in_doubt ? "doubted" : "sure"), text);
}

/* The item of this line, and its claim; whether it is there, in this state. */
static bool find_item(struct script *script, const struct lk_path *queue, struct lk_slice id,
                      struct lk_slice state) {
    static const char *const names[] = {"ready",     "delayed", "claimed", "parked",
                                        "cancelled", "again",   "done"};
    lk_item_ref item = lk_model_item(script->lockstep.model, queue, id);

    if (item == 0 || history_is(state, "gone")) {
        return item == 0 && history_is(state, "gone");
    }
    lk_model_item_record(script->lockstep.model, item, &script->item);
    if (script->item.claim != 0) {
        lk_model_record(script->lockstep.model, script->item.claim, &script->record);
    }
    return history_is(state, names[script->item.state]);
}

static void tell_item(struct script *script, struct lk_slice rest) {
    struct lk_path queue;
    struct lk_slice id;
    struct lk_slice state;
    struct lk_slice owner;

    if (lk_path_parse(history_word(&rest), &queue, NULL) != LK_OK) {
        fail_line(script, "not a queue");
    }
    id = history_word(&rest);
    state = history_word(&rest);
    expect(script, find_item(script, &queue, id, state), state);
    for (struct lk_slice word = history_word(&rest); word.size > 0; word = history_word(&rest)) {
        if (history_starts_with(word, "owner=", &owner)) {
            expect(script, script->item.claim != 0 && lk_slice_equal(script->record.owner, owner),
                   word);
        } else if (!expect_of_item(script, word)
                   && !(script->item.claim != 0 && expect_of_request(script, word))) {
            expect(script, false, word);
        }
    }
}

static void tell_queue(struct script *script, struct lk_slice rest) {
    struct lk_path queue;
    struct lk_queue_counts counts;
    const struct {
        const char *name;
        const uint64_t *count;
    } all[] = {
        {"pushed", &counts.pushed},
        {"duplicates", &counts.duplicates},
        {"claims", &counts.claims},
        {"steals", &counts.steals},
        {"done", &counts.done},
        {"retried", &counts.retried},
        {"parked", &counts.parked},
        {"ready", &counts.ready},
        {"delayed", &counts.delayed},
        {"claimed", &counts.claimed},
        {"parked_now", &counts.parked_now},
        {"done_now", &counts.done_now},
    };

    if (lk_path_parse(history_word(&rest), &queue, NULL) != LK_OK) {
        fail_line(script, "not a queue");
    }
    lk_model_queue_counts(script->lockstep.model, &queue, &counts);
    for (struct lk_slice word = history_word(&rest); word.size > 0; word = history_word(&rest)) {
        bool holds = false;
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            uint64_t number;
            holds =
                holds
                || (history_number(word, all[i].name, NULL, &number) && *all[i].count == number);
        }
        expect(script, holds, word);
    }
}

static void tell_question(struct script *script) {
    struct lk_slice rest = lk_slice_of(script->line + 1);
    struct lk_slice word = history_word(&rest);
    struct lk_model_stats stats;

    if (history_is(word, "value")) {
        tell_value(script, rest);
    } else if (history_is(word, "item")) {
        tell_item(script, rest);
    } else if (history_is(word, "queue")) {
        tell_queue(script, rest);
    } else if (!history_is(word, "live")) {
        tell_standing(script, word, rest);
    } else {
        word = history_word(&rest);
        lk_model_stats(script->lockstep.model, &stats);
        if (stats.live != strtoull(word.bytes, NULL, 10)) {
            fail_msg("%llu live\n  in: %s", (unsigned long long)stats.live, script->line);
        }
    }
}

void script_run(const struct lk_quotas *quotas, const char *const *lines, size_t count) {
    struct script script = {.times = history_start()};

    lockstep_open(&script.lockstep, quotas, 0, NULL);
    for (size_t i = 0; i < count; i++) {
        const char *arrow = strstr(lines[i], "->");
        script.line = lines[i];
        if (lines[i][0] == '?') {
            tell_question(&script);
        } else if (arrow != NULL) {
            tell_event(&script, arrow);
        } else {
            fail_line(&script, "neither an event nor a question");
        }
    }
    lockstep_close(&script.lockstep);
}

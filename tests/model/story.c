/* SPDX-License-Identifier: Apache-2.0 */
/* Telling stories: each line is stepped on both sides, then its expectations are looked at. */
#include "story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "history.h"
#include "pair.h"

struct story {
    struct pair pair;
    struct lk_times times;
    struct history_tokens tokens;
    struct lk_record record; /* of the request that the line is about */
    const char *line;
};

static void fail_line(const struct story *story, const char *why) {
    fail_msg("%s\n  in: %s", why, story->line);
}

static void expect(const struct story *story, bool holds, struct lk_slice word) {
    if (!holds) {
        fail_msg("not true: %.*s\n  in: %s", (int)word.size, word.bytes, story->line);
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

static bool is_in_the_way(const struct story *story, struct lk_slice list) {
    const struct lk_answer *answer = &story->pair.effects->answer;
    static struct lk_record records[8];
    struct lk_slice owners[8];
    size_t count = answer->blocker_count < 8 ? answer->blocker_count : 8;

    for (size_t i = 0; i < count; i++) {
        lk_model_record(story->pair.model, answer->blockers[i].request, &records[i]);
        owners[i] = records[i].owner;
    }
    return answer->in_the_way == count && is_list(list, owners, count);
}

static char letter(const struct story *story, struct lk_slice word) {
    char name = word.bytes[word.size - 1];

    if (name < 'a' || name > 'z') {
        fail_line(story, "a token is kept under a letter from a to z");
    }
    return name;
}

/* What can be expected of a request. false: no such word. */
static bool expect_of_request(struct story *story, struct lk_slice word) {
    const struct lk_record *record = &story->record;
    uint64_t number;

    if (history_number(word, "token", &story->tokens, &number)) {
        expect(story, record->token == number, word);
    } else if (word.size > 6 && memcmp(word.bytes, "token>", 6) == 0) {
        expect(story, record->token > story->tokens.of[(size_t)letter(story, word)], word);
    } else if (word.size == 6 && memcmp(word.bytes, "keep=", 5) == 0) {
        story->tokens.of[(size_t)letter(story, word)] = record->token;
    } else if (history_number(word, "left", NULL, &number)) {
        expect(story, record->deadline_us - story->times.now_us == (int64_t)number * 1000, word);
    } else if (word.size >= 5 && memcmp(word.bytes, "note=", 5) == 0) {
        expect(story,
               lk_slice_equal(record->note, (struct lk_slice){word.bytes + 5, word.size - 5}),
               word);
    } else if (history_is(word, "revoked")) {
        expect(story, record->revoked, word);
    } else {
        return false;
    }
    return true;
}

static void expect_of_answer(struct story *story, struct lk_slice word) {
    const struct lk_answer *answer = &story->pair.effects->answer;
    uint64_t number;

    if (history_number(word, "in_use", NULL, &number)) {
        expect(story, answer->in_use == number, word);
    } else if (history_number(word, "broken", NULL, &number)) {
        expect(story, answer->broken == number, word);
    } else if (word.size >= 4 && memcmp(word.bytes, "for=", 4) == 0) {
        expect(story, is_in_the_way(story, (struct lk_slice){word.bytes + 4, word.size - 4}), word);
    } else if (word.size >= 6 && memcmp(word.bytes, "cycle=", 6) == 0) {
        expect(story,
               is_list((struct lk_slice){word.bytes + 6, word.size - 6}, answer->cycle,
                       answer->cycle_count),
               word);
    } else if (history_is(word, "created") || history_is(word, "again")) {
        expect(story, answer->created == history_is(word, "created"), word);
    } else if (!expect_of_request(story, word)) {
        expect(story, false, word);
    }
}

static void tell_event(struct story *story, const char *arrow) {
    struct history_event event;
    struct lk_slice rest = lk_slice_of(arrow + 2);
    struct lk_slice outcome = history_word(&rest);
    const struct lk_answer *answer;
    const char *wrong = history_read(story->line, (size_t)(arrow - story->line), &story->tokens,
                                     &story->times, &event);

    if (wrong != NULL) {
        fail_line(story, wrong);
    }
    wrong = pair_step(&story->pair, &event.event);
    if (wrong != NULL) {
        print_message("model and reference differ, or a check failed: ");
        fail_line(story, wrong);
    }
    answer = &story->pair.effects->answer;
    if (!history_is(outcome, lk_outcome_name(answer->outcome))) {
        fail_msg("the outcome is %s\n  in: %s", lk_outcome_name(answer->outcome), story->line);
    }
    if (answer->request != 0) {
        lk_model_record(story->pair.model, answer->request, &story->record);
    }
    for (struct lk_slice word = history_word(&rest); word.size > 0; word = history_word(&rest)) {
        expect_of_answer(story, word);
    }
}

static bool is_state(struct lk_slice word) {
    return history_is(word, "held") || history_is(word, "waiting") || history_is(word, "gone");
}

static void tell_standing(struct story *story, struct lk_slice owner, struct lk_slice rest) {
    struct lk_part parts[LK_PARTS_MAX];
    size_t count = 0;
    struct lk_slice word = history_word(&rest);
    lk_ref request;

    for (; word.size > 0 && !is_state(word); word = history_word(&rest)) {
        if (count == LK_PARTS_MAX || lk_part_parse(word, NULL, &parts[count++], NULL) != LK_OK) {
            fail_line(story, "not a path");
        }
    }
    request = lk_model_find(story->pair.model, owner, parts, count);
    if (request == 0) {
        expect(story, history_is(word, "gone"), word);
        return;
    }
    lk_model_record(story->pair.model, request, &story->record);
    expect(story, history_is(word, story->record.state == LK_STATE_HELD ? "held" : "waiting"),
           word);
    for (word = history_word(&rest); word.size > 0; word = history_word(&rest)) {
        if (!expect_of_request(story, word)) {
            expect(story, false, word);
        }
    }
}

static void tell_question(struct story *story) {
    struct lk_slice rest = lk_slice_of(story->line + 1);
    struct lk_slice word = history_word(&rest);
    struct lk_model_stats stats;

    if (!history_is(word, "live")) {
        tell_standing(story, word, rest);
        return;
    }
    word = history_word(&rest);
    lk_model_stats(story->pair.model, &stats);
    if (stats.live != strtoull(word.bytes, NULL, 10)) {
        fail_msg("%llu live\n  in: %s", (unsigned long long)stats.live, story->line);
    }
}

void story_tell(const struct lk_quotas *quotas, const char *const *lines, size_t count) {
    struct story story = {.times = history_start()};

    pair_open(&story.pair, quotas, 0, NULL);
    for (size_t i = 0; i < count; i++) {
        const char *arrow = strstr(lines[i], "->");
        story.line = lines[i];
        if (lines[i][0] == '?') {
            tell_question(&story);
        } else if (arrow != NULL) {
            tell_event(&story, arrow);
        } else {
            fail_line(&story, "neither an event nor a question");
        }
    }
    pair_close(&story.pair);
}

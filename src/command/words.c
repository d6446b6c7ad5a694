/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes as words: operands first, then keywords in any order. */
#include "base/error.h"
#include "command/keywords.h"

void lk_wish_begin(struct lk_wish *wish, const struct lk_command *command) {
    *wish = (struct lk_wish){
        .command = command,
        .count = LK_PAGE_DEFAULT,
        .blockers = LK_BLOCKERS_DEFAULT,
        .live = -1,
        .live_per_owner = -1,
        .live_per_root = -1,
        .waiters_per_path = -1,
        .events = -1,
        .style = LK_TRY,
    };
}

/* Takes the operands; how many words they are. A prefix is missing where a keyword stands. */
static size_t read_operands(struct lk_wish *wish, const struct lk_slice *words, size_t count) {
    switch (wish->command->operands) {
    case LK_OPERANDS_PARTS:
        wish->parts[wish->part_count++] = words[0];
        return 1;
    case LK_OPERANDS_PREFIX:
        if (count == 0 || lk_keyword_find(wish->command, words[0]) != LK_WORDS_COUNT) {
            return 0;
        }
        wish->has_path = words[0].size > 0;
        wish->path = words[0];
        return 1;
    case LK_OPERANDS_PATH:
    case LK_OPERANDS_PATH_VALUE:
    case LK_OPERANDS_QUEUE_ID:
        wish->has_path = true;
        wish->path = words[0];
        if (wish->command->operands == LK_OPERANDS_PATH) {
            return 1;
        }
        *(wish->command->operands == LK_OPERANDS_QUEUE_ID ? &wish->id : &wish->value) = words[1];
        return 2;
    default:
        return 0;
    }
}

/* A keyword and the word that belongs to it, if one does. */
static lk_outcome set_word(struct lk_wish *wish, enum lk_keyword keyword, const char *name,
                           struct lk_slice word, lk_error *error) {
    int64_t number;
    lk_outcome outcome;

    switch (lk_keyword_forms[keyword].kind) {
    case LK_KEYWORD_PART:
        return lk_keyword_add_part(wish, keyword, word, error);
    case LK_KEYWORD_TEXT:
        lk_keyword_set_text(wish, keyword, word);
        return LK_OK;
    default:
        outcome = lk_keyword_read_number(name, word, &number, error);
        return outcome == LK_OK ? lk_keyword_set_number(wish, keyword, name, number, error)
                                : outcome;
    }
}

static bool is_followed(enum lk_keyword keyword) {
    enum lk_keyword_kind kind = lk_keyword_forms[keyword].kind;

    return kind != LK_KEYWORD_FLAG && (kind != LK_KEYWORD_STYLE || keyword == LK_WORD_WAIT);
}

lk_outcome lk_wish_read_words(struct lk_wish *wish, const struct lk_slice *words, size_t count,
                              lk_error *error) {
    size_t at = read_operands(wish, words, count);

    while (at < count) {
        enum lk_keyword keyword = lk_keyword_find(wish->command, words[at]);
        const char *name;
        lk_outcome outcome;
        if (keyword == LK_WORDS_COUNT) {
            return lk_error_set(error, LK_INVALID, "%s does not know the word \"%.*s\"",
                                wish->command->name,
                                (int)(words[at].size < 64 ? words[at].size : 64), words[at].bytes);
        }
        name = lk_keyword_forms[keyword].name;
        outcome = lk_keyword_give(wish, keyword, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        at++;
        if (!is_followed(keyword)) {
            if (lk_keyword_forms[keyword].kind == LK_KEYWORD_FLAG) {
                lk_keyword_set_flag(wish, keyword, true);
            }
            continue;
        }
        if (at == count) {
            return lk_error_set(error, LK_INVALID, "nothing follows %s", name);
        }
        outcome = set_word(wish, keyword, name, words[at++], error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    return LK_OK;
}

/* The keyword that JSON and queries call so. */
static enum lk_keyword find_by_json_name(const struct lk_command *command, struct lk_slice name) {
    for (unsigned i = 0; i < LK_WORDS_COUNT; i++) {
        const char *json_name = lk_keyword_forms[i].json_name;
        if ((command->keywords >> i & 1) != 0 && json_name != NULL
            && lk_slice_equal(name, lk_slice_of(json_name))) {
            return (enum lk_keyword)i;
        }
    }
    return LK_WORDS_COUNT;
}

lk_outcome lk_wish_set_text(struct lk_wish *wish, struct lk_slice name, struct lk_slice text,
                            lk_error *error) {
    enum lk_keyword keyword = find_by_json_name(wish->command, name);
    lk_outcome outcome;

    if (wish->command->operands == LK_OPERANDS_PREFIX
        && lk_slice_equal(name, lk_slice_of("prefix"))) {
        wish->has_path = text.size > 0;
        wish->path = text;
        return LK_OK;
    }
    if (keyword == LK_WORDS_COUNT || !is_followed(keyword)) {
        return lk_error_set(error, LK_INVALID, "there is no field \"%.*s\" here",
                            (int)(name.size < 64 ? name.size : 64), name.bytes);
    }
    outcome = lk_keyword_give(wish, keyword, error);
    return outcome == LK_OK
               ? set_word(wish, keyword, lk_keyword_forms[keyword].json_name, text, error)
               : outcome;
}

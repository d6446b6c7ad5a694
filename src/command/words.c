/* SPDX-License-Identifier: Apache-2.0 */
/* Reads drafts from words: operands first, then keywords in any order. */
#include "base/error.h"
#include "command/fields.h"

void lk_draft_begin(struct lk_draft *draft, const struct lk_command_spec *command) {
    *draft = (struct lk_draft){
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

/* Reads the ids up to the first keyword; the first id may be any word. Returns how many. */
static size_t read_ids(struct lk_draft *draft, const struct lk_slice *words, size_t count) {
    size_t read = 0;

    do {
        (void)lk_draft_add_id(draft, words[read++], NULL); /* a command has fewer words */
    } while (read < count && draft->command->operands == LK_OPERANDS_QUEUE_IDS
             && lk_keyword_find(draft->command, words[read]) == LK_WORDS_COUNT);
    return read;
}

/*
 * Reads the operands; returns how many words they are. A keyword means that the prefix is missing.
 */
static size_t read_operands(struct lk_draft *draft, const struct lk_slice *words, size_t count) {
    switch (draft->command->operands) {
    case LK_OPERANDS_PARTS:
        draft->part_texts[draft->part_count++] = words[0];
        return 1;
    case LK_OPERANDS_PREFIX:
        if (count == 0 || lk_keyword_find(draft->command, words[0]) != LK_WORDS_COUNT) {
            return 0;
        }
        draft->has_path = words[0].size > 0;
        draft->path = words[0];
        return 1;
    case LK_OPERANDS_PATH:
    case LK_OPERANDS_QUEUE:
    case LK_OPERANDS_PATH_VALUE:
    case LK_OPERANDS_QUEUE_ID:
    case LK_OPERANDS_QUEUE_IDS:
        draft->has_path = true;
        draft->path = words[0];
        if (lk_command_has_id(draft->command)) {
            return 1 + read_ids(draft, words + 1, count - 1);
        }
        if (draft->command->operands == LK_OPERANDS_PATH_VALUE) {
            draft->value = words[1];
            return 2;
        }
        return 1;
    default:
        return 0;
    }
}

/* Sets a keyword and its value, if it has one. */
static lk_outcome set_word(struct lk_draft *draft, enum lk_keyword keyword, const char *name,
                           struct lk_slice word, lk_error *error) {
    int64_t number;
    lk_outcome outcome;

    switch (lk_keyword_forms[keyword].kind) {
    case LK_KEYWORD_LIST:
        return lk_keyword_add_text(draft, keyword, word, error);
    case LK_KEYWORD_TEXT:
        lk_keyword_set_text(draft, keyword, word);
        return LK_OK;
    default:
        outcome = lk_keyword_read_number(name, word, &number, error);
        return outcome == LK_OK ? lk_keyword_set_number(draft, keyword, name, number, error)
                                : outcome;
    }
}

static bool is_followed(enum lk_keyword keyword) {
    enum lk_keyword_kind kind = lk_keyword_forms[keyword].kind;

    return kind != LK_KEYWORD_FLAG && (kind != LK_KEYWORD_STYLE || keyword == LK_WORD_WAIT);
}

lk_outcome lk_draft_read_words(struct lk_draft *draft, const struct lk_slice *words, size_t count,
                               lk_error *error) {
    size_t at = read_operands(draft, words, count);

    while (at < count) {
        enum lk_keyword keyword = lk_keyword_find(draft->command, words[at]);
        const char *name;
        lk_outcome outcome;
        if (keyword == LK_WORDS_COUNT) {
            return lk_error_set(error, LK_INVALID, "%s does not know the word \"%.*s\"",
                                draft->command->name,
                                (int)(words[at].size < 64 ? words[at].size : 64), words[at].bytes);
        }
        name = lk_keyword_forms[keyword].name;
        outcome = lk_keyword_mark_given(draft, keyword, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        at++;
        if (!is_followed(keyword)) {
            if (lk_keyword_forms[keyword].kind == LK_KEYWORD_FLAG) {
                lk_keyword_set_flag(draft, keyword, true);
            }
            continue;
        }
        if (at == count) {
            return lk_error_set(error, LK_INVALID, "nothing follows %s", name);
        }
        outcome = set_word(draft, keyword, name, words[at++], error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    return LK_OK;
}

lk_outcome lk_draft_set_text(struct lk_draft *draft, struct lk_slice name, struct lk_slice text,
                             lk_error *error) {
    const struct lk_member *member = lk_member_find(draft->command, name);
    lk_outcome outcome;

    if (member == NULL) {
        return lk_error_set(error, LK_INVALID, "unknown field \"%.*s\"",
                            (int)(name.size < 64 ? name.size : 64), name.bytes);
    }
    if (member->kind == LK_MEMBER_PATH) {
        draft->has_path = text.size > 0;
        draft->path = text;
        return LK_OK;
    }
    outcome = lk_keyword_mark_given(draft, member->keyword, error);
    return outcome == LK_OK ? set_word(draft, member->keyword, member->name, text, error) : outcome;
}

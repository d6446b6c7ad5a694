/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keywords. */
#include "command/keywords.h"

#include <inttypes.h>

#include "base/error.h"
#include "form/duration.h"
#include "wire/line.h"

#define AT(field) offsetof(struct lk_draft, field)
#define TOKEN_MAX (INT64_C(1) << 53) /* R4 */

const struct lk_keyword_form lk_keyword_forms[LK_WORDS_COUNT] = {
    [LK_WORD_ALSO] = {"ALSO", LK_KEYWORD_LIST, 0, 0, 0, 0},
    [LK_WORD_OWNER] = {"OWNER", LK_KEYWORD_TEXT, AT(owner), 0, LK_OWNER_BYTES_MAX, 0},
    [LK_WORD_TTL] = {"TTL", LK_KEYWORD_DURATION, AT(ttl_ms), LK_TTL_MIN_MS, LK_TTL_MAX_MS, 0, true},
    [LK_WORD_UNTIL] = {"UNTIL", LK_KEYWORD_NUMBER, AT(until_ms), 1, TOKEN_MAX, 0},
    [LK_WORD_TRY] = {"TRY", LK_KEYWORD_STYLE, 0, 0, 0, LK_TRY},
    [LK_WORD_QUEUE] = {"QUEUE", LK_KEYWORD_STYLE, 0, 0, 0, LK_QUEUE},
    [LK_WORD_WAIT] = {"WAIT", LK_KEYWORD_STYLE, AT(wait_ms), 0, LK_DURATION_MAX_MS, LK_WAIT},
    [LK_WORD_NOTE] = {"NOTE", LK_KEYWORD_TEXT, AT(note), 0, LK_NOTE_BYTES_MAX, 0},
    [LK_WORD_WITH_VALUE] = {"VALUE", LK_KEYWORD_FLAG, AT(wants_value), 0, 0, 0},
    [LK_WORD_VALUE] = {"VALUE", LK_KEYWORD_TEXT, AT(value), 0, LK_VALUE_BYTES_MAX, 0},
    [LK_WORD_BOUND] = {"BOUND", LK_KEYWORD_FLAG, AT(is_bound), 0, 0, 0},
    [LK_WORD_TOKEN] = {"TOKEN", LK_KEYWORD_NUMBER, AT(token), 1, TOKEN_MAX, 0},
    [LK_WORD_PUT] = {"PUT", LK_KEYWORD_LIST, 0, 0, LK_VALUE_BYTES_MAX, 0},
    [LK_WORD_REASON] = {"REASON", LK_KEYWORD_TEXT, AT(reason), 0, LK_REASON_BYTES_MAX, 0},
    [LK_WORD_BY] = {"BY", LK_KEYWORD_TEXT, AT(by), 0, LK_BREAKER_BYTES_MAX, 0},
    [LK_WORD_NOW] = {"NOW", LK_KEYWORD_FLAG, AT(is_now), 0, 0, 0},
    [LK_WORD_COUNT] = {"COUNT", LK_KEYWORD_NUMBER, AT(count), 1, LK_PAGE_MAX, 0},
    [LK_WORD_CURSOR] = {"CURSOR", LK_KEYWORD_TEXT, AT(cursor), 0, 0, 0},
    [LK_WORD_DELAY] = {"DELAY", LK_KEYWORD_DURATION, AT(delay_ms), 0, LK_TTL_MAX_MS, 0, true},
    [LK_WORD_NEEDS] = {"NEEDS", LK_KEYWORD_LIST, 0, 0, 0, 0},
    [LK_WORD_MAXATTEMPTS] = {"MAXATTEMPTS", LK_KEYWORD_NUMBER, AT(max_attempts), 0, LK_ATTEMPTS_MAX,
                             0},
    [LK_WORD_ASK] = {"ASK", LK_KEYWORD_NUMBER, AT(ask_number), 1, INT64_MAX, 0},
    [LK_WORD_META] = {"META", LK_KEYWORD_FLAG, AT(is_meta), 0, 0, 0},
    [LK_WORD_BLOCKERS] = {"BLOCKERS", LK_KEYWORD_NUMBER, AT(blockers), 0, LK_BLOCKERS_MAX, 0},
    [LK_WORD_TICKET] = {"TICKET", LK_KEYWORD_NUMBER, AT(ticket), 1, INT64_MAX, 0},
    [LK_WORD_AFTER] = {"AFTER", LK_KEYWORD_NUMBER, AT(after), 0, INT64_MAX, 0},
    [LK_WORD_PRIORITY] = {"PRIORITY", LK_KEYWORD_NUMBER, AT(priority), LK_PRIORITY_MIN,
                          LK_PRIORITY_MAX, 0},
    [LK_WORD_EXIT] = {"EXIT", LK_KEYWORD_NUMBER, AT(exit_code), INT32_MIN, INT32_MAX, 0},
    [LK_WORD_ERROR] = {"ERROR", LK_KEYWORD_TEXT, AT(error_text), 0, LK_FAILURE_BYTES_MAX, 0},
    [LK_WORD_PARKED] = {"PARKED", LK_KEYWORD_FLAG, AT(is_parked), 0, 0, 0},
    [LK_WORD_CLAIMS] = {"COUNT", LK_KEYWORD_NUMBER, AT(claims), 1, LK_TAKES_MAX, 0},
    [LK_WORD_LIVE] = {"LIVE", LK_KEYWORD_NUMBER, AT(live), 0, LK_LIMIT_MAX, 0},
    [LK_WORD_LIVE_PER_OWNER] = {"LIVE-PER-OWNER", LK_KEYWORD_NUMBER, AT(live_per_owner), 0,
                                LK_LIMIT_MAX, 0},
    [LK_WORD_LIVE_PER_ROOT] = {"LIVE-PER-ROOT", LK_KEYWORD_NUMBER, AT(live_per_root), 0,
                               LK_LIMIT_MAX, 0},
    [LK_WORD_WAITERS_PER_PATH] = {"WAITERS-PER-PATH", LK_KEYWORD_NUMBER, AT(waiters_per_path), 0,
                                  LK_LIMIT_MAX, 0},
    [LK_WORD_EVENTS] = {"EVENTS", LK_KEYWORD_NUMBER, AT(events), 0, LK_EVENTS_KEPT_MAX, 0},
    [LK_WORD_SHARED] = {NULL, LK_KEYWORD_FLAG, AT(is_shared), 0, 0, 0},
    [LK_WORD_LIMIT] = {NULL, LK_KEYWORD_NUMBER, AT(limit), 1, LK_LIMIT_MAX, 0},
    [LK_WORD_UNITS] = {NULL, LK_KEYWORD_NUMBER, AT(units), 1, LK_LIMIT_MAX, 0},
};

enum lk_keyword lk_keyword_find(const struct lk_command_spec *command, struct lk_slice name) {
    for (unsigned i = 0; i < LK_WORDS_COUNT; i++) {
        if ((command->keywords >> i & 1) != 0 && lk_keyword_forms[i].name != NULL
            && lk_word_is(name, lk_keyword_forms[i].name)) {
            return (enum lk_keyword)i;
        }
    }
    return LK_WORDS_COUNT;
}

lk_outcome lk_keyword_mark_given(struct lk_draft *draft, enum lk_keyword keyword, lk_error *error) {
    static const uint64_t styles =
        UINT64_C(1) << LK_WORD_TRY | UINT64_C(1) << LK_WORD_QUEUE | UINT64_C(1) << LK_WORD_WAIT;
    const struct lk_keyword_form *form = &lk_keyword_forms[keyword];
    uint64_t bit = UINT64_C(1) << keyword;

    if (form->kind == LK_KEYWORD_STYLE && (draft->given & styles) != 0) {
        return lk_error_set(error, LK_INVALID, "R10: one of TRY, QUEUE and WAIT, and once");
    }
    if (form->kind != LK_KEYWORD_LIST && (draft->given & bit) != 0) {
        return lk_error_set(error, LK_INVALID, "%s is given twice", form->name);
    }
    draft->given |= bit;
    if (form->kind == LK_KEYWORD_STYLE) {
        draft->style = form->style;
    }
    return LK_OK;
}

lk_outcome lk_keyword_set_number(struct lk_draft *draft, enum lk_keyword keyword, const char *name,
                                 int64_t number, lk_error *error) {
    const struct lk_keyword_form *form = &lk_keyword_forms[keyword];
    /* To the model 0 is no ttl at all. */
    int64_t min = form->is_of_model && form->min > 0 ? 1 : form->min;
    int64_t max = form->is_of_model ? LK_DURATION_MAX_MS : form->max;

    if (number < min || number > max) {
        return lk_error_set(error, LK_INVALID, "%s must be from %" PRId64 " to %" PRId64, name, min,
                            max);
    }
    memcpy((char *)draft + form->at, &number, sizeof number);
    return LK_OK;
}

void lk_keyword_set_text(struct lk_draft *draft, enum lk_keyword keyword, struct lk_slice text) {
    memcpy((char *)draft + lk_keyword_forms[keyword].at, &text, sizeof text);
}

void lk_keyword_set_flag(struct lk_draft *draft, enum lk_keyword keyword, bool value) {
    memcpy((char *)draft + lk_keyword_forms[keyword].at, &value, sizeof value);
}

/* A list that a keyword adds to. */
struct list {
    struct lk_slice *texts;
    size_t *count;
    size_t max;
    const char *what;
};

static struct list list_of(struct lk_draft *draft, enum lk_keyword keyword) {
    switch (keyword) {
    case LK_WORD_NEEDS:
        return (struct list){draft->need_texts, &draft->need_count, LK_NEEDS_MAX,
                             "R16: an item needs at most %zu parts"};
    case LK_WORD_PUT:
        return (struct list){draft->puts, &draft->put_count, LK_PARTS_MAX,
                             "R15: a release puts at most %zu values, one to each of its paths"};
    default:
        return (struct list){draft->part_texts, &draft->part_count, LK_PARTS_MAX,
                             "R2: a request has at most %zu parts"};
    }
}

lk_outcome lk_keyword_add_text(struct lk_draft *draft, enum lk_keyword keyword,
                               struct lk_slice text, lk_error *error) {
    struct list list = list_of(draft, keyword);

    if (*list.count == list.max) {
        return lk_error_set(error, LK_INVALID, list.what, list.max);
    }
    list.texts[(*list.count)++] = text;
    return LK_OK;
}

lk_outcome lk_keyword_read_number(const char *name, struct lk_slice text, int64_t *ret_number,
                                  lk_error *error) {
    if (!lk_resp_number_parse(text, ret_number)) {
        return lk_error_set(error, LK_INVALID, "%s must be a whole number", name);
    }
    return LK_OK;
}

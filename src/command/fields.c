/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of keywords and of members. */
#include "command/fields.h"

#include <inttypes.h>

#include "base/error.h"
#include "form/duration.h"
#include "wire/resp.h"

/* ---- keywords -------------------------------------------------------------------------------- */

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
    [LK_WORD_UNCOUNTED] = {"UNCOUNTED", LK_KEYWORD_FLAG, AT(is_uncounted), 0, 0, 0},
    [LK_WORD_PARK] = {"PARK", LK_KEYWORD_FLAG, AT(parks), 0, 0, 0},
    [LK_WORD_AGAIN] = {"AGAIN", LK_KEYWORD_FLAG, AT(is_again), 0, 0, 0},
    [LK_WORD_REPLACE] = {"REPLACE", LK_KEYWORD_FLAG, AT(replaces), 0, 0, 0},
    [LK_WORD_PARKED] = {"PARKED", LK_KEYWORD_FLAG, AT(is_parked), 0, 0, 0},
    [LK_WORD_KEEP] = {"KEEP", LK_KEYWORD_DURATION, AT(keep_ms), 0, LK_TTL_MAX_MS, 0, true},
    [LK_WORD_RESULT] = {"RESULT", LK_KEYWORD_TEXT, AT(result), 0, LK_VALUE_BYTES_MAX, 0},
    [LK_WORD_TEXT] = {"TEXT", LK_KEYWORD_TEXT, AT(progress), 0, LK_FAILURE_BYTES_MAX, 0},
    [LK_WORD_ID] = {"ID", LK_KEYWORD_TEXT, AT(only_id), 0, LK_SEGMENT_BYTES_MAX, 0},
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

/* ---- members --------------------------------------------------------------------------------- */

/* The table of members. */

#define OF(operands) (1u << LK_OPERANDS_##operands)
#define OF_ITEM (OF(QUEUE_ID) | OF(QUEUE_IDS))
#define BODY LK_MEMBER_IN_BODY
#define QUERY LK_MEMBER_IN_QUERY

/* A member that is an operand, and one that sets a keyword. */
#define OPERAND(as, is, in, of)                                                                    \
    .name = as, .kind = LK_MEMBER_##is, .places = in, .keyword = LK_WORDS_COUNT, .operands = of
#define SETS(as, is, in, word)                                                                     \
    .name = as, .kind = LK_MEMBER_##is, .places = in, .keyword = LK_WORD_##word

static const struct lk_member members[] = {
    {OPERAND("parts", PARTS, BODY, OF(PARTS)), .is_required = true,
     .text = "The parts of the request: PATH, PATH?shared or PATH?limit=N&units=M (R2). They are "
             "granted together, or none is."},
    {OPERAND("paths", PARTS, BODY, OF(PARTS)), .text = "Another name for parts."},
    {OPERAND("path", PATH, BODY, OF(PATH)), .is_required = true, .text = "The path."},
    {OPERAND("queue", PATH, BODY, OF(QUEUE) | OF_ITEM), .is_required = true,
     .text = "The path of the queue (R16)."},
    {OPERAND("id", ID, BODY, OF_ITEM), .is_required = true, .text = "The id of the item."},
    {OPERAND("ids", IDS, BODY, OF(QUEUE_IDS)),
     .text = "The ids of several items, in place of id. They are ended in one decision."},
    {OPERAND("prefix", PATH, QUERY, OF(PREFIX)),
     .text = "Only what is at or below this path. Without it: at all paths."},
    {SETS("owner", TEXT, BODY | QUERY, OWNER),
     .text = "The owner, by which a repeated request is known (R3). An acquire or a claim without "
             "one makes a new owner and returns it. A renewal or a release without one needs the "
             "token."},
    {SETS("ttl", DURATION, BODY, TTL),
     .text = "How long the lease lives unless it is renewed (R11). The default is 60 s; a renewal "
             "without one keeps the former ttl."},
    {SETS("ttl_ms", DURATION, BODY, TTL), .text = "Another name for ttl."},
    {SETS("until", NUMBER, BODY, UNTIL),
     .text = "In place of a ttl: the end of the lease, which renewals do not move. Unix time in "
             "milliseconds."},
    {SETS("mode", MODE, BODY, TRY),
     .text = "What to do if it is not to be had now (R10). try: answer busy. wait: answer when it "
             "is granted, or after wait. queue: answer waiting, keep a place in the queue, and ask "
             "again with the same owner. The default is try, or wait if there is a wait."},
    {SETS("wait", DURATION, BODY, WAIT),
     .text = "How long to wait at most. The mode wait without it waits without a limit. A client "
             "that closes its connection withdraws its wait."},
    {SETS("wait_ms", DURATION, BODY, WAIT), .text = "Another name for wait."},
    {SETS("note", TEXT, BODY, NOTE), .text = "A text that listings show with the request (R19)."},
    {SETS("value", FLAG, BODY, WITH_VALUE),
     .text = "Whether a grant returns the values of its paths (R15)."},
    {SETS("blockers", NUMBER, BODY, BLOCKERS),
     .text = "How many of the requests that are in the way the answer names at most. The default "
             "is 16."},
    {SETS("ticket", NUMBER, BODY, TICKET),
     .text = "Refers to the request with this ticket. The answer is lost if there is none."},
    {SETS("shared", FLAG, BODY, SHARED),
     .text = "The mode of the parts that name none: shared, not exclusive."},
    {SETS("limit", NUMBER, BODY, LIMIT), .text = "The limit of the parts that name none."},
    {SETS("units", NUMBER, BODY, UNITS), .text = "The units of the parts that name none."},
    {SETS("token", NUMBER, BODY | QUERY, TOKEN),
     .text = "The fencing token of the lease (R4). The answer is lost if the lease has another."},
    {SETS("put", TEXT_OR_TEXTS, BODY, PUT),
     .text = "The values to write as the lease ends: the n-th is that of the n-th part (R15)."},
    {SETS("puts", TEXT_OR_TEXTS, BODY, PUT), .text = "Another name for put."},
    {SETS("put_base64", BASE64_OR_TEXTS, BODY, PUT), .text = "The same as put, in base64."},
    {SETS("puts_base64", BASE64_OR_TEXTS, BODY, PUT), .text = "Another name for put_base64."},
    {SETS("reason", TEXT, BODY, REASON), .is_required = true,
     .text = "Why the requests are broken. It is recorded."},
    {SETS("now", FLAG, BODY, NOW),
     .text = "Whether leases end at once. Otherwise their renewals are refused, and they end with "
             "their ttl (R12)."},
    {SETS("by", TEXT, BODY, BY),
     .text = "Who breaks them, for the record. With users it is the user of the request."},
    {SETS("value", TEXT, BODY, VALUE), .text = "The value of the item."},
    {SETS("value_base64", BASE64, BODY, VALUE), .text = "The value of the item in base64."},
    {SETS("delay", DURATION, BODY, DELAY), .text = "How long the item cannot be claimed yet."},
    {SETS("delay_ms", DURATION, BODY, DELAY), .text = "Another name for delay."},
    {SETS("priority", NUMBER, BODY, PRIORITY),
     .text = "Items of a higher priority are claimed first. The default is 0."},
    {SETS("needs", TEXTS, BODY, NEEDS),
     .text = "Parts that are leased together with the item; `PATH?strict` keeps the order "
             "(R16)."},
    {SETS("max_attempts", NUMBER, BODY, MAXATTEMPTS),
     .text = "An item that was claimed so often is parked, not claimed again. 0: without a limit."},
    {SETS("ask", NUMBER, BODY, ASK),
     .text = "A number of the client's. A claim that is repeated with it gets the same item."},
    {SETS("count", NUMBER, BODY, CLAIMS),
     .text = "Claims up to so many items in one decision: the answer has items."},
    {SETS("count", NUMBER, QUERY, COUNT), .text = "How many entries a page has at most."},
    {SETS("cursor", TEXT, QUERY, CURSOR),
     .text = "The cursor that the page before has named. Without it: the first page."},
    {SETS("after", NUMBER, QUERY, AFTER),
     .text = "Begins after the event with this sequence. 1: with the oldest that is kept; 0 or "
             "nothing: with the next one."},
    {SETS("exit", NUMBER, BODY, EXIT), .text = "The exit code of the work, kept with the item."},
    {SETS("error", TEXT, BODY, ERROR), .text = "What went wrong, kept with the item."},
    {SETS("uncounted", FLAG, BODY, UNCOUNTED),
     .text = "Whether the attempt does not count. It does not park the item then."},
    {SETS("again", FLAG, BODY, AGAIN),
     .text =
         "Whether an item that exists gets this value, priority, delay and needs, and is worked "
         "on once more: a claimed one behind its claim."},
    {SETS("replace", FLAG, BODY, REPLACE),
     .text = "Whether an item that exists and waits to be claimed gets this value, priority, delay "
             "and needs. Not together with `again`."},
    {SETS("park", FLAG, BODY, PARK),
     .text = "Whether the item is parked, whatever its attempts. It has no delay then."},
    {SETS("keep", DURATION, BODY, KEEP),
     .text = "How long the item is kept with its result once it is done (R16). Of the times of its "
             "push and its done the longer one counts. The default is not at all."},
    {SETS("keep_ms", DURATION, BODY, KEEP), .text = "Another name for keep."},
    {SETS("result", TEXT, BODY, RESULT),
     .text = "What came of the work: the value of an item that is kept, once it is done."},
    {SETS("result_base64", BASE64, BODY, RESULT), .text = "The result in base64."},
    {SETS("text", TEXT, BODY, TEXT),
     .text = "How far the work is, kept with the item. Without it: no progress any more."},
    {SETS("id", TEXT, QUERY, ID), .text = "Only the item with this id."},
    {SETS("live", NUMBER, BODY, LIVE), .text = "Live requests of the store at most. 0: no limit."},
    {SETS("live_per_owner", NUMBER, BODY, LIVE_PER_OWNER),
     .text = "Live requests of one owner at most. 0: no limit."},
    {SETS("live_per_root", NUMBER, BODY, LIVE_PER_ROOT),
     .text = "Live requests below one root at most. 0: no limit."},
    {SETS("waiters_per_path", NUMBER, BODY, WAITERS_PER_PATH),
     .text = "Requests that wait at one path at most. 0: no limit."},
    {SETS("events", NUMBER, BODY, EVENTS),
     .text = "So many of the last events are kept at all times. 0: only while a client follows."},
};

enum lk_member_place lk_member_place_of(const struct lk_command_spec *command) {
    return command->method != NULL && strcmp(command->method, "POST") == 0 ? LK_MEMBER_IN_BODY
                                                                           : LK_MEMBER_IN_QUERY;
}

static bool is_of(const struct lk_member *member, const struct lk_command_spec *command) {
    bool has_it = member->keyword != LK_WORDS_COUNT
                      ? (command->keywords >> member->keyword & 1) != 0
                      : (member->operands >> command->operands & 1) != 0;

    return has_it && (member->places & lk_member_place_of(command)) != 0;
}

const struct lk_member *lk_member_next(const struct lk_command_spec *command,
                                       const struct lk_member *last) {
    for (size_t i = last != NULL ? (size_t)(last - members) + 1 : 0;
         i < sizeof members / sizeof members[0]; i++) {
        if (is_of(&members[i], command)) {
            return &members[i];
        }
    }
    return NULL;
}

const struct lk_member *lk_member_find(const struct lk_command_spec *command,
                                       struct lk_slice name) {
    const struct lk_member *member = NULL;

    while ((member = lk_member_next(command, member)) != NULL
           && !lk_slice_equal(name, lk_slice_of(member->name))) {
    }
    return member;
}

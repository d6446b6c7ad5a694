/* SPDX-License-Identifier: Apache-2.0 */
/* The table of members. */
#include "command/members.h"

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
    {SETS("needs", TEXTS, BODY, NEEDS), .text = "Parts that are leased together with the item."},
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, and the functions to find one. */
#include "command/command.h"

#define W(name) (UINT64_C(1) << LK_WORD_##name)
#define O(name) (UINT32_C(1) << LK_##name)

_Static_assert(LK_WORDS_COUNT <= 64, "every keyword has its bit");

const struct lk_command_spec lk_command_table[] = {
    {
        .name = "ACQUIRE",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_ASK,
        .operands = LK_OPERANDS_PARTS,
        .keywords = W(ALSO) | W(OWNER) | W(TTL) | W(UNTIL) | W(TRY) | W(QUEUE) | W(WAIT) | W(NOTE)
                    | W(WITH_VALUE) | W(BOUND) | W(META) | W(BLOCKERS) | W(TICKET) | W(SHARED)
                    | W(LIMIT) | W(UNITS),
        .shape = LK_SHAPE_RESULT,
        .outcomes = O(WAITING) | O(BUSY) | O(TIMEOUT) | O(DEADLOCK) | O(LOST),
        .right = LK_RIGHT_LOCK,
        .has_owner = true,
        .method = "POST",
        .route = "/v1/acquire",
        .usage = "part [ALSO part]... [OWNER id] [TTL ms | UNTIL ms] [TRY | QUEUE | WAIT ms] "
                 "[NOTE text] [VALUE] [BOUND] [BLOCKERS n] [TICKET n] [META]",
        .summary = "Asks for a lease on every part, all or nothing",
    },
    {
        .name = "RENEW",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_RENEW,
        .operands = LK_OPERANDS_PARTS,
        .keywords = W(ALSO) | W(OWNER) | W(TTL) | W(TOKEN) | W(META),
        .shape = LK_SHAPE_DONE,
        .outcomes = O(LOST),
        .right = LK_RIGHT_LOCK,
        .has_owner = true,
        .method = "POST",
        .route = "/v1/renew",
        .usage = "part [ALSO part]... [OWNER id] [TTL ms] [TOKEN n] [META]",
        .summary = "Extends a lease: sets its deadline",
    },
    {
        .name = "RELEASE",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_RELEASE,
        .operands = LK_OPERANDS_PARTS,
        .keywords = W(ALSO) | W(OWNER) | W(TOKEN) | W(PUT) | W(META),
        .shape = LK_SHAPE_DONE,
        .outcomes = O(LOST),
        .right = LK_RIGHT_LOCK,
        .has_owner = true,
        .method = "POST",
        .route = "/v1/release",
        .usage = "part [ALSO part]... [OWNER id] [TOKEN n] [PUT value] [META]",
        .summary = "Ends a lease, or withdraws a waiting request",
    },
    {
        .name = "BREAK",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_BREAK,
        .operands = LK_OPERANDS_PATH,
        .keywords = W(REASON) | W(OWNER) | W(NOW) | W(BY),
        .shape = LK_SHAPE_BROKEN,
        .right = LK_RIGHT_BREAK,
        .method = "POST",
        .route = "/v1/break",
        .usage = "path REASON text [OWNER id] [NOW] [BY name]",
        .summary = "Ends requests of other owners at a path; is recorded",
    },
    {
        .name = "AUDIT",
        .kind = LK_CALL_AUDIT,
        .operands = LK_OPERANDS_PREFIX,
        .keywords = W(COUNT) | W(CURSOR),
        .shape = LK_SHAPE_AUDIT,
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/audit",
        .usage = "[prefix] [COUNT n] [CURSOR c]",
        .summary = "Lists past breaks: when, by which user, why",
    },
    {
        .name = "REVOKED",
        .kind = LK_CALL_REVOKED,
        .operands = LK_OPERANDS_NONE,
        .keywords = W(AFTER) | W(TRY) | W(WAIT),
        .shape = LK_SHAPE_REVOKED,
        .right = LK_RIGHT_USER,
        .usage = "[AFTER number] [WAIT ms]",
        .summary = "Returns the tokens of leases that were broken, or waits for the next break",
    },
    {
        .name = "LIST",
        .kind = LK_CALL_LIST,
        .operands = LK_OPERANDS_PREFIX,
        .keywords = W(COUNT) | W(CURSOR),
        .shape = LK_SHAPE_LIST,
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/requests",
        .usage = "[prefix] [COUNT n] [CURSOR c]",
        .summary = "Lists live requests in the order of their tickets",
    },
    {
        .name = "SHOW",
        .kind = LK_CALL_SHOW,
        .operands = LK_OPERANDS_PATH,
        .keywords = W(COUNT) | W(CURSOR),
        .shape = LK_SHAPE_SHOW,
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/requests/",
        .usage = "path [COUNT n] [CURSOR c]",
        .summary = "Lists requests at, above and below a path, with their blockers",
    },
    {
        .name = "GET",
        .kind = LK_CALL_GET,
        .operands = LK_OPERANDS_PATH,
        .keywords = W(META),
        .shape = LK_SHAPE_VALUE,
        .outcomes = O(NONE),
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/values/",
        .usage = "path [META]",
        .summary = "Reads the value of a path",
    },
    {
        .name = "PUT",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_PUT,
        .operands = LK_OPERANDS_PATH_VALUE,
        .keywords = W(OWNER) | W(TOKEN),
        .shape = LK_SHAPE_OK,
        .outcomes = O(BUSY) | O(LOST),
        .right = LK_RIGHT_PUT,
        .method = "PUT",
        .route = "/v1/values/",
        .usage = "path value [OWNER id] [TOKEN n]",
        .summary = "Writes the value of a path",
    },
    {
        .name = "DEL",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_PUT,
        .operands = LK_OPERANDS_PATH,
        .keywords = W(OWNER) | W(TOKEN),
        .shape = LK_SHAPE_DELETED,
        .outcomes = O(BUSY) | O(LOST),
        .right = LK_RIGHT_PUT,
        .method = "DELETE",
        .route = "/v1/values/",
        .usage = "path [OWNER id] [TOKEN n]",
        .summary = "Deletes the value of a path",
    },
    {
        .name = "PUSH",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_PUSH,
        .operands = LK_OPERANDS_QUEUE_ID,
        .keywords = W(VALUE) | W(DELAY) | W(NEEDS) | W(PRIORITY) | W(AGAIN) | W(REPLACE) | W(KEEP)
                    | W(META),
        .shape = LK_SHAPE_PUSHED,
        .right = LK_RIGHT_PUSH,
        .method = "POST",
        .route = "/v1/push",
        .usage = "queue id [VALUE v] [DELAY ms] [PRIORITY n] [NEEDS part]... [AGAIN | REPLACE] "
                 "[KEEP ms] [META]",
        .summary = "Adds an item to a queue; one that exists it leaves, or changes",
    },
    {
        .name = "CLAIM",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_TAKE,
        .operands = LK_OPERANDS_QUEUE,
        .keywords = W(OWNER) | W(TTL) | W(TRY) | W(WAIT) | W(MAXATTEMPTS) | W(ASK) | W(NOTE)
                    | W(BOUND) | W(CLAIMS) | W(META),
        .shape = LK_SHAPE_CLAIM,
        .outcomes = O(BUSY) | O(TIMEOUT) | O(DEADLOCK),
        .right = LK_RIGHT_CLAIM,
        .has_owner = true,
        .method = "POST",
        .route = "/v1/claim",
        .usage = "queue [OWNER id] [TTL ms] [TRY | WAIT ms] [MAXATTEMPTS n] "
                 "[ASK n] [NOTE text] [BOUND] [COUNT n [META]]",
        .summary = "Leases the oldest item of the highest priority that is free",
    },
    {
        .name = "DONE",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_FINISH,
        .operands = LK_OPERANDS_QUEUE_IDS,
        .keywords = W(OWNER) | W(TOKEN) | W(RESULT) | W(KEEP),
        .shape = LK_SHAPE_ENDED,
        .outcomes = O(LOST),
        .right = LK_RIGHT_CLAIM,
        .has_owner = true,
        .method = "POST",
        .route = "/v1/done",
        .usage = "queue id [id]... [OWNER id] [TOKEN n] [RESULT v] [KEEP ms]",
        .summary = "Ends claims; their items are removed, or kept for a time",
    },
    {
        .name = "PROGRESS",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_FINISH,
        .operands = LK_OPERANDS_QUEUE_ID,
        .keywords = W(OWNER) | W(TOKEN) | W(TEXT),
        .shape = LK_SHAPE_OK,
        .outcomes = O(LOST),
        .right = LK_RIGHT_CLAIM,
        .has_owner = true,
        .method = "POST",
        .route = "/v1/progress",
        .usage = "queue id [OWNER id] [TOKEN n] [TEXT text]",
        .summary = "Says how far the work on a claimed item is",
    },
    {
        .name = "RETRY",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_FINISH,
        .operands = LK_OPERANDS_QUEUE_ID,
        .keywords = W(OWNER) | W(TOKEN) | W(DELAY) | W(EXIT) | W(ERROR) | W(UNCOUNTED) | W(PARK),
        .shape = LK_SHAPE_OK,
        .outcomes = O(LOST),
        .right = LK_RIGHT_CLAIM,
        .has_owner = true,
        .method = "POST",
        .route = "/v1/retry",
        .usage = "queue id [OWNER id] [TOKEN n] [DELAY ms | PARK] [EXIT n] [ERROR text] "
                 "[UNCOUNTED]",
        .summary = "Ends a claim and returns the item to the queue, or parks it",
    },
    {
        .name = "UNPARK",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_UNPARK,
        .operands = LK_OPERANDS_QUEUE_ID,
        .shape = LK_SHAPE_OK,
        .outcomes = O(LOST),
        .right = LK_RIGHT_PUSH,
        .method = "POST",
        .route = "/v1/unpark",
        .usage = "queue id",
        .summary = "Makes a parked item ready again",
    },
    {
        .name = "DROP",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_DROP,
        .operands = LK_OPERANDS_QUEUE_IDS,
        .keywords = W(PARKED),
        .shape = LK_SHAPE_DROPPED,
        .outcomes = O(LOST),
        .right = LK_RIGHT_PUSH,
        .method = "DELETE",
        .route = "/v1/items/",
        .usage = "queue id [id]... [PARKED]",
        .summary = "Removes items that are not claimed, or only parked ones",
    },
    {
        .name = "CANCEL",
        .kind = LK_CALL_COMMAND,
        .decides = LK_COMMAND_BREAK,
        .operands = LK_OPERANDS_QUEUE_ID,
        .keywords = W(REASON) | W(NOW) | W(BY),
        .shape = LK_SHAPE_BROKEN,
        .outcomes = O(LOST),
        .right = LK_RIGHT_BREAK,
        .method = "POST",
        .route = "/v1/cancel",
        .usage = "queue id REASON text [NOW] [BY name]",
        .summary = "Removes an item, and ends its claim; is recorded",
    },
    {
        .name = "ITEMS",
        .kind = LK_CALL_ITEMS,
        .operands = LK_OPERANDS_QUEUE,
        .keywords = W(COUNT) | W(CURSOR) | W(PARKED) | W(ID),
        .shape = LK_SHAPE_ITEMS,
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/items/",
        .usage = "queue [PARKED | ID id] [COUNT n] [CURSOR c]",
        .summary = "Lists the items of a queue, the parked ones, or one",
    },
    {
        .name = "QUEUES",
        .kind = LK_CALL_QUEUES,
        .operands = LK_OPERANDS_PREFIX,
        .keywords = W(COUNT) | W(CURSOR),
        .shape = LK_SHAPE_QUEUES,
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/queues",
        .usage = "[prefix] [COUNT n] [CURSOR c]",
        .summary = "Lists queues with their counters",
    },
    {
        .name = "VALUES",
        .kind = LK_CALL_VALUES,
        .operands = LK_OPERANDS_PREFIX,
        .keywords = W(COUNT) | W(CURSOR),
        .shape = LK_SHAPE_VALUES,
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/values",
        .usage = "[prefix] [COUNT n] [CURSOR c]",
        .summary = "Lists values, without their bytes",
    },
    {
        .name = "DOUBTS",
        .kind = LK_CALL_DOUBTS,
        .operands = LK_OPERANDS_PREFIX,
        .keywords = W(COUNT) | W(CURSOR),
        .shape = LK_SHAPE_DOUBTS,
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/doubts",
        .usage = "[prefix] [COUNT n] [CURSOR c]",
        .summary = "Lists the values in doubt, without their bytes",
    },
    {
        .name = "STATS",
        .kind = LK_CALL_STATS,
        .operands = LK_OPERANDS_QUEUE,
        .shape = LK_SHAPE_STATS,
        .right = LK_RIGHT_READ,
        .method = "GET",
        .route = "/v1/stats/",
        .usage = "queue",
        .summary = "Returns the counters of a queue",
    },
    {
        .name = "EVENTS",
        .kind = LK_CALL_EVENTS,
        .operands = LK_OPERANDS_PREFIX,
        .keywords = W(AFTER) | W(COUNT) | W(TRY) | W(WAIT),
        .shape = LK_SHAPE_EVENTS,
        .right = LK_RIGHT_WATCH,
        .usage = "[prefix] [AFTER sequence] [COUNT n] [WAIT ms]",
        .summary = "Returns the events after a given one, or waits for the next",
    },
    {
        .name = "LIMITS",
        .kind = LK_CALL_LIMITS,
        .operands = LK_OPERANDS_NONE,
        .shape = LK_SHAPE_LIMITS,
        .right = LK_RIGHT_USER,
        .method = "GET",
        .route = "/v1/limits",
        .usage = "",
        .summary = "Returns the bounds of the store",
    },
    {
        .name = "LIMIT",
        .kind = LK_CALL_LIMITS,
        .operands = LK_OPERANDS_NONE,
        .keywords =
            W(LIVE) | W(LIVE_PER_OWNER) | W(LIVE_PER_ROOT) | W(WAITERS_PER_PATH) | W(EVENTS),
        .shape = LK_SHAPE_LIMITS,
        .right = LK_RIGHT_ADMIN,
        .method = "POST",
        .route = "/v1/limits",
        .usage = "[LIVE n] [LIVE-PER-OWNER n] [LIVE-PER-ROOT n] [WAITERS-PER-PATH n] [EVENTS n]",
        .summary = "Sets bounds (0: none) and returns all of them",
    },
};
const size_t lk_command_count = sizeof lk_command_table / sizeof lk_command_table[0];

static char upper(char byte) {
    return byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
}

bool lk_word_is(struct lk_slice word, const char *name) {
    size_t i = 0;

    while (i < word.size && name[i] != '\0'
           && (word.bytes[i] == name[i] || upper(word.bytes[i]) == upper(name[i]))) {
        i++;
    }
    return i == word.size && name[i] == '\0';
}

const struct lk_command_spec *lk_command_find(struct lk_slice name) {
    for (size_t i = 0; i < lk_command_count; i++) {
        if (lk_word_is(name, lk_command_table[i].name)) {
            return &lk_command_table[i];
        }
    }
    return NULL;
}

/* A route that ends in '/' is followed by a path; any other is the whole path. */
static bool is_on_route(const char *route, struct lk_slice path, struct lk_slice *ret_rest) {
    size_t size = strlen(route);
    bool is_followed = route[size - 1] == '/';

    if (path.size < size || memcmp(path.bytes, route, size) != 0
        || (path.size > size) != is_followed) {
        return false;
    }
    *ret_rest = (struct lk_slice){.bytes = path.bytes + size, .size = path.size - size};
    return true;
}

const struct lk_command_spec *lk_command_find_route(struct lk_slice method, struct lk_slice path,
                                                    struct lk_slice *ret_rest, bool *ret_is_known) {
    bool is_known = false;
    struct lk_slice rest;

    for (size_t i = 0; i < lk_command_count; i++) {
        const struct lk_command_spec *command = &lk_command_table[i];
        if (command->route == NULL || !is_on_route(command->route, path, &rest)) {
            continue;
        }
        is_known = true;
        if (lk_slice_equal(method, lk_slice_of(command->method))) {
            *ret_rest = rest;
            *ret_is_known = true;
            return command;
        }
    }
    *ret_is_known = is_known;
    return NULL;
}

size_t lk_command_operand_count(const struct lk_command_spec *command) {
    switch (command->operands) {
    case LK_OPERANDS_NONE:
    case LK_OPERANDS_PREFIX:
        return 0;
    case LK_OPERANDS_PARTS:
    case LK_OPERANDS_PATH:
    case LK_OPERANDS_QUEUE:
        return 1;
    default:
        return 2;
    }
}

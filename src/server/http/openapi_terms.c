/* SPDX-License-Identifier: Apache-2.0 */
/* What the fields of answers mean. A name means the same wherever it is. */
#include <string.h>

#include "server/http/openapi.h"

static const struct {
    const char *name;
    const char *text;
} terms[] = {
    {"added", "False if the item was there already."},
    {"age_ms", "How long the request has existed."},
    {"at_ms", "When it happened: Unix time in milliseconds."},
    {"attempt", "How often the item was claimed, this claim included."},
    {"attempts", "How often the item was claimed."},
    {"audit", "Past breaks, oldest first."},
    {"blockers", "Requests that are in the way (R20). There may be more of them."},
    {"broken", "How many requests were broken."},
    {"by", "The user who broke the request."},
    {"changed", "Whether the push has changed the item that was there."},
    {"claimed_now", "Items that are claimed now."},
    {"claims", "Claims that were granted."},
    {"created", "Whether this call has made the request. False: it existed, and is repeated."},
    {"cursor", "Where the next page begins. 0: this was the last one."},
    {"cycle", "The owners of the deadlock, the one that asks first (R13)."},
    {"delayed_now", "Items that cannot be claimed yet."},
    {"deleted", "Whether the value was deleted."},
    {"done", "How many items were finished."},
    {"dropped", "How many items were removed."},
    {"done_now", "Items that are kept now with their results."},
    {"due_in_ms", "Until the item can be claimed; of one that is done: until it is forgotten."},
    {"duplicates", "Pushes of an item that was there already."},
    {"ended_by", "Why there are fewer claims than asked for."},
    {"error", "What is wrong, for a person to read. Programs decide by status."},
    {"event", "What happened (R21)."},
    {"events", "So many of the last events are kept at all times; 0: only while a client follows."},
    {"expires_in_ms", "Until the request ends unless it is renewed."},
    {"id", "The id of the item."},
    {"in_doubt", "Whether the value may be half-written: its last holder did not end well (R15)."},
    {"in_use", "Units that are held at the first path."},
    {"items", "The items, or the claims of one decision."},
    {"last_error", "What went wrong when the item was last given back."},
    {"last_exit", "The exit code with which the item was last given back."},
    {"limit", "The limit that the request has named."},
    {"live", "Live requests at most; 0: no limit."},
    {"live_per_owner", "Live requests of one owner at most; 0: no limit."},
    {"live_per_root", "Live requests below one root at most; 0: no limit."},
    {"mode", "The mode of the part."},
    {"needs", "Parts that are leased together with the item; `PATH?strict` keeps the order (R16)."},
    {"note", "The note of the request."},
    {"oldest_ready_ms", "For how long the oldest ready item has been. Absent if none is ready."},
    {"owner", "The owner. Empty in place of an owner that the user may not see."},
    {"user", "Of a service with users: whose owner it is."},
    {"parked", "Items that were parked."},
    {"parked_now", "Items that are parked now."},
    {"parts", "The parts of the request, as text."},
    {"path", "The path."},
    {"paths", "The paths of the request, in their order."},
    {"position", "How many requests block it; 0 when it is granted."},
    {"priority", "The priority of the item."},
    {"progress", "How far the work is, as its last claimant has said."},
    {"pushed", "Items that were pushed."},
    {"queue", "The path of the queue."},
    {"queues", "The queues, in the order of their paths."},
    {"ready_now", "Items that can be claimed now."},
    {"reason", "Why the request was broken."},
    {"refusal", "The outcome of a refused ask."},
    {"requests", "The parts of live requests, in the order of their tickets."},
    {"retried", "Claims that were given back."},
    {"revoked", "Whether the lease was broken: it cannot be renewed any more."},
    {"row_id", "The id as the row has it, of work in a table."},
    {"sequence", "The number of the event."},
    {"size", "The size of the value in bytes."},
    {"state", "The state."},
    {"steals", "Claims of an item whose former claim ended without an answer."},
    {"stolen", "Whether the former claim of the item ended without an answer."},
    {"ticket", "The number of the request in the order of arrival."},
    {"token", "The fencing token: greater than that of every earlier lease (R4)."},
    {"tokens", "A token for each part, where the parts are on several nodes (R14)."},
    {"ttl_ms", "How long the lease lives unless it is renewed."},
    {"units", "The units that the part takes."},
    {"value", "The value. One that is not UTF-8 is value_base64."},
    {"values", "The values of the paths, in their order; or a page of values by path."},
    {"waiters_per_path", "Requests that wait at one path at most; 0: no limit."},
    {"was", "The state in which the push has found the item."},
};

const char *lk_openapi_term(const char *name) {
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        if (strcmp(terms[i].name, name) == 0) {
            return terms[i].text;
        }
    }
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Split requests, node by node. */
#include "client/batch.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/leftover.h"
#include "client/split.h"
#include "engine/reply/reply.h"

#define GIVE_BACK_US INT64_C(2000000) /* patience beyond the caller's, so that nothing is left */
#define FIRST_US_MAX                                                                               \
    INT64_C(1000000) /* for each node at first, so that a dead one delays no other */

static lk_outcome no_memory(struct lk_decision *decision) {
    return lk_decision_fail(decision, LK_INTERNAL, "no memory for a batch");
}

/* ---- ask ------------------------------------------------------------------------------------- */

static bool is_unknown(lk_outcome outcome) {
    return outcome == LK_UNAVAILABLE || outcome == LK_CANCELLED;
}

/* What this call may have made at a node; what it did not make for sure, its age decides. */
static struct lk_leftover leftover_at(const struct lk_ask *ask, const struct lk_split *split,
                                      size_t at, const struct lk_batch_progress *progress) {
    const struct lk_split_group *group = &split->groups[at];
    const struct lk_batch_entry *entry = &progress->entries[at];

    return (struct lk_leftover){
        .owner = ask->owner,
        .parts = group->parts,
        .part_count = group->count,
        .batch = lk_split_name(split),
        .began_us = progress->began_us,
        .ttl_ms = ask->until_us == 0 ? ask->ttl_ms : LK_TTL_MAX_MS,
        .is_ours = entry->is_ours,
        .token = entry->is_ours ? entry->token : 0,
        .close_until_us = lk_clock_now_us() + LK_LEFTOVER_CLOSE_US,
    };
}

/* Where the node does not answer, a thread of the store goes on. */
static void give_back_at(struct lk_engine *engine, const struct lk_ask *ask,
                         const struct lk_split *split, size_t at,
                         const struct lk_batch_progress *progress) {
    const struct lk_leftover leftover = leftover_at(ask, split, at, progress);
    const struct lk_batch_entry *entry = &progress->entries[at];
    const struct lk_patience patience = {.until_us = lk_clock_now_us() + GIVE_BACK_US};
    bool may_come = entry->is_in_doubt || entry->is_unanswered;
    lk_outcome outcome;

    if (!entry->is_ours && !entry->is_in_doubt) {
        return;
    }
    outcome = lk_leftover_end(engine, &leftover, &patience, NULL);
    if ((is_unknown(outcome) || (outcome == LK_NONE && may_come))
        && !lk_leftovers_is_shared(progress->asking)) {
        lk_leftovers_add(progress->leftovers, &leftover);
    }
}

/* At all nodes, the last one first. */
static void give_back(struct lk_engine *engine, const struct lk_ask *ask,
                      const struct lk_split *split, struct lk_batch_progress *progress) {
    for (size_t i = split->count; i-- > 0;) {
        give_back_at(engine, ask, split, i, progress);
        progress->entries[i] = (struct lk_batch_entry){.is_ours = false};
    }
    progress->held = 0;
}

/* R15: moves the values that came from one node to their places in the whole answer. */
static bool take_values(const struct lk_split_group *group, size_t part_count, lk_result *grant,
                        lk_result *whole) {
    if (grant->value_count == 0) {
        return true;
    }
    if (whole->value_count == 0 && !lk_result_hold_values(whole, part_count)) {
        return false;
    }
    for (size_t i = 0; i < group->count && i < grant->value_count; i++) {
        whole->values[group->places[i]] = grant->values[i];
        grant->values[i] = (lk_part_value){.value = NULL};
    }
    return true;
}

/*
 * Adds the grant of one node to the whole answer, which takes over what `grant` owns. false: memory
 * is exhausted.
 */
static bool add_grant(const struct lk_split *split, size_t at, size_t part_count,
                      struct lk_decision *grant, struct lk_decision *decision) {
    bool created = decision->result.created || grant->result.created;
    int64_t left_ms = grant->result.expires_in_ms;
    bool is_whole = take_values(&split->groups[at], part_count, &grant->result, &decision->result);

    if (at > 0 && decision->result.expires_in_ms < left_ms) {
        left_ms = decision->result.expires_in_ms;
    }
    if (at == split->first) {
        struct lk_decision so_far = *decision;

        *decision = *grant;
        decision->result.values = so_far.result.values;
        decision->result.value_count = so_far.result.value_count;
        so_far.result.values = grant->result.values;
        so_far.result.value_count = grant->result.value_count;
        *grant = so_far;
    }
    decision->result.created = created;
    decision->result.expires_in_ms = left_ms;
    lk_decision_done(grant);
    return is_whole;
}

static bool set_tokens(struct lk_engine *engine, const struct lk_ask *ask,
                       const struct lk_split *split, lk_result *result) {
    result->tokens = calloc(ask->part_count, sizeof *result->tokens);
    if (result->tokens == NULL) {
        return false;
    }
    for (size_t i = 0; i < ask->part_count; i++) {
        const struct lk_split_group *group = split->groups;

        while (group->node != lk_split_node(engine, &ask->parts[i])) {
            group++;
        }
        result->tokens[i] = group->token;
    }
    result->token_count = ask->part_count;
    return true;
}

/*
 * As judge_origin() of wait.c: an answer that does not say `created` leaves it open who made the
 * request, if an ask before it, or an attempt within this one, had no answer.
 */
static void judge_origin(struct lk_engine *engine, const struct lk_batch_progress *progress,
                         const struct lk_decision *decision, uint64_t interruptions,
                         struct lk_batch_entry *entry) {
    lk_outcome outcome = decision->error.outcome;
    bool was_cut = is_unknown(outcome) || lk_engine_status(engine).interruptions != interruptions;
    bool is_there = outcome == LK_GRANTED || outcome == LK_WAITING;

    entry->is_ours = entry->is_ours || (is_there && decision->result.created)
                     || (was_cut && progress->is_owner_made);
    entry->is_in_doubt = entry->is_in_doubt || (was_cut && !entry->is_judged);
    entry->is_judged = entry->is_judged || is_there;
    entry->is_unanswered = is_unknown(outcome);
}

static lk_outcome decide_at(struct lk_engine *engine, const struct lk_command *command,
                            const struct lk_patience *patience, struct lk_batch_progress *progress,
                            struct lk_batch_entry *entry, struct lk_decision *decision) {
    uint64_t interruptions = lk_engine_status(engine).interruptions;
    lk_outcome outcome = engine->ops->decide(engine, command, patience, decision);

    judge_origin(engine, progress, decision, interruptions, entry);
    return outcome;
}

/* Asks node after node. LK_GRANTED, or the decision of the node that refused. */
static lk_outcome take(struct lk_engine *engine, const struct lk_command *command,
                       struct lk_split *split, const struct lk_patience *patience,
                       struct lk_batch_progress *progress, struct lk_decision *decision) {
    for (size_t i = 0; i < split->count; i++) {
        struct lk_command one = lk_split_command(split, i, command);
        struct lk_decision grant;
        lk_outcome outcome;

        one.ask.style = LK_TRY;
        outcome = decide_at(engine, &one, patience, progress, &progress->entries[i], &grant);
        if (outcome != LK_GRANTED) {
            lk_decision_done(decision);
            *decision = grant;
            return outcome;
        }
        progress->entries[i].token = split->groups[i].token = grant.result.token;
        if (!add_grant(split, i, command->ask.part_count, &grant, decision)) {
            return no_memory(decision);
        }
    }
    return set_tokens(engine, &command->ask, split, &decision->result)
               ? lk_error_clear(&decision->error, LK_GRANTED)
               : no_memory(decision);
}

/* ---- waiting --------------------------------------------------------------------------------- */

void lk_batch_withdraw(struct lk_engine *engine, const struct lk_ask *ask,
                       struct lk_batch_progress *progress) {
    struct lk_split *split = lk_split_make(engine, ask->parts, ask->part_count);

    if (split != NULL) { /* else the requests perish by their ttl */
        give_back(engine, ask, split, progress);
    }
    free(split);
}

/* Asks one node, and records the request that it has now. */
static lk_outcome ask_node(struct lk_engine *engine, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_batch_progress *progress,
                           struct lk_batch_entry *entry, struct lk_decision *decision) {
    const struct lk_ask *ask = &command->ask;
    uint64_t interruptions = lk_engine_status(engine).interruptions;
    int64_t sent_us = lk_clock_now_us();
    lk_outcome outcome = decide_at(engine, command, patience, progress, entry, decision);

    if (outcome != LK_GRANTED && outcome != LK_WAITING) {
        return outcome;
    }
    if (lk_wait_entry_is_gone(&entry->wait, &decision->result)) {
        if (lk_wait_entry_was_ended(&entry->wait, engine, ask->owner, ask->parts, ask->part_count,
                                    patience)) {
            return lk_decision_fail(decision, LK_LOST,
                                    "the request was ended from outside while it waited");
        }
        progress->was_requeued = true;
    }
    entry->wait = lk_wait_entry_of(&decision->result, sent_us, interruptions);
    return outcome;
}

/* The answer of the node where the wait is queued; the grants before it need refreshing in time. */
static void answer_waiting(struct lk_decision *waiting, const struct lk_batch_progress *progress,
                           struct lk_decision *decision) {
    int64_t left_ms = waiting->result.expires_in_ms;
    bool created = waiting->result.created || decision->result.created;

    if (progress->held > 0 && decision->result.expires_in_ms < left_ms) {
        left_ms = decision->result.expires_in_ms;
    }
    lk_decision_done(decision);
    *decision = *waiting;
    decision->result.expires_in_ms = left_ms;
    decision->result.created = created;
}

static lk_outcome wait_at_nodes(struct lk_engine *engine, const struct lk_command *command,
                                const struct lk_patience *patience, struct lk_split *split,
                                struct lk_batch_progress *progress, struct lk_decision *decision) {
    progress->held = 0;
    for (size_t i = 0; i < split->count; i++) {
        const struct lk_command one = lk_split_command(split, i, command);
        struct lk_decision answer;
        lk_outcome outcome =
            ask_node(engine, &one, patience, progress, &progress->entries[i], &answer);

        if (outcome != LK_GRANTED) {
            answer_waiting(&answer, progress, decision);
            decision->cursor.command = command; /* `one` ends with this function */
            return outcome;
        }
        split->groups[i].token = answer.result.token;
        progress->held++;
        if (!add_grant(split, i, command->ask.part_count, &answer, decision)) {
            return no_memory(decision);
        }
    }
    return set_tokens(engine, &command->ask, split, &decision->result)
               ? lk_error_clear(&decision->error, LK_GRANTED)
               : no_memory(decision);
}

lk_outcome lk_batch_ask(struct lk_engine *engine, const struct lk_command *command,
                        const struct lk_patience *patience, struct lk_batch_progress *progress,
                        struct lk_decision *ret_decision) {
    const struct lk_ask *ask = &command->ask;
    bool is_wait = ask->style == LK_WAIT;
    struct lk_split *split;
    lk_outcome outcome;

    lk_decision_begin(ret_decision, command);
    if (ask->style == LK_QUEUE) {
        return lk_decision_fail(
            ret_decision, LK_UNSUPPORTED,
            "R14: these roots live on different nodes: no line for all of them");
    }
    split = lk_split_make(engine, ask->parts, ask->part_count);
    if (split == NULL) {
        return no_memory(ret_decision);
    }
    outcome = is_wait ? wait_at_nodes(engine, command, patience, split, progress, ret_decision)
                      : take(engine, command, split, patience, progress, ret_decision);
    if (outcome != LK_GRANTED && (!is_wait || (outcome != LK_WAITING && !is_unknown(outcome)))) {
        give_back(engine, ask, split, progress);
    }
    free(split);
    return outcome;
}

/* ---- renew and release ----------------------------------------------------------------------- */

/* The parts that a command names; 0 for a command that is not about a request. */
static size_t parts_of(const struct lk_command *command, const struct lk_part **ret_parts) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        *ret_parts = command->ask.parts;
        return command->ask.part_count;
    case LK_COMMAND_RENEW:
        *ret_parts = command->renew.target.parts;
        return command->renew.target.part_count;
    case LK_COMMAND_RELEASE:
        *ret_parts = command->release.target.parts;
        return command->release.target.part_count;
    case LK_COMMAND_BREAK:
    case LK_COMMAND_TICK:
    case LK_COMMAND_PUT:
    case LK_COMMAND_PUSH:
    case LK_COMMAND_TAKE:
    case LK_COMMAND_FINISH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
    case LK_COMMAND_LEAVE:
        break;
    }
    *ret_parts = NULL;
    return 0;
}

/* Of several answers: unknown outweighs lost, and lost outweighs every other. */
static unsigned weight_of(lk_outcome outcome) {
    switch (outcome) {
    case LK_OK:
        return 0;
    case LK_LOST:
        return 2;
    case LK_UNAVAILABLE:
    case LK_CANCELLED:
        return 3;
    default:
        return 1;
    }
}

/* Keeps of two answers the one that weighs more; of equal ones that of the first part. */
static void merge(struct lk_decision *one, bool is_first, struct lk_decision *decision) {
    unsigned weight = weight_of(one->error.outcome);
    unsigned weight_so_far = weight_of(decision->error.outcome);
    int64_t so_far_ms = decision->result.expires_in_ms;
    int64_t left_ms = one->result.expires_in_ms;

    if (decision->error.outcome == LK_OK && so_far_ms >= 0 && so_far_ms < left_ms) {
        left_ms = so_far_ms;
    }
    if (weight > weight_so_far || (weight == weight_so_far && is_first)) {
        lk_decision_done(decision);
        *decision = *one;
        lk_decision_begin(one, NULL);
    }
    if (decision->error.outcome == LK_OK) {
        decision->result.expires_in_ms = left_ms;
    }
    lk_decision_done(one);
}

/* Renews or releases at one node. */
static lk_outcome call_node(struct lk_engine *engine, struct lk_split *split, size_t at,
                            const struct lk_command *whole, const struct lk_patience *patience,
                            struct lk_decision *decision) {
    const struct lk_command one = lk_split_command(split, at, whole);

    return engine->ops->decide(engine, &one, patience, decision);
}

/* A share of the time that is left, with `left` nodes to come. */
static struct lk_patience share_of(const struct lk_patience *whole, size_t left, int64_t max_us) {
    int64_t now_us = lk_clock_now_us();
    int64_t share_us = (whole->until_us - now_us) / ((int64_t)left + 1);

    share_us = share_us < max_us ? share_us : max_us;
    return (struct lk_patience){.until_us = now_us + share_us, .waker = whole->waker};
}

/*
 * Every node is called, even if one fails (R14): first each for a short time, then those that were
 * not reached for as long as the patience lasts. The first release may have been carried out
 * although its answer was lost. So if the second is answered LOST, the outcome stays unknown.
 */
static lk_outcome call_nodes(struct lk_engine *engine, struct lk_split *split,
                             const struct lk_command *command, const struct lk_patience *patience,
                             struct lk_decision *decision) {
    struct lk_decision answers[LK_PARTS_MAX];

    for (size_t i = 0; i < split->count; i++) {
        const struct lk_patience share = share_of(patience, split->count - i, FIRST_US_MAX);

        (void)call_node(engine, split, i, command, &share, &answers[i]);
    }
    for (size_t i = 0; i < split->count; i++) {
        struct lk_decision again;

        if (answers[i].error.outcome != LK_UNAVAILABLE || lk_clock_now_us() >= patience->until_us) {
            continue;
        }
        if (call_node(engine, split, i, command, patience, &again) == LK_LOST
            && command->kind == LK_COMMAND_RELEASE) {
            lk_decision_done(&again);
        } else {
            lk_decision_done(&answers[i]);
            answers[i] = again;
        }
    }
    for (size_t i = 0; i < split->count; i++) {
        merge(&answers[i], i == split->first, decision);
    }
    return decision->error.outcome;
}

lk_outcome lk_batch_decide(struct lk_engine *engine, const struct lk_command *command,
                           const struct lk_patience *patience, struct lk_decision *ret_decision) {
    const struct lk_part *parts;
    size_t count = parts_of(command, &parts);
    struct lk_split *split;
    lk_outcome outcome;

    if (!lk_split_is_needed(engine, parts, count)) {
        return engine->ops->decide(engine, command, patience, ret_decision);
    }
    lk_decision_begin(ret_decision, command);
    split = lk_split_make(engine, parts, count);
    if (split == NULL) {
        return no_memory(ret_decision);
    }
    outcome = call_nodes(engine, split, command, patience, ret_decision);
    free(split);
    return outcome;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The model as a whole: creation, step, answers. */
#include "model/model.h"

#include <stdio.h>

#include "base/error.h"
#include "model/grant.h"
#include "model/steps.h"
#include "model/storage.h"
#include "model/work.h"

struct lk_model *lk_model_new(const struct lk_model_config *config) {
    const struct lk_allocator *allocator =
        config != NULL && config->allocator != NULL ? config->allocator : &lk_allocator_libc;
    struct lk_model *model = allocator->resize(allocator->context, NULL, sizeof *model);

    if (model == NULL) {
        return NULL;
    }
    memset(model, 0, sizeof *model);
    model->allocator = allocator;
    model->wall_ahead_us = config != NULL ? config->wall_ahead_us : 0;
    lk_pool_init(&model->nodes, allocator, sizeof(struct lk_node));
    lk_pool_init(&model->roots, allocator, sizeof(struct lk_root));
    lk_pool_init(&model->requests, allocator, sizeof(struct lk_model_request));
    lk_pool_init(&model->entries, allocator, sizeof(struct lk_part_entry));
    lk_pool_init(&model->owners, allocator, sizeof(struct lk_owner));
    lk_pool_init(&model->waits, allocator, sizeof(struct lk_waits));
    lk_pool_init(&model->queues, allocator, sizeof(struct lk_wait_queue));
    lk_pool_init(&model->queue_entries, allocator, sizeof(struct lk_queue_entry));
    lk_pool_init(&model->values, allocator, sizeof(struct lk_kept_value));
    lk_pool_init(&model->items, allocator, sizeof(struct lk_item));
    lk_pool_init(&model->works, allocator, sizeof(struct lk_work));
    lk_pool_init(&model->groups, allocator, sizeof(struct lk_group));
    lk_index_init(&model->value_index, allocator);
    lk_index_init(&model->item_index, allocator);
    lk_index_init(&model->work_index, allocator);
    lk_index_init(&model->claim_index, allocator);
    lk_index_init(&model->group_index, allocator);
    lk_index_init(&model->head_index, allocator);
    lk_index_init(&model->node_index, allocator);
    lk_index_init(&model->request_index, allocator);
    lk_index_init(&model->owner_index, allocator);
    lk_deadlines_init(&model->deadlines, allocator);
    lk_ended_init(&model->ended, allocator,
                  config != NULL && config->ended_max != 0 ? config->ended_max
                                                           : LK_ENDED_MAX_DEFAULT);
    model->idle_max = config != NULL && config->idle_queues_max != 0 ? config->idle_queues_max
                                                                     : LK_IDLE_QUEUES_MAX_DEFAULT;
    model->next_id = 1;
    model->mark = 1;
    model->effects.answer.text = model->text;
    if (config != NULL) {
        model->quotas = config->quotas;
        model->hash_seed = config->hash_seed;
    }
    return model;
}

/* Frees what a pool's items own beside themselves: notes and long names. */
static void free_far_bytes(struct lk_model *model) {
    for (uint32_t i = 0; i < model->deadlines.count; i++) {
        lk_note_free(model, lk_request_at(model, model->deadlines.ids[i])->note);
    }
    for (uint32_t i = 0; i < model->owner_index.slot_count; i++) {
        if (model->owner_index.slots[i].id != 0) {
            lk_name_done(&lk_owner_at(model, model->owner_index.slots[i].id)->name,
                         model->allocator);
        }
    }
    for (uint32_t i = 0; i < model->node_index.slot_count; i++) {
        if (model->node_index.slots[i].id != 0) {
            lk_name_done(&lk_node_at(model, model->node_index.slots[i].id)->name, model->allocator);
        }
    }
}

void lk_model_free(struct lk_model *model) {
    if (model == NULL) {
        return;
    }
    lk_requests_bury(model);
    lk_keep_bury(model);
    lk_keep_done(model);
    free_far_bytes(model);
    lk_index_done(&model->value_index);
    lk_index_done(&model->item_index);
    lk_index_done(&model->work_index);
    lk_index_done(&model->claim_index);
    lk_index_done(&model->group_index);
    lk_index_done(&model->head_index);
    lk_index_done(&model->node_index);
    lk_index_done(&model->request_index);
    lk_index_done(&model->owner_index);
    lk_deadlines_done(&model->deadlines);
    lk_ended_done(&model->ended);
    lk_pool_done(&model->nodes);
    lk_pool_done(&model->roots);
    lk_pool_done(&model->requests);
    lk_pool_done(&model->entries);
    lk_pool_done(&model->owners);
    lk_pool_done(&model->waits);
    lk_pool_done(&model->queues);
    lk_pool_done(&model->queue_entries);
    lk_pool_done(&model->values);
    lk_pool_done(&model->items);
    lk_pool_done(&model->works);
    lk_pool_done(&model->groups);
    model->allocator->resize(model->allocator->context, model->changes, 0);
    model->allocator->resize(model->allocator->context, model->scratch, 0);
    model->allocator->resize(model->allocator->context, model, 0);
}

/* ---- answers and checks that the steps share ---- */

void lk_answer(struct lk_model *model, lk_outcome outcome, lk_id request) {
    model->effects.answer.outcome = outcome;
    model->effects.answer.request = request;
}

void lk_answer_exhausted(struct lk_model *model) {
    lk_answer(model, LK_INTERNAL, 0);
    snprintf(model->text, sizeof model->text, "memory is exhausted; nothing was changed");
}

void lk_answer_invalid(struct lk_model *model, const lk_error *error) {
    lk_answer(model, LK_INVALID, 0);
    memcpy(model->text, error->text, sizeof model->text);
}

bool lk_check_names(struct lk_model *model, struct lk_slice owner, const struct lk_part *parts,
                    size_t count) {
    lk_error error;

    if (lk_identity_check(owner, &error) == LK_OK
        && lk_parts_check(parts, count, &error) == LK_OK) {
        return true;
    }
    lk_answer_invalid(model, &error);
    return false;
}

bool lk_check_ttl(struct lk_model *model, int64_t ttl_ms) {
    lk_error error;

    if (lk_ttl_check(ttl_ms, &error) == LK_OK) {
        return true;
    }
    lk_answer_invalid(model, &error);
    return false;
}

bool lk_check_puts(struct lk_model *model, const struct lk_release *release) {
    lk_error error;

    if (lk_release_check(release, &error) == LK_OK) {
        return true;
    }
    lk_answer_invalid(model, &error);
    return false;
}

/* ---- the step ---- */

static void reset_effects(struct lk_model *model) {
    lk_requests_bury(model);
    lk_keep_bury(model);
    model->step_mark++;
    model->effects = (struct lk_effects){
        .answer = {.blockers = model->blockers, .text = model->text}, .changes = model->changes};
    model->text[0] = '\0';
}

/* After a restore: grants requests that have become grantable while no step was taken. */
static bool grant_restored(struct lk_model *model, struct lk_times times) {
    if (model->needs_grant_pass) {
        if (!lk_changes_reserve(model, 0) || !lk_grant_reserve(model, 0)) {
            return false;
        }
        lk_grant_all_waiters(model, times);
        model->needs_grant_pass = false;
    }
    return true;
}

const struct lk_effects *lk_model_step(struct lk_model *model, const struct lk_command *command) {
    struct lk_times times = command->times;

    assert(times.now_us >= model->now_us);
    model->now_us = times.now_us;
    reset_effects(model);
    if (model->waiting == 0) {
        model->may_hide_cycle = false;
    }
    if (!lk_step_perish(model, times) || !grant_restored(model, times)) {
        lk_answer_exhausted(model);
        return &model->effects;
    }
    lk_step_forget_items(model);
    lk_step_forget_queues(model);
    switch (command->kind) {
    case LK_COMMAND_ASK:
        lk_step_ask(model, times, &command->ask);
        break;
    case LK_COMMAND_RENEW:
        lk_step_renew(model, times, &command->renew);
        break;
    case LK_COMMAND_RELEASE:
        lk_step_release(model, times, &command->release);
        break;
    case LK_COMMAND_BREAK:
        lk_step_break(model, times, &command->broken);
        break;
    case LK_COMMAND_PUT:
        lk_step_put(model, &command->put);
        break;
    case LK_COMMAND_PUSH:
        lk_step_push(model, times, &command->push);
        break;
    case LK_COMMAND_TAKE:
        lk_step_take(model, times, &command->take);
        break;
    case LK_COMMAND_FINISH:
        lk_step_finish(model, times, &command->finish);
        break;
    case LK_COMMAND_UNPARK:
        lk_step_unpark(model, &command->unpark);
        break;
    case LK_COMMAND_DROP:
        lk_step_drop(model, &command->drop);
        break;
    case LK_COMMAND_LEAVE:
        lk_step_leave(model, times, &command->leave);
        break;
    case LK_COMMAND_TICK:
        lk_answer(model, LK_OK, 0);
        break;
    }
    assert(model->waiting <= model->live && model->claims <= model->live - model->waiting);
    return &model->effects;
}

int64_t lk_model_next_deadline(const struct lk_model *model) {
    return model->deadlines.count > 0 ? model->deadlines.keys[0] : LK_NEVER;
}

void lk_model_set_quotas(struct lk_model *model, const struct lk_quotas *quotas) {
    model->quotas = *quotas;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the steps about values and work. A step names an item by its path, QUEUE/ID. A claim is
 * remembered as the lease on that path that it is, and so is the moment at which a delay is over:
 * both are deadlines that the machine must not pass behind the scenario's back.
 */
#include "work.h"

#include <string.h>

#include "judge.h"

enum { ITEM_TEXT_MAX = 1024 };

/* QUEUE and ID of a path; a path of one segment is an id without a queue. */
struct item_name {
    char queue[ITEM_TEXT_MAX];
    const char *id;
};

static bool item_name_of(const struct step *step, struct item_name *ret_name,
                         struct complaint *complaint) {
    const char *path = step->parts[0];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) >= sizeof ret_name->queue) {
        return complain(complaint, "an item is named QUEUE/ID, not '%.40s'", path);
    }
    memcpy(ret_name->queue, path, (size_t)(slash - path));
    ret_name->queue[slash - path] = '\0';
    ret_name->id = slash + 1;
    return true;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static struct witness_record *record_of(struct scene *scene, const char *owner, const char *path) {
    return witness_find(&scene->witness, owner != NULL ? owner : "", &path, 1);
}

static void promise(struct scene *scene, struct witness_record *record, int64_t duration_ms,
                    int64_t called_us) {
    if (duration_ms < STRETCHED_FROM_MS) {
        witness_forget_promise(record); /* too short to be watched: nothing may depend on it */
    } else {
        witness_promise(record, scene->now_ms, duration_ms, called_us + duration_ms * 1000);
    }
}

/* When an item's delay is over; no owner has this name. */
static void promise_due(struct scene *scene, const struct step *step, int64_t called_us) {
    int64_t delay_ms = stretched(step->options.delay_ms, scene->stretch);
    if (delay_ms > 0) {
        promise(scene, record_of(scene, "", step->parts[0]), delay_ms, called_us);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool play_value(struct scene *scene, const struct step *step, lk_store *store,
                       struct complaint *complaint) {
    const char *text = step->options.with;
    lk_error error = {0};
    lk_value *value = NULL;
    uint64_t token;
    struct sight sight = {.error = error.text, .expires_in_ms = -1};

    if (!scene_token(scene, step->options.token, &token, complaint)) {
        return false;
    }
    if (step->kind == STEP_READ) {
        sight.outcome = lk_value_get(store, step->parts[0], &value, &error);
    } else if (step->kind == STEP_PUT && text == NULL) {
        return complain(complaint, "puts PATH with what?");
    } else {
        sight.outcome = lk_value_put(store, step->parts[0], scene_owner(scene, step->owner), token,
                                     step->kind == STEP_PUT ? text : NULL,
                                     step->kind == STEP_PUT ? strlen(text) : 0, &error);
    }
    if (value != NULL) {
        sight.value = value->bytes;
        sight.value_size = value->size;
        sight.in_doubt = value->in_doubt;
    }
    bool as_expected = scene_judge(scene, step, &sight, complaint);
    lk_value_free(value);
    return as_expected;
}

/* ---- work ------------------------------------------------------------------------------------ */

static bool play_push(struct scene *scene, const struct step *step, lk_store *store,
                      struct complaint *complaint) {
    const struct step_options *options = &step->options;
    struct item_name name;
    lk_error error = {0};
    struct sight sight = {.error = error.text, .expires_in_ms = -1};
    int64_t called_us = scene_now_us();

    if (!item_name_of(step, &name, complaint)) {
        return false;
    }
    lk_push_request request = {
        .size = sizeof request,
        .queue = name.queue,
        .id = name.id,
        .value = options->with,
        .value_size = options->with != NULL ? strlen(options->with) : 0,
        .delay_ms = stretched(options->delay_ms, scene->stretch),
        .needs = options->needs,
        .need_count = options->need_count,
    };
    sight.outcome = lk_push(store, &request, &sight.added, &error);
    if (sight.outcome == LK_OK && sight.added) {
        promise_due(scene, step, called_us);
    }
    return scene_judge(scene, step, &sight, complaint);
}

static lk_claim_request claim_request_of(const struct scene *scene, const struct step *step) {
    const struct step_options *options = &step->options;
    return (lk_claim_request){
        .size = sizeof(lk_claim_request),
        .queue = step->parts[0],
        .owner = scene_owner(scene, step->owner),
        .wait_ms = options->wait_ms > 0 ? stretched(options->wait_ms, scene->stretch) : 0,
        .ttl_ms = stretched(options->ttl_ms, scene->stretch),
        .max_attempts = options->max_attempts,
        .note = options->note,
    };
}

/* A claim is a lease on `*path`: its draws rise, and it perishes, as those of every other. */
static void see_claim(struct sight *sight, const lk_claim_info *claim, char **path) {
    sight->owner = claim->owner;
    sight->paths = path;
    sight->path_count = 1;
    sight->ticket = claim->token;
    sight->token = claim->token;
    sight->created = true;
    sight->ttl_ms = claim->ttl_ms;
    sight->expires_in_ms = claim->expires_in_ms;
    sight->item = claim->id;
    sight->attempt = claim->attempt;
    sight->stolen = claim->is_stolen;
    sight->value = claim->value;
    sight->value_size = claim->value_size;
}

static bool play_claim(struct scene *scene, const struct step *step, lk_store *store,
                       struct complaint *complaint) {
    lk_claim_request request = claim_request_of(scene, step);
    lk_claim_info *claim = NULL;
    lk_error error = {0};
    char text[ITEM_TEXT_MAX] = "";
    char *path = text;
    struct sight sight = {.error = error.text, .expires_in_ms = -1};
    int64_t called_us = scene_now_us();

    sight.outcome = lk_claim_next(store, &request, &claim, &error);
    if (request.wait_ms > 0) {
        /* A call that blocks moves the scenario's clock by as long as it took. */
        scene->now_ms += (scene_now_us() - called_us) / 1000;
        called_us = scene_now_us();
        witness_let_pass(&scene->witness, called_us);
    }
    if (claim != NULL) {
        (void)snprintf(text, sizeof text, "%s/%s", claim->queue, claim->id);
        see_claim(&sight, claim, &path);
        promise(scene, record_of(scene, claim->owner, path), claim->ttl_ms, called_us);
    }
    bool as_expected = scene_judge(scene, step, &sight, complaint);
    lk_claim_free(claim);
    return as_expected;
}

/* done, retry, unpark */
static bool play_finish(struct scene *scene, const struct step *step, lk_store *store,
                        struct complaint *complaint) {
    const char *owner = scene_owner(scene, step->owner);
    struct item_name name;
    uint64_t token;
    lk_error error = {0};
    struct sight sight = {.error = error.text, .expires_in_ms = -1};
    int64_t called_us = scene_now_us();

    if (!item_name_of(step, &name, complaint)
        || !scene_token(scene, step->options.token, &token, complaint)) {
        return false;
    }
    switch (step->kind) {
    case STEP_DONE:
        sight.outcome = lk_done(store, name.queue, name.id, owner, token, &error);
        break;
    case STEP_RETRY:
        sight.outcome = lk_retry(store, name.queue, name.id, owner, token,
                                 stretched(step->options.delay_ms, scene->stretch), &error);
        break;
    default:
        sight.outcome = lk_unpark(store, name.queue, name.id, &error);
        break;
    }
    if (sight.outcome == LK_OK && step->kind != STEP_UNPARK) {
        witness_forget_promise(record_of(scene, owner, step->parts[0]));
        promise_due(scene, step, called_us);
    }
    return scene_judge(scene, step, &sight, complaint);
}

/* ---- looking --------------------------------------------------------------------------------- */

static bool judge_item(struct scene *scene, const lk_item_info *item,
                       const struct entry_check *expected, struct complaint *complaint) {
    struct judgement judgement = {.witness = &scene->witness, .stretch = scene->stretch};
    const char *expected_owner = scene_owner(scene, expected->owner);
    const char *owner = item->owner != NULL ? item->owner : "nobody";
    struct sight sight = {.outcome = LK_OK,
                          .value = item->value,
                          .value_size = item->value_size,
                          .attempt = item->attempts,
                          .due_in_ms = item->due_in_ms,
                          .expires_in_ms = item->expires_in_ms,
                          .needs = item->needs,
                          .need_count = item->need_count};
    if (strcmp(item->id, expected->part) != 0 || strcmp(item->state, expected->state) != 0
        || strcmp(owner, expected_owner != NULL ? expected_owner : "nobody") != 0) {
        return complain(complaint, "expected %s %s, got %s %s by %s", expected->part,
                        expected->state, item->id, item->state, owner);
    }
    return judge(&judgement, &sight, expected->checks, expected->check_count, complaint);
}

static bool judge_items(struct scene *scene, const struct step *step, const lk_item_list *list,
                        struct complaint *complaint) {
    if (list->count != step->entry_count) {
        return complain(complaint, "expected %zu lines, got %zu", step->entry_count, list->count);
    }
    for (size_t i = 0; i < list->count; i++) {
        struct complaint inner;
        if (!judge_item(scene, &list->items[i], &step->entries[i], &inner)) {
            return complain(complaint, "line %zu: %.280s", i + 1, inner.text);
        }
    }
    return true;
}

static bool play_items(struct scene *scene, const struct step *step, lk_store *store,
                       struct complaint *complaint) {
    lk_item_list *list = NULL;
    lk_error error = {0};
    struct sight sight = {.error = error.text, .expires_in_ms = -1};

    sight.outcome = lk_items(store, step->parts[0], &list, &error);
    bool as_expected = scene_judge(scene, step, &sight, complaint)
                       && (list == NULL || judge_items(scene, step, list, complaint));
    lk_item_list_free(list);
    return as_expected;
}

static bool play_counts(struct scene *scene, const struct step *step, lk_store *store,
                        struct complaint *complaint) {
    lk_queue_stats stats;
    lk_error error = {0};
    struct sight sight = {.error = error.text, .expires_in_ms = -1};

    sight.outcome = lk_stats(store, step->parts[0], &stats, &error);
    sight.stats = sight.outcome == LK_OK ? &stats : NULL;
    return scene_judge(scene, step, &sight, complaint);
}

bool work_play(struct scene *scene, const struct step *step, struct complaint *complaint) {
    lk_store *store = stage_store(&scene->stage, step->owner, complaint);
    if (store == NULL) {
        return false;
    }
    switch (step->kind) {
    case STEP_PUT:
    case STEP_DELETE:
    case STEP_READ:
        return play_value(scene, step, store, complaint);
    case STEP_PUSH:
        return play_push(scene, step, store, complaint);
    case STEP_CLAIM:
        return play_claim(scene, step, store, complaint);
    case STEP_ITEMS:
        return play_items(scene, step, store, complaint);
    case STEP_COUNTS:
        return play_counts(scene, step, store, complaint);
    default:
        return play_finish(scene, step, store, complaint);
    }
}

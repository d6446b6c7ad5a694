/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the steps about values and work. A step names an item by its path, QUEUE/ID. A claim is
 * remembered as the lease on that path that it is, and so is the moment at which a delay is over:
 * both are deadlines that the machine must not pass behind the scenario's back.
 */
#include <string.h>

#include "observed.h"
#include "playback.h"

bool item_name_of(const char *path, struct item_name *ret_name, struct complaint *complaint) {
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

static struct observed_record *record_of(struct playback *playback, const char *owner,
                                         const char *path) {
    return observed_find(&playback->observed, owner != NULL ? owner : "", &path, 1);
}

static void promise(struct playback *playback, struct observed_record *record, int64_t duration_ms,
                    int64_t called_us) {
    if (duration_ms < STRETCHED_FROM_MS) {
        observed_forget_promise(record); /* too short to be watched: nothing may depend on it */
    } else {
        observed_promise(record, playback->now_ms, duration_ms, called_us + duration_ms * 1000);
    }
}

void item_promise_due(struct playback *playback, const struct step *step, const char *path,
                      int64_t called_us) {
    int64_t delay_ms = stretched(step->options.delay_ms, playback->stretch);
    if (delay_ms > 0) {
        promise(playback, record_of(playback, "", path), delay_ms, called_us);
    }
}

void claim_promise(struct playback *playback, const lk_claim_info *claim, const char *path,
                   int64_t called_us) {
    promise(playback, record_of(playback, claim->owner, path), claim->ttl_ms, called_us);
}

void claim_forget_promise(struct playback *playback, const char *owner, const char *path) {
    observed_forget_promise(record_of(playback, owner, path));
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool play_value(struct playback *playback, const struct step *step, lk_store *store,
                       struct complaint *complaint) {
    const char *text = step->options.with;
    lk_error error = {0};
    lk_value *value = NULL;
    uint64_t token;
    struct observation observation = {.error = error.text, .expires_in_ms = -1};

    if (!playback_token(playback, step->options.token, &token, complaint)) {
        return false;
    }
    if (step->kind == STEP_READ) {
        observation.outcome = lk_value_get(store, step->parts[0], &value, &error);
    } else if (step->kind == STEP_PUT && text == NULL) {
        return complain(complaint, "puts PATH with what?");
    } else {
        observation.outcome =
            lk_value_put(store, step->parts[0], playback_owner(playback, step->owner), token,
                         step->kind == STEP_PUT ? text : NULL,
                         step->kind == STEP_PUT ? strlen(text) : 0, &error);
    }
    if (value != NULL) {
        observation.value = value->bytes;
        observation.value_size = value->size;
        observation.in_doubt = value->in_doubt;
    }
    bool as_expected = playback_compare(playback, step, &observation, complaint);
    lk_value_free(value);
    return as_expected;
}

/* ---- work ------------------------------------------------------------------------------------ */

lk_push_request push_request_of(const struct playback *playback, const struct step *step,
                                const struct item_name *name) {
    const struct step_options *options = &step->options;
    return (lk_push_request){
        .size = sizeof(lk_push_request),
        .queue = name->queue,
        .id = name->id,
        .value = options->with,
        .value_size = options->with != NULL ? strlen(options->with) : 0,
        .delay_ms = stretched(options->delay_ms, playback->stretch),
        .needs = options->needs,
        .need_count = options->need_count,
        .priority = (int32_t)options->priority,
        .again = options->again,
        .replaces = options->replacing,
        .keep_ms = stretched(options->keep_ms, playback->stretch),
    };
}

static bool play_push(struct playback *playback, const struct step *step, lk_store *store,
                      struct complaint *complaint) {
    struct item_name name;
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    int64_t called_us = playback_now_us();

    if (!item_name_of(step->parts[0], &name, complaint)) {
        return false;
    }
    lk_push_request request = push_request_of(playback, step, &name);
    lk_push_result result = {.was = NULL};
    observation.outcome = lk_push_item(store, &request, &result, &error);
    observation.added = result.added;
    observation.changed = result.changed;
    observation.was = result.was;
    if (observation.outcome == LK_OK && (result.added || result.changed)) {
        item_promise_due(playback, step, step->parts[0], called_us);
    }
    return playback_compare(playback, step, &observation, complaint);
}

lk_claim_request claim_request_of(const struct playback *playback, const struct step *step) {
    const struct step_options *options = &step->options;
    return (lk_claim_request){
        .size = sizeof(lk_claim_request),
        .queue = step->parts[0],
        .owner = playback_owner(playback, step->owner),
        .wait_ms = options->wait_ms > 0 ? stretched(options->wait_ms, playback->stretch) : 0,
        .ttl_ms = stretched(options->ttl_ms, playback->stretch),
        .max_attempts = options->max_attempts,
        .note = options->note,
    };
}

void claim_see(struct observation *observation, const lk_claim_info *claim, char **path) {
    observation->owner = claim->owner;
    observation->paths = path;
    observation->path_count = 1;
    observation->ticket = claim->token;
    observation->token = claim->token;
    observation->created = true;
    observation->ttl_ms = claim->ttl_ms;
    observation->expires_in_ms = claim->expires_in_ms;
    observation->item = claim->id;
    observation->attempt = claim->attempt;
    observation->stolen = claim->is_stolen;
    observation->value = claim->value;
    observation->value_size = claim->value_size;
}

static bool play_claim(struct playback *playback, const struct step *step, lk_store *store,
                       struct complaint *complaint) {
    lk_claim_request request = claim_request_of(playback, step);
    lk_claim_info *claim = NULL;
    lk_error error = {0};
    char text[ITEM_TEXT_MAX] = "";
    char *path = text;
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    int64_t called_us = playback_now_us();

    observation.outcome = lk_claim_next(store, &request, &claim, &error);
    if (request.wait_ms > 0) {
        /* A call that blocks moves the scenario's clock by as long as it took. */
        playback->now_ms += (playback_now_us() - called_us) / 1000;
        called_us = playback_now_us();
        observed_let_pass(&playback->observed, called_us);
    }
    if (claim != NULL) {
        (void)snprintf(text, sizeof text, "%s/%s", claim->queue, claim->id);
        claim_see(&observation, claim, &path);
        claim_promise(playback, claim, path, called_us);
    }
    bool as_expected = playback_compare(playback, step, &observation, complaint);
    lk_claim_free(claim);
    return as_expected;
}

static lk_outcome retry(const struct playback *playback, const struct step *step, lk_store *store,
                        const struct item_name *name, uint64_t token, lk_error *error) {
    const struct step_options *options = &step->options;
    const lk_retry_request request = {
        .size = sizeof request,
        .queue = name->queue,
        .id = name->id,
        .owner = playback_owner(playback, step->owner),
        .token = token,
        .delay_ms = stretched(options->delay_ms, playback->stretch),
        .has_exit = options->exit_said,
        .exit_code = (int32_t)options->exit_code,
        .error = options->error,
        .error_size = options->error != NULL ? strlen(options->error) : 0,
        .uncounted = options->uncounted,
        .parks = options->parks,
    };
    return lk_retry_failed(store, &request, error);
}

static lk_outcome done(const struct playback *playback, const struct step *step, lk_store *store,
                       const struct item_name *name, uint64_t token, lk_error *error) {
    const char *result = step->options.with;
    const lk_done_request request = {
        .size = sizeof request,
        .queue = name->queue,
        .id = name->id,
        .owner = playback_owner(playback, step->owner),
        .token = token,
        .result = result,
        .result_size = result != NULL ? strlen(result) : 0,
        .keep_ms = stretched(step->options.keep_ms, playback->stretch),
    };
    return lk_done_item(store, &request, error);
}

static lk_outcome tell(const struct playback *playback, const struct step *step, lk_store *store,
                       const struct item_name *name, uint64_t token, lk_error *error) {
    const char *text = step->options.with;
    return lk_progress(store, name->queue, name->id, playback_owner(playback, step->owner), token,
                       text, text != NULL ? strlen(text) : 0, error);
}

/* done, progress, retry, unpark */
static bool play_finish(struct playback *playback, const struct step *step, lk_store *store,
                        struct complaint *complaint) {
    const char *owner = playback_owner(playback, step->owner);
    struct item_name name;
    uint64_t token;
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    int64_t called_us = playback_now_us();

    if (!item_name_of(step->parts[0], &name, complaint)
        || !playback_token(playback, step->options.token, &token, complaint)) {
        return false;
    }
    switch (step->kind) {
    case STEP_DONE:
        observation.outcome = done(playback, step, store, &name, token, &error);
        break;
    case STEP_TELL:
        observation.outcome = tell(playback, step, store, &name, token, &error);
        break;
    case STEP_RETRY:
        observation.outcome = retry(playback, step, store, &name, token, &error);
        break;
    default:
        observation.outcome = lk_unpark(store, name.queue, name.id, &error);
        break;
    }
    if (observation.outcome == LK_OK && (step->kind == STEP_DONE || step->kind == STEP_RETRY)) {
        claim_forget_promise(playback, owner, step->parts[0]);
        item_promise_due(playback, step, step->parts[0], called_us);
    }
    return playback_compare(playback, step, &observation, complaint);
}

/* ---- looking --------------------------------------------------------------------------------- */

static bool compare_item(struct playback *playback, const lk_item_info *item,
                         const struct entry_check *expected, struct complaint *complaint) {
    struct comparison comparison = {.observed = &playback->observed, .stretch = playback->stretch};
    const char *expected_owner = playback_owner(playback, expected->owner);
    const char *owner = item->owner != NULL ? item->owner : "no owner";
    struct observation observation = {.outcome = LK_OK,
                                      .value = item->value,
                                      .value_size = item->value_size,
                                      .attempt = item->attempts,
                                      .due_in_ms = item->due_in_ms,
                                      .expires_in_ms = item->expires_in_ms,
                                      .needs = item->needs,
                                      .need_count = item->need_count,
                                      .priority = item->priority,
                                      .has_exit = item->has_last_exit,
                                      .exit_code = item->last_exit,
                                      .last_error = item->last_error,
                                      .progress = item->progress};
    if (strcmp(item->id, expected->part) != 0 || strcmp(item->state, expected->state) != 0
        || strcmp(owner, expected_owner != NULL ? expected_owner : "no owner") != 0) {
        return complain(complaint, "expected %s %s, got %s %s by %s", expected->part,
                        expected->state, item->id, item->state, owner);
    }
    return compare(&comparison, &observation, expected->checks, expected->check_count, complaint);
}

static bool compare_items(struct playback *playback, const struct step *step,
                          const lk_item_list *list, struct complaint *complaint) {
    if (list->count != step->entry_count) {
        return complain(complaint, "expected %zu lines, got %zu", step->entry_count, list->count);
    }
    for (size_t i = 0; i < list->count; i++) {
        struct complaint inner;
        if (!compare_item(playback, &list->items[i], &step->entries[i], &inner)) {
            return complain(complaint, "line %zu: %.280s", i + 1, inner.text);
        }
    }
    return true;
}

/* What is read of one item is what was listed of it; of a missing one nothing. */
static bool get_listed(lk_store *store, const char *queue, const lk_item_info *item,
                       struct complaint *complaint) {
    lk_item_list *list = NULL;
    lk_error error = {0};
    lk_outcome outcome = lk_item_get(store, queue, item->id, &list, &error);
    bool is_same = outcome == LK_OK && list->count == 1 && strcmp(list->items[0].id, item->id) == 0
                   && strcmp(list->items[0].state, item->state) == 0
                   && list->items[0].value_size == item->value_size
                   && list->items[0].attempts == item->attempts;
    lk_item_list_free(list);
    return is_same
           || complain(complaint, "%s by itself: %s %.200s", item->id, lk_outcome_name(outcome),
                       error.text);
}

static bool get_each(lk_store *store, const char *queue, const lk_item_list *list,
                     struct complaint *complaint) {
    lk_item_list *found = NULL;
    lk_outcome outcome = lk_item_get(store, queue, "no-such-item", &found, NULL);

    lk_item_list_free(found);
    if (outcome != LK_NONE) {
        return complain(complaint, "an item that is not there: %s", lk_outcome_name(outcome));
    }
    for (size_t i = 0; i < list->count; i++) {
        if (!get_listed(store, queue, &list->items[i], complaint)) {
            return false;
        }
    }
    return true;
}

static bool play_items(struct playback *playback, const struct step *step, lk_store *store,
                       struct complaint *complaint) {
    lk_item_list *list = NULL;
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};

    observation.outcome = lk_items(store, step->parts[0], &list, &error);
    bool as_expected = playback_compare(playback, step, &observation, complaint)
                       && (list == NULL
                           || (compare_items(playback, step, list, complaint)
                               && get_each(store, step->parts[0], list, complaint)));
    lk_item_list_free(list);
    return as_expected;
}

static bool play_counts(struct playback *playback, const struct step *step, lk_store *store,
                        struct complaint *complaint) {
    lk_queue_stats stats;
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};

    observation.outcome = lk_stats(store, step->parts[0], &stats, &error);
    observation.stats = observation.outcome == LK_OK ? &stats : NULL;
    return playback_compare(playback, step, &observation, complaint);
}

/* An administrator cancels an item; `count`: whether it is claimed. */
static bool play_remove(struct playback *playback, const struct step *step, lk_store *store,
                        struct complaint *complaint) {
    struct item_name name;
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    bool is_claimed = false;

    if (!item_name_of(step->parts[0], &name, complaint)) {
        return false;
    }
    const lk_cancel_request request = {.size = sizeof request,
                                       .queue = name.queue,
                                       .id = name.id,
                                       .reason = step->options.reason,
                                       .by = step->owner,
                                       .at_once = step->options.at_once};
    observation.outcome = lk_cancel_item(store, &request, &is_claimed, &error);
    observation.count = is_claimed;
    return playback_compare(playback, step, &observation, complaint);
}

bool work_play(struct playback *playback, const struct step *step, struct complaint *complaint) {
    lk_store *store = handles_store(&playback->handles, step->owner, complaint);
    if (store == NULL) {
        return false;
    }
    if (is_about_several(step)) {
        return series_play(playback, step, store, complaint);
    }
    switch (step->kind) {
    case STEP_PUT:
    case STEP_DELETE:
    case STEP_READ:
        return play_value(playback, step, store, complaint);
    case STEP_VALUES:
        return value_list_play(playback, step, store, complaint);
    case STEP_PUSH:
        return play_push(playback, step, store, complaint);
    case STEP_CLAIM:
        return play_claim(playback, step, store, complaint);
    case STEP_ITEMS:
        return play_items(playback, step, store, complaint);
    case STEP_COUNTS:
        return play_counts(playback, step, store, complaint);
    case STEP_REMOVE:
        return play_remove(playback, step, store, complaint);
    default:
        return play_finish(playback, step, store, complaint);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays a scenario in real time, through the public header alone, because every kind of store has
 * that in common, those in other processes too, and because blocking waits are the library's.
 *
 * Real time must not make a scenario fail: the scenario has a clock of its own that only its pauses
 * move. When the machine's clock passes a deadline that lies ahead on the scenario's, the machine
 * was too slow between two steps, the verdict is VERDICT_TOO_SLOW, and the caller plays it
 * again with the short durations stretched.
 */
#include "play.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "follow.h"
#include "judge.h"
#include "look.h"
#include "scene.h"
#include "work.h"

enum {
    PATIENCE_MS = 60000, /* for what must come, unless it is a defect */
    POLL_US = 2000,
    DESCRIPTION_MAX = 900,
};

int64_t scene_now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t unix_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_us(int64_t duration_us) {
    struct timespec left = {.tv_sec = (time_t)(duration_us / 1000000),
                            .tv_nsec = (long)(duration_us % 1000000 * 1000)};
    while (nanosleep(&left, &left) != 0) {
    }
}

const char *scene_owner(const struct scene *scene, const char *name) {
    const struct witness_name *kept = name != NULL ? witness_kept(&scene->witness, name) : NULL;
    return kept != NULL && kept->text != NULL ? kept->text : name;
}

bool scene_token(const struct scene *scene, const char *name, uint64_t *ret_token,
                 struct complaint *complaint) {
    *ret_token = 0;
    if (name == NULL) {
        return true;
    }
    const struct witness_name *kept = witness_kept(&scene->witness, name);
    if (kept == NULL || kept->token == 0) {
        return complain(complaint, "no token was kept as %s", name);
    }
    *ret_token = kept->token;
    return true;
}

static struct witness_record *record_of(struct scene *scene, const struct step *step) {
    const char *owner = scene_owner(scene, step->owner);
    return witness_find(&scene->witness, owner != NULL ? owner : "", step->parts, step->part_count);
}

static lk_request request_of(const struct scene *scene, const struct step *step) {
    const struct step_options *options = &step->options;
    lk_request request = lk_request_init(step->parts, step->part_count);
    request.owner = scene_owner(scene, step->owner);
    request.style = step->kind == STEP_TRY ? LK_TRY : step->kind == STEP_ASK ? LK_QUEUE : LK_WAIT;
    request.ttl_ms = stretched(options->ttl_ms, scene->stretch);
    if (options->until_said) {
        request.until_unix_ms = unix_ms() + stretched(options->until_ms, scene->stretch);
    }
    if (options->wait_ms >= 0) {
        request.wait_ms = stretched(options->wait_ms, scene->stretch);
    }
    request.shared = options->shared;
    request.limit = options->limit;
    request.units = options->units;
    request.note = options->note;
    request.value = options->value;
    if (options->blockers >= 0) {
        request.blockers_max = (size_t)options->blockers;
    }
    return request;
}

static struct sight sight_of(const struct answer *answer, bool blockers_asked) {
    const lk_result *result = answer->result;
    struct sight sight = {.outcome = answer->outcome,
                          .error = answer->error.text,
                          .blockers_asked = blockers_asked,
                          .expires_in_ms = -1};
    if (result == NULL) {
        return sight;
    }
    if (result->error != NULL && result->error[0] != '\0') {
        sight.error = result->error;
    }
    sight.owner = result->owner;
    sight.paths = result->paths;
    sight.path_count = result->path_count;
    sight.ticket = result->ticket;
    sight.token = result->token;
    sight.ttl_ms = result->ttl_ms;
    sight.expires_in_ms = result->expires_in_ms;
    sight.in_use = result->in_use;
    sight.position = result->position;
    sight.created = result->created;
    sight.fixed = result->fixed;
    sight.blockers = result->blockers;
    sight.blocker_count = result->blocker_count;
    sight.cycle = result->cycle;
    sight.cycle_count = result->cycle_count;
    sight.value = result->value;
    sight.value_size = result->value_size;
    sight.in_doubt = result->in_doubt;
    return sight;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool make_call(struct scene *scene, const struct step *step, const lk_request *request,
                      struct answer *ret_answer, struct complaint *complaint) {
    struct answer answer = {0};
    uint64_t token;
    lk_store *store = stage_store(&scene->stage, step->owner, complaint);
    if (store == NULL || !scene_token(scene, step->options.token, &token, complaint)) {
        return false;
    }
    switch (step->kind) {
    case STEP_RENEW:
        answer.outcome = lk_renew(store, request, token, &answer.result, &answer.error);
        break;
    case STEP_RELEASE:
        answer.outcome =
            step->options.with == NULL
                ? lk_release(store, request, token, &answer.result, &answer.error)
                : lk_release_put(store, request, token, step->options.with,
                                 strlen(step->options.with), &answer.result, &answer.error);
        break;
    case STEP_GET:
    case STEP_CANCEL:
        if (!stage_end(&scene->stage, record_of(scene, step), step->kind == STEP_CANCEL,
                       (long)(PATIENCE_MS * scene->stretch), &answer, complaint)) {
            return false;
        }
        break;
    default:
        answer.outcome = lk_ask(store, request, &answer.result, &answer.error);
        break;
    }
    *ret_answer = answer;
    return true;
}

/* Keeps the books of deadlines after a call that began at `called_us`. */
static void keep_books(struct scene *scene, const struct step *step, const lk_request *request,
                       lk_outcome outcome, int64_t called_us) {
    struct witness_record *record = record_of(scene, step);
    int64_t ttl_ms = request->ttl_ms != 0 ? request->ttl_ms : SCENE_TTL_DEFAULT_MS;
    if (step->kind == STEP_GET) {
        ttl_ms = record->ttl_ms; /* as the wait was begun */
    }
    bool known = record->deadline_ms >= 0;
    switch (outcome) {
    case LK_OK:
        if (step->kind == STEP_RELEASE) {
            witness_forget_promise(record);
            return;
        }
        ttl_ms = request->ttl_ms != 0 ? request->ttl_ms : record->ttl_ms;
        break;
    case LK_BUSY:
    case LK_TIMEOUT:
        if (!known) {
            return;
        }
        break;
    case LK_GRANTED:
    case LK_WAITING:
        break;
    default: /* gone, or unchanged */
        return;
    }
    if (ttl_ms < STRETCHED_FROM_MS) {
        witness_forget_promise(record); /* too short to be watched: nothing may depend on it */
    } else if (step->options.until_said) {
        witness_promise(record, scene->now_ms, stretched(step->options.until_ms, scene->stretch),
                        called_us + stretched(step->options.until_ms, scene->stretch) * 1000
                            - 1000);
        record->fixed = true;
    } else if (!record->fixed) {
        witness_promise(record, scene->now_ms, ttl_ms, called_us + ttl_ms * 1000);
    }
}

static bool judge_call(struct scene *scene, const struct step *step, const struct sight *sight,
                       struct complaint *complaint) {
    struct judgement judgement = {
        .witness = &scene->witness,
        .greatest_before = witness_greatest(&scene->witness, sight->paths, sight->path_count),
        .stretch = scene->stretch,
    };
    if (sight->owner != NULL && sight->path_count > 0) {
        judgement.before = *witness_find(&scene->witness, sight->owner,
                                         (const char *const *)sight->paths, sight->path_count);
    }
    if (sight->outcome != step->outcome) {
        return complain(complaint, "expected %s, got %s", lk_outcome_name(step->outcome),
                        lk_outcome_name(sight->outcome));
    }
    if (!witness_laws(&scene->witness, sight, complaint)) {
        return false;
    }
    if (sight->outcome == LK_GRANTED || sight->outcome == LK_WAITING) {
        witness_remember(&scene->witness, sight);
    }
    return judge(&judgement, sight, step->checks, step->check_count, complaint);
}

bool scene_judge(struct scene *scene, const struct step *step, const struct sight *sight,
                 struct complaint *complaint) {
    bool as_expected = judge_call(scene, step, sight, complaint);
    if (!as_expected) {
        char description[DESCRIPTION_MAX];
        fprintf(scene->report, "    answer: %s\n",
                sight_describe(sight, description, sizeof description));
    }
    return as_expected;
}

/* A crowd asks, one owner behind the other: of each the outcome alone is looked at. */
static bool play_crowd(struct scene *scene, const struct step *step, struct complaint *complaint) {
    for (uint32_t i = 1; i <= step->options.times; i++) {
        lk_request request = request_of(scene, step);
        struct answer answer = {0};
        char owner[OWNER_MAX];
        lk_outcome outcome;

        (void)snprintf(owner, sizeof owner, "%s%u", step->owner, i);
        request.owner = owner;
        if (!make_call(scene, step, &request, &answer, complaint)) {
            return false;
        }
        outcome = answer.outcome;
        answer_done(&answer);
        if (outcome != step->outcome) {
            return complain(complaint, "%s: expected %s, got %s", owner,
                            lk_outcome_name(step->outcome), lk_outcome_name(outcome));
        }
    }
    return true;
}

static bool play_call(struct scene *scene, const struct step *step, struct complaint *complaint) {
    struct answer answer = {0};
    lk_request request = request_of(scene, step);
    int64_t called_us = scene_now_us();
    if (!make_call(scene, step, &request, &answer, complaint)) {
        return false;
    }
    if (step->kind == STEP_WAIT || step->kind == STEP_GET) {
        /* A call that blocks moves the scenario's clock by as long as it took. */
        scene->now_ms += (scene_now_us() - called_us) / 1000;
        called_us = scene_now_us();
        if (answer.outcome == LK_GRANTED) {
            witness_let_pass(&scene->witness, called_us);
        }
    }
    keep_books(scene, step, &request, answer.outcome, called_us);
    struct sight sight = sight_of(&answer, request.blockers_max > 0);
    sight.blocked = request.style == LK_WAIT;
    bool as_expected = scene_judge(scene, step, &sight, complaint);
    answer_done(&answer);
    return as_expected;
}

static bool play_break(struct scene *scene, const struct step *step, struct complaint *complaint) {
    lk_store *store = stage_store(&scene->stage, step->owner, complaint);
    lk_break_request request = {.size = sizeof request,
                                .path = step->parts[0],
                                .reason = step->options.reason,
                                .by = step->owner,
                                .owner = scene_owner(scene, step->options.of_owner),
                                .at_once = step->options.at_once};
    lk_error error = {0};
    size_t count = 0;
    if (store == NULL) {
        return false;
    }
    lk_outcome outcome = lk_break(store, &request, &count, &error);
    struct sight sight = {.outcome = outcome, .error = error.text, .count = count};
    struct judgement judgement = {.witness = &scene->witness, .stretch = scene->stretch};
    if (outcome != step->outcome) {
        return complain(complaint, "expected %s, got %s: %s", lk_outcome_name(step->outcome),
                        lk_outcome_name(outcome), error.text);
    }
    return judge(&judgement, &sight, step->checks, step->check_count, complaint);
}

/* Begins a wait, and goes on when it is in line or over. */
static bool play_begin(struct scene *scene, const struct step *step, struct complaint *complaint) {
    lk_store *store = stage_store(&scene->stage, step->owner, complaint);
    lk_request request = request_of(scene, step);
    struct witness_record *record = record_of(scene, step);
    struct look look = {.store = store,
                        .witness = &scene->witness,
                        .owner = scene_owner(scene, step->owner),
                        .stretch = scene->stretch};
    if (store == NULL || !stage_begin(&scene->stage, store, &request, record, complaint)) {
        return false;
    }
    witness_forget_promise(record); /* kept alive while it blocks, R10 */
    record->ttl_ms = request.ttl_ms != 0 ? request.ttl_ms : SCENE_TTL_DEFAULT_MS;
    int64_t until_us = scene_now_us() + (int64_t)PATIENCE_MS * 1000 * scene->stretch;
    while (!stage_is_over(&scene->stage, record) && !look_is_there(&look, step)) {
        if (scene_now_us() > until_us) {
            return complain(complaint, "the wait is not in line after %d ms", PATIENCE_MS);
        }
        sleep_us(POLL_US);
    }
    return true;
}

static bool play_pause(struct scene *scene, const struct step *step, struct complaint *complaint) {
    int64_t duration_ms = stretched(step->options.wait_ms, scene->stretch);
    sleep_us(duration_ms * 1000);
    scene->now_ms += duration_ms;
    if (witness_in_doubt(&scene->witness, scene->now_ms)) {
        return complain(complaint, "the scenario is wrong: this pause ends too near to a deadline");
    }
    return true;
}

static bool play_look(struct scene *scene, const struct step *step, struct complaint *complaint) {
    lk_store *store = stage_store(&scene->stage, "Observer", complaint);
    struct look look = {.store = store,
                        .witness = &scene->witness,
                        .owner = scene_owner(scene, step->owner),
                        .stretch = scene->stretch};
    return store != NULL && look_play(&look, step, complaint);
}

static bool play_step(struct scene *scene, const struct step *step, struct complaint *complaint) {
    switch (step->kind) {
    case STEP_ASK:
    case STEP_TRY:
    case STEP_WAIT:
    case STEP_GET:
    case STEP_CANCEL:
    case STEP_RENEW:
    case STEP_RELEASE:
        return step->options.times > 0 ? play_crowd(scene, step, complaint)
                                       : play_call(scene, step, complaint);
    case STEP_BREAK:
        return play_break(scene, step, complaint);
    case STEP_BEGIN:
        return play_begin(scene, step, complaint);
    case STEP_PAUSE:
        return play_pause(scene, step, complaint);
    case STEP_REOPEN:
        follow_stop(scene);
        stage_close(&scene->stage);
        return true;
    case STEP_PUT:
    case STEP_DELETE:
    case STEP_READ:
    case STEP_PUSH:
    case STEP_DONE:
    case STEP_RETRY:
    case STEP_UNPARK:
    case STEP_CLAIM:
    case STEP_ITEMS:
    case STEP_COUNTS:
        return work_play(scene, step, complaint);
    case STEP_WATCH:
    case STEP_EVENTS:
    case STEP_BOUND:
        return follow_play(scene, step, complaint);
    default:
        return play_look(scene, step, complaint);
    }
}

static void report_failure(struct scene *scene, const struct step *step,
                           const struct complaint *complaint) {
    struct complaint ignored;
    fprintf(scene->report, "    %s.scenario:%d: %s\n    %s\n", scene->scenario->file, step->line,
            step->text, complaint->text);
    lk_store *store = stage_store(&scene->stage, "Observer", &ignored);
    if (store != NULL) {
        look_report(store, scene->report);
    }
}

/*
 * Whether the step ended so late that what it asked for, or what was promised before it, may have
 * ended by then. Its answer may have replaced that promise.
 */
static bool is_late(const struct scene *scene, const struct step *step, int64_t began_us,
                    int64_t promised_us) {
    int64_t lives_ms = stretched(
        step->options.until_said ? step->options.until_ms : step->options.ttl_ms, scene->stretch);
    int64_t ended_us = scene_now_us();

    return ended_us >= promised_us
           || (lives_ms >= STRETCHED_FROM_MS && ended_us - began_us >= lives_ms * 1000);
}

enum verdict scenario_play(const struct scenario *scenario, const char *url, bool persistent,
                           int64_t stretch, FILE *report) {
    enum verdict verdict = VERDICT_PASSED;
    struct scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL) {
        return VERDICT_FAILED;
    }
    scene->scenario = scenario;
    scene->stage.url = url;
    scene->stage.share = !persistent;
    scene->stretch = stretch;
    scene->report = report;
    for (size_t i = 0; i < scenario->step_count && verdict == VERDICT_PASSED; i++) {
        struct complaint complaint = {0};
        int64_t began_us = scene_now_us();
        int64_t promised_us = witness_first_promise(&scene->witness, scene->now_ms);
        int64_t began_ms = scene->now_ms;
        bool as_expected = play_step(scene, &scenario->steps[i], &complaint);
        if (scene->now_ms != began_ms) {
            promised_us = INT64_MAX; /* it was to take its time, and deadlines to pass in it */
        }
        if (witness_overrun(&scene->witness, scene->now_ms, scene_now_us())
            || (!as_expected && is_late(scene, &scenario->steps[i], began_us, promised_us))) {
            verdict = VERDICT_TOO_SLOW;
        } else if (!as_expected) {
            verdict = VERDICT_FAILED;
            report_failure(scene, &scenario->steps[i], &complaint);
        }
    }
    follow_stop(scene);
    stage_close(&scene->stage);
    witness_free(&scene->witness);
    free(scene);
    return verdict;
}

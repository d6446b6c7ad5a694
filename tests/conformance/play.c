/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays a scenario in real time, through the public header alone, because every kind of store has
 * that in common, those in other processes too, and because blocking waits are the library's.
 *
 * Real time must not make a scenario fail: the scenario has a clock of its own that only its pauses
 * move. When the machine's clock passes a deadline that lies ahead on the scenario's, the machine
 * was too slow between two steps, the verdict is VERDICT_TOO_SLOW, and the caller plays it
 * again with the short durations stretched. What a wait in the background renews has no such
 * deadline, although a thread that is not run in time loses it: while its ttl is short, a failure
 * is too slow as well, and a defect shows in every repetition.
 */
#include "play.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "observed.h"
#include "playback.h"

enum {
    PATIENCE_MS = 60000, /* for what must come, unless it is a defect */
    POLL_US = 2000,
    DESCRIPTION_MAX = 900,
};

int64_t playback_now_us(void) {
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

const char *playback_owner(const struct playback *playback, const char *name) {
    const struct observed_name *kept =
        name != NULL ? observed_kept(&playback->observed, name) : NULL;
    return kept != NULL && kept->text != NULL ? kept->text : name;
}

bool playback_token(const struct playback *playback, const char *name, uint64_t *ret_token,
                    struct complaint *complaint) {
    *ret_token = 0;
    if (name == NULL) {
        return true;
    }
    const struct observed_name *kept = observed_kept(&playback->observed, name);
    if (kept == NULL || kept->token == 0) {
        return complain(complaint, "no token was kept as %s", name);
    }
    *ret_token = kept->token;
    return true;
}

static struct observed_record *record_of(struct playback *playback, const struct step *step) {
    const char *owner = playback_owner(playback, step->owner);
    return observed_find(&playback->observed, owner != NULL ? owner : "", step->parts,
                         step->part_count);
}

static lk_request request_of(const struct playback *playback, const struct step *step) {
    const struct step_options *options = &step->options;
    lk_request request = lk_request_init(step->parts, step->part_count);
    request.owner = playback_owner(playback, step->owner);
    request.style = step->kind == STEP_TRY ? LK_TRY : step->kind == STEP_ASK ? LK_QUEUE : LK_WAIT;
    request.ttl_ms = stretched(options->ttl_ms, playback->stretch);
    if (options->until_said) {
        request.until_unix_ms = unix_ms() + stretched(options->until_ms, playback->stretch);
    }
    if (options->wait_ms >= 0) {
        request.wait_ms = stretched(options->wait_ms, playback->stretch);
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

static struct observation observation_of(const struct answer *answer, bool blockers_asked) {
    const lk_result *result = answer->result;
    struct observation observation = {.outcome = answer->outcome,
                                      .error = answer->error.text,
                                      .blockers_asked = blockers_asked,
                                      .expires_in_ms = -1};
    if (result == NULL) {
        return observation;
    }
    if (result->error != NULL && result->error[0] != '\0') {
        observation.error = result->error;
    }
    observation.owner = result->owner;
    observation.paths = result->paths;
    observation.path_count = result->path_count;
    observation.ticket = result->ticket;
    observation.token = result->token;
    observation.ttl_ms = result->ttl_ms;
    observation.expires_in_ms = result->expires_in_ms;
    observation.in_use = result->in_use;
    observation.position = result->position;
    observation.created = result->created;
    observation.fixed = result->fixed;
    observation.blockers = result->blockers;
    observation.blocker_count = result->blocker_count;
    observation.cycle = result->cycle;
    observation.cycle_count = result->cycle_count;
    observation.value = result->value;
    observation.value_size = result->value_size;
    observation.in_doubt = result->in_doubt;
    observation.values = result->values;
    observation.value_count = result->value_count;
    return observation;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* R15: the values are those of the first paths, in their order. */
static lk_outcome release(lk_store *store, const lk_request *request, uint64_t token,
                          const struct step_options *options, struct answer *answer) {
    lk_part_put puts[STEP_PARTS_MAX];

    if (options->with == NULL) {
        return lk_release(store, request, token, &answer->result, &answer->error);
    }
    if (options->more_count == 0) {
        return lk_release_put(store, request, token, options->with, strlen(options->with),
                              &answer->result, &answer->error);
    }
    for (size_t i = 0; i <= options->more_count; i++) {
        const char *value = i == 0 ? options->with : options->more[i - 1];

        puts[i] = (lk_part_put){.path = i < request->part_count ? request->parts[i] : "no/part",
                                .value = value,
                                .value_size = strlen(value)};
    }
    return lk_release_put_all(store, request, token, puts, 1 + options->more_count, &answer->result,
                              &answer->error);
}

static bool make_call(struct playback *playback, const struct step *step, const lk_request *request,
                      struct answer *ret_answer, struct complaint *complaint) {
    struct answer answer = {0};
    uint64_t token;
    lk_store *store = handles_store(&playback->handles, step->owner, complaint);
    if (store == NULL || !playback_token(playback, step->options.token, &token, complaint)) {
        return false;
    }
    switch (step->kind) {
    case STEP_RENEW:
        answer.outcome = lk_renew(store, request, token, &answer.result, &answer.error);
        break;
    case STEP_RELEASE:
        answer.outcome = release(store, request, token, &step->options, &answer);
        break;
    case STEP_GET:
    case STEP_CANCEL:
        if (!handles_end(&playback->handles, record_of(playback, step), step->kind == STEP_CANCEL,
                         (long)(PATIENCE_MS * playback->stretch), &answer, complaint)) {
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
static void keep_books(struct playback *playback, const struct step *step,
                       const lk_request *request, lk_outcome outcome, int64_t called_us) {
    struct observed_record *record = record_of(playback, step);
    int64_t ttl_ms = request->ttl_ms != 0 ? request->ttl_ms : PLAYBACK_TTL_DEFAULT_MS;
    if (step->kind == STEP_GET) {
        ttl_ms = record->ttl_ms; /* as the wait was wait */
    }
    bool known = record->deadline_ms >= 0;
    switch (outcome) {
    case LK_OK:
        if (step->kind == STEP_RELEASE) {
            observed_forget_promise(record);
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
        observed_forget_promise(record); /* too short to be watched: nothing may depend on it */
    } else if (step->options.until_said) {
        observed_promise(
            record, playback->now_ms, stretched(step->options.until_ms, playback->stretch),
            called_us + stretched(step->options.until_ms, playback->stretch) * 1000 - 1000);
        record->fixed = true;
    } else if (!record->fixed) {
        observed_promise(record, playback->now_ms, ttl_ms, called_us + ttl_ms * 1000);
    }
}

static bool compare_call(struct playback *playback, const struct step *step,
                         const struct observation *observation, struct complaint *complaint) {
    struct comparison comparison = {
        .observed = &playback->observed,
        .greatest_before =
            observed_greatest(&playback->observed, observation->paths, observation->path_count),
        .stretch = playback->stretch,
    };
    if (observation->owner != NULL && observation->path_count > 0) {
        comparison.before =
            *observed_find(&playback->observed, observation->owner,
                           (const char *const *)observation->paths, observation->path_count);
    }
    if (observation->outcome != step->outcome) {
        return complain(complaint, "expected %s, got %s", lk_outcome_name(step->outcome),
                        lk_outcome_name(observation->outcome));
    }
    if (!observed_check_rules(&playback->observed, observation, complaint)) {
        return false;
    }
    if (observation->outcome == LK_GRANTED || observation->outcome == LK_WAITING) {
        observed_remember(&playback->observed, observation);
    }
    return compare(&comparison, observation, step->checks, step->check_count, complaint);
}

bool playback_compare(struct playback *playback, const struct step *step,
                      const struct observation *observation, struct complaint *complaint) {
    bool as_expected = compare_call(playback, step, observation, complaint);
    if (!as_expected) {
        char description[DESCRIPTION_MAX];
        fprintf(playback->report, "    answer: %s\n",
                observation_describe(observation, description, sizeof description));
    }
    return as_expected;
}

/* Many owners ask, one after the other; only the outcomes are compared. */
static bool play_many(struct playback *playback, const struct step *step,
                      struct complaint *complaint) {
    for (uint32_t i = 1; i <= step->options.times; i++) {
        lk_request request = request_of(playback, step);
        struct answer answer = {0};
        char owner[OWNER_MAX];
        lk_outcome outcome;

        (void)snprintf(owner, sizeof owner, "%s%u", step->owner, i);
        request.owner = owner;
        if (!make_call(playback, step, &request, &answer, complaint)) {
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

static bool play_call(struct playback *playback, const struct step *step,
                      struct complaint *complaint) {
    struct answer answer = {0};
    lk_request request = request_of(playback, step);
    int64_t called_us = playback_now_us();
    if (!make_call(playback, step, &request, &answer, complaint)) {
        return false;
    }
    if (step->kind == STEP_WAIT || step->kind == STEP_GET) {
        /* A call that blocks moves the scenario's clock by as long as it took. */
        playback->now_ms += (playback_now_us() - called_us) / 1000;
        called_us = playback_now_us();
        if (answer.outcome == LK_GRANTED) {
            observed_let_pass(&playback->observed, called_us);
        }
    }
    keep_books(playback, step, &request, answer.outcome, called_us);
    struct observation observation = observation_of(&answer, request.blockers_max > 0);
    observation.blocked = request.style == LK_WAIT;
    bool as_expected = playback_compare(playback, step, &observation, complaint);
    answer_done(&answer);
    return as_expected;
}

static bool play_break(struct playback *playback, const struct step *step,
                       struct complaint *complaint) {
    lk_store *store = handles_store(&playback->handles, step->owner, complaint);
    lk_break_request request = {.size = sizeof request,
                                .path = step->parts[0],
                                .reason = step->options.reason,
                                .by = step->owner,
                                .owner = playback_owner(playback, step->options.of_owner),
                                .at_once = step->options.at_once};
    lk_error error = {0};
    size_t count = 0;
    if (store == NULL) {
        return false;
    }
    lk_outcome outcome = lk_break(store, &request, &count, &error);
    struct observation observation = {.outcome = outcome, .error = error.text, .count = count};
    struct comparison comparison = {.observed = &playback->observed, .stretch = playback->stretch};
    if (outcome != step->outcome) {
        return complain(complaint, "expected %s, got %s: %s", lk_outcome_name(step->outcome),
                        lk_outcome_name(outcome), error.text);
    }
    return compare(&comparison, &observation, step->checks, step->check_count, complaint);
}

/* Begins a wait, and continues when its request is in the queue or the wait is over. */
static bool play_begin(struct playback *playback, const struct step *step,
                       struct complaint *complaint) {
    lk_store *store = handles_store(&playback->handles, step->owner, complaint);
    lk_request request = request_of(playback, step);
    struct observed_record *record = record_of(playback, step);
    struct listing_context context = {.store = store,
                                      .observed = &playback->observed,
                                      .owner = playback_owner(playback, step->owner),
                                      .stretch = playback->stretch};
    if (store == NULL || !handles_begin(&playback->handles, store, &request, record, complaint)) {
        return false;
    }
    observed_forget_promise(record); /* kept alive while it blocks, R10 */
    record->ttl_ms = request.ttl_ms != 0 ? request.ttl_ms : PLAYBACK_TTL_DEFAULT_MS;
    playback->keeps_alive |= is_stretched(step->options.ttl_ms);
    int64_t until_us = playback_now_us() + (int64_t)PATIENCE_MS * 1000 * playback->stretch;
    while (!handles_is_over(&playback->handles, record) && !listing_is_there(&context, step)) {
        if (playback_now_us() > until_us) {
            return complain(complaint, "the request is not in the queue after %d ms", PATIENCE_MS);
        }
        sleep_us(POLL_US);
    }
    return true;
}

static bool play_pause(struct playback *playback, const struct step *step,
                       struct complaint *complaint) {
    int64_t duration_ms = stretched(step->options.wait_ms, playback->stretch);
    sleep_us(duration_ms * 1000);
    playback->now_ms += duration_ms;
    if (observed_in_doubt(&playback->observed, playback->now_ms)) {
        return complain(complaint, "the scenario is wrong: this pause ends too near to a deadline");
    }
    return true;
}

static bool play_listing(struct playback *playback, const struct step *step,
                         struct complaint *complaint) {
    lk_store *store = handles_store(&playback->handles, "Observer", complaint);
    struct listing_context context = {.store = store,
                                      .observed = &playback->observed,
                                      .owner = playback_owner(playback, step->owner),
                                      .stretch = playback->stretch};
    return store != NULL && listing_play(&context, step, complaint);
}

static bool play_step(struct playback *playback, const struct step *step,
                      struct complaint *complaint) {
    switch (step->kind) {
    case STEP_ASK:
    case STEP_TRY:
    case STEP_WAIT:
    case STEP_GET:
    case STEP_CANCEL:
    case STEP_RENEW:
    case STEP_RELEASE:
        return step->options.times > 0 ? play_many(playback, step, complaint)
                                       : play_call(playback, step, complaint);
    case STEP_BREAK:
        return play_break(playback, step, complaint);
    case STEP_BEGIN:
        return play_begin(playback, step, complaint);
    case STEP_PAUSE:
        return play_pause(playback, step, complaint);
    case STEP_REOPEN:
        watch_stop(playback);
        handles_close(&playback->handles);
        return true;
    case STEP_PUT:
    case STEP_DELETE:
    case STEP_READ:
    case STEP_VALUES:
    case STEP_PUSH:
    case STEP_DONE:
    case STEP_RETRY:
    case STEP_TELL:
    case STEP_UNPARK:
    case STEP_DROP:
    case STEP_REMOVE:
    case STEP_CLAIM:
    case STEP_ITEMS:
    case STEP_COUNTS:
    case STEP_QUEUES:
        return work_play(playback, step, complaint);
    case STEP_WATCH:
    case STEP_EVENTS:
    case STEP_BOUND:
        return watch_play(playback, step, complaint);
    default:
        return play_listing(playback, step, complaint);
    }
}

static void report_failure(struct playback *playback, const struct step *step,
                           const struct complaint *complaint) {
    struct complaint ignored;
    fprintf(playback->report, "    %s.scenario:%d: %s\n    %s\n", playback->scenario->file,
            step->line, step->text, complaint->text);
    lk_store *store = handles_store(&playback->handles, "Observer", &ignored);
    if (store != NULL) {
        listing_report(store, playback->report);
    }
}

/*
 * Whether the step ended so late that what it asked for, or what was promised before it, may have
 * ended by then. Its answer may have replaced that promise. What is renewed in the background may
 * have ended unseen.
 */
static bool is_late(const struct playback *playback, const struct step *step, int64_t began_us,
                    int64_t promised_us) {
    int64_t lives_ms =
        stretched(step->options.until_said ? step->options.until_ms : step->options.ttl_ms,
                  playback->stretch);
    int64_t ended_us = playback_now_us();

    return playback->keeps_alive || ended_us >= promised_us
           || (lives_ms >= STRETCHED_FROM_MS && ended_us - began_us >= lives_ms * 1000);
}

enum verdict scenario_play(const struct scenario *scenario, const char *url, bool persistent,
                           struct handles *kept, int64_t stretch, FILE *report) {
    enum verdict verdict = VERDICT_PASSED;
    struct complaint unready = {0};
    struct playback *playback = calloc(1, sizeof *playback);
    if (playback == NULL) {
        return VERDICT_FAILED;
    }
    playback->scenario = scenario;
    if (kept != NULL) {
        playback->handles = *kept;
    }
    playback->handles.url = url;
    playback->handles.share = !persistent;
    playback->stretch = stretch;
    playback->report = report;
    if (!handles_open(&playback->handles, &unready)) {
        fprintf(report, "    %s\n", unready.text);
        verdict = VERDICT_FAILED;
    }
    for (size_t i = 0; i < scenario->step_count && verdict == VERDICT_PASSED; i++) {
        struct complaint complaint = {0};
        int64_t began_us = playback_now_us();
        int64_t promised_us = observed_first_promise(&playback->observed, playback->now_ms);
        int64_t began_ms = playback->now_ms;
        bool as_expected = play_step(playback, &scenario->steps[i], &complaint);
        if (playback->now_ms != began_ms && scenario->steps[i].kind != STEP_EVENTS) {
            promised_us = INT64_MAX; /* it was to take its time, and deadlines to pass in it */
        }
        if (observed_overrun(&playback->observed, playback->now_ms, playback_now_us())
            || (!as_expected && is_late(playback, &scenario->steps[i], began_us, promised_us))) {
            verdict = VERDICT_TOO_SLOW;
        } else if (!as_expected) {
            verdict = VERDICT_FAILED;
        }
        if (!as_expected) {
            report_failure(playback, &scenario->steps[i], &complaint);
        }
    }
    watch_stop(playback);
    handles_end_waits(&playback->handles);
    if (kept != NULL) {
        *kept = playback->handles;
    } else {
        handles_close(&playback->handles);
    }
    observed_free(&playback->observed);
    free(playback);
    return verdict;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the steps about events and bounds. There is one watch; `events` reads from it what must
 * have happened since, waits a little for what is on its way, and lets nothing else come.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observed.h"
#include "playback.h"

enum {
    PATIENCE_MS = 60000, /* for what must come, unless it is a defect */
    PARTS_TEXT_MAX = 1200,
    EVENT_TEXT_MAX = 1600,
};

void watch_stop(struct playback *playback) {
    if (playback->watch != NULL) {
        playback->watched_to = lk_watch_position(playback->watch);
        lk_watch_close(playback->watch);
        playback->watch = NULL;
    }
}

static lk_store *observer(struct playback *playback, struct complaint *complaint) {
    return handles_store(&playback->handles, "Observer", complaint);
}

/* watch [again] [PREFIX] */
static bool play_watch(struct playback *playback, const struct step *step,
                       struct complaint *complaint) {
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    lk_store *store = observer(playback, complaint);

    if (store == NULL) {
        return false;
    }
    watch_stop(playback);
    lk_watch_options options = {
        .size = sizeof options,
        .prefix = step->part_count > 0 ? step->parts[0] : NULL,
        .after = step->options.again ? playback->watched_to : 0,
    };
    observation.outcome = lk_watch_open(store, &options, &playback->watch, &error);
    return playback_compare(playback, step, &observation, complaint);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The parts in the words of a scenario, joined by + . */
static void join_parts(const lk_watch_event *event, char text[PARTS_TEXT_MAX]) {
    size_t size = 0;

    text[0] = '\0';
    for (size_t i = 0; i < event->part_count && size < PARTS_TEXT_MAX; i++) {
        size += (size_t)snprintf(text + size, PARTS_TEXT_MAX - size, "%s%s", i > 0 ? " + " : "",
                                 event->parts[i]);
    }
}

static const char *describe(const lk_watch_event *event, char text[EVENT_TEXT_MAX]) {
    char parts[PARTS_TEXT_MAX];

    join_parts(event, parts);
    (void)snprintf(text, EVENT_TEXT_MAX, "%s %s%s%s%s%s", lk_watch_kind_name(event->kind),
                   event->refusal != LK_OK ? lk_outcome_name(event->refusal) : "",
                   event->refusal != LK_OK ? " " : "", parts, event->owner != NULL ? " by " : "",
                   event->owner != NULL ? event->owner : "");
    return text;
}

/* Absent and unsaid are the same. */
static bool is_same(const char *seen, const char *expected) {
    return seen == NULL || expected == NULL ? seen == expected : strcmp(seen, expected) == 0;
}

static bool compare_event(struct playback *playback, const lk_watch_event *event,
                          const struct entry_check *expected, struct complaint *complaint) {
    const char *refusal = event->refusal != LK_OK ? lk_outcome_name(event->refusal) : NULL;
    const char *part = expected->part != NULL ? expected->part : "";
    char parts[PARTS_TEXT_MAX];
    char text[EVENT_TEXT_MAX];
    struct comparison comparison = {.observed = &playback->observed, .stretch = playback->stretch};
    struct observation observation = {
        .outcome = LK_OK,
        .owner = event->owner,
        .paths = event->paths,
        .path_count = event->part_count,
        .ticket = event->ticket,
        .token = event->token,
        .note = event->note,
        .attempt = event->attempt,
        .reason = event->reason,
        .breaker = event->by,
        .expires_in_ms = -1,
    };

    join_parts(event, parts);
    if (strcmp(lk_watch_kind_name(event->kind), expected->state) != 0
        || !is_same(refusal, expected->by) || strcmp(parts, part) != 0
        || !is_same(event->owner, playback_owner(playback, expected->owner))
        || event->is_deletion != expected->held) {
        return complain(complaint, "got %.280s%s", describe(event, text),
                        event->is_deletion ? ", a deletion" : "");
    }
    if ((event->kind == LK_WATCH_BROKEN) != (event->by != NULL && event->reason != NULL)) {
        return complain(complaint, "got %.280s, broken by %.40s: %.40s", describe(event, text),
                        event->by != NULL ? event->by : "an unknown user",
                        event->reason != NULL ? event->reason : "no reason");
    }
    if (event->part_count > 0 && event->owner != NULL && event->ticket != 0) {
        comparison.greatest_before =
            observed_greatest(&playback->observed, event->paths, event->part_count);
        comparison.before = *observed_find(&playback->observed, event->owner,
                                           (const char *const *)event->paths, event->part_count);
    }
    return compare(&comparison, &observation, expected->checks, expected->check_count, complaint);
}

/* No further event may arrive. */
static bool expect_no_more(struct playback *playback, struct complaint *complaint) {
    const lk_watch_event *event;
    char text[EVENT_TEXT_MAX];
    lk_error error = {0};
    lk_outcome outcome = lk_watch_next(playback->watch, 0, NULL, &event, &error);

    if (outcome == LK_OK) {
        return complain(complaint, "one more came: %.280s", describe(event, text));
    }
    return outcome == LK_TIMEOUT
           || complain(complaint, "%s: %s", lk_outcome_name(outcome), error.text);
}

static bool play_events(struct playback *playback, const struct step *step,
                        struct complaint *complaint) {
    int64_t called_us = playback_now_us();
    uint64_t before = 0;

    if (playback->watch == NULL) {
        return complain(complaint, "there is no watch: 'watch' goes before 'events'");
    }
    for (size_t i = 0; i < step->entry_count; i++) {
        const lk_watch_event *event;
        struct complaint inner;
        lk_error error = {0};
        lk_outcome outcome =
            lk_watch_next(playback->watch, PATIENCE_MS * playback->stretch, NULL, &event, &error);

        if (outcome != LK_OK) {
            return complain(complaint, "event %zu: %s: %.200s", i + 1, lk_outcome_name(outcome),
                            error.text);
        }
        if (event->sequence <= before) {
            return complain(complaint, "event %zu: its sequence has fallen", i + 1);
        }
        before = event->sequence;
        if (!compare_event(playback, event, &step->entries[i], &inner)) {
            return complain(complaint, "event %zu: %.280s", i + 1, inner.text);
        }
    }
    playback->now_ms += (playback_now_us() - called_us) / 1000;
    return expect_no_more(playback, complaint);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* NAME=N into its place. */
static bool read_bound(const char *word, lk_limits *limits, struct complaint *complaint) {
    struct {
        const char *name;
        uint64_t *limit;
    } known[] = {
        {"live=", &limits->live},
        {"live-per-owner=", &limits->live_per_owner},
        {"live-per-root=", &limits->live_per_root},
        {"waiters-per-path=", &limits->waiters_per_path},
        {"events=", &limits->events},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t size = strlen(known[i].name);
        if (strncmp(word, known[i].name, size) == 0) {
            char *end = NULL;
            *known[i].limit = strtoull(word + size, &end, 10);
            return *end == '\0' || complain(complaint, "'%.40s' has no number", word);
        }
    }
    return complain(complaint, "'%.40s' is no bound", word);
}

/* Sets, and reads back, each on a handle of its own. */
static bool play_bound(struct playback *playback, const struct step *step,
                       struct complaint *complaint) {
    lk_limits wanted = {sizeof wanted,  LK_LIMIT_AS_IS, LK_LIMIT_AS_IS,
                        LK_LIMIT_AS_IS, LK_LIMIT_AS_IS, LK_LIMIT_AS_IS};
    lk_limits seen = {.size = sizeof seen};
    lk_error error = {0};
    struct observation observation = {.error = error.text, .expires_in_ms = -1};
    lk_store *store = handles_store(&playback->handles, "Administrator", complaint);
    lk_store *other = observer(playback, complaint);

    if (store == NULL || other == NULL) {
        return false;
    }
    for (size_t i = 0; i < step->part_count; i++) {
        if (!read_bound(step->parts[i], &wanted, complaint)) {
            return false;
        }
    }
    observation.outcome = lk_limits_set(store, &wanted, &error);
    if (observation.outcome == LK_OK
        && (lk_limits_get(other, &seen, &error) != LK_OK
            || (wanted.live != LK_LIMIT_AS_IS && wanted.live != seen.live)
            || (wanted.events != LK_LIMIT_AS_IS && wanted.events != seen.events))) {
        return complain(complaint, "what was set is not what is there");
    }
    return playback_compare(playback, step, &observation, complaint);
}

bool watch_play(struct playback *playback, const struct step *step, struct complaint *complaint) {
    switch (step->kind) {
    case STEP_WATCH:
        return play_watch(playback, step, complaint);
    case STEP_EVENTS:
        return play_events(playback, step, complaint);
    default:
        return play_bound(playback, step, complaint);
    }
}

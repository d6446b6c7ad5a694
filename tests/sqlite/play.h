/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One random history on one file through several stores, beside one model that has everything; and
 * the inventing of its events, many of which are aimed at what is there.
 */
#ifndef LK_TESTS_SQLITE_PLAY_H
#define LK_TESTS_SQLITE_PLAY_H

#include "ground.h"

enum { PLAY_STORES = 3, PLAY_TOKENS = 16 };

/* What a history varies. */
struct variant {
    const char *name;
    int overdue_max;
    bool is_lazy; /* draws later than the model: tickets and tokens differ, and are not named */
    struct lk_quotas quotas;
    int64_t pause_max_us; /* between steps */
    int work_percent;     /* of the steps are about values and work */
    const char *root;     /* everything happens below it, as in "r/"; NULL: under several roots */
    bool is_told;         /* all that happens is kept, and compared */
};

struct play {
    const struct variant *variant;
    struct lk_random *random;
    struct ground ground;
    struct ground_clock clock;
    struct lk_sqlite_options options;
    struct lk_engine *engines[PLAY_STORES];
    struct lk_model *model;
    /* The model to the moment of a store's last answer, where stores have a clock; or NULL. */
    void (*catch_up)(struct play *play, struct lk_engine *engine);

    unsigned step;
    struct lk_event event;
    struct ground_parts parts; /* of the event */
    char owner[LK_OWNER_BYTES_MAX + 1];
    struct lk_path queue;
    char queue_text[32];
    char path[32]; /* of play_some_path() */
    char id[LK_SEGMENT_BYTES_MAX + 1];
    char value[200];
    uint64_t last_event;
    int64_t answered_us;          /* when a store that has a clock of its own last answered */
    uint64_t tokens[PLAY_TOKENS]; /* granted lately, for later calls to name */
};

int64_t play_between(struct play *play, int64_t low, int64_t high);
bool play_chance(struct play *play, int percent);

/* A path that locks and values are at. */
struct lk_path play_some_path(struct play *play);

/* Makes play->queue some queue, and play->id some id. */
void play_choose_queue(struct play *play);

/* Makes play->event, but for its times. */
void play_invent(struct play *play);

#endif

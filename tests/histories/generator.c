/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the moves of a random history. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "history.h"

/* Two of them are names that a store might use for itself. */
static const char *const paths[] = {"a",   "a/x", "a/x/p", "a/x/q",        "a/y",
                                    "a0",  "b",   "b/x",   "b/x/p",        "c",
                                    "c/x", "d",   "pool",  "lk:waits:Bob", "a:lk:h"};
enum { PATHS = sizeof paths / sizeof paths[0] };

/* Two of them are places where locks are, too. */
static const char *const queues[] = {"c", "b/x", "jobs"};
static const char *const ids[] = {"1", "2", "3", "x", "p"};
static const char *const needs[] = {
    "d",     "a/x?shared", "pool?limit=2&units=1", "pool?limit=3&units=2", "b/x/q",
    "a/y d", "d?strict",   "a/y?strict",           "a/y?strict d?strict",  "d?strict pool?limit=2",
};
enum {
    QUEUES = sizeof queues / sizeof queues[0],
    IDS = sizeof ids / sizeof ids[0],
    NEEDS = sizeof needs / sizeof needs[0],
};

static const char *const owners[] = {"Ann", "Bob", "Cy", "Dee", "Eve"};
enum { OWNERS = sizeof owners / sizeof owners[0], DEEP_BYTES = 16 };

struct generator {
    struct history *history;
    struct lk_random *random;
    struct move *move;
};

static int64_t between(struct generator *generator, int64_t low, int64_t high) {
    return lk_random_between(generator->random, low, high);
}

static bool chance(struct generator *generator, int percent) {
    return between(generator, 1, 100) <= percent;
}

static const char *some(struct generator *generator, const char *const *words, size_t count) {
    return words[between(generator, 0, (int64_t)count - 1)];
}

static const char *root_of(const struct generator *generator) {
    const char *root = generator->history->variant->root;

    return root != NULL ? root : "";
}

#define COPY(to, from) ((void)snprintf((to), sizeof(to), "%s", (from)))
#define COPY_BELOW_ROOT(to, from)                                                                  \
    ((void)snprintf((to), sizeof(to), "%s%s", root_of(generator), (from)))

/* ---- parts ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add(struct move *move, const char *format, ...) {
    size_t used = strlen(move->parts);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(move->parts + used, sizeof move->parts - used, format, arguments);
    va_end(arguments);
}

/* How the part that has just been added is asked for. */
static void add_mode(struct generator *generator) {
    if (chance(generator, 25)) {
        add(generator->move, "?shared");
    } else if (chance(generator, 40)) {
        int limit = (int)between(generator, 1, 3);
        add(generator->move, "?limit=%d&units=%d", limit, (int)between(generator, 1, limit));
    }
}

static void make_parts(struct generator *generator) {
    size_t count = chance(generator, 70) ? 1 : (size_t)between(generator, 2, 3);
    bool taken[PATHS] = {false};

    generator->move->parts[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t path = (size_t)between(generator, 0, PATHS - 1);
        if (!taken[path]) {
            taken[path] = true;
            add(generator->move, "%s%s%s", generator->move->parts[0] != '\0' ? " " : "",
                root_of(generator), paths[path]);
            add_mode(generator);
        }
    }
}

static lk_listing *everything(struct generator *generator) {
    lk_listing *listing = NULL;

    if (lk_listing_from_model(generator->history->model, &generator->history->times, NULL, &listing)
        != LK_OK) {
        test_die("no memory for a listing");
    }
    return listing;
}

/* Makes owner and parts those of a request that is there, in some mode. */
static void aim(struct generator *generator) {
    struct move *move = generator->move;
    lk_listing *listing = everything(generator);

    if (listing->count > 0) {
        const lk_entry *chosen =
            &listing->entries[between(generator, 0, (int64_t)listing->count - 1)];
        COPY(move->owner, chosen->owner);
        move->parts[0] = '\0';
        for (size_t i = 0; i < listing->count; i++) {
            if (listing->entries[i].request_index == chosen->request_index) {
                add(move, "%s%s", move->parts[0] != '\0' ? " " : "", listing->entries[i].path);
            }
        }
    }
    lk_listing_free(listing);
}

/*
 * Asks for something that the asker has a part in already: at, above or below what it holds, or
 * what others wait for there (R8, R13).
 */
static void aim_near_own(struct generator *generator) {
    struct move *move = generator->move;
    lk_listing *listing = everything(generator);
    const lk_entry *chosen = NULL;

    for (int i = 0; i < 4 && listing->count > 0 && (chosen == NULL || !chosen->held); i++) {
        chosen = &listing->entries[between(generator, 0, (int64_t)listing->count - 1)];
    }
    if (chosen != NULL) {
        char *slash;
        COPY(move->owner, chosen->owner);
        COPY(move->parts, chosen->path);
        slash = strrchr(move->parts, '/');
        if (strlen(move->parts) < DEEP_BYTES && chance(generator, 40)) {
            add(move, "/%s", chance(generator, 50) ? "x" : "p");
        } else if (slash != NULL && slash >= move->parts + strlen(root_of(generator))
                   && chance(generator, 40)) {
            *slash = '\0';
        }
        if (chance(generator, 30)) {
            COPY(move->owner, some(generator, owners, OWNERS));
        }
        add_mode(generator);
    }
    lk_listing_free(listing);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static enum token_choice some_token(struct generator *generator) {
    int64_t dice = between(generator, 1, 100);

    return dice <= 40   ? TOKEN_NONE
           : dice <= 85 ? TOKEN_LATEST
           : dice <= 95 ? TOKEN_FORMER
                        : TOKEN_FOREIGN;
}

/* Whether the store knows priorities, failures, drops and series (R16). */
static bool has_batches(const struct generator *generator) {
    return generator->history->ops->engine->batches != NULL;
}

/* Some bytes, unlike any other step's. */
static void make_value(struct generator *generator) {
    struct move *move = generator->move;

    if (chance(generator, 90)) {
        (void)snprintf(move->value, sizeof move->value, "value %zu", generator->history->step);
    }
}

static void make_ask(struct generator *generator) {
    struct move *move = generator->move;

    move->kind = LK_COMMAND_ASK;
    if (chance(generator, 25)) {
        aim_near_own(generator);
    }
    move->style = (lk_style)between(generator, LK_TRY, LK_WAIT);
    move->until_ms = chance(generator, 8) ? between(generator, 1, 3000) : 0;
    move->ttl_ms = move->until_ms != 0 || chance(generator, 20) ? 0 : between(generator, 50, 2000);
    move->note_given = chance(generator, 25);
    COPY(move->note, move->note_given && chance(generator, 50) ? "a note" : "");
    move->blockers_max = (unsigned)between(generator, 0, 5);
    move->wants_value = chance(generator, 30);
}

static void make_target(struct generator *generator, enum lk_command_kind kind) {
    generator->move->kind = kind;
    if (chance(generator, 75)) {
        aim(generator);
    }
    generator->move->token = some_token(generator);
}

static void make_put(struct generator *generator) {
    struct move *move = generator->move;

    move->kind = LK_COMMAND_PUT;
    if (chance(generator, 40)) {
        aim(generator);
    }
    /* Of a put without an owner a service answers that of its connection. */
    move->names_owner = generator->history->variant->keeps_events || chance(generator, 70);
    move->token = move->names_owner ? some_token(generator) : TOKEN_NONE;
    move->deletes = chance(generator, 20);
    make_value(generator);
}

static void make_lock_move(struct generator *generator) {
    struct move *move = generator->move;
    int64_t dice = between(generator, 1, 100);

    if (chance(generator, generator->history->variant->ending_percent)) {
        make_target(generator, LK_COMMAND_RELEASE);
        move->token = chance(generator, 80) ? TOKEN_LATEST : TOKEN_FORMER;
    } else if (dice <= 56) {
        make_ask(generator);
    } else if (dice <= 66) {
        make_target(generator, LK_COMMAND_RENEW);
        move->ttl_ms = chance(generator, 50) ? 0 : between(generator, 50, 2000);
    } else if (dice <= 88) {
        make_target(generator, LK_COMMAND_RELEASE);
        move->puts = chance(generator, 25) ? (unsigned)between(generator, 1, 7) : 0;
        make_value(generator);
    } else if (dice <= 96) {
        make_put(generator);
    } else {
        move->kind = LK_COMMAND_BREAK;
        move->names_owner = chance(generator, 30);
        move->at_once = chance(generator, 50);
    }
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Makes owner and id those of a claim in the queue, if there is one. */
static void aim_at_claim(struct generator *generator) {
    struct move *move = generator->move;
    lk_item_list *list = NULL;
    struct lk_path queue;

    (void)lk_path_parse(lk_slice_of(move->queue), &queue, NULL);
    if (lk_items_from_model(generator->history->model, &generator->history->times,
                            &(struct lk_item_query){.queue = &queue}, &list)
        != LK_OK) {
        test_die("no memory for a list");
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].owner != NULL && chance(generator, 60)) {
            COPY(move->owner, list->items[i].owner);
            COPY(move->id, list->items[i].id);
        }
    }
    lk_item_list_free(list);
}

/* How long a result is kept; mostly not at all. */
static int64_t some_keep_ms(struct generator *generator) {
    return has_batches(generator) && chance(generator, 25) ? between(generator, 1, 1500) : 0;
}

static enum lk_finish_kind some_finish(struct generator *generator) {
    int64_t dice = between(generator, 1, 100);

    if (dice > 90 && has_batches(generator)) {
        return LK_FINISH_PROGRESS;
    }
    return dice <= 55 ? LK_FINISH_DONE : LK_FINISH_RETRY;
}

static void make_push(struct generator *generator) {
    struct move *move = generator->move;

    move->kind = LK_COMMAND_PUSH;
    move->parts[0] = '\0';
    if (chance(generator, 50)) {
        const char *text = some(generator, needs, NEEDS);
        const char *second = strchr(text, ' ');
        add(move, "%s%.*s", root_of(generator), (int)strcspn(text, " "), text);
        if (second != NULL) {
            add(move, " %s%s", root_of(generator), second + 1);
        }
    }
    if (chance(generator, 2)) {
        COPY(move->id, "a/b");
    }
    make_value(generator);
    move->delay_ms = chance(generator, 70) ? 0 : between(generator, 1, 1000);
    if (has_batches(generator) && chance(generator, 40)) {
        move->priority = (int32_t)between(generator, -2, 2);
    }
    if (chance(generator, 40)) {
        move->push = chance(generator, 70) ? LK_PUSH_AGAIN : LK_PUSH_REPLACE;
    }
    move->keep_ms = some_keep_ms(generator);
}

static void make_take(struct generator *generator) {
    struct move *move = generator->move;

    move->kind = LK_COMMAND_TAKE;
    move->max_attempts = (unsigned)between(generator, 0, 3);
    /* Odd ones, or none: a service takes any number for the odd one beside it. */
    move->ask_number = chance(generator, 20) ? 0 : 2 * (unsigned)between(generator, 0, 3) + 1;
    /* A client that repeats its number repeats all it said with it. */
    move->ttl_ms =
        move->ask_number == 0 ? between(generator, 50, 1000) : 150 * (move->ask_number - 1);
    move->note_given = chance(generator, 25);
    COPY(move->note, move->note_given ? "a worker" : "");
}

static void make_finish(struct generator *generator) {
    struct move *move = generator->move;

    move->kind = LK_COMMAND_FINISH;
    aim_at_claim(generator);
    move->token = some_token(generator);
    move->finish = some_finish(generator);
    move->delay_ms =
        move->finish != LK_FINISH_RETRY || chance(generator, 50) ? 0 : between(generator, 1, 1000);
    move->is_uncounted = move->finish == LK_FINISH_RETRY && chance(generator, 25);
    move->parks = move->finish == LK_FINISH_RETRY && move->delay_ms == 0 && chance(generator, 20);
    if (has_batches(generator) && move->finish == LK_FINISH_RETRY) {
        move->has_exit = chance(generator, 40);
        move->exit_code = move->has_exit ? (int32_t)between(generator, -1, 2) : 0;
        COPY(move->failure, chance(generator, 40) ? "it \xff\n failed" : "");
    }
    if (move->finish == LK_FINISH_DONE) {
        move->keep_ms = some_keep_ms(generator);
        make_value(generator);
    } else if (move->finish == LK_FINISH_PROGRESS) {
        make_value(generator);
    }
}

/*
 * Several of them in one decision, of different ids. Events are compared command by command, so
 * that a series has one there.
 */
static void make_series(struct generator *generator) {
    struct move *move = generator->move;
    int64_t count = generator->history->variant->keeps_events ? 1 : between(generator, 1, IDS);
    int64_t first = between(generator, 0, IDS - 1);

    if (move->kind == LK_COMMAND_FINISH && move->finish != LK_FINISH_DONE) {
        return;
    }
    move->series[0] = '\0';
    for (int64_t i = 0; i < count; i++) {
        size_t used = strlen(move->series);

        (void)snprintf(move->series + used, sizeof move->series - used, "%s%s", i > 0 ? " " : "",
                       ids[(first + i) % IDS]);
    }
}

/* Of what is claimed, or of any item. */
static void make_cancel(struct generator *generator) {
    struct move *move = generator->move;

    if (chance(generator, 70)) {
        aim_at_claim(generator);
    }
    move->kind = LK_COMMAND_BREAK;
    move->cancels = true;
    move->at_once = chance(generator, 40);
    move->parts[0] = '\0';
    add(move, "%s/%s", move->queue, move->id);
}

static void make_work(struct generator *generator) {
    struct move *move = generator->move;
    int64_t dice = between(generator, 1, 100);

    COPY_BELOW_ROOT(move->queue, some(generator, queues, QUEUES));
    COPY(move->id, some(generator, ids, IDS));
    if (dice <= 32) {
        make_push(generator);
    } else if (dice <= 65) {
        make_take(generator);
    } else if (dice <= 89) {
        make_finish(generator);
    } else if (dice <= 93 && has_batches(generator)) {
        make_cancel(generator);
        return;
    } else if (dice <= 96 && has_batches(generator)) {
        move->kind = LK_COMMAND_DROP;
        move->only_parked = chance(generator, 40);
    } else {
        move->kind = LK_COMMAND_UNPARK;
    }
    if (has_batches(generator) && chance(generator, 25)) {
        make_series(generator);
    }
}

/* ---- what was done already, and looks -------------------------------------------------------- */

static bool is_ending(const struct move *move) {
    return move->kind == LK_COMMAND_FINISH || move->kind == LK_COMMAND_RELEASE;
}

/*
 * A former move once more, lately or long ago, perhaps with another token or by other means: what
 * a client does whose answer was lost (R3). Of what ends something rather more. Returns false where
 * there is none.
 */
static bool make_again(struct generator *generator) {
    struct history *history = generator->history;
    struct move *move = generator->move;
    size_t back = (size_t)between(generator, 1, chance(generator, 60) ? 6 : HISTORY_STEPS_MAX);
    bool wants_ending = chance(generator, 50);
    size_t from = back <= history->step ? history->step - back : 0;

    if (history->step == 0) {
        return false;
    }
    while (wants_ending && from > 0 && !is_ending(&history->moves[from])) {
        from--;
    }
    *move = history->moves[from];
    if (chance(generator, is_ending(move) ? 60 : 30)) {
        move->token = some_token(generator);
    }
    if (chance(generator, 20)) {
        move->style = (lk_style)between(generator, LK_TRY, LK_WAIT);
    }
    return true;
}

static void make_looks(struct generator *generator) {
    struct move *move = generator->move;

    move->looks_at_all = chance(generator, 50);
    move->look_path[0] = move->look_queue[0] = '\0';
    if (chance(generator, 30)) {
        COPY_BELOW_ROOT(move->look_path, some(generator, paths, PATHS));
    }
    if (chance(generator, generator->history->variant->work_percent / 2 + 5)) {
        COPY_BELOW_ROOT(move->look_queue, some(generator, queues, QUEUES));
    }
    move->reopens = chance(generator, 2);
}

void history_generate(struct history *history, struct lk_random *random) {
    struct generator generator = {history, random, &history->moves[history->step]};
    struct move *move = generator.move;

    *move = (struct move){.kind = LK_COMMAND_TICK};
    COPY(move->owner, some(&generator, owners, OWNERS));
    make_parts(&generator);
    if (!chance(&generator, 15) || !make_again(&generator)) {
        if (chance(&generator, history->variant->work_percent)) {
            make_work(&generator);
        } else {
            make_lock_move(&generator);
        }
    }
    move->pause_us = chance(&generator, 2)
                         ? between(&generator, 1000000, 8000000)
                         : between(&generator, 1000, history->variant->pause_max_us);
    move->engine = (unsigned)between(&generator, 0, HISTORY_ENGINES - 1);
    make_looks(&generator);
}

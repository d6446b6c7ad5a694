/* SPDX-License-Identifier: Apache-2.0 */
/* Inventing the moves of a random history. */
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
    "d", "a/x?shared", "pool?limit=2&units=1", "pool?limit=3&units=2", "b/x/q", "a/y d",
};
enum {
    QUEUES = sizeof queues / sizeof queues[0],
    IDS = sizeof ids / sizeof ids[0],
    NEEDS = sizeof needs / sizeof needs[0],
};

static const char *const owners[] = {"Ann", "Bob", "Cy", "Dee", "Eve"};
enum { OWNERS = sizeof owners / sizeof owners[0], DEEP_BYTES = 16 };

struct inventor {
    struct history *history;
    struct lk_random *random;
    struct move *move;
};

static int64_t between(struct inventor *inventor, int64_t low, int64_t high) {
    return lk_random_between(inventor->random, low, high);
}

static bool chance(struct inventor *inventor, int percent) {
    return between(inventor, 1, 100) <= percent;
}

static const char *some(struct inventor *inventor, const char *const *words, size_t count) {
    return words[between(inventor, 0, (int64_t)count - 1)];
}

static const char *root_of(const struct inventor *inventor) {
    const char *root = inventor->history->variant->root;

    return root != NULL ? root : "";
}

#define COPY(to, from) ((void)snprintf((to), sizeof(to), "%s", (from)))
#define COPY_BELOW_ROOT(to, from)                                                                  \
    ((void)snprintf((to), sizeof(to), "%s%s", root_of(inventor), (from)))

/* ---- parts ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add(struct move *move, const char *format, ...) {
    size_t used = strlen(move->parts);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(move->parts + used, sizeof move->parts - used, format, arguments);
    va_end(arguments);
}

/* How the part that has just been added is asked for. */
static void add_mode(struct inventor *inventor) {
    if (chance(inventor, 25)) {
        add(inventor->move, "?shared");
    } else if (chance(inventor, 40)) {
        int limit = (int)between(inventor, 1, 3);
        add(inventor->move, "?limit=%d&units=%d", limit, (int)between(inventor, 1, limit));
    }
}

static void make_parts(struct inventor *inventor) {
    size_t count = chance(inventor, 70) ? 1 : (size_t)between(inventor, 2, 3);
    bool taken[PATHS] = {false};

    inventor->move->parts[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t path = (size_t)between(inventor, 0, PATHS - 1);
        if (!taken[path]) {
            taken[path] = true;
            add(inventor->move, "%s%s%s", inventor->move->parts[0] != '\0' ? " " : "",
                root_of(inventor), paths[path]);
            add_mode(inventor);
        }
    }
}

static lk_listing *everything(struct inventor *inventor) {
    lk_listing *listing = NULL;

    if (lk_listing_from_model(inventor->history->model, &inventor->history->times, NULL, &listing)
        != LK_OK) {
        test_die("no memory for a listing");
    }
    return listing;
}

/* Makes owner and parts those of a request that is there, in some mode. */
static void aim(struct inventor *inventor) {
    struct move *move = inventor->move;
    lk_listing *listing = everything(inventor);

    if (listing->count > 0) {
        const lk_entry *chosen =
            &listing->entries[between(inventor, 0, (int64_t)listing->count - 1)];
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
static void aim_near_own(struct inventor *inventor) {
    struct move *move = inventor->move;
    lk_listing *listing = everything(inventor);
    const lk_entry *chosen = NULL;

    for (int i = 0; i < 4 && listing->count > 0 && (chosen == NULL || !chosen->held); i++) {
        chosen = &listing->entries[between(inventor, 0, (int64_t)listing->count - 1)];
    }
    if (chosen != NULL) {
        char *slash;
        COPY(move->owner, chosen->owner);
        COPY(move->parts, chosen->path);
        slash = strrchr(move->parts, '/');
        if (strlen(move->parts) < DEEP_BYTES && chance(inventor, 40)) {
            add(move, "/%s", chance(inventor, 50) ? "x" : "p");
        } else if (slash != NULL && slash >= move->parts + strlen(root_of(inventor))
                   && chance(inventor, 40)) {
            *slash = '\0';
        }
        if (chance(inventor, 30)) {
            COPY(move->owner, some(inventor, owners, OWNERS));
        }
        add_mode(inventor);
    }
    lk_listing_free(listing);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static enum token_choice some_token(struct inventor *inventor) {
    int64_t dice = between(inventor, 1, 100);

    return dice <= 40   ? TOKEN_NONE
           : dice <= 85 ? TOKEN_LATEST
           : dice <= 95 ? TOKEN_FORMER
                        : TOKEN_FOREIGN;
}

/* Some bytes, unlike any other step's. */
static void make_value(struct inventor *inventor) {
    struct move *move = inventor->move;

    if (chance(inventor, 90)) {
        (void)snprintf(move->value, sizeof move->value, "value %zu", inventor->history->step);
    }
}

static void make_ask(struct inventor *inventor) {
    struct move *move = inventor->move;

    move->kind = LK_COMMAND_ASK;
    if (chance(inventor, 25)) {
        aim_near_own(inventor);
    }
    move->style = (lk_style)between(inventor, LK_TRY, LK_WAIT);
    move->until_ms = chance(inventor, 8) ? between(inventor, 1, 3000) : 0;
    move->ttl_ms = move->until_ms != 0 || chance(inventor, 20) ? 0 : between(inventor, 50, 2000);
    move->note_given = chance(inventor, 25);
    COPY(move->note, move->note_given && chance(inventor, 50) ? "a note" : "");
    move->blockers_max = (unsigned)between(inventor, 0, 5);
    move->wants_value = chance(inventor, 30);
}

static void make_target(struct inventor *inventor, enum lk_command_kind kind) {
    inventor->move->kind = kind;
    if (chance(inventor, 75)) {
        aim(inventor);
    }
    inventor->move->token = some_token(inventor);
}

static void make_put(struct inventor *inventor) {
    struct move *move = inventor->move;

    move->kind = LK_COMMAND_PUT;
    if (chance(inventor, 40)) {
        aim(inventor);
    }
    /* Of a put without an owner a service tells that of its connection. */
    move->names_owner = inventor->history->variant->is_told || chance(inventor, 70);
    move->token = move->names_owner ? some_token(inventor) : TOKEN_NONE;
    move->deletes = chance(inventor, 20);
    make_value(inventor);
}

static void make_lock_move(struct inventor *inventor) {
    struct move *move = inventor->move;
    int64_t dice = between(inventor, 1, 100);

    if (chance(inventor, inventor->history->variant->ending_percent)) {
        make_target(inventor, LK_COMMAND_RELEASE);
        move->token = chance(inventor, 80) ? TOKEN_LATEST : TOKEN_FORMER;
    } else if (dice <= 56) {
        make_ask(inventor);
    } else if (dice <= 66) {
        make_target(inventor, LK_COMMAND_RENEW);
        move->ttl_ms = chance(inventor, 50) ? 0 : between(inventor, 50, 2000);
    } else if (dice <= 88) {
        make_target(inventor, LK_COMMAND_RELEASE);
        move->puts = chance(inventor, 25);
        make_value(inventor);
    } else if (dice <= 96) {
        make_put(inventor);
    } else {
        move->kind = LK_COMMAND_BREAK;
        move->names_owner = chance(inventor, 30);
        move->at_once = chance(inventor, 50);
    }
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Makes owner and id those of a claim in the queue, if there is one. */
static void aim_at_claim(struct inventor *inventor) {
    struct move *move = inventor->move;
    lk_item_list *list = NULL;
    struct lk_path queue;

    (void)lk_path_parse(lk_slice_of(move->queue), &queue, NULL);
    if (lk_items_from_model(inventor->history->model, &inventor->history->times, &queue, &list)
        != LK_OK) {
        test_die("no memory for a list");
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].owner != NULL && chance(inventor, 60)) {
            COPY(move->owner, list->items[i].owner);
            COPY(move->id, list->items[i].id);
        }
    }
    lk_item_list_free(list);
}

static void make_push(struct inventor *inventor) {
    struct move *move = inventor->move;

    move->kind = LK_COMMAND_PUSH;
    move->parts[0] = '\0';
    if (chance(inventor, 50)) {
        const char *text = some(inventor, needs, NEEDS);
        const char *second = strchr(text, ' ');
        add(move, "%s%.*s", root_of(inventor), (int)strcspn(text, " "), text);
        if (second != NULL) {
            add(move, " %s%s", root_of(inventor), second + 1);
        }
    }
    if (chance(inventor, 2)) {
        COPY(move->id, "a/b");
    }
    make_value(inventor);
    move->delay_ms = chance(inventor, 70) ? 0 : between(inventor, 1, 1000);
}

static void make_take(struct inventor *inventor) {
    struct move *move = inventor->move;

    move->kind = LK_COMMAND_TAKE;
    move->max_attempts = (unsigned)between(inventor, 0, 3);
    /* Odd ones, or none: a service takes any number for the odd one beside it. */
    move->ask_number = chance(inventor, 20) ? 0 : 2 * (unsigned)between(inventor, 0, 3) + 1;
    /* A client that repeats its number repeats all it said with it. */
    move->ttl_ms =
        move->ask_number == 0 ? between(inventor, 50, 1000) : 150 * (move->ask_number - 1);
    move->note_given = chance(inventor, 25);
    COPY(move->note, move->note_given ? "a worker" : "");
}

static void make_finish(struct inventor *inventor) {
    struct move *move = inventor->move;

    move->kind = LK_COMMAND_FINISH;
    aim_at_claim(inventor);
    move->token = some_token(inventor);
    move->finish = chance(inventor, 60) ? LK_FINISH_DONE : LK_FINISH_RETRY;
    move->delay_ms =
        move->finish == LK_FINISH_DONE || chance(inventor, 50) ? 0 : between(inventor, 1, 1000);
}

static void make_work(struct inventor *inventor) {
    struct move *move = inventor->move;
    int64_t dice = between(inventor, 1, 100);

    COPY_BELOW_ROOT(move->queue, some(inventor, queues, QUEUES));
    COPY(move->id, some(inventor, ids, IDS));
    if (dice <= 32) {
        make_push(inventor);
    } else if (dice <= 65) {
        make_take(inventor);
    } else if (dice <= 95) {
        make_finish(inventor);
    } else {
        move->kind = LK_COMMAND_UNPARK;
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
static bool make_again(struct inventor *inventor) {
    struct history *history = inventor->history;
    struct move *move = inventor->move;
    size_t back = (size_t)between(inventor, 1, chance(inventor, 60) ? 6 : HISTORY_STEPS_MAX);
    bool wants_ending = chance(inventor, 50);
    size_t from = back <= history->step ? history->step - back : 0;

    if (history->step == 0) {
        return false;
    }
    while (wants_ending && from > 0 && !is_ending(&history->moves[from])) {
        from--;
    }
    *move = history->moves[from];
    if (chance(inventor, is_ending(move) ? 60 : 30)) {
        move->token = some_token(inventor);
    }
    if (chance(inventor, 20)) {
        move->style = (lk_style)between(inventor, LK_TRY, LK_WAIT);
    }
    return true;
}

static void make_looks(struct inventor *inventor) {
    struct move *move = inventor->move;

    move->looks_at_all = chance(inventor, 50);
    move->look_path[0] = move->look_queue[0] = '\0';
    if (chance(inventor, 30)) {
        COPY_BELOW_ROOT(move->look_path, some(inventor, paths, PATHS));
    }
    if (chance(inventor, inventor->history->variant->work_percent / 2 + 5)) {
        COPY_BELOW_ROOT(move->look_queue, some(inventor, queues, QUEUES));
    }
    move->reopens = chance(inventor, 2);
}

void history_invent(struct history *history, struct lk_random *random) {
    struct inventor inventor = {history, random, &history->moves[history->step]};
    struct move *move = inventor.move;

    *move = (struct move){.kind = LK_COMMAND_TICK};
    COPY(move->owner, some(&inventor, owners, OWNERS));
    make_parts(&inventor);
    if (!chance(&inventor, 15) || !make_again(&inventor)) {
        if (chance(&inventor, history->variant->work_percent)) {
            make_work(&inventor);
        } else {
            make_lock_move(&inventor);
        }
    }
    move->pause_us = chance(&inventor, 2)
                         ? between(&inventor, 1000000, 8000000)
                         : between(&inventor, 1000, history->variant->pause_max_us);
    move->engine = (unsigned)between(&inventor, 0, HISTORY_ENGINES - 1);
    make_looks(&inventor);
}

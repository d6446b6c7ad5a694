/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves: as C, as kept.c has them; and as commands, one for the model, and one for the store, which
 * has tokens of its own.
 */
#include <inttypes.h>
#include <stdio.h>

#include "history.h"

/* ---- as C ------------------------------------------------------------------------------------ */

static void print_text(const char *field, const char *text) {
    if (text[0] != '\0') {
        (void)printf(", .%s = \"%s\"", field, text);
    }
}

static void print_number(const char *field, int64_t number) {
    if (number != 0) {
        (void)printf(", .%s = %" PRId64, field, number);
    }
}

static void print_flag(const char *field, bool flag) {
    if (flag) {
        (void)printf(", .%s = true", field);
    }
}

void move_print(const struct move *move) {
    static const char *const kinds[] = {"ASK",  "RENEW", "RELEASE", "BREAK",  "TICK", "PUT",
                                        "PUSH", "TAKE",  "FINISH",  "UNPARK", "DROP"};
    static const char *const tokens[] = {"NONE", "LATEST", "FORMER", "FOREIGN"};
    static const char *const styles[] = {"LK_TRY", "LK_QUEUE", "LK_WAIT"};

    (void)printf("#     {.kind = LK_COMMAND_%s", kinds[move->kind]);
    print_number("pause_us", move->pause_us);
    print_number("engine", move->engine);
    print_text("owner", move->owner);
    print_text("parts", move->parts);
    print_text("queue", move->queue);
    print_text("id", move->id);
    print_text("series", move->series);
    if (move->token != TOKEN_NONE) {
        (void)printf(", .token = TOKEN_%s", tokens[move->token]);
    }
    print_flag("names_owner", move->names_owner);
    if (move->kind == LK_COMMAND_ASK) {
        (void)printf(", .style = %s", styles[move->style]);
    }
    print_number("ttl_ms", move->ttl_ms);
    print_number("until_ms", move->until_ms);
    print_flag("note_given", move->note_given);
    print_text("note", move->note);
    print_number("blockers_max", move->blockers_max);
    print_flag("wants_value", move->wants_value);
    print_text("value", move->value);
    print_number("puts", move->puts);
    print_flag("deletes", move->deletes);
    print_flag("at_once", move->at_once);
    print_flag("cancels", move->cancels);
    if (move->finish != LK_FINISH_DONE) {
        (void)printf(", .finish = %s",
                     move->finish == LK_FINISH_RETRY ? "LK_FINISH_RETRY" : "LK_FINISH_PROGRESS");
    }
    print_number("delay_ms", move->delay_ms);
    print_number("keep_ms", move->keep_ms);
    print_number("priority", move->priority);
    if (move->push != LK_PUSH_NEW) {
        (void)printf(", .push = %s",
                     move->push == LK_PUSH_AGAIN ? "LK_PUSH_AGAIN" : "LK_PUSH_REPLACE");
    }
    print_flag("is_uncounted", move->is_uncounted);
    print_flag("parks", move->parks);
    print_flag("has_exit", move->has_exit);
    print_number("exit_code", move->exit_code);
    print_text("failure", move->failure);
    print_flag("only_parked", move->only_parked);
    print_number("max_attempts", move->max_attempts);
    print_number("ask_number", move->ask_number);
    print_flag("looks_at_all", move->looks_at_all);
    print_text("look_path", move->look_path);
    print_text("look_queue", move->look_queue);
    print_flag("reopens", move->reopens);
    (void)printf("},\n");
}

/* ---- tokens ---------------------------------------------------------------------------------- */

void history_learn(struct history *history, const char *owner, const char *path, uint64_t model,
                   uint64_t store, bool is_drawn) {
    struct token_pair *pair = &history->tokens[history->token_count % HISTORY_TOKENS];
    size_t known = history->token_count < HISTORY_TOKENS ? history->token_count : HISTORY_TOKENS;

    if (model == 0 || store == 0) {
        return;
    }
    for (size_t i = 0; i < known; i++) {
        struct token_pair *other = &history->tokens[i];
        if (other->model == model && strcmp(other->owner, owner) == 0
            && strcmp(other->path, path) == 0) {
            other->store = store; /* a look that writes nothing may have drawn another one */
            other->is_drawn = is_drawn;
            return;
        }
    }
    (void)snprintf(pair->owner, sizeof pair->owner, "%s", owner);
    (void)snprintf(pair->path, sizeof pair->path, "%s", path);
    pair->model = model;
    pair->store = store;
    pair->is_drawn = is_drawn;
    history->token_count++;
}

/* At the path; of a put also at what contains it. */
static bool is_near(const struct token_pair *pair, const char *path, bool is_put) {
    size_t size = strlen(pair->path);

    return strcmp(pair->path, path) == 0
           || (is_put && strncmp(pair->path, path, size) == 0 && path[size] == '/');
}

static bool is_own(const struct token_pair *pair, const struct move *move, const char *path) {
    return strcmp(pair->owner, move->owner) == 0
           && is_near(pair, path, move->kind == LK_COMMAND_PUT);
}

/* Under one root each draw is another number (R4); two roots may draw the same one. */
static bool is_under_one_root(const struct token_pair *pair, const char *path) {
    size_t size = strcspn(path, "/");

    return strcspn(pair->path, "/") == size && strncmp(pair->path, path, size) == 0;
}

/* Whether it is the token of something of its own, too: claims of one decision share one (R16). */
static bool is_own_token(const struct history *history, const struct token_pair *pair,
                         const struct move *move, const char *path) {
    for (size_t i = 0; i < history->token_count && i < HISTORY_TOKENS; i++) {
        const struct token_pair *other = &history->tokens[i];
        if (is_own(other, move, path)
            && (other->model == pair->model || other->store == pair->store)) {
            return true;
        }
    }
    return false;
}

/*
 * One that nothing is known of is a token that no lease has. A foreign one is drawn under the root
 * of the path: one of another root may be the own one in the model alone, or in the store alone.
 */
static struct token_pair choose(const struct history *history, const struct move *move,
                                const char *path) {
    const struct token_pair unknown = {.model = 1, .store = 1};
    size_t oldest =
        history->token_count > HISTORY_TOKENS ? history->token_count - HISTORY_TOKENS : 0;
    int skipped = move->token == TOKEN_FORMER ? 1 : 0;

    for (size_t i = history->token_count; i > oldest; i--) {
        const struct token_pair *pair = &history->tokens[(i - 1) % HISTORY_TOKENS];
        if (move->token == TOKEN_FOREIGN) {
            if (!is_own(pair, move, path) && is_under_one_root(pair, path)
                && !is_own_token(history, pair, move, path)) {
                return *pair;
            }
        } else if (is_own(pair, move, path) && skipped-- == 0) {
            return *pair;
        }
    }
    return unknown;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void build_ask(const struct history *history, const struct move *move, struct lk_ask *ask) {
    int64_t until_us =
        move->until_ms != 0 ? (history->times.wall_us / 1000 + move->until_ms) * 1000 : 0;

    *ask = (struct lk_ask){
        .owner = lk_slice_of(move->owner),
        .parts = history->parts.parts,
        .part_count = history->parts.count,
        .style = history->ops->blocks && move->style == LK_WAIT ? LK_QUEUE : move->style,
        .ttl_ms = move->ttl_ms,
        .until_us = until_us,
        .note_given = move->note_given,
        .note = lk_slice_of(move->note),
        .blockers_max = move->blockers_max,
        .wants_value = move->wants_value,
    };
}

static void build_take(const struct history *history, const struct move *move,
                       struct lk_take *take) {
    *take = (struct lk_take){
        .queue = history->queue,
        .owner = lk_slice_of(move->owner),
        .ttl_ms = move->ttl_ms,
        .max_attempts = move->max_attempts,
        .ask_number = lk_take_number(move->ask_number, 0),
        .note_given = move->note_given,
        .note = lk_slice_of(move->note),
    };
}

static void build_work(const struct history *history, const struct move *move, uint64_t token,
                       struct lk_command *command) {
    if (move->kind == LK_COMMAND_PUSH) {
        command->push = (struct lk_push){
            .kind = move->push,
            .queue = history->queue,
            .id = lk_slice_of(move->id),
            .value = lk_slice_of(move->value),
            .delay_ms = move->delay_ms,
            .needs = history->parts.parts,
            .need_count = history->parts.count,
            .priority = move->priority,
            .keep_ms = move->keep_ms,
        };
    } else if (move->kind == LK_COMMAND_TAKE) {
        build_take(history, move, &command->take);
    } else if (move->kind == LK_COMMAND_FINISH) {
        command->finish = (struct lk_finish){
            .queue = history->queue,
            .id = lk_slice_of(move->id),
            .owner = lk_slice_of(move->owner),
            .token = token,
            .kind = move->finish,
            .delay_ms = move->delay_ms,
            .is_uncounted = move->is_uncounted,
            .parks = move->parks,
            .failure = {.has_exit = move->has_exit,
                        .exit_code = move->exit_code,
                        .text = lk_slice_of(move->failure)},
        };
        if (move->finish == LK_FINISH_DONE) {
            command->finish.result = lk_slice_of(move->value);
            command->finish.keep_ms = move->keep_ms;
        } else if (move->finish == LK_FINISH_PROGRESS) {
            command->finish.progress = lk_slice_of(move->value);
        }
    } else if (move->kind == LK_COMMAND_DROP) {
        command->drop = (struct lk_drop){
            .queue = history->queue, .id = lk_slice_of(move->id), .only_parked = move->only_parked};
    } else {
        command->unpark = (struct lk_unpark){.queue = history->queue, .id = lk_slice_of(move->id)};
    }
}

/* R15: each part gets another value. */
static struct lk_release build_release(struct history *history, const struct move *move,
                                       const struct lk_target *target) {
    size_t count = 0;

    for (size_t i = 0; i < target->part_count; i++) {
        char *text = history->put_texts[i];

        if ((move->puts >> i & 1) != 0) {
            size_t size = strnlen(move->value, sizeof move->value - 1);
            memset(text, 0, sizeof history->put_texts[i]);
            memcpy(text, move->value, size);
            memset(text + size, '+', i);
            history->puts[count++] = (struct lk_release_put){.part = i, .bytes = lk_slice_of(text)};
        }
    }
    return (struct lk_release){.target = *target, .puts = history->puts, .put_count = count};
}

static void build_lock(struct history *history, const struct move *move, uint64_t token,
                       struct lk_command *command) {
    const struct lk_target target = {
        .owner = lk_slice_of(move->owner),
        .parts = history->parts.parts,
        .part_count = history->parts.count,
        .token = token,
    };

    if (move->kind == LK_COMMAND_ASK) {
        build_ask(history, move, &command->ask);
    } else if (move->kind == LK_COMMAND_RENEW) {
        command->renew = (struct lk_renew){.target = target, .ttl_ms = move->ttl_ms};
    } else if (move->kind == LK_COMMAND_RELEASE) {
        command->release = build_release(history, move, &target);
    } else if (move->kind == LK_COMMAND_PUT) {
        command->put = (struct lk_put){
            .path = history->parts.parts[0].path,
            .owner = lk_slice_of(move->names_owner ? move->owner : ""),
            .token = move->names_owner ? token : 0,
            .deletes = move->deletes,
            .bytes = lk_slice_of(move->value),
        };
    } else {
        command->broken = (struct lk_break){
            .path = history->parts.parts[0].path,
            .owner = lk_slice_of(move->names_owner ? move->owner : ""),
            .at_once = move->at_once,
            .cancels = move->cancels,
            .by = lk_slice_of(move->owner[0] != '\0' ? move->owner : "root"),
            .reason = lk_slice_of(move->at_once ? "at once" : "for a test"),
        };
    }
}

static bool is_work(enum lk_command_kind kind) {
    return kind == LK_COMMAND_PUSH || kind == LK_COMMAND_TAKE || kind == LK_COMMAND_FINISH
           || kind == LK_COMMAND_UNPARK || kind == LK_COMMAND_DROP;
}

void history_build_command(struct history *history, const struct move *move) {
    struct token_pair token = {.model = 0, .store = 0};

    history->command = (struct lk_command){.kind = move->kind, .times = history->times};
    history->asked = history->command;
    test_parts_parse(&history->parts, move->parts);
    if (move->kind == LK_COMMAND_TICK) {
        return;
    }
    if (is_work(move->kind)) {
        (void)lk_path_parse(lk_slice_of(move->queue), &history->queue, NULL);
        (void)snprintf(history->item, sizeof history->item, "%s/%s", move->queue, move->id);
    }
    if (move->token != TOKEN_NONE) {
        char path[LK_PATH_BYTES_MAX + 1] = "";
        (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(move->parts, "? "), move->parts);
        token = choose(history, move, move->kind == LK_COMMAND_FINISH ? history->item : path);
    }
    if (is_work(move->kind)) {
        build_work(history, move, token.model, &history->command);
        build_work(history, move, token.store, &history->asked);
    } else {
        build_lock(history, move, token.model, &history->command);
        build_lock(history, move, token.store, &history->asked);
    }
}

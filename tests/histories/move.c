/* SPDX-License-Identifier: Apache-2.0 */
/* Moves as C, as kept.c has them. */
#include <inttypes.h>
#include <stdio.h>

#include "history.h"

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
    if (move->finish == LK_FINISH_RETRY) {
        (void)printf(", .finish = LK_FINISH_RETRY");
    }
    print_number("delay_ms", move->delay_ms);
    print_number("priority", move->priority);
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

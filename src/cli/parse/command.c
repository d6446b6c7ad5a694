/* SPDX-License-Identifier: Apache-2.0 */
/* Commands by their names and by words that are like them, and what help says of one. */
#include "cli/parse/command.h"

#include <string.h>

#include "base/error.h"
#include "base/likeness.h"
#include "cli/parse/option.h"

const struct lk_cli_command *lk_cli_command_at(size_t index) {
    static const struct lk_cli_command *const parts[] = {lk_cli_lock_commands, lk_cli_work_commands,
                                                         lk_cli_store_commands};

    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
        for (const struct lk_cli_command *command = parts[part]; command->name != NULL; command++) {
            if (index-- == 0) {
                return command;
            }
        }
    }
    return NULL;
}

const struct lk_cli_command *lk_cli_command_by_name(const char *name) {
    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

/* The command that is meant by another program's word, or by one that is mistyped; NULL: none. */
static const struct lk_cli_command *command_like(const char *name) {
    const struct lk_cli_command *best = NULL;
    size_t best_distance = LK_LIKENESS_NONE;
    const char *own = lk_other_command(name, strlen(name));

    if (own != NULL) {
        return lk_cli_command_by_name(own);
    }
    for (size_t i = 0; lk_cli_command_at(i) != NULL; i++) {
        const struct lk_cli_command *command = lk_cli_command_at(i);
        size_t distance = lk_likeness(name, strlen(name), command->name);
        if (distance < best_distance) {
            best = command;
            best_distance = distance;
        }
    }
    return best;
}

lk_outcome lk_cli_command_unknown(const char *name, lk_error *error) {
    const struct lk_cli_command *like = command_like(name);

    return lk_error_set(error, LK_INVALID, "unknown command \"%s\"%s%s%s", name,
                        like != NULL ? "; did you mean \"" : "; see: lk help",
                        like != NULL ? like->name : "", like != NULL ? "\"?" : "");
}

bool lk_cli_command_lists(const struct lk_cli_command *command, enum lk_option_id id) {
    return (command->options & ~command->idle & LK_OPTION_BIT(id)) != 0;
}

const char *lk_cli_command_option_help(const struct lk_cli_command *command, enum lk_option_id id) {
    for (const struct lk_own_help *own = command->own_help; own->help != NULL; own++) {
        if (own->option == id) {
            return own->help;
        }
    }
    return lk_option_at(id)->help;
}

const char *lk_cli_command_outcome_text(const struct lk_cli_command *command, lk_outcome outcome) {
    return outcome == LK_BUSY && command->busy_text != NULL ? command->busy_text
                                                            : lk_outcome_text(outcome);
}

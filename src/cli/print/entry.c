/* SPDX-License-Identifier: Apache-2.0 */
/* The words for a part's mode and state. */
#include "cli/print/entry.h"

#include <inttypes.h>

#include "cli/print/say.h"
#include "form/form.h"

void lk_entry_mode_text(const lk_entry *entry, char ret_text[LK_ENTRY_MODE_SIZE]) {
    if (entry->limit != 0) {
        (void)snprintf(ret_text, LK_ENTRY_MODE_SIZE, "shared %" PRIu32 "/%" PRIu32, entry->units,
                       entry->limit);
    } else {
        (void)snprintf(ret_text, LK_ENTRY_MODE_SIZE, "%s", entry->shared ? "shared" : "exclusive");
    }
}

const char *lk_entry_state_text(const lk_entry *entry) {
    if (!entry->held) {
        return "waiting";
    }
    return entry->revoked ? "revoked" : "held";
}

const char *lk_entry_colour(const lk_entry *entry) {
    if (!entry->held) {
        return "\x1b[33m";
    }
    return entry->revoked ? "\x1b[31m" : "\x1b[32m";
}

int lk_entries_say(const struct lk_cli *cli, const lk_listing *listing, bool with_blockers) {
    for (size_t i = 0; i < listing->count; i++) {
        struct lk_object object;
        lk_form_write_entry(lk_object_begin(&object), &listing->entries[i], with_blockers);
        int exit_code = lk_say_object(cli, LK_OK, &object);
        if (exit_code != 0) {
            return exit_code;
        }
    }
    return 0;
}

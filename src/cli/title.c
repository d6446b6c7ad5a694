/* SPDX-License-Identifier: Apache-2.0 */
/* What others see of the command line: a word's bytes are the process's title. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "client/url.h"
#include "model/utf8.h"

/* The title of a word becomes `shown`, which is no longer than it. */
static void show(char *word, const char *shown) {
    size_t size = strlen(word);
    size_t shown_size = strlen(shown);

    memcpy(word, shown, shown_size);
    memset(word + shown_size, '\0', size - shown_size);
}

bool lk_title_hide_passwords(char **argv) {
    for (char **word = argv; *word != NULL && strcmp(*word, "--") != 0; word++) {
        char *shown = lk_url_without_password(*word);
        if (shown == NULL) {
            return false;
        }
        if (strcmp(shown, *word) != 0) {
            char *copy = strdup(*word);
            if (copy == NULL) {
                free(shown);
                return false;
            }
            show(*word, shown);
            *word = copy;
        }
        free(shown);
    }
    return true;
}

/* ---- the note of a command ------------------------------------------------------------------- */

/* A command as one line of text. */

struct note {
    char *bytes;
    size_t size;
};

/* False: the character does not fit any more. */
static bool add(struct note *note, const char *character, size_t size) {
    if (note->size + size > LK_COMMAND_NOTE_BYTES_MAX) {
        return false;
    }
    memcpy(note->bytes + note->size, character, size);
    note->size += size;
    return true;
}

static bool add_word(struct note *note, const char *word) {
    size_t size = strlen(word);

    for (size_t at = 0; at < size;) {
        uint32_t character = 0;
        size_t taken = lk_utf8_decode(word + at, size - at, &character);
        bool is_added = taken == 0                           ? add(note, "?", 1)
                        : lk_character_is_control(character) ? add(note, " ", 1)
                                                             : add(note, word + at, taken);
        if (!is_added) {
            return false;
        }
        at += taken > 0 ? taken : 1;
    }
    return true;
}

void lk_command_note(char *const *words, char ret_note[LK_COMMAND_NOTE_BYTES_MAX + 1]) {
    struct note note = {.bytes = ret_note};
    bool has_room = true;

    for (size_t i = 0; has_room && words[i] != NULL; i++) {
        char *shown = lk_url_without_password(words[i]);
        has_room = (i == 0 || add(&note, " ", 1)) && add_word(&note, shown != NULL ? shown : "?");
        free(shown);
    }
    ret_note[note.size] = '\0';
}

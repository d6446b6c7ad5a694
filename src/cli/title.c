/* SPDX-License-Identifier: Apache-2.0 */
/* What others see of the command line: a word's bytes are the process's title. */
#include "cli/title.h"

#include <stdlib.h>
#include <string.h>

#include "client/url.h"

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

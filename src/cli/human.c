/* SPDX-License-Identifier: Apache-2.0 */
/* Durations with at most two units, and owners, notes and paths made safe to print. */
#include "cli/human.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/utf8.h"

struct unit {
    int64_t ms;
    const char *name;
};

static const struct unit units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
enum { UNIT_COUNT = sizeof units / sizeof units[0] };

void lk_human_duration(int64_t duration_ms, char ret_text[LK_HUMAN_DURATION_SIZE]) {
    if (duration_ms < 1000) {
        (void)snprintf(ret_text, LK_HUMAN_DURATION_SIZE, "%" PRId64 "ms",
                       duration_ms > 0 ? duration_ms : 0);
        return;
    }
    size_t i = 0;
    while (duration_ms < units[i].ms) {
        i++;
    }
    int64_t whole = duration_ms / units[i].ms;
    int64_t rest_ms = duration_ms % units[i].ms;
    int used = snprintf(ret_text, LK_HUMAN_DURATION_SIZE, "%" PRId64 "%s", whole, units[i].name);
    if (i + 1 < UNIT_COUNT && rest_ms >= units[i + 1].ms) {
        (void)snprintf(ret_text + used, LK_HUMAN_DURATION_SIZE - (size_t)used, "%" PRId64 "%s",
                       rest_ms / units[i + 1].ms, units[i + 1].name);
    }
}

/*
 * Characters that change how their neighbours are shown: they could make a line say something
 * else than it does. Directional marks, embeddings, overrides and isolates; line separators.
 */
static bool is_trick(uint32_t character) {
    return (character >= 0x200E && character <= 0x200F)
           || (character >= 0x2028 && character <= 0x202E)
           || (character >= 0x2066 && character <= 0x2069);
}

char *lk_human_visible(const char *text) {
    enum { ESCAPED_SIZE = 4 }; /* \xHH, per byte */
    size_t size = strlen(text);
    char *visible = malloc(size * ESCAPED_SIZE + 1);
    if (visible == NULL) {
        return NULL;
    }
    char *end = visible;
    for (size_t at = 0; at < size;) {
        uint32_t character = 0;
        size_t taken = lk_utf8_decode(text + at, size - at, &character);
        if (taken > 0 && !lk_character_is_control(character) && !is_trick(character)) {
            memcpy(end, text + at, taken);
            end += taken;
            at += taken;
            continue;
        }
        for (size_t last = at + (taken > 0 ? taken : 1); at < last; at++) {
            (void)snprintf(end, ESCAPED_SIZE + 1, "\\x%02x", (unsigned)(unsigned char)text[at]);
            end += ESCAPED_SIZE;
        }
    }
    *end = '\0';
    return visible;
}

int lk_human_width(const char *text) {
    int width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xC0) != 0x80 ? 1 : 0; /* not a continuation byte */
    }
    return width;
}

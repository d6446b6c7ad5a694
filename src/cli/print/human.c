/* SPDX-License-Identifier: Apache-2.0 */
/* Durations with at most two units; messages; owners, notes and paths made safe to print. */
#include "cli/print/human.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/owner.h"
#include "base/text.h"
#include "model/utf8.h"

struct unit {
    int64_t ms;
    const char *name;
};

static const struct unit units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
enum { UNIT_COUNT = sizeof units / sizeof units[0] };

/* To the nearest multiple of the unit. */
static int64_t round_to(int64_t duration_ms, int64_t unit_ms) {
    int64_t over_ms = duration_ms % unit_ms;

    return duration_ms - over_ms
           + (over_ms >= (unit_ms + 1) / 2 && duration_ms <= INT64_MAX - unit_ms ? unit_ms : 0);
}

/*
 * Rounded to the smaller of the two units that are shown, so that 59.99 s of a minute's ttl are a
 * minute and not 59 s.
 */
void lk_human_duration(int64_t duration_ms, char ret_text[LK_HUMAN_DURATION_SIZE]) {
    if (duration_ms < 1000) {
        (void)snprintf(ret_text, LK_HUMAN_DURATION_SIZE, "%" PRId64 "ms",
                       duration_ms > 0 ? duration_ms : 0);
        return;
    }
    size_t i = UNIT_COUNT - 1;
    int64_t shown_ms = round_to(duration_ms, units[i].ms);
    while (i > 0 && shown_ms >= units[i - 1].ms) {
        i--;
        shown_ms = round_to(duration_ms, units[i + 1].ms);
    }
    int64_t whole = shown_ms / units[i].ms;
    int64_t rest_ms = shown_ms % units[i].ms;
    int used = snprintf(ret_text, LK_HUMAN_DURATION_SIZE, "%" PRId64 "%s", whole, units[i].name);
    if (rest_ms > 0) {
        (void)snprintf(ret_text + used, LK_HUMAN_DURATION_SIZE - (size_t)used, "%" PRId64 "%s",
                       rest_ms / units[i + 1].ms, units[i + 1].name);
    }
}

/*
 * Characters that change how their neighbours are shown, and so could make a line misleading:
 * directional marks, embeddings, overrides and isolates; line separators.
 */
static bool is_trick(uint32_t character) {
    return (character >= 0x200E && character <= 0x200F)
           || (character >= 0x2028 && character <= 0x202E)
           || (character >= 0x2066 && character <= 0x2069);
}

static char *make_visible(const char *text, size_t size) {
    enum { ESCAPED_SIZE = 4 }; /* \xHH, per byte */
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

char *lk_human_visible(const char *text) {
    return make_visible(text, strlen(text));
}

/* The size of `R16: ` where `text` begins with a rule, else 0. */
static size_t rule_size(const char *text) {
    size_t digits = text[0] == 'R' ? strspn(text + 1, "0123456789") : 0;

    return digits > 0 && strncmp(text + 1 + digits, ": ", 2) == 0 ? 1 + digits + 2 : 0;
}

/* The last rule that is named within the text; what was quoted before it may look like one. */
static const char *find_inner_rule(const char *text) {
    const char *found = NULL;

    for (const char *at = strstr(text, ": "); at != NULL; at = strstr(at + 2, ": ")) {
        found = rule_size(at + 2) > 0 ? at + 2 : found;
    }
    return found;
}

char *lk_human_sentence(const char *text) {
    size_t first = rule_size(text);
    const char *inner = find_inner_rule(text + first);
    size_t inner_size = inner != NULL ? rule_size(inner) : 0;
    const char *rest = inner != NULL ? inner + inner_size : "";
    size_t before = inner != NULL ? (size_t)(inner - text) - first : strlen(text + first);
    char *sentence = NULL;

    if (first + inner_size == 0) {
        return lk_human_visible(text);
    }
    int size =
        asprintf(&sentence, "%.*s%s (%.*s%s%.*s)", (int)before, text + first, rest,
                 first > 0 ? (int)first - 2 : 0, text, first > 0 && inner_size > 0 ? ", " : "",
                 inner_size > 0 ? (int)inner_size - 2 : 0, inner_size > 0 ? inner : "");
    char *visible = size >= 0 ? make_visible(sentence, (size_t)size) : NULL;
    free(size >= 0 ? sentence : NULL);
    return visible;
}

int lk_human_owner_size(const char *owner) {
    return (int)lk_owner_shown_size(owner);
}

char *lk_human_owner(const char *owner) {
    return make_visible(owner, lk_owner_shown_size(owner));
}

char *lk_human_owner_of(const char *owner, const char *user) {
    char *text;
    char *visible;

    if (user == NULL) {
        return lk_human_owner(owner);
    }
    text = lk_text_make("%.*s of %s", lk_human_owner_size(owner), owner, user);
    visible = text != NULL ? lk_human_visible(text) : NULL;
    free(text);
    return visible;
}

/* ---- how wide text is ------------------------------------------------------------------------ */

/* After Unicode's East Asian Width and its combining marks. */

struct range {
    uint32_t first, last;
};

/* In rising order, as all that is searched here. */
static const struct range marks[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x0900, 0x0902}, {0x093C, 0x093C}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},   {0x0E47, 0x0E4E},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D}, {0x20D0, 0x20FF},   {0x302A, 0x302D},
    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF},
};

static const struct range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},
    {0x2614, 0x2615},   {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},
    {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD},
};

static int is_in(const struct range *ranges, size_t count, uint32_t character) {
    for (size_t i = 0; i < count && ranges[i].first <= character; i++) {
        if (character <= ranges[i].last) {
            return 1;
        }
    }
    return 0;
}

int lk_width_of_character(uint32_t character) {
    if (is_in(marks, sizeof marks / sizeof marks[0], character)) {
        return 0;
    }
    return 1 + is_in(wide, sizeof wide / sizeof wide[0], character);
}

size_t lk_width_fit(const char *text, int columns, int *ret_used) {
    size_t size = strlen(text);
    size_t at = 0;
    int used = 0;

    while (at < size) {
        uint32_t character = 0;
        size_t taken = lk_utf8_decode(text + at, size - at, &character);
        int width = taken > 0 ? lk_width_of_character(character) : 1;
        if (width > columns - used) {
            break;
        }
        used += width;
        at += taken > 0 ? taken : 1;
    }
    *ret_used = used;
    return at;
}

int lk_width_of(const char *text) {
    int used;

    (void)lk_width_fit(text, 1 << 30, &used);
    return used;
}

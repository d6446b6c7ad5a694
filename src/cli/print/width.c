/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of characters, after Unicode's East Asian Width and its combining marks. */
#include "cli/print/width.h"

#include <string.h>

#include "model/utf8.h"

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

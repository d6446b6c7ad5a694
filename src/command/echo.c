/* SPDX-License-Identifier: Apache-2.0 */
/* What answers repeat of wishes. */
#include <stdlib.h>

#include "base/error.h"
#include "command/answer.h"
#include "wire/line.h"

/* A terminated copy at the end of the text, which has room for everything a wish can name. */
static char *add(struct lk_echo *echo, struct lk_slice piece) {
    char *copy = echo->text + echo->size;

    memcpy(copy, piece.bytes, piece.size);
    copy[piece.size] = '\0';
    echo->size += piece.size + 1;
    return copy;
}

static bool parse_cursor(struct lk_slice text, struct lk_standing *ret_standing) {
    const char *dot = text.size > 0 ? memchr(text.bytes, '.', text.size) : NULL;
    size_t size = dot != NULL ? (size_t)(dot - text.bytes) : text.size;
    struct lk_slice rest = {.bytes = dot != NULL ? dot + 1 : "0",
                            .size = dot != NULL ? text.size - size - 1 : 1};
    int64_t ticket;
    int64_t id;

    if (!lk_resp_number_parse((struct lk_slice){text.bytes, size}, &ticket)
        || !lk_resp_number_parse(rest, &id) || ticket < 0 || id < 0) {
        return false;
    }
    *ret_standing = (struct lk_standing){.ticket = (uint64_t)ticket, .id = (uint64_t)id};
    return true;
}

static void fill_parts(struct lk_echo *echo, const struct lk_wish *wish,
                       const struct lk_understood *understood) {
    for (size_t i = 0; i < wish->part_count; i++) {
        const struct lk_path *path = &understood->parts[i].path;
        echo->paths[i] = add(echo, (struct lk_slice){path->bytes, path->size});
    }
    echo->path_count = wish->part_count;
    if (wish->owner.size > 0 && wish->owner.size <= LK_OWNER_BYTES_MAX) {
        echo->owner = add(echo, wish->owner);
    }
}

lk_outcome lk_echo_fill(struct lk_echo *echo, const struct lk_wish *wish,
                        const struct lk_understood *understood, lk_error *error) {
    bool is_long = wish->cursor.size > 0;

    echo->command = wish->command;
    echo->is_meta = wish->is_meta;
    echo->has_path = false;
    echo->count = wish->count;
    echo->behind = (struct lk_standing){.ticket = 0};
    echo->owner = NULL;
    echo->path_count = 0;
    echo->size = 0;
    if (is_long && !parse_cursor(wish->cursor, &echo->behind)) {
        return lk_error_set(error, LK_INVALID, "there is no cursor such as this");
    }
    if (wish->command->operands == LK_OPERANDS_PARTS) {
        fill_parts(echo, wish, understood);
    } else if (understood->call.kind >= LK_CALL_GET && understood->call.has_path) {
        echo->has_path = true;
        echo->path = understood->call.path;
        echo->path.bytes = add(echo, (struct lk_slice){echo->path.bytes, echo->path.size});
    }
    return LK_OK;
}

struct lk_echo *lk_echo_copy(const struct lk_echo *echo) {
    size_t size = offsetof(struct lk_echo, text) + echo->size;
    struct lk_echo *copy = malloc(size);

    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, echo, size);
    if (copy->owner != NULL) {
        copy->owner = copy->text + (echo->owner - echo->text);
    }
    for (size_t i = 0; i < copy->path_count; i++) {
        copy->paths[i] = copy->text + (echo->paths[i] - echo->text);
    }
    if (copy->has_path) {
        copy->path.bytes = copy->text + (echo->path.bytes - echo->text);
    }
    return copy;
}

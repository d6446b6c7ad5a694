/* SPDX-License-Identifier: Apache-2.0 */
/* Wishes as bodies of JSON. A field that a command does not have is refused: it may be a typo. */
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "command/keywords.h"
#include "form/duration.h"
#include "form/text.h"

enum {
    DURATION_TEXT_BYTES_MAX = 32,
    DECODED_MAX = 2, /* value_base64 and put_base64 */
    SHOWN_NAME_BYTES_MAX = 64,
};

struct lk_wish_body {
    json_t *root;
    char *decoded[DECODED_MAX];
    size_t decoded_count;
};

void lk_wish_body_free(struct lk_wish_body *body) {
    if (body != NULL) {
        for (size_t i = 0; i < body->decoded_count; i++) {
            free(body->decoded[i]);
        }
        json_decref(body->root);
        free(body);
    }
}

static struct lk_slice slice_of(const json_t *string) {
    return (struct lk_slice){.bytes = json_string_value(string),
                             .size = json_string_length(string)};
}

static lk_outcome refuse(const char *name, const char *what, lk_error *error) {
    return lk_error_set(error, LK_INVALID, "\"%.*s\" is %s", SHOWN_NAME_BYTES_MAX, name, what);
}

/* ---- kinds of values ---- */

/* Milliseconds as a number, or a text such as "10s". */
static lk_outcome read_duration(const char *name, const json_t *value, int64_t *ret_ms,
                                lk_error *error) {
    if (json_is_integer(value)) {
        *ret_ms = json_integer_value(value);
        return LK_OK;
    }
    if (json_is_string(value) && json_string_length(value) < DURATION_TEXT_BYTES_MAX
        && strlen(json_string_value(value)) == json_string_length(value)) {
        return lk_duration_parse(json_string_value(value), ret_ms, error);
    }
    return refuse(name, "milliseconds, or a text such as \"10s\"", error);
}

static lk_outcome add_parts(struct lk_wish *wish, enum lk_keyword keyword, const char *name,
                            const json_t *array, lk_error *error) {
    size_t index;
    const json_t *element;

    if (!json_is_array(array)) {
        return refuse(name, "an array of texts", error);
    }
    json_array_foreach(array, index, element) {
        lk_outcome outcome = json_is_string(element)
                                 ? lk_keyword_add_part(wish, keyword, slice_of(element), error)
                                 : refuse(name, "an array of texts", error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    return LK_OK;
}

/* A keyword's value by what the keyword is. */
static lk_outcome set_field(struct lk_wish *wish, enum lk_keyword keyword, const char *name,
                            const json_t *value, lk_error *error) {
    int64_t number = json_integer_value(value);
    lk_outcome outcome = LK_OK;

    switch (lk_keyword_forms[keyword].kind) {
    case LK_KEYWORD_FLAG:
        if (!json_is_boolean(value)) {
            return refuse(name, "true or false", error);
        }
        lk_keyword_set_flag(wish, keyword, json_is_true(value));
        return LK_OK;
    case LK_KEYWORD_TEXT:
        if (!json_is_string(value)) {
            return refuse(name, "a text", error);
        }
        lk_keyword_set_text(wish, keyword, slice_of(value));
        return LK_OK;
    case LK_KEYWORD_PART:
        return add_parts(wish, keyword, name, value, error);
    case LK_KEYWORD_NUMBER:
        outcome = json_is_integer(value) ? LK_OK : refuse(name, "a whole number", error);
        break;
    default:
        outcome = read_duration(name, value, &number, error);
        break;
    }
    return outcome == LK_OK ? lk_keyword_set_number(wish, keyword, name, number, error) : outcome;
}

/* ---- names ---- */

/* The mode of an ask. A `wait` without it is one. */
static lk_outcome set_mode(struct lk_wish *wish, const json_t *value, lk_error *error) {
    static const enum lk_keyword styles[] = {LK_WORD_TRY, LK_WORD_QUEUE, LK_WORD_WAIT};

    for (size_t i = 0; json_is_string(value) && i < sizeof styles / sizeof styles[0]; i++) {
        if ((wish->command->keywords >> styles[i] & 1) != 0
            && lk_word_is(slice_of(value), lk_keyword_forms[styles[i]].name)) {
            wish->style = lk_keyword_forms[styles[i]].style;
            wish->has_mode = true;
            return LK_OK;
        }
    }
    return lk_error_set(error, LK_INVALID, "R10: \"mode\" is one of the ways to ask: try, %swait",
                        (wish->command->keywords >> LK_WORD_QUEUE & 1) != 0 ? "queue, " : "");
}

/* `name`, or `name` and `suffix`. */
static bool is_called(const char *name, const char *json_name, const char *suffix) {
    size_t size = strlen(json_name);

    return strncmp(name, json_name, size) == 0
           && (name[size] == '\0' || strcmp(name + size, suffix) == 0);
}

static enum lk_keyword find_field(const struct lk_command *command, const char *name) {
    for (unsigned i = 0; i < LK_WORDS_COUNT; i++) {
        const struct lk_keyword_form *form = &lk_keyword_forms[i];
        bool is_time = form->kind == LK_KEYWORD_DURATION || form->kind == LK_KEYWORD_STYLE;
        if ((command->keywords >> i & 1) != 0 && form->json_name != NULL
            && is_called(name, form->json_name, is_time ? "_ms" : "")) {
            return (enum lk_keyword)i;
        }
    }
    return LK_WORDS_COUNT;
}

/* Where a text that is an operand goes; NULL: it is none of this command's. */
static struct lk_slice *find_operand(struct lk_wish *wish, const char *name) {
    bool has_id = wish->command->operands == LK_OPERANDS_QUEUE_ID;
    bool is_queue = has_id || wish->command->kind == LK_CALL_TAKE;

    if (wish->command->operands == LK_OPERANDS_PARTS) {
        return NULL;
    }
    if (strcmp(name, is_queue ? "queue" : "path") == 0) {
        wish->has_path = true;
        return &wish->path;
    }
    return has_id && strcmp(name, "id") == 0 ? &wish->id : NULL;
}

static lk_outcome set_base64(struct lk_wish *wish, enum lk_keyword keyword, const char *name,
                             const json_t *value, struct lk_wish_body *body, lk_error *error) {
    struct lk_slice text = slice_of(value);
    char *copy;

    if (!json_is_string(value) || body->decoded_count == DECODED_MAX) {
        return refuse(name, "a text in base64", error);
    }
    copy = malloc(text.size + 1);
    if (copy == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a value");
    }
    memcpy(copy, text.bytes, text.size);
    body->decoded[body->decoded_count++] = copy;
    if (!lk_form_read_base64(copy, text.size, &text.size)) {
        return refuse(name, "not base64", error);
    }
    text.bytes = copy;
    lk_keyword_set_text(wish, keyword, text);
    return LK_OK;
}

/* The keyword whose value may come in base64 and is called so; LK_WORDS_COUNT: none. */
static enum lk_keyword find_base64(const struct lk_command *command, const char *name) {
    bool puts = (command->keywords >> LK_WORD_PUT & 1) != 0;
    bool has_value = (command->keywords >> LK_WORD_VALUE & 1) != 0;

    if (puts && strcmp(name, "put_base64") == 0) {
        return LK_WORD_PUT;
    }
    return has_value && strcmp(name, "value_base64") == 0 ? LK_WORD_VALUE : LK_WORDS_COUNT;
}

static lk_outcome set_member(struct lk_wish *wish, const char *name, const json_t *value,
                             struct lk_wish_body *body, lk_error *error) {
    enum lk_keyword base64 = find_base64(wish->command, name);
    enum lk_keyword keyword = base64 != LK_WORDS_COUNT ? base64 : find_field(wish->command, name);
    bool has_parts = wish->command->operands == LK_OPERANDS_PARTS;
    struct lk_slice *operand = find_operand(wish, name);
    lk_outcome outcome;

    if (operand != NULL) {
        *operand = slice_of(value);
        return json_is_string(value) ? LK_OK : refuse(name, "a text", error);
    }
    if (has_parts && (strcmp(name, "parts") == 0 || strcmp(name, "paths") == 0)) {
        return add_parts(wish, LK_WORD_ALSO, name, value, error);
    }
    if (strcmp(name, "mode") == 0 && (wish->command->keywords >> LK_WORD_TRY & 1) != 0) {
        return set_mode(wish, value, error);
    }
    if (keyword == LK_WORDS_COUNT) {
        return lk_error_set(error, LK_INVALID, "%s has no field \"%.*s\"", wish->command->route,
                            SHOWN_NAME_BYTES_MAX, name);
    }
    if ((wish->given >> keyword & 1) != 0) {
        return lk_error_set(error, LK_INVALID, "\"%.*s\" is said twice", SHOWN_NAME_BYTES_MAX,
                            name);
    }
    wish->given |= UINT64_C(1) << keyword;
    outcome = base64 != LK_WORDS_COUNT ? set_base64(wish, keyword, name, value, body, error)
                                       : set_field(wish, keyword, name, value, error);
    return outcome;
}

/* What a wait means once all members are known. */
static lk_outcome settle_mode(struct lk_wish *wish, lk_error *error) {
    bool has_wait = (wish->given >> LK_WORD_WAIT & 1) != 0;

    if (has_wait && wish->has_mode && wish->style != LK_WAIT) {
        return lk_error_set(error, LK_INVALID, "R10: a \"wait\" belongs to the mode wait");
    }
    if (has_wait) {
        wish->style = LK_WAIT;
    } else if (wish->style == LK_WAIT) {
        wish->wait_ms = LK_NEVER;
    }
    return LK_OK;
}

/* What must be there. */
static lk_outcome require_operands(const struct lk_wish *wish, lk_error *error) {
    switch (wish->command->operands) {
    case LK_OPERANDS_PARTS:
        return wish->part_count > 0
                   ? LK_OK
                   : lk_error_set(error, LK_INVALID, "R2: \"parts\" names at least one part");
    case LK_OPERANDS_NONE:
        return LK_OK;
    case LK_OPERANDS_QUEUE_ID:
        if (wish->id.bytes == NULL) {
            return lk_error_set(error, LK_INVALID, "\"id\" is missing");
        }
        break;
    default:
        break;
    }
    return wish->has_path ? LK_OK
                          : lk_error_set(error, LK_INVALID, "\"%s\" is missing",
                                         wish->command->kind == LK_CALL_BREAK ? "path" : "queue");
}

lk_outcome lk_wish_read_json(struct lk_wish *wish, struct lk_slice json,
                             struct lk_wish_body **ret_body, lk_error *error) {
    struct lk_wish_body *body = calloc(1, sizeof *body);
    json_error_t place;
    const char *name;
    json_t *value;
    lk_outcome outcome = LK_OK;

    *ret_body = body;
    if (body == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the body");
    }
    body->root = json_loadb(json.bytes != NULL ? json.bytes : "", json.size,
                            JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &place);
    if (body->root == NULL) {
        return lk_error_set(error, LK_INVALID, "the body is not JSON: %s, at byte %d", place.text,
                            place.position);
    }
    if (!json_is_object(body->root)) {
        return lk_error_set(error, LK_INVALID, "the body is JSON, but not an object");
    }
    json_object_foreach(body->root, name, value) {
        outcome = set_member(wish, name, value, body, error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    outcome = settle_mode(wish, error);
    return outcome == LK_OK ? require_operands(wish, error) : outcome;
}

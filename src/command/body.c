/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads drafts from bodies of JSON. A field that the command does not have is refused: it may be a
 * typing error.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "command/fields.h"
#include "form/duration.h"
#include "form/text.h"

enum {
    DURATION_TEXT_BYTES_MAX = 32,
    DECODED_MAX = 1 + LK_PARTS_MAX, /* value_base64, and put_base64 or puts_base64 */
    SHOWN_NAME_BYTES_MAX = 64,
};

struct lk_draft_body {
    json_t *root;
    char *decoded[DECODED_MAX];
    size_t decoded_count;
};

void lk_draft_body_free(struct lk_draft_body *body) {
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
    return lk_error_set(error, LK_INVALID, "\"%.*s\" must be %s", SHOWN_NAME_BYTES_MAX, name, what);
}

/* ---- kinds of values ------------------------------------------------------------------------- */

/* Milliseconds as a number, or text such as "10s". */
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

static lk_outcome add_texts(struct lk_draft *draft, enum lk_keyword keyword, const char *name,
                            const json_t *array, lk_error *error) {
    size_t index;
    const json_t *element;

    if (!json_is_array(array)) {
        return refuse(name, "an array of texts", error);
    }
    json_array_foreach(array, index, element) {
        lk_outcome outcome = json_is_string(element)
                                 ? lk_keyword_add_text(draft, keyword, slice_of(element), error)
                                 : refuse(name, "an array of texts", error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    return LK_OK;
}

/* Sets the mode of an ask. A `wait` without a mode means WAIT. */
static lk_outcome set_mode(struct lk_draft *draft, const json_t *value, lk_error *error) {
    static const enum lk_keyword styles[] = {LK_WORD_TRY, LK_WORD_QUEUE, LK_WORD_WAIT};

    for (size_t i = 0; json_is_string(value) && i < sizeof styles / sizeof styles[0]; i++) {
        if ((draft->command->keywords >> styles[i] & 1) != 0
            && lk_word_is(slice_of(value), lk_keyword_forms[styles[i]].name)) {
            draft->style = lk_keyword_forms[styles[i]].style;
            draft->has_mode = true;
            return LK_OK;
        }
    }
    return lk_error_set(error, LK_INVALID, "R10: \"mode\" must be one of try, %swait",
                        (draft->command->keywords >> LK_WORD_QUEUE & 1) != 0 ? "queue, " : "");
}

static lk_outcome add_ids(struct lk_draft *draft, const struct lk_member *member,
                          const json_t *value, lk_error *error) {
    bool is_array = member->kind == LK_MEMBER_IDS;
    const char *name = member->name;
    size_t count = is_array ? json_array_size(value) : 1;
    lk_outcome outcome = LK_OK;

    if (is_array && count == 0) {
        return refuse(name, "an array of texts", error);
    }
    for (size_t i = 0; i < count && outcome == LK_OK; i++) {
        const json_t *id = is_array ? json_array_get(value, i) : value;

        outcome = json_is_string(id)
                      ? lk_draft_add_id(draft, slice_of(id), error)
                      : refuse(name, is_array ? "an array of texts" : "a text", error);
    }
    return outcome;
}

static lk_outcome set_one_base64(struct lk_draft *draft, enum lk_keyword keyword, const char *name,
                                 const json_t *value, struct lk_draft_body *body, lk_error *error) {
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
        return refuse(name, "a text in base64", error);
    }
    text.bytes = copy;
    if (lk_keyword_forms[keyword].kind == LK_KEYWORD_LIST) {
        return lk_keyword_add_text(draft, keyword, text, error);
    }
    lk_keyword_set_text(draft, keyword, text);
    return LK_OK;
}

/* One text, or of a list also an array of them. */
static lk_outcome set_base64(struct lk_draft *draft, enum lk_keyword keyword, const char *name,
                             const json_t *value, struct lk_draft_body *body, lk_error *error) {
    bool is_array = lk_keyword_forms[keyword].kind == LK_KEYWORD_LIST && json_is_array(value);
    size_t count = is_array ? json_array_size(value) : 1;
    lk_outcome outcome = LK_OK;

    if (count > LK_PARTS_MAX) {
        return lk_error_set(error, LK_INVALID, "\"%s\" has more than %d values", name,
                            LK_PARTS_MAX);
    }
    for (size_t i = 0; i < count && outcome == LK_OK; i++) {
        outcome = set_one_base64(draft, keyword, name, is_array ? json_array_get(value, i) : value,
                                 body, error);
    }
    return outcome;
}

static lk_outcome set_text(struct lk_draft *draft, const struct lk_member *member,
                           const json_t *value, lk_error *error) {
    if (!json_is_string(value)) {
        return refuse(member->name, "a text", error);
    }
    if (member->kind == LK_MEMBER_PATH) {
        draft->has_path = true;
        draft->path = slice_of(value);
    } else {
        lk_keyword_set_text(draft, member->keyword, slice_of(value));
    }
    return LK_OK;
}

static lk_outcome set_number(struct lk_draft *draft, const struct lk_member *member,
                             const json_t *value, lk_error *error) {
    int64_t number = json_integer_value(value);
    lk_outcome outcome = LK_OK;

    if (member->kind == LK_MEMBER_DURATION) {
        outcome = read_duration(member->name, value, &number, error);
    } else if (!json_is_integer(value)) {
        outcome = refuse(member->name, "a whole number", error);
    }
    return outcome == LK_OK
               ? lk_keyword_set_number(draft, member->keyword, member->name, number, error)
               : outcome;
}

static lk_outcome set_flag(struct lk_draft *draft, const struct lk_member *member,
                           const json_t *value, lk_error *error) {
    if (!json_is_boolean(value)) {
        return refuse(member->name, "true or false", error);
    }
    lk_keyword_set_flag(draft, member->keyword, json_is_true(value));
    return LK_OK;
}

/* ---- members --------------------------------------------------------------------------------- */

static lk_outcome set_value(struct lk_draft *draft, const struct lk_member *member,
                            const json_t *value, struct lk_draft_body *body, lk_error *error) {
    switch (member->kind) {
    case LK_MEMBER_PARTS:
        return add_texts(draft, LK_WORD_ALSO, member->name, value, error);
    case LK_MEMBER_PATH:
    case LK_MEMBER_TEXT:
        return set_text(draft, member, value, error);
    case LK_MEMBER_ID:
    case LK_MEMBER_IDS:
        return add_ids(draft, member, value, error);
    case LK_MEMBER_TEXT_OR_TEXTS:
        if (json_is_string(value)) {
            return lk_keyword_add_text(draft, member->keyword, slice_of(value), error);
        }
        break;
    case LK_MEMBER_TEXTS:
        break;
    case LK_MEMBER_BASE64:
    case LK_MEMBER_BASE64_OR_TEXTS:
        return set_base64(draft, member->keyword, member->name, value, body, error);
    case LK_MEMBER_NUMBER:
    case LK_MEMBER_DURATION:
        return set_number(draft, member, value, error);
    case LK_MEMBER_FLAG:
        return set_flag(draft, member, value, error);
    case LK_MEMBER_MODE:
        return set_mode(draft, value, error);
    }
    return add_texts(draft, member->keyword, member->name, value, error);
}

static lk_outcome set_member(struct lk_draft *draft, const char *name, const json_t *value,
                             struct lk_draft_body *body, lk_error *error) {
    const struct lk_member *member = lk_member_find(draft->command, lk_slice_of(name));
    uint64_t bit;

    if (member == NULL) {
        return lk_error_set(error, LK_INVALID, "%s has no field \"%.*s\"", draft->command->route,
                            SHOWN_NAME_BYTES_MAX, name);
    }
    bit = member->keyword != LK_WORDS_COUNT ? UINT64_C(1) << member->keyword : 0;
    if ((draft->given & bit) != 0) {
        return lk_error_set(error, LK_INVALID, "\"%.*s\" is given twice", SHOWN_NAME_BYTES_MAX,
                            name);
    }
    draft->given |= bit;
    return set_value(draft, member, value, body, error);
}

/* Interprets `wait` once all members are known. */
static lk_outcome resolve_mode(struct lk_draft *draft, lk_error *error) {
    bool has_wait = (draft->given >> LK_WORD_WAIT & 1) != 0;

    if (has_wait && draft->has_mode && draft->style != LK_WAIT) {
        return lk_error_set(error, LK_INVALID, "R10: \"wait\" is only allowed with the mode wait");
    }
    if (draft->has_mode && draft->style == LK_QUEUE && draft->owner.size == 0) {
        return lk_error_set(error, LK_INVALID,
                            "R10: the mode queue needs an \"owner\": a request that nothing can "
                            "repeat would be granted in vain");
    }
    if (has_wait) {
        draft->style = LK_WAIT;
    } else if (draft->style == LK_WAIT) {
        draft->wait_ms = LK_NEVER;
    }
    return LK_OK;
}

static bool is_there(const struct lk_draft *draft, const struct lk_member *member) {
    switch (member->kind) {
    case LK_MEMBER_PARTS:
        return draft->part_count > 0;
    case LK_MEMBER_PATH:
        return draft->has_path;
    case LK_MEMBER_ID:
        return draft->id_count > 0;
    default: /* that a keyword is missing is found where its text is checked */
        return true;
    }
}

/* Checks that the required operands are given, under one of their names. */
static lk_outcome require_operands(const struct lk_draft *draft, lk_error *error) {
    const struct lk_member *member = NULL;

    while ((member = lk_member_next(draft->command, member)) != NULL) {
        if (member->is_required && !is_there(draft, member)) {
            return member->kind == LK_MEMBER_PARTS
                       ? lk_error_set(error, LK_INVALID, "R2: \"parts\" names at least one part")
                       : lk_error_set(error, LK_INVALID, "\"%s\" is missing", member->name);
        }
    }
    return LK_OK;
}

lk_outcome lk_draft_read_json(struct lk_draft *draft, struct lk_slice json,
                              struct lk_draft_body **ret_body, lk_error *error) {
    struct lk_draft_body *body = calloc(1, sizeof *body);
    json_error_t problem;
    const char *name;
    json_t *value;
    lk_outcome outcome = LK_OK;

    *ret_body = body;
    if (body == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the body");
    }
    body->root = json_loadb(json.bytes != NULL ? json.bytes : "", json.size,
                            JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    if (body->root == NULL) {
        return lk_error_set(error, LK_INVALID, "the body is not JSON: %s, at byte %d", problem.text,
                            problem.position);
    }
    if (!json_is_object(body->root)) {
        return lk_error_set(error, LK_INVALID, "the body must be a JSON object");
    }
    json_object_foreach(body->root, name, value) {
        outcome = set_member(draft, name, value, body, error);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
    outcome = resolve_mode(draft, error);
    return outcome == LK_OK ? require_operands(draft, error) : outcome;
}

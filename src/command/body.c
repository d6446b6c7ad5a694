/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads drafts from bodies of JSON. A field that the command does not have is refused: it may be a
 * typing error.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/error.h"
#include "command/keywords.h"
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

/* Sets a keyword's value according to its kind. */
static lk_outcome set_field(struct lk_draft *draft, enum lk_keyword keyword, const char *name,
                            const json_t *value, lk_error *error) {
    int64_t number = json_integer_value(value);
    lk_outcome outcome = LK_OK;

    switch (lk_keyword_forms[keyword].kind) {
    case LK_KEYWORD_FLAG:
        if (!json_is_boolean(value)) {
            return refuse(name, "true or false", error);
        }
        lk_keyword_set_flag(draft, keyword, json_is_true(value));
        return LK_OK;
    case LK_KEYWORD_TEXT:
        if (!json_is_string(value)) {
            return refuse(name, "a text", error);
        }
        lk_keyword_set_text(draft, keyword, slice_of(value));
        return LK_OK;
    case LK_KEYWORD_LIST:
        return keyword == LK_WORD_PUT && json_is_string(value)
                   ? lk_keyword_add_text(draft, keyword, slice_of(value), error)
                   : add_texts(draft, keyword, name, value, error);
    case LK_KEYWORD_NUMBER:
        outcome = json_is_integer(value) ? LK_OK : refuse(name, "a whole number", error);
        break;
    default:
        outcome = read_duration(name, value, &number, error);
        break;
    }
    return outcome == LK_OK ? lk_keyword_set_number(draft, keyword, name, number, error) : outcome;
}

/* ---- names ----------------------------------------------------------------------------------- */

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

/* What may follow the name of a keyword in JSON: "wait_ms", "puts". */
static const char *suffix_of(enum lk_keyword keyword) {
    enum lk_keyword_kind kind = lk_keyword_forms[keyword].kind;

    if (keyword == LK_WORD_PUT) {
        return "s";
    }
    return kind == LK_KEYWORD_DURATION || kind == LK_KEYWORD_STYLE ? "_ms" : "";
}

/* `name`, or `name` and `suffix`. */
static bool is_called(const char *name, const char *json_name, const char *suffix) {
    size_t size = strlen(json_name);

    return strncmp(name, json_name, size) == 0
           && (name[size] == '\0' || strcmp(name + size, suffix) == 0);
}

static enum lk_keyword find_field(const struct lk_command_spec *command, const char *name) {
    for (unsigned i = 0; i < LK_WORDS_COUNT; i++) {
        const struct lk_keyword_form *form = &lk_keyword_forms[i];
        if ((command->keywords >> i & 1) != 0 && form->json_name != NULL
            && is_called(name, form->json_name, suffix_of((enum lk_keyword)i))) {
            return (enum lk_keyword)i;
        }
    }
    return LK_WORDS_COUNT;
}

/* Where a text operand is stored; NULL: the command has no operand of this name. */
static struct lk_slice *find_operand(struct lk_draft *draft, const char *name) {
    bool is_queue =
        lk_command_has_id(draft->command) || lk_command_decides(draft->command, LK_COMMAND_TAKE);

    if (draft->command->operands == LK_OPERANDS_PARTS) {
        return NULL;
    }
    if (strcmp(name, is_queue ? "queue" : "path") == 0) {
        draft->has_path = true;
        return &draft->path;
    }
    return NULL;
}

/* `id`, or `ids` of a command that takes several. */
static bool names_ids(const struct lk_draft *draft, const char *name) {
    return (lk_command_has_id(draft->command) && strcmp(name, "id") == 0)
           || (draft->command->operands == LK_OPERANDS_QUEUE_IDS && strcmp(name, "ids") == 0);
}

static lk_outcome add_ids(struct lk_draft *draft, const char *name, const json_t *value,
                          lk_error *error) {
    bool is_array = strcmp(name, "ids") == 0;
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

/* The keyword whose value in base64 has this name; LK_WORDS_COUNT: none. */
static enum lk_keyword find_base64(const struct lk_command_spec *command, const char *name) {
    bool puts = (command->keywords >> LK_WORD_PUT & 1) != 0;
    bool has_value = (command->keywords >> LK_WORD_VALUE & 1) != 0;

    if (puts && (strcmp(name, "put_base64") == 0 || strcmp(name, "puts_base64") == 0)) {
        return LK_WORD_PUT;
    }
    return has_value && strcmp(name, "value_base64") == 0 ? LK_WORD_VALUE : LK_WORDS_COUNT;
}

static lk_outcome set_member(struct lk_draft *draft, const char *name, const json_t *value,
                             struct lk_draft_body *body, lk_error *error) {
    enum lk_keyword base64 = find_base64(draft->command, name);
    enum lk_keyword keyword = base64 != LK_WORDS_COUNT ? base64 : find_field(draft->command, name);
    bool has_parts = draft->command->operands == LK_OPERANDS_PARTS;
    struct lk_slice *operand = find_operand(draft, name);
    lk_outcome outcome;

    if (names_ids(draft, name)) {
        return add_ids(draft, name, value, error);
    }
    if (operand != NULL) {
        *operand = slice_of(value);
        return json_is_string(value) ? LK_OK : refuse(name, "a text", error);
    }
    if (has_parts && (strcmp(name, "parts") == 0 || strcmp(name, "paths") == 0)) {
        return add_texts(draft, LK_WORD_ALSO, name, value, error);
    }
    if (strcmp(name, "mode") == 0 && (draft->command->keywords >> LK_WORD_TRY & 1) != 0) {
        return set_mode(draft, value, error);
    }
    if (keyword == LK_WORDS_COUNT) {
        return lk_error_set(error, LK_INVALID, "%s has no field \"%.*s\"", draft->command->route,
                            SHOWN_NAME_BYTES_MAX, name);
    }
    if ((draft->given >> keyword & 1) != 0) {
        return lk_error_set(error, LK_INVALID, "\"%.*s\" is given twice", SHOWN_NAME_BYTES_MAX,
                            name);
    }
    draft->given |= UINT64_C(1) << keyword;
    outcome = base64 != LK_WORDS_COUNT ? set_base64(draft, keyword, name, value, body, error)
                                       : set_field(draft, keyword, name, value, error);
    return outcome;
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

/* Checks that the required operands are given. */
static lk_outcome require_operands(const struct lk_draft *draft, lk_error *error) {
    switch (draft->command->operands) {
    case LK_OPERANDS_PARTS:
        return draft->part_count > 0
                   ? LK_OK
                   : lk_error_set(error, LK_INVALID, "R2: \"parts\" names at least one part");
    case LK_OPERANDS_NONE:
        return LK_OK;
    case LK_OPERANDS_QUEUE_ID:
    case LK_OPERANDS_QUEUE_IDS:
        if (draft->id_count == 0) {
            return lk_error_set(error, LK_INVALID, "\"id\" is missing");
        }
        break;
    default:
        break;
    }
    return draft->has_path
               ? LK_OK
               : lk_error_set(error, LK_INVALID, "\"%s\" is missing",
                              lk_command_decides(draft->command, LK_COMMAND_BREAK) ? "path"
                                                                                   : "queue");
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

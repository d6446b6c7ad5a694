/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas: of members by their kind and their keyword's bounds, of records by their fields. */
#include <stdio.h>
#include <string.h>

#include "command/fields.h"
#include "form/form.h"
#include "server/http/openapi.h"

enum { REFERENCE_BYTES_MAX = 80, NAME_BYTES_MAX = 64 };

#define DURATION_PATTERN "^(([0-9]*\\.)?[0-9]+|(([0-9]*\\.)?[0-9]+(ms|[smhdw]))+)$"
enum { DURATION_TEXT_MAX = 31 };

void lk_openapi_refer(struct lk_form_writer *writer, const char *name, const char *schema) {
    char text[REFERENCE_BYTES_MAX];

    (void)snprintf(text, sizeof text, "#/components/schemas/%s", schema);
    lk_form_open_map(writer, name);
    lk_form_add_text(writer, "$ref", text);
    lk_form_close(writer);
}

static void open_type(struct lk_form_writer *writer, const char *name, const char *type,
                      const char *text) {
    lk_form_open_map(writer, name);
    lk_form_add_text(writer, "type", type);
    lk_form_add_text_if_any(writer, "description", text);
}

void lk_openapi_write_text(struct lk_form_writer *writer, const char *name, const char *text,
                           int64_t max) {
    open_type(writer, name, "string", text);
    if (max > 0) {
        lk_form_add_number(writer, "maxLength", max);
    }
    lk_form_close(writer);
}

static void write_number(struct lk_form_writer *writer, const char *name, const char *text,
                         int64_t min, int64_t max) {
    open_type(writer, name, "integer", text);
    lk_form_add_text(writer, "format", "int64");
    lk_form_add_number(writer, "minimum", min);
    if (max != INT64_MAX) {
        lk_form_add_number(writer, "maximum", max);
    }
    lk_form_close(writer);
}

static void write_base64(struct lk_form_writer *writer, const char *name, const char *text,
                         int64_t max) {
    open_type(writer, name, "string", text);
    lk_form_add_text(writer, "format", "byte");
    if (max > 0) {
        lk_form_add_number(writer, "maxLength", (max + 2) / 3 * 4);
    }
    lk_form_close(writer);
}

/* An array of texts, open for what its items are. */
static void open_array(struct lk_form_writer *writer, const char *name, const char *text,
                       int64_t min, int64_t max) {
    open_type(writer, name, "array", text);
    if (min > 0) {
        lk_form_add_number(writer, "minItems", min);
    }
    if (max > 0) {
        lk_form_add_number(writer, "maxItems", max);
    }
}

static void write_texts(struct lk_form_writer *writer, const char *name, const char *text,
                        int64_t min, int64_t max, int64_t text_max) {
    open_array(writer, name, text, min, max);
    lk_openapi_write_text(writer, "items", NULL, text_max);
    lk_form_close(writer);
}

static void write_words(struct lk_form_writer *writer, const char *name, const char *text,
                        const char *const *words, size_t count) {
    open_type(writer, name, "string", text);
    lk_form_open_array(writer, "enum");
    for (size_t i = 0; i < count && words[i] != NULL; i++) {
        lk_form_add_text(writer, NULL, words[i]);
    }
    lk_form_close(writer);
    lk_form_close(writer);
}

/* ---- members --------------------------------------------------------------------------------- */

/* Opens a schema that is one of several. */
static void open_choice(struct lk_form_writer *writer, const char *name, const char *text) {
    lk_form_open_map(writer, name);
    lk_form_add_text(writer, "description", text);
    lk_form_open_array(writer, "oneOf");
}

static void close_choice(struct lk_form_writer *writer) {
    lk_form_close(writer);
    lk_form_close(writer);
}

static void write_duration(struct lk_form_writer *writer, const char *name, const char *text,
                           const struct lk_keyword_form *form) {
    open_choice(writer, name, text);
    write_number(writer, NULL, "Milliseconds.", form->min, form->max);
    open_type(writer, NULL, "string", "A number with a unit: 250ms, 10s, 1h30m.");
    lk_form_add_text(writer, "pattern", DURATION_PATTERN);
    lk_form_add_number(writer, "maxLength", DURATION_TEXT_MAX);
    lk_form_close(writer);
    close_choice(writer);
}

static void write_mode(struct lk_form_writer *writer, const char *name,
                       const struct lk_command_spec *command, const char *text) {
    bool has_queue = (command->keywords >> LK_WORD_QUEUE & 1) != 0;
    const char *const modes[] = {"try", "wait", has_queue ? "queue" : NULL};

    write_words(writer, name, text, modes, sizeof modes / sizeof modes[0]);
}

static void write_text_or_texts(struct lk_form_writer *writer, const char *name, const char *text,
                                int64_t max, bool is_base64) {
    void (*const write)(struct lk_form_writer *, const char *, const char *, int64_t) =
        is_base64 ? write_base64 : lk_openapi_write_text;

    open_choice(writer, name, text);
    write(writer, NULL, NULL, max);
    open_array(writer, NULL, NULL, 0, LK_PARTS_MAX);
    write(writer, "items", NULL, max);
    lk_form_close(writer);
    close_choice(writer);
}

void lk_openapi_write_member(struct lk_form_writer *writer, const char *name,
                             const struct lk_command_spec *command,
                             const struct lk_member *member) {
    static const struct lk_keyword_form none = {.name = NULL};
    const struct lk_keyword_form *form =
        member->keyword != LK_WORDS_COUNT ? &lk_keyword_forms[member->keyword] : &none;
    const char *text = member->text;

    switch (member->kind) {
    case LK_MEMBER_PARTS:
        write_texts(writer, name, text, 1, LK_PARTS_MAX, LK_PART_TEXT_MAX - 1);
        break;
    case LK_MEMBER_PATH:
        lk_openapi_write_text(writer, name, text,
                              (member->operands >> LK_OPERANDS_QUEUE & 1) != 0
                                  ? LK_OPENAPI_QUEUE_MAX
                                  : LK_PATH_BYTES_MAX);
        break;
    case LK_MEMBER_ID:
        lk_openapi_write_text(writer, name, text, LK_SEGMENT_BYTES_MAX);
        break;
    case LK_MEMBER_IDS:
        write_texts(writer, name, text, 1, LK_IDS_MAX, LK_SEGMENT_BYTES_MAX);
        break;
    case LK_MEMBER_TEXT:
        lk_openapi_write_text(writer, name, text, form->max);
        break;
    case LK_MEMBER_TEXTS:
        write_texts(writer, name, text, 0, LK_NEEDS_MAX, LK_PART_TEXT_MAX - 1);
        break;
    case LK_MEMBER_TEXT_OR_TEXTS:
    case LK_MEMBER_BASE64_OR_TEXTS:
        write_text_or_texts(writer, name, text, form->max,
                            member->kind == LK_MEMBER_BASE64_OR_TEXTS);
        break;
    case LK_MEMBER_BASE64:
        write_base64(writer, name, text, form->max);
        break;
    case LK_MEMBER_NUMBER:
        write_number(writer, name, text, form->min, form->max);
        break;
    case LK_MEMBER_DURATION:
        write_duration(writer, name, text, form);
        break;
    case LK_MEMBER_FLAG:
        open_type(writer, name, "boolean", text);
        lk_form_close(writer);
        break;
    case LK_MEMBER_MODE:
        write_mode(writer, name, command, text);
        break;
    }
}

/* The other name under which a required member may be given; NULL: there is none. */
static const struct lk_member *other_name(const struct lk_command_spec *command,
                                          const struct lk_member *required) {
    const struct lk_member *member = required;
    enum lk_member_kind kind = required->kind == LK_MEMBER_ID ? LK_MEMBER_IDS : LK_MEMBER_PARTS;

    if (required->kind != LK_MEMBER_ID && required->kind != LK_MEMBER_PARTS) {
        return NULL;
    }
    while ((member = lk_member_next(command, member)) != NULL && member->kind != kind) {
    }
    return member;
}

static void require_one(struct lk_form_writer *writer, const char *name) {
    lk_form_open_map(writer, NULL);
    lk_form_open_array(writer, "required");
    lk_form_add_text(writer, NULL, name);
    lk_form_close(writer);
    lk_form_close(writer);
}

static void write_required(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    const struct lk_member *member = NULL;
    const struct lk_member *choice = NULL;
    size_t count = 0;

    while ((member = lk_member_next(command, member)) != NULL) {
        if (member->is_required && other_name(command, member) != NULL) {
            choice = member;
        } else if (member->is_required) {
            if (count++ == 0) {
                lk_form_open_array(writer, "required");
            }
            lk_form_add_text(writer, NULL, member->name);
        }
    }
    if (count > 0) {
        lk_form_close(writer);
    }
    if (choice != NULL) {
        lk_form_open_array(writer, "anyOf");
        require_one(writer, choice->name);
        require_one(writer, other_name(command, choice)->name);
        lk_form_close(writer);
    }
}

void lk_openapi_write_body(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    const struct lk_member *member = NULL;

    open_type(writer, "schema", "object", NULL);
    write_required(writer, command);
    lk_form_open_map(writer, "properties");
    while ((member = lk_member_next(command, member)) != NULL) {
        lk_openapi_write_member(writer, member->name, command, member);
    }
    lk_form_close(writer);
    lk_form_add_boolean(writer, "additionalProperties", false);
    lk_form_close(writer);
}

/* ---- records --------------------------------------------------------------------------------- */

/* The records that are schemas of their own. */
static const struct {
    const struct lk_form *form;
    const char *name;
} records[] = {
    {&lk_form_of_blocker, "Blocker"},
    {&lk_form_of_entry, "Request"},
    {&lk_form_of_explained_entry, "ExplainedRequest"},
    {&lk_form_of_audit_entry, "Break"},
    {&lk_form_of_part_value, "PartValue"},
    {&lk_form_of_claim, "Claim"},
    {&lk_form_of_item, "Item"},
    {&lk_form_of_queue, "Queue"},
    {&lk_form_of_event, "Event"},
    {&lk_form_of_value_info, "ValueInfo"},
    {&lk_form_of_doubt, "Doubt"},
};
enum { RECORD_COUNT = sizeof records / sizeof records[0] };

static const char *record_name(const struct lk_form *form) {
    for (size_t i = 0; i < RECORD_COUNT; i++) {
        if (records[i].form == form) {
            return records[i].name;
        }
    }
    return NULL;
}

/* The sentence for a field; a field without one makes the description fail. */
static const char *term(struct lk_form_writer *writer, const char *name) {
    const char *text = lk_openapi_term(name);

    writer->failed = writer->failed || text == NULL;
    return text;
}

static void write_list(struct lk_form_writer *writer, const char *name,
                       const struct lk_form *each) {
    const char *schema = record_name(each);

    writer->failed = writer->failed || schema == NULL;
    open_type(writer, name, "array", term(writer, name));
    lk_openapi_refer(writer, "items", schema != NULL ? schema : "");
    lk_form_close(writer);
}

static void write_bytes(struct lk_form_writer *writer, const char *name) {
    char encoded[NAME_BYTES_MAX];

    (void)snprintf(encoded, sizeof encoded, "%s_base64", name);
    lk_openapi_write_text(writer, name, term(writer, name), 0);
    write_base64(writer, encoded, "In place of it where it is not UTF-8.", 0);
}

static void write_kinds(struct lk_form_writer *writer, const char *name) {
    const char *kinds[LK_WATCH_KIND_COUNT];

    for (int i = 0; i < LK_WATCH_KIND_COUNT; i++) {
        kinds[i] = lk_watch_kind_name((lk_watch_kind)i);
    }
    write_words(writer, name, term(writer, name), kinds, LK_WATCH_KIND_COUNT);
}

static void write_fields(struct lk_form_writer *writer, const struct lk_form *form);

static void write_field(struct lk_form_writer *writer, const struct lk_field *field) {
    const char *name = field->name;
    const char *text = field->kind != LK_FIELD_INLINE ? term(writer, name) : NULL;

    switch (field->kind) {
    case LK_FIELD_TEXT:
    case LK_FIELD_FIRST:
        lk_openapi_write_text(writer, name, text, 0);
        break;
    case LK_FIELD_NUMBER:
    case LK_FIELD_SIGNED:
        write_number(writer, name, text, field->kind == LK_FIELD_SIGNED ? INT32_MIN : 0,
                     field->kind == LK_FIELD_SIGNED ? INT32_MAX : INT64_MAX);
        break;
    case LK_FIELD_COUNT:
    case LK_FIELD_SIZE:
        write_number(writer, name, text, 0, INT64_MAX);
        break;
    case LK_FIELD_SMALL:
        write_number(writer, name, text, 0, UINT32_MAX);
        break;
    case LK_FIELD_FLAG:
        open_type(writer, name, "boolean", text);
        lk_form_close(writer);
        break;
    case LK_FIELD_WORD:
        write_words(writer, name, text, field->names, 2);
        break;
    case LK_FIELD_NAME:
        write_words(writer, name, text, field->names, SIZE_MAX);
        break;
    case LK_FIELD_OUTCOME:
        lk_openapi_refer(writer, name, "Status");
        break;
    case LK_FIELD_WATCH_KIND:
        write_kinds(writer, name);
        break;
    case LK_FIELD_VALUE:
        write_bytes(writer, name);
        break;
    case LK_FIELD_TEXTS:
        write_texts(writer, name, text, 0, 0, 0);
        break;
    case LK_FIELD_NUMBERS:
        open_type(writer, name, "array", text);
        write_number(writer, "items", NULL, 0, INT64_MAX);
        lk_form_close(writer);
        break;
    case LK_FIELD_RECORDS:
        write_list(writer, name, field->of);
        break;
    case LK_FIELD_INLINE:
        write_fields(writer, field->of);
        break;
    }
}

static void write_fields(struct lk_form_writer *writer, const struct lk_form *form) {
    for (const struct lk_field *field = form->fields; field->name != NULL; field++) {
        write_field(writer, field);
    }
}

/* The names of the fields that are always there. */
static void require_fields(struct lk_form_writer *writer, const struct lk_form *form) {
    for (const struct lk_field *field = form->fields; field->name != NULL; field++) {
        if (field->kind == LK_FIELD_INLINE) {
            require_fields(writer, field->of);
        } else if (field->when <= LK_FIELD_NEEDED && field->kind != LK_FIELD_VALUE) {
            lk_form_add_text(writer, NULL, field->name);
        }
    }
}

/* Whether any field is required: an empty list of them is not allowed. */
static bool has_required(const struct lk_form *form) {
    for (const struct lk_field *field = form->fields; field->name != NULL; field++) {
        if (field->kind == LK_FIELD_INLINE
                ? has_required(field->of)
                : field->when <= LK_FIELD_NEEDED && field->kind != LK_FIELD_VALUE) {
            return true;
        }
    }
    return false;
}

static void write_record(struct lk_form_writer *writer, const char *name,
                         const struct lk_form *form, const char *about) {
    open_type(writer, name, "object", NULL);
    if (about != NULL || has_required(form)) {
        lk_form_open_array(writer, "required");
        lk_form_add_text_if_any(writer, NULL, about);
        require_fields(writer, form);
        lk_form_close(writer);
    }
    lk_form_open_map(writer, "properties");
    if (about != NULL) {
        lk_openapi_write_text(writer, about, term(writer, about), 0);
    }
    write_fields(writer, form);
    lk_form_close(writer);
    lk_form_close(writer);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The answer with its fields, or with its list. */
static void write_answer(struct lk_form_writer *writer, const char *name,
                         const struct lk_answer_form *form, bool is_list) {
    open_type(writer, name, "object", NULL);
    lk_form_open_array(writer, "required");
    lk_form_add_text(writer, NULL, "status");
    lk_form_add_text_if_any(writer, NULL, form->about);
    if (is_list) {
        lk_form_add_text(writer, NULL, form->list);
        lk_form_add_text_if_any(writer, NULL, form->is_paged ? "cursor" : NULL);
    } else if (form->fields != NULL && !form->is_optional) {
        require_fields(writer, form->fields);
    }
    lk_form_close(writer);
    lk_form_open_map(writer, "properties");
    lk_openapi_refer(writer, "status", "Status");
    if (form->about != NULL) {
        lk_openapi_write_text(writer, form->about, term(writer, form->about), 0);
    }
    if (is_list) {
        write_list(writer, form->list, form->each);
        if (form->at_end != NULL) {
            write_fields(writer, form->at_end);
        } else {
            lk_openapi_write_text(writer, "cursor", term(writer, "cursor"), 0);
        }
    } else if (form->fields != NULL) {
        write_fields(writer, form->fields);
    }
    lk_form_close(writer);
    lk_form_close(writer);
}

static void write_answer_of(struct lk_form_writer *writer, const struct lk_answer_form *form) {
    if (form->fields != NULL && form->list != NULL) {
        lk_form_open_map(writer, form->name);
        lk_form_open_array(writer, "oneOf");
        write_answer(writer, NULL, form, false);
        write_answer(writer, NULL, form, true);
        lk_form_close(writer);
        lk_form_close(writer);
    } else {
        write_answer(writer, form->name, form, form->list != NULL);
    }
}

/* `about` of each record in the lists that have it. */
static const char *about_each(const struct lk_form *form) {
    for (unsigned shape = 0; shape < LK_SHAPES_COUNT; shape++) {
        if (lk_answer_forms[shape].each == form) {
            return lk_answer_forms[shape].each_about;
        }
    }
    return NULL;
}

static void write_status(struct lk_form_writer *writer) {
    const char *names[LK_OUTCOME_COUNT];

    for (int i = 0; i < LK_OUTCOME_COUNT; i++) {
        names[i] = lk_outcome_name((lk_outcome)i);
    }
    write_words(writer, "Status", "The outcome (R23).", names, LK_OUTCOME_COUNT);
}

static void write_failure(struct lk_form_writer *writer) {
    open_type(writer, "Failure", "object", NULL);
    lk_form_open_array(writer, "required");
    lk_form_add_text(writer, NULL, "status");
    lk_form_add_text(writer, NULL, "error");
    lk_form_close(writer);
    lk_form_open_map(writer, "properties");
    lk_openapi_refer(writer, "status", "Status");
    lk_openapi_write_text(writer, "error", term(writer, "error"), 0);
    lk_form_close(writer);
    lk_form_close(writer);
}

/* Whether a shape before this one has the same answer. */
static bool is_repeated(unsigned shape) {
    for (unsigned i = 0; i < shape; i++) {
        const char *name = lk_answer_forms[i].name;
        if (name != NULL && strcmp(name, lk_answer_forms[shape].name) == 0) {
            return true;
        }
    }
    return false;
}

void lk_openapi_write_schemas(struct lk_form_writer *writer) {
    write_status(writer);
    write_failure(writer);
    for (size_t i = 0; i < RECORD_COUNT; i++) {
        write_record(writer, records[i].name, records[i].form, about_each(records[i].form));
    }
    for (unsigned shape = 0; shape < LK_SHAPES_COUNT; shape++) {
        if (lk_answer_forms[shape].name != NULL && !is_repeated(shape)) {
            write_answer_of(writer, &lk_answer_forms[shape]);
        }
    }
}

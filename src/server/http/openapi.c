/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: the paths of the description, with what each takes and answers. */
#include "server/http/openapi.h"

#include <stdio.h>
#include <string.h>

#include "server/http/routes.h"

enum { TEMPLATE_BYTES_MAX = 64, TEXT_BYTES_MAX = 512, SCHEMA_BYTES_MAX = 64 };

static const char of_json[] = "application/json";
static const char of_bytes[] = "application/octet-stream";

static const char about[] =
    "Locks, semaphores, values and queues of work with leases. The rules (R1, R2, ...) are those "
    "of docs/rules.md, which lockkeeper-rules(7) shows as well; docs/wire.md has this interface in "
    "prose. Each answer in JSON has a status: the outcome, by which programs decide. Texts are "
    "UTF-8, and their bounds are in bytes. A field that a route does not have is refused with 400. "
    "A slash within a path may be written as it is or as %2F. No request is bound to its "
    "connection. Not described here: the page at /, and GET /grab/PATH of a service with --grab "
    "(docs/grab.md).";

/* ---- templates ------------------------------------------------------------------------------- */

/* What follows a route that ends in '/'. */
static const char *rest_of(const struct lk_command_spec *command) {
    switch (command->operands) {
    case LK_OPERANDS_PATH:
    case LK_OPERANDS_PATH_VALUE:
        return "{path}";
    case LK_OPERANDS_QUEUE:
        return "{queue}";
    case LK_OPERANDS_QUEUE_ID:
    case LK_OPERANDS_QUEUE_IDS:
        return "{queue}/{id}";
    default:
        return "";
    }
}

static void write_template(const struct lk_command_spec *command, char text[TEMPLATE_BYTES_MAX]) {
    bool is_followed = command->route[strlen(command->route) - 1] == '/';

    (void)snprintf(text, TEMPLATE_BYTES_MAX, "%s%s", command->route,
                   is_followed ? rest_of(command) : "");
}

static bool is_same_template(const struct lk_command_spec *one, const struct lk_command_spec *two) {
    char first[TEMPLATE_BYTES_MAX];
    char second[TEMPLATE_BYTES_MAX];

    if (one->route == NULL || two->route == NULL) {
        return false;
    }
    write_template(one, first);
    write_template(two, second);
    return strcmp(first, second) == 0;
}

/* ---- what a route takes ---------------------------------------------------------------------- */

static void open_parameter(struct lk_form_writer *writer, const char *name, const char *in,
                           const char *text, bool is_required) {
    lk_form_open_map(writer, NULL);
    lk_form_add_text(writer, "name", name);
    lk_form_add_text(writer, "in", in);
    lk_form_add_text(writer, "description", text);
    if (is_required) {
        lk_form_add_boolean(writer, "required", true);
    }
}

static void write_segment(struct lk_form_writer *writer, const char *name, const char *text,
                          int64_t max) {
    open_parameter(writer, name, "path", text, true);
    lk_openapi_write_text(writer, "schema", NULL, max);
    lk_form_close(writer);
}

static void write_segments(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    const char *rest = command->route[strlen(command->route) - 1] == '/' ? rest_of(command) : "";

    if (strstr(rest, "{path}") != NULL) {
        write_segment(writer, "path", "The path (R1).", LK_PATH_BYTES_MAX);
    }
    if (strstr(rest, "{queue}") != NULL) {
        write_segment(writer, "queue", "The path of the queue (R16).", LK_OPENAPI_QUEUE_MAX);
    }
    if (strstr(rest, "{id}") != NULL) {
        write_segment(writer, "id", "The id of the item.", LK_SEGMENT_BYTES_MAX);
    }
}

static void write_parameters(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    const struct lk_member *member = NULL;

    lk_form_open_array(writer, "parameters");
    write_segments(writer, command);
    while (lk_member_place_of(command) == LK_MEMBER_IN_QUERY
           && (member = lk_member_next(command, member)) != NULL) {
        open_parameter(writer, member->name, "query", member->text, false);
        lk_openapi_write_member(writer, "schema", command, member);
        lk_form_close(writer);
    }
    if (command->kind == LK_CALL_EVENTS) {
        open_parameter(writer, "Last-Event-ID", "header", "In place of after, which it overrides.",
                       false);
        lk_openapi_write_text(writer, "schema", NULL, 0);
        lk_form_close(writer);
    }
    lk_form_close(writer);
}

/* Bytes as they are. */
static void write_content_of_bytes(struct lk_form_writer *writer) {
    lk_form_open_map(writer, of_bytes);
    lk_form_open_map(writer, "schema");
    lk_form_add_text(writer, "type", "string");
    lk_form_add_text(writer, "format", "binary");
    lk_form_close(writer);
    lk_form_close(writer);
}

static void write_request(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    bool is_bytes = command->operands == LK_OPERANDS_PATH_VALUE;

    if (!is_bytes && lk_member_place_of(command) != LK_MEMBER_IN_BODY) {
        return;
    }
    lk_form_open_map(writer, "requestBody");
    lk_form_add_boolean(writer, "required", !is_bytes);
    lk_form_open_map(writer, "content");
    if (is_bytes) {
        write_content_of_bytes(writer);
    } else {
        lk_form_open_map(writer, of_json);
        lk_openapi_write_body(writer, command);
        lk_form_close(writer);
    }
    lk_form_close(writer);
    lk_form_close(writer);
}

/* ---- what it answers ------------------------------------------------------------------------- */

static void write_content(struct lk_form_writer *writer, const char *schema) {
    lk_form_open_map(writer, "content");
    lk_form_open_map(writer, of_json);
    lk_openapi_refer(writer, "schema", schema);
    lk_form_close(writer);
    lk_form_close(writer);
}

/* A response that is shared by all routes. */
static void refer_to_response(struct lk_form_writer *writer, const char *status, const char *name) {
    char text[TEXT_BYTES_MAX];

    (void)snprintf(text, sizeof text, "#/components/responses/%s", name);
    lk_form_open_map(writer, status);
    lk_form_add_text(writer, "$ref", text);
    lk_form_close(writer);
}

static bool has_result(const struct lk_command_spec *command) {
    return command->shape == LK_SHAPE_RESULT || command->shape == LK_SHAPE_DONE;
}

/* The outcomes of the command that have this status. false: there are none. */
static bool name_outcomes(const struct lk_command_spec *command, int status,
                          char text[TEXT_BYTES_MAX]) {
    size_t size = 0;

    for (int outcome = 0; outcome < LK_OUTCOME_COUNT && size < TEXT_BYTES_MAX; outcome++) {
        if ((command->outcomes >> outcome & 1) != 0
            && lk_answer_http_status((lk_outcome)outcome) == status) {
            size += (size_t)snprintf(text + size, TEXT_BYTES_MAX - size, "%s%s: %s",
                                     size > 0 ? ". " : "", lk_outcome_name((lk_outcome)outcome),
                                     lk_outcome_text((lk_outcome)outcome));
        }
    }
    return size > 0;
}

/* The outcomes that only some commands have. */
static void write_outcomes(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    static const int statuses[] = {202, 404, 409, 410};

    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        char name[TEMPLATE_BYTES_MAX];
        char text[TEXT_BYTES_MAX];

        if (!name_outcomes(command, statuses[i], text)) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%d", statuses[i]);
        lk_form_open_map(writer, name);
        lk_form_add_text(writer, "description", text);
        write_content(writer, has_result(command) ? "Result" : "Failure");
        lk_form_close(writer);
    }
}

static void write_success(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    lk_form_open_map(writer, "200");
    lk_form_add_text(writer, "description",
                     lk_command_decides(command, LK_COMMAND_ASK)
                             || lk_command_decides(command, LK_COMMAND_TAKE)
                         ? "granted: the lease is held"
                         : "ok: done");
    if (command->shape == LK_SHAPE_VALUE) {
        lk_form_open_map(writer, "headers");
        lk_form_open_map(writer, "Lockkeeper-In-Doubt");
        lk_form_add_text(writer, "description", "1 if the value is in doubt (R15).");
        lk_openapi_write_text(writer, "schema", NULL, 0);
        lk_form_close(writer);
        lk_form_close(writer);
        lk_form_open_map(writer, "content");
        write_content_of_bytes(writer);
        lk_form_close(writer);
    } else {
        write_content(writer, lk_answer_forms[command->shape].name);
    }
    lk_form_close(writer);
}

/* What every command may answer, and its status. */
static const struct {
    const char *status;
    const char *name; /* of the response that is shared by the commands */
    const char *text;
    lk_outcome outcome;
} failures[] = {
    {"400", "Invalid", NULL, LK_INVALID},
    {"401", "Unauthorized", "denied: a password, or a user and its secret, is needed", LK_DENIED},
    {"403", "Denied", NULL, LK_DENIED},
    {"429", "Full", NULL, LK_FULL},
    {"503", "Unavailable", NULL, LK_UNAVAILABLE},
    {"default", "Other", "Any other failure.", LK_INTERNAL},
};
enum { FAILURE_COUNT = sizeof failures / sizeof failures[0] };

static void write_failure(struct lk_form_writer *writer, const char *name, size_t index,
                          const char *schema) {
    char text[TEXT_BYTES_MAX];

    (void)snprintf(text, sizeof text, "%s: %s", lk_outcome_name(failures[index].outcome),
                   lk_outcome_text(failures[index].outcome));
    lk_form_open_map(writer, name);
    lk_form_add_text(writer, "description",
                     failures[index].text != NULL ? failures[index].text : text);
    write_content(writer, schema);
    lk_form_close(writer);
}

/* A result that failed names its paths and its owner, too. */
static void write_failures(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    for (size_t i = 0; i < FAILURE_COUNT; i++) {
        if (has_result(command)) {
            write_failure(writer, failures[i].status, i, "Result");
        } else {
            refer_to_response(writer, failures[i].status, failures[i].name);
        }
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

static void describe_right(enum lk_right right, char text[TEXT_BYTES_MAX]) {
    const char *name = lk_right_name(right);

    if (name != NULL) {
        (void)snprintf(text, TEXT_BYTES_MAX,
                       "Of a service with users it needs the right %s at each path that it names.",
                       name);
    } else {
        (void)snprintf(text, TEXT_BYTES_MAX, "%s",
                       right == LK_RIGHT_OPEN ? "It needs no user."
                                              : "Of a service with users any user may call it.");
    }
}

static void open_operation(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    char text[TEXT_BYTES_MAX];

    (void)snprintf(text, sizeof text, "%s", command->method);
    for (char *at = text; *at != '\0'; at++) {
        *at = (char)(*at - 'A' + 'a');
    }
    lk_form_open_map(writer, text);
    (void)snprintf(text, sizeof text, "%s", command->name);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
    }
    lk_form_add_text(writer, "operationId", text);
    lk_form_add_text(writer, "summary", command->summary);
    describe_right(command->right, text);
    lk_form_add_text(writer, "description", text);
    write_parameters(writer, command);
}

static void write_operation(struct lk_form_writer *writer, const struct lk_command_spec *command) {
    open_operation(writer, command);
    write_request(writer, command);
    lk_form_open_map(writer, "responses");
    write_success(writer, command);
    write_outcomes(writer, command);
    write_failures(writer, command);
    lk_form_close(writer);
    lk_form_close(writer);
}

static void write_types(struct lk_form_writer *writer, const struct lk_http_route *route) {
    lk_form_open_map(writer, "content");
    for (size_t i = 0; i < LK_HTTP_TYPES_MAX && route->types[i] != NULL; i++) {
        lk_form_open_map(writer, route->types[i]);
        lk_form_open_map(writer, "schema");
        lk_form_add_text(writer, "type",
                         strcmp(route->types[i], of_json) == 0 ? "object" : "string");
        lk_form_close(writer);
        lk_form_close(writer);
    }
    lk_form_close(writer);
}

static void write_route(struct lk_form_writer *writer, const struct lk_http_route *route) {
    lk_form_open_map(writer, route->command->route);
    open_operation(writer, route->command);
    if (route->needs_no_password) {
        lk_form_open_array(writer, "security");
        lk_form_close(writer);
    }
    lk_form_open_map(writer, "responses");
    lk_form_open_map(writer, "200");
    lk_form_add_text(writer, "description",
                     route->command->kind == LK_CALL_EVENTS
                         ? "Events: the id of each is its sequence, its data an Event in JSON."
                         : "As it says.");
    write_types(writer, route);
    lk_form_close(writer);
    if (route->can_be_unready) {
        lk_form_open_map(writer, "503");
        lk_form_add_text(writer, "description", "Not ready.");
        write_types(writer, route);
        lk_form_close(writer);
    }
    if (lk_right_name(route->command->right) != NULL) {
        refer_to_response(writer, "400", "Invalid");
        refer_to_response(writer, "403", "Denied");
    }
    refer_to_response(writer, "default", "Other");
    lk_form_close(writer);
    lk_form_close(writer);
    lk_form_close(writer);
}

static void write_paths(struct lk_form_writer *writer) {
    char template[TEMPLATE_BYTES_MAX];

    lk_form_open_map(writer, "paths");
    for (size_t i = 0; i < lk_command_count; i++) {
        const struct lk_command_spec *command = &lk_command_table[i];
        bool is_new = command->route != NULL;

        for (size_t j = 0; j < i; j++) {
            is_new = is_new && !is_same_template(command, &lk_command_table[j]);
        }
        if (!is_new) {
            continue;
        }
        write_template(command, template);
        lk_form_open_map(writer, template);
        for (size_t j = i; j < lk_command_count; j++) {
            if (is_same_template(command, &lk_command_table[j])) {
                write_operation(writer, &lk_command_table[j]);
            }
        }
        lk_form_close(writer);
    }
    for (size_t i = 0; i < lk_http_route_count; i++) {
        write_route(writer, &lk_http_routes[i]);
    }
    lk_form_close(writer);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void write_responses(struct lk_form_writer *writer) {
    lk_form_open_map(writer, "responses");
    for (size_t i = 0; i < FAILURE_COUNT; i++) {
        write_failure(writer, failures[i].name, i, "Failure");
    }
    lk_form_close(writer);
}

static void write_scheme(struct lk_form_writer *writer, const char *name, const char *scheme,
                         const char *text) {
    lk_form_open_map(writer, name);
    lk_form_add_text(writer, "type", "http");
    lk_form_add_text(writer, "scheme", scheme);
    lk_form_add_text(writer, "description", text);
    lk_form_close(writer);
}

/* No security, or one of the schemes: it depends on how the service was started. */
static void write_security(struct lk_form_writer *writer) {
    static const char *const names[] = {NULL, "basic", "bearer"};

    lk_form_open_array(writer, "security");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        lk_form_open_map(writer, NULL);
        if (names[i] != NULL) {
            lk_form_open_array(writer, names[i]);
            lk_form_close(writer);
        }
        lk_form_close(writer);
    }
    lk_form_close(writer);
}

static void write_info(struct lk_form_writer *writer) {
    lk_form_open_map(writer, "info");
    lk_form_add_text(writer, "title", "Lockkeeper");
    lk_form_add_text(writer, "version", LK_VERSION);
    lk_form_add_text(writer, "description", about);
    lk_form_open_map(writer, "license");
    lk_form_add_text(writer, "name", "Apache-2.0");
    lk_form_close(writer);
    lk_form_close(writer);
}

void lk_http_openapi_write(struct lk_buffer *out) {
    struct lk_form_writer writer = lk_form_writer_json(out);

    lk_form_open_map(&writer, NULL);
    lk_form_add_text(&writer, "openapi", "3.0.3");
    write_info(&writer);
    write_security(&writer);
    write_paths(&writer);
    lk_form_open_map(&writer, "components");
    lk_form_open_map(&writer, "securitySchemes");
    write_scheme(&writer, "basic", "basic",
                 "The password of the service with any name, or a user and its password or token.");
    write_scheme(&writer, "bearer", "bearer", "The password of the service, or a user's token.");
    lk_form_close(&writer);
    write_responses(&writer);
    lk_form_open_map(&writer, "schemas");
    lk_openapi_write_schemas(&writer);
    lk_form_close(&writer);
    lk_form_close(&writer);
    lk_form_close(&writer);
    lk_buffer_add(out, "\n", 1);
    out->failed = lk_form_writer_failed(&writer);
}

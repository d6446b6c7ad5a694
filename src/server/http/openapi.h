/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/openapi.json: the HTTP interface in the format of OpenAPI 3.0, for tools that make
 * clients and documents of it. It is written from the tables by which requests are read and answers
 * are written: commands, keywords and members, shapes and records, and the routes of the service.
 */
#ifndef LK_SERVER_HTTP_OPENAPI_H
#define LK_SERVER_HTTP_OPENAPI_H

#include "command/answer.h"
#include "command/fields.h"
#include "form/writer.h"

/* The path of a queue leaves room for the slash and the id of an item. */
enum { LK_OPENAPI_QUEUE_MAX = LK_PATH_BYTES_MAX - 2 };

/* Adds the description to the buffer, the same each time: JSON without line breaks. */
void lk_http_openapi_write(struct lk_buffer *out);

/* ---- openapi_schema.c ------------------------------------------------------------------------ */

/* A reference to a schema; `name` is that of the field that is one, or NULL. */
void lk_openapi_refer(struct lk_form_writer *writer, const char *name, const char *schema);

/* A schema of text of so many bytes at most (0: of any size). */
void lk_openapi_write_text(struct lk_form_writer *writer, const char *name, const char *text,
                           int64_t max);

/* The schema of a member of a body, or of a field of a query. */
void lk_openapi_write_member(struct lk_form_writer *writer, const char *name,
                             const struct lk_command_spec *command, const struct lk_member *member);

/* The schema of a body: an object with all members of the command. */
void lk_openapi_write_body(struct lk_form_writer *writer, const struct lk_command_spec *command);

/* The schemas of all records and answers, as fields of the open map. */
void lk_openapi_write_schemas(struct lk_form_writer *writer);

/* ---- openapi_terms.c ------------------------------------------------------------------------- */

/* What a field of an answer means, in a sentence; NULL: the name is not known. */
const char *lk_openapi_term(const char *name);

#endif

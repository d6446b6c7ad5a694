/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a command to a service word by word. Errors are reported once, at the end. */
#ifndef LK_ENGINE_SERVICE_COMMAND_BUILDER_H
#define LK_ENGINE_SERVICE_COMMAND_BUILDER_H

#include "base/buffer.h"
#include "model/model.h"

struct lk_service_link; /* link.h */

/* Zeroed: empty. Freed by lk_builder_done(). */
struct lk_builder {
    struct lk_buffer bytes;
    size_t count;
    bool is_ended;
    bool hangs_up;                /* cancelled: lk_service_link_hang_up(), not a mere close */
    bool is_bound;                /* R18: for a connection that its request may end with */
    struct lk_service_link **own; /* that one, if it is the request's own; NULL: one of a pool */
};

void lk_builder_done(struct lk_builder *builder);

void lk_builder_add(struct lk_builder *builder, struct lk_slice word);
void lk_builder_add_text(struct lk_builder *builder, const char *word);

/* A keyword and its value. */
void lk_builder_add_pair(struct lk_builder *builder, const char *name, struct lk_slice value);
void lk_builder_add_number(struct lk_builder *builder, const char *name, int64_t number);
void lk_builder_add_number_if_any(struct lk_builder *builder, const char *name, int64_t number);

/*
 * A path where a keyword may be instead: the slash before it, which R1 drops, marks a path. NULL:
 * none.
 */
void lk_builder_add_prefix(struct lk_builder *builder, const struct lk_path *path);
void lk_builder_add_path(struct lk_builder *builder, const struct lk_path *path);

/* `PART [ALSO PART]...`; without their modes where only paths matter. */
void lk_builder_add_parts(struct lk_builder *builder, const struct lk_part *parts, size_t count);
void lk_builder_add_paths(struct lk_builder *builder, const struct lk_part *parts, size_t count);

/* R2: a part as text, the value of a keyword. */
void lk_builder_add_part(struct lk_builder *builder, const struct lk_part *part);

/* The command as bytes, borrowed from `builder`. false: memory is exhausted. May be repeated. */
bool lk_builder_end(struct lk_builder *builder, struct lk_slice *ret_bytes);

#endif

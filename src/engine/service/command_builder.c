/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as arrays of bulk strings, as all clients of Redis send them. */
#include "engine/service/command_builder.h"

#include "base/text.h"
#include "wire/resp.h"

enum { PART_BYTES_MAX = LK_PATH_BYTES_MAX + sizeof "?limit=2147483647&units=2147483647" };

void lk_builder_done(struct lk_builder *builder) {
    lk_buffer_done(&builder->bytes);
    *builder = (struct lk_builder){.count = 0};
}

void lk_builder_add(struct lk_builder *builder, struct lk_slice word) {
    lk_resp_put_bulk(&builder->bytes, word);
    builder->count++;
}

void lk_builder_add_text(struct lk_builder *builder, const char *word) {
    lk_builder_add(builder, lk_slice_of(word));
}

void lk_builder_add_pair(struct lk_builder *builder, const char *name, struct lk_slice value) {
    lk_builder_add_text(builder, name);
    lk_builder_add(builder, value);
}

void lk_builder_add_number(struct lk_builder *builder, const char *name, int64_t number) {
    char digits[LK_NUMBER_BYTES_MAX];

    lk_builder_add_pair(
        builder, name, (struct lk_slice){.bytes = digits, .size = lk_number_write(digits, number)});
}

void lk_builder_add_number_if_any(struct lk_builder *builder, const char *name, int64_t number) {
    if (number != 0) {
        lk_builder_add_number(builder, name, number);
    }
}

void lk_builder_add_path(struct lk_builder *builder, const struct lk_path *path) {
    lk_builder_add(builder, (struct lk_slice){.bytes = path->bytes, .size = path->size});
}

void lk_builder_add_prefix(struct lk_builder *builder, const struct lk_path *path) {
    char bytes[LK_PATH_BYTES_MAX + 2];

    if (path != NULL) {
        struct lk_text text = lk_text_in(bytes, sizeof bytes);
        lk_text_format(&text, "/%.*s", (int)path->size, path->bytes);
        lk_builder_add_text(builder, bytes);
    }
}

void lk_builder_add_part(struct lk_builder *builder, const struct lk_part *part) {
    char bytes[PART_BYTES_MAX];
    struct lk_text text = lk_text_in(bytes, sizeof bytes);

    lk_text_add(&text, (struct lk_slice){.bytes = part->path.bytes, .size = part->path.size});
    if (part->mode == LK_SHARED && part->limit == 0) {
        lk_text_format(&text, "?shared");
    } else if (part->mode == LK_SHARED) {
        lk_text_format(&text, "?limit=%u&units=%u", part->limit, part->units);
    } else if (part->strict) {
        lk_text_format(&text, "?strict");
    }
    lk_builder_add_text(builder, bytes);
}

void lk_builder_add_parts(struct lk_builder *builder, const struct lk_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            lk_builder_add_text(builder, "ALSO");
        }
        lk_builder_add_part(builder, &parts[i]);
    }
}

void lk_builder_add_paths(struct lk_builder *builder, const struct lk_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            lk_builder_add_text(builder, "ALSO");
        }
        lk_builder_add_path(builder, &parts[i].path);
    }
}

bool lk_builder_end(struct lk_builder *builder, struct lk_slice *ret_bytes) {
    if (!builder->is_ended) {
        lk_resp_insert_array(&builder->bytes, 0, builder->count);
        builder->is_ended = true;
    }
    *ret_bytes = (struct lk_slice){.bytes = builder->bytes.bytes, .size = builder->bytes.size};
    return !builder->bytes.failed;
}

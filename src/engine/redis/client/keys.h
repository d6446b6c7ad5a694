/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the keys of a root begin, and so which slot they are in. nodes.lua says the same.
 *
 * A root is a segment of a path (R1). It stands for the key of its value: %XX stands in it for a
 * byte that R1 refuses, so the value of `most%20recent%20news` is the key `most recent news`. The
 * other keys of the root are in the slot of that key, and begin with
 *
 *     db                          {db}
 *     most%20recent%20news        {most recent news}
 *     user:%7B42%7D:cart          {42}user:%7B42%7D:cart, because the key's own tag is 42
 *
 * A root stands for itself, escapes and all, if its key has a `}` without a tag, or looks like
 * other keys of a root: if it begins with `{` and has a `/` or `:lk:`.
 */
#ifndef LK_ENGINE_REDIS_CLIENT_KEYS_H
#define LK_ENGINE_REDIS_CLIENT_KEYS_H

#include "model/path.h"

enum { LK_REDIS_PREFIX_BYTES_MAX = 2 * LK_SEGMENT_BYTES_MAX + 2 };

struct lk_redis_prefix {
    char bytes[LK_REDIS_PREFIX_BYTES_MAX + 1]; /* terminated */
    size_t size;
    size_t tag_size; /* of the text in its first braces, which selects the slot */
};

void lk_redis_prefix_make(struct lk_slice root, struct lk_redis_prefix *ret_prefix);

static inline struct lk_slice lk_redis_prefix_tag(const struct lk_redis_prefix *prefix) {
    return (struct lk_slice){prefix->bytes + 1, prefix->tag_size};
}

/* The root whose keys begin so, terminated. false: there is none. */
bool lk_redis_prefix_read(struct lk_slice text, char ret_root[LK_SEGMENT_BYTES_MAX + 1]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Roots, and how their keys begin. */
#include "engine/redis/client/keys.h"

#include <stdio.h>

#include "base/text.h"

/* What R1 refuses in a segment, of ASCII. */
static bool is_escaped(int byte) {
    return (byte > 0 && byte <= ' ') || byte == 0x7F || (byte != 0 && strchr("/?{}", byte) != NULL);
}

/* The byte that an escape at the beginning of the text stands for; 0: there is none. */
static int escape_at(struct lk_slice text) {
    int byte;

    if (text.size < 3 || text.bytes[0] != '%' || strchr("0123456789ABCDEF", text.bytes[2]) == NULL
        || text.bytes[1] < '0' || text.bytes[1] > '7') {
        return 0;
    }
    byte = lk_hexadecimal(text.bytes[1]) * 16 + lk_hexadecimal(text.bytes[2]);
    return is_escaped(byte) ? byte : 0;
}

/* The key that a root stands for, if every escape in it is one. */
static size_t decode(struct lk_slice root, char ret_key[LK_SEGMENT_BYTES_MAX + 1]) {
    size_t size = 0;

    for (size_t at = 0; at < root.size; size++) {
        int byte = escape_at((struct lk_slice){root.bytes + at, root.size - at});

        ret_key[size] = byte != 0 ? (char)byte : root.bytes[at];
        at += byte != 0 ? 3 : 1;
    }
    ret_key[size] = '\0';
    return size;
}

/* The key's own tag (Redis Cluster specification); empty: it has none. */
static struct lk_slice tag_of(const char *key) {
    const char *open = strchr(key, '{');
    const char *close = open != NULL ? strchr(open, '}') : NULL;

    return close != NULL ? (struct lk_slice){open + 1, (size_t)(close - open) - 1}
                         : (struct lk_slice){NULL, 0};
}

static bool looks_like_others(const char *key) {
    return key[0] == '{' && (strchr(key, '/') != NULL || strstr(key, ":lk:") != NULL);
}

static void write(struct lk_redis_prefix *prefix, struct lk_slice tag, struct lk_slice behind) {
    prefix->tag_size = tag.size;
    prefix->size = (size_t)snprintf(prefix->bytes, sizeof prefix->bytes, "{%.*s}%.*s",
                                    (int)tag.size, tag.bytes, (int)behind.size, behind.bytes);
}

void lk_redis_prefix_make(struct lk_slice root, struct lk_redis_prefix *ret_prefix) {
    const struct lk_slice nothing = lk_slice_of("");
    char key[LK_SEGMENT_BYTES_MAX + 1];
    size_t size = memchr(root.bytes, '%', root.size) != NULL ? decode(root, key) : root.size;
    struct lk_slice tag;

    if (size == root.size || looks_like_others(key)) { /* nothing was decoded */
        write(ret_prefix, root, nothing);
        return;
    }
    if (strchr(key, '}') == NULL) {
        write(ret_prefix, (struct lk_slice){key, size}, nothing);
        return;
    }
    tag = tag_of(key);
    write(ret_prefix, tag.size > 0 ? tag : root, tag.size > 0 ? root : nothing);
}

/* Writes %XX for each byte that R1 refuses. false: there is no room. */
static bool encode(struct lk_slice key, char ret_root[LK_SEGMENT_BYTES_MAX + 1]) {
    size_t size = 0;

    for (size_t i = 0; i < key.size; i++) {
        unsigned char byte = (unsigned char)key.bytes[i];
        size_t wanted = is_escaped(byte) ? 3 : 1;

        if (size + wanted > LK_SEGMENT_BYTES_MAX) {
            return false;
        }
        (void)snprintf(ret_root + size, wanted + 1, wanted == 3 ? "%%%02X" : "%c", byte);
        size += wanted;
    }
    ret_root[size] = '\0';
    return size > 0;
}

bool lk_redis_prefix_read(struct lk_slice text, char ret_root[LK_SEGMENT_BYTES_MAX + 1]) {
    const char *close = text.size > 0 ? memchr(text.bytes, '}', text.size) : NULL;
    struct lk_redis_prefix prefix;
    struct lk_slice tag;
    struct lk_slice behind;

    if (close == NULL || text.bytes[0] != '{') {
        return false;
    }
    tag = (struct lk_slice){text.bytes + 1, (size_t)(close - text.bytes) - 1};
    behind = (struct lk_slice){close + 1, text.size - tag.size - 2};
    if (!encode(behind.size > 0 ? behind : tag, ret_root)) {
        return false;
    }
    lk_redis_prefix_make(lk_slice_of(ret_root), &prefix);
    return lk_slice_equal((struct lk_slice){prefix.bytes, prefix.size}, text);
}

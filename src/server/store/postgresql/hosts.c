/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts of a URL, in another order. libpq tries one after the other, and goes on from a host
 * that refuses; but one that does not answer at all, because its machine is lost, is waited for
 * while its share of the patience lasts. So the next attempt begins with the next host.
 */
#include <ctype.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "server/store/postgresql/store.h"

static void add_encoded(struct lk_buffer *url, struct lk_slice text) {
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        const char encoded[] = {'%', digits[byte >> 4], digits[byte & 15]};

        lk_buffer_add(url, isalnum(byte) ? &text.bytes[i] : encoded, isalnum(byte) ? 1 : 3);
    }
}

/* A list of one entry is for all hosts. What stands last in a URL counts. */
static void add_turned(struct lk_buffer *url, const char *name, const char *list, size_t first) {
    size_t count = lk_postgresql_list_count(list);

    if (count < 2) {
        return;
    }
    lk_buffer_add_text(url, memchr(url->bytes, '?', url->size) != NULL ? "&" : "?");
    lk_buffer_add_text(url, name);
    lk_buffer_add_text(url, "=");
    for (size_t i = 0; i < count; i++) {
        lk_buffer_add_text(url, i > 0 ? "," : "");
        add_encoded(url, lk_postgresql_list_entry(list, (first + i) % count));
    }
}

size_t lk_pg_hosts_count(const char *url) {
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    size_t count = 1;

    for (const PQconninfoOption *each = options; each != NULL && each->keyword != NULL; each++) {
        bool is_host = strcmp(each->keyword, "host") == 0 || strcmp(each->keyword, "hostaddr") == 0;

        if (is_host && lk_postgresql_list_count(each->val) > count) {
            count = lk_postgresql_list_count(each->val);
        }
    }
    PQconninfoFree(options);
    return count;
}

char *lk_pg_hosts_turn(const char *url, size_t first) {
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    struct lk_buffer turned = {.max = 0};

    lk_buffer_add_text(&turned, url);
    for (const PQconninfoOption *each = options; each != NULL && each->keyword != NULL; each++) {
        if (strcmp(each->keyword, "host") == 0 || strcmp(each->keyword, "hostaddr") == 0
            || strcmp(each->keyword, "port") == 0) {
            add_turned(&turned, each->keyword, each->val, first);
        }
    }
    PQconninfoFree(options);
    lk_buffer_add(&turned, "", 1);
    if (turned.failed) {
        lk_buffer_done(&turned);
        return NULL;
    }
    return turned.bytes;
}

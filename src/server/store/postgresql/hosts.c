/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts of a URL, in another order. libpq tries one after the other, and goes on from a host
 * that refuses; but one that does not answer at all, because its machine is lost, is waited for
 * until all patience is over. So the next attempt begins with the next host.
 */
#include <ctype.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "server/store/postgresql/store.h"

static size_t count_of(const char *list) {
    size_t count = list != NULL && list[0] != '\0';

    for (; count > 0 && *list != '\0'; list++) {
        count += *list == ',';
    }
    return count;
}

/* The entry of a list that commas separate. */
static struct lk_slice entry_at(const char *list, size_t index) {
    for (; index > 0; index--) {
        list = strchr(list, ',') + 1;
    }
    return (struct lk_slice){list, strcspn(list, ",")};
}

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
    size_t count = count_of(list);

    if (count < 2) {
        return;
    }
    lk_buffer_add_text(url, memchr(url->bytes, '?', url->size) != NULL ? "&" : "?");
    lk_buffer_add_text(url, name);
    lk_buffer_add_text(url, "=");
    for (size_t i = 0; i < count; i++) {
        lk_buffer_add_text(url, i > 0 ? "," : "");
        add_encoded(url, entry_at(list, (first + i) % count));
    }
}

size_t lk_pg_hosts_count(const char *url) {
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    size_t count = 1;

    for (const PQconninfoOption *each = options; each != NULL && each->keyword != NULL; each++) {
        bool is_host = strcmp(each->keyword, "host") == 0 || strcmp(each->keyword, "hostaddr") == 0;

        if (is_host && count_of(each->val) > count) {
            count = count_of(each->val);
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

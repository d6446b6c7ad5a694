/* SPDX-License-Identifier: Apache-2.0 */
/* Hints: a text with an `@` may have a password, and is never repeated. */
#include "client/url_hint.h"

#include <stdbool.h>
#include <string.h>

#include "base/likeness.h"
#include "base/text.h"
#include "engine/engine.h"

/* Schemes of other programs, with what comes behind the `?` of "did you mean" here. */
static const char *const others[][2] = {
    {"sqlite3", "sqlite:"},   {"file", "sqlite:"}, {"unix", "lk+unix:"},  {"valkey", "redis:"},
    {"pgsql", "postgresql:"}, {"memory", "mem:"},  {"lockkeeper", "lk:"},
};

static struct lk_url_hint meant(const char *scheme, struct lk_slice rest) {
    struct lk_url_hint hint = {.text = ""};
    struct lk_text text = lk_text_in(hint.text, sizeof hint.text);

    lk_text_format(&text, "; did you mean %s%.*s?", scheme, (int)rest.size, rest.bytes);
    if (text.is_cut) {
        hint.text[0] = '\0';
    }
    return hint;
}

static struct lk_url_hint nothing(void) {
    return (struct lk_url_hint){.text = ""};
}

static bool is_port(struct lk_slice text) {
    size_t size = 0;

    while (size < text.size && text.bytes[size] >= '0' && text.bytes[size] <= '9') {
        size++;
    }
    return size == text.size && size > 0 && size <= 5;
}

/* The engine's scheme that a word is most like, with its colon; NULL: none is near. */
static struct lk_url_hint like(struct lk_slice word) {
    const char *best = NULL;
    size_t best_distance = LK_LIKENESS_NONE;

    for (size_t i = 0; lk_engines[i] != NULL; i++) {
        size_t distance = lk_likeness(word.bytes, word.size, lk_engines[i]->scheme);
        if (!lk_engines[i]->is_stub && distance < best_distance) {
            best = lk_engines[i]->scheme;
            best_distance = distance;
        }
    }
    return best != NULL ? meant(best, lk_slice_of(":")) : nothing();
}

struct lk_url_hint lk_url_hint_of_text(const char *text) {
    const char *colon = strrchr(text, ':');
    struct lk_slice all = lk_slice_of(text);

    if (all.size == 0 || strchr(text, '@') != NULL) {
        return nothing();
    }
    if (colon != NULL && colon > text && strchr(text, '/') == NULL
        && is_port(lk_slice_of(colon + 1))) {
        return meant("lk://", all);
    }
    if (colon == NULL && strpbrk(text, "/.") != NULL) {
        return meant("sqlite:", all);
    }
    return colon == NULL ? like(all) : nothing();
}

struct lk_url_hint lk_url_hint_of_scheme(const struct lk_url *url) {
    struct lk_url_hint hint = {.text = "; a service is lk://HOST:PORT, with the port of the Redis "
                                       "protocol (7420), not that of HTTP"};
    const struct lk_url_hint jdbc = {.text = "; a database is postgresql://USER@HOST/DATABASE or "
                                             "mysql://USER@HOST/DATABASE here, without jdbc:"};
    const char *text = url->scheme.bytes; /* where the URL begins */

    if (lk_slice_equal(url->scheme, lk_slice_of("http"))
        || lk_slice_equal(url->scheme, lk_slice_of("https"))) {
        return hint;
    }
    if (lk_slice_equal(url->scheme, lk_slice_of("jdbc"))) {
        return jdbc;
    }
    if (is_port(url->rest)) {
        return meant("lk://", lk_slice_of(text));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (lk_slice_equal(url->scheme, lk_slice_of(others[i][0]))) {
            return meant(others[i][1], lk_slice_of(""));
        }
    }
    return like(url->scheme);
}

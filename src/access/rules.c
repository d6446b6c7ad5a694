/* SPDX-License-Identifier: Apache-2.0 */
/* Rights by name, and rules. */
#include "access/rules.h"

#include "base/error.h"

/* ---- rights ---------------------------------------------------------------------------------- */

static const char *const names[LK_RIGHT_COUNT] = {
    [LK_RIGHT_LOCK] = "lock",   [LK_RIGHT_READ] = "read",   [LK_RIGHT_PUT] = "put",
    [LK_RIGHT_BREAK] = "break", [LK_RIGHT_WATCH] = "watch", [LK_RIGHT_PUSH] = "push",
    [LK_RIGHT_CLAIM] = "claim", [LK_RIGHT_ADMIN] = "admin",
};
static const char all[] = "all";

enum { SHOWN_BYTES_MAX = 64 }; /* of a wrong word, in messages */

const char *lk_right_name(enum lk_right right) {
    return names[right];
}

enum lk_right lk_right_by_name(struct lk_slice name) {
    for (int right = 0; right < LK_RIGHT_COUNT; right++) {
        if (names[right] != NULL && lk_slice_equal(name, lk_slice_of(names[right]))) {
            return (enum lk_right)right;
        }
    }
    return LK_RIGHT_UNDECLARED;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static int shown(struct lk_slice text) {
    return (int)(text.size < SHOWN_BYTES_MAX ? text.size : SHOWN_BYTES_MAX);
}

static lk_outcome parse_right(struct lk_slice name, unsigned *rights, lk_error *error) {
    enum lk_right right = lk_right_by_name(name);

    if (lk_slice_equal(name, lk_slice_of(all))) {
        for (int each = 0; each < LK_RIGHT_COUNT; each++) {
            *rights |= names[each] != NULL ? LK_RIGHT_BIT(each) : 0;
        }
        return LK_OK;
    }
    if (right == LK_RIGHT_UNDECLARED) {
        return lk_error_set(error, LK_INVALID,
                            "\"%.*s\" is no right; the rights are lock, read, put, break, watch, "
                            "push, claim, admin and all",
                            shown(name), name.bytes);
    }
    *rights |= LK_RIGHT_BIT(right);
    return LK_OK;
}

lk_outcome lk_rule_parse(struct lk_slice text, struct lk_rule *ret_rule, lk_error *error) {
    const char *colon = text.size > 0 ? memchr(text.bytes, ':', text.size) : NULL;
    struct lk_slice left = {text.bytes, colon != NULL ? (size_t)(colon - text.bytes) : 0};
    struct lk_slice path = {colon, 0};
    struct lk_rule rule = {.rights = 0};
    lk_outcome outcome = LK_OK;
    lk_error why;

    if (colon == NULL) {
        return lk_error_set(error, LK_INVALID,
                            "\"%.*s\" is no rule; write RIGHT,RIGHT:PREFIX, as in lock,read:db",
                            shown(text), text.size > 0 ? text.bytes : "");
    }
    path = (struct lk_slice){colon + 1, text.size - left.size - 1};
    while (outcome == LK_OK) {
        const char *comma = left.size > 0 ? memchr(left.bytes, ',', left.size) : NULL;
        size_t size = comma != NULL ? (size_t)(comma - left.bytes) : left.size;

        outcome = parse_right((struct lk_slice){left.bytes, size}, &rule.rights, error);
        if (comma == NULL) {
            break;
        }
        left = (struct lk_slice){comma + 1, left.size - size - 1};
    }
    rule.is_everywhere = path.size == 1 && path.bytes[0] == '/';
    if (outcome == LK_OK && !rule.is_everywhere
        && lk_path_parse(path, &rule.prefix, &why) != LK_OK) {
        outcome = lk_error_set(error, LK_INVALID, "the prefix \"%.*s\": %s (/ is every path)",
                               shown(path), path.bytes, why.text);
    }
    if (outcome == LK_OK) {
        *ret_rule = rule;
    }
    return outcome;
}

/* ---- decisions ------------------------------------------------------------------------------- */

/* Whether a rule with one of these rights covers the path. */
static bool has_any(const struct lk_rules *rules, unsigned rights, const struct lk_path *path) {
    for (size_t i = 0; rules != NULL && i < rules->count; i++) {
        const struct lk_rule *rule = &rules->rules[i];

        if ((rule->rights & rights) != 0
            && (rule->is_everywhere || (path != NULL && lk_path_contains(&rule->prefix, path)))) {
            return true;
        }
    }
    return false;
}

bool lk_rules_allow(const struct lk_rules *rules, enum lk_right right, const struct lk_path *path) {
    return names[right] != NULL && has_any(rules, LK_RIGHT_BIT(right), path);
}

bool lk_rules_allow_text(const struct lk_rules *rules, enum lk_right right, const char *path) {
    struct lk_path parsed;

    return lk_path_parse(lk_slice_of(path), &parsed, NULL) == LK_OK
           && lk_rules_allow(rules, right, &parsed);
}

bool lk_rules_show(const struct lk_rules *rules, const char *path) {
    struct lk_path parsed;

    if (path == NULL) {
        return has_any(rules, ~0u, NULL);
    }
    return lk_path_parse(lk_slice_of(path), &parsed, NULL) == LK_OK && has_any(rules, ~0u, &parsed);
}

/* ---- lists by path --------------------------------------------------------------------------- */

/* Whether the text is behind `path`, and before all that were found, which it then takes the place
 * of. */
static void note_beginning(struct lk_slice path, struct lk_slice text, char *first, size_t *size) {
    if (lk_slice_compare(text, path) > 0
        && (*size == 0 || lk_slice_compare(text, (struct lk_slice){first, *size}) < 0)) {
        memcpy(first, text.bytes, text.size);
        *size = text.size;
    }
}

/* What a rule covers is in two parts: its prefix, and what begins with that and a slash. */
size_t lk_rules_next(const struct lk_rules *rules, enum lk_right right, struct lk_slice path,
                     char ret_behind[LK_RULES_BEHIND_MAX]) {
    char text[LK_PATH_BYTES_MAX + 1];
    size_t size = 0;

    for (size_t i = 0; rules != NULL && i < rules->count; i++) {
        const struct lk_rule *rule = &rules->rules[i];

        if ((rule->rights & LK_RIGHT_BIT(right)) != 0 && !rule->is_everywhere) {
            memcpy(text, rule->prefix.bytes, rule->prefix.size);
            text[rule->prefix.size] = '/';
            note_beginning(path, (struct lk_slice){text, rule->prefix.size}, ret_behind, &size);
            note_beginning(path, (struct lk_slice){text, rule->prefix.size + (size_t)1}, ret_behind,
                           &size);
        }
    }
    if (size > 0) { /* no path has such a byte as the last one here */
        ret_behind[size - 1] = (char)((unsigned char)ret_behind[size - 1] - 1);
        ret_behind[size++] = '\xff';
    }
    return size;
}

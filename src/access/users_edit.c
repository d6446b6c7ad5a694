/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a users file, written again. */
#include "access/users_edit.h"

#include <string.h>

#include "base/error.h"

static lk_outcome parse(struct lk_slice text, struct lk_users_file **ret_file, lk_error *error) {
    lk_error why;
    unsigned line;
    lk_outcome outcome = lk_users_file_parse(text, ret_file, &line, &why);

    return outcome == LK_OK ? LK_OK
           : line > 0       ? lk_error_set(error, outcome, "line %u: %s", line, why.text)
                            : lk_error_set(error, outcome, "%s", why.text);
}

static const struct lk_user_entry *find(const struct lk_users_file *file, const char *user) {
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->entries[i].name, user) == 0) {
            return &file->entries[i];
        }
    }
    return NULL;
}

lk_outcome lk_users_has(struct lk_slice text, const char *user, lk_error *error) {
    struct lk_users_file *file;
    lk_outcome outcome = parse(text, &file, error);

    if (outcome == LK_OK) {
        outcome = find(file, user) != NULL ? LK_OK : LK_NONE;
        lk_users_file_free(file);
    }
    return outcome;
}

/* ---- a line ---------------------------------------------------------------------------------- */

static bool stays(const struct lk_users_edit *edit, const struct lk_user_secret *secret) {
    switch (secret->kind) {
    case LK_SECRET_PASSWORD:
        return edit->password_hash == NULL;
    case LK_SECRET_TOKEN:
        return !edit->removes_tokens
               && (edit->token == NULL || secret->until_s == 0 || secret->until_s > edit->now_s);
    case LK_SECRET_CERTIFICATE:
        return !edit->removes_certificate && !edit->adds_certificate; /* it is added once */
    }
    return true;
}

static void add_secret(struct lk_buffer *out, struct lk_slice secret, size_t *count) {
    if ((*count)++ > 0) {
        lk_buffer_add(out, ";", 1);
    }
    lk_buffer_add_slice(out, secret);
}

static void write_line(const struct lk_users_edit *edit, const struct lk_user_entry *former,
                       struct lk_buffer *out) {
    struct lk_slice rules = {NULL, 0};
    size_t count = 0;

    lk_buffer_add_text(out, edit->user);
    lk_buffer_add(out, " ", 1);
    if (edit->password_hash != NULL) {
        add_secret(out, lk_slice_of(edit->password_hash), &count);
    }
    for (size_t i = 0; former != NULL && i < former->secret_count; i++) {
        if (stays(edit, &former->secrets[i])) {
            add_secret(out, former->secrets[i].text, &count);
        }
    }
    if (edit->token != NULL) {
        add_secret(out, lk_slice_of(edit->token), &count);
    }
    if (edit->adds_certificate) {
        add_secret(out, lk_slice_of("certificate"), &count);
    }
    lk_buffer_add_text(out, count == 0 ? "- " : " ");
    if (edit->rules != NULL) {
        rules = lk_slice_of(edit->rules);
    } else if (former != NULL) {
        rules = former->rules_text;
    }
    while (rules.size > 0 && (rules.bytes[0] == ' ' || rules.bytes[0] == '\t')) {
        rules.bytes++;
        rules.size--;
    }
    lk_buffer_add_slice(out, rules);
    lk_buffer_add(out, "\n", 1);
}

/* Copies the text, but for that line (from 1 on; 0: none), in whose place the new one comes. */
static void write_text(struct lk_slice text, const struct lk_users_edit *edit,
                       const struct lk_user_entry *former, struct lk_buffer *out) {
    for (unsigned line = 1; text.size > 0; line++) {
        const char *end = memchr(text.bytes, '\n', text.size);
        size_t size = end != NULL ? (size_t)(end - text.bytes) + 1 : text.size;

        if (former == NULL || line != former->line) {
            lk_buffer_add(out, text.bytes, size);
            if (end == NULL) {
                lk_buffer_add(out, "\n", 1);
            }
        } else if (!edit->removes_user) {
            write_line(edit, former, out);
        }
        text.bytes += size;
        text.size -= size;
    }
    if (former == NULL) {
        write_line(edit, NULL, out);
    }
}

lk_outcome lk_users_edit(struct lk_slice text, const struct lk_users_edit *edit,
                         struct lk_buffer *ret_text, lk_error *error) {
    struct lk_users_file *file;
    struct lk_users_file *changed;
    const struct lk_user_entry *former;
    lk_outcome outcome = parse(text, &file, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    former = find(file, edit->user);
    if (former == NULL
        && (edit->removes_user || edit->removes_tokens || edit->removes_certificate)) {
        outcome = lk_error_set(error, LK_LOST, "there is no user %s", edit->user);
    } else {
        write_text(text, edit, former, ret_text);
        outcome = ret_text->failed
                      ? lk_error_set(error, LK_INTERNAL, "memory is exhausted")
                      : parse((struct lk_slice){ret_text->bytes, ret_text->size}, &changed, error);
        if (outcome == LK_OK) {
            lk_users_file_free(changed);
        }
    }
    lk_users_file_free(file);
    return outcome;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users of a service as text. What is accepted has valid names, each once, and stays what it is
 * when a user is added, which is then there.
 */
#include <string.h>

#include "access/users_edit.h"
#include "target.h"

static void check_entry(const struct lk_user_entry *entry) {
    FUZZ_DEMAND(lk_user_name_is_valid(lk_slice_of(entry->name)));
    FUZZ_DEMAND(entry->secret_count <= LK_USER_SECRETS_MAX && entry->line > 0);
    FUZZ_DEMAND(entry->rules.count <= LK_USER_RULES_MAX);
    for (size_t i = 0; i < entry->rules.count; i++) {
        FUZZ_DEMAND(entry->rules.rules[i].rights != 0);
    }
}

static void check_edit(struct lk_slice text, size_t count) {
    static const struct lk_users_edit edit = {.user = "added", .rules = "lock:a"};
    struct lk_buffer changed = {.max = 0};
    struct lk_users_file *file = NULL;
    unsigned line;
    lk_error error;
    lk_outcome was_there = lk_users_has(text, edit.user, &error);

    if (lk_users_edit(text, &edit, &changed, &error) == LK_OK) {
        struct lk_slice after = {changed.bytes, changed.size};

        FUZZ_DEMAND(lk_users_has(after, edit.user, &error) == LK_OK);
        FUZZ_DEMAND(lk_users_file_parse(after, &file, &line, &error) == LK_OK);
        FUZZ_DEMAND(file->count == count + (was_there == LK_NONE));
        lk_users_file_free(file);
    }
    lk_buffer_done(&changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct lk_slice text = {(const char *)data, size};
    struct lk_users_file *file = NULL;
    unsigned line;
    lk_error error;

    if (lk_users_file_parse(text, &file, &line, &error) != LK_OK) {
        FUZZ_DEMAND(file == NULL && error.text[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < file->count; i++) {
        check_entry(&file->entries[i]);
    }
    check_edit(text, file->count);
    lk_users_file_free(file);
    return 0;
}

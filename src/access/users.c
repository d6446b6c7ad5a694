/* SPDX-License-Identifier: Apache-2.0 */
/* Users by name, and tokens by digest. */
#include "access/users.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { BUCKETS = 1024 };

struct token {
    unsigned char digest[LK_DIGEST_BYTES]; /* first: compared */
    const struct lk_user *user;
    const struct lk_user_secret *secret;
};

struct lk_users {
    struct lk_users_file *file; /* NULL: none yet */
    struct lk_user *buckets[BUCKETS];
    struct token *tokens; /* sorted */
    size_t token_count;
    const char *any_hash;
};

struct lk_users *lk_users_new(void) {
    return calloc(1, sizeof(struct lk_users));
}

void lk_users_free(struct lk_users *users) {
    if (users == NULL) {
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        while (users->buckets[i] != NULL) {
            struct lk_user *user = users->buckets[i];

            users->buckets[i] = user->next;
            free(user);
        }
    }
    lk_users_file_free(users->file);
    free(users->tokens);
    free(users);
}

/* ---- names ----------------------------------------------------------------------------------- */

static size_t bucket_of(struct lk_slice name) {
    return lk_hash_bytes(0, name) % BUCKETS; /* the names are the administrator's */
}

static struct lk_user *find(const struct lk_users *users, struct lk_slice name) {
    struct lk_user *user = users->buckets[bucket_of(name)];

    while (user != NULL && !lk_slice_equal(lk_slice_of(user->name), name)) {
        user = user->next;
    }
    return user;
}

static struct lk_user *make(struct lk_users *users, struct lk_slice name) {
    struct lk_user *user = find(users, name);
    struct lk_user **bucket = &users->buckets[bucket_of(name)];

    if (user != NULL || name.size > LK_USER_BYTES_MAX) {
        return user;
    }
    user = calloc(1, sizeof *user);
    if (user != NULL) {
        memcpy(user->name, name.bytes, name.size);
        user->next = *bucket;
        *bucket = user;
    }
    return user;
}

const struct lk_user *lk_users_find(const struct lk_users *users, struct lk_slice name) {
    const struct lk_user *user = find(users, name);

    return user != NULL && user->entry != NULL ? user : NULL;
}

const struct lk_user *lk_users_make(struct lk_users *users, struct lk_slice name) {
    return make(users, name);
}

/* ---- a file ---------------------------------------------------------------------------------- */

static int compare_tokens(const void *a, const void *b) {
    return memcmp(a, b, LK_DIGEST_BYTES);
}

/* Lists the tokens of all users. NULL: memory is exhausted. */
static struct token *list_tokens(struct lk_users *users, const struct lk_users_file *file,
                                 size_t *ret_count) {
    struct token *tokens;
    size_t count = 0;

    for (size_t i = 0; i < file->count; i++) {
        count += file->entries[i].secret_count;
    }
    tokens = calloc(count + 1, sizeof *tokens);
    count = 0;
    for (size_t i = 0; tokens != NULL && i < file->count; i++) {
        const struct lk_user_entry *entry = &file->entries[i];

        for (size_t k = 0; k < entry->secret_count; k++) {
            if (entry->secrets[k].kind == LK_SECRET_TOKEN) {
                tokens[count].user = find(users, lk_slice_of(entry->name));
                tokens[count].secret = &entry->secrets[k];
                memcpy(tokens[count++].digest, entry->secrets[k].digest, LK_DIGEST_BYTES);
            }
        }
    }
    if (tokens != NULL) {
        qsort(tokens, count, sizeof *tokens, compare_tokens);
        *ret_count = count;
    }
    return tokens;
}

static const char *first_hash(const struct lk_users_file *file) {
    for (size_t i = 0; i < file->count; i++) {
        for (size_t k = 0; k < file->entries[i].secret_count; k++) {
            if (file->entries[i].secrets[k].kind == LK_SECRET_PASSWORD) {
                return file->entries[i].secrets[k].hash;
            }
        }
    }
    return NULL;
}

/* The former entry's text is still there. */
static void replace_entry(struct lk_user *user) {
    struct lk_slice former = {NULL, 0};
    struct lk_slice coming = {NULL, 0};

    if (user->entry != NULL) {
        former = user->entry->rules_text;
    }
    if (user->coming != NULL) {
        coming = user->coming->rules_text;
    }
    user->rules_version += !lk_slice_equal(former, coming);
    user->entry = user->coming;
    user->coming = NULL;
}

bool lk_users_apply(struct lk_users *users, struct lk_users_file *file) {
    struct token *tokens;
    size_t token_count = 0;

    for (size_t i = 0; i < file->count; i++) {
        if (make(users, lk_slice_of(file->entries[i].name)) == NULL) {
            return false;
        }
    }
    tokens = list_tokens(users, file, &token_count);
    if (tokens == NULL) {
        return false;
    }
    for (size_t i = 0; i < file->count; i++) {
        find(users, lk_slice_of(file->entries[i].name))->coming = &file->entries[i];
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct lk_user *user = users->buckets[i]; user != NULL; user = user->next) {
            replace_entry(user);
        }
    }
    lk_users_file_free(users->file);
    free(users->tokens);
    users->file = file;
    users->tokens = tokens;
    users->token_count = token_count;
    users->any_hash = first_hash(file);
    return true;
}

const struct lk_user *lk_users_find_token(const struct lk_users *users,
                                          const unsigned char digest[LK_DIGEST_BYTES],
                                          const struct lk_user_secret **ret_secret) {
    const struct token *found = users->token_count > 0
                                    ? bsearch(digest, users->tokens, users->token_count,
                                              sizeof *users->tokens, compare_tokens)
                                    : NULL;

    if (found == NULL) {
        return NULL;
    }
    *ret_secret = found->secret;
    return found->user;
}

const char *lk_users_any_hash(const struct lk_users *users) {
    return users->any_hash;
}

int64_t lk_users_next_end(const struct lk_users *users, int64_t now_s) {
    int64_t next_s = INT64_MAX;

    for (size_t i = 0; users->file != NULL && i < users->file->count; i++) {
        const struct lk_user_entry *entry = &users->file->entries[i];

        for (size_t k = 0; k < entry->secret_count; k++) {
            int64_t until_s =
                entry->secrets[k].kind == LK_SECRET_TOKEN ? entry->secrets[k].until_s : 0;
            next_s = until_s > now_s && until_s < next_s ? until_s : next_s;
        }
    }
    return next_s;
}

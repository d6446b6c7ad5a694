/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The users of a service as text: one a line, its name, its secrets, its rules. Parsing reads no
 * file and calls no library, so that tests and the fuzzer reach all of it.
 *
 *     # name  secrets                            rules
 *     alice   $y$j9T$...                         lock,read:db  watch:/
 *     ci      token:DIGEST:2027-01-31T00:00:00Z  lock,push,claim:ci
 *     gone    -                                  read:/
 *
 * Secrets are joined by `;`: hashes of crypt(5), SHA-256 digests of tokens, each with an end in
 * UTC if it has one, and `certificate`: a client certificate whose name is the user's; `-` is none.
 */
#ifndef LK_ACCESS_USERS_FILE_H
#define LK_ACCESS_USERS_FILE_H

#include "access/rules.h"

enum {
    LK_USER_BYTES_MAX = 64,
    LK_USER_SECRETS_MAX = 8,
    LK_USER_RULES_MAX = 64,
    LK_USERS_MAX = 10000,
    LK_USERS_FILE_BYTES_MAX = 4 * 1024 * 1024,
    LK_PASSWORD_HASH_BYTES_MAX = 255,
    LK_DIGEST_BYTES = 32,
    LK_TOKEN_END_BYTES = sizeof "2027-01-31T00:00:00Z",
};

enum lk_user_secret_kind {
    LK_SECRET_PASSWORD,    /* hash */
    LK_SECRET_TOKEN,       /* digest, until_s */
    LK_SECRET_CERTIFICATE, /* verified by TLS */
};

struct lk_user_secret {
    struct lk_slice text; /* as in the file */
    enum lk_user_secret_kind kind;
    char hash[LK_PASSWORD_HASH_BYTES_MAX + 1];
    unsigned char digest[LK_DIGEST_BYTES];
    int64_t until_s; /* Unix time; 0: without an end */
};

struct lk_user_entry {
    char name[LK_USER_BYTES_MAX + 1];
    unsigned line; /* from 1 on */
    size_t secret_count;
    struct lk_user_secret *secrets;
    struct lk_slice rules_text;
    struct lk_rules rules;
};

struct lk_users_file {
    struct lk_user_entry *entries; /* in the order of the file */
    size_t count;
    char *text; /* a copy, which the entries borrow from */
};

/*
 * LK_OK with *ret_file, to be freed. LK_INVALID: *ret_line says where (0: the whole), and *error
 * what is wrong; no secret is ever in it. LK_INTERNAL: memory is exhausted.
 */
lk_outcome lk_users_file_parse(struct lk_slice text, struct lk_users_file **ret_file,
                               unsigned *ret_line, lk_error *error);
void lk_users_file_free(struct lk_users_file *file); /* accepts NULL */

/* Whether it is 1 to 64 letters, digits, `.`, `_`, `@` or `-`, and does not begin with `-`. */
bool lk_user_name_is_valid(struct lk_slice name);

/* An end as text, and a text as an end. false: it is none. */
void lk_token_end_write(int64_t until_s, char ret_text[LK_TOKEN_END_BYTES]);
bool lk_token_end_parse(struct lk_slice text, int64_t *ret_until_s);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of passwords by libxcrypt (yescrypt), digests of tokens by libcrypto (SHA-256). Both
 * libraries are loaded when they are first needed: by a service with users, and by lk passwd.
 */
#ifndef LK_ACCESS_SECRETS_H
#define LK_ACCESS_SECRETS_H

#include "access/users_file.h"

enum {
    LK_PASSWORD_BYTES_MAX = 255, /* fits into what a client may send before it is known */
    LK_TOKEN_BYTES = 64,         /* of a token's text: 256 random bits */
};

/* LK_OK; LK_UNSUPPORTED: one of the libraries is not installed. To be called before the others. */
lk_outcome lk_secrets_load(lk_error *error);

/* Whether the library knows the method of this hash. */
bool lk_password_hash_is_known(const char *hash);

/*
 * Makes a hash of a password, which takes about as long as a guess will. LK_OK, or LK_INTERNAL.
 */
lk_outcome lk_password_hash(const char *password, char ret_hash[LK_PASSWORD_HASH_BYTES_MAX + 1],
                            lk_error *error);

/* Whether the hash is that of this password: slow. Any thread may call it. */
bool lk_password_verify(const char *hash, const char *password);

/* A new token; and the digest of a token's text. */
lk_outcome lk_token_make(char ret_token[LK_TOKEN_BYTES + 1], lk_error *error);
void lk_token_digest(struct lk_slice token, unsigned char ret_digest[LK_DIGEST_BYTES]);

/* A digest that means nothing without the key (HMAC). */
void lk_keyed_digest(const unsigned char key[LK_DIGEST_BYTES], struct lk_slice text,
                     unsigned char ret_digest[LK_DIGEST_BYTES]);

/* Random bytes from the kernel. */
lk_outcome lk_random_secret(unsigned char *ret_bytes, size_t size, lk_error *error);

/* Writes bytes as hexadecimal digits, two each, and a terminator. */
void lk_hexadecimal_write(const unsigned char *bytes, size_t size, char *ret_text);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to libxcrypt and libcrypto, and nothing of our own in between. */
#include "access/secrets.h"

#include <crypt.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/opensslv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/library.h"
#include "crypt_functions.h"
#include "crypto_functions.h"

#define TEXT_OF(...) TEXT(__VA_ARGS__)
#define TEXT(...) #__VA_ARGS__

static const char method[] = "$y$"; /* yescrypt, at the library's own cost */
static const char user[] = "a service with users";

struct lk_crypt lk_crypt;
struct lk_crypto lk_crypto;

static lk_outcome load_crypt(lk_error *error) {
    static const char *const names[] = {LK_CRYPT_NAMES};
    static struct lk_library library = {
        .file = "libcrypt.so.1",
        .package = "libcrypt1",
        .user = user,
        .names = names,
        .table = &lk_crypt,
        .count = sizeof names / sizeof names[0],
    };
    static struct lk_library newer = {
        /* without the functions of an older C library */
        .file = "libcrypt.so.2", .package = "libcrypt2", .user = user,
        .names = names,          .table = &lk_crypt,     .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error) == LK_OK || lk_library_load(&newer, NULL) == LK_OK
               ? LK_OK
               : LK_UNSUPPORTED;
}

static lk_outcome load_crypto(lk_error *error) {
    static const char *const names[] = {LK_CRYPTO_NAMES};
    static struct lk_library library = {
        .file = "libcrypto.so." TEXT_OF(OPENSSL_SHLIB_VERSION),
        .package = "libssl" TEXT_OF(OPENSSL_SHLIB_VERSION),
        .user = user,
        .names = names,
        .table = &lk_crypto,
        .count = sizeof names / sizeof names[0],
    };

    return lk_library_load(&library, error);
}

lk_outcome lk_secrets_load(lk_error *error) {
    lk_outcome outcome = load_crypt(error);

    return outcome == LK_OK ? load_crypto(error) : outcome;
}

/* ---- passwords ------------------------------------------------------------------------------- */

bool lk_password_hash_is_known(const char *hash) {
    int judgement = crypt_checksalt(hash);

    return judgement == CRYPT_SALT_OK || judgement == CRYPT_SALT_TOO_CHEAP;
}

/* Hashes with the setting, which a hash begins with. NULL: failed, or memory is exhausted. */
static const char *hash_with(struct crypt_data *data, const char *password, const char *setting) {
    return data != NULL ? crypt_rn(password, setting, data, (int)sizeof *data) : NULL;
}

static void data_free(struct crypt_data *data) {
    if (data != NULL) {
        explicit_bzero(data, sizeof *data);
        free(data);
    }
}

lk_outcome lk_password_hash(const char *password, char ret_hash[LK_PASSWORD_HASH_BYTES_MAX + 1],
                            lk_error *error) {
    struct crypt_data *data = calloc(1, sizeof *data);
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];
    const char *made = NULL;

    if (crypt_gensalt_rn(method, 0, NULL, 0, setting, (int)sizeof setting) != NULL) {
        made = hash_with(data, password, setting);
    }
    if (made == NULL || made[0] == '*' || strlen(made) > LK_PASSWORD_HASH_BYTES_MAX) {
        data_free(data);
        return lk_error_set(error, LK_INTERNAL, "the password could not be hashed");
    }
    memcpy(ret_hash, made, strlen(made) + 1);
    data_free(data);
    return LK_OK;
}

bool lk_password_verify(const char *hash, const char *password) {
    struct crypt_data *data = calloc(1, sizeof *data);
    const char *made = hash_with(data, password, hash);
    bool is_equal = made != NULL && made[0] != '*' && strlen(made) == strlen(hash);
    unsigned char difference = 0;

    for (size_t i = 0; is_equal && hash[i] != '\0'; i++) {
        difference |= (unsigned char)(made[i] ^ hash[i]);
    }
    data_free(data);
    return is_equal && difference == 0;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

lk_outcome lk_random_secret(unsigned char *ret_bytes, size_t size, lk_error *error) {
    return getrandom(ret_bytes, size, 0) == (ssize_t)size
               ? LK_OK
               : lk_error_set(error, LK_INTERNAL, "the kernel gives no random bytes");
}

void lk_hexadecimal_write(const unsigned char *bytes, size_t size, char *ret_text) {
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        ret_text[2 * i] = digits[bytes[i] >> 4];
        ret_text[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret_text[2 * size] = '\0';
}

lk_outcome lk_token_make(char ret_token[LK_TOKEN_BYTES + 1], lk_error *error) {
    unsigned char bytes[LK_TOKEN_BYTES / 2];
    lk_outcome outcome = lk_random_secret(bytes, sizeof bytes, error);

    if (outcome == LK_OK) {
        lk_hexadecimal_write(bytes, sizeof bytes, ret_token);
    }
    explicit_bzero(bytes, sizeof bytes);
    return outcome;
}

void lk_token_digest(struct lk_slice token, unsigned char ret_digest[LK_DIGEST_BYTES]) {
    memset(ret_digest, 0, LK_DIGEST_BYTES);
    (void)EVP_Digest(token.bytes, token.size, ret_digest, NULL, EVP_sha256(), NULL);
}

void lk_keyed_digest(const unsigned char key[LK_DIGEST_BYTES], struct lk_slice text,
                     unsigned char ret_digest[LK_DIGEST_BYTES]) {
    memset(ret_digest, 0, LK_DIGEST_BYTES);
    (void)HMAC(EVP_sha256(), key, LK_DIGEST_BYTES, (const unsigned char *)text.bytes, text.size,
               ret_digest, NULL);
}

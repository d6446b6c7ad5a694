/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison without an early end; and the first line of a file. */
#include "base/secret.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"

bool lk_secret_equal(const char *secret, struct lk_slice said) {
    size_t size = strlen(secret);
    unsigned char difference = size != said.size;

    for (size_t i = 0; i < size; i++) {
        char byte = said.size > 0 ? said.bytes[i % said.size] : '\0';
        difference |= (unsigned char)(secret[i] ^ byte);
    }
    return difference == 0;
}

lk_outcome lk_secret_read(const char *path, char *ret_secret, size_t capacity, lk_error *error) {
    FILE *file = fopen(path, "re");
    size_t size;
    bool is_whole;

    if (file == NULL) {
        return lk_error_set(error, errno == EACCES ? LK_DENIED : LK_INVALID,
                            "the password file %s: %s", path, strerror(errno));
    }
    is_whole = fgets(ret_secret, (int)capacity, file) != NULL;
    size = is_whole ? strcspn(ret_secret, "\r\n") : 0;
    is_whole = is_whole && (ret_secret[size] != '\0' || fgetc(file) == EOF);
    (void)fclose(file);
    if (!is_whole || size == 0) {
        explicit_bzero(ret_secret, capacity);
        return lk_error_set(error, LK_INVALID,
                            "the password file %s: its first line has 1 to %zu bytes", path,
                            capacity - 1);
    }
    ret_secret[size] = '\0';
    return LK_OK;
}

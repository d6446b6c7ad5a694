/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison without an early end. */
#include "base/secret.h"

bool lk_secret_equal(const char *secret, struct lk_slice said) {
    size_t size = strlen(secret);
    unsigned char difference = size != said.size;

    for (size_t i = 0; i < size; i++) {
        char byte = said.size > 0 ? said.bytes[i % said.size] : '\0';
        difference |= (unsigned char)(secret[i] ^ byte);
    }
    return difference == 0;
}

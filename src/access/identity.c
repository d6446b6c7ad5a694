/* SPDX-License-Identifier: Apache-2.0 */
/* USER//OWNER. */
#include "access/identity.h"

#include <string.h>

#include "access/users_file.h"

enum { SEPARATOR_SIZE = sizeof LK_IDENTITY_SEPARATOR - 1 };

_Static_assert(LK_IDENTITY_BYTES_MAX >= LK_USER_BYTES_MAX + SEPARATOR_SIZE + LK_OWNER_BYTES_MAX,
               "the model has room for every identity");

size_t lk_identity_write(struct lk_identity identity, char ret_text[LK_IDENTITY_BYTES_MAX]) {
    size_t size = identity.user.size;

    memcpy(ret_text, identity.user.bytes, size);
    memcpy(ret_text + size, LK_IDENTITY_SEPARATOR, SEPARATOR_SIZE);
    memcpy(ret_text + size + SEPARATOR_SIZE, identity.owner.bytes, identity.owner.size);
    return size + SEPARATOR_SIZE + identity.owner.size;
}

struct lk_identity lk_identity_read(struct lk_slice text) {
    const char *slash = text.size > 0 ? memchr(text.bytes, '/', text.size) : NULL;
    size_t size = slash != NULL ? (size_t)(slash - text.bytes) : 0;
    struct lk_slice user = {text.bytes, size};
    size_t begin = size + SEPARATOR_SIZE;

    if (slash == NULL || text.size <= begin || slash[1] != '/' || !lk_user_name_is_valid(user)) {
        return (struct lk_identity){{NULL, 0}, text};
    }
    return (struct lk_identity){user, {text.bytes + begin, text.size - begin}};
}

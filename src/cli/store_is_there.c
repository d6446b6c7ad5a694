/* SPDX-License-Identifier: Apache-2.0 */
/* Only embedded stores are made by opening them: sqlite:PATH[?...]. */
#include "cli/store_is_there.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "client/url.h"

static bool file_is_there(const char *url) {
    static const char scheme[] = "sqlite:";

    if (strncmp(url, scheme, strlen(scheme)) != 0) {
        return true;
    }
    const char *rest = url + strlen(scheme);
    char *path = lk_text_copy((struct lk_slice){.bytes = rest, .size = strcspn(rest, "?")});
    bool is_there = path == NULL || path[0] == '\0' || access(path, F_OK) == 0 || errno != ENOENT;
    free(path);
    return is_there;
}

bool lk_store_is_there(const char *url) {
    char *made = NULL;

    if (url == NULL && lk_url_default(&made, NULL) != LK_OK) {
        return true;
    }
    bool is_there = file_is_there(url != NULL ? url : made);
    free(made);
    return is_there;
}

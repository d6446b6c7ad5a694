/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the store is the user's own, and the message of its making. */
#include "cli/store/own_store.h"

#include <stdlib.h>

#include "cli/store/store_is_there.h"
#include "client/default_store.h"

struct lk_own_store lk_own_store_find(const char *url) {
    struct lk_default_store standard = {.url = NULL};
    struct lk_own_store own = {.url = NULL};

    if (url == NULL && lk_default_store_find(&standard, NULL) == LK_OK
        && standard.named_by == NULL) {
        own =
            (struct lk_own_store){.url = standard.url, .is_new = !lk_store_is_there(standard.url)};
        standard.url = NULL;
    }
    lk_default_store_done(&standard);
    return own;
}

void lk_own_store_say_new(const struct lk_own_store *own, FILE *err) {
    if (own->is_new) {
        (void)fprintf(err,
                      "lk: made %s, the store of this user alone; for several users see "
                      "lockkeeper.conf(5)\n",
                      own->url);
    }
}

void lk_own_store_done(struct lk_own_store *own) {
    free(own->url);
    own->url = NULL;
}

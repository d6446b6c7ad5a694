/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store has kept, loaded: made by the store's thread, taken over by the core. The store
 * fills model and audit directly, and names the requests that were bound to a connection (R18).
 */
#ifndef LK_SERVER_IMAGE_H
#define LK_SERVER_IMAGE_H

#include "lockkeeper/lockkeeper.h"
#include "model/model.h"

struct lk_image {
    struct lk_model *model;
    lk_audit *audit;
    uint64_t *bound; /* ids of requests */
    size_t bound_count;
    size_t bound_capacity;
};

/* NULL: memory is exhausted. */
struct lk_image *lk_image_new(const struct lk_model_config *config);
void lk_image_free(struct lk_image *image); /* accepts NULL */

/* false: memory is exhausted. */
bool lk_image_add_bound(struct lk_image *image, uint64_t id);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store has kept, loaded: made by the store's thread, taken over by the core. The store
 * fills model and audit directly, and names the requests that were bound to a connection (R18).
 */
#ifndef LK_SERVER_IMAGE_H
#define LK_SERVER_IMAGE_H

#include "lockkeeper/lockkeeper.h"
#include "model/model.h"
#include "server/history.h"

struct lk_image {
    struct lk_model *model;
    lk_audit *audit;
    uint64_t *bound; /* ids of requests */
    size_t bound_count;
    size_t bound_capacity;
    struct lk_quotas quotas; /* R22: as they are kept; the model may have others over them */
    struct lk_history_image history;
};

/* NULL: memory is exhausted. */
struct lk_image *lk_image_new(const struct lk_model_config *config);
void lk_image_free(struct lk_image *image); /* accepts NULL */

/* R22: what the service was started with where that is not 0, and else what is kept. */
struct lk_quotas lk_quotas_over(const struct lk_quotas *configured, const struct lk_quotas *kept);

/* false: memory is exhausted. */
bool lk_image_add_bound(struct lk_image *image, uint64_t id);

#endif

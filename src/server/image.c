/* SPDX-License-Identifier: Apache-2.0 */
/* What a store has kept, loaded. */
#include "server/image.h"

#include <stdlib.h>

#include "engine/reply.h"

struct lk_image *lk_image_new(const struct lk_model_config *config) {
    struct lk_image *image = calloc(1, sizeof *image);

    if (image == NULL) {
        return NULL;
    }
    image->model = lk_model_new(config);
    image->audit = lk_audit_new();
    if (image->model == NULL || image->audit == NULL) {
        lk_image_free(image);
        return NULL;
    }
    return image;
}

void lk_image_free(struct lk_image *image) {
    if (image == NULL) {
        return;
    }
    lk_model_free(image->model);
    lk_audit_free(image->audit);
    free(image->bound);
    lk_history_image_done(&image->history);
    free(image);
}

static uint64_t bound_over(uint64_t configured, uint64_t kept) {
    return configured != 0 ? configured : kept;
}

struct lk_quotas lk_quotas_over(const struct lk_quotas *configured, const struct lk_quotas *kept) {
    return (struct lk_quotas){
        .live_max = bound_over(configured->live_max, kept->live_max),
        .live_per_owner_max = bound_over(configured->live_per_owner_max, kept->live_per_owner_max),
        .live_per_root_max = bound_over(configured->live_per_root_max, kept->live_per_root_max),
        .waiters_per_path_max =
            bound_over(configured->waiters_per_path_max, kept->waiters_per_path_max),
    };
}

bool lk_image_add_bound(struct lk_image *image, uint64_t id) {
    if (image->bound_count == image->bound_capacity) {
        size_t capacity = image->bound_capacity == 0 ? 64 : image->bound_capacity * 2;
        uint64_t *bound = realloc(image->bound, capacity * sizeof *bound);
        if (bound == NULL) {
            return false;
        }
        image->bound = bound;
        image->bound_capacity = capacity;
    }
    image->bound[image->bound_count++] = id;
    return true;
}

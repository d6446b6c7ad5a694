/* SPDX-License-Identifier: Apache-2.0 */
/* What must never be, by the notes of the clients alone. */
#include <inttypes.h>

#include "world.h"

/* R6: no two hold at a time; R4: who asked after the other was answered has the greater token. */
static void check_pair(struct world *world, const struct grant *a, const struct grant *b) {
    if (a->client != b->client && a->token == b->token) {
        world_fail(world, "c%d and c%d have the same token %" PRIu64, a->client, b->client,
                   a->token);
    }
    if (a->client != b->client && a->return_us < b->until_us && b->return_us < a->until_us) {
        world_fail(world,
                   "granted twice: %s to c%d (token %" PRIu64 ") and c%d (token %" PRIu64 ")",
                   a->path, a->client, a->token, b->client, b->token);
    }
    if (a->return_us < b->asked_us && a->token > b->token) {
        world_fail(world, "R4: token %" PRIu64 " came after %" PRIu64, b->token, a->token);
    }
}

static const struct put *find_put(const struct world *world, uint64_t value) {
    return value > 0 && value <= world->put_count ? &world->puts[value - 1] : NULL;
}

/* A value that was replaced before the call, by a put that was answered, must not be read. */
static void check_get(struct world *world, const struct get *get) {
    const struct put *put = find_put(world, get->value);
    int64_t put_us = put != NULL ? put->return_us : -1;

    if (put != NULL && put->call_us > get->return_us) {
        world_fail(world, "value %" PRIu64 " was read before it was put", get->value);
    }
    for (size_t i = 0; i < world->put_count; i++) {
        const struct put *other = &world->puts[i];

        if (strcmp(other->path, get->path) == 0 && other->call_us > put_us
            && other->return_us < get->call_us) {
            world_fail(world, "value %" PRIu64 " of %s was read after %" PRIu64 " was put",
                       get->value, get->path, other->value);
            return;
        }
    }
}

void notes_check(struct world *world) {
    for (size_t i = 0; i < world->grant_count && world->wrong == NULL; i++) {
        for (size_t j = 0; j < world->grant_count; j++) {
            if (i != j && strcmp(world->grants[i].path, world->grants[j].path) == 0) {
                check_pair(world, &world->grants[i], &world->grants[j]);
            }
        }
    }
    for (size_t i = 0; i < world->get_count && world->wrong == NULL; i++) {
        check_get(world, &world->gets[i]);
    }
}

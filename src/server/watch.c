/* SPDX-License-Identifier: Apache-2.0 */
/* Who follows what happens, by prefixes of paths (R21). */
#include <stdlib.h>

#include "engine/happening.h"
#include "server/inside.h"

/* The empty path is everything. */
static bool is_below(const struct lk_watch *watch, const struct lk_path *path) {
    return watch->path.depth == 0 || lk_path_contains(&watch->path, path);
}

static bool concerns(const struct lk_session *session, const struct lk_path *path) {
    for (const struct lk_watch *watch = session->watches; watch != NULL; watch = watch->next) {
        if (is_below(watch, path)) {
            return true;
        }
    }
    return false;
}

/* Tells one event to all whom it concerns. */
static bool tell(void *context, const struct lk_happening *happening) {
    struct lk_core *core = context;
    const struct lk_notice notice = {.happening = happening, .times = &core->times};

    for (struct lk_link *at = core->watching.next; at != &core->watching; at = at->next) {
        struct lk_session *session = LK_LINK_ITEM(at, struct lk_session, watching);
        bool is_concerned = false;

        for (size_t i = 0; i < happening->part_count && !is_concerned; i++) {
            is_concerned = concerns(session, &happening->parts[i].path);
        }
        if (is_concerned) {
            uint64_t batch = lk_core_depends_on(core);
            lk_core_hold_back(core, session, batch);
            session->ops->notify(session->peer, batch, &notice);
        }
    }
    return true;
}

void lk_watch_tell(struct lk_core *core, const struct lk_event *event,
                   const struct lk_effects *effects) {
    if (!lk_link_is_alone(&core->watching)) {
        (void)lk_happenings_of_step(core->model, effects, event, tell, core);
    }
}

bool lk_watch_add(struct lk_core *core, struct lk_session *session, const struct lk_path *path) {
    struct lk_watch *watch = malloc(sizeof *watch);

    if (watch == NULL) {
        return false;
    }
    watch->path = (struct lk_path){.depth = 0};
    if (path != NULL) {
        watch->path = *path;
        memcpy(watch->text, path->bytes, path->size);
        watch->path.bytes = watch->text;
    }
    watch->next = session->watches;
    session->watches = watch;
    session->watch_count++;
    core->stats.watches++;
    if (lk_link_is_alone(&session->watching)) {
        lk_link_append(&core->watching, &session->watching);
    }
    return true;
}

void lk_watch_end(struct lk_core *core, struct lk_session *session) {
    while (session->watches != NULL) {
        struct lk_watch *watch = session->watches;
        session->watches = watch->next;
        free(watch);
        core->stats.watches--;
    }
    session->watch_count = 0;
    lk_link_remove(&session->watching);
}

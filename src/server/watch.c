/* SPDX-License-Identifier: Apache-2.0 */
/* Who follows what happens, by prefixes of paths (R21). */
#include <stdlib.h>

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

/* The paths that a change is about, as a list; its record is in hand. */
static size_t paths_of(struct lk_core *core, const struct lk_change *change,
                       struct lk_path *ret_paths, struct lk_value_record *value) {
    if (change->kind <= LK_CHANGE_BROKEN) {
        lk_model_record(core->model, change->request, &core->record);
        for (size_t i = 0; i < core->record.part_count; i++) {
            ret_paths[i] = core->record.parts[i].path;
        }
        return core->record.part_count;
    }
    if (change->kind <= LK_CHANGE_VALUE_DOUBTED) {
        lk_model_value_record(core->model, change->value, value);
        return lk_path_parse(lk_slice_of(value->path), ret_paths, NULL) == LK_OK ? 1 : 0;
    }
    lk_model_item_record(core->model, change->item, &core->collection.item);
    ret_paths[0] = core->collection.item.queue;
    return 1;
}

static void tell(struct lk_core *core, const struct lk_change *change) {
    struct lk_path paths[LK_PARTS_MAX];
    struct lk_value_record value;
    size_t count = paths_of(core, change, paths, &value);
    const struct lk_notice notice = {
        .number = core->notice_number,
        .change = change,
        .model = core->model,
        .times = &core->times,
    };

    for (struct lk_link *at = core->watching.next; at != &core->watching; at = at->next) {
        struct lk_session *session = LK_LINK_ITEM(at, struct lk_session, watching);
        bool is_concerned = false;

        for (size_t i = 0; i < count && !is_concerned; i++) {
            is_concerned = concerns(session, &paths[i]);
        }
        if (is_concerned) {
            uint64_t batch = lk_core_depends_on(core);
            lk_core_hold_back(core, session, batch);
            session->ops->notify(session->peer, batch, &notice);
        }
    }
}

void lk_watch_tell(struct lk_core *core, const struct lk_effects *effects) {
    for (size_t i = 0; i < effects->change_count; i++) {
        if (effects->changes[i].kind != LK_CHANGE_QUEUE_COUNTED) {
            core->notice_number++;
            if (!lk_link_is_alone(&core->watching)) {
                tell(core, &effects->changes[i]);
            }
        }
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of the model, held against one walk over everything: each entry is on exactly one page, in
 * the order of the standings, whichever way the model finds it.
 */
#include <stdlib.h>

#include "lockstep.h"
#include "model/page.h"

enum { ROWS_MAX = 3 };

struct everything {
    const struct lk_model *model;
    struct lk_page_row *rows;
    size_t count;
};

static void add(struct everything *all, struct lk_standing standing, uint32_t ref) {
    all->rows = lockstep_grown(all->rows, all->count, sizeof *all->rows);
    all->rows[all->count++] = (struct lk_page_row){standing, ref};
}

static bool add_request(void *context, lk_ref request) {
    struct everything *all = context;

    add(all, lk_model_standing(all->model, request), request);
    return true;
}

static bool add_item(void *context, lk_item_ref item) {
    struct everything *all = context;

    add(all, (struct lk_standing){.ticket = lk_model_item_sequence(all->model, item)}, item);
    return true;
}

static int compare(const void *left, const void *right) {
    const struct lk_standing a = ((const struct lk_page_row *)left)->standing;
    const struct lk_standing b = ((const struct lk_page_row *)right)->standing;

    return a.ticket != b.ticket ? (a.ticket > b.ticket) - (a.ticket < b.ticket)
                                : (a.id > b.id) - (a.id < b.id);
}

enum what { ALL, BELOW, RELATED, ITEMS, WHATS };

static void collect(const struct lockstep *lockstep, enum what what, const struct lk_path *path,
                    struct everything *all) {
    switch (what) {
    case ALL:
        lk_model_each(lockstep->model, add_request, all);
        break;
    case BELOW:
        lk_model_each_below(lockstep->model, path, add_request, all);
        break;
    case RELATED:
        lk_model_each_related(lockstep->model, path, add_request, all);
        break;
    default:
        lk_model_each_item(lockstep->model, path, add_item, all);
        break;
    }
    if ((what == BELOW || what == RELATED) && all->count > 1) { /* the others are in order */
        qsort(all->rows, all->count, sizeof *all->rows, compare);
    }
}

static void turn(const struct lockstep *lockstep, enum what what, const struct lk_path *path,
                 struct lk_page *page) {
    switch (what) {
    case ALL:
        lk_model_page(lockstep->model, page);
        break;
    case BELOW:
        lk_model_page_at(lockstep->model, path, LK_PAGE_BELOW, false, page);
        break;
    case RELATED:
        lk_model_page_at(lockstep->model, path, LK_PAGE_RELATED, false, page);
        break;
    default:
        lk_model_page_items(lockstep->model, path, page);
        break;
    }
}

static const char *read_pages(const struct lockstep *lockstep, enum what what,
                              const struct lk_path *path, const struct everything *all) {
    struct lk_page_row rows[ROWS_MAX];
    struct lk_page page = {.rows = rows,
                           .max = 1 + lockstep->match_count % ROWS_MAX,
                           .walk_steps = 1 + all->count % 5};
    size_t at = 0;

    do {
        turn(lockstep, what, path, &page);
        for (size_t i = 0; i < page.count; i++, at++) {
            if (at == all->count || rows[i].ref != all->rows[at].ref) {
                return "a page holds another entry than comes next";
            }
        }
        if (page.has_more && page.count == 0) {
            return "a page is empty, and yet there are more";
        }
        page.behind = page.reached;
    } while (page.has_more);
    return at == all->count ? NULL : "pages end before everything was listed";
}

/* One of the paths a step, and all kinds: there are many steps. */
const char *lockstep_pages_compare(const struct lockstep *lockstep) {
    const char *wrong = NULL;
    size_t number = (size_t)lockstep->seen_us / 1000 + lockstep->match_count;
    const struct lk_path *path =
        lockstep->path_count > 0 ? &lockstep->paths[number % lockstep->path_count]->path : NULL;

    for (enum what what = ALL; what < (path != NULL ? WHATS : BELOW) && wrong == NULL; what++) {
        struct everything all = {.model = lockstep->model};

        collect(lockstep, what, path, &all);
        wrong = read_pages(lockstep, what, path, &all);
        free(all.rows);
    }
    return wrong;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* From pages of requests to queues: places, sorted by path, and then their groups. */
#include <stdlib.h>

#include "base/minmax.h"
#include "model/page.h"
#include "server/http/grab/grab.h"

/* What a request wants of a path: it itself, or something below it. */
enum {
    WRITES = 1,
    READS = 2,
    WRITES_BELOW = 4,
    READS_BELOW = 8,
};

/* Whether requests with these modes can stand together (R6). */
static bool is_compatible(unsigned a, unsigned b) {
    bool has_writer = ((a | b) & WRITES) != 0;
    bool is_read_and_written = ((a & READS) != 0 && (b & WRITES_BELOW) != 0)
                               || ((b & READS) != 0 && (a & WRITES_BELOW) != 0);

    return !has_writer && !is_read_and_written;
}

bool lk_grab_same_queue(const struct lk_grab_place *a, const struct lk_grab_place *b) {
    return a->size == b->size && memcmp(a->key, b->key, a->size) == 0;
}

/* ---- places ---------------------------------------------------------------------------------- */

static lk_outcome add_place(struct lk_grab_queues *queues, const struct lk_grab_place *place) {
    if (queues->place_count == LK_GRAB_PLACES_MAX) {
        return LK_FULL;
    }
    if (queues->place_count == queues->place_capacity) {
        size_t capacity = queues->place_capacity > 0 ? 2 * queues->place_capacity : 64;
        struct lk_grab_place *grown = realloc(queues->places, capacity * sizeof *grown);

        if (grown == NULL) {
            return LK_INTERNAL;
        }
        queues->places = grown;
        queues->place_capacity = capacity;
    }
    queues->places[queues->place_count++] = *place;
    return LK_OK;
}

/* How many leading segments the two have in common. */
static unsigned common_depth(const struct lk_path *a, const struct lk_path *b) {
    unsigned depth = 0;

    while (depth < a->depth && depth < b->depth && a->ends[depth] == b->ends[depth]
           && memcmp(a->bytes, b->bytes, a->ends[depth]) == 0) {
        depth++;
    }
    return depth;
}

/* The places of one part: in the queue of its path, and in those above it. */
static lk_outcome add_part(struct lk_grab_queues *queues, const struct lk_part *part,
                           const struct lk_path *along, uint32_t row) {
    const struct lk_path *path = &part->path;
    unsigned depth = along != NULL ? common_depth(path, along) : path->depth;
    bool is_shared = part->mode == LK_SHARED;
    struct lk_grab_place place = {.at = queues->text.size, .row = row};
    lk_outcome outcome = LK_OK;

    if (depth == 0) {
        return LK_OK;
    }
    lk_buffer_add(&queues->text, "/", 1);
    lk_buffer_add(&queues->text, path->bytes, path->ends[depth - 1]);
    for (unsigned i = 0; i < depth && outcome == LK_OK; i++) {
        bool is_below = i + 1u < path->depth;

        place.size = (uint16_t)(path->ends[i] + 1);
        place.modes =
            is_below ? (is_shared ? READS_BELOW : WRITES_BELOW) : (is_shared ? READS : WRITES);
        outcome = add_place(queues, &place);
    }
    return queues->text.failed ? LK_INTERNAL : outcome;
}

static lk_outcome add_request(struct lk_grab_queues *queues, const struct lk_model *model,
                              lk_ref request, const struct lk_path *along) {
    uint32_t row = (uint32_t)queues->row_count;
    struct lk_record record;
    lk_outcome outcome = LK_OK;

    lk_model_record(model, request, &record);
    queues->rows[queues->row_count++] = (struct lk_grab_row){
        .request = request,
        .is_held = record.state == LK_STATE_HELD,
        .owner = record.owner,
        .deadline_us = record.deadline_us,
    };
    for (size_t i = 0; i < record.part_count && outcome == LK_OK; i++) {
        outcome = add_part(queues, &record.parts[i], along, row);
    }
    return outcome;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int compare_places(const void *left, const void *right) {
    const struct lk_grab_place *a = left;
    const struct lk_grab_place *b = right;
    int order =
        lk_slice_compare((struct lk_slice){a->key, a->size}, (struct lk_slice){b->key, b->size});

    return order != 0 ? order : (a->row > b->row) - (a->row < b->row);
}

/* Several parts of a request below one path are one place there. */
static void merge_places(struct lk_grab_queues *queues) {
    size_t count = 0;

    for (size_t i = 0; i < queues->place_count; i++) {
        struct lk_grab_place *place = &queues->places[i];
        struct lk_grab_place *last = count > 0 ? &queues->places[count - 1] : NULL;

        if (last != NULL && last->row == place->row && lk_grab_same_queue(last, place)) {
            last->modes |= place->modes;
        } else {
            queues->places[count++] = *place;
        }
    }
    queues->place_count = count;
}

/* What is held stands together, whatever its modes. */
static void number_groups(struct lk_grab_queues *queues) {
    uint32_t group = 0;
    unsigned modes = 0;

    for (size_t i = 0; i < queues->place_count; i++) {
        struct lk_grab_place *place = &queues->places[i];
        bool is_held = queues->rows[place->row].is_held;

        if (i == 0 || !lk_grab_same_queue(place - 1, place)) {
            group = 1;
            modes = 0;
        } else if (!is_held && !is_compatible(modes, place->modes)) {
            group++;
            modes = 0;
        }
        modes |= place->modes;
        place->group = group;
        place->is_shared = (place->modes & WRITES) == 0;
    }
}

static void sort_places(struct lk_grab_queues *queues) {
    for (size_t i = 0; i < queues->place_count; i++) {
        queues->places[i].key = queues->text.bytes + queues->places[i].at;
    }
    if (queues->place_count > 0) {
        qsort(queues->places, queues->place_count, sizeof queues->places[0], compare_places);
    }
    merge_places(queues);
    number_groups(queues);
}

/* ---- reading --------------------------------------------------------------------------------- */

static lk_outcome add_page(struct lk_grab_queues *queues, const struct lk_model *model,
                           const struct lk_page *page, const struct lk_path *along) {
    lk_outcome outcome = LK_OK;

    for (int is_held = 1; is_held >= 0; is_held--) {
        for (size_t i = 0; i < page->count && outcome == LK_OK; i++) {
            lk_ref request = page->rows[i].ref;

            if ((lk_model_state(model, request) == LK_STATE_HELD) == (is_held == 1)) {
                outcome = add_request(queues, model, request, along);
            }
        }
    }
    return outcome;
}

lk_outcome lk_grab_queues_read(const struct lk_model *model, const struct lk_path *along,
                               size_t rows_max, struct lk_grab_queues *ret_queues) {
    struct lk_page page = {.max = rows_max};
    struct lk_path root;
    lk_outcome outcome = LK_OK;

    *ret_queues = (struct lk_grab_queues){.row_count = 0};
    page.rows = calloc(rows_max, sizeof *page.rows);
    ret_queues->rows = calloc(rows_max, sizeof *ret_queues->rows);
    if (page.rows == NULL || ret_queues->rows == NULL) {
        free(page.rows);
        return LK_INTERNAL;
    }
    if (along != NULL) {
        root = (struct lk_path){.bytes = along->bytes, .size = along->ends[0], .depth = 1};
        root.ends[0] = along->ends[0];
        lk_model_page_at(model, &root, LK_PAGE_BELOW, true, &page);
    } else {
        lk_model_page(model, &page);
    }
    outcome = page.has_more ? LK_FULL : add_page(ret_queues, model, &page, along);
    free(page.rows);
    if (outcome == LK_OK) {
        sort_places(ret_queues);
    }
    return outcome;
}

void lk_grab_queues_free(struct lk_grab_queues *queues) {
    free(queues->rows);
    free(queues->places);
    lk_buffer_done(&queues->text);
}

/* Whether the place is the whole head of its queue. */
static bool is_alone(const struct lk_grab_queues *queues, size_t index) {
    const struct lk_grab_place *place = &queues->places[index];
    bool is_first = index == 0 || !lk_grab_same_queue(place - 1, place);
    bool is_followed = index + 1 < queues->place_count && lk_grab_same_queue(place, place + 1)
                       && (place + 1)->group == place->group;

    return is_first && !is_followed;
}

size_t lk_grab_queues_alone(const struct lk_grab_queues *queues, lk_ref request) {
    size_t count = 0;

    for (size_t i = 0; i < queues->place_count; i++) {
        count += queues->rows[queues->places[i].row].request == request && is_alone(queues, i);
    }
    return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by name in tables of a fixed size. */
#include "server/http/grab/stats.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "form/text.h"

static void add_to(struct lk_grab_counts *counts, uint64_t seed, struct lk_slice name,
                   uint64_t added) {
    size_t at = (size_t)(lk_hash_bytes(seed, name) % LK_GRAB_SLOTS);

    while (counts->slots[at].name != NULL
           && !lk_slice_equal(lk_slice_of(counts->slots[at].name), name)) {
        at = (at + 1) % LK_GRAB_SLOTS;
    }
    if (counts->slots[at].name == NULL && counts->used < LK_GRAB_NAMES_MAX) {
        counts->slots[at].name = lk_text_copy(name);
        counts->used += counts->slots[at].name != NULL;
    }
    if (counts->slots[at].name != NULL) {
        counts->slots[at].count += added;
    }
}

static void replace(char **text, struct lk_slice by) {
    free(*text);
    *text = lk_text_copy(by);
}

void lk_grab_stats_add(struct lk_grab_stats *stats, const char *owner, const struct lk_path *path,
                       const size_t *positions) {
    char key[LK_PATH_BYTES_MAX + 1] = "/";

    memcpy(key + 1, path->bytes, path->size);
    stats->total += path->depth;
    add_to(&stats->by_owner, stats->hash_seed, lk_slice_of(owner), path->depth);
    for (unsigned i = path->depth; i-- > 0;) {
        struct lk_slice name = {key, path->ends[i] + 1u};

        add_to(&stats->by_lock, stats->hash_seed, name, 1);
        if (positions[i] > stats->longest) {
            stats->longest = positions[i];
            replace(&stats->longest_resource, name);
            replace(&stats->longest_owner, lk_slice_of(owner));
        }
    }
}

const char *lk_grab_name(struct lk_buffer *scratch, struct lk_slice text) {
    lk_buffer_cut(scratch, 0);
    lk_form_put_string(scratch, text);
    if (scratch->failed) {
        return "";
    }
    scratch->bytes[scratch->size - 1] = '\0'; /* the closing quote */
    return scratch->bytes + 1;
}

static void write_counts(const struct lk_grab_counts *counts, const char *name,
                         struct lk_form_writer *writer) {
    struct lk_buffer scratch = {.max = 0};

    lk_form_open_map(writer, name);
    for (size_t i = 0; i < LK_GRAB_SLOTS; i++) {
        if (counts->slots[i].name != NULL) {
            lk_form_add_count(writer, lk_grab_name(&scratch, lk_slice_of(counts->slots[i].name)),
                              counts->slots[i].count);
        }
    }
    lk_form_close(writer);
    writer->failed = writer->failed || scratch.failed;
    lk_buffer_done(&scratch);
}

static void write_text_or_null(const char *name, const char *text, struct lk_form_writer *writer) {
    if (text != NULL) {
        lk_form_add_text(writer, name, text);
    } else {
        lk_form_add_null(writer, name);
    }
}

void lk_grab_stats_write(const struct lk_grab_stats *stats, struct lk_form_writer *writer) {
    lk_form_add_count(writer, "total", stats->total);
    lk_form_add_count(writer, "max_queue_length", stats->longest);
    write_text_or_null("max_queue_resource", stats->longest_resource, writer);
    write_text_or_null("max_queue_owner", stats->longest_owner, writer);
    write_counts(&stats->by_owner, "by_owner", writer);
    write_counts(&stats->by_lock, "by_lock", writer);
}

static void free_counts(struct lk_grab_counts *counts) {
    for (size_t i = 0; i < LK_GRAB_SLOTS; i++) {
        free(counts->slots[i].name);
    }
}

void lk_grab_stats_done(struct lk_grab_stats *stats) {
    free_counts(&stats->by_owner);
    free_counts(&stats->by_lock);
    free(stats->longest_resource);
    free(stats->longest_owner);
}

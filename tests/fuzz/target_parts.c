/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzing the language of paths and parts (R1, R2): what is accepted is sound, and says the same
 * when it is written out and read again. */
#include <inttypes.h>

#include "model/part.h"
#include "target.h"

static void probe(bool holds) {
    if (!holds) {
        abort();
    }
}

static void read_again(const struct lk_part *part) {
    char text[LK_PATH_BYTES_MAX + 64];
    struct lk_part again;

    if (part->limit != 0) {
        snprintf(text, sizeof text, "%.*s?limit=%" PRIu32 "&units=%" PRIu32, (int)part->path.size,
                 part->path.bytes, part->limit, part->units);
    } else {
        snprintf(text, sizeof text, "%.*s%s", (int)part->path.size, part->path.bytes,
                 part->mode == LK_SHARED ? "?shared" : "");
    }
    probe(lk_part_parse(lk_slice_of(text), NULL, &again, NULL) == LK_OK);
    probe(lk_path_equal(&part->path, &again.path) && part->path.depth == again.path.depth
          && part->mode == again.mode && part->limit == again.limit && part->units == again.units);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct lk_part_defaults defaults = {.shared = true, .limit = 7, .units = 2};
    struct lk_slice text = {(const char *)data, size};
    struct lk_part part;
    lk_error error;

    for (int round = 0; round < 2; round++) {
        lk_outcome outcome = lk_part_parse(text, round == 0 ? NULL : &defaults, &part, &error);
        probe(outcome == error.outcome);
        probe(outcome == LK_OK || (outcome == LK_INVALID && error.text[0] == 'R'));
        if (outcome == LK_OK) {
            probe(lk_parts_check(&part, 1, NULL) == LK_OK);
            probe(part.path.size <= LK_PATH_BYTES_MAX && part.path.depth <= LK_PATH_DEPTH_MAX
                  && part.path.ends[part.path.depth - 1] == part.path.size);
            read_again(&part);
        }
    }
    return 0;
}

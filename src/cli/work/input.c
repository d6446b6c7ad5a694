/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory with what CMD reads. */
#include "cli/work/input.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "form/writer.h"

static int make_file(const char *bytes, size_t size) {
    int file = memfd_create("lk-value", MFD_CLOEXEC);

    while (file >= 0 && size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno != EINTR) {
            int error = errno;
            close(file);
            errno = error;
            return -1;
        }
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    if (file >= 0) {
        lseek(file, 0, SEEK_SET);
    }
    return file;
}

int lk_pool_input_value(const lk_claim_info *claim) {
    return make_file(claim->value, claim->value_size);
}

static bool add_line(struct lk_buffer *lines, const lk_claim_info *claim) {
    struct lk_form_writer form = lk_form_writer_json(lines);

    lk_form_open_map(&form, NULL);
    lk_form_add_text(&form, "id", claim->id);
    if (claim->value != NULL) {
        lk_form_add_value(&form, "value", claim->value, claim->value_size);
    }
    lk_form_add_count(&form, "token", claim->token);
    lk_form_add_count(&form, "attempt", claim->attempt);
    lk_form_close(&form);
    lk_buffer_add_text(lines, "\n");
    return !lk_form_writer_failed(&form) && !lines->failed;
}

int lk_pool_input_lines(const lk_work_item *items, size_t count) {
    struct lk_buffer lines = {.max = 0};
    bool is_whole = true;
    int file = -1;

    for (size_t i = 0; i < count && is_whole; i++) {
        is_whole = add_line(&lines, items[i].claim);
    }
    if (is_whole) {
        file = make_file(lines.bytes, lines.size);
    } else {
        errno = ENOMEM;
    }
    int error = errno;
    lk_buffer_done(&lines);
    errno = error;
    return file;
}

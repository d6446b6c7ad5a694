/* SPDX-License-Identifier: Apache-2.0 */
/* Opened before anything is taken, so that a run whose report cannot be written does not begin. */
#include "cli/run/report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/print/say.h"
#include "cli/run/status.h"
#include "model/part.h"

enum {
    READER_PATIENCE_MS = 1000,
    FIRST_OF_CALLER = STDERR_FILENO + 1,
};

/* ---- opening --------------------------------------------------------------------------------- */

/* -1: it is no number of a descriptor. */
static int number_of(const char *target) {
    size_t digits = strspn(target, "0123456789");

    return digits > 0 && digits < 10 && target[digits] == '\0' ? atoi(target) : -1;
}

/* A copy that CMD does not inherit. Nor the descriptor itself, unless it is a standard one: what a
 * command leaves running would keep the pipe open, and its reader waiting for the end. */
static int open_inherited(int number) {
    int flags = fcntl(number, F_GETFL);

    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return -1;
    }
    int copy = fcntl(number, F_DUPFD_CLOEXEC, FIRST_OF_CALLER);
    if (copy >= 0 && number >= FIRST_OF_CALLER) {
        (void)close(number);
    }
    return copy;
}

lk_outcome lk_run_report_open(const char *target, int *ret_descriptor, lk_error *error) {
    int number = number_of(target);
    int descriptor = number >= 0
                         ? open_inherited(number)
                         : open(target, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);

    if (descriptor < 0) {
        bool is_right = errno == EACCES || errno == EPERM || errno == EROFS;

        return lk_error_set(error, is_right ? LK_DENIED : LK_INVALID,
                            "run: --report %.*s: cannot be written to: %s", LK_ERROR_TEXT_MAX / 2,
                            target, strerror(errno));
    }
    *ret_descriptor = descriptor;
    return LK_OK;
}

/* ---- the line -------------------------------------------------------------------------------- */

/* The first path, as the store has it, or if it has not been asked, as it is written. */
static void add_path(struct lk_form_writer *form, const struct lk_run_report *report) {
    struct lk_part part;

    if (report->result != NULL && report->result->path_count > 0) {
        lk_form_add_text(form, "path", report->result->paths[0]);
    } else if (lk_part_parse(lk_slice_of(report->request->parts[0]), NULL, &part, NULL) == LK_OK) {
        lk_form_add_slice(form, "path",
                          (struct lk_slice){.bytes = part.path.bytes, .size = part.path.size});
    }
}

static void add_tokens(struct lk_form_writer *form, const lk_result *result) {
    lk_form_add_count(form, "token", result->token);
    if (result->token_count > 0) { /* R14: one for each part */
        lk_form_open_array(form, "tokens");
        for (size_t i = 0; i < result->token_count; i++) {
            lk_form_add_count(form, NULL, result->tokens[i]);
        }
        lk_form_close(form);
    }
}

/* What there is to say of a lease, if there was one. */
static void add_lease(struct lk_form_writer *form, const struct lk_run_report *report) {
    if (report->granted_us != 0) {
        lk_form_add_number(form, "held_ms", (lk_clock_now_us() - report->granted_us) / 1000);
    }
    if (report->granted_us != 0 && report->result != NULL) {
        add_tokens(form, report->result);
        lk_form_add_boolean(form, "lost", report->is_lost);
    }
    if (report->why[0] != '\0') {
        lk_form_add_text(form, "why", report->why);
    }
    if (report->stays_ms > 0) {
        lk_form_add_number(form, "stays_ms", report->stays_ms);
    }
}

static void write_fields(struct lk_form_writer *form, const struct lk_run_report *report,
                         int exit_code) {
    lk_form_open_map(form, NULL);
    add_path(form, report);
    lk_form_add_texts(form, "parts", (char *const *)report->request->parts,
                      report->request->part_count);
    lk_form_add_text_if_any(form, "owner", report->request->owner);
    lk_form_add_text(form, "outcome", lk_outcome_name(report->outcome));
    lk_form_add_number(form, "waited_ms", report->waited_ms);
    add_lease(form, report);
    lk_form_add_number(form, "exit_code", exit_code);
    if (report->signal != 0) {
        lk_form_add_number(form, "signal", report->signal);
    }
    if (report->error[0] != '\0') {
        lk_form_add_text(form, "error", report->error);
    }
    lk_form_close(form);
}

static bool write_whole(int descriptor, const char *bytes, size_t size) {
    struct pollfd reader = {.fd = descriptor, .events = POLLOUT};

    while (size > 0) {
        if (poll(&reader, 1, READER_PATIENCE_MS) == 0) {
            errno = ETIMEDOUT;
            return false;
        }
        ssize_t written = write(descriptor, bytes, size);
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

void lk_run_report_write(const struct lk_run_report *report, int exit_code) {
    struct lk_object object;

    write_fields(lk_object_begin(&object), report, exit_code);
    lk_buffer_add_text(&object.bytes, "\n");
    if (lk_form_writer_failed(&object.form)) {
        lk_run_status("INTERNAL", "no memory for the report");
    } else if (!write_whole(report->descriptor, object.bytes.bytes, object.bytes.size)) {
        lk_run_status("WARNING", "the report could not be written: %s", strerror(errno));
    }
    lk_buffer_done(&object.bytes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines are written, how often, what they look like, and how they get to stderr. */
#include "server/log/log.h"

#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program.h"
#include "form/writer.h"

enum {
    KINDS_MAX = 32,          /* kinds beyond this number are counted as one */
    LINES_PER_INTERVAL = 10, /* of one kind */
    MESSAGE_BYTES_MAX = 512,
    LINE_BYTES_MAX = 4096, /* PIPE_BUF: lines of several processes in one pipe do not mix */
};

#define INTERVAL_US INT64_C(1000000)

struct kind {
    const char *name;
    int64_t since_us; /* when the present interval began; 0: no line yet */
    unsigned count;   /* lines in the present interval */
    uint64_t suppressed;
};

struct line {
    enum lk_log_level level;
    const char *kind;
    const char *message;
    const struct lk_log_field *fields;
    size_t field_count;
};

/* ---- stderr ---------------------------------------------------------------------------------- */

/*
 * Writes to stderr without blocking. O_NONBLOCK must not be set on stderr itself, because other
 * processes may share its open file description. A pipe or a terminal is opened a second time,
 * which makes a description of its own. If it belongs to another user, as under sudo or in a
 * container, that is refused: a line is then written only while there is room for it, and another
 * process that fills the same pipe in that very moment can still block this one. A socket is
 * written with MSG_DONTWAIT. Anything else is a file, and a write to it waits for no reader.
 */
static struct {
    int descriptor; /* -1: not begun */
    bool is_socket;
    bool may_block; /* a pipe or a terminal that could not be opened again */
} output = {.descriptor = -1};

static void begin_output(void) {
    struct stat status;

    output.descriptor = STDERR_FILENO;
    output.is_socket = output.may_block = false;
    if (fstat(STDERR_FILENO, &status) == 0) {
        output.is_socket = S_ISSOCK(status.st_mode);
        if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
            int again = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
            output.descriptor = again >= 0 ? again : STDERR_FILENO;
            output.may_block = again < 0;
        }
    }
}

static void end_output(void) {
    if (output.descriptor > STDERR_FILENO) {
        (void)close(output.descriptor);
    }
    output.descriptor = -1;
}

/* In a pipe there is room for PIPE_BUF bytes then. */
static bool has_room(void) {
    struct pollfd descriptor = {.fd = output.descriptor, .events = POLLOUT};

    return poll(&descriptor, 1, 0) == 1 && (descriptor.revents & POLLOUT) != 0;
}

/* Whether the whole line was written. A partial line counts as lost. */
static bool write_bytes(const char *line, size_t size) {
    ssize_t written = -1;

    if (output.is_socket) {
        written = send(output.descriptor, line, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (!output.may_block || has_room()) {
        written = write(output.descriptor, line, size);
    }
    return written == (ssize_t)size;
}

/* ---- the logger ------------------------------------------------------------------------------ */

static struct {
    struct lk_log_options options;
    uint64_t dropped; /* lines lost since the last one that was written */
    struct kind kinds[KINDS_MAX];
} logger;

static void on_libevent(int severity, const char *text) {
    if (severity >= EVENT_LOG_WARN) {
        lk_log(LK_LOG_WARNING, "libevent", "%s", text);
    }
}

void lk_log_begin(const struct lk_log_options *options) {
    logger.options = *options;
    begin_output();
    event_set_log_callback(on_libevent);
}

void lk_log_change(const struct lk_log_options *options) {
    logger.options = *options;
}

bool lk_log_has(enum lk_log_level level) {
    return level <= logger.options.level;
}

/* ---- what a line looks like ------------------------------------------------------------------ */

/* Control characters of a message would end the line, or change a terminal. */
static void add_printable(struct lk_buffer *out, const char *text) {
    for (; *text != '\0'; text++) {
        bool is_control = (unsigned char)*text < ' ' || *text == 0x7f;

        lk_buffer_add(out, is_control ? "?" : text, 1);
    }
}

static void put_text(struct lk_buffer *out, const struct line *line) {
    lk_buffer_add_text(out, lk_program());
    lk_buffer_add_text(out, " serve: ");
    lk_buffer_add_text(out, line->kind);
    lk_buffer_add_text(out, ": ");
    add_printable(out, line->message);
    for (size_t i = 0; i < line->field_count; i++) {
        lk_buffer_add_text(out, i == 0 ? " (" : " ");
        lk_buffer_add_text(out, line->fields[i].name);
        lk_buffer_add_text(out, "=");
        add_printable(out, line->fields[i].text);
    }
    lk_buffer_add_text(out, line->field_count > 0 ? ")\n" : "\n");
}

/* As in RFC 3339: UTC, in milliseconds. */
static void write_time(char *ret_text, size_t size) {
    int64_t wall_us = lk_clock_wall_us();
    time_t seconds = (time_t)(wall_us / 1000000);
    char whole[32] = "";
    struct tm parts;

    if (gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(whole, sizeof whole, "%Y-%m-%dT%H:%M:%S", &parts);
    }
    (void)snprintf(ret_text, size, "%s.%03dZ", whole, (int)(wall_us / 1000 % 1000));
}

static void put_json(struct lk_buffer *out, const struct line *line) {
    static const char *const levels[] = {"error", "warning", "info", "debug"};
    struct lk_form_writer form = lk_form_writer_json(out);
    char time[48];

    write_time(time, sizeof time);
    lk_form_open_map(&form, NULL);
    lk_form_add_text(&form, "time", time);
    lk_form_add_text(&form, "level", levels[line->level]);
    lk_form_add_text(&form, "kind", line->kind);
    lk_form_add_text(&form, "message", line->message);
    for (size_t i = 0; i < line->field_count; i++) {
        const struct lk_log_field *field = &line->fields[i];
        if (field->is_number) {
            lk_form_add_real(&form, field->name, strtod(field->text, NULL));
        } else {
            lk_form_add_text(&form, field->name, field->text);
        }
    }
    lk_form_close(&form);
    lk_buffer_add_text(out, "\n");
}

static bool write_line(const struct line *line) {
    struct lk_buffer out = {.max = LINE_BYTES_MAX};
    bool is_written;

    (logger.options.is_json ? put_json : put_text)(&out, line);
    is_written = !out.failed && write_bytes(out.bytes, out.size);
    lk_buffer_done(&out);
    return is_written;
}

/* ---- which lines are written ----------------------------------------------------------------- */

static void write_reporting_losses(const struct line *line) {
    char lost[MESSAGE_BYTES_MAX];
    const struct line losses = {.level = LK_LOG_WARNING, .kind = "stderr", .message = lost};

    if (logger.dropped > 0) {
        (void)snprintf(lost, sizeof lost, "%" PRIu64 " lines were dropped, as stderr was not read",
                       logger.dropped);
        if (!write_line(&losses)) {
            logger.dropped++;
            return;
        }
    }
    logger.dropped = 0;
    logger.dropped += !write_line(line);
}

static void log_suppressed(struct kind *kind, enum lk_log_level level) {
    char message[MESSAGE_BYTES_MAX];
    const struct line line = {.level = level, .kind = kind->name, .message = message};

    (void)snprintf(message, sizeof message, "%" PRIu64 " more of these were suppressed",
                   kind->suppressed);
    kind->suppressed = 0;
    write_reporting_losses(&line);
}

static struct kind *find_kind(const char *name) {
    size_t i = 0;

    while (i + 1 < KINDS_MAX && logger.kinds[i].name != NULL
           && strcmp(logger.kinds[i].name, name) != 0) {
        i++;
    }
    logger.kinds[i].name = name;
    return &logger.kinds[i];
}

/* Whether one more line of this kind may be written now. */
static bool may_write(struct kind *kind, enum lk_log_level level) {
    int64_t now_us = lk_clock_now_us();

    if (kind->since_us == 0 || now_us - kind->since_us >= INTERVAL_US) {
        kind->since_us = now_us;
        kind->count = 0;
        if (kind->suppressed > 0) {
            log_suppressed(kind, level);
        }
    }
    if (kind->count == LINES_PER_INTERVAL) {
        kind->suppressed++;
        return false;
    }
    kind->count++;
    return true;
}

void lk_log_fields(enum lk_log_level level, const char *kind, const struct lk_log_field *fields,
                   size_t field_count, const char *format, ...) {
    char message[MESSAGE_BYTES_MAX];
    const struct line line = {.level = level,
                              .kind = kind,
                              .message = message,
                              .fields = fields,
                              .field_count = field_count};
    va_list arguments;

    if (!lk_log_has(level) || !may_write(find_kind(kind), level)) {
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    write_reporting_losses(&line);
}

void lk_log_end(void) {
    for (size_t i = 0; i < KINDS_MAX; i++) {
        if (logger.kinds[i].suppressed > 0) {
            log_suppressed(&logger.kinds[i], LK_LOG_WARNING);
        }
        logger.kinds[i] = (struct kind){.name = NULL};
    }
    event_set_log_callback(NULL);
    end_output();
    logger.dropped = 0;
}

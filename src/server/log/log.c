/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines are written, how often, and what they look like. output.c writes them. */
#include "server/log/log.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "form/writer.h"
#include "server/log/output.h"

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
    lk_log_output_begin();
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
    lk_buffer_add_text(out, "lk serve: ");
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
    is_written = !out.failed && lk_log_output_write(out.bytes, out.size);
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
    lk_log_output_end();
    logger.dropped = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses requests for a server: arrays of bulks, and lines of words. And lines of both directions.
 */
#include "base/text.h"
#include "wire/resp.h"

/* ---- lines and numbers ----------------------------------------------------------------------- */

enum { PLAIN_DIGITS_MAX = 9 };

enum lk_resp_step lk_resp_line(struct lk_slice input, size_t at, size_t max,
                               struct lk_slice *ret_line, size_t *ret_end) {
    size_t end = input.size - at < max ? input.size : at + max;

    for (size_t i = at; i < end; i++) {
        char byte = input.bytes[i];
        if (byte == '\n') {
            return LK_RESP_BAD;
        }
        if (byte != '\r') {
            continue;
        }
        if (i + 1 == input.size) {
            return LK_RESP_MORE;
        }
        if (input.bytes[i + 1] != '\n') {
            return LK_RESP_BAD;
        }
        *ret_line = (struct lk_slice){.bytes = input.bytes + at, .size = i - at};
        *ret_end = i + 2;
        return LK_RESP_DONE;
    }
    return input.size - at < max ? LK_RESP_MORE : LK_RESP_BAD;
}

enum lk_resp_step lk_resp_header(struct lk_slice input, size_t at, int64_t *ret_number,
                                 size_t *ret_end) {
    size_t end = at + 1;
    int64_t number = 0;
    struct lk_slice line;
    enum lk_resp_step step;

    while (end < input.size && end - at <= PLAIN_DIGITS_MAX && input.bytes[end] >= '0'
           && input.bytes[end] <= '9') {
        number = number * 10 + (input.bytes[end++] - '0');
    }
    if (end > at + 1 && input.size - end >= 2 && input.bytes[end] == '\r'
        && input.bytes[end + 1] == '\n') {
        *ret_number = number;
        *ret_end = end + 2;
        return LK_RESP_DONE;
    }
    /* An incomplete line, a sign, too many digits, or no header. */
    step = lk_resp_line(input, at, LK_RESP_HEADER_BYTES_MAX, &line, ret_end);
    if (step == LK_RESP_DONE) {
        line.bytes++;
        line.size--;
        step = lk_resp_number_parse(line, ret_number) ? LK_RESP_DONE : LK_RESP_BAD;
    }
    return step;
}

bool lk_resp_number_parse(struct lk_slice text, int64_t *ret_number) {
    bool is_negative = text.size > 0 && text.bytes[0] == '-';
    size_t at = is_negative ? 1 : 0;
    uint64_t bound = (uint64_t)INT64_MAX + (is_negative ? 1 : 0);
    uint64_t number = 0;

    if (at == text.size) {
        return false;
    }
    for (; at < text.size; at++) {
        unsigned digit = (unsigned)(unsigned char)text.bytes[at] - '0';
        if (digit > 9 || number > (bound - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *ret_number = is_negative ? (int64_t)-number : (int64_t)number;
    return true;
}

enum { LINE_END_BYTES = 2 };

static enum lk_resp_step fail(struct lk_resp_request *request, const char *error) {
    request->error = error;
    return LK_RESP_BAD;
}

static enum lk_resp_step wait_for(struct lk_resp_request *request, size_t size) {
    request->size = size;
    return LK_RESP_MORE;
}

/* ---- arrays of bulks ------------------------------------------------------------------------- */

/* The number after the type byte of a header at *at, which advances past the header. */
static enum lk_resp_step read_header(struct lk_slice input, size_t *at, int64_t *ret_number,
                                     struct lk_resp_request *request, const char *error) {
    switch (lk_resp_header(input, *at, ret_number, at)) {
    case LK_RESP_DONE:
        return LK_RESP_DONE;
    case LK_RESP_MORE:
        return wait_for(request, input.size + 1);
    default:
        return fail(request, error);
    }
}

/* One argument at *at, which advances past it. */
static enum lk_resp_step read_argument(struct lk_slice input, size_t *at, size_t bytes_max,
                                       struct lk_resp_request *request) {
    int64_t size;
    size_t from = *at;
    enum lk_resp_step step;

    if (from == input.size) {
        return wait_for(request, from + 1);
    }
    if (input.bytes[from] != '$') {
        return fail(request, "Protocol error: expected '$'");
    }
    step = read_header(input, &from, &size, request, "Protocol error: invalid bulk length");
    if (step != LK_RESP_DONE) {
        return step;
    }
    if (size < 0) {
        return fail(request, "Protocol error: invalid bulk length");
    }
    if (from > bytes_max || (uint64_t)size > bytes_max - from) {
        return fail(request, "Protocol error: request too large");
    }
    if (input.size - from < (size_t)size + LINE_END_BYTES) {
        return wait_for(request, from + (size_t)size + LINE_END_BYTES);
    }
    if (memcmp(input.bytes + from + size, "\r\n", LINE_END_BYTES) != 0) {
        return fail(request, "Protocol error: expected CR LF after a bulk");
    }
    request->arguments[request->argument_count++] =
        (struct lk_slice){.bytes = input.bytes + from, .size = (size_t)size};
    *at = from + (size_t)size + LINE_END_BYTES;
    return LK_RESP_DONE;
}

static enum lk_resp_step parse_array(struct lk_slice input, const struct lk_resp_bounds *bounds,
                                     struct lk_resp_request *request) {
    int64_t count;
    size_t at = 0;
    enum lk_resp_step step =
        read_header(input, &at, &count, request, "Protocol error: invalid multibulk length");

    if (step != LK_RESP_DONE) {
        return step;
    }
    if (count > (int64_t)bounds->arguments_max) {
        return fail(request, "Protocol error: too many arguments");
    }
    while ((int64_t)request->argument_count < count) {
        step = read_argument(input, &at, bounds->request_bytes_max, request);
        if (step != LK_RESP_DONE) {
            return step;
        }
    }
    request->size = at;
    return LK_RESP_DONE;
}

/* ---- lines of words -------------------------------------------------------------------------- */

/* The words of a line, unquoted into `text`. */
struct words {
    const char *at;
    const char *end;
    char *text; /* the next byte to write */
    bool failed;
};

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\0' || byte == '\v'
           || byte == '\f';
}

/* Reads the escape after a backslash within double quotes. */
static void read_escape(struct words *words) {
    static const char letters[] = "nrtba";
    static const char meanings[] = "\n\r\t\b\a";
    const char *letter;

    if (words->end - words->at >= 3 && words->at[0] == 'x' && lk_hexadecimal(words->at[1]) >= 0
        && lk_hexadecimal(words->at[2]) >= 0) {
        *words->text++ = (char)(lk_hexadecimal(words->at[1]) * 16 + lk_hexadecimal(words->at[2]));
        words->at += 3;
        return;
    }
    letter = words->at[0] != '\0' ? strchr(letters, words->at[0]) : NULL;
    *words->text++ = letter != NULL ? meanings[letter - letters] : words->at[0];
    words->at++;
}

/* Reads from after an opening quote to after the closing one, which must end the word. */
static void read_quoted(struct words *words, char quote) {
    while (words->at < words->end && *words->at != quote) {
        bool is_escaped = *words->at == '\\' && words->end - words->at >= 2;
        if (is_escaped && quote == '"') {
            words->at++;
            read_escape(words);
        } else if (is_escaped && words->at[1] == '\'') {
            *words->text++ = '\'';
            words->at += 2;
        } else {
            *words->text++ = *words->at++;
        }
    }
    if (words->at == words->end) {
        words->failed = true;
        return;
    }
    words->at++;
    words->failed = words->at < words->end && !is_blank(*words->at);
}

static struct lk_slice read_word(struct words *words) {
    struct lk_slice word = {.bytes = words->text};

    while (!words->failed && words->at < words->end && !is_blank(*words->at)) {
        char byte = *words->at++;
        if (byte == '"' || byte == '\'') {
            read_quoted(words, byte);
        } else {
            *words->text++ = byte;
        }
    }
    word.size = (size_t)(words->text - word.bytes);
    return word;
}

/*
 * A line typed at a terminal has no control bytes. Lines smuggled from another protocol, and TLS
 * itself, have some. Checked before the line has ended, because it may never end.
 */
static bool is_typed(struct lk_slice line) {
    for (size_t i = 0; i < line.size; i++) {
        unsigned char byte = (unsigned char)line.bytes[i];
        if ((byte < ' ' && byte != '\t' && byte != '\r') || byte == 0x7f) {
            return false;
        }
    }
    return true;
}

static enum lk_resp_step parse_inline(struct lk_slice input, const struct lk_resp_bounds *bounds,
                                      struct lk_resp_request *request) {
    size_t max = bounds->request_bytes_max < LK_RESP_INLINE_BYTES_MAX ? bounds->request_bytes_max
                                                                      : LK_RESP_INLINE_BYTES_MAX;
    const char *end = memchr(input.bytes, '\n', input.size < max ? input.size : max);
    struct words words = {.at = input.bytes, .end = end, .text = request->text};
    size_t seen = input.size < max ? input.size : max;
    size_t size = end != NULL ? (size_t)(end - input.bytes) : seen;

    if (!is_typed((struct lk_slice){input.bytes, size})) {
        return fail(request, "Protocol error: control bytes in an inline request; is it TLS?");
    }
    if (end == NULL) {
        return input.size < max ? wait_for(request, input.size + 1)
                                : fail(request, "Protocol error: too big inline request");
    }
    request->is_inline = true;
    request->size = (size_t)(end - input.bytes) + 1;
    for (;;) {
        while (words.at < words.end && is_blank(*words.at)) {
            words.at++;
        }
        if (words.at == words.end) {
            return LK_RESP_DONE;
        }
        if (request->argument_count == bounds->arguments_max) {
            return fail(request, "Protocol error: too many arguments");
        }
        request->arguments[request->argument_count++] = read_word(&words);
        if (words.failed) {
            return fail(request, "Protocol error: unbalanced quotes in request");
        }
    }
}

enum lk_resp_step lk_resp_request_parse(struct lk_slice input, const struct lk_resp_bounds *bounds,
                                        struct lk_resp_request *request) {
    request->argument_count = 0;
    request->is_inline = false;
    request->error = NULL;
    if (input.size == 0) {
        return wait_for(request, 1);
    }
    return input.bytes[0] == '*' ? parse_array(input, bounds, request)
                                 : parse_inline(input, bounds, request);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses replies for a client. One value is read at a time; an aggregate only says how many values
 * follow, so no depth of nesting needs a stack.
 */
#include "wire/resp.h"

enum {
    LINE_BYTES_MAX = 64 * 1024, /* simple strings and errors */
    COUNT_MAX = 1 << 28,        /* values of one aggregate */
    VERBATIM_FORMAT_BYTES = 4,  /* "txt:" */
};

/* A value, and its effect on the walk. */
struct token {
    struct lk_resp_value value;
    size_t end;        /* after its last byte */
    size_t following;  /* values inside it */
    bool is_attribute; /* an attribute, not a value */
    const char *error;
};

static enum lk_resp_step fail(struct token *token, const char *error) {
    token->error = error;
    return LK_RESP_BAD;
}

/* Reads a value with a byte count: a bulk, an error or a verbatim string. */
static enum lk_resp_step read_counted(struct lk_slice input, char type, int64_t size,
                                      size_t bytes_max, struct token *token) {
    size_t from = token->end;

    if (size == -1 && type == '$') {
        token->value.kind = LK_RESP_NULL;
        return LK_RESP_DONE;
    }
    if (size < 0 || (uint64_t)size > bytes_max) {
        return fail(token, "invalid string length");
    }
    if (input.size - from < (size_t)size + 2) {
        return LK_RESP_MORE;
    }
    if (memcmp(input.bytes + from + size, "\r\n", 2) != 0) {
        return fail(token, "a string without CR LF after its bytes");
    }
    token->value.kind = type == '!' ? LK_RESP_ERROR : LK_RESP_BULK;
    token->value.text = (struct lk_slice){.bytes = input.bytes + from, .size = (size_t)size};
    token->end = from + (size_t)size + 2;
    if (type == '=') {
        if (size < VERBATIM_FORMAT_BYTES) {
            return fail(token, "a verbatim string without its format");
        }
        token->value.text.bytes += VERBATIM_FORMAT_BYTES;
        token->value.text.size -= VERBATIM_FORMAT_BYTES;
    }
    return LK_RESP_DONE;
}

static enum lk_resp_step read_aggregate(char type, int64_t count, struct token *token) {
    bool is_paired = type == '%' || type == '|';

    if (count == -1 && type == '*') {
        token->value.kind = LK_RESP_NULL;
        return LK_RESP_DONE;
    }
    if (count < 0 || count > COUNT_MAX) {
        return fail(token, "invalid aggregate count");
    }
    token->value.kind = is_paired ? LK_RESP_MAP : type == '>' ? LK_RESP_PUSH : LK_RESP_ARRAY;
    token->value.count = (size_t)count;
    token->following = (size_t)count * (is_paired ? 2 : 1);
    token->is_attribute = type == '|';
    return LK_RESP_DONE;
}

/* Reads a value that is complete with its line, or a type that is not known. */
static enum lk_resp_step read_plain(char type, struct lk_slice line, struct token *token) {
    token->value.text = line;
    switch (type) {
    case '+':
        token->value.kind = LK_RESP_SIMPLE;
        return LK_RESP_DONE;
    case '-':
        token->value.kind = LK_RESP_ERROR;
        return LK_RESP_DONE;
    case ',':
    case '(':
        token->value.kind = LK_RESP_DOUBLE;
        return line.size > 0 ? LK_RESP_DONE : fail(token, "a number without digits");
    case '_':
        token->value.kind = LK_RESP_NULL;
        return line.size == 0 ? LK_RESP_DONE : fail(token, "a null with a value");
    case '#':
        if (line.size != 1 || (line.bytes[0] != 't' && line.bytes[0] != 'f')) {
            return fail(token, "invalid boolean");
        }
        token->value.kind = LK_RESP_BOOLEAN;
        token->value.number = line.bytes[0] == 't';
        return LK_RESP_DONE;
    default:
        return fail(token, "unknown type");
    }
}

static enum lk_resp_step read_token(struct lk_slice input, size_t at, size_t bytes_max,
                                    struct token *token) {
    struct lk_slice line;
    enum lk_resp_step step;
    int64_t number;
    char type;

    *token = (struct token){.end = at};
    step = lk_resp_line(input, at, LINE_BYTES_MAX, &line, &token->end);
    if (step != LK_RESP_DONE) {
        return step == LK_RESP_BAD ? fail(token, "a line without CR LF") : step;
    }
    if (line.size == 0) {
        return fail(token, "unknown type");
    }
    type = line.bytes[0];
    line.bytes++;
    line.size--;
    if (strchr(":$!=*%~>|", type) == NULL || type == '\0') {
        return read_plain(type, line, token);
    }
    if (!lk_resp_number_parse(line, &number)) {
        return fail(token, "invalid number");
    }
    if (type == ':') {
        token->value.kind = LK_RESP_NUMBER;
        token->value.number = number;
        return LK_RESP_DONE;
    }
    return strchr("$!=", type) != NULL ? read_counted(input, type, number, bytes_max, token)
                                       : read_aggregate(type, number, token);
}

enum lk_resp_step lk_resp_reply_measure(struct lk_slice input, size_t bytes_max,
                                        struct lk_resp_measure *measure) {
    struct token token;

    if (!measure->has_begun) {
        measure->has_begun = true;
        measure->missing = 1;
    }
    while (measure->missing > 0) {
        enum lk_resp_step step = read_token(input, measure->size, bytes_max, &token);
        if (step == LK_RESP_BAD) {
            measure->error = token.error;
            return LK_RESP_BAD;
        }
        if (step == LK_RESP_MORE && input.size < bytes_max) {
            return LK_RESP_MORE;
        }
        if (step == LK_RESP_MORE || token.end > bytes_max
            || token.following > bytes_max - measure->missing) {
            measure->error = "a reply that is too large";
            return LK_RESP_BAD;
        }
        measure->size = token.end;
        measure->missing += token.following;
        measure->missing -= token.is_attribute ? 0 : 1;
    }
    return LK_RESP_DONE;
}

/* Skips so many values with everything inside them. */
static void skip(struct lk_resp_cursor *cursor, size_t count) {
    struct token token;

    while (count > 0
           && read_token(cursor->reply, cursor->at, SIZE_MAX / 2, &token) == LK_RESP_DONE) {
        cursor->at = token.end;
        count += token.following;
        count -= token.is_attribute ? 0 : 1;
    }
}

bool lk_resp_cursor_next(struct lk_resp_cursor *cursor, struct lk_resp_value *ret_value) {
    struct token token;

    while (cursor->at < cursor->reply.size
           && read_token(cursor->reply, cursor->at, SIZE_MAX / 2, &token) == LK_RESP_DONE) {
        cursor->at = token.end;
        if (!token.is_attribute) {
            *ret_value = token.value;
            return true;
        }
        skip(cursor, token.following);
    }
    return false;
}

void lk_resp_cursor_skip(struct lk_resp_cursor *cursor, const struct lk_resp_value *value) {
    if (value->kind == LK_RESP_ARRAY || value->kind == LK_RESP_PUSH) {
        skip(cursor, value->count);
    } else if (value->kind == LK_RESP_MAP) {
        skip(cursor, value->count * 2);
    }
}

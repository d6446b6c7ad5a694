/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the named parameters of a statement. */
#include "engine/procedures/statement.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"

enum { REPLACEMENT_BYTES_MAX = 128 };

static const char what[] = "R17: the --done statement";

static const char *const names[LK_PARAMETER_COUNT] = {"id", "token", "owner", "attempt"};

static bool is_word(char byte) {
    return isalnum((unsigned char)byte) || byte == '_' || (unsigned char)byte >= 0x80;
}

static size_t word_size(struct lk_slice sql, size_t at) {
    size_t end = at;

    while (end < sql.size && is_word(sql.bytes[end])) {
        end++;
    }
    return end - at;
}

static bool stands_at(struct lk_slice sql, size_t at, const char *text) {
    size_t size = strlen(text);

    return sql.size - at >= size && memcmp(sql.bytes + at, text, size) == 0;
}

/* ---- what is passed over --------------------------------------------------------------------- */

/* Where a quoted piece ends. A doubled quote begins another one at once, which is as good. */
static size_t end_of_quotes(struct lk_slice sql, size_t at, bool has_backslashes) {
    char quote = sql.bytes[at++];

    while (at < sql.size && sql.bytes[at] != quote) {
        at += has_backslashes && sql.bytes[at] == '\\' ? 2 : 1;
    }
    return at < sql.size ? at + 1 : sql.size;
}

static size_t end_of_line(struct lk_slice sql, size_t at) {
    const char *end = memchr(sql.bytes + at, '\n', sql.size - at);

    return end != NULL ? (size_t)(end - sql.bytes) : sql.size;
}

static size_t end_of_comment(struct lk_slice sql, size_t at, bool nests) {
    size_t depth = 1;

    for (at += 2; at < sql.size && depth > 0;) {
        if (stands_at(sql, at, "*/")) {
            depth--;
            at += 2;
        } else if (nests && stands_at(sql, at, "/*")) {
            depth++;
            at += 2;
        } else {
            at++;
        }
    }
    return at;
}

/* $tag$ ... $tag$; `at` where it is none. */
static size_t end_of_dollars(struct lk_slice sql, size_t at) {
    size_t tag_size = word_size(sql, at + 1) + 2;

    if (isdigit((unsigned char)sql.bytes[at + 1 < sql.size ? at + 1 : at])
        || at + tag_size > sql.size || sql.bytes[at + tag_size - 1] != '$') {
        return at;
    }
    const char *body = sql.bytes + at + tag_size;
    const char *end = memmem(body, sql.size - at - tag_size, sql.bytes + at, tag_size);
    return end != NULL ? (size_t)(end - sql.bytes) + tag_size : sql.size;
}

/* The end of a piece that has no parameters in it; `at`: none begins here. */
static size_t end_of_piece(struct lk_slice sql, size_t at, const struct lk_dialect *dialect) {
    char byte = sql.bytes[at];

    if (is_word(byte)) {
        size_t end = at + word_size(sql, at);
        bool is_escape = end - at == 1 && (byte == 'E' || byte == 'e');

        return is_escape && end < sql.size && sql.bytes[end] == '\'' ? end_of_quotes(sql, end, true)
                                                                     : end;
    }
    if (byte == '\'' || byte == '"' || (byte == '`' && dialect->has_backticks)) {
        return end_of_quotes(sql, at, dialect->has_backslashes && byte != '`');
    }
    if (stands_at(sql, at, "/*")) {
        return end_of_comment(sql, at, dialect->nests_comments);
    }
    if (stands_at(sql, at, "--") || (byte == '#' && dialect->has_backticks)) {
        return end_of_line(sql, at);
    }
    if (byte == '$' && dialect->has_dollars) {
        return end_of_dollars(sql, at);
    }
    return stands_at(sql, at, "::") ? at + 2 : at;
}

/* ---- the first word -------------------------------------------------------------------------- */

static size_t skip_blanks(struct lk_slice sql, const struct lk_dialect *dialect) {
    size_t at = 0;

    while (at < sql.size) {
        char byte = sql.bytes[at];
        size_t end = at + (isspace((unsigned char)byte) || byte == '(' ? 1 : 0);

        if (end == at && (byte == '-' || byte == '/' || byte == '#')) {
            end = end_of_piece(sql, at, dialect);
        }
        if (end == at) {
            break;
        }
        at = end;
    }
    return at;
}

static lk_outcome check_first_word(struct lk_slice sql, const struct lk_dialect *dialect,
                                   lk_error *error) {
    static const char *const allowed[] = {"insert", "update", "delete", "merge", "replace",
                                          "with",   "select", "values", "call"};
    size_t at = skip_blanks(sql, dialect);
    size_t size = word_size(sql, at);

    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (strlen(allowed[i]) == size && strncasecmp(sql.bytes + at, allowed[i], size) == 0) {
            return LK_OK;
        }
    }
    if (at == sql.size) {
        return lk_error_set(error, LK_INVALID, "%s: it is empty", what);
    }
    return lk_error_set(error, LK_INVALID,
                        "%s: it must change rows: neither transactions, nor the schema, nor the "
                        "session (it begins with %.*s)",
                        what, (int)(size < 32 ? size : 32), sql.bytes + at);
}

/* ---- all together ---------------------------------------------------------------------------- */

/* The parameter whose name follows a colon; LK_PARAMETER_COUNT: none. */
static enum lk_parameter parameter_at(struct lk_slice sql, size_t at) {
    size_t size = word_size(sql, at);
    int which = 0;

    while (which < LK_PARAMETER_COUNT
           && (strlen(names[which]) != size || memcmp(names[which], sql.bytes + at, size) != 0)) {
        which++;
    }
    return (enum lk_parameter)which;
}

static lk_outcome add_parameter(struct lk_slice sql, size_t at, const struct lk_dialect *dialect,
                                struct lk_statement *statement, struct lk_text *text,
                                lk_error *error) {
    enum lk_parameter which = parameter_at(sql, at + 1);

    if (which == LK_PARAMETER_COUNT) {
        return lk_error_set(error, LK_INVALID,
                            "%s: it knows :id, :token, :owner and :attempt alone", what);
    }
    if (statement->count == LK_STATEMENT_PARAMETERS_MAX) {
        return lk_error_set(error, LK_INVALID, "%s: it has more than %d parameters", what,
                            LK_STATEMENT_PARAMETERS_MAX);
    }
    lk_text_format(text, "%s", dialect->replacements[which]);
    statement->parameters[statement->count++] = which;
    return LK_OK;
}

/* Only blanks and comments may follow a semicolon. */
static bool is_last(struct lk_slice sql, size_t at, const struct lk_dialect *dialect) {
    struct lk_slice rest = {sql.bytes + at, sql.size - at};

    return skip_blanks(rest, dialect) == rest.size;
}

static lk_outcome translate(struct lk_slice sql, const struct lk_dialect *dialect,
                            struct lk_statement *statement, struct lk_text *text, lk_error *error) {
    for (size_t at = 0; at < sql.size;) {
        size_t end = end_of_piece(sql, at, dialect);
        bool is_parameter =
            end == at && sql.bytes[at] == ':' && at + 1 < sql.size
            && (isalpha((unsigned char)sql.bytes[at + 1]) || sql.bytes[at + 1] == '_');

        if (is_parameter) {
            lk_outcome outcome = add_parameter(sql, at, dialect, statement, text, error);
            if (outcome != LK_OK) {
                return outcome;
            }
            at += 1 + word_size(sql, at + 1);
            continue;
        }
        if (sql.bytes[at] == ';') {
            return is_last(sql, at + 1, dialect)
                       ? LK_OK
                       : lk_error_set(error, LK_INVALID, "%s: it is more than one statement", what);
        }
        end = end > at ? end : at + 1;
        end = end < sql.size ? end : sql.size;
        lk_text_add(text, (struct lk_slice){sql.bytes + at, end - at});
        at = end;
    }
    return LK_OK;
}

lk_outcome lk_statement_make(struct lk_slice sql, const struct lk_dialect *dialect,
                             struct lk_statement *ret_statement, lk_error *error) {
    struct lk_statement statement = {.count = 0};
    size_t capacity = sql.size + LK_STATEMENT_PARAMETERS_MAX * REPLACEMENT_BYTES_MAX + 1;
    struct lk_text text;
    lk_outcome outcome = check_first_word(sql, dialect, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    statement.text = malloc(capacity);
    if (statement.text == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a statement");
    }
    text = lk_text_in(statement.text, capacity);
    outcome = translate(sql, dialect, &statement, &text, error);
    if (outcome != LK_OK) {
        free(statement.text);
        return outcome;
    }
    *ret_statement = statement;
    return LK_OK;
}

bool lk_statement_is_call(const struct lk_statement *statement) {
    return strncasecmp(statement->text + strspn(statement->text, " \t\r\n("), "call", 4) == 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Parses users, line by line and field by field. */
#include "access/users_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/program.h"
#include "base/text.h"

enum { LINE_BYTES_MAX = 64 * 1024 };

static const char token_word[] = "token:";
static const char certificate_word[] = "certificate";

/* ---- names and ends -------------------------------------------------------------------------- */

bool lk_user_name_is_valid(struct lk_slice name) {
    for (size_t i = 0; i < name.size; i++) {
        char byte = name.bytes[i];

        if (!(byte >= 'a' && byte <= 'z') && !(byte >= 'A' && byte <= 'Z')
            && !(byte >= '0' && byte <= '9') && (byte == '\0' || strchr("._@-", byte) == NULL)) {
            return false;
        }
    }
    return name.size > 0 && name.size <= LK_USER_BYTES_MAX && name.bytes[0] != '-';
}

void lk_token_end_write(int64_t until_s, char ret_text[LK_TOKEN_END_BYTES]) {
    time_t end = until_s;
    struct tm fields = {.tm_year = 0};

    (void)gmtime_r(&end, &fields);
    if (strftime(ret_text, LK_TOKEN_END_BYTES, "%Y-%m-%dT%H:%M:%SZ", &fields) == 0) {
        ret_text[0] = '\0';
    }
}

bool lk_token_end_parse(struct lk_slice text, int64_t *ret_until_s) {
    char copy[LK_TOKEN_END_BYTES];
    char again[LK_TOKEN_END_BYTES];
    struct tm fields = {.tm_year = 0};

    if (text.size != sizeof copy - 1) {
        return false;
    }
    memcpy(copy, text.bytes, text.size);
    copy[text.size] = '\0';
    if (strptime(copy, "%Y-%m-%dT%H:%M:%SZ", &fields) == NULL) {
        return false;
    }
    *ret_until_s = timegm(&fields);
    lk_token_end_write(*ret_until_s, again);
    return *ret_until_s > 0 && strcmp(copy, again) == 0; /* there is no 31st of February */
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* Takes the text up to the separator off the front of *rest. */
static struct lk_slice take_piece(struct lk_slice *rest, char separator) {
    const char *end = rest->size > 0 ? memchr(rest->bytes, separator, rest->size) : NULL;
    struct lk_slice piece = {rest->bytes, end != NULL ? (size_t)(end - rest->bytes) : rest->size};
    size_t taken = piece.size + (end != NULL);

    *rest = (struct lk_slice){rest->bytes + taken, rest->size - taken};
    return piece;
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* The next field of a line; empty at its end. */
static struct lk_slice take_field(struct lk_slice *rest) {
    struct lk_slice field;

    while (rest->size > 0 && is_blank(rest->bytes[0])) {
        rest->bytes++;
        rest->size--;
    }
    field = (struct lk_slice){rest->bytes, 0};
    while (field.size < rest->size && !is_blank(rest->bytes[field.size])) {
        field.size++;
    }
    rest->bytes += field.size;
    rest->size -= field.size;
    return field;
}

static bool parse_digest(struct lk_slice text, unsigned char ret_digest[LK_DIGEST_BYTES]) {
    if (text.size != (size_t)2 * LK_DIGEST_BYTES) {
        return false;
    }
    for (size_t i = 0; i < LK_DIGEST_BYTES; i++) {
        int high = lk_hexadecimal(text.bytes[2 * i]);
        int low = lk_hexadecimal(text.bytes[2 * i + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        ret_digest[i] = (unsigned char)(high * 16 + low);
    }
    return true;
}

static lk_outcome parse_token(struct lk_slice text, struct lk_user_secret *secret,
                              lk_error *error) {
    struct lk_slice digest = take_piece(&text, ':');

    secret->kind = LK_SECRET_TOKEN;
    if (!parse_digest(digest, secret->digest)) {
        return lk_error_set(error, LK_INVALID,
                            "a token is written as token: and the %d hexadecimal digits of its "
                            "digest; make one by %s passwd --token",
                            2 * LK_DIGEST_BYTES, lk_program());
    }
    if (text.size > 0 && !lk_token_end_parse(text, &secret->until_s)) {
        return lk_error_set(error, LK_INVALID,
                            "the end of a token is written as 2027-01-31T00:00:00Z");
    }
    return LK_OK;
}

/* A hash begins with its method, and has none of the characters that crypt(5) rules out. */
static bool is_hash(struct lk_slice text) {
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] <= ' ' || text.bytes[i] > '~'
            || strchr(":;*!\\", text.bytes[i]) != NULL) {
            return false;
        }
    }
    return text.size > 3 && text.size <= LK_PASSWORD_HASH_BYTES_MAX && text.bytes[0] == '$';
}

static lk_outcome parse_secret(struct lk_slice text, struct lk_user_secret *secret,
                               lk_error *error) {
    size_t size = sizeof token_word - 1;

    *secret = (struct lk_user_secret){.text = text};
    if (text.size >= size && memcmp(text.bytes, token_word, size) == 0) {
        return parse_token((struct lk_slice){text.bytes + size, text.size - size}, secret, error);
    }
    if (lk_slice_equal(text, lk_slice_of(certificate_word))) {
        secret->kind = LK_SECRET_CERTIFICATE;
        return LK_OK;
    }
    if (!is_hash(text)) {
        return lk_error_set(error, LK_INVALID,
                            "the second field is no hash of a password; make one by %s passwd, or "
                            "write certificate, or - for none",
                            lk_program());
    }
    memcpy(secret->hash, text.bytes, text.size);
    return LK_OK;
}

static lk_outcome no_memory(lk_error *error) {
    return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

static lk_outcome parse_secrets(struct lk_slice text, struct lk_user_entry *entry,
                                lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (lk_slice_equal(text, lk_slice_of("-"))) {
        return LK_OK;
    }
    entry->secrets = calloc(LK_USER_SECRETS_MAX, sizeof *entry->secrets);
    if (entry->secrets == NULL) {
        return no_memory(error);
    }
    do {
        if (entry->secret_count == LK_USER_SECRETS_MAX) {
            return lk_error_set(error, LK_INVALID, "a user has at most %d secrets",
                                LK_USER_SECRETS_MAX);
        }
        outcome = parse_secret(take_piece(&text, ';'), &entry->secrets[entry->secret_count], error);
        entry->secret_count += outcome == LK_OK;
    } while (outcome == LK_OK && text.size > 0);
    return outcome;
}

static lk_outcome parse_rules(struct lk_slice text, struct lk_user_entry *entry, lk_error *error) {
    struct lk_rule *rules = NULL;
    struct lk_slice rest = text;
    struct lk_slice field;

    entry->rules_text = text;
    while ((field = take_field(&rest)).size > 0) {
        struct lk_rule rule;
        struct lk_rule *grown;
        lk_outcome outcome = lk_rule_parse(field, &rule, error);

        if (outcome == LK_OK && entry->rules.count == LK_USER_RULES_MAX) {
            outcome =
                lk_error_set(error, LK_INVALID, "a user has at most %d rules", LK_USER_RULES_MAX);
        }
        if (outcome != LK_OK) {
            return outcome;
        }
        grown = realloc(rules, (entry->rules.count + 1) * sizeof *rules);
        if (grown == NULL) {
            return no_memory(error);
        }
        rules = grown;
        rules[entry->rules.count++] = rule;
        entry->rules.rules = rules;
    }
    return LK_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static lk_outcome parse_name(struct lk_slice name, struct lk_user_entry *entry, lk_error *error) {
    if (!lk_user_name_is_valid(name)) {
        return lk_error_set(error, LK_INVALID,
                            "the name of a user is 1 to %d letters, digits, '.', '_', '@' or '-', "
                            "and does not begin with '-'",
                            LK_USER_BYTES_MAX);
    }
    memcpy(entry->name, name.bytes, name.size);
    return LK_OK;
}

static void entry_done(struct lk_user_entry *entry) {
    free(entry->secrets);
    free((void *)(uintptr_t)entry->rules.rules);
}

/* Makes room for one more entry: doubled each time that their number is a power of two. */
static bool reserve(struct lk_users_file *file) {
    struct lk_user_entry *entries = file->entries;

    if ((file->count & (file->count - 1)) == 0) {
        entries = realloc(entries, (file->count > 0 ? file->count * 2 : 1) * sizeof *entries);
        if (entries == NULL) {
            return false;
        }
        file->entries = entries;
    }
    return true;
}

static lk_outcome parse_line(struct lk_users_file *file, struct lk_slice line, unsigned number,
                             lk_error *error) {
    struct lk_user_entry entry = {.line = number};
    struct lk_slice name = take_field(&line);
    struct lk_slice secrets = take_field(&line);
    lk_outcome outcome;

    if (name.size == 0 || name.bytes[0] == '#') {
        return LK_OK;
    }
    if (file->count == LK_USERS_MAX) {
        return lk_error_set(error, LK_INVALID, "there are at most %d users", LK_USERS_MAX);
    }
    if (!reserve(file)) {
        return no_memory(error);
    }
    outcome = parse_name(name, &entry, error);
    if (outcome == LK_OK) {
        outcome = parse_secrets(secrets, &entry, error);
    }
    if (outcome == LK_OK) {
        outcome = parse_rules(line, &entry, error);
    }
    if (outcome == LK_OK) {
        file->entries[file->count++] = entry;
    } else {
        entry_done(&entry);
    }
    return outcome;
}

static lk_outcome parse_lines(struct lk_users_file *file, struct lk_slice rest, unsigned *ret_line,
                              lk_error *error) {
    lk_outcome outcome = LK_OK;

    while (outcome == LK_OK && rest.size > 0) {
        struct lk_slice line = take_piece(&rest, '\n');

        ++*ret_line;
        outcome =
            line.size > LINE_BYTES_MAX
                ? lk_error_set(error, LK_INVALID, "a line has at most %d bytes", LINE_BYTES_MAX)
                : parse_line(file, line, *ret_line, error);
    }
    return outcome;
}

static int compare_names(const void *a, const void *b) {
    const struct lk_user_entry *const *first = a;
    const struct lk_user_entry *const *second = b;
    int order = strcmp((*first)->name, (*second)->name);

    return order != 0 ? order : (*first)->line < (*second)->line ? -1 : 1;
}

/* No name twice: sorted, as there may be many. */
static lk_outcome check_names(const struct lk_users_file *file, unsigned *ret_line,
                              lk_error *error) {
    const struct lk_user_entry **sorted = calloc(file->count + 1, sizeof(*sorted));
    lk_outcome outcome = sorted != NULL ? LK_OK : no_memory(error);

    for (size_t i = 0; outcome == LK_OK && i < file->count; i++) {
        sorted[i] = &file->entries[i];
    }
    if (outcome == LK_OK) {
        qsort(sorted, file->count, sizeof(*sorted), compare_names);
    }
    for (size_t i = 1; outcome == LK_OK && i < file->count; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            *ret_line = sorted[i]->line;
            outcome = lk_error_set(error, LK_INVALID, "the user %s is in line %u already",
                                   sorted[i]->name, sorted[i - 1]->line);
        }
    }
    free(sorted);
    return outcome;
}

lk_outcome lk_users_file_parse(struct lk_slice text, struct lk_users_file **ret_file,
                               unsigned *ret_line, lk_error *error) {
    struct lk_users_file *file = calloc(1, sizeof *file);
    lk_outcome outcome;

    *ret_line = 0;
    if (file == NULL) {
        return no_memory(error);
    }
    if (text.size > LK_USERS_FILE_BYTES_MAX
        || (text.size > 0 && memchr(text.bytes, '\0', text.size) != NULL)) {
        outcome = lk_error_set(error, LK_INVALID,
                               "longer than %d bytes, or no text; this is no file of users",
                               LK_USERS_FILE_BYTES_MAX);
    } else {
        file->text = lk_text_copy(text);
        outcome = file->text != NULL
                      ? parse_lines(file, (struct lk_slice){file->text, text.size}, ret_line, error)
                      : no_memory(error);
    }
    if (outcome == LK_OK) {
        outcome = check_names(file, ret_line, error);
    }
    if (outcome != LK_OK) {
        lk_users_file_free(file);
        return outcome;
    }
    *ret_file = file;
    return LK_OK;
}

void lk_users_file_free(struct lk_users_file *file) {
    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < file->count; i++) {
        entry_done(&file->entries[i]);
    }
    free(file->entries);
    free(file->text);
    free(file);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Rules, users files and their changes, and which rights every command declares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* cmocka.h wants those above. */
#include <cmocka.h>

#include "access/identity.h"
#include "access/secrets.h"
#include "access/users.h"
#include "access/users_edit.h"
#include "command/command.h"
#include "command/rights.h"

#define DIGEST "c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2"

static struct lk_path path_of(const char *text) {
    struct lk_path path;
    lk_error error;

    assert_int_equal(lk_path_parse(lk_slice_of(text), &path, &error), LK_OK);
    return path;
}

static struct lk_users_file *parse(const char *text) {
    struct lk_users_file *file = NULL;
    unsigned line;
    lk_error error;

    assert_int_equal(lk_users_file_parse(lk_slice_of(text), &file, &line, &error), LK_OK);
    return file;
}

static bool may(const struct lk_users_file *file, enum lk_right right, const char *text) {
    struct lk_path path;

    if (text == NULL) {
        return lk_rules_allow(&file->entries[0].rules, right, NULL);
    }
    path = path_of(text);
    return lk_rules_allow(&file->entries[0].rules, right, &path);
}

static void rules_cover_whole_segments(void **state) {
    struct lk_users_file *file = parse("ana - lock,read:db/prod  put:db read:/log/\n");

    (void)state;
    assert_true(may(file, LK_RIGHT_LOCK, "db/prod"));
    assert_true(may(file, LK_RIGHT_LOCK, "/db/prod/t1"));
    assert_false(may(file, LK_RIGHT_LOCK, "db"));
    assert_false(may(file, LK_RIGHT_LOCK, "db/production"));
    assert_false(may(file, LK_RIGHT_LOCK, NULL));
    assert_true(may(file, LK_RIGHT_PUT, "db/x") && may(file, LK_RIGHT_READ, "log"));
    assert_false(may(file, LK_RIGHT_PUT, "log") || may(file, LK_RIGHT_BREAK, "db/prod"));
    assert_false(may(file, LK_RIGHT_UNDECLARED, "db") || may(file, LK_RIGHT_OPEN, "db"));
    assert_true(lk_rules_show(&file->entries[0].rules, "db/other"));
    assert_false(lk_rules_show(&file->entries[0].rules, "other"));
    assert_false(lk_rules_allow(NULL, LK_RIGHT_READ, NULL));
    lk_users_file_free(file);
    file = parse("ops - all:/");
    assert_true(may(file, LK_RIGHT_ADMIN, NULL) && may(file, LK_RIGHT_CLAIM, "any/where"));
    lk_users_file_free(file);
}

/* Paths without the right are passed over by as many steps as there are rules, in their order. */
static void a_list_passes_over_what_is_not_allowed(void **state) {
    static const char *const paths[] = {"a", "a-b", "a-c", "a/b", "a/b/c", "b", "b-x", "b/c", "c"};
    struct lk_users_file *file = parse("ana - read:b read:a/b put:c read:a-b\n");
    const struct lk_rules *rules = &file->entries[0].rules;
    char behind[LK_RULES_BEHIND_MAX];
    char shown[64] = "";
    size_t size = 0;
    int steps = 0;

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct lk_slice path = lk_slice_of(paths[i]);

        if (size > 0 && lk_slice_compare(path, (struct lk_slice){behind, size}) <= 0) {
            assert_false(lk_rules_allow_text(rules, LK_RIGHT_READ, paths[i]));
        } else if (lk_rules_allow_text(rules, LK_RIGHT_READ, paths[i])) {
            (void)strcat(strcat(shown, paths[i]), " ");
        } else {
            steps++;
            size = lk_rules_next(rules, LK_RIGHT_READ, path, behind);
        }
    }
    assert_string_equal(shown, "a-b a/b a/b/c b b/c ");
    assert_int_equal(steps, 4);
    assert_int_equal(size, 0); /* behind all of them */
    assert_int_equal(lk_rules_next(NULL, LK_RIGHT_READ, lk_slice_of("a"), behind), 0);
    lk_users_file_free(file);
}

static void files_are_read_with_their_lines(void **state) {
    struct lk_users_file *file =
        parse("# users\r\n\n  ana\t$y$j9T$a/b.c$D;token:" DIGEST ":2027-01-31T00:00:00Z  lock:a\r\n"
              "ben.b@x - \nc token:" DIGEST ";certificate");

    (void)state;
    assert_int_equal(file->count, 3);
    assert_string_equal(file->entries[0].name, "ana");
    assert_int_equal(file->entries[0].line, 3);
    assert_int_equal(file->entries[0].secret_count, 2);
    assert_string_equal(file->entries[0].secrets[0].hash, "$y$j9T$a/b.c$D");
    assert_int_equal(file->entries[0].secrets[1].kind, LK_SECRET_TOKEN);
    assert_int_equal(file->entries[0].secrets[1].until_s, 1801353600);
    assert_int_equal(file->entries[0].secrets[1].digest[0], 0xc3);
    assert_int_equal(file->entries[1].secret_count, 0);
    assert_int_equal(file->entries[1].rules.count, 0);
    assert_int_equal(file->entries[2].secrets[1].kind, LK_SECRET_CERTIFICATE);
    lk_users_file_free(file);
}

static void refused(const char *text, unsigned expected_line, const char *expected) {
    struct lk_users_file *file = NULL;
    unsigned line = 99;
    lk_error error;

    if (lk_users_file_parse(lk_slice_of(text), &file, &line, &error) == LK_OK
        || line != expected_line || strstr(error.text, expected) == NULL) {
        fail_msg("%s: line %u, %s", text, line, error.text);
    }
}

static void mistakes_are_named_without_secrets(void **state) {
    (void)state;
    refused("ana", 1, "no hash");
    refused("\nana plain lock:a", 2, "no hash");
    refused("ana $y$abc;; lock:a", 1, "no hash");
    refused("ana $y$abc:def lock:a", 1, "no hash");
    refused("a/b - lock:a", 1, "name of a user");
    refused("-a - lock:a", 1, "name of a user");
    refused("ana - lock", 1, "no rule");
    refused("ana - :a", 1, "no right");
    refused("ana - lock,:a", 1, "no right");
    refused("ana - LOCK:a", 1, "no right");
    refused("ana - lock:", 1, "prefix");
    refused("ana - lock:a//b", 1, "prefix");
    refused("ana - lock:a?shared", 1, "prefix");
    refused("ana token:" DIGEST ":2027-02-30T00:00:00Z lock:a", 1, "end of a token");
    refused("ana token:" DIGEST "0 lock:a", 1, "token");
    refused("b - \nana - \nana - ", 3, "line 2");
}

static void edit(const char *text, const struct lk_users_edit *change, lk_outcome outcome,
                 const char *expected) {
    struct lk_buffer out = {.max = 0};
    lk_error error;

    assert_int_equal(lk_users_edit(lk_slice_of(text), change, &out, &error), outcome);
    if (outcome == LK_OK) {
        lk_buffer_add(&out, "", 1);
        assert_string_equal(out.bytes, expected);
    }
    lk_buffer_done(&out);
}

static void a_change_leaves_other_lines_alone(void **state) {
    static const char before[] = "# ours\nana $y$abc lock:a  read:b\n\nben - put:c # no comment";
    static const char text[] = "# ours\nana $y$abc lock:a  read:b\n\nben -  put:c";

    (void)state;
    refused(before, 4, "no rule");
    edit(text, &(struct lk_users_edit){.user = "ana", .password_hash = "$y$new"}, LK_OK,
         "# ours\nana $y$new lock:a  read:b\n\nben -  put:c\n");
    edit(text, &(struct lk_users_edit){.user = "ben", .token = "token:" DIGEST}, LK_OK,
         "# ours\nana $y$abc lock:a  read:b\n\nben token:" DIGEST " put:c\n");
    edit(text, &(struct lk_users_edit){.user = "ana", .rules = "all:/"}, LK_OK,
         "# ours\nana $y$abc all:/\n\nben -  put:c\n");
    edit(text, &(struct lk_users_edit){.user = "ana", .removes_user = true}, LK_OK,
         "# ours\n\nben -  put:c\n");
    edit(text, &(struct lk_users_edit){.user = "cem", .rules = "lock:c"}, LK_OK,
         "# ours\nana $y$abc lock:a  read:b\n\nben -  put:c\ncem - lock:c\n");
    edit(text, &(struct lk_users_edit){.user = "cem", .removes_user = true}, LK_LOST, NULL);
    edit(text, &(struct lk_users_edit){.user = "ana", .rules = "x"}, LK_INVALID, NULL);
    edit("a token:" DIGEST ":2020-01-01T00:00:00Z;token:" DIGEST " ",
         &(struct lk_users_edit){.user = "a", .token = "token:" DIGEST, .now_s = 1801353600}, LK_OK,
         "a token:" DIGEST ";token:" DIGEST " \n");
    edit("", &(struct lk_users_edit){.user = "a", .password_hash = "$y$abc"}, LK_OK, "a $y$abc \n");
}

/* Users are the same objects when the file is another one. */
static void users_stay_over_changes(void **state) {
    struct lk_users *users = lk_users_new();
    const struct lk_user *ana;
    const struct lk_user *ben;
    uint64_t version;

    (void)state;
    assert_true(lk_users_apply(users, parse("ana - lock:a\nben - lock:b")));
    ana = lk_users_find(users, lk_slice_of("ana"));
    ben = lk_users_find(users, lk_slice_of("ben"));
    assert_non_null(ana);
    assert_null(lk_users_find(users, lk_slice_of("cem")));
    version = ana->rules_version;
    assert_true(lk_users_apply(users, parse("# nothing new\nana - lock:a\n")));
    assert_ptr_equal(lk_users_find(users, lk_slice_of("ana")), ana);
    assert_int_equal(ana->rules_version, version);
    assert_null(lk_users_find(users, lk_slice_of("ben")));
    assert_null(lk_user_rules(ben));
    assert_true(lk_users_apply(users, parse("ana - read:a\nben - lock:b")));
    assert_int_equal(ana->rules_version, version + 1);
    assert_ptr_equal(lk_users_find(users, lk_slice_of("ben")), ben);
    lk_users_free(users);
}

static struct lk_identity read_identity(const char *text) {
    return lk_identity_read(lk_slice_of(text));
}

static void identities_are_read_as_they_are_written(void **state) {
    static const char *const owners[] = {"job", "/", "//", "/x", "ben//job", "user@host/1:B:2:3"};
    char text[LK_IDENTITY_BYTES_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        const struct lk_identity written = {lk_slice_of("ana@x"), lk_slice_of(owners[i])};
        size_t size = lk_identity_write(written, text);
        struct lk_identity read = lk_identity_read((struct lk_slice){text, size});

        assert_true(lk_slice_equal(read.user, written.user));
        assert_true(lk_slice_equal(read.owner, written.owner));
    }
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        assert_true(lk_slice_equal(read_identity(owners[i]).owner, lk_slice_of(owners[i]))
                    || strcmp(owners[i], "ben//job") == 0);
    }
    assert_int_equal(read_identity("").user.size, 0);
    assert_int_equal(read_identity("ana//").user.size, 0);
    assert_int_equal(read_identity("a b//job").user.size, 0);
    assert_int_equal(read_identity("ana/x//job").user.size, 0);
}

/* A command that is added without a right would be denied to every user: this tells its author. */
static void every_command_declares_its_right(void **state) {
    (void)state;
    for (size_t i = 0; i < lk_command_count; i++) {
        if (lk_command_table[i].right <= LK_RIGHT_OPEN) {
            fail_msg("%s declares no right", lk_command_table[i].name);
        }
    }
}

static void a_call_without_a_user_or_a_right_is_denied(void **state) {
    struct lk_users *users = lk_users_new();
    struct lk_call call = {.kind = LK_CALL_INFO, .right = LK_RIGHT_USER};
    lk_error error;

    (void)state;
    assert_true(lk_users_apply(users, parse("ops - all:/\nben - read:b")));
    assert_int_equal(lk_call_permit(&call, &error), LK_DENIED);
    call.right = LK_RIGHT_OPEN;
    assert_int_equal(lk_call_permit(&call, &error), LK_OK);
    call.user = lk_users_find(users, lk_slice_of("ops"));
    call.right = LK_RIGHT_UNDECLARED;
    assert_int_equal(lk_call_permit(&call, &error), LK_DENIED);
    call.right = LK_RIGHT_WATCH;
    assert_int_equal(lk_call_permit(&call, &error), LK_OK);
    call.user = lk_users_find(users, lk_slice_of("ben"));
    assert_int_equal(lk_call_permit(&call, &error), LK_DENIED);
    call = (struct lk_call){.kind = LK_CALL_COMMAND, .right = LK_RIGHT_LOCK, .user = call.user};
    call.command.kind = LK_COMMAND_LEAVE;
    assert_int_equal(lk_call_permit(&call, &error), LK_DENIED);
    lk_users_free(users);
}

static void secrets_are_hashed_and_verified(void **state) {
    char hash[LK_PASSWORD_HASH_BYTES_MAX + 1];
    char tokens[2][LK_TOKEN_BYTES + 1];
    unsigned char digest[LK_DIGEST_BYTES];
    lk_error error;

    (void)state;
    assert_int_equal(lk_secrets_load(&error), LK_OK);
    assert_int_equal(lk_password_hash("wonder", hash, &error), LK_OK);
    assert_true(lk_password_hash_is_known(hash) && !lk_password_hash_is_known("$none$abc"));
    assert_true(lk_password_verify(hash, "wonder"));
    assert_false(lk_password_verify(hash, "wonders") || lk_password_verify("$none$abc", "wonder"));
    lk_token_digest(lk_slice_of("foobar"), digest);
    assert_int_equal(digest[0], 0xc3);
    assert_int_equal(digest[31], 0xf2);
    assert_int_equal(lk_token_make(tokens[0], &error), LK_OK);
    assert_int_equal(lk_token_make(tokens[1], &error), LK_OK);
    assert_int_equal(strlen(tokens[0]), LK_TOKEN_BYTES);
    assert_string_not_equal(tokens[0], tokens[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_cover_whole_segments),
        cmocka_unit_test(a_list_passes_over_what_is_not_allowed),
        cmocka_unit_test(files_are_read_with_their_lines),
        cmocka_unit_test(mistakes_are_named_without_secrets),
        cmocka_unit_test(a_change_leaves_other_lines_alone),
        cmocka_unit_test(users_stay_over_changes),
        cmocka_unit_test(identities_are_read_as_they_are_written),
        cmocka_unit_test(every_command_declares_its_right),
        cmocka_unit_test(a_call_without_a_user_or_a_right_is_denied),
        cmocka_unit_test(secrets_are_hashed_and_verified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

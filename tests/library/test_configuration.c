/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration files: what is understood, and what each refusal says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/default_store.h"
#include "support.h"

static char path[64];

static int make_file(void **state) {
    (void)state;
    (void)strcpy(path, "/tmp/lk-conf-XXXXXX");
    int descriptor = mkstemp(path);
    return descriptor >= 0 ? close(descriptor) : -1;
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static lk_outcome read_bytes(const char *bytes, size_t size, struct lk_configured_store *ret_store,
                             lk_error *error) {
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return lk_configuration_read(path, ret_store, error);
}

/* `url` NULL: the text names no store. */
static void assert_names(const char *text, const char *url, unsigned line) {
    struct lk_configured_store store;
    char at[80];

    assert_int_equal(read_bytes(text, strlen(text), &store, NULL), LK_OK);
    if (url == NULL) {
        assert_null(store.url);
        assert_null(store.at);
        return;
    }
    (void)snprintf(at, sizeof at, "%s:%u", path, line);
    assert_string_equal(store.url, url);
    assert_string_equal(store.at, at);
    free(store.url);
    free(store.at);
}

static void assert_refused(const char *text, lk_outcome outcome, unsigned line, const char *word) {
    struct lk_configured_store store;
    lk_error error;
    char at[80];

    assert_int_equal(read_bytes(text, strlen(text), &store, &error), outcome);
    assert_null(store.url);
    assert_null(store.at);
    (void)snprintf(at, sizeof at, "%s:%u: ", path, line);
    if (strncmp(error.text, at, strlen(at)) != 0 || strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not say \"%s\" and \"%s\"", error.text, at, word);
    }
}

static void test_a_file_names_a_store(void **state) {
    (void)state;
    assert_names("store = mem:a\n", "mem:a", 1);
    assert_names("store=mem:a", "mem:a", 1);
    assert_names("\t store\t=  mem:a \r\n", "mem:a", 1);
    assert_names("# store = mem:b\n\n  # more\nstore = mem:a#b\n", "mem:a#b", 4);
    assert_names("store = mem:a\nstore = mem:b\n", "mem:b", 2);
    assert_names("store = lk://db.example?password-file=/etc/lk.pw\n",
                 "lk://db.example?password-file=/etc/lk.pw", 1);
}

static void test_a_file_may_name_none(void **state) {
    (void)state;
    assert_names("", NULL, 0);
    assert_names("\n  \n# store = mem:a\n", NULL, 0);
}

static void test_what_is_not_understood_is_refused(void **state) {
    struct lk_configured_store store;
    lk_error error;

    (void)state;
    assert_refused("store mem:a\n", LK_INVALID, 1, "store = URL");
    assert_refused("\n[main]\n", LK_INVALID, 2, "\"=\"");
    assert_refused("store = mem:a\nshop = mem:a\n", LK_INVALID, 2, "unknown name");
    assert_refused("= mem:a\n", LK_INVALID, 1, "unknown name");
    assert_refused("store =\n", LK_INVALID, 1, "no URL");
    assert_refused("store = locks.db\n", LK_INVALID, 1, "scheme");
    assert_refused("# a\nstore = x-db:y\n", LK_UNSUPPORTED, 2, "x-db:");
    assert_refused("store = lk://h?password-file=pw\n", LK_INVALID, 1, "begin it with /");
    assert_refused("store = lk+unix:lk.sock\n", LK_INVALID, 1, "begin it with /");
    assert_int_equal(read_bytes("store\0= mem:a\n", 14, &store, &error), LK_INVALID);
    assert_non_null(strstr(error.text, "byte 0"));
}

static void test_files_that_cannot_be_read(void **state) {
    struct lk_configured_store store;
    lk_error error;

    (void)state;
    assert_int_equal(lk_configuration_read("/nonexistent/lk.conf", &store, &error), LK_OK);
    assert_null(store.url);
    assert_int_equal(lk_configuration_read("/", &store, &error), LK_UNAVAILABLE);
    assert_non_null(strstr(error.text, "configuration file /"));
}

/* 0: as it should be. Of an ordinary user whose HOME is root's: after runuser, setpriv or su -m. */
static int find_in_the_home_of_another(const char *home) {
    struct lk_default_store store;
    lk_error error;
    lk_outcome outcome;

    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 1;
    }
    (void)setenv("HOME", home, 1);
    (void)unsetenv("XDG_CONFIG_HOME");
    (void)unsetenv("LK_STORE");
    outcome = lk_default_store_find(&store, &error);
    if (outcome == LK_OK) { /* what the machine's file names */
        int code = store.named_by != NULL && strncmp(store.named_by, "/etc/", 5) == 0 ? 0 : 2;
        lk_default_store_done(&store);
        return code;
    }
    if (outcome != LK_DENIED || strstr(error.text, "set HOME") == NULL) {
        return 3;
    }
    /* A store that is named needs no home. */
    (void)setenv("LK_STORE", "mem:", 1);
    outcome = lk_default_store_find(&store, &error);
    lk_default_store_done(&store);
    return outcome == LK_OK ? 0 : 4;
}

static void test_the_home_of_another_user_has_no_file(void **state) {
    char made[] = "/tmp/lk-home-XXXXXX";
    const char *home = getuid() == 0 ? mkdtemp(made) : "/root"; /* 0700 both */
    int status = 0;
    pid_t child;

    (void)state;
    assert_non_null(home);
    child = fork();
    if (child == 0) {
        _exit(find_in_the_home_of_another(home));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (getuid() == 0) {
        (void)rmdir(made);
    }
    assert_int_equal(status, 0);
}

/* A directory of the user's own that may not be searched may hide a file that names a store. */
static int find_behind_a_closed_directory(const char *home) {
    struct lk_default_store store;
    lk_error error;

    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 1;
    }
    (void)setenv("XDG_CONFIG_HOME", home, 1);
    (void)unsetenv("LK_STORE");
    return lk_default_store_find(&store, &error) == LK_DENIED
                   && strstr(error.text, "lockkeeper.conf: ") != NULL
               ? 0
               : 2;
}

static void test_a_closed_directory_of_the_user_is_not_passed_by(void **state) {
    char made[] = "/tmp/lk-home-XXXXXX";
    int status = 0;
    pid_t child;

    (void)state;
    assert_non_null(mkdtemp(made));
    assert_int_equal(getuid() == 0 ? chown(made, 65534, 65534) : 0, 0);
    assert_int_equal(chmod(made, 0), 0);
    child = fork();
    if (child == 0) {
        _exit(find_behind_a_closed_directory(made));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)rmdir(made);
    assert_int_equal(status, 0);
}

static lk_outcome read_own(mode_t mode, uid_t owner, gid_t group) {
    struct lk_configured_store store;
    lk_error error;
    lk_outcome outcome;

    assert_int_equal(read_bytes("store = mem:a\n", 14, &store, &error), LK_OK);
    free(store.url);
    free(store.at);
    assert_int_equal(chown(path, owner, group), 0);
    assert_int_equal(chmod(path, mode), 0);
    outcome = lk_configuration_read_own(path, &store, &error);
    if (outcome == LK_OK) {
        free(store.url);
        free(store.at);
    } else {
        assert_non_null(strstr(error.text, path));
    }
    assert_int_equal(chown(path, geteuid(), getegid()), 0);
    return outcome;
}

static void test_a_file_of_the_user_is_no_other_users(void **state) {
    uid_t user = geteuid();
    gid_t group = getegid();

    (void)state;
    assert_int_equal(read_own(0600, user, group), LK_OK);
    assert_int_equal(read_own(0644, user, group), LK_OK);
    assert_int_equal(read_own(0602, user, group), LK_DENIED);
    assert_int_equal(read_own(0666, user, group), LK_DENIED);
    assert_int_equal(read_own(0664, user, group), group == (gid_t)user ? LK_OK : LK_DENIED);
    if (user == 0) { /* only root can be two users */
        assert_int_equal(read_own(0664, user, 12345), LK_DENIED);
        assert_int_equal(read_own(0600, 12345, group), LK_DENIED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_of_the_user_is_no_other_users),
        cmocka_unit_test(test_a_file_names_a_store),
        cmocka_unit_test(test_a_file_may_name_none),
        cmocka_unit_test(test_what_is_not_understood_is_refused),
        cmocka_unit_test(test_files_that_cannot_be_read),
        cmocka_unit_test(test_the_home_of_another_user_has_no_file),
        cmocka_unit_test(test_a_closed_directory_of_the_user_is_not_passed_by),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}

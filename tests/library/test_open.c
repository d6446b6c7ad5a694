/* SPDX-License-Identifier: Apache-2.0 */
/* URLs, the store that is meant when none is named, and the owners that are made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/default_store.h"
#include "client/url.h"
#include "engine/engine.h"
#include "support.h"

static void assert_refused(const char *url, lk_outcome outcome, const char *word) {
    lk_store *untouched = (lk_store *)&outcome;
    lk_error error;

    assert_int_equal(lk_open(url, &untouched, &error), outcome);
    assert_int_equal(error.outcome, outcome);
    assert_ptr_equal(untouched, &outcome);
    if (strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
    }
}

static void test_refused_urls(void **state) {
    char long_url[LK_URL_BYTES_MAX + 2];

    (void)state;
    memset(long_url, 'm', sizeof long_url);
    long_url[sizeof long_url - 1] = '\0';
    assert_refused(long_url, LK_INVALID, "4096 bytes");
    assert_refused("", LK_INVALID, "scheme");
    assert_refused("/var/lib/locks.db", LK_INVALID, "scheme");
    assert_refused("Mem:", LK_INVALID, "scheme");
    assert_refused(":", LK_INVALID, "scheme");
    assert_refused("nonsense+x.y-1:", LK_UNSUPPORTED, "nonsense+x.y-1");
    assert_refused("mem:a?b", LK_INVALID, "options");
    long_url[300] = '\0';
    memcpy(long_url, "mem:", 4);
    assert_refused(long_url, LK_INVALID, "255 bytes");
}

/* `end` is what the sentence ends with. */
static void assert_ends(const char *url, const char *end) {
    lk_store *store;
    lk_error error;
    size_t size;

    assert_int_not_equal(lk_open(url, &store, &error), LK_OK);
    size = strlen(error.text);
    if (size < strlen(end) || strcmp(error.text + size - strlen(end), end) != 0) {
        fail_msg("%s: \"%s\" does not end with \"%s\"", url, error.text, end);
    }
}

static void test_what_may_have_been_meant(void **state) {
    char long_path[300];

    (void)state;
    assert_ends("/var/lib/locks.db", "; did you mean sqlite:/var/lib/locks.db?");
    assert_ends("locks.db", "; did you mean sqlite:locks.db?");
    assert_ends("~/x?share=yes", "; did you mean sqlite:~/x?share=yes?");
    assert_ends("127.0.0.1:7420", "; did you mean lk://127.0.0.1:7420?");
    assert_ends("locks:7420", "; did you mean lk://locks:7420?");
    assert_ends("[::1]:7420", "; did you mean lk://[::1]:7420?");
    assert_ends("mem", "; did you mean mem:?");
    assert_ends("sqlite3:/a", "; did you mean sqlite:?");
    assert_ends("file:/a", "; did you mean sqlite:?");
    assert_ends("sqllite:/a", "; did you mean sqlite:?");
    assert_ends("http://locks:7421", ", not that of HTTP");
    assert_ends("etcd://locks", ")");
    assert_ends("", "sqlite:PATH");
    memset(long_path, '/', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    assert_ends(long_path, "sqlite:PATH");
    /* What may be a password is not repeated. */
    assert_ends("/ana:secret@locks", "sqlite:PATH");
    assert_ends("ana:secret@locks:7420", ")");
}

static void test_the_refusal_names_the_known_schemes(void **state) {
    (void)state;
    for (size_t i = 0; lk_engines[i] != NULL; i++) {
        char scheme[32];

        (void)snprintf(scheme, sizeof scheme, "%s:", lk_engines[i]->scheme);
        assert_refused("x-db://localhost", LK_UNSUPPORTED, scheme);
        if (lk_engines[i]->alias != NULL) {
            (void)snprintf(scheme, sizeof scheme, "%s:", lk_engines[i]->alias);
            assert_refused("x-db://localhost", LK_UNSUPPORTED, scheme);
        }
    }
    assert_refused("x-db://me:secret@localhost", LK_UNSUPPORTED, "x-db");
}

static void test_passwords_are_hidden(void **state) {
    static const char *const urls[][2] = {
        {"mem:", "mem:"},
        {"sqlite:/a:b@c", "sqlite:/a:b@c"},
        {"x://host/db", "x://host/db"},
        {"x://me@host/db", "x://me@host/db"},
        {"x://me:secret@host:1/db", "x://me@host:1/db"},
        {"x://:secret@host", "x://@host"},
        {"x://me:se:cr@et@host", "x://me@host"},
        {"x://host/a:b@c", "x://host/a:b@c"},
        {"x://host?password=secret", "x://host"},
        {"x://host?a=1&password=secret", "x://host?a=1"},
        {"x://host?password=secret&a=1", "x://host?a=1"},
        {"x://host?a=1&password=secret&password=more&b=2", "x://host?a=1&b=2"},
        {"x://host?nopassword=1", "x://host?nopassword=1"},
        {"x://me:sec#ret@host/db", "x://me@host/db"},
        {"x://host?sslpassword=secret&a=1", "x://host?a=1"},
        {"x://host?pass%77ord=secret&a=1", "x://host?a=1"},
        {"x://host?a=1&listen=x://me:secret@host:1/db&b=2",
         "x://host?a=1&listen=x://me@host:1/db&b=2"},
        {"x://host?listen=x%3A%2F%2Fme%3Asecret%40host%3Fa=1%26password=more",
         "x://host?listen=x://me@host?a=1"},
        {"x://host?listen=x://me%253A:se%2540cret@host%26b&password=more",
         "x://host?listen=x://me%253A@host%26b"},
        {"x://host?listen=x://me:sec%ret@host&a=1", "x://host?listen=&a=1"},
        {"x://host?listen=no", "x://host?listen=no"},
        {"x://me:se,cret@h1:1,h2,[::1]:2", "x://me@h1:1,h2,[::1]:2"},
        {"x://me:a@h1:1,me:b@h2:2", "x://me@h2:2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        char *shown = lk_url_without_password(urls[i][0]);

        assert_string_equal(shown, urls[i][1]);
        free(shown);
    }
}

/* Whether this build has the URL's engine. */
static bool is_built(const char *url) {
    for (size_t i = 0; lk_engines[i] != NULL; i++) {
        size_t size = strlen(lk_engines[i]->scheme);

        if (strncmp(url, lk_engines[i]->scheme, size) == 0 && url[size] == ':') {
            return true;
        }
    }
    return false;
}

/* The text with the directory for each `<`, percent-encoded for `^`, and that once more for `|`. */
static char *with_directory(const char *text, const char *directory) {
    char *whole = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&whole, &size);

    assert_non_null(out);
    for (; *text != '\0'; text++) {
        if (strchr("<^|", *text) == NULL) {
            (void)fputc(*text, out);
            continue;
        }
        for (const char *byte = directory; *byte != '\0'; byte++) {
            if (*text != '<' && strchr(" %", *byte) != NULL) {
                (void)fprintf(out, "%s%02X", *text == '^' ? "%" : "%25", (unsigned)*byte);
            } else {
                (void)fputc(*byte, out);
            }
        }
    }
    (void)fclose(out);
    return whole;
}

/* Relative paths begin with the working directory; nothing else changes. */
static void test_urls_for_every_directory(void **state) {
    static const char *const urls[][2] = {
        {"sqlite:rel.db?share=yes", "sqlite:</rel.db?share=yes"},
        {"sqlite:/abs.db", "sqlite:/abs.db"},
        {"lk+unix:./sock", "lk+unix:^/./sock"},
        {"lk+unix://run/sock", "lk+unix://run/sock"},
        {"lk+unix:%2Frun?password-file=pw&user=me", "lk+unix:%2Frun?password-file=^/pw&user=me"},
        {"lk://host:1?password-file=p%20w", "lk://host:1?password-file=^/p%20w"},
        {"lk://host?password-file=/pw", "lk://host?password-file=/pw"},
        {"lks://host?ca=a&cert=/b&key=c%20d", "lks://host?ca=^/a&cert=/b&key=^/c%20d"},
        {"mem:name", "mem:name"},
        {"postgresql://h/d?sslrootcert=ca.pem&sslkey=pkcs11:x&schema=s",
         "postgresql://h/d?sslrootcert=^/ca.pem&sslkey=pkcs11:x&schema=s"},
        {"postgresql:///?sslrootcert=system&listen=postgresql%3A//h/d%3Fpassfile=p",
         "postgresql:///?sslrootcert=system&listen=postgresql%3A//h/d%3Fpassfile%3D|/p"},
        {"mysql://h/d?socket=s&ssl-ca=ca", "mysql://h/d?socket=^/s&ssl-ca=^/ca"},
        {"shm:name", "shm:name"},
        {"shm:./name?keys=5", "shm:</./name?keys=5"},
    };
    const char *parent = getenv("TMPDIR");
    char directory[4096];
    char former[4096];

    (void)state;
    (void)snprintf(directory, sizeof directory, "%s/lk a%%b XXXXXX",
                   parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(directory));
    assert_non_null(getcwd(former, sizeof former));
    assert_int_equal(chdir(directory), 0);
    assert_non_null(getcwd(directory, sizeof directory)); /* without symbolic links */
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        char *absolute = lk_url_absolute(urls[i][0]);
        char *expected = with_directory(is_built(urls[i][0]) ? urls[i][1] : urls[i][0], directory);

        assert_string_equal(absolute, expected);
        free(expected);
        free(absolute);
    }
    assert_int_equal(chdir(former), 0);
    (void)rmdir(directory);
}

static void test_names_in_memory(void **state) {
    lk_store *private_store = NULL;
    lk_store *one = NULL;
    lk_store *again = NULL;
    lk_store *other = NULL;

    (void)state;
    assert_int_equal(lk_open("mem:", &private_store, NULL), LK_OK);
    assert_int_equal(lk_open("mem:one", &one, NULL), LK_OK);
    assert_int_equal(lk_open("mem:other", &other, NULL), LK_OK);
    assert_int_equal(lk_open("mem:one", &again, NULL), LK_OK);
    assert_string_equal(lk_store_url(one), "mem:one");
    assert_int_equal(try_part(one, "a", "x"), LK_GRANTED);
    assert_int_equal(try_part(again, "b", "x"), LK_BUSY);
    assert_int_equal(try_part(other, "b", "x"), LK_GRANTED);
    assert_int_equal(try_part(private_store, "b", "x"), LK_GRANTED);
    lk_close(one);
    assert_int_equal(count_live(again), 1);
    lk_close(again);
    assert_int_equal(lk_open("mem:one", &one, NULL), LK_OK);
    assert_int_equal(count_live(one), 0); /* gone with the last that had it open */
    lk_close(one);
    lk_close(other);
    lk_close(private_store);
    lk_close(NULL);
}

/* ---- the default store ----------------------------------------------------------------------- */

static void test_the_environment_names_a_store(void **state) {
    lk_store *store = NULL;

    (void)state;
    assert_int_equal(setenv("LK_STORE", "mem:named", 1), 0);
    assert_int_equal(lk_open(NULL, &store, NULL), LK_OK);
    assert_string_equal(lk_store_url(store), "mem:named");
    lk_close(store);
    assert_int_equal(unsetenv("LK_STORE"), 0);
}

/* A secret that is missing must not become a store of this user alone. */
static void test_an_empty_variable_names_no_store(void **state) {
    static const char *const names[] = {"LK_STORE", "LK_STORE_URL_FILE"};
    lk_store *store = NULL;
    lk_error error;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(setenv(names[i], "", 1), 0);
        assert_int_equal(lk_open(NULL, &store, &error), LK_INVALID);
        assert_null(store);
        assert_non_null(strstr(error.text, names[i]));
        assert_non_null(strstr(error.text, "is set, but empty"));
        assert_int_equal(unsetenv(names[i]), 0);
    }
}

static void test_the_default_is_in_the_state_directory(void **state) {
    char base[] = "/tmp/lk-default-XXXXXX";
    char path[256];
    struct lk_default_store store;
    struct stat status;

    (void)state;
    assert_non_null(mkdtemp(base));
    assert_int_equal(unsetenv("LK_STORE"), 0);
    assert_int_equal(setenv("HOME", base, 1), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0); /* ignored, as XDG asks */
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
    assert_int_equal(lk_default_store_find(&store, NULL), LK_OK);
    (void)snprintf(path, sizeof path, "sqlite:%s/.local/state/lockkeeper/locks.db", base);
    assert_string_equal(store.url, path);
    assert_null(store.named_by);
    (void)snprintf(path, sizeof path, "%s/.local/state/lockkeeper", base);
    assert_int_equal(stat(path, &status), -1);
    assert_int_equal(lk_default_store_prepare(&store, NULL), LK_OK);
    lk_default_store_done(&store);
    assert_int_equal(stat(path, &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(rmdir(path), 0);

    (void)snprintf(path, sizeof path, "%s/.local/state", base);
    assert_int_equal(setenv("XDG_STATE_HOME", path, 1), 0);
    assert_int_equal(lk_default_store_find(&store, NULL), LK_OK);
    assert_non_null(strstr(store.url, "/.local/state/lockkeeper/locks.db"));
    lk_default_store_done(&store);
    (void)snprintf(path, sizeof path, "rm -r '%s'", base);
    assert_int_equal(system(path), 0);
}

static void test_a_default_without_a_directory_is_refused(void **state) {
    (void)state;
    assert_int_equal(unsetenv("LK_STORE"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_refused(NULL, LK_INVALID, "HOME");
    assert_int_equal(setenv("HOME", "/proc/self/status", 1), 0); /* no directory */
    assert_refused(NULL, LK_UNAVAILABLE, "/proc/self/status");
}

/* ---- owners ---------------------------------------------------------------------------------- */

static void test_owners_are_unique_and_readable(void **state) {
    char one[129];
    char other[129];
    char pid[32];

    (void)state;
    lk_owner_make(one);
    lk_owner_make(other);
    assert_string_not_equal(one, other);
    assert_in_range(strlen(one), 16, 128);
    (void)snprintf(pid, sizeof pid, "/%jd:", (intmax_t)getpid());
    assert_non_null(strstr(one, pid));
    assert_true(strchr(one, '@') != NULL && strchr(one, '@') < strstr(one, pid));
    for (const char *byte = one; *byte != '\0'; byte++) {
        assert_true(*byte > ' ' && *byte <= '~');
    }
}

static void test_version(void **state) {
    (void)state;
    assert_string_equal(lk_version(), LK_VERSION);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_urls),
        cmocka_unit_test(test_what_may_have_been_meant),
        cmocka_unit_test(test_the_refusal_names_the_known_schemes),
        cmocka_unit_test(test_passwords_are_hidden),
        cmocka_unit_test(test_urls_for_every_directory),
        cmocka_unit_test(test_names_in_memory),
        cmocka_unit_test(test_the_environment_names_a_store),
        cmocka_unit_test(test_an_empty_variable_names_no_store),
        cmocka_unit_test(test_the_default_is_in_the_state_directory),
        cmocka_unit_test(test_a_default_without_a_directory_is_refused),
        cmocka_unit_test(test_owners_are_unique_and_readable),
        cmocka_unit_test(test_version),
    };

    return cmocka_run_group_tests_name("open", tests, NULL, NULL);
}

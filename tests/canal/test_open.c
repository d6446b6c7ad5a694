/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a region: foreign, damaged, another user's, removed, or created by several at once. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { MAKERS = 8 };

static const char *path_of(const char *name) {
    static char path[128];

    (void)snprintf(path, sizeof path, "/dev/shm/canal.%s", name);
    return path;
}

static void put(const char *name, const void *bytes, size_t size) {
    int file = open(path_of(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    assert_int_equal(close(file), 0);
}

static void expect_refused(const char *name, lk_canal_status expected) {
    char text[LK_CANAL_TEXT_MAX] = "";
    lk_canal *canal = NULL;

    assert_int_equal(lk_canal_open(name, NULL, &canal, text), expected);
    assert_null(canal);
    assert_string_not_equal(text, "");
}

static void foreign_files_are_refused(void **state) {
    static unsigned char bytes[8192];
    char name[64];

    (void)state;
    make_name(name);
    put(name, "", 0);
    expect_refused(name, LK_CANAL_FOREIGN);
    put(name, "LKCANAL", 8);
    expect_refused(name, LK_CANAL_FOREIGN);
    put(name, bytes, sizeof bytes);
    expect_refused(name, LK_CANAL_FOREIGN);
    memset(bytes, 0xff, sizeof bytes);
    put(name, bytes, sizeof bytes);
    expect_refused(name, LK_CANAL_FOREIGN);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
    assert_int_equal(mkdir(path_of(name), 0700), 0);
    expect_refused(name, LK_CANAL_FOREIGN);
    assert_int_equal(rmdir(path_of(name)), 0);
    assert_int_equal(mkfifo(path_of(name), 0600), 0);
    expect_refused(name, LK_CANAL_FOREIGN);
    assert_int_equal(unlink(path_of(name)), 0);
    assert_int_equal(symlink("/dev/null", path_of(name)), 0);
    expect_refused(name, LK_CANAL_DENIED);
    assert_int_equal(unlink(path_of(name)), 0);
}

/* Each byte of the header changed: refused, or (counters, the seed) usable. */
static void each_changed_byte_of_the_header_is_refused_or_harmless(void **state) {
    struct fixture *fixture = *state;
    const char *path = path_of(fixture->name);
    int file = open(path, O_RDWR | O_CLOEXEC);

    assert_true(file >= 0);
    for (off_t at = 0; at < 128; at++) {
        static const unsigned char others[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
        unsigned char kept;

        assert_int_equal(pread(file, &kept, 1, at), 1);
        for (size_t i = 0; i < sizeof others; i++) {
            lk_canal *canal;

            if (others[i] == kept) {
                continue;
            }
            assert_int_equal(pwrite(file, &others[i], 1, at), 1);
            if (lk_canal_open(fixture->name, NULL, &canal, NULL) == LK_CANAL_OK) {
                assert_int_equal(acquire(join(canal, LK_CANAL_PROCESS), "k", 1, NULL), LK_CANAL_OK);
                lk_canal_close(canal);
            }
        }
        assert_int_equal(pwrite(file, &kept, 1, at), 1);
    }
    (void)close(file);
}

static void a_region_of_another_size_is_refused(void **state) {
    struct fixture *fixture = *state;
    struct stat status;
    char copy[64];
    char *bytes;
    int file = open(path_of(fixture->name), O_RDONLY | O_CLOEXEC);

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    bytes = calloc(1, (size_t)status.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(read(file, bytes, (size_t)status.st_size), status.st_size);
    (void)close(file);
    make_name(copy);
    for (off_t size = status.st_size - 1; size > 0; size /= 3) {
        put(copy, bytes, (size_t)size);
        expect_refused(copy, LK_CANAL_FOREIGN);
    }
    put(copy, bytes, (size_t)status.st_size + 1);
    expect_refused(copy, LK_CANAL_FOREIGN);
    free(bytes);
    assert_int_equal(lk_canal_remove(copy), LK_CANAL_OK);
}

/* As another user: a foreign region is opened only on request. */
static void a_region_of_another_user_is_refused_unless_requested(void **state) {
    const lk_canal_options shared = {.size = sizeof shared, .is_shared = true};
    struct fixture *fixture = *state;
    int status;
    pid_t child;

    if (geteuid() != 0) {
        print_message("# only root can be two users\n");
        return;
    }
    child = fork();
    if (child == 0) {
        char text[LK_CANAL_TEXT_MAX];
        lk_canal *canal;

        if (setgid(12345) != 0 || setuid(12345) != 0) {
            _exit(2);
        }
        if (lk_canal_open(fixture->name, NULL, &canal, text) != LK_CANAL_DENIED) {
            _exit(1);
        }
        _exit(strstr(text, "belongs to user 0") != NULL ? 0 : 3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(path_of(fixture->name), 0666), 0);
    assert_int_equal(chown(path_of(fixture->name), 12345, 12345), 0);
    expect_refused(fixture->name, LK_CANAL_DENIED);
    {
        lk_canal *canal;

        assert_int_equal(lk_canal_open(fixture->name, &shared, &canal, NULL), LK_CANAL_OK);
        lk_canal_close(canal);
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

static void make_and_hold(const char *name) {
    lk_canal *canal = open_again(name);

    /* All are in the same region: of two conflicting permits, at most one is granted. */
    while (acquire(join(canal, LK_CANAL_PROCESS), "all", MAKERS, NULL) != LK_CANAL_OK) {
        abort();
    }
}

static void *start_maker(void *name) {
    pid_t *child = malloc(sizeof *child);

    *child = start_child(name, make_and_hold);
    return child;
}

static void concurrent_creators_share_one_region(void **state) {
    uint32_t rounds = scaled(20);

    (void)state;
    for (uint32_t round = 0; round < rounds; round++) {
        pthread_t threads[MAKERS];
        pid_t *children[MAKERS];
        char name[64];
        lk_canal *canal;

        make_name(name);
        for (int i = 0; i < MAKERS; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, start_maker, name), 0);
        }
        for (int i = 0; i < MAKERS; i++) {
            void *child;

            assert_int_equal(pthread_join(threads[i], &child), 0);
            children[i] = child;
        }
        canal = open_again(name);
        assert_int_equal(count(canal, "all"), MAKERS);
        for (int i = 0; i < MAKERS; i++) {
            end_child(*children[i], SIGKILL);
            free(children[i]);
        }
        lk_canal_close(canal);
        assert_int_equal(lk_canal_remove(name), LK_CANAL_OK);
    }
}

/* Counts the acquires until this holder detects the removal; releases the permits. */
static uint32_t acquires_until_gone(lk_canal_holder *holder) {
    lk_canal_permit permit;
    lk_canal_status status;
    uint32_t granted = 0;

    while ((status = acquire(holder, "other", 1, &permit)) == LK_CANAL_OK) {
        assert_int_equal(lk_canal_release(holder, &permit), LK_CANAL_OK);
        granted++;
    }
    assert_int_equal(status, LK_CANAL_GONE);
    return granted;
}

/* After removal, the name belongs to a new region. Holders of the old one detect that and acquire
 * nothing more; they can still release. */
static void a_removed_region_grants_nothing(void **state) {
    struct fixture *fixture = *state;
    lk_canal_holder *newcomer = join(fixture->canal, LK_CANAL_PROCESS);
    lk_canal_permit permit;
    lk_canal *other;

    assert_int_equal(acquire(fixture->holder, "k", 1, &permit), LK_CANAL_OK);
    assert_false(lk_canal_is_gone(fixture->canal));
    assert_int_equal(lk_canal_remove(fixture->name), LK_CANAL_OK);
    (void)acquires_until_gone(fixture->holder);
    assert_true(lk_canal_is_gone(fixture->canal));
    /* Once a holder of the process has detected it, all of them have. */
    assert_int_equal(acquires_until_gone(newcomer), 0);
    assert_int_equal(lk_canal_acquire_wait(newcomer, "k", 1, 1, 1, 60000, NULL), LK_CANAL_GONE);

    other = open_again(fixture->name);
    assert_int_equal(acquire(join(other, LK_CANAL_PROCESS), "k", 1, NULL), LK_CANAL_OK);
    assert_false(lk_canal_is_gone(other));
    assert_true(lk_canal_is_gone(fixture->canal));
    assert_int_equal(lk_canal_release(fixture->holder, &permit), LK_CANAL_OK);
    lk_canal_close(other);
}

static void move(const char *from, const char *to) {
    char former[128];

    (void)snprintf(former, sizeof former, "%s", path_of(from));
    assert_int_equal(rename(former, path_of(to)), 0);
}

/* The region was renamed, and its name now leads to another region: only the names show it. */
static void a_replaced_region_grants_nothing(void **state) {
    struct fixture *fixture = *state;
    char spare[64];

    make_name(spare);
    move(fixture->name, spare);
    assert_false(lk_canal_is_gone(fixture->canal)); /* no holder has checked yet */
    lk_canal_close(open_again(fixture->name));
    /* A holder checks at its first acquire, before any grant. */
    assert_int_equal(acquires_until_gone(fixture->holder), 0);
    assert_int_equal(lk_canal_remove(spare), LK_CANAL_OK);
}

/* With a limit on file sizes: the call fails at once and leaves no file. */
static void a_region_that_does_not_fit_is_not_created(void **state) {
    const lk_canal_options large = {.size = sizeof large, .keys = 100000};
    char name[64];
    int status;
    pid_t child;

    (void)state;
    make_name(name);
    child = fork();
    if (child == 0) {
        const struct rlimit small = {.rlim_cur = 65536, .rlim_max = 65536};
        lk_canal *canal;

        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &small) != 0) {
            _exit(2);
        }
        _exit(lk_canal_open(name, &large, &canal, NULL) == LK_CANAL_SYSTEM ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(lk_canal_remove(name), LK_CANAL_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_files_are_refused),
        cmocka_unit_test_setup_teardown(each_changed_byte_of_the_header_is_refused_or_harmless,
                                        open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_region_of_another_size_is_refused, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_region_of_another_user_is_refused_unless_requested,
                                        open_fixture, close_fixture),
        cmocka_unit_test(concurrent_creators_share_one_region),
        cmocka_unit_test_setup_teardown(a_removed_region_grants_nothing, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_replaced_region_grants_nothing, open_fixture,
                                        close_fixture),
        cmocka_unit_test(a_region_that_does_not_fit_is_not_created),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands: found by name and by route, and complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "command/command.h"

static const struct lk_command_spec *route(const char *method, const char *path, const char *rest,
                                           bool is_known) {
    struct lk_slice ret_rest = {.size = 0};
    bool ret_is_known;
    const struct lk_command_spec *command =
        lk_command_find_route(lk_slice_of(method), lk_slice_of(path), &ret_rest, &ret_is_known);

    assert_int_equal(ret_is_known, is_known);
    assert_true(command == NULL || lk_slice_equal(ret_rest, lk_slice_of(rest)));
    return command;
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(lk_command_find(lk_slice_of("acquire"))->name, "ACQUIRE");
    assert_string_equal(lk_command_find(lk_slice_of("DeL"))->name, "DEL");
    assert_null(lk_command_find(lk_slice_of("ACQUIR")));
    assert_null(lk_command_find(lk_slice_of("ACQUIRES")));
    assert_null(lk_command_find(lk_slice_of("")));
}

static void test_routes(void **state) {
    (void)state;
    assert_string_equal(route("POST", "/v1/acquire", "", true)->name, "ACQUIRE");
    assert_string_equal(route("GET", "/v1/requests", "", true)->name, "LIST");
    assert_string_equal(route("GET", "/v1/requests/db/t1", "db/t1", true)->name, "SHOW");
    assert_string_equal(route("GET", "/v1/values/a", "a", true)->name, "GET");
    assert_string_equal(route("PUT", "/v1/values/a", "a", true)->name, "PUT");
    assert_string_equal(route("DELETE", "/v1/values/a", "a", true)->name, "DEL");
    assert_null(route("GET", "/v1/acquire", "", true));
    assert_null(route("POST", "/v1/values/a", "", true));
    assert_null(route("GET", "/v1/values/", "", false));
    assert_null(route("GET", "/v1/requestsx", "", false));
    assert_null(route("GET", "/", "", false));
}

/* Everything that is said to people is there. */
static void test_complete(void **state) {
    (void)state;
    for (size_t i = 0; i < lk_command_count; i++) {
        const struct lk_command_spec *command = &lk_command_table[i];
        assert_true(command->summary != NULL && command->summary[0] != '\0');
        assert_non_null(command->usage);
        assert_int_equal(command->usage[0] == '\0',
                         command->operands == LK_OPERANDS_NONE && command->keywords == 0);
        assert_ptr_equal(lk_command_find(lk_slice_of(command->name)), command);
        assert_true((command->method != NULL) == (command->route != NULL));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The lists are read from a connection, since the environment and service files name hosts, too. */
#include "engine/postgresql/hosts.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

size_t lk_postgresql_list_count(const char *list) {
    size_t count = list != NULL && list[0] != '\0';

    for (; count > 0 && *list != '\0'; list++) {
        count += *list == ',';
    }
    return count;
}

struct lk_slice lk_postgresql_list_entry(const char *list, size_t index) {
    if (list == NULL) {
        return (struct lk_slice){"", 0};
    }
    for (index = lk_postgresql_list_count(list) > 1 ? index : 0; index > 0 && list[0] != '\0';
         index--) {
        list += strcspn(list, ",");
        list += list[0] == ',';
    }
    return (struct lk_slice){list, strcspn(list, ",")};
}

static void drop_entry(char *list, size_t index) {
    if (lk_postgresql_list_count(list) < 2) {
        return;
    }
    char *entry = list + (lk_postgresql_list_entry(list, index).bytes - list);
    char *next = entry + strcspn(entry, ",");

    if (*next == ',') {
        memmove(entry, next + 1, strlen(next + 1) + 1);
    } else {
        entry[-1] = '\0';
    }
}

static void read_lists(struct lk_postgresql_hosts *hosts, PGconn *connection) {
    PQconninfoOption *options = PQconninfo(connection);
    const struct {
        const char *name;
        char **list;
    } wanted[] = {{"host", &hosts->host}, {"hostaddr", &hosts->address}, {"port", &hosts->port}};

    for (const PQconninfoOption *each = options; each != NULL && each->keyword != NULL; each++) {
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && each->val != NULL; i++) {
            if (strcmp(each->keyword, wanted[i].name) == 0) {
                free(*wanted[i].list);
                *wanted[i].list = lk_text_copy(lk_slice_of(each->val));
            }
        }
    }
    PQconninfoFree(options);
}

static size_t count_both(const struct lk_postgresql_hosts *hosts) {
    size_t names = lk_postgresql_list_count(hosts->host);
    size_t addresses = lk_postgresql_list_count(hosts->address);

    return names > addresses ? names : addresses;
}

size_t lk_postgresql_hosts_count(struct lk_postgresql_hosts *hosts, PGconn *connection) {
    if (!hosts->is_changed) {
        read_lists(hosts, connection);
    }
    return count_both(hosts);
}

/* Whether the connection waits for this one, of which libpq tells the name, else the address. */
static bool is_at(const struct lk_postgresql_hosts *hosts, size_t index, PGconn *connection) {
    struct lk_slice name = lk_postgresql_list_entry(hosts->host, index);
    struct lk_slice port = lk_postgresql_list_entry(hosts->port, index);

    return lk_slice_equal(name.size > 0 ? name : lk_postgresql_list_entry(hosts->address, index),
                          lk_slice_of(PQhost(connection)))
           && (port.size == 0 || lk_slice_equal(port, lk_slice_of(PQport(connection))));
}

bool lk_postgresql_hosts_drop(struct lk_postgresql_hosts *hosts, PGconn *connection) {
    size_t count = count_both(hosts);
    size_t index = 0;

    while (index < count && !is_at(hosts, index, connection)) {
        index++;
    }
    if (count < 2 || index == count) {
        return false;
    }
    drop_entry(hosts->host, index);
    drop_entry(hosts->address, index);
    drop_entry(hosts->port, index);
    hosts->is_changed = true;
    return true;
}

void lk_postgresql_hosts_done(struct lk_postgresql_hosts *hosts) {
    free(hosts->host);
    free(hosts->address);
    free(hosts->port);
}

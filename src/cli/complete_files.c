/* SPDX-License-Identifier: Apache-2.0 */
/* glob(3) reads the directory and sorts. */
#include "cli/complete_files.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* A pattern for all names that begin with `path`. */
static char *pattern_of(const char *path) {
    char *pattern = malloc(2 * strlen(path) + sizeof "*");
    char *end = pattern;

    for (const char *next = path; pattern != NULL && *next != '\0'; next++) {
        if (strchr("*?[\\", *next) != NULL) {
            *end++ = '\\';
        }
        *end++ = *next;
    }
    if (pattern != NULL) {
        memcpy(end, "*", sizeof "*");
    }
    return pattern;
}

char **lk_complete_files(const char *path, size_t max, size_t *ret_count) {
    char *pattern = pattern_of(path);
    glob_t found = {0};
    char **paths = NULL;
    size_t count = 0;

    if (pattern != NULL && glob(pattern, GLOB_MARK, NULL, &found) == 0) {
        paths = calloc(found.gl_pathc, sizeof paths[0]);
        for (; paths != NULL && count < found.gl_pathc && count < max; count++) {
            paths[count] = strdup(found.gl_pathv[count]);
            if (paths[count] == NULL) {
                break;
            }
        }
    }
    globfree(&found);
    free(pattern);
    *ret_count = count;
    return paths;
}

void lk_complete_files_free(char **paths, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(paths[i]);
    }
    free(paths);
}

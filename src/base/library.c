/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a library, and looks up what is called of it. */
#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/*
 * The table counts as filled when all of it is: what fails half-way is never called. What the
 * libraries need of one another is found when it is called: most of it never is.
 */
static lk_outcome fill(struct lk_library *library, lk_error *error) {
    void *handle = dlopen(library->file, RTLD_LAZY | RTLD_LOCAL);
    unsigned char *at = library->table;

    if (handle == NULL) {
        return lk_error_set(error, LK_UNSUPPORTED,
                            "%s needs the library %s (in Debian, the package %s), which "
                            "cannot be loaded: %s",
                            library->user, library->file, library->package, dlerror());
    }
    for (size_t i = 0; i < library->count; i++, at += sizeof(void *)) {
        void *found = dlsym(handle, library->names[i]);
        if (found == NULL) {
            (void)dlclose(handle);
            return lk_error_set(error, LK_UNSUPPORTED,
                                "%s needs a newer library %s (in Debian, the package %s): "
                                "this one has no %s",
                                library->user, library->file, library->package, library->names[i]);
        }
        memcpy(at, &found, sizeof found);
    }
    return LK_OK;
}

lk_outcome lk_library_load(struct lk_library *library, lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (!atomic_load(&library->is_loaded)) {
        (void)pthread_mutex_lock(&mutex);
        if (!atomic_load(&library->is_loaded)) {
            outcome = fill(library, error);
            atomic_store(&library->is_loaded, outcome == LK_OK);
        }
        (void)pthread_mutex_unlock(&mutex);
    }
    return outcome;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A region of canal.h with other bytes in it, anywhere: the input is pieces, each with its place
 * (two bytes), its size (one byte) and what is put there; what is past the end cuts the file or
 * makes it longer. Opening answers OK or FOREIGN, and whatever is asked then comes to an end.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockkeeper/canal.h"
#include "target.h"

enum { IMAGE_MAX = 32768, ASKS = 6 };

static const lk_canal_options small = {
    .size = sizeof(lk_canal_options), .keys = 2, .holders = 2, .permits = 64};

struct image {
    unsigned char bytes[IMAGE_MAX];
    size_t size;
};

/* A region in which a process that is gone held something, half-way through it. */
static void make_image(const char *path, struct image *ret_image) {
    lk_canal_permit permit;
    lk_canal_holder *holder;
    lk_canal *canal;
    struct stat status;
    int file;

    FUZZ_DEMAND(lk_canal_open(path, &small, &canal, NULL) == LK_CANAL_OK);
    FUZZ_DEMAND(lk_canal_join(canal, LK_CANAL_PROCESS, "gone", &holder) == LK_CANAL_OK);
    FUZZ_DEMAND(lk_canal_acquire(holder, "key", 3, 2, 1, &permit) == LK_CANAL_OK);
    file = open(path, O_RDONLY | O_CLOEXEC);
    FUZZ_DEMAND(file >= 0 && fstat(file, &status) == 0 && status.st_size <= IMAGE_MAX);
    ret_image->size = (size_t)status.st_size;
    FUZZ_DEMAND(read(file, ret_image->bytes, ret_image->size) == status.st_size);
    (void)close(file);
    lk_canal_close(canal);
    FUZZ_DEMAND(lk_canal_remove(path) == LK_CANAL_OK);
}

static void corrupt(struct image *image, const uint8_t *data, size_t size) {
    while (size >= 3) {
        size_t place = (size_t)data[0] << 8 | data[1];
        size_t piece = data[2] < size - 3 ? data[2] : size - 3;

        data += 3;
        size -= 3;
        if (place + piece <= image->size) {
            memcpy(image->bytes + place, data, piece);
        } else if (place < IMAGE_MAX) {
            image->size = place;
        }
        data += piece;
        size -= piece;
    }
}

static bool see(void *context, const lk_canal_entry *entry) {
    size_t *seen = context;

    FUZZ_DEMAND(entry->key_size >= 1 && entry->key_size <= LK_CANAL_KEY_BYTES_MAX);
    FUZZ_DEMAND(strlen(entry->label) <= LK_CANAL_LABEL_BYTES_MAX);
    (*seen)++;
    return true;
}

static void use(lk_canal *canal) {
    lk_canal_permit permits[ASKS] = {0};
    lk_canal_holder *holder;
    lk_canal_figures figures;
    size_t seen = 0;
    uint32_t counted;

    FUZZ_DEMAND(lk_canal_list(canal, see, &seen) == LK_CANAL_OK);
    FUZZ_DEMAND(lk_canal_measure(canal, &figures) == LK_CANAL_OK);
    FUZZ_DEMAND(lk_canal_count(canal, "key", 3, &counted) == LK_CANAL_OK);
    if (lk_canal_join(canal, LK_CANAL_PROCESS, "fuzz", &holder) != LK_CANAL_OK) {
        return;
    }
    for (size_t i = 0; i < ASKS; i++) {
        const char *key = i % 3 == 0 ? "key" : i % 3 == 1 ? "new" : "far";
        lk_canal_status status = lk_canal_acquire(holder, key, 3, 2, 1, &permits[i]);

        FUZZ_DEMAND(status == LK_CANAL_OK || status == LK_CANAL_FULL || status == LK_CANAL_NO_ROOM
                    || status == LK_CANAL_DAMAGED);
        FUZZ_DEMAND(status != LK_CANAL_OK || permits[i].ordinal <= 2);
    }
    (void)lk_canal_may_have_dead(canal, 1000);
    (void)lk_canal_look(canal);
    for (size_t i = 0; i < ASKS; i++) {
        (void)lk_canal_release(holder, &permits[i]);
    }
    lk_canal_leave(holder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct image image;
    char path[64];
    lk_canal *canal;
    lk_canal_status status;
    int file;

    (void)snprintf(path, sizeof path, "/dev/shm/canal.fuzz.%d", (int)getpid());
    make_image(path, &image);
    corrupt(&image, data, size);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_DEMAND(file >= 0 && write(file, image.bytes, image.size) == (ssize_t)image.size);
    (void)close(file);
    status = lk_canal_open(path, NULL, &canal, NULL);
    FUZZ_DEMAND(status == LK_CANAL_OK || status == LK_CANAL_FOREIGN || status == LK_CANAL_NO_ROOM);
    FUZZ_DEMAND(size >= 3 || status == LK_CANAL_OK);
    if (status == LK_CANAL_OK) {
        use(canal);
        lk_canal_close(canal);
    }
    FUZZ_DEMAND(lk_canal_remove(path) == LK_CANAL_OK);
    return 0;
}

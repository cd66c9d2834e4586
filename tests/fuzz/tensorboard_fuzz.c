/* TensorBoard's event files as a training goes on with them: the first byte of an input is the step
 * from which it goes on, the rest is the file. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "render/tensorboard.h"

static const char name[] = "events.out.tfevents.1.fuzz";
enum { NOTE_BYTES = 512 };

/* The folder without what earlier runs set aside or began. */
static void clear_folder(void) {
    DIR *stream = opendir(fuzz_folder());
    char path[600];
    FUZZ_CHECK(stream != NULL);
    for (const struct dirent *entry; (entry = readdir(stream));) {
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), entry->d_name);
        if (entry->d_name[0] != '.') unlink(path);
    }
    closedir(stream);
}

static uint64_t size_of_file(void) {
    char path[600];
    uint64_t bytes;
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    return hu_file_exists(path) && hu_file_size(path, &bytes) == HU_OK ? bytes : 0;
}

/* NULL if an allocation was made to fail. */
static hu_tensorboard *open_board(int64_t step, char *note) {
    hu_tensorboard *board;
    note[0] = '\0';
    hu_status st = hu_tensorboard_open(fuzz_folder(), step, note, NOTE_BYTES, &board);
    FUZZ_CHECK((st == HU_OK) == (board != NULL));
    FUZZ_CHECK(st == HU_OK || fuzz_was_fault(st));
    return board;
}

void fuzz_one(const uint8_t *data, size_t size) {
    char note[NOTE_BYTES];
    fuzz_cursor cursor = {data, size, 0};
    int64_t step = fuzz_u8(&cursor);
    size_t bytes = size;
    const uint8_t *file = fuzz_take(&cursor, &bytes);
    clear_folder();
    fuzz_put(name, file, bytes);
    hu_tensorboard *board = open_board(step, note);
    if (!board) return;
    const hu_scalar loss = {.tag = "loss", .value = 0.5};
    static const uint64_t buckets[] = {3, 0, 1};
    (void)FUZZ_DONE(hu_tensorboard_scalars(board, step, &loss, 1));
    if (size % 4 == 0) {
        (void)FUZZ_DONE(hu_tensorboard_exponents(board, step, "x", -1, buckets, 3));
        (void)FUZZ_DONE(hu_tensorboard_sync(board));
    }
    hu_tensorboard_close(board);
    uint64_t kept = size_of_file();
    FUZZ_CHECK(!kept || kept <= bytes + 256 + sizeof "loss");
    /* What is left, and what was added, is sound; the step that was added goes again. */
    board = open_board(step + 1, note);
    hu_tensorboard_close(board);
    if (fuzz_was_fault(HU_ERR_MEMORY)) return;
    FUZZ_CHECK(!note[0] && size_of_file() == kept);
}

/* What this version writes: a version event, numbers, and a histogram. */
static void put_file(hu_byte_writer *seed) {
    char note[NOTE_BYTES];
    static const uint64_t buckets[] = {1, 0, 7};
    const hu_scalar scalars[] = {{.tag = "loss", .value = 2.5}, {.tag = "lr", .value = 0.1}};
    clear_folder();
    fuzz_put(name, "", 0);
    hu_tensorboard *board = open_board(0, note);
    for (int64_t step = 0; step < 3; step++) {
        FUZZ_CHECK(hu_tensorboard_scalars(board, step, scalars, 2) == HU_OK);
        FUZZ_CHECK(hu_tensorboard_exponents(board, step, "input", -3, buckets, 3) == HU_OK);
    }
    hu_tensorboard_close(board);
    DIR *stream = opendir(fuzz_folder());
    char path[600];
    uint8_t *data = NULL;
    size_t bytes = 0;
    for (const struct dirent *entry; (entry = readdir(stream));) {
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), entry->d_name);
        if (strncmp(entry->d_name, "events", 6) != 0 || data) continue;
        if (hu_file_read_plain(path, 1 << 20, &data, &bytes) == HU_OK && bytes == 0) {
            hu_free(data);
            data = NULL;
        }
    }
    closedir(stream);
    FUZZ_CHECK(data && hu_write_bytes(seed, data, bytes) == HU_OK);
    hu_free(data);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const uint8_t steps[] = {0, 2, 9};
    if (index >= sizeof steps) return false;
    FUZZ_CHECK(hu_write_u8(seed, steps[index]) == HU_OK);
    put_file(seed);
    return true;
}

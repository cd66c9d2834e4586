/* Directories with checkpoints whose contents are known, for the tests. */
#ifndef HU_TEST_TRAIN_CHECKPOINT_FIXTURE_H
#define HU_TEST_TRAIN_CHECKPOINT_FIXTURE_H
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "store/checkpoint.h"

enum { BODY_BYTES = 1000 };

/* A fresh directory; the caller removes it with remove_directory. */
static inline void make_directory(char path[256]) {
    const char *base = getenv("TMPDIR");
    snprintf(path, 256, "%s/halfulp-checkpoint-XXXXXX", base ? base : P_tmpdir);
    assert_non_null(mkdtemp(path));
}

static inline int count_files(const char *directory) {
    int count = 0;
    DIR *stream = opendir(directory);
    assert_non_null(stream);
    for (const struct dirent *entry; (entry = readdir(stream));) count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

static inline void remove_directory(const char *directory) {
    char path[600];
    DIR *stream = opendir(directory);
    assert_non_null(stream);
    for (const struct dirent *entry; (entry = readdir(stream));) {
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (entry->d_name[0] != '.') assert_int_equal(unlink(path), 0);
    }
    closedir(stream);
    assert_int_equal(rmdir(directory), 0);
}

static inline void path_of(char path[400], const char *directory, int64_t step) {
    snprintf(path, 400, "%s/step-%012lld.hulp", directory, (long long)step);
}

/* Contents that only this step has. */
static inline void fill(uint8_t body[BODY_BYTES], int64_t step) {
    hu_random_key key = {.seed = 11, .stream = 5, .step = (uint64_t)step};
    for (uint64_t i = 0; i < BODY_BYTES; i++) body[i] = (uint8_t)hu_random_word(&key, i);
}

static inline hu_status save(const char *directory, int64_t step, int keep) {
    uint8_t body[BODY_BYTES];
    hu_checkpoint_writer *writer;
    fill(body, step);
    hu_status st = hu_checkpoint_begin(step, &writer);
    if (st == HU_OK) st = hu_checkpoint_add(writer, "config", "lr=0.1", 6);
    if (st == HU_OK) st = hu_checkpoint_add(writer, "empty", NULL, 0);
    if (st == HU_OK) st = hu_checkpoint_add(writer, "weights", body, sizeof body);
    if (st == HU_OK) st = hu_checkpoint_finish(writer, directory, keep);
    hu_checkpoint_writer_free(writer);
    return st;
}

static inline bool holds_step(const hu_checkpoint *checkpoint, int64_t step) {
    uint8_t body[BODY_BYTES];
    const void *data;
    size_t bytes;
    fill(body, step);
    return hu_checkpoint_step(checkpoint) == step &&
           hu_checkpoint_section(checkpoint, "weights", &data, &bytes) == HU_OK &&
           bytes == sizeof body && memcmp(data, body, sizeof body) == 0;
}

#endif

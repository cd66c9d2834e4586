#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/memory.h"

#ifndef FUZZ_FAULT_EVERY
#define FUZZ_FAULT_EVERY 1 /* replays: a failing allocation with every input */
enum { OFTEN = 20 };       /* and so many times as many long checks */
#else
enum { OFTEN = 1 };
#endif

static const uint8_t *input;
static size_t input_bytes;
static uint64_t input_hash;
static bool fault_armed;
static char folder[256];

void fuzz_fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: does not hold: %s\nlast message: %s\n%s, %zu bytes:", file, line, what,
            hu_last_error(), fault_armed ? "input with a failing allocation" : "input",
            input_bytes);
    for (size_t i = 0; i < input_bytes && i < 4096; i++) fprintf(stderr, " %02x", input[i]);
    fputc('\n', stderr);
    abort();
}

bool fuzz_was_fault(hu_status st) {
    return fault_armed && st == HU_ERR_MEMORY;
}

bool fuzz_done(const char *file, int line, const char *what, hu_status st) {
    if (st != HU_OK && !fuzz_was_fault(st)) fuzz_fail(file, line, what);
    return st == HU_OK;
}

/* Different n choose independently of each other. */
bool fuzz_is_one_of(uint64_t n) {
    uint64_t of = (n + OFTEN - 1) / OFTEN;
    return XXH64(&n, sizeof n, input_hash) % of == 0;
}

/* Allocations of one run; the live blocks are as before. */
static uint64_t run_once(const uint8_t *data, size_t size) {
    hu_memory_counts before = hu_memory_count();
    fuzz_one(data, size);
    hu_memory_counts after = hu_memory_count();
    FUZZ_CHECK(after.live_blocks == before.live_blocks);
    FUZZ_CHECK(after.live_bytes == before.live_bytes);
    return after.allocations - before.allocations;
}

/* Which inputs run a second time, and which allocation fails then, follows from their bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input = data;
    input_bytes = size;
    uint64_t hash = input_hash = XXH64(data, size, 0), allocations = run_once(data, size);
    if (allocations == 0 || hash % FUZZ_FAULT_EVERY != 0) return 0;
    fault_armed = true;
    hu_memory_fail_at(1 + hash / FUZZ_FAULT_EVERY % allocations);
    run_once(data, size);
    hu_memory_fail_at(0);
    fault_armed = false;
    return 0;
}

void fuzz_write_seeds(const char *directory) {
    hu_byte_writer seed = {0};
    for (size_t i = 0; fuzz_seed(i, &seed); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/seed-%03zu", directory, i);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(seed.data, 1, seed.size, file) != seed.size || fclose(file) != 0) {
            perror(path);
            exit(1);
        }
        hu_writer_free(&seed);
    }
}

/* "--seeds=DIRECTORY" writes the examples and ends. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    for (int i = 1; i < *argc; i++) {
        if (strncmp((*argv)[i], "--seeds=", 8) != 0) continue;
        fuzz_write_seeds((*argv)[i] + 8);
        exit(0);
    }
    return 0;
}

char *fuzz_text(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    FUZZ_CHECK(text != NULL);
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

bool fuzz_text_seed(const char *text, hu_byte_writer *seed) {
    FUZZ_CHECK(hu_write_bytes(seed, text, strlen(text)) == HU_OK);
    return true;
}

static void remove_folder(void) {
    DIR *stream = opendir(folder);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') unlink(path);
    }
    if (stream) closedir(stream);
    rmdir(folder);
}

const char *fuzz_folder(void) {
    if (folder[0]) return folder;
    const char *base = getenv("TMPDIR");
    if (!base) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir;
    snprintf(folder, sizeof folder, "%s/halfulp-fuzz-XXXXXX", base);
    FUZZ_CHECK(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    return folder;
}

void fuzz_put(const char *name, const void *data, size_t bytes) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    /* Cut after what is written: a file that is emptied or made anew takes longer. */
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    FUZZ_CHECK(file >= 0);
    if (bytes) FUZZ_CHECK(write(file, data, bytes) == (ssize_t)bytes);
    FUZZ_CHECK(ftruncate(file, (off_t)bytes) == 0 && close(file) == 0);
}

void fuzz_keep(const char *name, const void *data, size_t bytes) {
    static struct {
        const char *name;
        uint64_t hash;
        size_t bytes;
    } kept[FUZZ_KEPT_MOST];
    uint64_t hash = XXH64(data, bytes, 0);
    int i = 0;
    while (i < FUZZ_KEPT_MOST && kept[i].name && strcmp(kept[i].name, name) != 0) i++;
    FUZZ_CHECK(i < FUZZ_KEPT_MOST);
    if (kept[i].name && kept[i].hash == hash && kept[i].bytes == bytes) return;
    kept[i].name = name;
    kept[i].hash = hash;
    kept[i].bytes = bytes;
    fuzz_put(name, data, bytes);
}

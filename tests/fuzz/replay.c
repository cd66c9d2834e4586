/* The targets without libFuzzer: files given as arguments, or else the examples as they are, cut at
 * every place and with every byte changed, and a fixed set of hostile inputs. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"

enum { FILE_MAX = 1 << 20, HOSTILE_BYTES = 4096, PLACES_MAX = 300, MIXED = 300 };

/* A copy, so that the sanitizers see a read outside. */
static void run(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    if (size) memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int replay_file(const char *path) {
    static uint8_t data[FILE_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    run(data, size);
    return 0;
}

/* Long examples are changed at PLACES_MAX places only. */
static void replay_changed(uint8_t *data, size_t size) {
    static const uint8_t marks[] = {0x01, 0x80, 0x20};
    size_t stride = 1 + size / PLACES_MAX;
    for (size_t i = 0; i < size; i += stride) {
        uint8_t kept = data[i];
        run(data, i);
        for (size_t m = 0; m < sizeof marks; m++) {
            data[i] = (uint8_t)(kept ^ marks[m]);
            run(data, size);
        }
        data[i] = 0xff;
        run(data, size);
        data[i] = 0;
        run(data, size);
        data[i] = kept;
    }
}

/* Some bytes taken from other places of the example, so that words and numbers change together. */
static void replay_mixed(const uint8_t *data, size_t size, uint64_t number) {
    uint8_t *mixed = malloc(size + 1);
    if (!mixed) abort();
    for (uint64_t n = 0; n < MIXED && size > 0; n++) {
        hu_random_key key = {.seed = 1, .stream = number, .step = n};
        memcpy(mixed, data, size);
        for (uint64_t c = 0; c < 3; c++) {
            size_t length = 1 + hu_random_word(&key, 3 * c) % (size < 16 ? size : 16);
            size_t from = hu_random_word(&key, 3 * c + 1) % (size - length + 1);
            size_t to = hu_random_word(&key, 3 * c + 2) % (size - length + 1);
            memmove(mixed + to, mixed + from, length);
        }
        run(mixed, size);
    }
    free(mixed);
}

static void replay_hostile(void) {
    static uint8_t data[HOSTILE_BYTES];
    static const char repeated[] = "\0\xff([{\"':-,=*? 0e\n\x1f";
    for (unsigned byte = 0; byte < 256; byte++) {
        data[0] = (uint8_t)byte;
        run(data, 1);
    }
    run(data, 0);
    for (size_t i = 0; i + 1 < sizeof repeated; i++)
        for (size_t size = 2; size <= HOSTILE_BYTES; size *= 2) {
            memset(data, repeated[i], size);
            run(data, size);
        }
}

int main(int argc, char **argv) {
    if (argc > 1) {
        int failures = 0;
        LLVMFuzzerInitialize(&argc, &argv);
        for (int i = 1; i < argc; i++) failures += replay_file(argv[i]);
        return failures > 0;
    }
    hu_byte_writer seed = {0};
    for (size_t i = 0; fuzz_seed(i, &seed); i++) {
        run(seed.data, seed.size);
        replay_changed(seed.data, seed.size);
        replay_mixed(seed.data, seed.size, i);
        hu_writer_free(&seed);
    }
    replay_hostile();
    return 0;
}

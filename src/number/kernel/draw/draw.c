#include "kernel/draw/draw.h"

#include "base/cpu.h"
#include "kernel/round/round.h"

enum { TURN = 512 };

static hu_normals_fn *normals(void) {
    static hu_normals_fn *const of_isa[HU_ISA_COUNT] = {HU_OF_ISA(hu_normals)};
    return of_isa[hu_cpu_isa()];
}

void hu_draw_normals(const hu_random_key *key, uint64_t first, size_t count, float *x) {
    /* Number i is made of words 2 i and 2 i + 1, so any stretch of the sequence can be drawn by
     * itself. */
    uint32_t words[2 * TURN];
    hu_normals_fn *make = normals();
    for (size_t done = 0; done < count; done += TURN) {
        size_t n = count - done < TURN ? count - done : TURN;
        hu_random_words_fast(key, 2 * (first + done), 2 * n, words);
        make(n, words, x + done);
    }
}

void hu_draw_uniforms(const hu_random_key *key, uint64_t first, size_t count, float *x) {
    uint32_t words[TURN];
    for (size_t done = 0; done < count; done += TURN) {
        size_t n = count - done < TURN ? count - done : TURN;
        hu_random_words_fast(key, first + done, n, words);
        /* 24 bits: every multiple of 2^-24 in [0, 1) is a float32. */
        for (size_t i = 0; i < n; i++) x[done + i] = (float)(words[i] >> 8) * 0x1p-24f;
    }
}

/* Proof that the kernels of tiles equal loops over numbers.
 *   tensor_tile [--short] [TEXT]
 * Full: a list of free block formats, every mode that they take, every instruction set of this
 * machine: all inputs of 16 leading bits, with a lower half of zeros and of ones, that do not
 * exceed the tile's largest magnitude, for largest magnitudes of every exponent with eight
 * significands; rounded, and packed and unpacked, each value compared bit for bit. --short: a
 * fraction of the largest magnitudes, and not every mode for each. Prints a line per text and "N
 * passed, M failed"; exit code 1 if M > 0. */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "reference/tile.h"
#include "tensor/quantizer.h"

enum { LINES = 4, LINE = 1024, ROW = LINES * LINE, MOST_BYTES = 9 * ROW };
static const hu_random_key key = {21, 32, 43};

static const char *const texts[] = {
    "e4m3fn:tile=1x128:scale=f32",
    "e4m3fn:tile=1x128:scale=f32:as=te",
    "e4m3fn:tile=1x128:scale=f32:least=1e-4",
    "e4m3fn:tile=2x64:scale=pow2",
    "e5m2:tile=1x64:scale=f32",
    "e2m1:tile=1x16:scale=e4m3fn",
    "e2m1:tile=1x16:scale=e4m3fn:as=te",
    "e2m1:tile=1x16:scale=e4m3fn:as=ao",
    "e2m1:tile=4x16:scale=e4m3fn:4/6",
    "e2m1:tile=1x16:scale=e4m3fn:eden=32",
    "e2m1:tile=1x16:scale=ue5m3:factor=none",
    "e3m2:tile=4x1:scale=bf16",
    "e2m1:tile=1x16:scale=e4m3fn:hadamard=16",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static uint64_t passed, failed;

typedef struct task {
    const char *text;
    hu_quantizer quantizer;
    hu_blocker blocker[HU_ISA_COUNT];
    int isas;
} task;

static int compare(const task *t, int isa, const char *what, const float *x, const float *y,
                   const float *wanted) {
    for (int i = 0; i < ROW; i++) {
        if (hu_f32_bits(y[i]) == hu_f32_bits(wanted[i])) continue;
        printf("%s %s %s %s: %a gives %a, expected %a\n", t->text,
               hu_rounding_name(t->quantizer.rounding), hu_isa_name((hu_isa)isa), what,
               (double)x[i], (double)y[i], (double)wanted[i]);
        return 1;
    }
    return 0;
}

static void check_row(const task *t, float tensor_scale, const float *x, uint64_t index) {
    static float wanted[ROW], y[ROW], scales[ROW];
    static uint32_t codes[ROW];
    static uint8_t row[MOST_BYTES];
    const hu_block_format *f = &t->quantizer.block;
    hu_tile_reference(f, t->quantizer.rounding, tensor_scale, LINES, LINE, x, &key, index,
                      hu_hadamard_fixed(f->signs), wanted, codes, scales);
    for (int isa = 0; isa < t->isas; isa++) {
        const hu_blocker *blocker = &t->blocker[isa];
        int bad = 0;
        hu_blocker_round(blocker, tensor_scale, 1, x, y, &key, index, NULL);
        bad += compare(t, isa, "rounded", x, y, wanted);
        hu_blocker_pack(blocker, tensor_scale, 1, x, row, &key, index, NULL);
        hu_blocker_unpack(blocker, tensor_scale, row, 0, ROW, y);
        bad += compare(t, isa, "packed", x, y, wanted);
        failed += (uint64_t)bad;
        passed += bad == 0;
    }
}

/* All patterns up to the largest magnitude, as tiles that hold it. */
static void check_top(const task *t, uint32_t top) {
    static float x[ROW];
    int length = t->quantizer.block.length > 1 ? t->quantizer.block.length : 4;
    uint32_t end = 2 * ((top >> 16) + 1), next = 0;
    float tensor_scale = hu_block_tensor_scale(&t->quantizer.block, top);
    uint64_t index = (uint64_t)top * ROW;
    for (uint32_t low = 0; low <= 0xFFFF; low += 0xFFFF, next = 0)
        while (next < end) {
            for (int i = 0; i < ROW; i++) {
                uint32_t u = (next / 2) << 16 | low;
                bool is_top = i % length == 0 || next >= end || u > top;
                x[i] = hu_f32_of_bits((is_top ? top : u) | (is_top ? 0 : next << 31));
                next += i % length != 0;
            }
            check_row(t, tensor_scale, x, index++);
        }
}

static hu_status check_task(task *t, int step) {
    static const uint32_t significands[] = {0,        1,        0x200000, 0x400000,
                                            0x4CCCCD, 0x600000, 0x700001, 0x7FFFFF};
    hu_status st = HU_OK;
    t->isas = (int)hu_cpu_isa_native() + 1;
    for (int isa = 0; isa < t->isas; isa++)
        HU_TRY(hu_blocker_init_isa(&t->blocker[isa], &t->quantizer.block, t->quantizer.rounding,
                                   ROW, LINE, (hu_isa)isa));
    for (uint32_t field = 0; field < 255; field += (uint32_t)step)
        for (size_t s = 0; s < sizeof significands / sizeof *significands; s++)
            check_top(t, field << 23 | significands[(s + field) % 8]);
done:
    return st;
}

int main(int argc, char **argv) {
    bool is_short = argc > 1 && strcmp(argv[1], "--short") == 0;
    const char *only = argc > 1 + is_short ? argv[1 + is_short] : NULL;
    static task t;
    for (size_t i = 0; i < TEXTS; i++) {
        t.text = texts[i];
        if (only && strcmp(only, t.text) != 0) continue;
        for (int mode = 0; mode < HU_ROUND_COUNT; mode++) {
            if (is_short && (i + (size_t)mode) % 4 != 0) continue;
            bool is_read = hu_quantizer_parse(t.text, (hu_rounding)mode, &t.quantizer) == HU_OK;
            if (!is_read || check_task(&t, is_short ? 97 : 1) != HU_OK) {
                printf("%s: %s\n", t.text, hu_last_error());
                failed++;
            }
        }
        printf("%s: %llu rows\n", t.text, (unsigned long long)passed);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed > 0 || passed == 0;
}

/* Proof that the block kernels equal the integer reference.
 *   kernel_block [--short] [FORMAT [MODE]]
 * Full: every block format, every mode, every instruction set of this machine: all inputs of 16
 * leading bits (65,536 patterns with their lower half zero, and with it all ones) that do not
 * exceed the block's largest magnitude, for largest magnitudes of every exponent with several
 * significands; rounded, and packed and unpacked, each value and each scale compared bit for bit.
 * --short: a fraction of the largest magnitudes.
 * Prints one line per format and "N passed, M failed"; exit code 1 if M > 0. */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "kernel/block/block.h"
#include "reference/block.h"

enum { ROW = 4096, MOST_BYTES = 5 * ROW };
static const hu_random_key key = {21, 32, 43};

/* Every block format, those with another power of their scale after the usual ones. */
static const hu_block_format *format_at(size_t i) {
    size_t usual = 0;
    while (hu_block_format_at(usual)) usual++;
    if (i < usual) return hu_block_format_at(i);
    for (int power = 1; power < HU_BLOCK_POWERS; power++)
        for (size_t f = 0; f < usual; f++) {
            const hu_block_format *format = hu_block_format_with(f, (hu_block_power)power);
            if (format && i-- == usual) return format;
        }
    return NULL;
}

typedef struct task {
    const hu_block_format *format;
    hu_rounding rounding;
    hu_blocker blocker[HU_ISA_COUNT];
    int isas;
} task;

static uint64_t passed, failed;

static void report(const task *t, int isa, const char *what, float x, float y, float wanted) {
    printf("%s %s %s %s: %a gives %a, expected %a\n", t->format->name,
           hu_rounding_name(t->rounding), hu_isa_name((hu_isa)isa), what, (double)x, (double)y,
           (double)wanted);
}

static int compare(const task *t, int isa, const char *what, const float *x, const float *y,
                   const float *wanted) {
    for (int i = 0; i < ROW; i++) {
        if (hu_f32_bits(y[i]) == hu_f32_bits(wanted[i])) continue;
        report(t, isa, what, x[i], y[i], wanted[i]);
        return 1;
    }
    return 0;
}

/* One row of ROW elements on all instruction sets. */
static void check_row(const task *t, float tensor_scale, const float *x, uint64_t index) {
    static float wanted[ROW], y[ROW];
    static uint8_t codes[ROW], scales[ROW], row[MOST_BYTES];
    static uint32_t words[ROW];
    size_t length = (size_t)t->format->length, blocks = ROW / length;
    hu_random_words(&key, index, ROW, words);
    for (size_t b = 0; b < blocks; b++)
        hu_block_reference(t->format, t->rounding, tensor_scale, length, x + b * length,
                           words + b * length, wanted + b * length, codes, &scales[b]);
    for (int isa = 0; isa < t->isas; isa++) {
        const hu_blocker *blocker = &t->blocker[isa];
        int bad = 0;
        hu_blocker_round(blocker, tensor_scale, 1, x, y, &key, index, NULL);
        bad += compare(t, isa, "rounded", x, y, wanted);
        hu_blocker_pack(blocker, tensor_scale, 1, x, row, &key, index, NULL);
        hu_blocker_unpack(blocker, tensor_scale, row, 0, ROW, y);
        bad += compare(t, isa, "packed", x, y, wanted);
        bad += memcmp(row + blocker->code_bytes, scales, blocks) != 0;
        failed += (uint64_t)bad;
        passed += bad == 0;
    }
}

/* All patterns up to the largest magnitude `top`, as blocks that hold it. */
static void check_top(const task *t, uint32_t top) {
    static float x[ROW];
    int length = t->format->length;
    uint32_t end = 2 * ((top >> 16) + 1), next = 0;
    float tensor_scale = hu_block_tensor_scale(t->format, top);
    uint64_t index = (uint64_t)top * ROW;
    for (uint32_t low = 0; low <= 0xFFFF; low += 0xFFFF, next = 0)
        while (next < end) {
            for (int i = 0; i < ROW; i++) {
                uint32_t u = (next / 2) << 16 | low;
                int is_top = i % length == 0 || next >= end || u > top;
                x[i] = hu_f32_of_bits((is_top ? top : u) | (is_top ? 0 : next << 31));
                next += i % length != 0;
            }
            check_row(t, tensor_scale, x, index++);
            /* The same blocks in a tensor with larger numbers. */
            if (hu_block_needs_tensor_scale(t->format) && top < 0x7D000000u)
                check_row(t, hu_block_tensor_scale(t->format, top + 0x02A00000u), x, index++);
        }
}

static void check_task(task *t, int step) {
    static const uint32_t significands[] = {0,        1,        0x200000, 0x400000,
                                            0x4CCCCD, 0x600000, 0x700001, 0x7FFFFF};
    t->isas = (int)hu_cpu_isa_native() + 1;
    for (int isa = 0; isa < t->isas; isa++)
        if (hu_blocker_init_isa(&t->blocker[isa], t->format, t->rounding, ROW, ROW, (hu_isa)isa) !=
            HU_OK)
            failed++;
    for (uint32_t field = 0; field < 255; field += (uint32_t)step)
        for (size_t s = 0; s < sizeof significands / sizeof *significands; s++)
            check_top(t, field << 23 | significands[(s + field) % 8]);
}

int main(int argc, char **argv) {
    int is_short = argc > 1 && strcmp(argv[1], "--short") == 0, first = 1 + is_short;
    const char *only = argc > first ? argv[first] : NULL;
    const char *mode = argc > first + 1 ? argv[first + 1] : NULL;
    static task t;
    for (size_t f = 0; (t.format = format_at(f)) != NULL; f++) {
        if (only && strcmp(only, t.format->name) != 0) continue;
        for (int r = 0; r < HU_ROUND_COUNT; r++) {
            t.rounding = (hu_rounding)r;
            if (mode && strcmp(mode, hu_rounding_name(t.rounding)) != 0) continue;
            /* The short form takes other modes and magnitudes for every format. */
            if (is_short && (f + (size_t)r) % 3 != 0) continue;
            check_task(&t, is_short ? 61 : 1);
        }
        printf("%s: %llu rows\n", t.format->name, (unsigned long long)passed);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)failed);
    return failed > 0 || passed == 0;
}

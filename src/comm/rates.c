#include "comm/rates.h"

#include <math.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/process.h"

enum { NUMBERS = 1 << 20, TURNS = 3 };

/* Arrays of NUMBERS, as floats, as codes and on the wire. */
typedef struct bench {
    const hu_wire *wire;
    float *x;
    uint8_t *codes, *sum, *bits;
} bench;

static void quantise(bench *b) {
    hu_wire_quantise(b->wire, NUMBERS, b->x, 0, b->codes, NULL, 0, NULL);
}

static void decode(bench *b) {
    hu_wire_decode(b->wire, NUMBERS, b->codes, 0, b->x);
}

/* With the checksum of both ends (comm/message.h). */
static void move(bench *b) {
    size_t bytes = hu_wire_bytes(b->wire, NUMBERS);
    hu_wire_pack_bits(b->wire, NUMBERS, b->codes, b->bits);
    uint64_t sums = XXH3_64bits(b->bits, bytes) + XXH3_64bits(b->bits, bytes);
    hu_wire_unpack_bits(b->wire, NUMBERS, b->bits, b->sum);
    b->x[0] += (float)(sums & 1); /* so that no compiler leaves the checksums out */
}

static void add(bench *b) {
    hu_wire_add(b->wire, NUMBERS, b->codes, b->sum, NULL, 0, NULL);
}

/* The best of some turns: others come from what else the machine does. */
static double seconds_of(bench *b, void (*pass)(bench *b)) {
    double best = INFINITY;
    for (int i = 0; i < TURNS; i++) {
        double begun = hu_seconds_now();
        pass(b);
        best = fmin(best, hu_seconds_now() - begun);
    }
    return best / NUMBERS;
}

hu_status hu_comm_rates_measure(const hu_wire *wire, hu_comm_rates *rates) {
    hu_status st = HU_OK;
    bench b = {.wire = wire};
    *rates = (hu_comm_rates){0};
    HU_TRY(HU_NEW_ARRAY(&b.x, NUMBERS));
    HU_TRY(HU_NEW_ARRAY(&b.codes, NUMBERS * hu_wire_code_bytes(wire)));
    HU_TRY(HU_NEW_ARRAY(&b.sum, NUMBERS * hu_wire_code_bytes(wire)));
    HU_TRY(HU_NEW_ARRAY(&b.bits, hu_wire_bytes(wire, NUMBERS)));
    for (int i = 0; i < NUMBERS; i++) b.x[i] = (float)(i % 1000 - 500) * 1e-3f;
    rates->quantise = seconds_of(&b, quantise);
    rates->move = seconds_of(&b, move);
    rates->add = seconds_of(&b, add);
    rates->decode = seconds_of(&b, decode);
done:
    hu_free(b.x);
    hu_free(b.codes);
    hu_free(b.sum);
    hu_free(b.bits);
    return st;
}

/* What bits cost so far: sums step by step, changes, and the state of a checkpoint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bits_fixture.h"
#include "precision/bits.h"
#include "precision/internal.h"

/* Every layer gets other bits in every step; the sums are the formula's, in whole numbers. */
static void test_sums(void **state) {
    (void)state;
    fixture f;
    hu_bits_meter meter;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    uint64_t forward_sum = 0, sum = 0, samples = 0, most_forward = 0, most = 0;
    open_layers(&f, "resnet20", "ldp:3-8", 64000);
    assert_int_equal(hu_bits_meter_create(&f.task, &meter), HU_OK);
    assert_true(isnan(hu_bits_relative_training(&meter)));
    for (uint32_t l = 0; l < f.layers.count; l++) {
        uint64_t macs = (uint64_t)f.layers.layer[l].macs;
        if (!f.layers.layer[l].is_quantised) continue;
        most_forward += 64 * macs;
        most += 192 * macs;
    }
    for (uint32_t step = 0; step < 50; step++) {
        uint64_t count = step % 7 ? 128 : 96;
        samples += count;
        for (uint32_t l = 0; l < f.layers.count; l++) {
            bool is_quantised = f.layers.layer[l].is_quantised;
            uint64_t macs = (uint64_t)f.layers.layer[l].macs;
            uint64_t b = 3 + (step + l) % 6, g = 2 + (step * l) % 7;
            forward[l] = (uint8_t)(is_quantised ? b : HU_BITS_FLOAT32);
            gradient[l] = (uint8_t)(is_quantised ? g : HU_BITS_FLOAT32);
            if (!is_quantised) continue;
            forward_sum += count * macs * b * b;
            sum += count * macs * (b * b + 2 * b * g);
        }
        hu_bits_meter_note(&meter, forward, gradient, (int64_t)count);
        assert_true(meter.any_changed);
    }
    assert_true(meter.spent->forward == (double)forward_sum);
    assert_true(meter.spent->training == (double)sum);
    assert_true(hu_bits_relative_forward(&meter) ==
                (double)forward_sum / ((double)samples * (double)most_forward));
    assert_true(hu_bits_relative_training(&meter) ==
                (double)sum / ((double)samples * (double)most));
    hu_bits_meter_free(&meter);
    close_fixture(&f);
}

/* Only layers whose bits differ from the step before are told of; float32 ones never. */
static void test_changes(void **state) {
    (void)state;
    fixture f;
    hu_bits_meter meter;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    open_layers(&f, "resnet20", "cpt:4-8", 64000);
    assert_int_equal(hu_bits_meter_create(&f.task, &meter), HU_OK);
    hu_bits_fill(&f.layers, 4, forward);
    hu_bits_fill(&f.layers, 8, gradient);
    hu_bits_meter_note(&meter, forward, gradient, 1);
    for (uint32_t l = 0; l < f.layers.count; l++)
        assert_int_equal(meter.has_changed[l], f.layers.layer[l].is_quantised);
    hu_bits_meter_note(&meter, forward, gradient, 1);
    assert_false(meter.any_changed);
    forward[3] = 5;
    gradient[7] = 6;
    hu_bits_meter_note(&meter, forward, gradient, 1);
    for (uint32_t l = 0; l < f.layers.count; l++)
        assert_int_equal(meter.has_changed[l], l == 3 || l == 7);
    hu_bits_meter_free(&meter);
    close_fixture(&f);
}

/* A meter that goes on from a state is the one that was saved; other bytes are refused. */
static void test_state(void **state) {
    (void)state;
    fixture f;
    hu_bits_meter meter, other;
    uint8_t forward[LAYERS_MOST], gradient[LAYERS_MOST];
    char copy[4096];
    const void *data;
    size_t bytes;
    open_layers(&f, "resnet20", "cpt:4-8", 64000);
    assert_int_equal(hu_bits_meter_create(&f.task, &meter), HU_OK);
    assert_int_equal(hu_bits_meter_create(&f.task, &other), HU_OK);
    hu_bits_meter_state(&meter, &data, &bytes);
    assert_int_equal(bytes, 0);
    assert_int_equal(hu_bits_meter_check(&meter, data, bytes), HU_OK);
    hu_bits_fill(&f.layers, 5, forward);
    hu_bits_fill(&f.layers, 8, gradient);
    hu_bits_meter_note(&meter, forward, gradient, 128);
    hu_bits_meter_state(&meter, &data, &bytes);
    assert_int_equal(bytes, 32 + 2 * f.layers.count);
    memcpy(copy, data, bytes);
    assert_int_equal(hu_bits_meter_check(&other, copy, bytes), HU_OK);
    hu_bits_meter_restore(&other, copy, bytes);
    hu_bits_meter_note(&other, forward, gradient, 128);
    hu_bits_meter_note(&meter, forward, gradient, 128);
    assert_false(other.any_changed);
    assert_memory_equal(other.spent, meter.spent, bytes);
    assert_int_equal(hu_bits_meter_check(&other, copy, bytes - 1), HU_ERR_CORRUPT);
    const struct {
        size_t offset;
        uint64_t word;
    } wrong[] = {{0, 0x7ff8000000000000u}, /* NaN */
                 {8, 0xbff0000000000000u}, /* -1 */
                 {16, 0},
                 {24, f.layers.count + 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char bad[sizeof copy];
        memcpy(bad, copy, bytes);
        memcpy(bad + wrong[i].offset, &wrong[i].word, sizeof wrong[i].word);
        assert_int_equal(hu_bits_meter_check(&other, bad, bytes), HU_ERR_CORRUPT);
    }
    hu_bits_meter_free(&meter);
    hu_bits_meter_free(&other);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

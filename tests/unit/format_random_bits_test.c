/* Stochastic rounding by N random bits: every word of N = 1 to 8 bits, every kind, all multiples of
 * 1/512 of the distance of two neighbours, against IEEE P3109's rules in integers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <halfulp/format.h>

enum { PARTS = 512 };

/* v = k / 512, R of n bits. Source: Interim Report 4.0, 4.7.4. */
static int goes_up(uint32_t k, uint32_t n, hu_random_kind kind, uint32_t random) {
    uint32_t part = k << n, rest = part % PARTS, whole = part / PARTS;
    switch (kind) {
    case HU_RANDOM_A:
        return whole + random >= 1u << n;
    case HU_RANDOM_B:
        return (k << (n + 1)) / PARTS + 2 * random + 1 >= 2u << n;
    default:
        whole += rest > PARTS / 2 || (rest == PARTS / 2 && whole % 2 == 1);
        return whole + random >= 1u << n;
    }
}

static void check(const hu_format *format, const char *name, double from, double to, uint32_t n,
                  hu_random_kind kind) {
    const hu_rounding mode = hu_rounding_of_bits(n, kind);
    for (uint32_t k = 0; k < PARTS; k++) {
        float x = (float)(from + (to - from) * k / PARTS);
        assert_true((double)x == from + (to - from) * k / PARTS);
        for (uint32_t t = 0; t < 1u << n; t++) {
            /* Other bits of the word do not count. */
            uint32_t word = t << (32 - n) | (k * 2654435761u >> n);
            double found = hu_format_round(format, mode, x, word);
            double wanted = goes_up(k, n, kind, (1u << n) - 1 - t) ? to : from;
            if (found != wanted)
                fail_msg("%s %s: %a, word 0x%08x: found %a, expected %a", name,
                         hu_rounding_name(mode), (double)x, word, found, wanted);
        }
    }
}

/* From a number to the next one away from 0: among the subnormals, at 1, up to the largest. */
static void every_word_of_few_bits_decides_as_p3109_says(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double from[3], to[3];
    } rows[] = {
        {"e5m2", {0, 1, -49152}, {0x1p-16, 1.25, -57344}},
        {"e4m3fn", {-0x1p-9, 1, 416}, {-0x1p-8, 1.125, 448}},
        {"bf16", {0x1p-126, -1, 0x1p127}, {0x1.02p-126, -1.0078125, 0x1.02p127}},
        {"fp16", {0, -1, 65472}, {0x1p-24, -1.0009765625, 65504}},
        {"1/6/9/d", {0x1p-39, 1, -0x1.ff0p31}, {0x1p-38, 1.001953125, -0x1.ff8p31}},
        {"e3m0", {0.25, -1, 4}, {0.5, -2, 8}},
        {"e4m3:bias=140", {0x1p-132, -0x1p-131, 0x1p-130}, {0x1.2p-132, -0x1.2p-131, 0x1.2p-130}},
        {"binary8p1se", {0, 1, -0x1p61}, {0x1p-63, 2, -0x1p62}},
        {"binary8p3ue", {0x1p-33, 1, 0x1p31}, {0x1p-32, 1.25, 0x1.4p31}},
        {"posit8", {0x1p-24, 1, -0x1p20}, {0x1p-20, 1.125, -0x1p24}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hu_format format;
        if (hu_format_parse(rows[i].name, &format) != HU_OK) fail_msg("%s", hu_last_error());
        for (int place = 0; place < 3; place++)
            for (uint32_t n = 1; n <= 8; n++)
                for (int kind = 0; kind < HU_RANDOM_COUNT; kind++)
                    check(&format, rows[i].name, rows[i].from[place], rows[i].to[place], n,
                          (hu_random_kind)kind);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_of_few_bits_decides_as_p3109_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

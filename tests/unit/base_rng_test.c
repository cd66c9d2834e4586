#include "base/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint32_t rotate(uint32_t x, unsigned by) {
    return x << by | x >> (32 - by);
}

/* Threefry4x32 written from the paper (Salmon et al., SC 2011, section 3.3), any rounds. */
static void threefry(unsigned rounds, const uint32_t counter[4], const uint32_t key[4],
                     uint32_t out[4]) {
    static const unsigned turns[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                         {6, 20},  {17, 11}, {25, 10}, {18, 20}};
    uint32_t k[5] = {key[0], key[1], key[2], key[3],
                     0x1BD11BDAu ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
    for (int i = 0; i < 4; i++) out[i] = counter[i] + k[i];
    for (unsigned r = 0; r < rounds; r++) {
        unsigned a = r % 2 ? 3 : 1, b = r % 2 ? 1 : 3;
        out[0] += out[a];
        out[a] = rotate(out[a], turns[r % 8][0]) ^ out[0];
        out[2] += out[b];
        out[b] = rotate(out[b], turns[r % 8][1]) ^ out[2];
        if (r % 4 != 3) continue;
        unsigned injection = r / 4 + 1;
        for (unsigned i = 0; i < 4; i++) out[i] += k[(injection + i) % 5];
        out[3] += injection;
    }
}

/* Vectors published with Random123 (kat_vectors): they bind the function above, and that one binds
 * the library's 12 rounds, for which none are published. */
static void blocks_equal_threefry_bound_to_the_published_vectors(void **state) {
    (void)state;
    static const struct {
        unsigned rounds;
        uint32_t counter[4], key[4], out[4];
    } known[] = {
        {13, {0}, {0}, {0x531c7e4f, 0x39491ee5, 0x2c855a92, 0x3d6abf9a}},
        {13,
         {~0u, ~0u, ~0u, ~0u},
         {~0u, ~0u, ~0u, ~0u},
         {0xc4189358, 0x1c9cc83a, 0xd5881c67, 0x6a0a89e0}},
        {13,
         {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0, 0x082efa98, 0xec4e6c89},
         {0x4aa71d8f, 0x734738c2, 0x431fc6a8, 0xae6debf1}},
        {20, {0}, {0}, {0x9c6ca96a, 0xe17eae66, 0xfc10ecd4, 0x5256a7d8}},
    };
    uint32_t words[4], expected[4];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        threefry(known[i].rounds, known[i].counter, known[i].key, words);
        assert_memory_equal(words, known[i].out, sizeof words);
    }
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t seed = i * UINT64_C(0x9e3779b97f4a7c15), stream = ~seed * 3, step = seed >> 7;
        uint64_t block = i % 2 ? i : seed * 5;
        hu_random_key key = {seed, stream, step};
        uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)step,
                         (uint32_t)(step >> 32)};
        uint32_t k[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)stream,
                         (uint32_t)(stream >> 32)};
        threefry(12, c, k, expected);
        hu_random_block(&key, block, words);
        assert_memory_equal(words, expected, sizeof words);
    }
}

static void words_do_not_depend_on_how_calls_are_split(void **state) {
    (void)state;
    hu_random_key key = {42, hu_stream_id("test", "split"), 7};
    enum { N = 61 };
    uint32_t one[N], whole[N], parts[N];
    for (uint64_t first = 0; first < 9; first++) {
        for (uint64_t i = 0; i < N; i++) one[i] = hu_random_word(&key, first + i);
        hu_random_words(&key, first, N, whole);
        assert_memory_equal(whole, one, sizeof one);
        for (uint64_t cut = 0; cut <= N; cut++) {
            memset(parts, 0, sizeof parts);
            hu_random_words(&key, first + cut, N - cut, parts + cut);
            hu_random_words(&key, first, cut, parts);
            assert_memory_equal(parts, one, sizeof one);
        }
    }
}

static void seed_stream_step_each_change_every_block(void **state) {
    (void)state;
    hu_random_key base = {1, 2, 3}, seed = {2, 2, 3}, stream = {1, 3, 3}, step = {1, 2, 4};
    const hu_random_key *others[] = {&seed, &stream, &step};
    for (uint64_t i = 0; i < 100; i++)
        for (int k = 0; k < 3; k++)
            assert_true(hu_random_word(&base, i) != hu_random_word(others[k], i));
    assert_true(hu_stream_id("round", "a") != hu_stream_id("round", "b"));
    assert_true(hu_stream_id("round", "") != hu_stream_id("shuffle", ""));
    assert_true(hu_stream_id("ab", "c") != hu_stream_id("a", "bc"));
}

/* Bounds are five standard errors of the exact moments. */
static void uniform_and_normal_numbers_have_their_moments(void **state) {
    (void)state;
    hu_random_key key = {5, hu_stream_id("test", "moments"), 0};
    enum { N = 1 << 18 };
    double u1 = 0, u2 = 0, n1 = 0, n2 = 0, n4 = 0, lag = 0, before = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = (double)hu_random_uniform(&key, i), n = (double)hu_random_normal(&key, i);
        assert_true(u >= 0 && u < 1);
        assert_true(isfinite(n));
        u1 += u;
        u2 += (u - 0.5) * (u - 0.5);
        n1 += n;
        n2 += n * n;
        n4 += n * n * n * n;
        lag += n * before;
        before = n;
    }
    double root = sqrt((double)N);
    assert_true(fabs(u1 / N - 0.5) < 5 * sqrt(1.0 / 12) / root);
    assert_true(fabs(u2 / N - 1.0 / 12) < 5 * sqrt(1.0 / 180) / root);
    assert_true(fabs(n1 / N) < 5 / root);
    assert_true(fabs(n2 / N - 1) < 5 * sqrt(2.0) / root);
    assert_true(fabs(n4 / N - 3) < 5 * sqrt(96.0) / root);
    assert_true(fabs(lag / N) < 5 / root);
}

static void numbers_below_a_bound_are_even_and_in_range(void **state) {
    (void)state;
    hu_random_key key = {6, hu_stream_id("test", "below"), 0};
    enum { N = 70000, BOUND = 7 };
    double counts[BOUND] = {0}, chi = 0;
    for (uint64_t i = 0; i < N; i++) {
        uint64_t value = hu_random_below(&key, i, BOUND);
        assert_in_range(value, 0, BOUND - 1);
        counts[value] += 1;
    }
    for (int i = 0; i < BOUND; i++)
        chi += (counts[i] - N / BOUND) * (counts[i] - N / BOUND) / (N / BOUND);
    assert_true(chi < 22.5); /* 99.9 % of chi-squared with 6 degrees of freedom */
    assert_int_equal(hu_random_below(&key, 3, 1), 0);
    bool high = false;
    for (uint64_t i = 0; i < 64; i++) {
        uint64_t value = hu_random_below(&key, i, UINT64_MAX);
        assert_true(value < UINT64_MAX);
        high |= value >> 63;
    }
    assert_true(high);
}

static void permutations_hold_every_number_once(void **state) {
    (void)state;
    enum { N = 1000 };
    uint32_t order[N], again[N], other[N];
    hu_random_key key = {7, hu_stream_id("shuffle", ""), 1}, next = key;
    next.step = 2;
    for (uint32_t count = 0; count <= N; count += count < 9 ? 1 : 991) {
        bool seen[N] = {false};
        hu_random_permutation(&key, count, order);
        for (uint32_t i = 0; i < count; i++) {
            assert_in_range(order[i], 0, count - 1);
            assert_false(seen[order[i]]);
            seen[order[i]] = true;
        }
    }
    hu_random_permutation(&key, N, again);
    assert_memory_equal(order, again, sizeof order);
    hu_random_permutation(&next, N, other);
    assert_memory_not_equal(order, other, sizeof order);
}

static void all_permutations_of_three_are_equally_likely(void **state) {
    (void)state;
    double counts[27] = {0}, chi = 0;
    enum { N = 6000 };
    for (uint64_t step = 0; step < N; step++) {
        uint32_t order[3];
        hu_random_key key = {8, hu_stream_id("shuffle", ""), step};
        hu_random_permutation(&key, 3, order);
        counts[9 * order[0] + 3 * order[1] + order[2]] += 1;
    }
    for (int i = 0; i < 27; i++)
        if (counts[i] > 0) chi += (counts[i] - 1000) * (counts[i] - 1000) / 1000;
    assert_true(chi > 0 && chi < 20.5); /* 99.9 % with 5 degrees of freedom */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_equal_threefry_bound_to_the_published_vectors),
        cmocka_unit_test(words_do_not_depend_on_how_calls_are_split),
        cmocka_unit_test(seed_stream_step_each_change_every_block),
        cmocka_unit_test(uniform_and_normal_numbers_have_their_moments),
        cmocka_unit_test(numbers_below_a_bound_are_even_and_in_range),
        cmocka_unit_test(permutations_hold_every_number_once),
        cmocka_unit_test(all_permutations_of_three_are_equally_likely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "train/optimizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"

/* Three tensors: more than a chunk, an odd few, and one that is not packed. */
enum { TENSORS = 4, LONG = 5003, ELEMENTS = LONG + 7 + 300 + 5, STEPS = 5, SEED = 11 };

typedef struct plan {
    hu_state_tensor tensor[TENSORS];
    hu_state_plan plan;
} plan;

static hu_quantizer quantizer_of(const char *text) {
    hu_quantizer quantizer;
    assert_int_equal(hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, &quantizer), HU_OK);
    return quantizer;
}

/* formats: of the tensors, of both sorts of state. */
static void make_plan(plan *p, const char *const formats[TENSORS]) {
    static const int64_t count[TENSORS] = {LONG, 7, 300, 5};
    static const char *const name[TENSORS] = {"a.weight", "a.bias", "b.weight", "b.bias"};
    int64_t first = 0;
    for (int i = 0; i < TENSORS; i++) {
        hu_quantizer quantizer = quantizer_of(formats[i]);
        p->tensor[i] = (hu_state_tensor){first, count[i], name[i], {quantizer, quantizer}};
        first += count[i];
    }
    p->plan = (hu_state_plan){p->tensor, TENSORS, SEED, true};
}

static float sample(uint64_t purpose, uint64_t step, uint64_t index) {
    hu_random_key key = {.seed = 7, .stream = purpose, .step = step};
    float x = hu_random_normal(&key, index);
    /* Gradients of many magnitudes, some of them too small for any 8 bits. */
    return ldexpf(x, -(int)(hu_random_word(&key, index + (1 << 20)) % 24));
}

static void fill(float *x, uint64_t purpose, uint64_t step) {
    for (uint64_t i = 0; i < ELEMENTS; i++) x[i] = sample(purpose, step, i);
}

/* Bytes of one number. */
static size_t width_of(const hu_quantizer *quantizer) {
    return !hu_quantizer_rounds(quantizer) ? 4 : hu_quantizer_code_bits(quantizer) > 8 ? 2 : 1;
}

/* Numbers of the state of a sort, read by the public unpacking: tensors begin at multiples of four
 * bytes. Gives the bytes of all. */
static size_t decode(const plan *p, int sort, const void *data, float *x) {
    size_t at = 0;
    for (int i = 0; i < TENSORS; i++) {
        const hu_state_tensor *tensor = &p->tensor[i];
        const hu_quantizer *quantizer = &tensor->quantizer[sort];
        size_t width = width_of(quantizer), n = (size_t)tensor->count;
        const unsigned char *codes = (const unsigned char *)data + at;
        if (width == 4)
            memcpy(x + tensor->first, codes, 4 * n);
        else
            assert_int_equal(
                hu_unpack(n, codes, x + tensor->first, &quantizer->format, (int)(8 * width)),
                HU_OK);
        at += (width * n + 3) / 4 * 4;
    }
    return at;
}

/* One number after the other by the definition of rounding. lost: how many became zero. */
static void round_by_hand(const plan *p, int sort, uint64_t t, float *x, uint64_t *lost) {
    static const char *const purpose[] = {"state.momentum", "state.squares"};
    for (int i = 0; i < TENSORS; i++) {
        const hu_state_tensor *tensor = &p->tensor[i];
        const hu_quantizer *quantizer = &tensor->quantizer[sort];
        hu_random_key key = {SEED, hu_stream_id(purpose[sort], tensor->name), t};
        lost[i] = 0;
        if (!hu_quantizer_rounds(quantizer)) continue;
        for (int64_t e = 0; e < tensor->count; e++) {
            float *number = &x[tensor->first + e], before = *number;
            *number = hu_format_round(&quantizer->format, quantizer->rounding, before,
                                      hu_random_word(&key, (uint64_t)e));
            lost[i] += before != 0.0f && *number == 0.0f;
        }
    }
}

/* Sort of block 1, 2, ... of a kind's state. */
static int sort_of(hu_optimizer_kind kind, size_t block) {
    bool only_squares = kind == HU_OPTIMIZER_RMSPROP || kind == HU_OPTIMIZER_ADAGRAD;
    return only_squares || block == 2 ? HU_STATE_SQUARES : HU_STATE_MOMENTUM;
}

/* The optimizer in float32 on the decoded state, which is then rounded: the definition. */
typedef struct oracle {
    hu_optimizer *optimizer; /* float32 */
    float state[2][ELEMENTS];
    float w[ELEMENTS];
} oracle;

static void step_oracle(oracle *o, const plan *p, hu_optimizer_kind kind, const float *g, double lr,
                        uint64_t lost[2][TENSORS]) {
    const char *name;
    const void *data;
    size_t bytes;
    hu_optimizer_begin_step(o->optimizer, lr);
    hu_optimizer_apply(o->optimizer, 0, ELEMENTS, o->w, g, HU_TENSOR_UPDATE);
    for (size_t b = 1; hu_optimizer_state(o->optimizer, b, &name, &data, &bytes); b++) {
        memcpy(o->state[b - 1], data, bytes);
        round_by_hand(p, sort_of(kind, b), (uint64_t)hu_optimizer_t(o->optimizer), o->state[b - 1],
                      lost[b - 1]);
        assert_int_equal(hu_optimizer_restore(o->optimizer, b, o->state[b - 1], bytes), HU_OK);
    }
}

/* In pieces that end where tensors do, or in the middle, from the last to the first. */
static void step_packed(hu_optimizer *optimizer, const plan *p, float *w, const float *g, double lr,
                        bool backwards) {
    int64_t piece = backwards ? 512 : LONG;
    hu_optimizer_begin_step(optimizer, lr);
    for (int k = 0; k < TENSORS; k++) {
        const hu_state_tensor *tensor = &p->tensor[backwards ? TENSORS - 1 - k : k];
        for (int64_t at = 0; at < tensor->count; at += piece) {
            int64_t n = tensor->count - at < piece ? tensor->count - at : piece;
            int64_t from = tensor->first + at;
            hu_optimizer_apply(optimizer, from, n, w + from, g + from, HU_TENSOR_UPDATE);
        }
    }
}

static void check_state(const plan *p, const hu_optimizer *optimizer, const oracle *o,
                        hu_optimizer_kind kind, uint64_t lost[2][TENSORS]) {
    static float decoded[ELEMENTS];
    const char *name;
    const void *data;
    size_t bytes, b = 1;
    for (; hu_optimizer_state(optimizer, b, &name, &data, &bytes); b++) {
        int sort = sort_of(kind, b);
        assert_int_equal(decode(p, sort, data, decoded), bytes);
        assert_memory_equal(decoded, o->state[b - 1], sizeof decoded);
        for (uint32_t i = 0; i < TENSORS; i++) {
            const hu_moment_part *part = hu_optimizer_part(optimizer, (hu_state_sort)sort, i);
            assert_non_null(part);
            assert_int_equal(part->is_packed, hu_quantizer_rounds(&p->tensor[i].quantizer[sort]));
            if (!part->is_packed) continue;
            assert_int_equal(part->counts.elements, p->tensor[i].count);
            assert_int_equal(part->counts.underflow, lost[b - 1][i]);
        }
    }
    assert_int_equal(b, hu_optimizer_has_state(&(hu_optimizer_options){.kind = kind, .momentum = 1},
                                               HU_STATE_MOMENTUM) +
                            (kind >= HU_OPTIMIZER_ADAM && kind != HU_OPTIMIZER_LARS) + 1);
}

static void follow(const hu_optimizer_options *options, const plan *p, bool backwards) {
    static oracle o;
    static float w[ELEMENTS], g[ELEMENTS];
    uint64_t lost[2][TENSORS];
    hu_optimizer *optimizer;
    assert_int_equal(hu_optimizer_create(options, ELEMENTS, NULL, &o.optimizer), HU_OK);
    assert_int_equal(hu_optimizer_create(options, ELEMENTS, &p->plan, &optimizer), HU_OK);
    fill(w, 1, 0);
    memcpy(o.w, w, sizeof w);
    for (uint64_t t = 0; t < STEPS; t++) {
        fill(g, 2, t);
        step_oracle(&o, p, options->kind, g, 0.125, lost);
        step_packed(optimizer, p, w, g, 0.125, backwards);
        assert_memory_equal(w, o.w, sizeof w);
        check_state(p, optimizer, &o, options->kind, lost);
    }
    hu_optimizer_free(optimizer);
    hu_optimizer_free(o.optimizer);
}

static void every_optimizer_rounds_its_state_behind_a_float32_update(void **state) {
    (void)state;
    static const char *const formats[][TENSORS] = {
        {"bf16 sr", "e5m2 sr", "fp32", "fp16"},
        {"e4m3fn:bias=16:ovf=sat", "bf16", "1/6/9/n sr", "fp32"},
        {"fp32", "e3m2 sr", "e5m2:ovf=sat", "e4m3 rz"}};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int kind = 0; kind < HU_OPTIMIZER_COUNT; kind++) {
            hu_optimizer_options options = hu_optimizer_defaults((hu_optimizer_kind)kind);
            plan p;
            options.weight_decay = 0.25;
            make_plan(&p, formats[f]);
            follow(&options, &p, false);
            follow(&options, &p, true);
            options.nesterov = kind == HU_OPTIMIZER_SGD;
            if (options.nesterov) follow(&options, &p, false);
        }
}

static void a_plan_of_float32_is_no_plan(void **state) {
    (void)state;
    plan p;
    hu_optimizer *optimizer;
    const char *name;
    const void *data;
    size_t bytes;
    hu_optimizer_options options = hu_optimizer_defaults(HU_OPTIMIZER_SGD);
    make_plan(&p, (const char *const[]){"fp32", "fp32", "fp32", "fp32"});
    assert_int_equal(hu_optimizer_create(&options, ELEMENTS, &p.plan, &optimizer), HU_OK);
    assert_true(hu_optimizer_state(optimizer, 1, &name, &data, &bytes));
    assert_int_equal(bytes, ELEMENTS * sizeof(float));
    assert_null(hu_optimizer_part(optimizer, HU_STATE_MOMENTUM, 0));
    hu_optimizer_free(optimizer);
}

/* The allocator counts just the packed bytes. */
static void packed_state_takes_the_bytes_of_its_codes(void **state) {
    (void)state;
    plan p;
    hu_optimizer *optimizer;
    hu_optimizer_options options = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
    make_plan(&p, (const char *const[]){"e5m2 sr", "bf16", "fp32", "e4m3"});
    uint64_t before = hu_memory_live(HU_MEMORY_OPTIMIZER);
    assert_int_equal(hu_optimizer_create(&options, ELEMENTS, &p.plan, &optimizer), HU_OK);
    uint64_t each = (LONG + 3) / 4 * 4 + (2 * 7 + 2) + 4 * 300 + 8;
    assert_int_equal(hu_memory_live(HU_MEMORY_OPTIMIZER) - before, 2 * each);
    hu_optimizer_free(optimizer);
    assert_int_equal(hu_memory_live(HU_MEMORY_OPTIMIZER), before);
}

/* Exponents of the numbers before they are rounded, in steps that ask for them. */
static void exponents_are_recorded_before_rounding(void **state) {
    (void)state;
    plan p;
    hu_optimizer *optimizer;
    static float w[ELEMENTS], g[ELEMENTS];
    hu_optimizer_options options = {.kind = HU_OPTIMIZER_SGD, .momentum = 0.5};
    make_plan(&p, (const char *const[]){"e4m3", "fp32", "fp32", "fp32"});
    for (int i = 0; i < ELEMENTS; i++) g[i] = 0x1.8p-20f;
    assert_int_equal(hu_optimizer_create(&options, ELEMENTS, &p.plan, &optimizer), HU_OK);
    const hu_moment_part *part = hu_optimizer_part(optimizer, HU_STATE_MOMENTUM, 0);
    hu_optimizer_begin_step(optimizer, 1);
    hu_optimizer_record(optimizer);
    hu_optimizer_apply(optimizer, 0, LONG, w, g, HU_TENSOR_UPDATE);
    assert_int_equal(part->exponents->elements, LONG);
    assert_int_equal(part->exponents->bin[-20 - HU_HISTOGRAM_LEAST], LONG);
    assert_int_equal(part->counts.underflow, LONG);
    hu_optimizer_begin_step(optimizer, 1);
    hu_optimizer_apply(optimizer, 0, LONG, w, g, HU_TENSOR_UPDATE);
    assert_int_equal(part->exponents->elements, LONG); /* still those of the recorded step */
    assert_null(hu_optimizer_part(optimizer, HU_STATE_MOMENTUM, 1)->exponents);
    hu_optimizer_free(optimizer);
}

static void formats_that_cannot_be_packed_are_named(void **state) {
    (void)state;
    static const struct {
        const char *format, *found;
    } bad[] = {{"uniform8", "uniform integers"},
               {"mxfp8", "block format"},
               {"e4m3fn:scale=current", "scale"},
               {"e4m3fn:scale=delayed", "scale"},
               {"tf32", "more than 16 bits"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hu_quantizer quantizer = quantizer_of(bad[i].format);
        assert_int_equal(hu_state_check(&quantizer), HU_ERR_ARGUMENT);
        assert_non_null(strstr(hu_last_error(), bad[i].found));
        assert_non_null(strstr(hu_last_error(), "expected a number format of at most 16 bits"));
    }
    static const char *const good[] = {"fp32", "bf16 sr", "e5m2", "e4m3fn:scale=2^12", "e2m1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        hu_quantizer quantizer = quantizer_of(good[i]);
        assert_int_equal(hu_state_check(&quantizer), HU_OK);
    }
}

static void sums_of_squares_are_not_negative(void **state) {
    (void)state;
    plan p;
    hu_optimizer *optimizer;
    const char *name;
    const void *data;
    size_t bytes;
    hu_optimizer_options options = hu_optimizer_defaults(HU_OPTIMIZER_ADAM);
    make_plan(&p, (const char *const[]){"bf16", "bf16", "bf16", "bf16"});
    assert_int_equal(hu_optimizer_create(&options, ELEMENTS, &p.plan, &optimizer), HU_OK);
    assert_true(hu_optimizer_state(optimizer, 2, &name, &data, &bytes));
    unsigned char *saved = calloc(1, bytes);
    assert_non_null(saved);
    memcpy(saved, (const uint16_t[]){0x8000}, 2); /* -0 is none */
    assert_int_equal(hu_optimizer_restore(optimizer, 2, saved, bytes), HU_OK);
    static const uint16_t bad[] = {0xbf80, 0x7fc0}; /* -1, NaN */
    for (int i = 0; i < 2; i++) {
        memcpy(saved + 20, &bad[i], 2);
        assert_int_equal(hu_optimizer_restore(optimizer, 1, saved, bytes), HU_OK);
        assert_int_equal(hu_optimizer_restore(optimizer, 2, saved, bytes), HU_ERR_CORRUPT);
        assert_non_null(strstr(hu_last_error(), "element 10"));
    }
    assert_int_equal(*((const uint16_t *)data + 10), 0);
    free(saved);
    hu_optimizer_free(optimizer);
}

static void adagrad_begins_with_a_number_of_the_format(void **state) {
    (void)state;
    plan p;
    hu_optimizer *optimizer;
    static float decoded[ELEMENTS];
    const char *name;
    const void *data;
    size_t bytes;
    hu_optimizer_options options = hu_optimizer_defaults(HU_OPTIMIZER_ADAGRAD);
    options.initial = 0.1;
    options.eps = 0;
    make_plan(&p, (const char *const[]){"e5m2", "fp32", "bf16", "fp32"});
    assert_int_equal(hu_optimizer_create(&options, ELEMENTS, &p.plan, &optimizer), HU_OK);
    hu_optimizer_begin(optimizer);
    assert_true(hu_optimizer_state(optimizer, 1, &name, &data, &bytes));
    decode(&p, HU_STATE_SQUARES, data, decoded);
    for (int i = 0; i < LONG; i++) assert_true(decoded[i] == 0.09375f);
    assert_true(decoded[LONG] == 0.1f);
    assert_int_equal(hu_optimizer_part(optimizer, HU_STATE_SQUARES, 0)->counts.elements, 0);
    hu_optimizer_free(optimizer);
    options.initial = 1e-6;
    assert_int_equal(hu_optimizer_create(&options, ELEMENTS, &p.plan, &optimizer), HU_ERR_ARGUMENT);
    assert_null(optimizer);
    assert_non_null(strstr(hu_last_error(), "optimizer.initial: found 1e-06"));
    assert_non_null(strstr(hu_last_error(), "a.weight"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optimizer_rounds_its_state_behind_a_float32_update),
        cmocka_unit_test(a_plan_of_float32_is_no_plan),
        cmocka_unit_test(packed_state_takes_the_bytes_of_its_codes),
        cmocka_unit_test(exponents_are_recorded_before_rounding),
        cmocka_unit_test(formats_that_cannot_be_packed_are_named),
        cmocka_unit_test(sums_of_squares_are_not_negative),
        cmocka_unit_test(adagrad_begins_with_a_number_of_the_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

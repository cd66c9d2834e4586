#include "train/optimizer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <halfulp/random.h>

#include "base/error.h"
#include "base/memory.h"
#include "tensor/storage.h"

/* ---- optimizer state ---- */

enum { MOST_BITS = 16 };

hu_status hu_state_check(const hu_quantizer *quantizer) {
    char format[HU_QUANTIZER_BYTES];
    const char *found = NULL;
    if (!hu_quantizer_rounds(quantizer)) return HU_OK;
    hu_quantizer_print(quantizer, format, sizeof format);
    if (quantizer->kind == HU_QUANTIZER_UNIFORM)
        found = "uniform integers, whose numbers depend on the range of a tensor";
    else if (quantizer->kind == HU_QUANTIZER_BLOCK)
        found = "a block format, whose scales depend on the numbers of a tensor";
    else if (quantizer->scale != HU_SCALE_NONE)
        found = "a scale that depends on the numbers of a tensor";
    else if (hu_quantizer_code_bits(quantizer) > MOST_BITS)
        found = "more than 16 bits, which no storage packs";
    if (!found) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "format '%s': found %s, expected a number format of at most 16 bits (scale=2^K "
                   "is allowed), or fp32",
                   format, found);
}

/* ---- making and ending ---- */

/* How the numbers of one tensor are kept, from byte *at on, which moves after them. Tensors begin
 * at multiples of a float32. */
static hu_status make_part(const hu_state_tensor *tensor, hu_state_sort sort, hu_moment_part *part,
                           size_t *at) {
    hu_status st = HU_OK;
    static const char *const purpose[] = {"state.momentum", "state.squares"};
    const hu_quantizer *quantizer = &tensor->quantizer[sort];
    size_t count = (size_t)tensor->count;
    *part = (hu_moment_part){.first = tensor->first, .count = tensor->count, .at = *at};
    part->is_packed = hu_quantizer_rounds(quantizer);
    if (part->is_packed) {
        hu_storage storage;
        HU_TRY(hu_state_check(quantizer));
        HU_TRY(hu_storage_choose(HU_STORAGE_PACKED, &quantizer->format, tensor->count, &storage));
        HU_TRY(hu_rounder_init(&part->rounder, &quantizer->format, quantizer->rounding));
        part->packer = storage.packer;
        part->stream = hu_stream_id(purpose[sort], tensor->name);
        hu_round_counts_clear(&part->counts);
    }
    size_t bytes = part->is_packed ? hu_packer_bytes(&part->packer, count) : count * sizeof(float);
    *at += (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
done:
    return st;
}

static hu_status make_histograms(hu_moment *moment) {
    hu_status st = HU_NEW_ARRAY(&moment->histogram, moment->parts);
    for (uint32_t i = 0; st == HU_OK && i < moment->parts; i++)
        if (moment->part[i].is_packed) moment->part[i].exponents = &moment->histogram[i];
    return st;
}

static bool packs_any(const hu_state_plan *plan, hu_state_sort sort) {
    bool any = false;
    for (uint32_t i = 0; plan && i < plan->count; i++)
        any = any || hu_quantizer_rounds(&plan->tensor[i].quantizer[sort]);
    return any;
}

static hu_status hu_moment_create(const hu_state_plan *plan, hu_state_sort sort, int64_t elements,
                                  hu_moment *moment) {
    hu_status st = HU_OK;
    void *block;
    *moment = (hu_moment){.sort = sort, .elements = elements};
    moment->bytes = (size_t)elements * sizeof(float);
    if (packs_any(plan, sort)) {
        moment->seed = plan->seed;
        moment->parts = plan->count;
        moment->bytes = 0;
        HU_TRY(HU_NEW_ARRAY(&moment->part, plan->count));
        for (uint32_t i = 0; i < plan->count; i++)
            HU_TRY(make_part(&plan->tensor[i], sort, &moment->part[i], &moment->bytes));
        if (plan->records) HU_TRY(make_histograms(moment));
    }
    HU_TRY(hu_alloc_for(HU_MEMORY_OPTIMIZER, moment->bytes, &block));
    moment->data = block;
done:
    return st;
}

/* Zeros. plan NULL: all float32. Owner frees with hu_moment_free, after a failure too.
 * HU_ERR_MEMORY. */
static void hu_moment_free(hu_moment *moment) {
    hu_free(moment->data);
    hu_free(moment->part);
    hu_free(moment->histogram);
    *moment = (hu_moment){0};
}

/* ---- numbers ---- */

/* The tensor that an element lies in. */
static hu_moment_part *part_of(const hu_moment *moment, int64_t element) {
    uint32_t low = 0, high = moment->parts;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (moment->part[middle].first <= element)
            low = middle;
        else
            high = middle;
    }
    return &moment->part[low];
}

/* Byte at which element i of a tensor begins. */
static size_t place_of(const hu_moment_part *part, int64_t i) {
    size_t width = part->is_packed ? (size_t)part->packer.code_bits / 8 : sizeof(float);
    return part->at + (size_t)i * width;
}

static const float *read_data(const hu_moment *moment, const unsigned char *data, int64_t offset,
                              int64_t n, float *scratch) {
    if (!moment->part) return (const float *)(const void *)data + offset;
    const hu_moment_part *part = part_of(moment, offset);
    const unsigned char *place = data + place_of(part, offset - part->first);
    if (!part->is_packed) return (const float *)(const void *)place;
    hu_packer_unpack(&part->packer, (size_t)n, place, scratch);
    return scratch;
}

/* Elements offset .. offset+n-1 of one tensor, n <= HU_MOMENT_CHUNK: where they lie (float32), or
 * unpacked into scratch [n]. */
static float *hu_moment_open(const hu_moment *moment, int64_t offset, int64_t n, float *scratch) {
    return (float *)(uintptr_t)read_data(moment, moment->data, offset, n, scratch);
}

static void record(hu_moment_part *part, int64_t n, const float *x) {
    hu_histogram exponents = {0};
    (void)hu_histogram_add((size_t)n, x, 1, &exponents);
    hu_histogram_merge(part->exponents, &exponents);
}

/* Puts back what hu_moment_open gave and the caller has changed: rounds, counts and packs it. t:
 * number of the update. records: its exponents too. From several threads at once on disjoint
 * ranges; the counts do not depend on their order. */
static void hu_moment_close(hu_moment *moment, int64_t offset, int64_t n, const float *x, int64_t t,
                            bool records) {
    hu_moment_part *part = moment->part ? part_of(moment, offset) : NULL;
    hu_round_counts counts;
    if (!part || !part->is_packed) return;
    hu_round_counts_clear(&counts);
    const hu_random_key key = {moment->seed, part->stream, (uint64_t)t};
    int64_t first = offset - part->first;
    hu_encode(&part->rounder, &part->packer, (size_t)n, x, NULL,
              moment->data + place_of(part, first), &key, (uint64_t)first, &counts);
    if (records && part->exponents) record(part, n, x);
#pragma omp critical(hu_moment_counts)
    hu_round_counts_add(&part->counts, &counts);
}

/* Before an update: nothing is counted; nothing is recorded, if the update is recorded. */
static void hu_moment_clear(hu_moment *moment, bool records) {
    for (uint32_t i = 0; i < moment->parts; i++) {
        hu_round_counts_clear(&moment->part[i].counts);
        if (records && moment->histogram) moment->histogram[i] = (hu_histogram){0};
    }
}

/* ---- beginning and going on ---- */

static hu_status hu_moment_check_initial(const hu_moment *moment, const hu_state_plan *plan,
                                         float x, const char *what) {
    char format[HU_QUANTIZER_BYTES];
    for (uint32_t i = 0; i < moment->parts; i++) {
        const hu_moment_part *part = &moment->part[i];
        if (!part->is_packed) continue;
        const hu_format_limits limits = hu_format_limits_of(&part->rounder.format);
        if ((double)x >= limits.min_subnormal && (double)x <= limits.max_finite) continue;
        hu_quantizer_print(&plan->tensor[i].quantizer[moment->sort], format, sizeof format);
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: found %g, expected %g .. %g, the numbers of %s, in "
                       "which optimizer.state keeps the sums of squares of %s",
                       what, (double)x, limits.min_subnormal, limits.max_finite, format,
                       plan->tensor[i].name);
    }
    return HU_OK;
}

/* The next elements from one on that lie in one tensor and one chunk. */
static int64_t chunk_at(const hu_moment *moment, int64_t element) {
    int64_t end = moment->elements;
    if (moment->part) {
        const hu_moment_part *part = part_of(moment, element);
        end = part->first + part->count;
    }
    return end - element < HU_MOMENT_CHUNK ? end - element : HU_MOMENT_CHUNK;
}

/* HU_ERR_ARGUMENT if a packed tensor rounds x, finite and above 0, to zero or to an infinity in
 * any direction; what: where x comes from. */
static void hu_moment_fill(hu_moment *moment, float x) {
    float scratch[HU_MOMENT_CHUNK];
    for (int64_t at = 0, n; at < moment->elements; at += n) {
        n = chunk_at(moment, at);
        float *numbers = hu_moment_open(moment, at, n, scratch);
        for (int64_t i = 0; i < n; i++) numbers[i] = x;
        hu_moment_close(moment, at, n, numbers, 0, false);
    }
    hu_moment_clear(moment, true);
}

/* The first element of data that no sum of squares is, -1: none. */
static int64_t find_no_square(const hu_moment *moment, const unsigned char *data) {
    float scratch[HU_MOMENT_CHUNK];
    for (int64_t at = 0, n; at < moment->elements; at += n) {
        n = chunk_at(moment, at);
        const float *x = read_data(moment, data, at, n, scratch);
        for (int64_t i = 0; i < n; i++)
            if (!(x[i] >= 0.0f)) return at + i;
    }
    return -1;
}

/* Takes over bytes that another moment of the same plan had as data, aligned as float32 is.
 * HU_ERR_CORRUPT, and nothing changed, where one is a sum of squares that is negative or NaN. */
static hu_status hu_moment_restore(hu_moment *moment, const void *data) {
    int64_t bad = moment->sort == HU_STATE_SQUARES ? find_no_square(moment, data) : -1;
    if (bad >= 0)
        return hu_fail(HU_ERR_CORRUPT,
                       "found a negative number or NaN as element %lld, expected squares >= 0",
                       (long long)bad);
    if (moment->bytes > 0) memcpy(moment->data, data, moment->bytes);
    return HU_OK;
}

/* ---- optimizer ---- */

enum { MAX_MOMENTS = HU_STATE_SORTS };

const hu_kind hu_optimizer_kinds[HU_OPTIMIZER_COUNT] = {
    [HU_OPTIMIZER_SGD] = {"sgd", "gradient descent with momentum (nesterov or not), L2 decay"},
    [HU_OPTIMIZER_ADAM] = {"adam", "adaptive moments, L2 decay"},
    [HU_OPTIMIZER_ADAMW] = {"adamw", "adaptive moments, decoupled decay"},
    [HU_OPTIMIZER_LARS] = {"lars", "momentum, L2 decay, a rate for each tensor from its norms"},
    [HU_OPTIMIZER_RMSPROP] = {"rmsprop",
                              "steps over the root of a running mean of squares, L2 decay"},
    [HU_OPTIMIZER_ADAGRAD] = {"adagrad", "steps over the root of the sum of all squares, L2 decay"},
};

/* Names of the blocks of state, which are those of the sections of a checkpoint. That of lars holds
 * rates, that of sgd does not: neither can go on with the other's. */
static const char *const moment_names[HU_OPTIMIZER_COUNT][MAX_MOMENTS] = {
    [HU_OPTIMIZER_SGD] = {"momentum", NULL},
    [HU_OPTIMIZER_ADAM] = {"first_moment", "second_moment"},
    [HU_OPTIMIZER_ADAMW] = {"first_moment", "second_moment"},
    [HU_OPTIMIZER_LARS] = {"velocity", NULL},
    [HU_OPTIMIZER_RMSPROP] = {"square_mean", NULL},
    [HU_OPTIMIZER_ADAGRAD] = {"square_sum", NULL},
};

/* What one step multiplies with, rounded once from double. */
typedef struct coefficients {
    float lr;            /* sgd, lars, rmsprop, adagrad */
    float momentum;      /* sgd, lars */
    float decay;         /* L2 decay */
    float shrink;        /* adamw: 1 - lr wd */
    float step;          /* lr / (1 - beta1^t) */
    float root;          /* sqrt(1 - beta2^t) */
    float eps;           /* adam, adamw, rmsprop, adagrad */
    float beta2;         /* adam, adamw; rmsprop: alpha; adagrad: 1 */
    float first, second; /* 1 - beta1, 1 - beta2 or 1 - alpha; adagrad: 1 */
    float unscale, clip; /* of the gradients: one factor after the other */
} coefficients;

struct hu_optimizer {
    hu_optimizer_options options;
    int64_t parameters;
    int64_t t;
    size_t moments;                /* used entries of moment */
    hu_moment moment[MAX_MOMENTS]; /* of [parameters] each */
    double lr;                     /* of this step */
    float unscale;                 /* of its gradients */
    bool records;                  /* its state is recorded */
    coefficients now;              /* at that rate */
};

hu_status hu_optimizer_parse(const char *name, hu_optimizer_kind *kind) {
    size_t index;
    hu_status st =
        hu_registry_parse("optimizer", hu_optimizer_kinds, HU_OPTIMIZER_COUNT, name, &index);
    *kind = (hu_optimizer_kind)index;
    return st;
}

/* The numbers of torch.optim. */
hu_optimizer_options hu_optimizer_defaults(hu_optimizer_kind kind) {
    return (hu_optimizer_options){
        .kind = kind,
        .weight_decay = kind == HU_OPTIMIZER_ADAMW ? 0.01 : 0.0,
        .momentum = 0.9,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .alpha = 0.9,
        .eps = 1e-8,
        .trust = 0.001,
    };
}

/* Kinds with a momentum. */
static hu_status check_descent(const hu_optimizer_options *options) {
    hu_status st = HU_OK;
    bool is_lars = options->kind == HU_OPTIMIZER_LARS;
    HU_TRY(
        hu_require_range("optimizer.momentum", options->momentum, 0, 1, "a number >= 0 and < 1"));
    if (is_lars)
        HU_TRY(hu_require_range("optimizer.trust", options->trust, 0x1p-149, INFINITY,
                                "a finite number > 0"));
    if (options->nesterov && is_lars)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "optimizer.nesterov: found true, expected false: lars has "
                                        "no such form"));
    if (options->nesterov && options->momentum == 0)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "optimizer.nesterov: found true with momentum 0, expected momentum > 0");
done:
    return st;
}

/* A sum of squares that begins above zero needs nothing added to its root. */
static hu_status check_adagrad(const hu_optimizer_options *options) {
    hu_status st = HU_OK;
    HU_TRY(hu_require_range("optimizer.initial", options->initial, 0, 0x1p127,
                            "a number >= 0 and < 2^127"));
    bool is_zero = options->initial < 0x1p-149;
    HU_TRY(hu_require_range("optimizer.eps", options->eps, is_zero ? 0x1p-149 : 0, 0x1p127,
                            is_zero ? "a number >= 2^-149 and < 2^127, optimizer.initial being 0"
                                    : "a number >= 0 and < 2^127"));
done:
    return st;
}

/* Kinds that divide by the root of a mean. */
static hu_status check_root(const hu_optimizer_options *options) {
    hu_status st = HU_OK;
    if (options->kind == HU_OPTIMIZER_RMSPROP) {
        HU_TRY(hu_require_range("optimizer.alpha", options->alpha, 0, 1, "a number >= 0 and < 1"));
    } else {
        HU_TRY(hu_require_range("optimizer.beta1", options->beta1, 0, 1, "a number >= 0 and < 1"));
        HU_TRY(hu_require_range("optimizer.beta2", options->beta2, 0, 1, "a number >= 0 and < 1"));
    }
    /* A smaller eps would be 0 as float32, and a first gradient of 0 would give 0/0. */
    HU_TRY(hu_require_range("optimizer.eps", options->eps, 0x1p-149, 0x1p127,
                            "a number >= 2^-149 and < 2^127"));
done:
    return st;
}

/* What the update formulas need so as not to divide by zero. */
static hu_status check(const hu_optimizer_options *options) {
    hu_status st = HU_OK;
    HU_TRY(hu_require_range("optimizer.weight_decay", options->weight_decay, 0, INFINITY,
                            "a finite number >= 0"));
    if (options->kind == HU_OPTIMIZER_SGD || options->kind == HU_OPTIMIZER_LARS)
        st = check_descent(options);
    else if (options->kind == HU_OPTIMIZER_ADAGRAD)
        st = check_adagrad(options);
    else
        st = check_root(options);
done:
    return st;
}

/* A moment that the update does not read takes no memory: plain descent needs none. */
bool hu_optimizer_has_state(const hu_optimizer_options *options, hu_state_sort sort) {
    bool is_sgd = options->kind == HU_OPTIMIZER_SGD, is_lars = options->kind == HU_OPTIMIZER_LARS;
    bool is_adam = options->kind == HU_OPTIMIZER_ADAM || options->kind == HU_OPTIMIZER_ADAMW;
    if (sort == HU_STATE_SQUARES) return !is_sgd && !is_lars;
    return is_lars || is_adam || (is_sgd && options->momentum > 0);
}

/* Moments in the order of their names. */
static hu_status create_moments(hu_optimizer *optimizer, const hu_state_plan *plan) {
    hu_status st = HU_OK;
    const hu_optimizer_options *options = &optimizer->options;
    for (int sort = 0; sort < HU_STATE_SORTS; sort++) {
        if (!hu_optimizer_has_state(options, (hu_state_sort)sort)) continue;
        hu_moment *moment = &optimizer->moment[optimizer->moments++];
        HU_TRY(hu_moment_create(plan, (hu_state_sort)sort, optimizer->parameters, moment));
        if (options->kind == HU_OPTIMIZER_ADAGRAD && (float)options->initial > 0.0f)
            HU_TRY(hu_moment_check_initial(moment, plan, (float)options->initial,
                                           "optimizer.initial"));
    }
done:
    return st;
}

hu_status hu_optimizer_create(const hu_optimizer_options *options, int64_t parameters,
                              const hu_state_plan *plan, hu_optimizer **optimizer) {
    hu_status st = HU_OK;
    void *block = NULL;
    hu_optimizer *made = NULL;
    *optimizer = NULL;
    if (options->kind < 0 || options->kind >= HU_OPTIMIZER_COUNT)
        return hu_fail(HU_ERR_ARGUMENT, "optimizer.kind: found %d, expected 0..%d",
                       (int)options->kind, HU_OPTIMIZER_COUNT - 1);
    if (parameters < 0)
        return hu_fail(HU_ERR_ARGUMENT, "optimizer: found %lld parameters, expected >= 0",
                       (long long)parameters);
    HU_TRY(check(options));
    HU_TRY(hu_alloc(sizeof *made, &block));
    made = block;
    made->options = *options;
    made->parameters = parameters;
    HU_TRY(create_moments(made, plan));
    *optimizer = made;
    made = NULL;
done:
    hu_optimizer_free(made);
    return st;
}

void hu_optimizer_begin(hu_optimizer *optimizer) {
    float initial = (float)optimizer->options.initial;
    bool begins_there = optimizer->options.kind == HU_OPTIMIZER_ADAGRAD && initial > 0.0f;
    if (begins_there) hu_moment_fill(&optimizer->moment[0], initial);
}

const hu_moment_part *hu_optimizer_part(const hu_optimizer *optimizer, hu_state_sort sort,
                                        uint32_t i) {
    for (size_t m = 0; m < optimizer->moments; m++)
        if (optimizer->moment[m].sort == sort && optimizer->moment[m].part)
            return &optimizer->moment[m].part[i];
    return NULL;
}

void hu_optimizer_free(hu_optimizer *optimizer) {
    if (!optimizer) return;
    for (size_t i = 0; i < MAX_MOMENTS; i++) hu_moment_free(&optimizer->moment[i]);
    hu_free(optimizer);
}

/* Bias corrections are worked out in double: 1 - beta2^t is tiny in early steps. start: of the
 * tensor; its masters w move by what start x w would, over start. */
static coefficients coefficients_at(const hu_optimizer *optimizer, double lr, double start) {
    const hu_optimizer_options *o = &optimizer->options;
    double t = (double)optimizer->t;
    bool is_adam = o->kind == HU_OPTIMIZER_ADAM || o->kind == HU_OPTIMIZER_ADAMW;
    bool is_adagrad = o->kind == HU_OPTIMIZER_ADAGRAD;
    double squares = o->kind == HU_OPTIMIZER_RMSPROP ? o->alpha : is_adagrad ? 1.0 : o->beta2;
    return (coefficients){
        .lr = (float)(lr / start),
        .momentum = (float)o->momentum,
        .decay = (float)(o->weight_decay * start),
        .shrink = (float)(1.0 - lr * o->weight_decay),
        .step = is_adam ? (float)(lr / start / (1.0 - pow(o->beta1, t))) : 0.0f,
        .root = is_adam ? (float)sqrt(1.0 - pow(o->beta2, t)) : 0.0f,
        .eps = (float)o->eps,
        .beta2 = (float)squares,
        .first = (float)(1.0 - o->beta1),
        .second = is_adagrad ? 1.0f : (float)(1.0 - squares),
    };
}

void hu_optimizer_begin_step(hu_optimizer *optimizer, double lr) {
    optimizer->t++;
    optimizer->lr = lr;
    optimizer->unscale = 1.0f;
    optimizer->records = false;
    optimizer->now = coefficients_at(optimizer, lr, 1.0);
    for (size_t m = 0; m < optimizer->moments; m++) hu_moment_clear(&optimizer->moment[m], false);
}

void hu_optimizer_record(hu_optimizer *optimizer) {
    optimizer->records = true;
    for (size_t m = 0; m < optimizer->moments; m++) hu_moment_clear(&optimizer->moment[m], true);
}

void hu_optimizer_unscale_gradients(hu_optimizer *optimizer, float unscale) {
    optimizer->unscale = unscale;
}

/* Each kernel works on copies of what it multiplies with, so that no store can change them. */
static inline float true_gradient(const coefficients *k, float g) {
    return g * k->unscale * k->clip;
}

/* w -= lr (g + wd w). */
static void apply_plain(const coefficients *shared, int64_t n, float *restrict w,
                        const float *restrict grad, bool decay) {
    const coefficients k = *shared;
    if (decay)
        for (int64_t i = 0; i < n; i++)
            w[i] -= k.lr * (true_gradient(&k, grad[i]) + k.decay * w[i]);
    else
        for (int64_t i = 0; i < n; i++) w[i] -= k.lr * true_gradient(&k, grad[i]);
}

/* v = mu v + (g + wd w); w -= lr v. At t = 1 v is 0, so that v = g. */
static void apply_momentum(const coefficients *shared, int64_t n, float *restrict w,
                           const float *restrict grad, float *restrict v, bool decay) {
    const coefficients k = *shared;
    if (decay)
        for (int64_t i = 0; i < n; i++) {
            v[i] = k.momentum * v[i] + (true_gradient(&k, grad[i]) + k.decay * w[i]);
            w[i] -= k.lr * v[i];
        }
    else
        for (int64_t i = 0; i < n; i++) {
            v[i] = k.momentum * v[i] + true_gradient(&k, grad[i]);
            w[i] -= k.lr * v[i];
        }
}

/* v = mu v + g; w -= lr (g + mu v), where g includes the decay. */
static void apply_nesterov(const coefficients *shared, int64_t n, float *restrict w,
                           const float *restrict grad, float *restrict v, bool decay) {
    const coefficients k = *shared;
    if (decay)
        for (int64_t i = 0; i < n; i++) {
            float g = true_gradient(&k, grad[i]) + k.decay * w[i];
            v[i] = k.momentum * v[i] + g;
            w[i] -= k.lr * (g + k.momentum * v[i]);
        }
    else
        for (int64_t i = 0; i < n; i++) {
            float g = true_gradient(&k, grad[i]);
            v[i] = k.momentum * v[i] + g;
            w[i] -= k.lr * (g + k.momentum * v[i]);
        }
}

/* v = mu v + (lr lambda) (g + wd w); w -= v: the rate is inside of v, so that it acts at once. */
static void apply_lars(const coefficients *shared, int64_t n, float *restrict w,
                       const float *restrict grad, float *restrict v, hu_tensor_update tensor) {
    const coefficients k = *shared;
    const float rate = k.lr * tensor.trust;
    if (tensor.decay)
        for (int64_t i = 0; i < n; i++) {
            v[i] = k.momentum * v[i] + rate * (true_gradient(&k, grad[i]) + k.decay * w[i]);
            w[i] -= v[i];
        }
    else
        for (int64_t i = 0; i < n; i++) {
            v[i] = k.momentum * v[i] + rate * true_gradient(&k, grad[i]);
            w[i] -= v[i];
        }
}

bool hu_optimizer_trusts(const hu_optimizer *optimizer) {
    return optimizer->options.kind == HU_OPTIMIZER_LARS;
}

float hu_optimizer_trust(const hu_optimizer *optimizer, double weight_norm, double gradient_norm,
                         bool decay) {
    const hu_optimizer_options *o = &optimizer->options;
    double w = (double)(float)weight_norm, g = (double)(float)gradient_norm;
    double below = g + (decay ? o->weight_decay * w : 0.0);
    if (w == 0.0) return o->zeros_stay ? 0.0f : 1.0f;
    /* Without gradient and decay there is nothing to scale. */
    return below == 0.0 ? 1.0f : (float)(o->trust * w / below);
}

/* One Adam update of gradient g; returns what is to be subtracted from the weight. */
static inline float adam_move(const coefficients *k, float g, float *restrict m,
                              float *restrict s) {
    *m += k->first * (g - *m);
    *s = k->beta2 * *s + k->second * g * g;
    return k->step * *m / (sqrtf(*s) / k->root + k->eps);
}

/* L2 decay enters the moments with the gradient. */
static void apply_adam(const coefficients *shared, int64_t n, float *restrict w,
                       const float *restrict grad, float *restrict m, float *restrict s,
                       bool decay) {
    const coefficients k = *shared;
    if (decay)
        for (int64_t i = 0; i < n; i++)
            w[i] -= adam_move(&k, true_gradient(&k, grad[i]) + k.decay * w[i], m + i, s + i);
    else
        for (int64_t i = 0; i < n; i++)
            w[i] -= adam_move(&k, true_gradient(&k, grad[i]), m + i, s + i);
}

/* Decoupled decay shrinks the weight itself; the moments do not see it. */
static void apply_adamw(const coefficients *shared, int64_t n, float *restrict w,
                        const float *restrict grad, float *restrict m, float *restrict s,
                        bool decay) {
    const coefficients k = *shared;
    const float shrink = decay ? k.shrink : 1.0f;
    for (int64_t i = 0; i < n; i++)
        w[i] = w[i] * shrink - adam_move(&k, true_gradient(&k, grad[i]), m + i, s + i);
}

/* s = a s + (1 - a) g g; w -= lr g / (sqrt(s) + eps). adagrad: both factors are 1, which changes no
 * bit of s + g g. */
static void apply_rmsprop(const coefficients *shared, int64_t n, float *restrict w,
                          const float *restrict grad, float *restrict s, bool decay) {
    const coefficients k = *shared;
    for (int64_t i = 0; i < n; i++) {
        float g = true_gradient(&k, grad[i]);
        if (decay) g += k.decay * w[i];
        s[i] = k.beta2 * s[i] + k.second * g * g;
        w[i] -= k.lr * g / (sqrtf(s[i]) + k.eps);
    }
}

/* Elements whose state is present as float32: state[m] [n] of moment m, NULL of those that the kind
 * does not have. */
static void apply_open(const hu_optimizer *optimizer, const coefficients *k, int64_t n,
                       float *master, const float *grad, float *const state[MAX_MOMENTS],
                       hu_tensor_update tensor) {
    hu_optimizer_kind kind = optimizer->options.kind;
    float *first = state[0], *second = state[1];
    if (kind == HU_OPTIMIZER_LARS)
        apply_lars(k, n, master, grad, first, tensor);
    else if (kind == HU_OPTIMIZER_ADAM)
        apply_adam(k, n, master, grad, first, second, tensor.decay);
    else if (kind == HU_OPTIMIZER_RMSPROP || kind == HU_OPTIMIZER_ADAGRAD)
        apply_rmsprop(k, n, master, grad, first, tensor.decay);
    else if (kind == HU_OPTIMIZER_ADAMW)
        apply_adamw(k, n, master, grad, first, second, tensor.decay);
    else if (!first)
        apply_plain(k, n, master, grad, tensor.decay);
    else if (optimizer->options.nesterov)
        apply_nesterov(k, n, master, grad, first, tensor.decay);
    else
        apply_momentum(k, n, master, grad, first, tensor.decay);
}

/* At most HU_MOMENT_CHUNK of them. */
static void apply_chunk(hu_optimizer *optimizer, const coefficients *k, int64_t offset, int64_t n,
                        float *master, const float *grad, hu_tensor_update tensor) {
    float scratch[MAX_MOMENTS][HU_MOMENT_CHUNK];
    float *state[MAX_MOMENTS] = {NULL};
    for (size_t m = 0; m < optimizer->moments; m++)
        state[m] = hu_moment_open(&optimizer->moment[m], offset, n, scratch[m]);
    apply_open(optimizer, k, n, master, grad, state, tensor);
    for (size_t m = 0; m < optimizer->moments; m++)
        hu_moment_close(&optimizer->moment[m], offset, n, state[m], optimizer->t,
                        optimizer->records);
}

void hu_optimizer_apply(hu_optimizer *optimizer, int64_t offset, int64_t n, float *master,
                        const float *grad, hu_tensor_update tensor) {
    bool is_usual = tensor.rate == 1.0 && tensor.start == 1.0;
    coefficients own = is_usual
                           ? optimizer->now
                           : coefficients_at(optimizer, optimizer->lr * tensor.rate, tensor.start);
    own.unscale = optimizer->unscale;
    own.clip = tensor.clip;
    assert(offset >= 0 && n >= 0 && offset <= optimizer->parameters - n);
    /* Decay 0 leaves the gradient alone; adding 0 * w would turn an infinite weight into NaN. */
    tensor.decay = tensor.decay && optimizer->options.weight_decay != 0;
    for (int64_t at = 0; at < n; at += HU_MOMENT_CHUNK)
        apply_chunk(optimizer, &own, offset + at,
                    n - at < HU_MOMENT_CHUNK ? n - at : HU_MOMENT_CHUNK, master + at, grad + at,
                    tensor);
}

bool hu_optimizer_state(const hu_optimizer *optimizer, size_t index, const char **name,
                        const void **data, size_t *bytes) {
    if (index > optimizer->moments) return false;
    *name = index == 0 ? "t" : moment_names[optimizer->options.kind][index - 1];
    *data = &optimizer->t;
    *bytes = sizeof optimizer->t;
    if (index == 0) return true;
    *data = optimizer->moment[index - 1].data;
    *bytes = optimizer->moment[index - 1].bytes;
    return true;
}

bool hu_optimizer_keeps(hu_optimizer_kind kind, const char *name) {
    if (strcmp(name, "t") == 0) return true;
    for (int m = 0; m < MAX_MOMENTS; m++)
        if (moment_names[kind][m] && strcmp(moment_names[kind][m], name) == 0) return true;
    return false;
}

hu_status hu_optimizer_restore(hu_optimizer *optimizer, size_t index, const void *data,
                               size_t bytes) {
    const char *name;
    const void *target;
    size_t expected;
    /* The size is that of the present state: another model or optimizer has another one. */
    if (!hu_optimizer_state(optimizer, index, &name, &target, &expected))
        return hu_fail(HU_ERR_ARGUMENT, "optimizer: found block %zu, expected 0..%zu", index,
                       optimizer->moments);
    if (bytes != expected)
        return hu_fail(HU_ERR_CORRUPT, "optimizer block '%s': found %zu bytes, expected %zu", name,
                       bytes, expected);
    if (index > 0) {
        hu_status st = hu_moment_restore(&optimizer->moment[index - 1], data);
        return st == HU_OK ? st : hu_fail_within(st, "optimizer block '%s': ", name);
    }
    int64_t t;
    memcpy(&t, data, sizeof t);
    if (t < 0)
        return hu_fail(HU_ERR_CORRUPT, "optimizer block 't': found %lld, expected >= 0",
                       (long long)t);
    optimizer->t = t;
    return HU_OK;
}

int64_t hu_optimizer_t(const hu_optimizer *optimizer) {
    return optimizer->t;
}

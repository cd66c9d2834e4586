#include "train/optimizer.h"

#include <math.h>
#include <string.h>

#include <halfulp/random.h>

#include "base/error.h"
#include "base/memory.h"
#include "tensor/storage.h"

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

hu_status hu_moment_create(const hu_state_plan *plan, hu_state_sort sort, int64_t elements,
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

void hu_moment_free(hu_moment *moment) {
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

float *hu_moment_open(const hu_moment *moment, int64_t offset, int64_t n, float *scratch) {
    return (float *)(uintptr_t)read_data(moment, moment->data, offset, n, scratch);
}

static void record(hu_moment_part *part, int64_t n, const float *x) {
    hu_histogram exponents = {0};
    hu_histogram_add((size_t)n, x, &exponents);
    hu_histogram_merge(part->exponents, &exponents);
}

void hu_moment_close(hu_moment *moment, int64_t offset, int64_t n, const float *x, int64_t t,
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

void hu_moment_clear(hu_moment *moment, bool records) {
    for (uint32_t i = 0; i < moment->parts; i++) {
        hu_round_counts_clear(&moment->part[i].counts);
        if (records && moment->histogram) moment->histogram[i] = (hu_histogram){0};
    }
}

/* ---- beginning and going on ---- */

hu_status hu_moment_check_initial(const hu_moment *moment, const hu_state_plan *plan, float x,
                                  const char *what) {
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

void hu_moment_fill(hu_moment *moment, float x) {
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

hu_status hu_moment_restore(hu_moment *moment, const void *data) {
    int64_t bad = moment->sort == HU_STATE_SQUARES ? find_no_square(moment, data) : -1;
    if (bad >= 0)
        return hu_fail(HU_ERR_CORRUPT,
                       "found a negative number or NaN as element %lld, expected squares >= 0",
                       (long long)bad);
    if (moment->bytes > 0) memcpy(moment->data, data, moment->bytes);
    return HU_OK;
}

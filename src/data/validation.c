/* Samples held out of the training part, on which choices are made. */
#include <math.h>
#include <string.h>

#include <halfulp/data.h>

#include "base/error.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/rng.h"

/* How many samples an amount means; HU_ERR_ARGUMENT where it leaves a part empty. */
static hu_status count_held(const hu_dataset *dataset, double amount, int64_t *held) {
    int64_t all = dataset->train.count;
    *held = 0;
    bool is_share = amount > 0.0 && amount < 1.0;
    if (!is_share && !(amount >= 1.0 && amount == floor(amount)))
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.validation: found %g, expected a share below 1 of the training "
                       "samples, or a number of them",
                       amount);
    double asked = is_share ? floor(amount * (double)all + 0.5) : amount;
    if (asked < 1.0 || asked >= (double)all)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.validation: found %g, which is %.0f of the %lld training samples; "
                       "expected 1 to %lld",
                       amount, asked, (long long)all, (long long)all - 1);
    *held = (int64_t)asked;
    return HU_OK;
}

/* Both parts in the order of the data set: those that are not held out first, then those that are.
 * is_held: [count]. */
static void list_parts(const bool *is_held, int64_t count, int64_t held, uint32_t *index) {
    int64_t train = 0, validation = count - held;
    for (int64_t i = 0; i < count; i++) index[is_held[i] ? validation++ : train++] = (uint32_t)i;
}

/* Class numbers, one for each sample; NULL: the field is something else, or made by a source. */
static const int32_t *classes_of(const hu_dataset *dataset, int f) {
    const hu_field *field = &dataset->field[f];
    bool is_class = field->type == HU_FIELD_I32 && field->rank == 0 && field->classes > 0;
    return is_class && !dataset->train.source.fill ? dataset->train.rows[f] : NULL;
}

/* A class of which every training sample is held out could not be learned. */
static hu_status check_classes(const int32_t *label, int64_t classes, const bool *is_held,
                               int64_t count) {
    hu_status st = HU_OK;
    int64_t *left = NULL, *there = NULL;
    HU_TRY(HU_NEW_ARRAY(&left, (size_t)classes));
    HU_TRY(HU_NEW_ARRAY(&there, (size_t)classes));
    for (int64_t i = 0; i < count; i++) {
        if (label[i] < 0 || label[i] >= classes) continue;
        there[label[i]]++;
        left[label[i]] += !is_held[i];
    }
    for (int64_t c = 0; c < classes; c++)
        if (there[c] > 0 && left[c] == 0)
            HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                           "data.validation: all %lld training samples of class %lld are held "
                           "out, expected some to be left; hold out fewer, or set "
                           "data.class_seed",
                           (long long)there[c], (long long)c));
done:
    hu_free(left);
    hu_free(there);
    return st;
}

/* Marks the first `held` of the permutation that the seed names. order: room for [count]. */
static void draw(uint64_t seed, int64_t count, int64_t held, uint32_t *order, bool *is_held) {
    hu_random_key key = {seed, hu_stream_id("validation", ""), 0};
    hu_random_permutation(&key, (uint32_t)count, order);
    for (int64_t i = 0; i < held; i++) is_held[order[i]] = true;
}

hu_status hu_dataset_hold_out(hu_dataset *dataset, double amount, uint64_t seed) {
    HU_GIVEN(dataset);
    hu_status st = HU_OK;
    int64_t held, all = dataset->train.count;
    uint32_t *index = NULL;
    bool *is_held = NULL;
    if (dataset->parted)
        return hu_fail(HU_ERR_ARGUMENT, "data %s: a part is held out already", dataset->name);
    if (dataset->streams > 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.validation: found %g of a text in %lld streams, "
                       "expected none: a sample goes on where another ends (assign, which chooses "
                       "on samples held out, cannot search for such a network)",
                       amount, (long long)dataset->streams);
    HU_TRY(count_held(dataset, amount, &held));
    HU_TRY(HU_NEW_ARRAY(&index, (size_t)all));
    HU_TRY(HU_NEW_ARRAY(&is_held, (size_t)all));
    draw(seed, all, held, index, is_held);
    for (int f = 0; f < dataset->field_count; f++)
        if (classes_of(dataset, f))
            HU_TRY(check_classes(classes_of(dataset, f), dataset->field[f].classes, is_held, all));
    list_parts(is_held, all, held, index);
    hu_memory_assign(index, HU_MEMORY_DATA);
    dataset->validation = dataset->train;
    dataset->validation.count = held;
    dataset->validation.index = index + (all - held);
    dataset->train.count = all - held;
    dataset->train.index = index;
    dataset->parted = index;
    index = NULL;
done:
    hu_free(index);
    hu_free(is_held);
    return st;
}

/* The range that a tensor's numbers met in the training: of its format, where the scale laid it. */
#include "report/own_range.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "comm/advice.h"
#include "tensor/quantizer.h"

/* The record of a tensor in a row; NULL: the row has none. */
static const hu_tensor_record *record_of(const hu_numerics_record *row, uint32_t tensor) {
    for (uint32_t k = 0; k < row->tensor_count; k++)
        if (row->tensor[k].tensor == tensor) return &row->tensor[k];
    return NULL;
}

/* Format of a tensor in the latest record at or before the step, in the first one behind it where
 * there is none before; NULL: it was not rounded. */
static const char *format_at(const hu_history *history, uint32_t tensor, int64_t step) {
    const char *found = NULL;
    for (size_t i = 0; i < history->numerics_count; i++) {
        const hu_numerics_record *row = &history->numerics[i];
        if (row->step > step && found) break;
        const hu_tensor_record *record = record_of(row, tensor);
        if (record) found = history->formats.name[record->format];
    }
    return found && strcmp(found, "float32") != 0 ? found : NULL;
}

double hu_report_lost_in(const hu_exponents *exponents, const hu_format *format) {
    hu_lost lost = hu_exponents_lost(exponents, format, 0);
    return hu_exponents_overflowed(exponents, &lost) + lost.underflow.share;
}

/* ---- scales ---- */

/* Bits of the least number of a binade; 0, as of a tensor of zeros, for HU_NO_EXPONENT. */
static uint32_t bits_of_binade(int32_t exponent) {
    return exponent == HU_NO_EXPONENT ? 0 : hu_f32_bits((float)ldexp(1.0, exponent));
}

/* Largest exponent that rows tell of the steps from first to last; HU_NO_EXPONENT: of none. */
static int32_t top_within(const hu_history *history, uint32_t tensor, int64_t first, int64_t last) {
    int32_t top = HU_NO_EXPONENT;
    for (size_t i = 0; i < history->numerics_count; i++) {
        const hu_numerics_record *row = &history->numerics[i];
        if (row->step < first || row->step - row->steps >= last) continue;
        const hu_tensor_record *record = record_of(row, tensor);
        if (!record || record->counts.max_exponent == HU_NO_EXPONENT) continue;
        if (top == HU_NO_EXPONENT || record->counts.max_exponent > top)
            top = record->counts.max_exponent;
    }
    return top;
}

/* Bits of the largest magnitude that the scale of a step comes from. */
static uint32_t top_bits(const hu_history *history, const hu_tensor_exponents *tensor,
                         const hu_quantizer *quantizer, int64_t step) {
    const hu_exponents *exponents = &tensor->exponents;
    if (quantizer->scale == HU_SCALE_DELAYED)
        return bits_of_binade(
            top_within(history, tensor->tensor, step - quantizer->history, step - 1));
    if (exponents->largest > 0.0) return hu_f32_bits((float)exponents->largest);
    return bits_of_binade(hu_exponents_top(exponents));
}

/* The format whose numbers the tensor was rounded to; false: there is no one such format. */
static bool format_met(const hu_history *history, const hu_tensor_exponents *tensor,
                       const char *name, int64_t step, hu_format *format) {
    hu_quantizer quantizer;
    if (hu_quantizer_parse(name, HU_ROUND_NEAREST_EVEN, &quantizer) != HU_OK) return false;
    if (quantizer.kind != HU_QUANTIZER_FLOAT) return false;
    uint32_t top = top_bits(history, tensor, &quantizer, step);
    *format = hu_format_scaled(&quantizer.format,
                               hu_scale_exponent(&quantizer.format, quantizer.scale, top));
    return true;
}

/* ---- on the way between workers ---- */

/* How gradients of a run travel, but for the format. False where they do not. */
static bool read_way(const hu_report_run *run, hu_comm_options *way) {
    *way = (hu_comm_options){.workers = atoi(hu_report_text(run, "comm.workers", "0"))};
    return way->workers > 0 && hu_comm_scaling_parse(hu_report_text(run, "comm.scaling", "none"),
                                                     &way->scaling, &way->constant) == HU_OK;
}

/* A gradient that is rounded for its way to other workers, too: the ridge shows the range of which
 * it lost more. */
static void add_way(const hu_report_run *run, const hu_tensor_exponents *tensor, int64_t step,
                    hu_chart_ridge *ridge) {
    const hu_history *history = run->history;
    char name[512];
    hu_comm_options way;
    snprintf(name, sizeof name, "%.500s.wire", history->tensors.name[tensor->tensor]);
    uint32_t sent = hu_names_find(&history->tensors, name);
    const char *format = sent == HU_NAMES_NONE ? NULL : format_at(history, sent, step);
    if (!format || !read_way(run, &way) || hu_format_parse(format, &way.format) != HU_OK) return;
    hu_comm_expected expected = hu_comm_expect(&way, &tensor->exponents);
    double lost = expected.lost.overflow.share + expected.lost.underflow.share;
    if (ridge->has_range && ridge->lost >= lost) return;
    ridge->has_range = true;
    ridge->lost = lost;
    ridge->range = hu_report_range(format, &way.format);
    ridge->range.vanish += expected.k;
    ridge->range.normal += expected.k;
    ridge->range.top += expected.k;
}

/* The largest number tells that nothing of its binade overflows, where a threshold cuts that. */
static void add_format(const hu_exponents *exponents, const char *name, const hu_format *format,
                       hu_chart_ridge *ridge) {
    hu_lost lost = hu_exponents_lost(exponents, format, 0);
    double largest = exponents->largest;
    double overflowed = hu_exponents_overflowed(exponents, &lost);
    ridge->range = hu_report_range(name, format);
    if (largest > 0.0 && largest < hu_format_limits_of(format).overflow_threshold) {
        overflowed = 0.0;
        ridge->range.top = fmax(ridge->range.top, hu_exponents_top(exponents) + 1);
    }
    ridge->lost = overflowed + lost.underflow.share;
}

void hu_report_own_range(const hu_report_run *run, const hu_tensor_exponents *tensor, int64_t step,
                         hu_chart_ridge *ridge) {
    const char *own = format_at(run->history, tensor->tensor, step);
    hu_format format;
    ridge->has_range = own && format_met(run->history, tensor, own, step, &format);
    if (ridge->has_range) add_format(&tensor->exponents, own, &format, ridge);
    add_way(run, tensor, step, ridge);
}

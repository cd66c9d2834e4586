#include "journal/history_brief.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

void hu_numerics_record_free(hu_numerics_record *record) {
    hu_free(record->tensor);
    hu_free(record->product);
    hu_free(record->update);
    *record = (hu_numerics_record){0};
}

void hu_histogram_record_free(hu_histogram_record *record) {
    for (uint32_t k = 0; k < record->count; k++) hu_free(record->tensor[k].exponents.bin);
    hu_free(record->tensor);
    *record = (hu_histogram_record){0};
}

/* Place of a row's tensor in this format. Rows list tensors in one order: it is probably at the
 * hint. count: it is not there. */
static uint32_t find_tensor(const hu_numerics_record *record, const hu_tensor_record *wanted,
                            uint32_t hint) {
    for (uint32_t i = 0; i < record->tensor_count; i++) {
        uint32_t at = (hint + i) % record->tensor_count;
        const hu_tensor_record *tensor = &record->tensor[at];
        if (tensor->tensor == wanted->tensor && tensor->format == wanted->format) return at;
    }
    return record->tensor_count;
}

static void add_tensor(hu_tensor_record *to, const hu_tensor_record *from) {
    hu_round_counts_add(&to->counts, &from->counts);
    to->most_overflow = fmax(to->most_overflow, from->most_overflow);
    to->most_underflow = fmax(to->most_underflow, from->most_underflow);
    to->most_subnormal = fmax(to->most_subnormal, from->most_subnormal);
}

static hu_status add_tensors(hu_numerics_record *to, const hu_numerics_record *from) {
    size_t capacity = to->tensor_count;
    uint32_t hint = 0;
    for (uint32_t k = 0; k < from->tensor_count; k++) {
        uint32_t at = find_tensor(to, &from->tensor[k], hint);
        if (at < to->tensor_count) {
            add_tensor(&to->tensor[at], &from->tensor[k]);
        } else {
            hu_status st = hu_grow(&to->tensor, to->tensor_count, &capacity, sizeof *to->tensor);
            if (st != HU_OK) return st;
            to->tensor[to->tensor_count++] = from->tensor[k];
        }
        hint = at + 1;
    }
    return HU_OK;
}

static hu_status add_product(hu_numerics_record *to, const hu_product_record *from,
                             size_t *capacity) {
    for (uint32_t i = 0; i < to->product_count; i++) {
        hu_product_record *product = &to->product[i];
        if (product->product != from->product || product->accumulator != from->accumulator)
            continue;
        product->values += from->values;
        product->subnormal += from->subnormal;
        product->overflow += from->overflow;
        product->terms += from->terms;
        product->stalled += from->stalled;
        return HU_OK;
    }
    hu_status st = hu_grow(&to->product, to->product_count, capacity, sizeof *to->product);
    if (st == HU_OK) to->product[to->product_count++] = *from;
    return st;
}

static hu_status add_update(hu_numerics_record *to, const hu_update_record *from,
                            size_t *capacity) {
    for (uint32_t i = 0; i < to->update_count; i++) {
        hu_update_record *update = &to->update[i];
        if (update->tensor != from->tensor) continue;
        update->asked += from->asked;
        update->lost += from->lost;
        update->small += from->small;
        return HU_OK;
    }
    hu_status st = hu_grow(&to->update, to->update_count, capacity, sizeof *to->update);
    if (st == HU_OK) to->update[to->update_count++] = *from;
    return st;
}

/* The row behind another one into that. */
static hu_status add_row(hu_numerics_record *to, const hu_numerics_record *from) {
    hu_status st = HU_OK;
    size_t products = to->product_count, updates = to->update_count;
    HU_TRY(add_tensors(to, from));
    for (uint32_t i = 0; i < from->product_count; i++)
        HU_TRY(add_product(to, &from->product[i], &products));
    for (uint32_t i = 0; i < from->update_count; i++)
        HU_TRY(add_update(to, &from->update[i], &updates));
    to->step = from->step;
    to->steps += from->steps;
    to->skipped = to->skipped && from->skipped;
    to->has_held = to->has_held && from->has_held;
    to->lines += from->lines;
done:
    return st;
}

/* Pairs of rows become one row each, from the second row on. */
static hu_status halve(hu_history *history) {
    hu_status st = HU_OK;
    size_t kept = 1;
    hu_numerics_record *row = history->numerics;
    for (size_t i = 1; i < history->numerics_count; i++) {
        bool is_second = i % 2 == 0;
        if (is_second) {
            st = st == HU_OK ? add_row(&row[kept - 1], &row[i]) : st;
            hu_numerics_record_free(&row[i]);
        } else {
            hu_numerics_record moved = row[i];
            row[i] = (hu_numerics_record){0};
            row[kept++] = moved;
        }
    }
    history->numerics_count = kept;
    return st;
}

hu_status hu_history_add_up(hu_history *history) {
    size_t count = history->numerics_count;
    if (history->brief_most == 0 || count == 0) return HU_OK;
    hu_numerics_record *last = &history->numerics[count - 1];
    last->lines = 1;
    if (count > 2 && last[-1].lines < history->brief_lines) {
        hu_status st = add_row(&last[-1], last);
        hu_numerics_record_free(last);
        history->numerics_count--;
        return st;
    }
    if (count <= history->brief_most) return HU_OK;
    history->brief_lines *= 2;
    return halve(history);
}

void hu_history_keep_ends(hu_history *history) {
    size_t count = history->histogram_count;
    if (history->brief_most == 0 || count < 3) return;
    for (size_t i = 1; i + 1 < count; i++) hu_histogram_record_free(&history->histograms[i]);
    history->histograms[1] = history->histograms[count - 1];
    history->histogram_count = 2;
}

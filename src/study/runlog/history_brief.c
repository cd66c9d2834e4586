#include "runlog/history_brief.h"

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
    if (from->most_subnormal > to->most_subnormal) to->subnormal_step = from->subnormal_step;
    to->most_subnormal = fmax(to->most_subnormal, from->most_subnormal);
    to->lines += from->lines;
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
        product->most_subnormal = fmax(product->most_subnormal, from->most_subnormal);
        product->most_overflow = fmax(product->most_overflow, from->most_overflow);
        product->most_stalled = fmax(product->most_stalled, from->most_stalled);
        product->lines += from->lines;
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
        update->lines += from->lines;
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

static hu_numerics_record take(hu_numerics_record *row) {
    hu_numerics_record taken = *row;
    *row = (hu_numerics_record){0};
    return taken;
}

/* Rows that may be told as one. A brief history tells no steps apart. */
static bool are_alike(const hu_history *history, const hu_numerics_record *a,
                      const hu_numerics_record *b) {
    return history->brief_tail == 0 || a->skipped == b->skipped;
}

/* Pairs of rows become one row each, from the second row on up to the tail; any: also a skipped one
 * with another. */
static hu_status halve(hu_history *history, bool any) {
    hu_status st = HU_OK;
    size_t kept = 1, end = history->numerics_count - history->brief_tail;
    hu_numerics_record *row = history->numerics;
    for (size_t i = 1; i < end; i++) {
        hu_numerics_record moved = take(&row[i]);
        bool joins = i + 1 < end && (any || are_alike(history, &moved, &row[i + 1]));
        if (joins) {
            i++;
            st = st == HU_OK ? add_row(&moved, &row[i]) : st;
            hu_numerics_record_free(&row[i]);
        }
        row[kept++] = moved;
    }
    for (size_t i = end; i < history->numerics_count; i++) row[kept++] = take(&row[i]);
    history->numerics_count = kept;
    return st;
}

/* Rows that fit into brief_bytes, by the first one, if these are more. */
static size_t most_rows(const hu_history *history) {
    size_t bytes = history->numerics[0].tensor_count * sizeof(hu_tensor_record) + 1;
    size_t fit = history->brief_bytes / bytes;
    return fit > history->brief_most ? fit : history->brief_most;
}

/* The row that leaves the tail goes to the one before it, if that has room. */
hu_status hu_history_add_up(hu_history *history) {
    size_t count = history->numerics_count, tail = history->brief_tail;
    hu_status st = HU_OK;
    if (history->brief_most == 0 || count <= tail + 2) return HU_OK;
    hu_numerics_record *last = &history->numerics[count - 1 - tail];
    if (last[-1].lines < history->brief_lines && are_alike(history, &last[-1], last)) {
        st = add_row(&last[-1], last);
        hu_numerics_record_free(last);
        memmove(last, last + 1, tail * sizeof *last);
        history->numerics_count--;
        return st;
    }
    size_t most = most_rows(history);
    if (count <= most + tail) return HU_OK;
    history->brief_lines *= 2;
    HU_TRY(halve(history, false));
    size_t room = tail + (most > 2 ? most - most / 4 : 2); /* the first row stays by itself */
    while (history->numerics_count > room) HU_TRY(halve(history, true));
done:
    return st;
}

static size_t bytes_of(const hu_histogram_record *record) {
    size_t bytes = record->count * sizeof *record->tensor;
    for (uint32_t k = 0; k < record->count; k++)
        bytes += record->tensor[k].exponents.count * sizeof *record->tensor[k].exponents.bin;
    return bytes;
}

static void forget(hu_history *history, hu_histogram_record *record) {
    history->histogram_bytes -= bytes_of(record);
    hu_histogram_record_free(record);
}

void hu_history_thin(hu_history *history) {
    hu_histogram_record *record = history->histograms;
    size_t most = history->brief_histograms, count = history->histogram_count, kept = 0;
    history->histogram_bytes += bytes_of(&record[count - 1]);
    if (most == 0 || count < 3) return;
    /* The one before the latest was kept for being that. */
    if (most == 2 || record[count - 2].number % history->brief_stride != 0) {
        forget(history, &record[count - 2]);
        record[count - 2] = record[count - 1];
        history->histogram_count = --count;
    }
    if (count <= most || history->histogram_bytes <= history->brief_bytes) return;
    history->brief_stride *= 2;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && record[i].number % history->brief_stride != 0)
            forget(history, &record[i]);
        else
            record[kept++] = record[i];
    }
    history->histogram_count = kept;
}

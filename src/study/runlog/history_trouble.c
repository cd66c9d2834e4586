#include "runlog/history_trouble.h"

#include "base/error.h"
#include "base/memory.h"
#include "runlog/history_walk.h"

/* What befell the tensors of the walk. */
static void find_befallen(const hu_history *history, const hu_tensor_order *walk,
                          const uint32_t *place, uint16_t *befallen) {
    for (size_t e = 0; e < history->event_count; e++) {
        const hu_event_record *event = &history->events[e];
        uint32_t at = place[event->tensor];
        for (int kind = 0; at < walk->count && kind < HU_EVENTS; kind++)
            if (hu_event_is(event, kind)) befallen[at] |= (uint16_t)(1u << kind);
    }
}

/* Accumulators are formats with words in front of them. */
static bool sums_of(const hu_history *history, const hu_product_record *record) {
    hu_accumulator accumulator;
    if (record->terms == 0 ||
        hu_accumulator_parse(history->formats.name[record->accumulator], &accumulator) != HU_OK)
        return false;
    return hu_sums_are_in_trouble(&accumulator, record->most_overflow, record->most_subnormal,
                                  record->most_stalled);
}

/* Each product once. failed: [history->products.count], all false. */
static uint32_t count_sums(const hu_history *history, bool *failed) {
    uint32_t count = 0;
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t p = 0; p < row->product_count && !row->skipped; p++) {
            const hu_product_record *record = &row->product[p];
            if (failed[record->product] || !sums_of(history, record)) continue;
            failed[record->product] = true;
            count++;
        }
    }
    return count;
}

hu_status hu_trouble_of_run(const hu_history *history, const hu_tensor_order *walk,
                            hu_trouble *trouble) {
    hu_status st = HU_OK;
    uint32_t *place = NULL;
    uint16_t *befallen = NULL;
    bool *marked = NULL, *failed = NULL;
    *trouble = (hu_trouble){0};
    HU_TRY(HU_NEW_ARRAY(&place, (size_t)history->tensors.count + 1));
    HU_TRY(HU_NEW_ARRAY(&befallen, (size_t)walk->count + 1));
    HU_TRY(HU_NEW_ARRAY(&marked, (size_t)walk->count + 1));
    HU_TRY(HU_NEW_ARRAY(&failed, (size_t)history->products.count + 1));
    hu_history_places(history, walk, place);
    find_befallen(history, walk, place, befallen);
    hu_trouble_of_tensors(walk, befallen, marked, trouble);
    trouble->sums = count_sums(history, failed);
done:
    hu_free(place);
    hu_free(befallen);
    hu_free(marked);
    hu_free(failed);
    return st;
}

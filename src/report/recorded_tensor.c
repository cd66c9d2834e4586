/* One tensor of a run's histograms. */
#include "report/recorded_tensor.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

static hu_status unknown(const hu_names *names, const char *folder, const char *name) {
    char nearest[256];
    hu_nearest(name, (const char *const *)names->name, names->count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "%s has no tensor '%.100s', nearest: %s", folder, name, nearest);
}

static const hu_exponents *find(const hu_histogram_record *record, uint32_t tensor) {
    for (uint32_t i = 0; i < record->count; i++)
        if (record->tensor[i].tensor == tensor) return &record->tensor[i].exponents;
    return NULL;
}

hu_status hu_recorded_tensor_read(const char *folder, const char *name, int64_t step,
                                  hu_recorded_tensor *tensor) {
    hu_status st;
    *tensor = (hu_recorded_tensor){0};
    HU_TRY(hu_history_read_some(folder, &tensor->history));
    const hu_history *history = tensor->history;
    uint32_t number = hu_names_find(&history->tensors, name);
    if (number == HU_NAMES_NONE) HU_TRY(unknown(&history->tensors, folder, name));
    for (size_t i = 0; i < history->histogram_count; i++) {
        const hu_histogram_record *record = &history->histograms[i];
        const hu_exponents *found = find(record, number);
        if (!found || (step >= 0 && record->step > step)) continue;
        tensor->exponents = found;
        snprintf(tensor->words, sizeof tensor->words, "%.200s of %.400s, step %lld", name, folder,
                 (long long)record->step);
    }
    if (tensor->exponents) return HU_OK;
    st = hu_fail(HU_ERR_MISSING,
                 "%s: found no histogram of %s up to the step, see "
                 "run.histogram_every",
                 folder, name);
done:
    hu_recorded_tensor_free(tensor);
    return st;
}

void hu_recorded_tensor_free(hu_recorded_tensor *tensor) {
    hu_history_free(tensor->history);
    *tensor = (hu_recorded_tensor){0};
}

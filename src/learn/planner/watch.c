/* Room for the numbers of tensors that somebody looks at: beside the plan, for passes allocate
 * nothing. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/chunk.h"
#include "planner/internal.h"
#include "planner/planner.h"

static void release(hu_watched *entry) {
    hu_free(entry->made);
    hu_free(entry->rounded);
}

void hu_watch_free(hu_watch *watch) {
    if (!watch) return;
    for (uint32_t i = 0; i < watch->count; i++) release(&watch->entry[i]);
    hu_free(watch->entry);
    hu_free(watch->of_tally);
    hu_free(watch);
}

/* Two contributions that are stored as one are looked at by the first entry; the others read it. */
static hu_status index_entries(const hu_run *run, hu_watch *watch) {
    hu_status st = HU_OK;
    hu_free(watch->of_tally);
    watch->of_tally = NULL;
    HU_TRY(HU_NEW_ARRAY(&watch->of_tally, hu_tally_count(run)));
    for (uint32_t i = 0; i < watch->count; i++) {
        uint32_t tally = hu_watch_tally(run, watch->entry[i].tensor, watch->entry[i].part);
        if (tally != HU_NONE && !watch->of_tally[tally]) watch->of_tally[tally] = &watch->entry[i];
    }
done:
    return st;
}

hu_status hu_watch_carry(hu_run *run, hu_watch *watch) {
    run->watch = watch;
    return watch ? index_entries(run, watch) : HU_OK;
}

static hu_status make_entry(const hu_run *run, hu_tensor tensor, uint32_t part, int64_t rows,
                            hu_watched *entry) {
    hu_status st = HU_OK;
    const hu_value_info *value = &run->graph->value[tensor.value];
    bool is_whole = value->role == HU_VALUE_PARAMETER;
    int64_t numbers;
    *entry = (hu_watched){
        .tensor = tensor, .part = part, .rows = is_whole ? 1 : rows, .elements = value->elements};
    if (!hu_mul_i64(entry->rows, entry->elements, &numbers))
        return hu_fail(HU_ERR_LIMIT, "%s: more numbers than can be kept", value->name);
    HU_TRY(HU_NEW_ARRAY(&entry->made, (size_t)numbers));
    HU_TRY(HU_NEW_ARRAY(&entry->rounded, (size_t)numbers));
done:
    if (st != HU_OK) release(entry);
    return st;
}

/* The entries before stay as they are after a failure. */
static hu_status add_entries(hu_run *run, hu_tensor tensor, int64_t rows) {
    hu_status st = HU_OK;
    hu_watch *watch = run->watch;
    uint32_t more = hu_run_parts(run, tensor), part = 0;
    hu_watched *entry = NULL, *before = watch->entry;
    HU_TRY(HU_NEW_ARRAY(&entry, (size_t)watch->count + more));
    if (watch->count > 0) memcpy(entry, before, watch->count * sizeof *entry);
    for (; part < more; part++)
        HU_TRY(make_entry(run, tensor, part, rows, &entry[watch->count + part]));
    watch->entry = entry;
    watch->count += more;
    entry = NULL;
    hu_free(before);
    st = index_entries(run, watch);
done:
    while (entry && part-- > 0) release(&entry[watch->count + part]);
    hu_free(entry);
    return st;
}

hu_status hu_run_watch(hu_run *run, hu_tensor tensor, int64_t rows) {
    hu_status st = HU_OK;
    if (hu_run_is_watched(run, tensor)) return HU_OK;
    if (!run->watch) HU_TRY(HU_NEW(&run->watch));
    HU_TRY(add_entries(run, tensor, rows));
done:
    return st;
}

void hu_run_unwatch(hu_run *run) {
    hu_watch_free(run->watch);
    run->watch = NULL;
}

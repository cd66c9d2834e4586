#include "train/adapt.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "train/prepare.h"

hu_status hu_create_promotions(hu_trainer *trainer) {
    hu_status st = HU_OK;
    void *block;
    if (!trainer->options.precision.promotes) return HU_OK;
    HU_TRY(hu_alloc_array(trainer->graph->value_count, sizeof *trainer->promoted, &block));
    trainer->promoted = block;
    HU_TRY(hu_alloc_array(trainer->graph->value_count, sizeof *trainer->promotion, &block));
    trainer->promotion = block;
done:
    return st;
}

/* Where a format stopped the forward pass, what lies behind is counted in part or not at all. */
static bool is_counted(const hu_trainer *trainer, hu_value_id v) {
    uint32_t producer = trainer->graph->value[v].producer;
    return producer == HU_NONE || producer < trainer->counted_nodes;
}

void hu_find_promotions(hu_trainer *trainer, hu_step_report *report) {
    report->promoted = trainer->promoted_count;
    if (!trainer->promotion) return;
    report->promotion = trainer->promotion;
    uint32_t found = hu_precision_overflowing(&trainer->options.precision, trainer->graph,
                                              &trainer->edges, trainer->promotion);
    for (uint32_t p = 0; p < found; p++) {
        if (!is_counted(trainer, trainer->promotion[p].value)) continue;
        trainer->promotion[report->promotions++] = trainer->promotion[p];
        trainer->promoted[trainer->promoted_count++] = trainer->promotion[p].value;
    }
    report->promoted = trainer->promoted_count;
    trainer->must_replan = trainer->must_replan || report->promotions > 0;
}

hu_status hu_apply_promotions(hu_trainer *trainer) {
    hu_status st = HU_OK;
    if (!trainer->must_replan) return HU_OK;
    for (uint32_t p = 0; p < trainer->promoted_count; p++)
        hu_precision_promote(&trainer->options.precision, trainer->graph, trainer->promoted[p],
                             &trainer->edges);
    HU_TRY(hu_run_replan(&trainer->run));
    HU_TRY(hu_reserve_sizes(trainer));
    trainer->must_replan = false;
done:
    return st;
}

hu_status hu_restore_promotions(hu_trainer *trainer, const uint32_t *ids, uint32_t count) {
    hu_status st = HU_OK;
    trainer->must_replan = count > 0 || trainer->promoted_count > 0;
    if (trainer->promoted_count > 0) HU_TRY(hu_write_edges(trainer));
    if (count > 0) memcpy(trainer->promoted, ids, count * sizeof *ids);
    trainer->promoted_count = count;
    HU_TRY(hu_apply_promotions(trainer));
done:
    return st;
}

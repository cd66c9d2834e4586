#include "diagnose/setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/failures.h"

static const char *text_of(const hu_run_record *run, const char *key) {
    const hu_keys *node = hu_keys_find(run->config, key);
    return node && hu_keys_kind_of(node) == HU_KEYS_TEXT ? hu_keys_value(node) : "";
}

bool hu_same_range(const hu_quantizer *a, const hu_quantizer *b) {
    hu_quantizer other = *b;
    other.format.overflow = a->format.overflow;
    return hu_quantizer_same_numbers(a, &other);
}

/* The quantizer that most tensors of the role have. */
static void find_usual(const hu_recorded *recorded, hu_role role, hu_quantizer *usual) {
    uint32_t most = 0;
    for (uint32_t t = 0; t < recorded->count; t++) {
        uint32_t equal = 0;
        if (recorded->tensor[t].role != role) continue;
        for (uint32_t o = t; o < recorded->count; o++)
            equal += recorded->tensor[o].role == role &&
                     hu_same_range(&recorded->tensor[o].now, &recorded->tensor[t].now);
        if (equal <= most) continue;
        most = equal;
        *usual = recorded->tensor[t].now;
    }
}

/* Lists by epoch, plans and schedules of bits are read by nobody here: what tensors have tells. */
static void read_precision(const hu_recorded *recorded, hu_setup *setup) {
    bool is_read = hu_precision_parse(setup->precision, &setup->parsed) == HU_OK;
    setup->is_by_role = is_read && !setup->parsed.bits.schedule && !setup->parsed.is_resolved &&
                        !setup->parsed.assignment.kind;
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        if (setup->is_by_role) setup->usual[r] = setup->parsed.role[r];
        if (!setup->is_by_role) find_usual(recorded, (hu_role)r, &setup->usual[r]);
    }
}

static void read_scaler(const hu_run_record *run, hu_setup *setup) {
    double init = atof(text_of(run, "scaler.init"));
    if (hu_loss_scale_parse(text_of(run, "scaler.name"), &setup->scaler) != HU_OK)
        setup->scaler = HU_LOSS_SCALE_NONE;
    setup->scale = init > 0.0 && setup->scaler != HU_LOSS_SCALE_NONE ? ilogb(init) : 0;
}

hu_status hu_setup_read(const hu_run_record *run, const hu_why *why, const hu_recorded *recorded,
                        hu_setup *setup) {
    *setup = (hu_setup){0};
    if (!run->config)
        return hu_fail(HU_ERR_MISSING, "%s: found no config.resolved.yaml that can be read",
                       run->folder);
    setup->precision = text_of(run, "precision.name");
    setup->rules = hu_keys_find(run->config, "precision.rules");
    setup->accumulator = text_of(run, "accumulator.name");
    const hu_keys *rules = hu_keys_find(run->config, "accumulator.rules");
    setup->has_accumulator_rules = rules && hu_keys_count(rules) > 0;
    read_precision(recorded, setup);
    setup->needs_masters =
        strcmp(text_of(run, "precision.master"), "off") == 0 && hu_failures_lose_updates(why);
    setup->needs_accumulator = hu_failures_fail_sums(why) || hu_sums_suspected(&why->death) ||
                               hu_sums_suspected(&why->end);
    read_scaler(run, setup);
    return HU_OK;
}

void hu_setup_free(hu_setup *setup) {
    hu_precision_free(&setup->parsed);
    *setup = (hu_setup){0};
}

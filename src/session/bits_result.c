#include "session/bits_result.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"

/* Costs of the trained model, and the numbers of bits it has. */
typedef struct trained {
    uint8_t *bits; /* [layers]. Owner frees */
    uint32_t least, most;
    double inference, relative; /* bit-operations of a sample, and as a share */
    double cost;                /* forward cost that the target is of, as a share */
} trained;

static bool read(const hu_trainer *trainer, trained *t) {
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    *t = (trained){.least = HU_BITS_FLOAT32};
    if (!meter) return false;
    const hu_bits *bits = meter->task->bits;
    const hu_bits_layers *layers = meter->task->layers;
    const hu_cost *cost = bits->cost ? bits->cost : &hu_cost_bitops;
    if (HU_NEW_ARRAY(&t->bits, layers->count) != HU_OK) return false;
    hu_trainer_trained_bits(trainer, t->bits);
    for (uint32_t l = 0; l < layers->count; l++) {
        if (!layers->layer[l].is_quantised) continue;
        if (t->bits[l] < t->least) t->least = t->bits[l];
        if (t->bits[l] > t->most) t->most = t->bits[l];
    }
    t->inference = hu_bits_meter_inference(meter, t->bits);
    t->relative = t->inference / hu_bits_meter_inference(meter, NULL);
    t->cost = hu_bits_meter_forward(meter, cost, t->bits) / hu_bits_meter_most(meter, cost);
    return true;
}

static bool has_target(const hu_bits *bits) {
    return bits->schedule->learned != NULL;
}

static json_t *layers_json(const hu_bits_layers *layers, const uint8_t *bits) {
    json_t *list = json_array();
    for (uint32_t l = 0; l < layers->count; l++)
        if (layers->layer[l].is_quantised)
            json_array_append_new(
                list, json_pack("{s:s, s:i}", "name", layers->layer[l].name, "bits", (int)bits[l]));
    return list;
}

void hu_bits_result_put(json_t *object, const hu_trainer *trainer) {
    trained t;
    if (!object || !read(trainer, &t)) return;
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    const hu_bits *bits = meter->task->bits;
    double target = has_target(bits) ? bits->target : (double)NAN;
    json_object_set_new(
        object, "bits",
        json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schedule",
                  bits->schedule->name, "most_bits", (int)bits->forward.most, "forward_bitops",
                  hu_json_number(meter->spent->forward), "training_bitops",
                  hu_json_number(meter->spent->training), "relative_forward_cost",
                  hu_json_number(hu_bits_relative_forward(meter)), "relative_training_cost",
                  hu_json_number(hu_bits_relative_training(meter)), "inference_bitops",
                  hu_json_number(t.inference), "relative_inference_cost",
                  hu_json_number(t.relative), "cost_at_end", hu_json_number(t.cost), "target",
                  hu_json_number(target), "layers", layers_json(meter->task->layers, t.bits)));
    hu_free(t.bits);
}

const char *hu_bits_result_text(const hu_trainer *trainer, char text[HU_BITS_TEXT_BYTES]) {
    trained t;
    text[0] = '\0';
    if (!read(trainer, &t)) return text;
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    const hu_bits *bits = meter->task->bits;
    int used = 0;
    if (meter->spent->samples > 0)
        used =
            snprintf(text, HU_BITS_TEXT_BYTES,
                     "training cost %.3f of static %u bits (%.4g bit-operations), ",
                     hu_bits_relative_training(meter), bits->forward.most, meter->spent->training);
    used += snprintf(text + used, HU_BITS_TEXT_BYTES - (size_t)used,
                     "inference %.3f (%.4g a sample), layers of ", t.relative, t.inference);
    used += snprintf(text + used, HU_BITS_TEXT_BYTES - (size_t)used,
                     t.least == t.most ? "%u bits" : "%u to %u bits", t.least, t.most);
    if (has_target(bits))
        snprintf(text + used, HU_BITS_TEXT_BYTES - (size_t)used,
                 "; forward cost (bits.cost=%s) at the end %.3f of that with %u bits, target %g",
                 bits->cost->name, t.cost, bits->forward.most, bits->target);
    hu_free(t.bits);
    return text;
}

#include "engine/range.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "engine/run.h"
#include "engine/scale.h"

/* What the run keeps: a fingerprint of the tensors (HEAD floats' bytes), then for each of them
 * whether it has a range, its zero and its width. */
enum { HEAD = 2, FIELDS = 3, SEEN = 0, ZERO = 1, WIDTH = 2 };

static const float keep = 0.9f; /* of the running range, in each step */

static float *fields_of(const hu_run *run, const hu_slot *slot) {
    return slot->range == HU_NONE ? NULL : run->ranges + slot->range;
}

/* A step whose range is not finite is skipped: it leaves no trace here. */
static void note(float *kept, float low, float high) {
    float width = high - low;
    if (!isfinite(width) || !isfinite(low)) return;
    kept[ZERO] = kept[SEEN] != 0.0f ? keep * kept[ZERO] + (1.0f - keep) * low : low;
    kept[WIDTH] = kept[SEEN] != 0.0f ? keep * kept[WIDTH] + (1.0f - keep) * width : width;
    kept[SEEN] = 1.0f;
}

void hu_range_set(hu_run *run, hu_slot *slot, float low, float high) {
    float *kept = fields_of(run, slot);
    bool is_kept = kept && !run->pass.training && kept[SEEN] != 0.0f;
    if (kept && hu_is_step(run) && !run->pass.keeps_statistics) note(kept, low, high);
    /* What is not finite has no code, under a range of earlier steps either. */
    if (is_kept && isfinite(low) && isfinite(high))
        hu_slot_set_range(slot, kept[ZERO], kept[ZERO] + kept[WIDTH]);
    else
        hu_slot_set_range(slot, low, high);
}

typedef struct places {
    uint32_t floats;
    XXH64_state_t hash;
} places;

static void place(hu_slot *slot, uint32_t kind, uint32_t index, places *p) {
    const hu_quantizer *quantizer = &slot->edge->quantizer;
    const uint32_t key[2] = {kind, index};
    if (quantizer->kind != HU_QUANTIZER_UNIFORM || !quantizer->keeps_range) return;
    XXH64_update(&p->hash, key, sizeof key);
    slot->range = p->floats;
    p->floats += FIELDS;
}

uint32_t hu_range_place(hu_run *run, uint64_t *fingerprint) {
    places p = {.floats = HEAD};
    XXH64_reset(&p.hash, 0);
    for (hu_value_id v = 0; v < run->graph->value_count; v++) place(&run->value[v], 0, v, &p);
    for (uint32_t u = 0; run->use && u < run->graph->use_count; u++) place(&run->use[u], 1, u, &p);
    *fingerprint = XXH64_digest(&p.hash);
    return p.floats == HEAD ? 0 : p.floats;
}

void hu_run_ranges(const hu_run *run, const void **data, size_t *bytes) {
    *data = run->ranges;
    *bytes = run->range_count * sizeof *run->ranges;
}

hu_status hu_run_restore_ranges(hu_run *run, const void *data, size_t bytes) {
    const size_t head = HEAD * sizeof *run->ranges;
    size_t own = run->range_count * sizeof *run->ranges;
    if (!run->ranges) return HU_OK;
    bool fits = data && bytes == own && memcmp(data, run->ranges, head) == 0;
    memset(run->ranges + HEAD, 0, own - head);
    if (fits) memcpy(run->ranges, data, own);
    for (uint32_t i = HEAD; i < run->range_count; i++)
        if (!isfinite(run->ranges[i]))
            return hu_fail(HU_ERR_CORRUPT, "number %u of the running ranges is not finite",
                           i - HEAD);
    return HU_OK;
}

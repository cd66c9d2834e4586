#include "data/changer.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/erase.h"
#include "data/randaugment.h"

/* What a thread works in. */
typedef struct slot {
    atomic_flag is_taken;
    uint8_t *pixels; /* [2][elements] */
    float *other;    /* [elements] */
} slot;

struct hu_changer {
    const hu_field *field;
    hu_augment augment;
    hu_randaugment operations;
    uint64_t seed;
    int64_t height, width, channels, elements;
    slot *slot; /* [slots] */
    int slots;
};

bool hu_changes(const hu_augment *augment) {
    return augment->randaugment > 0.0 || augment->erase > 0.0 || hu_mixes(augment);
}

static hu_status make_slot(const hu_changer *c, slot *s) {
    hu_status st = HU_OK;
    size_t elements = (size_t)c->elements;
    atomic_flag_clear(&s->is_taken);
    if (c->augment.randaugment > 0.0) HU_TRY(HU_NEW_ARRAY(&s->pixels, 2 * elements));
    if (hu_mixes(&c->augment)) HU_TRY(HU_NEW_ARRAY(&s->other, elements));
done:
    return st;
}

hu_status hu_changer_create(const hu_field *field, const hu_augment *augment, uint64_t seed,
                            int fillers, hu_changer **changer) {
    hu_status st = HU_OK;
    hu_changer *c = NULL;
    *changer = NULL;
    HU_TRY(HU_NEW(&c));
    c->field = field;
    c->augment = *augment;
    c->seed = seed;
    c->height = field->extent[0];
    c->width = field->extent[1];
    c->channels = field->rank > 2 ? field->extent[2] : 1;
    c->elements = c->height * c->width * c->channels;
    if (augment->randaugment > 0.0 && c->channels != HU_RANDAUGMENT_CHANNELS)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "data.randaugment: found '%s' of %lld channels, expected pictures of %d",
                       field->name, (long long)c->channels, HU_RANDAUGMENT_CHANNELS));
    c->operations =
        (hu_randaugment){.magnitude = augment->randaugment, .std = augment->randaugment_std};
    for (int k = 0; k < HU_RANDAUGMENT_CHANNELS; k++)
        if (field->std[k] > 0.0f)
            c->operations.fill[k] = (uint8_t)fmin(255.0, rint(255.0 * (double)field->mean[k]));
    c->slots = fillers > 0 ? fillers : 1;
    HU_TRY(HU_NEW_ARRAY(&c->slot, (size_t)c->slots));
    for (int i = 0; i < c->slots; i++) HU_TRY(make_slot(c, &c->slot[i]));
    *changer = c;
    c = NULL;
done:
    hu_changer_free(c);
    return st;
}

void hu_changer_free(hu_changer *c) {
    if (!c) return;
    for (int i = 0; c->slot && i < c->slots; i++) {
        hu_free(c->slot[i].pixels);
        hu_free(c->slot[i].other);
    }
    hu_free(c->slot);
    hu_free(c);
}

/* One that nobody has; where there are more threads than slots the others are waited for. */
static slot *take(hu_changer *c) {
    for (;; sched_yield())
        for (int i = 0; i < c->slots; i++)
            if (!atomic_flag_test_and_set(&c->slot[i].is_taken)) return &c->slot[i];
}

static void make(const hu_changer *c, const slot *s, const hu_byte_table *table, int64_t epoch,
                 const hu_stored *stored, float *sample) {
    const hu_augment *a = &c->augment;
    if (a->randaugment > 0.0) {
        hu_spatial_pixels(c->field, &stored->change, stored->bytes, s->pixels);
        hu_randaugment_run(&c->operations, c->seed, epoch, stored->index, c->height, c->width,
                           s->pixels, s->pixels + c->elements);
        hu_spatial_look_up(c->field, table, &stored->change, s->pixels, sample);
    } else
        hu_spatial_fill(c->field, table, &stored->change, stored->bytes, sample);
    if (a->erase > 0.0)
        hu_erase(a->erase, c->seed, epoch, stored->index, c->height, c->width, c->channels, sample);
}

hu_mix hu_changer_mix(const hu_changer *c, int64_t epoch, int64_t index) {
    const hu_random_key key = {c->seed, hu_stream_id("mix", ""), (uint64_t)epoch};
    if (!hu_mixes(&c->augment)) return (hu_mix){0};
    return hu_mix_draw(&c->augment, &key, index, c->height, c->width);
}

void hu_changer_fill(hu_changer *c, const hu_byte_table *table, int64_t epoch, const hu_stored *own,
                     const hu_stored *partner, float *sample) {
    slot *s = take(c);
    make(c, s, table, epoch, own, sample);
    hu_mix mix = partner ? hu_changer_mix(c, epoch, own->index) : (hu_mix){0};
    if (mix.weight > 0.0f) {
        make(c, s, table, epoch, partner, s->other);
        hu_mix_apply(&mix, c->height, c->width, c->channels, s->other, sample);
    }
    atomic_flag_clear(&s->is_taken);
}

#include "train/loss_scale.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

_Static_assert(sizeof(hu_loss_scale_state) == 32, "the saved state has no padding");

const hu_kind hu_loss_scale_kinds[HU_LOSS_SCALE_COUNT] = {
    [HU_LOSS_SCALE_NONE] = {"none", "the loss is not scaled"},
    [HU_LOSS_SCALE_CONSTANT] = {"constant", "one scale for the whole run"},
    [HU_LOSS_SCALE_DYNAMIC] = {"dynamic", "grows while all goes well, backs off at an overflow"},
};

hu_status hu_loss_scale_parse(const char *name, hu_loss_scale_kind *kind) {
    size_t index;
    hu_status st =
        hu_registry_parse("scaler", hu_loss_scale_kinds, HU_LOSS_SCALE_COUNT, name, &index);
    *kind = (hu_loss_scale_kind)index;
    return st;
}

/* The numbers of torch.cuda.amp.GradScaler, and a limit of its own: 20 skipped steps in a row. */
hu_loss_scale_options hu_loss_scale_defaults(hu_loss_scale_kind kind) {
    return (hu_loss_scale_options){
        .kind = kind,
        .init = kind == HU_LOSS_SCALE_NONE ? 1.0f : 0x1p16f,
        .growth = 2.0f,
        .backoff = 0.5f,
        .interval = 2000,
        .max_consecutive_skips = 20,
    };
}

/* Rounded once, from double: gradients are multiplied with it. */
static float inverse_of(float scale) {
    return (float)(1.0 / (double)scale);
}

/* A scale below 2^-128 has an infinite reciprocal: unscaled gradients would all be infinite. */
static bool is_usable(float scale) {
    return isfinite(scale) && scale > 0 && isfinite(inverse_of(scale));
}

/* Each kind is asked only for the numbers that it uses. */
static hu_status check(const hu_loss_scale_options *o) {
    hu_status st = HU_OK;
    HU_TRY(hu_require_range("scaler.kind", o->kind, 0, HU_LOSS_SCALE_COUNT, "a known kind"));
    HU_TRY(hu_require_range("scaler.max_consecutive_skips", o->max_consecutive_skips, 0, INFINITY,
                            "a number >= 0"));
    if (o->kind == HU_LOSS_SCALE_NONE) return HU_OK;
    HU_TRY(hu_require_range("scaler.init", is_usable(o->init) ? (double)o->init : NAN, 0, INFINITY,
                            "a finite number > 0 with a finite reciprocal"));
    if (o->kind == HU_LOSS_SCALE_CONSTANT) return HU_OK;
    HU_TRY(
        hu_require_range("scaler.growth", (double)o->growth, 1, INFINITY, "a finite number >= 1"));
    HU_TRY(hu_require_range("scaler.backoff", (double)o->backoff, 0x1p-149, 1,
                            "a number > 0 and < 1"));
    HU_TRY(hu_require_range("scaler.interval", o->interval, 1, INFINITY, "a number >= 1"));
    HU_TRY(hu_require_range("scaler.min", (double)o->min, 0, nextafter((double)o->init, INFINITY),
                            "0 (no bound) or a number up to scaler.init"));
    if (o->max != 0)
        HU_TRY(hu_require_range("scaler.max", (double)o->max, (double)o->init, INFINITY,
                                "0 (no bound) or a finite number from scaler.init up"));
done:
    return st;
}

hu_status hu_loss_scale_init(const hu_loss_scale_options *options, hu_loss_scale *scale) {
    hu_status st = check(options);
    *scale = (hu_loss_scale){0};
    if (st != HU_OK) return st;
    scale->options = *options;
    scale->state.scale = options->kind == HU_LOSS_SCALE_NONE ? 1.0f : options->init;
    scale->state.last_overflow_step = -1;
    return HU_OK;
}

float hu_loss_scale_inverse(const hu_loss_scale *scale) {
    return inverse_of(scale->state.scale);
}

/* At the largest float32 the scale stays where it is. */
static void grow(hu_loss_scale *scale) {
    const hu_loss_scale_options *o = &scale->options;
    float next = scale->state.scale * o->growth;
    if (o->max > 0 && next > o->max) next = o->max;
    if (isfinite(next)) scale->state.scale = next;
}

/* May reach 0 where there is no lower bound; stop_rule then ends the run. */
static void back_off(hu_loss_scale *scale) {
    const hu_loss_scale_options *o = &scale->options;
    float next = scale->state.scale * o->backoff;
    scale->state.scale = next < o->min ? o->min : next;
}

/* Why a run that only skips must not go on. */
static hu_status stop_rule(const hu_loss_scale *scale, int64_t step) {
    const hu_loss_scale_state *s = &scale->state;
    int32_t limit = scale->options.max_consecutive_skips;
    char text[HU_DECIMAL_BYTES];
    if (!is_usable(s->scale))
        return hu_fail(
            HU_ERR_NONFINITE,
            "step %lld: loss scale: found %s after %lld skipped steps in a row, expected "
            "a number with a finite reciprocal: the gradients overflow at every scale",
            (long long)step, hu_scale_text((double)s->scale, text), (long long)s->consecutive);
    if (limit == 0 || s->consecutive < limit) return HU_OK;
    return hu_fail(HU_ERR_NONFINITE,
                   "step %lld: gradients: found infinities or NaN in %lld steps in a row, all "
                   "skipped, expected fewer than %d (loss scale %s, now %s): nothing is being "
                   "learned; the weights are those before the first of them",
                   (long long)step, (long long)s->consecutive, (int)limit,
                   hu_loss_scale_kinds[scale->options.kind].name,
                   hu_scale_text((double)s->scale, text));
}

/* Source: GradScaler.update: an overflow also restarts the count of good steps. */
hu_status hu_loss_scale_update(hu_loss_scale *scale, bool found_nonfinite, int64_t step) {
    hu_loss_scale_state *s = &scale->state;
    bool dynamic = scale->options.kind == HU_LOSS_SCALE_DYNAMIC;
    if (found_nonfinite) {
        s->good_steps = 0;
        s->skipped++;
        s->consecutive++;
        s->last_overflow_step = step;
        if (dynamic) back_off(scale);
        return stop_rule(scale, step);
    }
    s->consecutive = 0;
    if (dynamic && ++s->good_steps >= scale->options.interval) {
        grow(scale);
        s->good_steps = 0;
    }
    return HU_OK;
}

hu_status hu_loss_scale_restore(hu_loss_scale *scale, const void *data, size_t bytes) {
    hu_loss_scale_state state;
    /* A file may hold anything: each number is checked for what no run can have. */
    if (bytes != sizeof state)
        return hu_fail(HU_ERR_CORRUPT, "loss scale: found %zu bytes, expected %zu", bytes,
                       sizeof state);
    memcpy(&state, data, sizeof state);
    if (!is_usable(state.scale))
        return hu_fail(HU_ERR_CORRUPT, "loss scale: found a scale of %g, expected a finite one > 0",
                       (double)state.scale);
    if (state.good_steps < 0 || state.consecutive < 0 || state.skipped < state.consecutive ||
        state.last_overflow_step < -1)
        return hu_fail(HU_ERR_CORRUPT,
                       "loss scale: found counters %d, %lld, %lld, %lld (tracker, skipped, "
                       "consecutive, last overflow), expected none below 0 and not more "
                       "consecutive than skipped",
                       (int)state.good_steps, (long long)state.skipped,
                       (long long)state.consecutive, (long long)state.last_overflow_step);
    scale->state = state;
    return HU_OK;
}

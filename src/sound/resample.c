#include "sound/resample.h"

#include <samplerate.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* from [count] and behind it what is written, to [room], as float32. */
static hu_status convert(const char *name, SRC_DATA *job) {
    enum { ONE_CHANNEL = 1 };
    int error = src_simple(job, SRC_SINC_MEDIUM_QUALITY, ONE_CHANNEL);
    if (!error) return HU_OK;
    const char *why = src_strerror(error);
    return hu_fail(strstr(why, "alloc") ? HU_ERR_MEMORY : HU_ERR_UNSUPPORTED, "%s: resampling: %s",
                   name, why);
}

/* The converter may give a moment less or more than the ratio says. */
static hu_status take(const float *made, int64_t there, int64_t count, hu_sound *sound) {
    double *sample;
    hu_status st = HU_NEW_ARRAY(&sample, (size_t)count);
    if (st != HU_OK) return st;
    for (int64_t i = 0; i < count && i < there; i++) sample[i] = (double)made[i];
    hu_free(sound->sample);
    sound->sample = sample;
    sound->count = count;
    return HU_OK;
}

hu_status hu_sound_resample(const char *name, int64_t rate, hu_sound *sound) {
    float *from = NULL, *to = NULL;
    hu_status st;
    if (rate == sound->rate) return HU_OK;
    double ratio = (double)rate / (double)sound->rate;
    if (!src_is_valid_ratio(ratio))
        return hu_fail(HU_ERR_UNSUPPORTED,
                       "%s: found %lld samples a second, expected %lld or a rate that is at most "
                       "256 times more or less",
                       name, (long long)sound->rate, (long long)rate);
    double length = (double)sound->count * ratio + 0.5;
    if (!(length < (double)HU_SOUND_MOMENTS_MAX))
        return hu_fail(HU_ERR_LIMIT, "%s: found more than %lld moments of sound at %lld a second",
                       name, (long long)HU_SOUND_MOMENTS_MAX, (long long)rate);
    int64_t count = length < 1.0 ? 1 : (int64_t)length;
    HU_TRY(HU_NEW_ARRAY(&from, (size_t)sound->count));
    HU_TRY(HU_NEW_ARRAY(&to, (size_t)count));
    for (int64_t i = 0; i < sound->count; i++) from[i] = (float)sound->sample[i];
    SRC_DATA job = {.data_in = from,
                    .data_out = to,
                    .input_frames = (long)sound->count,
                    .output_frames = (long)count,
                    .src_ratio = ratio};
    HU_TRY(convert(name, &job));
    HU_TRY(take(to, job.output_frames_gen, count, sound));
    sound->rate = rate;
done:
    hu_free(from);
    hu_free(to);
    return st;
}

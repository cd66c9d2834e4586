#include "data/sound_read.h"

#include <math.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "sound/resample.h"

hu_status hu_sound_read(const char *path, hu_sound *sound) {
    uint8_t *data = NULL;
    size_t bytes;
    hu_status st;
    *sound = (hu_sound){0};
    HU_TRY(hu_file_read_plain(path, HU_SOUND_FILE_MAX, &data, &bytes));
    st = hu_sound_decode(path, data, bytes, sound);
done:
    hu_free(data);
    return st;
}

/* A usual rate of so many frequencies: windows of 20 ms have rate / 100 + 1 of them. */
static int64_t rate_of_bins(int64_t bins) {
    enum { RATE_OF_BIN = 100 };
    static const int64_t usual[] = {11025, 22050};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (hu_spectrum_bins(usual[i]) == bins) return usual[i];
    return RATE_OF_BIN * (bins - 1);
}

hu_status hu_sound_spectrum(const char *first, const hu_image_choice *choice, bool is_known,
                            hu_spectrum *spectrum) {
    hu_sound sound;
    int64_t bins = is_known ? choice->known.width : 0, rate = choice->rate;
    hu_status st = HU_OK;
    *spectrum = (hu_spectrum){0};
    if (rate > 0 && bins > 0 && hu_spectrum_bins(rate) != bins)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data.rate: found %lld, expected %lld or another rate of %lld frequencies, "
                       "as the run has",
                       (long long)rate, (long long)rate_of_bins(bins), (long long)bins);
    if (rate > 0) return hu_spectrum_create(rate, spectrum);
    HU_TRY(hu_sound_read(first, &sound));
    hu_free(sound.sample);
    rate = bins > 0 && hu_spectrum_bins(sound.rate) != bins ? rate_of_bins(bins) : sound.rate;
    st = hu_spectrum_create(rate, spectrum);
    if (st == HU_ERR_ARGUMENT)
        st =
            hu_fail(HU_ERR_CORRUPT, "%s: %s; data.rate=16000 resamples it", first, hu_last_error());
done:
    return st;
}

/* A ten-thousandth of full scale, 80 dB below it, is a recorder's own noise. */
static bool is_silent(const hu_sound *sound) {
    const double audible = 1e-4;
    for (int64_t i = 0; i < sound->count; i++)
        if (fabs(sound->sample[i]) >= audible) return false;
    return true;
}

hu_status hu_sound_rows(const char *path, const hu_spectrum *spectrum, int64_t most, float *row,
                        int32_t *frames, hu_sound_counts *counts) {
    hu_sound sound;
    hu_status st;
    HU_TRY(hu_sound_read(path, &sound));
    counts->resampled += sound.rate != spectrum->rate;
    counts->silent += is_silent(&sound);
    HU_TRY(hu_sound_resample(path, spectrum->rate, &sound));
    int64_t count = hu_spectrum_frames(spectrum, sound.count);
    counts->cut += count > most;
    *frames = (int32_t)(count < most ? count : most);
    st = hu_spectrum_rows(spectrum, sound.sample, sound.count, most, row);
done:
    hu_free(sound.sample);
    return st;
}

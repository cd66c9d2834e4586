#include "media/audio.h"

#include <math.h>
#include <pthread.h>
#include <samplerate.h>
#include <sndfile.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

/* ---- decode ---- */

/* Sound from the bytes of a file: WAV, AIFF, FLAC, OGG (Vorbis, Opus) and what
 * else libsndfile reads. */

enum { TAG_BYTES = 4, BLOCK_MOMENTS = 4096 };

/* ---- the bytes as a file of libsndfile ---- */

/* Two pieces, one after the other. */
typedef struct sound_bytes {
    const uint8_t *head, *body;
    sf_count_t head_bytes, body_bytes, at;
} sound_bytes;

static sf_count_t tell_size(void *context) {
    const sound_bytes *b = context;
    return b->head_bytes + b->body_bytes;
}

static sf_count_t tell_place(void *context) {
    return ((sound_bytes *)context)->at;
}

static sf_count_t seek(sf_count_t offset, int whence, void *context) {
    sound_bytes *b = context;
    sf_count_t size = tell_size(b), from = whence == SEEK_CUR ? b->at : 0;
    if (whence == SEEK_END) from = size;
    if (offset < -from || offset > size - from) return -1;
    return b->at = from + offset;
}

/* What one piece has from here on, at most so many bytes. */
static sf_count_t read_piece(sound_bytes *b, uint8_t *to, sf_count_t count) {
    bool is_head = b->at < b->head_bytes;
    sf_count_t at = is_head ? b->at : b->at - b->head_bytes;
    sf_count_t left = (is_head ? b->head_bytes : b->body_bytes) - at;
    if (count > left) count = left;
    if (count <= 0) return 0;
    memcpy(to, (is_head ? b->head : b->body) + at, (size_t)count);
    b->at += count;
    return count;
}

static sf_count_t read_bytes(void *to, sf_count_t count, void *context) {
    sf_count_t first = read_piece(context, to, count);
    return first + (first > 0 ? read_piece(context, (uint8_t *)to + first, count - first) : 0);
}

static sf_count_t write_nothing(const void *from, sf_count_t count, void *context) {
    (void)from, (void)count, (void)context;
    return 0;
}

/* ---- RIFF WAVE ---- */

/* libsndfile sees its format and its sound alone: it stumbles over others, over their order, and
 * takes what is cut off in silence. */
enum { FORMAT_LEAST = 16, FORMAT_MOST = 1024, CHUNK_HEAD = 8, RIFF_HEAD = 12 };
enum { WAV_HEAD_MOST = RIFF_HEAD + CHUNK_HEAD + FORMAT_MOST + CHUNK_HEAD };

typedef struct wav_chunks {
    const uint8_t *format, *sound; /* NULL: not found */
    size_t format_bytes, sound_bytes;
} wav_chunks;

static bool is_tag(const uint8_t *found, const char *tag) {
    return memcmp(found, tag, TAG_BYTES) == 0;
}

static uint32_t u32_le(const uint8_t *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint8_t *put_chunk(uint8_t *to, const char *tag, size_t bytes) {
    memcpy(to, tag, TAG_BYTES);
    for (int i = 0; i < TAG_BYTES; i++) to[TAG_BYTES + i] = (uint8_t)(bytes >> 8 * i);
    return to + CHUNK_HEAD;
}

static bool is_wav(const uint8_t *data, size_t bytes) {
    return bytes >= RIFF_HEAD && is_tag(data, "RIFF") && is_tag(data + CHUNK_HEAD, "WAVE");
}

/* The chunks of a WAV. Sizes of sound that nobody knew when they were written mean all that is
 * present; others that are longer than what is left are errors. */
static hu_status find_chunks(const char *name, const uint8_t *data, size_t bytes, wav_chunks *w) {
    const uint32_t unknown = 0x7ffff000, riff_bytes = u32_le(data + TAG_BYTES);
    *w = (wav_chunks){0};
    for (size_t at = RIFF_HEAD; bytes - at >= CHUNK_HEAD && !(w->format && w->sound);) {
        bool is_sound = is_tag(data + at, "data"), is_format = is_tag(data + at, "fmt ");
        size_t size = u32_le(data + at + TAG_BYTES), left = bytes - (at += CHUNK_HEAD);
        bool is_open = size >= unknown || (size == 0 && riff_bytes != bytes - CHUNK_HEAD);
        if (is_sound && is_open) size = left;
        if (size > left)
            return hu_fail(HU_ERR_CORRUPT,
                           "%s: offset %zu: found %zu bytes of a chunk, expected %zu: the file is "
                           "cut off",
                           name, at, left, size);
        if (is_sound) w->sound = data + at, w->sound_bytes = size;
        if (is_format) w->format = data + at, w->format_bytes = size;
        at += size;
        if (size % 2 && at < bytes) at++;
    }
    if (!w->format || !w->sound)
        return hu_fail(HU_ERR_CORRUPT, "%s: found no chunk '%s', expected one", name,
                       w->format ? "data" : "fmt ");
    if (w->format_bytes < FORMAT_LEAST || w->format_bytes > FORMAT_MOST)
        return hu_fail(HU_ERR_CORRUPT, "%s: found a chunk 'fmt ' of %zu bytes, expected %d to %d",
                       name, w->format_bytes, FORMAT_LEAST, FORMAT_MOST);
    if (w->sound_bytes == 0)
        return hu_fail(HU_ERR_CORRUPT, "%s: found a sound of no length, expected at least a moment",
                       name);
    return HU_OK;
}

/* RIFF, the format, and the head of the sound, which follows. */
static hu_status order_chunks(const char *name, const uint8_t *data, size_t bytes,
                              uint8_t head[WAV_HEAD_MOST], sound_bytes *file) {
    wav_chunks w;
    hu_status st = find_chunks(name, data, bytes, &w);
    if (st != HU_OK) return st;
    size_t padded = w.format_bytes + w.format_bytes % 2;
    uint8_t *to =
        put_chunk(head, "RIFF", TAG_BYTES + CHUNK_HEAD + padded + CHUNK_HEAD + w.sound_bytes);
    memcpy(to, "WAVE", TAG_BYTES);
    to = put_chunk(to + TAG_BYTES, "fmt ", w.format_bytes);
    memcpy(to, w.format, w.format_bytes);
    to = put_chunk(to + padded, "data", w.sound_bytes);
    *file = (sound_bytes){head, w.sound, (sf_count_t)(to - head), (sf_count_t)w.sound_bytes, 0};
    return HU_OK;
}

/* ---- kinds ---- */

/* What files of sounds that are not read begin with. at: of the letters. */
static const struct {
    size_t at;
    const char *letters, *kind;
} others[] = {{4, "ftyp", "MPEG-4 sound or video (m4a, mp4)"},
              {0, "ID3", "MPEG sound (mp3)"},
              {0, "\xff\xfb", "MPEG sound (mp3)"},
              {0, "\xff\xf3", "MPEG sound (mp3)"},
              {0, "\xff\xf1", "AAC sound"},
              {0, "\xff\xf9", "AAC sound"},
              {0, "#!AMR", "AMR sound"},
              {0, "\x30\x26\xb2\x75", "Windows Media sound (wma)"},
              {0, "\x1a\x45\xdf\xa3", "a Matroska or WebM file"},
              {0, "MAC ", "Monkey's Audio"},
              {0, "wvpk", "WavPack sound"}};

static hu_status not_supported(const char *name, const char *kind) {
    char word[1024];
    if (!hu_quote_shell(name, word, sizeof word))
        return hu_fail(HU_ERR_UNSUPPORTED, "%s: found %s, expected WAV, FLAC, OGG or AIFF", name,
                       kind);
    return hu_fail(HU_ERR_UNSUPPORTED,
                   "%s: found %s, expected WAV, FLAC, OGG or AIFF; `ffmpeg -i %s sound.wav` makes "
                   "a WAV of it",
                   name, kind, word);
}

/* Of a WAV whose chunks are present: neither PCM, floats, A-law nor mu-law. */
static bool has_other_coding(const uint8_t *data, size_t bytes) {
    wav_chunks w;
    if (!is_wav(data, bytes) || find_chunks("", data, bytes, &w) != HU_OK) return false;
    unsigned coding = w.format[0] | (unsigned)w.format[1] << 8;
    return coding != 1 && coding != 3 && coding != 6 && coding != 7 && coding != 0xfffe;
}

/* Why libsndfile opens no file; its own words where they say more than that it knows nothing. */
static hu_status refuse(const char *name, const uint8_t *data, size_t bytes, int error) {
    const char *why = sf_error_number(error);
    if (strstr(why, "malloc")) return hu_fail(HU_ERR_MEMORY, "%s: %s", name, why);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t at = others[i].at, length = strlen(others[i].letters);
        if (bytes >= at + length && memcmp(data + at, others[i].letters, length) == 0)
            return not_supported(name, others[i].kind);
    }
    if (error == SF_ERR_UNSUPPORTED_ENCODING || has_other_coding(data, bytes))
        return not_supported(name, "sound of another coding");
    if (error == SF_ERR_UNRECOGNISED_FORMAT)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found %zu bytes that are no sound, expected WAV, FLAC, OGG or AIFF",
                       name, bytes);
    return hu_fail(HU_ERR_CORRUPT, "%s: found damaged sound: %s", name, why);
}

/* The error of a file that does not open is the library's, of all threads. */
static SNDFILE *open_bytes(sound_bytes *file, SF_INFO *info, int *error) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    static SF_VIRTUAL_IO doors = {tell_size, seek, read_bytes, write_nothing, tell_place};
    pthread_mutex_lock(&one_at_a_time);
    SNDFILE *opened = sf_open_virtual(&doors, SFM_READ, info, file);
    *error = opened ? 0 : sf_error(NULL);
    pthread_mutex_unlock(&one_at_a_time);
    return opened;
}

/* ---- samples ---- */

/* A sound while it is read. */
typedef struct reading {
    const char *name;
    SNDFILE *file;
    int channels;
    double *block; /* [BLOCK_MOMENTS, channels] */
    size_t capacity;
} reading;

static hu_status make_room(hu_sound *sound, const reading *r, int64_t more, size_t *capacity) {
    size_t needed = (size_t)(sound->count + more);
    if (needed > (size_t)HU_SOUND_MOMENTS_MAX)
        return hu_fail(HU_ERR_LIMIT, "%s: found more than %lld moments of sound", r->name,
                       (long long)HU_SOUND_MOMENTS_MAX);
    if (needed <= *capacity) return HU_OK;
    size_t wanted = needed > 2 * *capacity ? needed : 2 * *capacity;
    void *block = sound->sample;
    hu_status st = hu_realloc(&block, wanted * sizeof *sound->sample);
    if (st != HU_OK) return st;
    sound->sample = block;
    *capacity = wanted;
    return HU_OK;
}

/* Mean of the channels of each moment, after those that are present. */
static hu_status mix_down(const reading *r, int64_t moments, hu_sound *sound) {
    const double most = 1e30; /* whose square is finite, summed over a window */
    const double *from = r->block;
    for (int64_t i = 0; i < moments; i++, from += r->channels) {
        double sum = 0.0;
        for (int c = 0; c < r->channels; c++) sum += from[c];
        if (!(fabs(sum) <= most))
            return hu_fail(HU_ERR_CORRUPT,
                           "%s: moment %lld: found %g, expected a finite number, -1 to 1 of sound",
                           r->name, (long long)(sound->count + i), sum);
        sound->sample[sound->count + i] = sum / (double)r->channels;
    }
    sound->count += moments;
    return HU_OK;
}

/* All moments. expected: as many as the head says, which streams do not. */
static hu_status read_moments(const reading *r, int64_t expected, hu_sound *sound) {
    size_t capacity = 0;
    hu_status st = HU_OK;
    for (int64_t got = 1; got > 0;) {
        got = sf_readf_double(r->file, r->block, BLOCK_MOMENTS);
        int error = sf_error(r->file);
        if (error)
            HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found damaged sound behind moment %lld: %s",
                           r->name, (long long)(sound->count + got), sf_error_number(error)));
        if (got > 0) HU_TRY(make_room(sound, r, got, &capacity));
        if (got > 0) HU_TRY(mix_down(r, got, sound));
    }
    if (expected < SF_COUNT_MAX && sound->count < expected)
        HU_TRY(hu_fail(HU_ERR_CORRUPT,
                       "%s: found %lld moments of sound, expected %lld: the file is cut off",
                       r->name, (long long)sound->count, (long long)expected));
    if (sound->count == 0)
        st = hu_fail(HU_ERR_CORRUPT, "%s: found a sound of no length, expected at least a moment",
                     r->name);
done:
    return st;
}

hu_status hu_sound_decode(const char *name, const uint8_t *data, size_t bytes, hu_sound *sound) {
    sound_bytes file = {.head = data, .head_bytes = (sf_count_t)bytes};
    uint8_t head[WAV_HEAD_MOST] = {0};
    SF_INFO info = {.format = 0};
    reading r = {.name = name};
    int error;
    hu_status st;
    *sound = (hu_sound){0};
    if (is_wav(data, bytes)) HU_TRY(order_chunks(name, data, bytes, head, &file));
    r.file = open_bytes(&file, &info, &error);
    if (!r.file) HU_TRY(refuse(name, data, bytes, error));
    r.channels = info.channels;
    sound->rate = info.samplerate;
    if (info.samplerate < 1 || info.channels < 1)
        HU_TRY(hu_fail(HU_ERR_CORRUPT,
                       "%s: found %d samples a second in %d channels, expected at least one", name,
                       info.samplerate, info.channels));
    HU_TRY(HU_NEW_ARRAY(&r.block, (size_t)BLOCK_MOMENTS * (size_t)info.channels));
    st = read_moments(&r, info.frames, sound);
done:
    if (r.file) sf_close(r.file);
    hu_free(r.block);
    if (st == HU_OK) return HU_OK;
    hu_free(sound->sample);
    *sound = (hu_sound){0};
    return st;
}

/* ---- Sound at another rate ---- */

/* from [count] and after it what is written, to [room], as float32. */
static hu_status convert(const char *name, SRC_DATA *job) {
    enum { ONE_CHANNEL = 1 };
    int error = src_simple(job, SRC_SINC_MEDIUM_QUALITY, ONE_CHANNEL);
    if (!error) return HU_OK;
    const char *why = src_strerror(error);
    return hu_fail(strstr(why, "alloc") ? HU_ERR_MEMORY : HU_ERR_UNSUPPORTED, "%s: resampling: %s",
                   name, why);
}

/* The converter may give a moment less or more than the ratio says. */
static hu_status take(const float *made, int64_t valid, int64_t count, hu_sound *sound) {
    double *sample;
    hu_status st = HU_NEW_ARRAY(&sample, (size_t)count);
    if (st != HU_OK) return st;
    for (int64_t i = 0; i < count && i < valid; i++) sample[i] = (double)made[i];
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

/* ---- spectrogram ---- */

/* Sound as rows of numbers: the logarithm of its power by time and frequency.
 */

enum { WINDOWS_A_SECOND = 50, HOPS_A_SECOND = 100, LEAST_RATE = 200, MOST_RATE = 1 << 20 };

/* After logarithm and deviation, so that silence is finite. */
static const double least_power = 1e-6, least_deviation = 1e-3;

/* cos and sin of 2 pi n k / window; the sine is the cosine three quarters of a turn on. */
static void fill_tables(hu_spectrum *s) {
    uint64_t turn = 4 * (uint64_t)s->window;
    for (int64_t n = 0; n < s->window; n++) {
        s->shape[n] = 0.5 - 0.5 * hu_cos_part(4 * (uint64_t)n, turn);
        for (int64_t k = 0; k < s->bins; k++) {
            uint64_t part = 4 * ((uint64_t)(n * k) % (uint64_t)s->window);
            s->cosine[n * s->bins + k] = hu_cos_part(part, turn);
            s->sine[n * s->bins + k] = hu_cos_part((part + 3 * (uint64_t)s->window) % turn, turn);
        }
    }
}

int64_t hu_spectrum_bins(int64_t rate) {
    return rate / WINDOWS_A_SECOND / 2 + 1;
}

hu_status hu_spectrum_create(int64_t rate, hu_spectrum *spectrum) {
    hu_status st;
    *spectrum = (hu_spectrum){.rate = rate,
                              .window = rate / WINDOWS_A_SECOND,
                              .hop = rate / HOPS_A_SECOND,
                              .bins = hu_spectrum_bins(rate)};
    if (rate < LEAST_RATE || rate > MOST_RATE)
        return hu_fail(HU_ERR_ARGUMENT, "found sound of %lld samples a second, expected %d to %d",
                       (long long)rate, LEAST_RATE, MOST_RATE);
    size_t numbers = (size_t)(spectrum->window * spectrum->bins);
    HU_TRY(HU_NEW_ARRAY(&spectrum->shape, (size_t)spectrum->window));
    HU_TRY(HU_NEW_ARRAY(&spectrum->cosine, numbers));
    HU_TRY(HU_NEW_ARRAY(&spectrum->sine, numbers));
    fill_tables(spectrum);
done:
    return st;
}

void hu_spectrum_free(hu_spectrum *spectrum) {
    hu_free(spectrum->shape);
    hu_free(spectrum->cosine);
    hu_free(spectrum->sine);
    *spectrum = (hu_spectrum){0};
}

int64_t hu_spectrum_frames(const hu_spectrum *spectrum, int64_t samples) {
    return samples < spectrum->window ? 1 : 1 + (samples - spectrum->window) / spectrum->hop;
}

/* x [bins] of one window of there samples, after which zeros follow; imaginary [bins] is scratch.
 * The inner loop runs over the bins: each sum keeps the order of the samples. */
static void window_row(const hu_spectrum *s, const double *sample, int64_t valid, double *imaginary,
                       double *x) {
    int64_t bins = s->bins, count = valid < s->window ? valid : s->window;
    memset(x, 0, (size_t)bins * sizeof *x);
    memset(imaginary, 0, (size_t)bins * sizeof *imaginary);
    for (int64_t n = 0; n < count; n++) {
        const double *cosine = s->cosine + n * bins, *sine = s->sine + n * bins;
        double value = s->shape[n] * sample[n];
        for (int64_t k = 0; k < bins; k++) {
            x[k] += value * cosine[k];
            imaginary[k] += value * sine[k];
        }
    }
    for (int64_t k = 0; k < bins; k++) {
        double power = x[k] * x[k] + imaginary[k] * imaginary[k];
        x[k] = hu_log(power + least_power);
    }
}

/* Mean and standard deviation (divisor n) of x [n]. */
static void moments(const double *x, int64_t n, double *mean, double *deviation) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) squares += (x[i] - *mean) * (x[i] - *mean);
    *deviation = sqrt(squares / (double)n);
}

hu_status hu_spectrum_rows(const hu_spectrum *spectrum, const double *sample, int64_t count,
                           int64_t most, float *rows) {
    int64_t frames = hu_spectrum_frames(spectrum, count), bins = spectrum->bins;
    int64_t written = frames < most ? frames : most;
    double *x, mean, deviation;
    hu_status st = HU_NEW_ARRAY(&x, (size_t)((frames + 1) * bins));
    if (st != HU_OK) return st;
    for (int64_t f = 0; f < frames; f++)
        window_row(spectrum, sample + f * spectrum->hop, count - f * spectrum->hop,
                   x + frames * bins, x + f * bins);
    moments(x, frames * bins, &mean, &deviation);
    for (int64_t i = 0; i < written * bins; i++)
        rows[i] = (float)((x[i] - mean) / (deviation + least_deviation));
    hu_free(x);
    return HU_OK;
}

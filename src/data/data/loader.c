/* Samples of one part of a data set, field by field, in the order of an epoch. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <halfulp/data.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "base/rng.h"
#include "data/augment.h"
#include "data/mixing.h"
#include "data/reader.h"
#include "data/sampler.h"

/* ---- samples read from their files ahead of the step that wants them ---- */

typedef struct hu_prefetch_settings {
    const hu_split *split; /* with a reader */
    hu_sampler_settings order;
    hu_augment augment; /* area and scales are read */
    int64_t window;     /* most samples that are wanted at once, at least 1 */
    int threads;        /* at least 1 */
    bool goes_on;       /* with the next epoch after the last sample of one */
    int memory_parts;   /* the room is at most this part of what the reader allows */
    size_t kept;        /* bytes of that part that the reader keeps: where a window does not fit
                           beside them it drops them */
} hu_prefetch_settings;

typedef struct hu_prefetch hu_prefetch;

/* A window is used while the next one is read; each thread may be one sample further. */
enum { WINDOWS = 2, MESSAGE_BYTES = 1024 };

struct hu_prefetch {
    hu_prefetch_settings settings;
    const hu_reader *reader;
    hu_sampler order; /* of the epoch that `next` belongs to */
    int64_t slots;
    uint8_t *samples; /* [slots, sample_bytes] */
    bool *is_read;    /* [slots] */
    pthread_t *thread;
    int started;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t has_read, may_read;
    int64_t next, position; /* ticket that is read next, its position in order.epoch */
    int64_t first;          /* ticket of the first sample of the window */
    int64_t window_epoch, window_position, window_count;
    int64_t ready;  /* all tickets before it are read */
    int64_t wanted; /* tickets before it are waited for */
    int busy;       /* threads that are reading */
    bool is_held, is_ended;
    double waited;
    int64_t failed; /* ticket of the first sample that could not be read, or INT64_MAX */
    hu_status failure;
    char message[MESSAGE_BYTES];
};

/* ---- the threads ---- */

/* Whether there is a ticket to take: room for it, no failure before it, and a sample. */
static bool may_take(const hu_prefetch *a) {
    return !a->is_held && a->next < a->first + a->slots && a->next < a->failed &&
           (a->position < a->settings.split->count || a->settings.goes_on);
}

/* Takes the next ticket; index and change say what to read. */
static int64_t take(hu_prefetch *a, int64_t *index, hu_reading_change *change) {
    if (a->position == a->settings.split->count) {
        hu_sampler_begin(&a->order, a->order.epoch + 1);
        a->position = 0;
    }
    *index = hu_sampler_index(&a->order, a->position++);
    const hu_augment *augment = &a->settings.augment;
    *change =
        (hu_reading_change){a->settings.order.seed, a->order.epoch,      augment->area,
                            augment->least_scale,   augment->most_scale, augment->box_samples};
    a->busy++;
    return a->next++;
}

/* The failure of the lowest ticket is kept, so that it does not depend on the threads. */
static void note(hu_prefetch *a, int64_t ticket, hu_status st) {
    a->busy--;
    if (st == HU_OK) {
        a->is_read[ticket % a->slots] = true;
    } else if (ticket < a->failed) {
        a->failed = ticket;
        a->failure = st;
        snprintf(a->message, sizeof a->message, "%s", hu_last_error());
    }
    while (a->ready < a->next && a->is_read[a->ready % a->slots]) a->ready++;
    /* Waking costs as much as a small picture: only for what is waited for. */
    if (a->ready >= a->wanted || a->failed != INT64_MAX || (a->is_held && a->busy == 0))
        pthread_cond_signal(&a->has_read);
}

static void *run(void *context) {
    hu_prefetch *a = context;
    hu_image_scratch room = {0};
    pthread_mutex_lock(&a->lock);
    while (!a->is_ended) {
        int64_t index;
        hu_reading_change change;
        if (!may_take(a)) {
            pthread_cond_wait(&a->may_read, &a->lock);
            continue;
        }
        int64_t ticket = take(a, &index, &change);
        uint8_t *sample = a->samples + (size_t)(ticket % a->slots) * a->reader->sample_bytes;
        pthread_mutex_unlock(&a->lock);
        hu_status st = a->reader->read(a->reader, &change, index, &room, sample);
        hu_image_scratch_trim(&room);
        pthread_mutex_lock(&a->lock);
        note(a, ticket, st);
    }
    pthread_mutex_unlock(&a->lock);
    hu_image_scratch_free(&room);
    return NULL;
}

/* Signals are for the threads of the program. One thread is enough to go on. */
static hu_status start(hu_prefetch *a) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (a->started < a->settings.threads &&
           pthread_create(&a->thread[a->started], NULL, run, a) == 0)
        a->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (a->started > 0) return HU_OK;
    return hu_fail(HU_ERR_MEMORY, "cannot start a thread that reads the data");
}

/* ---- making and freeing ---- */

/* What is named is enough: what the reader keeps gives way. */
static hu_status refuse_room(const hu_prefetch *a) {
    enum { MIB = 1 << 20 };
    const hu_prefetch_settings *s = &a->settings;
    size_t need = (size_t)s->window * a->reader->sample_bytes * (size_t)s->memory_parts;
    return hu_fail(HU_ERR_ARGUMENT,
                   "data memory: found %zu MiB, expected at least %zu: %lld samples of %zu bytes "
                   "are wanted at once, in 1/%d of it",
                   a->reader->memory_bytes / MIB, (need + MIB - 1) / MIB, (long long)s->window,
                   a->reader->sample_bytes, s->memory_parts);
}

static int64_t fitting(const hu_prefetch *a, size_t kept) {
    size_t part = a->reader->memory_bytes / (size_t)a->settings.memory_parts;
    return part > kept ? (int64_t)((part - kept) / a->reader->sample_bytes) : 0;
}

/* As many samples as a training can use, or as there is memory for. */
static hu_status count_slots(hu_prefetch *a) {
    const hu_prefetch_settings *s = &a->settings;
    size_t kept = s->kept;
    if (fitting(a, 0) < s->window) return refuse_room(a);
    if (fitting(a, kept) < s->window) {
        s->split->reader->drop(s->split->reader);
        kept = 0;
    }
    a->slots = WINDOWS * s->window + s->threads;
    if (a->slots > fitting(a, kept)) a->slots = fitting(a, kept);
    return HU_OK;
}

static hu_status make_room(hu_prefetch *a) {
    const hu_prefetch_settings *s = &a->settings;
    hu_status st;
    HU_TRY(count_slots(a));
    HU_TRY(hu_sampler_create(s->split, &s->order, &a->order));
    HU_TRY(HU_NEW_ARRAY(&a->samples, (size_t)a->slots * a->reader->sample_bytes));
    hu_memory_assign(a->samples, HU_MEMORY_DATA);
    HU_TRY(HU_NEW_ARRAY(&a->is_read, (size_t)a->slots));
    HU_TRY(HU_NEW_ARRAY(&a->thread, (size_t)s->threads));
done:
    return st;
}

/* Ends the threads; NULL is allowed. */
static void hu_prefetch_free(hu_prefetch *a) {
    if (!a) return;
    pthread_mutex_lock(&a->lock);
    a->is_ended = true;
    pthread_cond_broadcast(&a->may_read);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->started; i++) pthread_join(a->thread[i], NULL);
    pthread_cond_destroy(&a->may_read);
    pthread_cond_destroy(&a->has_read);
    pthread_mutex_destroy(&a->lock);
    hu_sampler_free(&a->order);
    hu_free(a->samples);
    hu_free(a->is_read);
    hu_free(a->thread);
    hu_free(a);
}

/* Threads are started by the first sample that is wanted. HU_ERR_ARGUMENT where a window does not
 * fit into the memory; HU_ERR_MEMORY. Owner frees with hu_prefetch_free. */
static hu_status hu_prefetch_create(const hu_prefetch_settings *settings, hu_prefetch **ahead) {
    hu_status st;
    hu_prefetch *made = NULL;
    *ahead = NULL;
    HU_TRY(HU_NEW(&made));
    made->settings = *settings;
    made->reader = settings->split->reader;
    made->failed = INT64_MAX;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->has_read, NULL);
    pthread_cond_init(&made->may_read, NULL);
    HU_TRY(make_room(made));
    *ahead = made;
    made = NULL;
done:
    hu_prefetch_free(made);
    return st;
}

/* ---- who wants the samples ---- */

/* The ticket of a position, if it is at hand or the next to be read; else -1. */
static int64_t find_ticket(const hu_prefetch *a, int64_t epoch, int64_t position) {
    int64_t ahead = position - a->window_position;
    if (epoch == a->window_epoch + 1 && a->settings.goes_on)
        ahead += a->settings.split->count;
    else if (epoch != a->window_epoch)
        return -1;
    return a->started > 0 && ahead >= 0 && a->first + ahead <= a->next ? a->first + ahead : -1;
}

/* Begins again elsewhere, when the threads have put down what they hold. */
static void begin_at(hu_prefetch *a, int64_t epoch, int64_t position) {
    a->is_held = true;
    while (a->busy > 0) pthread_cond_wait(&a->has_read, &a->lock);
    a->is_held = false;
    a->next = a->first = a->ready = 0;
    a->failed = INT64_MAX;
    a->position = position;
    hu_sampler_begin(&a->order, epoch);
    memset(a->is_read, 0, (size_t)a->slots * sizeof *a->is_read);
}

/* Gives the slots before a ticket, all of them read, to those who read. */
static void advance(hu_prefetch *a, int64_t ticket) {
    for (int64_t t = a->first; t < ticket; t++) a->is_read[t % a->slots] = false;
    a->first = ticket;
    pthread_cond_broadcast(&a->may_read);
}

/* Waits until positions first .. first+count-1 of an epoch are present; those before them are given
 * up, those after are read meanwhile. Any order of calls is right, an ascending one is fast.
 * The failure of the first sample that could not be read; HU_ERR_ARGUMENT for more than a window;
 * HU_ERR_MEMORY where no thread can be started. Called by one thread. */
static hu_status hu_prefetch_want(hu_prefetch *a, int64_t epoch, int64_t first, int64_t count) {
    if (count > a->settings.window)
        return hu_fail(HU_ERR_ARGUMENT, "samples wanted at once: found %lld, expected at most %lld",
                       (long long)count, (long long)a->settings.window);
    pthread_mutex_lock(&a->lock);
    double began = hu_seconds_now();
    int64_t ticket = find_ticket(a, epoch, first);
    /* What is given up but still being read holds its slot until then. */
    a->wanted = ticket;
    while (a->ready < ticket && a->ready < a->failed) pthread_cond_wait(&a->has_read, &a->lock);
    if (ticket < 0 || a->ready < ticket) {
        begin_at(a, epoch, first);
        ticket = 0;
    }
    advance(a, ticket);
    a->window_epoch = epoch;
    a->window_position = first;
    a->window_count = count;
    hu_status st = a->started > 0 ? HU_OK : start(a);
    a->wanted = ticket + count;
    /* Where a sample fails, those before it are waited for: one of them may be the first. */
    while (st == HU_OK && a->ready < ticket + count && a->ready < a->failed)
        pthread_cond_wait(&a->has_read, &a->lock);
    a->waited += hu_seconds_now() - began;
    if (st == HU_OK && a->ready < ticket + count) st = hu_fail(a->failure, "%s", a->message);
    pthread_mutex_unlock(&a->lock);
    return st;
}

/* Bytes of a sample among those that were wanted last. Borrowed: valid until others are. */
static const uint8_t *hu_prefetch_sample(const hu_prefetch *a, int64_t position) {
    int64_t ticket = a->first + (position - a->window_position);
    assert(position >= a->window_position && position < a->window_position + a->window_count);
    return a->samples + (size_t)(ticket % a->slots) * a->reader->sample_bytes;
}

/* Seconds that hu_prefetch_want has waited so far. */
static double hu_prefetch_waited(const hu_prefetch *ahead) {
    return ahead->waited;
}

/* ---- loader ---- */

enum { PAD_MAX = 4096, STATUS_CODES = 256 };

struct hu_loader {
    const hu_dataset *dataset;
    const hu_split *split;
    const hu_field *field; /* of the split */
    hu_loader_settings settings;
    bool trains;
    hu_random_key augment_key;
    hu_sampler order;
    hu_prefetch *ahead;                       /* NULL: all fields are in memory, or a source's */
    const hu_field *first_spatial;            /* a spatial field, NULL: there is none */
    hu_augmenter *augmenter;                  /* NULL: pictures are moved, mirrored and cut alone */
    hu_byte_table normalised[HU_FIELDS_MAX];  /* of spatial fields of bytes */
    hu_byte_table unit, both, plain, classes; /* both: of HU_READ_SIGNED */
    _Atomic int64_t failure;                  /* of a source: 256 x index + status; 0: none */
    _Atomic int64_t *failing; /* points at failure: filling is const for everything else */
};

/* (byte / 255 - mean) / std; where std is 0, byte / 255. */
static void fill_normalised(const hu_field *field, hu_lookup *lookup) {
    float mean[HU_CHANNELS_MAX] = {0}, std[HU_CHANNELS_MAX];
    for (int c = 0; c < HU_CHANNELS_MAX; c++) {
        if (field->std[c] > 0.0f) mean[c] = field->mean[c];
        std[c] = field->std[c] > 0.0f ? field->std[c] : 1.0f;
    }
    hu_lookup_normalise(255.0f, mean, std, lookup);
}

/* What every byte means. In the order of torchvision's ToTensor and Normalize: divide, subtract,
 * divide, in float. */
static void fill_tables(hu_loader *loader) {
    static const float zero[HU_CHANNELS_MAX], one[HU_CHANNELS_MAX] = {1, 1, 1};
    for (int f = 0; f < loader->dataset->field_count; f++) /* also of a part of other extents */
        fill_normalised(&loader->dataset->field[f], &loader->normalised[f].lookup);
    hu_lookup_normalise(255.0f, zero, one, &loader->unit.lookup);
    hu_lookup_normalise(127.5f, one, one, &loader->both.lookup);
    hu_lookup_normalise(1.0f, zero, one, &loader->plain.lookup);
    for (int byte = 0; byte < HU_LOOKUP_BYTES; byte++)
        for (int c = 0; c < HU_CHANNELS_MAX; c++)
            loader->classes.lookup.value[byte][c] =
                byte == HU_UNLABELLED_BYTE ? (float)HU_UNLABELLED : (float)byte;
    for (int c = 0; c < HU_CHANNELS_MAX; c++) {
        for (int f = 0; f < HU_FIELDS_MAX; f++)
            loader->normalised[f].outside[c] = loader->normalised[f].lookup.value[0][c];
        loader->both.outside[c] = -1.0f;
        loader->classes.outside[c] = (float)HU_UNLABELLED;
    }
}

/* Whether samples are changed at random: then all their spatial fields are alike. */
static bool moves(const hu_augment *augment) {
    return augment->pad > 0 || augment->flip || augment->turn;
}

/* What moves by pixels must lie on the same pixels; what is mirrored alone need not. */
static hu_status check_same(const hu_field *field, const hu_field *first,
                            const hu_augment *augment) {
    bool is_same = field->extent[0] == first->extent[0] && field->extent[1] == first->extent[1];
    if (is_same || (augment->pad == 0 && augment->cutout == 0)) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "random crops and cuts: found '%s' of %lld x %lld pixels, expected %lld x %lld "
                   "as '%s' has",
                   field->name, (long long)field->extent[0], (long long)field->extent[1],
                   (long long)first->extent[0], (long long)first->extent[1], first->name);
}

static hu_status check_turned(const hu_field *field, const hu_augment *augment) {
    bool is_square = field->extent[0] == field->extent[1] && field->margin == 0;
    if (!augment->turn || (is_square && augment->pad == 0 && augment->cutout == 0)) return HU_OK;
    return hu_fail(
        HU_ERR_ARGUMENT,
        "random turns: found '%s' of %lld x %lld pixels, crops of %lld and cuts of %lld, "
        "expected squares without either",
        field->name, (long long)field->extent[0], (long long)field->extent[1],
        (long long)augment->pad, (long long)augment->cutout);
}

static hu_status check_spatial(const hu_loader *loader, const hu_field **first_spatial) {
    hu_status st = HU_OK;
    *first_spatial = NULL;
    for (int f = 0; f < loader->dataset->field_count; f++) {
        const hu_field *field = &loader->field[f];
        if (field->is_boxes && loader->settings.augment.turn)
            HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                           "random turns: found boxes in '%s', which are moved and mirrored only",
                           field->name));
        if (!field->is_spatial) continue;
        if (!*first_spatial) *first_spatial = field;
        HU_TRY(check_same(field, *first_spatial, &loader->settings.augment));
        HU_TRY(check_turned(field, &loader->settings.augment));
    }
done:
    return st;
}

/* What is cut out of files, not out of a border; why: none is needed. */
static hu_status check_cut(bool is_cut, const char *name, const hu_reader *reader, const char *why,
                           int64_t pad) {
    if (is_cut && !reader)
        return hu_fail(HU_ERR_ARGUMENT,
                       "%s: found data in memory, expected data of files that are opened for it",
                       name);
    if (is_cut && pad > 0)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found padding of %lld, expected none: %s", name,
                       (long long)pad, why);
    return HU_OK;
}

/* Bounds of what is asked for; cutout must fit the shorter side. */
static hu_status check_augment(const hu_field *first_spatial, const hu_reader *reader,
                               const hu_augment *augment) {
    hu_status st = HU_OK;
    int64_t side = 0;
    if (first_spatial)
        side = first_spatial->extent[0] < first_spatial->extent[1] ? first_spatial->extent[0]
                                                                   : first_spatial->extent[1];
    if (augment->pad < 0 || augment->pad > PAD_MAX)
        return hu_fail(HU_ERR_ARGUMENT, "pad: found %lld, expected 0..%d", (long long)augment->pad,
                       PAD_MAX);
    HU_TRY(check_cut(augment->area != 0.0, "random crops of a share of an image", reader,
                     "the rectangle is cut out of the whole picture", augment->pad));
    HU_TRY(check_cut(augment->box_samples, "random windows of boxes", reader,
                     "windows reach beyond the picture already", augment->pad));
    HU_TRY(check_cut(augment->most_scale != 0.0, "random scales and crops", reader,
                     "what a crop lacks is unlabelled already", augment->pad));
    if (augment->cutout < 0 || augment->cutout > side)
        return hu_fail(HU_ERR_ARGUMENT, "cutout: found %lld, expected 0..%lld (side of the image)",
                       (long long)augment->cutout, (long long)side);
done:
    return st;
}

static const hu_split *part_of(const hu_dataset *dataset, hu_split_kind half) {
    if (half == HU_SPLIT_VALIDATION) return &dataset->validation;
    return half == HU_SPLIT_TRAIN ? &dataset->train : &dataset->test;
}

const hu_field *hu_dataset_fields(const hu_dataset *dataset, hu_split_kind half) {
    if (!dataset || (int)half < HU_SPLIT_TRAIN || half > HU_SPLIT_VALIDATION) return NULL;
    const hu_split *split = part_of(dataset, half);
    return split->field ? split->field : dataset->field;
}

/* Training, whose windows are larger and come more often, takes half of the memory; the others a
 * quarter each. */
static hu_status read_ahead(hu_loader *loader, hu_split_kind half,
                            const hu_sampler_settings *order) {
    enum { TRAINING = 2, OTHERS = 4 };
    const hu_loader_settings *s = &loader->settings;
    const hu_reader *reader = loader->split->reader;
    int64_t window = s->window > 0 ? s->window : 1, count = loader->split->count;
    if (hu_mixes(&s->augment)) window += 2; /* with the partners of the first and the last one */
    if (!reader) return HU_OK;
    hu_prefetch_settings settings = {.split = loader->split,
                                     .order = *order,
                                     .augment = s->augment,
                                     .window = window < count ? window : count,
                                     .threads = s->threads > 0 ? s->threads : 1,
                                     .goes_on = s->goes_on,
                                     .memory_parts = half == HU_SPLIT_TRAIN ? TRAINING : OTHERS,
                                     /* Held-out samples share the reader of training. */
                                     .kept = half == HU_SPLIT_VALIDATION ? 0 : reader->kept_bytes};
    return hu_prefetch_create(&settings, &loader->ahead);
}

/* Whether samples of a field are changed by the changer. */
static bool is_changed(const hu_loader *loader, const hu_field *field, hu_reading reading) {
    return loader->augmenter && field == loader->first_spatial && reading == HU_READ_NORMALISED;
}

static hu_status make_changer(hu_loader *loader) {
    const hu_loader_settings *s = &loader->settings;
    if (!hu_changes(&s->augment)) return HU_OK;
    if (!loader->first_spatial || loader->first_spatial->type != HU_FIELD_U8)
        return hu_fail(HU_ERR_ARGUMENT,
                       "randaugment, erase, mixup, cutmix: found data %s without pictures of bytes",
                       loader->dataset->name);
    return hu_augmenter_create(loader->first_spatial, &s->augment, s->seed, s->fillers,
                               &loader->augmenter);
}

hu_status hu_loader_create(const hu_dataset *dataset, hu_split_kind half,
                           const hu_loader_settings *settings, hu_loader **loader) {
    HU_GIVEN(loader);
    *loader = NULL;
    HU_GIVEN(dataset);
    HU_GIVEN(settings);
    if ((int)half < HU_SPLIT_TRAIN || half > HU_SPLIT_VALIDATION)
        return hu_fail(HU_ERR_ARGUMENT, "%s: half is %d, expected 0 to %d", __func__, (int)half,
                       HU_SPLIT_VALIDATION);
    HU_GIVEN_IF(settings->buckets, settings->bucket_count > 0);
    hu_status st = HU_OK;
    void *block = NULL;
    const hu_split *split = part_of(dataset, half);
    if (split->count < 1)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "data %s: the part has no sample", dataset->name));
    HU_TRY(hu_alloc(sizeof **loader, &block));
    hu_loader *made = block;
    made->dataset = dataset;
    made->split = split;
    made->field = hu_dataset_fields(dataset, half);
    made->trains = half == HU_SPLIT_TRAIN;
    made->settings = *settings;
    HU_TRY(check_spatial(made, &made->first_spatial));
    HU_TRY(check_augment(made->first_spatial, split->reader, &settings->augment));
    HU_TRY(make_changer(made));
    made->failing = &made->failure;
    /* Streams are an order. */
    const hu_sampler_settings order = {.seed = settings->seed,
                                       .shuffle = settings->shuffle && dataset->streams == 0,
                                       .sorted_epochs = settings->sorted_epochs,
                                       .buckets = settings->buckets,
                                       .bucket_count = settings->bucket_count,
                                       .batch = settings->batch};
    HU_TRY(hu_sampler_create(split, &order, &made->order));
    HU_TRY(read_ahead(made, half, &order));
    fill_tables(made);
    HU_TRY(hu_loader_begin_epoch(made, 0));
    *loader = made;
    block = NULL;
done:
    hu_loader_close(block);
    return st;
}

void hu_loader_close(hu_loader *loader) {
    if (!loader) return;
    hu_prefetch_free(loader->ahead);
    hu_augmenter_free(loader->augmenter);
    hu_sampler_free(&loader->order);
    hu_free(loader);
}

int64_t hu_loader_count(const hu_loader *loader) {
    if (!loader) return 0;
    return loader->split->count;
}

hu_status hu_loader_begin_epoch(hu_loader *loader, int64_t epoch) {
    HU_GIVEN(loader);
    if (epoch < 0)
        return hu_fail(HU_ERR_ARGUMENT, "epoch: found %lld, expected 0 or more", (long long)epoch);
    uint64_t seed = loader->settings.seed;
    loader->augment_key = (hu_random_key){seed, hu_stream_id("augment", ""), (uint64_t)epoch};
    hu_sampler_begin(&loader->order, epoch);
    return HU_OK;
}

/* Whether samples first .. first+count-1 are present. */
static bool has_samples(const hu_loader *loader, int64_t first, int64_t count) {
    return first >= 0 && count >= 0 && count <= loader->split->count - first;
}

hu_status hu_loader_want(hu_loader *loader, int64_t first, int64_t count) {
    HU_GIVEN(loader);
    if (!has_samples(loader, first, count))
        return hu_fail(HU_ERR_ARGUMENT,
                       "hu_loader_want: found %lld samples from %lld on, expected some of %lld",
                       (long long)count, (long long)first, (long long)loader->split->count);
    if (!loader->ahead || count == 0) return HU_OK;
    if (hu_mixes(&loader->settings.augment)) {
        int64_t end = first + count + (first + count) % 2;
        first -= first % 2;
        count = (end < loader->split->count ? end : loader->split->count) - first;
    }
    return hu_prefetch_want(loader->ahead, loader->order.epoch, first, count);
}

double hu_loader_waited(const hu_loader *loader) {
    if (!loader) return 0.0;
    return loader->ahead ? hu_prefetch_waited(loader->ahead) : 0.0;
}

int64_t hu_loader_index(const hu_loader *loader, int64_t position) {
    if (!loader || position < 0 || position >= loader->split->count) return -1;
    return hu_sampler_index(&loader->order, position);
}

/* The change of a sample: the same for all its fields. */
static hu_change choose(const hu_loader *loader, int64_t index) {
    const hu_augment *a = &loader->settings.augment;
    uint32_t words[4];
    hu_change made = {0};
    if (!loader->first_spatial || (!moves(a) && !a->cutout)) return made;
    hu_random_block(&loader->augment_key, (uint64_t)index, words);
    /* Four words of one block serve a sample: two shifts, a bit to mirror, two halves for the cut.
     */
    made.shift_x = hu_word_below(words[0], 2 * a->pad + 1) - a->pad;
    made.shift_y = hu_word_below(words[1], 2 * a->pad + 1) - a->pad;
    made.reflect = a->reflect;
    made.flip = (a->flip || a->turn) && words[2] >> 31;
    made.upside = a->turn && (words[2] >> 30 & 1);
    made.transposes = a->turn && (words[2] >> 29 & 1);
    made.cut_x = hu_word_below(words[3] << 16, loader->first_spatial->extent[1] - a->cutout + 1);
    made.cut_y =
        hu_word_below(words[3] & 0xffff0000u, loader->first_spatial->extent[0] - a->cutout + 1);
    return made;
}

/* What the bytes of a field mean to whoever reads them. */
static const hu_byte_table *table_of(const hu_loader *loader, int f, hu_reading reading) {
    if (reading == HU_READ_NORMALISED) return &loader->normalised[f];
    if (reading == HU_READ_UNIT) return &loader->unit;
    if (reading == HU_READ_SIGNED) return &loader->both;
    return loader->field[f].classes > 0 ? &loader->classes : &loader->plain;
}

/* Bytes of a sample, with its margins: in memory, or just read. */
static const uint8_t *bytes_of(const hu_loader *loader, int f, int64_t position) {
    const hu_reader *reader = loader->split->reader;
    if (reader && reader->reads[f])
        return hu_prefetch_sample(loader->ahead, position) + reader->start[f];
    return hu_spatial_sample(&loader->field[f], loader->split->rows[f],
                             hu_loader_index(loader, position));
}

/* Positions are partners in pairs; -1: the last one of an odd number has none. */
static int64_t partner_of(const hu_loader *loader, int64_t position) {
    int64_t partner = position % 2 ? position - 1 : position + 1;
    bool is_present = partner < loader->split->count && hu_mixes(&loader->settings.augment);
    return is_present ? partner : -1;
}

static void fill_changed(const hu_loader *loader, int f, const hu_change *change, int64_t position,
                         float *sample) {
    int64_t partner = partner_of(loader, position);
    hu_stored own = {bytes_of(loader, f, position), *change, hu_loader_index(loader, position)};
    hu_stored other = {0};
    if (partner >= 0) {
        other.index = hu_loader_index(loader, partner);
        other.change = choose(loader, other.index);
        other.change.cut = change->cut;
        other.bytes = bytes_of(loader, f, partner);
    }
    hu_augmenter_fill(loader->augmenter, table_of(loader, f, HU_READ_NORMALISED),
                      loader->order.epoch, &own, partner >= 0 ? &other : NULL, sample);
}

static void fill_spatial(const hu_loader *loader, int f, hu_reading reading, int64_t position,
                         float *sample) {
    const hu_field *field = &loader->field[f];
    hu_change change = choose(loader, hu_loader_index(loader, position));
    /* The square is cut out of what the network sees, not out of a target. */
    change.cut = reading == HU_READ_NORMALISED ? loader->settings.augment.cutout : 0;
    if (is_changed(loader, field, reading)) {
        fill_changed(loader, f, &change, position, sample);
        return;
    }
    hu_spatial_fill(field, table_of(loader, f, reading), &change, bytes_of(loader, f, position),
                    sample);
}

int64_t hu_loader_length(const hu_loader *loader, int f, int64_t position) {
    if (!loader || f < 0 || f >= loader->dataset->field_count || position < 0 ||
        position >= loader->split->count)
        return 0;
    const hu_field *field = &loader->field[f];
    if (!field->is_ragged) return field->rank > 0 ? field->extent[0] : 1;
    return loader->split->length[f][hu_loader_index(loader, position)];
}

/* Numbers of a sample that are present; behind them come zeros, or unlabelled rows. */
static int64_t real_elements(const hu_loader *loader, int f, int64_t position) {
    const hu_field *field = &loader->field[f];
    int64_t elements = hu_field_elements(field);
    if (!field->is_ragged) return elements;
    return elements / field->extent[0] * hu_loader_length(loader, f, position);
}

/* One number of a field, as float32. Labels up to 2^24 are exact. */
static float number_at(const hu_loader *loader, int f, hu_reading reading, int64_t place) {
    const hu_field *field = &loader->field[f];
    const void *rows = loader->split->rows[f];
    if (field->type == HU_FIELD_I32) return (float)((const int32_t *)rows)[place];
    if (field->type == HU_FIELD_F32) return ((const float *)rows)[place];
    return table_of(loader, f, reading)->lookup.value[((const uint8_t *)rows)[place]][0];
}

/* A sample that is not spatial; a ragged one is filled up with padding after its length. */
static void fill_plain(const hu_loader *loader, int f, hu_reading reading, int64_t position,
                       float *sample) {
    const hu_field *field = &loader->field[f];
    int64_t elements = hu_field_elements(field), real = real_elements(loader, f, position);
    int64_t first = hu_loader_index(loader, position) * elements;
    float padding = field->classes > 0 ? (float)HU_UNLABELLED : 0.0f;
    for (int64_t i = 0; i < real; i++) sample[i] = number_at(loader, f, reading, first + i);
    for (int64_t i = real; i < elements; i++) sample[i] = padding;
}

/* The class of the partner and its weight; without one its own, and 0. */
static void fill_mix(const hu_loader *loader, int64_t position, float *sample) {
    int64_t partner = loader->augmenter ? partner_of(loader, position) : -1;
    int64_t index = hu_loader_index(loader, position);
    int64_t other = partner < 0 ? index : hu_loader_index(loader, partner);
    sample[0] = number_at(loader, HU_FIELD_LABEL, HU_READ_PLAIN, other);
    sample[1] =
        partner < 0 ? 0.0f : hu_augmenter_mix(loader->augmenter, loader->order.epoch, index).weight;
}

/* Of a window of the picture: moved into it, then as the window is. */
static void fill_seen(const hu_loader *loader, int f, const hu_change *change, int64_t index,
                      float *sample) {
    const int64_t *extent = loader->field[f].extent, *seen = loader->first_spatial->extent;
    const hu_reader *reader = loader->split->reader;
    const hu_reading_change reading = {
        .seed = loader->settings.seed, .epoch = loader->order.epoch, .samples = true};
    int64_t count = loader->split->length[f][index];
    reader->move_boxes(reader, &reading, index, count, sample);
    for (int64_t i = 0; i < extent[0]; i++) {
        float *box = sample + i * extent[1], moved[HU_BOX_NUMBERS];
        bool is_present = i < count && box[HU_BOX_CLASS] != (float)HU_UNLABELLED;
        memcpy(moved, box, sizeof moved);
        hu_boxes_fill(moved, is_present, 1, seen[0], seen[1], change, box);
    }
}

/* Boxes of a sample, which stay in memory. Training takes difficult ones as any others. */
static void fill_boxes(const hu_loader *loader, int f, int64_t position, float *sample) {
    const int64_t *extent = loader->field[f].extent, *seen = loader->first_spatial->extent;
    int64_t index = hu_loader_index(loader, position);
    const float *rows = loader->split->rows[f];
    const hu_change change = choose(loader, index);
    if (loader->settings.augment.box_samples && loader->split->reader)
        fill_seen(loader, f, &change, index, sample);
    else
        hu_boxes_fill(rows + index * extent[0] * extent[1], loader->split->length[f][index],
                      extent[0], seen[0], seen[1], &change, sample);
    int64_t class_number;
    for (int64_t i = 0; loader->trains && i < extent[0]; i++, sample += HU_BOX_NUMBERS)
        if (hu_box_is_difficult(sample, &class_number)) sample[HU_BOX_CLASS] = (float)class_number;
}

/* The first failure is kept. */
static void fill_from_source(const hu_loader *loader, int f, int64_t index, float *sample) {
    const hu_sample_source *source = &loader->split->source;
    hu_status st = source->fill(source->context, f, loader->order.epoch, index, sample);
    if (st == HU_OK) return;
    int64_t none = 0, failure = STATUS_CODES * index + (int64_t)st;
    memset(sample, 0, (size_t)hu_field_elements(&loader->field[f]) * sizeof *sample);
    /* Filling has no error of its own: threads go on, hu_loader_status() tells afterwards. */
    atomic_compare_exchange_strong(loader->failing, &none, failure);
}

hu_status hu_loader_status(const hu_loader *loader) {
    HU_GIVEN(loader);
    int64_t failure = atomic_load(loader->failing);
    if (failure == 0) return HU_OK;
    return hu_fail((hu_status)(failure % STATUS_CODES),
                   "the source of samples failed at index %lld of epoch %lld",
                   (long long)(failure / STATUS_CODES), (long long)loader->order.epoch);
}

void hu_loader_fill(const hu_loader *loader, int f, hu_reading reading, int64_t first,
                    int64_t count, float *rows) {
    if (!loader || !rows || f < 0 || f >= loader->dataset->field_count ||
        !has_samples(loader, first, count))
        return;
    const hu_field *field = &loader->field[f];
    int64_t elements = hu_field_elements(field);
    for (int64_t i = 0; i < count; i++) {
        float *sample = rows + i * elements;
        if (loader->split->source.fill)
            fill_from_source(loader, f, hu_loader_index(loader, first + i), sample);
        else if (field->is_mix)
            fill_mix(loader, first + i, sample);
        else if (field->is_spatial)
            fill_spatial(loader, f, reading, first + i, sample);
        else if (field->is_boxes)
            fill_boxes(loader, f, first + i, sample);
        else
            fill_plain(loader, f, reading, first + i, sample);
    }
}

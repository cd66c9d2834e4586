#include "data/prefetch.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"

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

hu_status hu_prefetch_create(const hu_prefetch_settings *settings, hu_prefetch **ahead) {
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

void hu_prefetch_free(hu_prefetch *a) {
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

hu_status hu_prefetch_want(hu_prefetch *a, int64_t epoch, int64_t first, int64_t count) {
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

const uint8_t *hu_prefetch_sample(const hu_prefetch *a, int64_t position) {
    int64_t ticket = a->first + (position - a->window_position);
    assert(position >= a->window_position && position < a->window_position + a->window_count);
    return a->samples + (size_t)(ticket % a->slots) * a->reader->sample_bytes;
}

double hu_prefetch_waited(const hu_prefetch *ahead) {
    return ahead->waited;
}

#include "comm/process_group.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "comm/internal.h"

/* ---- Waiting with a timeout, and who is lost ---- */

/* Words of the roll; each has a message of its own per process, which may stay on its way forever
 * where the other one is gone. */
enum { CALL, HERE, LOST, WORDS };
enum { ROLL_TAG = HU_TRANSPORT_TAG_MOST, NOBODY = -1 };

/* Part of the timeout that answers are waited for, and the seconds that it is at least. */
static const double answer_share = 0.1, answer_least = 0.5;

/* Seconds that a process that is to end waits on, and then waits for answers: launchers kill about
 * a second after they ask. */
static const double ending_seconds = 0.2;

/* Seconds between looks at what else could have happened. */
static const double look_seconds = 0.05;

typedef struct notice {
    int32_t word, from;
    int32_t lost; /* LOST: who */
} notice;

struct hu_failure_detector {
    hu_transport *transport;
    hu_failure_detector_options options;
    hu_transfer listen;           /* for the next notice of anybody */
    notice heard;                 /* where it arrives */
    notice (*said)[WORDS];        /* [size] */
    hu_transfer (*saying)[WORDS]; /* [size] of said: nobody waits for their ends */
    bool *is_here;                /* [size] who has answered */
    bool has_called;              /* for the message that is late now */
    int32_t lost;                 /* who was found lost, here or elsewhere */
    double ending_since; /* first second in which the process was asked to end; 0: it was not */
};

static hu_status listen(hu_failure_detector *detector) {
    return hu_transfer_receive(detector->transport, HU_TRANSPORT_ANY, ROLL_TAG, &detector->heard,
                               sizeof detector->heard, &detector->listen);
}

/* Whether a notice has not left yet. */
static bool is_on_its_way(hu_failure_detector *detector, int32_t to, int32_t word) {
    hu_transfer *transfer = &detector->saying[to][word];
    int32_t ignored;
    if (hu_transfer_is_open(transfer))
        (void)hu_transfer_wait(detector->transport, &transfer, 1, 0.0, &ignored);
    return hu_transfer_is_open(transfer);
}

static bool all_are_said(hu_failure_detector *detector) {
    bool all = true;
    for (int32_t to = 0; to < detector->transport->size; to++)
        for (int32_t word = 0; word < WORDS; word++) all &= !is_on_its_way(detector, to, word);
    return all;
}

static void free_detector(hu_failure_detector *detector) {
    if (!detector) return;
    hu_transfer_cancel(detector->transport, &detector->listen);
    /* What somebody who is gone will never take stays where the transport may look for it. */
    if (!detector->saying || all_are_said(detector)) hu_free(detector->said);
    hu_free(detector->is_here);
    hu_free(detector->saying);
    hu_free(detector);
}

static hu_status create_detector(hu_transport *transport,
                                 const hu_failure_detector_options *options,
                                 hu_failure_detector **result) {
    hu_status st = HU_OK;
    hu_failure_detector *detector = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&detector));
    detector->transport = transport;
    detector->options = *options;
    detector->lost = NOBODY;
    HU_TRY(HU_NEW_ARRAY(&detector->said, (size_t)transport->size));
    HU_TRY(HU_NEW_ARRAY(&detector->is_here, (size_t)transport->size));
    HU_TRY(HU_NEW_ARRAY(&detector->saying, (size_t)transport->size));
    if (!transport->is_patient) HU_TRY(listen(detector));
    *result = detector;
    detector = NULL;
done:
    free_detector(detector);
    return st;
}

/* A notice that cannot be sent is for somebody who is lost: nothing else fails by it. One that is
 * still on its way says the same. */
static void say(hu_failure_detector *detector, int32_t to, int32_t word) {
    notice *n = &detector->said[to][word];
    if (is_on_its_way(detector, to, word)) return;
    *n = (notice){.word = word, .from = detector->transport->rank, .lost = detector->lost};
    (void)hu_transfer_send(detector->transport, to, ROLL_TAG, n, sizeof *n,
                           &detector->saying[to][word]);
}

static void say_to_all(hu_failure_detector *detector, int32_t word) {
    for (int32_t to = 0; to < detector->transport->size; to++)
        if (to != detector->transport->rank) say(detector, to, word);
}

/* Takes the notice that came, and listens on. */
static hu_status hear(hu_failure_detector *detector) {
    notice heard = detector->heard;
    hu_status st = listen(detector);
    if (heard.from < 0 || heard.from >= detector->transport->size) return st;
    if (heard.word == CALL) say(detector, heard.from, HERE);
    /* Who calls is here, too. */
    detector->is_here[heard.from] = true;
    if (heard.word == LOST) detector->lost = heard.lost;
    return st;
}

/* One look at all transfers and at the notices. */
static hu_status look(hu_failure_detector *detector, hu_transfer *const *open, int32_t count,
                      double seconds, int32_t *which) {
    hu_transfer *all[HU_TRANSPORT_WAITS];
    int32_t found;
    for (int32_t i = 0; i < count; i++) all[i] = open[i];
    all[count] = &detector->listen;
    hu_status st = hu_transfer_wait(detector->transport, all, count + 1, seconds, &found);
    *which = found == count ? -1 : found;
    return st == HU_OK && found == count ? hear(detector) : st;
}

/* The transfer that is waited for longest. */
static const hu_transfer *oldest(hu_transfer *const *open, int32_t count) {
    const hu_transfer *first = NULL;
    for (int32_t i = 0; i < count; i++)
        if (hu_transfer_is_open(open[i]) && (!first || open[i]->since < first->since))
            first = open[i];
    return first;
}

static bool is_ending(const hu_failure_detector *detector) {
    return detector->options.is_ending && *detector->options.is_ending;
}

static bool all_are_here(const hu_failure_detector *detector) {
    for (int32_t r = 0; r < detector->transport->size; r++)
        if (!detector->is_here[r]) return false;
    return true;
}

/* Asks all and waits for their answers: *lost is who gave none (`late`, if it is among them), or
 * NOBODY. */
static hu_status call(hu_failure_detector *detector, int32_t late, double patience, int32_t *lost) {
    double end = hu_seconds_now() + patience;
    int32_t ignored;
    hu_status st = HU_OK;
    memset(detector->is_here, 0, (size_t)detector->transport->size * sizeof *detector->is_here);
    detector->is_here[detector->transport->rank] = true;
    say_to_all(detector, CALL);
    while (st == HU_OK && detector->lost == NOBODY && !all_are_here(detector) &&
           hu_seconds_now() < end)
        st = look(detector, NULL, 0, look_seconds, &ignored);
    *lost = detector->lost;
    for (int32_t r = detector->transport->size - 1; r >= 0 && detector->lost == NOBODY; r--)
        if (!detector->is_here[r]) *lost = r;
    if (detector->lost == NOBODY && !detector->is_here[late]) *lost = late;
    return st;
}

/* Ends the wait for all: tells the others and gives the network a moment to carry it. */
static hu_status fail_lost(hu_failure_detector *detector, int32_t lost) {
    int32_t ignored;
    if (detector->lost == NOBODY) {
        detector->lost = lost;
        say_to_all(detector, LOST);
        (void)look(detector, NULL, 0, look_seconds, &ignored);
    }
    if (detector->lost == detector->transport->rank)
        return hu_fail(HU_ERR_PEER, "the others gave this process up, which did not answer in %g s",
                       detector->options.timeout);
    return is_ending(detector)
               ? hu_fail(HU_ERR_PEER, "rank %d does not answer, and the job is being ended",
                         detector->lost)
               : hu_fail(HU_ERR_PEER, "rank %d did not answer in %g s", detector->lost,
                         detector->options.timeout);
}

/* A message is late. It may be that of a slow process that is back: it gets as much time again. */
static hu_status be_late(hu_failure_detector *detector, const hu_transfer *late, double age) {
    double patience = detector->options.timeout * answer_share;
    int32_t lost = NOBODY;
    hu_status st = HU_OK;
    if (!detector->has_called)
        st = call(detector, late->peer, patience < answer_least ? answer_least : patience, &lost);
    if (st != HU_OK || lost != NOBODY) return st != HU_OK ? st : fail_lost(detector, lost);
    detector->has_called = true;
    if (age < 2.0 * detector->options.timeout) return HU_OK;
    return hu_fail(HU_ERR_PEER,
                   "no message passed between here and rank %d in %g s, but all answer", late->peer,
                   age);
}

/* Launchers end a job when one of its processes is gone; but who is asked to end may also be asked
 * by a user, and all go on to the end of the step. */
static hu_status be_ended(hu_failure_detector *detector, const hu_transfer *late) {
    double now = hu_seconds_now();
    int32_t lost;
    if (detector->ending_since == 0.0) detector->ending_since = now;
    if (now - detector->ending_since < ending_seconds) return HU_OK;
    hu_status st = call(detector, late->peer, ending_seconds, &lost);
    detector->ending_since = 0.0;
    return st == HU_OK && lost != NOBODY ? fail_lost(detector, lost) : st;
}

/* What ends a wait beside the messages. */
static hu_status check(hu_failure_detector *detector, hu_transfer *const *open, int32_t count) {
    const hu_transfer *late = oldest(open, count);
    double now = hu_seconds_now();
    if (detector->lost != NOBODY) return fail_lost(detector, detector->lost);
    if (!late) return HU_OK;
    if (now - late->since > detector->options.timeout)
        return be_late(detector, late, now - late->since);
    detector->has_called = false;
    return is_ending(detector) ? be_ended(detector, late) : HU_OK;
}

hu_status hu_failure_detector_wait(hu_failure_detector *detector, hu_transfer *const *open,
                                   int32_t count, double seconds, int32_t *which) {
    double end = hu_seconds_now() + seconds, left = seconds;
    if (detector->transport->is_patient)
        return hu_transfer_wait(detector->transport, open, count, seconds, which);
    for (;;) {
        hu_status st =
            look(detector, open, count, left < look_seconds ? left : look_seconds, which);
        if (st != HU_OK || *which >= 0) return st;
        st = check(detector, open, count);
        left = end - hu_seconds_now();
        if (st != HU_OK || left <= 0.0) return st;
    }
}

/* ---- Rows that reach all processes ---- */

enum { GATHER_TAG = HU_COMM_FLIGHTS }; /* those below are the flights' */

/* Seconds of one look: the roll knows when it is too long. */
static const double long_wait = 3600.0;

hu_status hu_rendezvous_create(hu_transport *transport, const hu_failure_detector_options *options,
                               hu_rendezvous **result) {
    hu_status st = HU_OK;
    hu_rendezvous *job = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&job));
    job->transport = transport;
    HU_TRY(create_detector(transport, options, &job->detector));
    *result = job;
    job = NULL;
done:
    hu_rendezvous_free(job);
    return st;
}

void hu_rendezvous_free(hu_rendezvous *job) {
    if (!job) return;
    free_detector(job->detector);
    hu_free(job);
}

/* Rows first .. first + count - 1 of all, counted around, as at most two messages. */
typedef struct rows {
    uint8_t *all;
    size_t bytes; /* of a row */
    int32_t first, count, workers;
} rows;

static hu_status move_rows(hu_rendezvous *job, const rows *r, int32_t peer, bool is_sent,
                           hu_transfer *transfer, int32_t *count) {
    int32_t first = r->first % r->workers, before_end = r->workers - first;
    int32_t part[2] = {r->count < before_end ? r->count : before_end, 0};
    part[1] = r->count - part[0];
    hu_status st = HU_OK;
    for (int32_t p = 0; p < 2 && part[p] > 0 && st == HU_OK; p++) {
        uint8_t *at = r->all + (size_t)(p == 0 ? first : 0) * r->bytes;
        size_t bytes = (size_t)part[p] * r->bytes;
        hu_transfer *next = &transfer[(*count)++];
        st = is_sent ? hu_transfer_send(job->transport, peer, GATHER_TAG, at, bytes, next)
                     : hu_transfer_receive(job->transport, peer, GATHER_TAG, at, bytes, next);
    }
    return st;
}

/* A round of a dissemination: the rows of `far` workers from this one on are known here, and as
 * many from rank + far on there. */
static hu_status gather_round(hu_rendezvous *job, int32_t far, size_t bytes, uint8_t *all) {
    enum { MOST = 4 };
    int32_t rank = job->transport->rank, workers = job->transport->size, count = 0, which;
    int32_t few = far < workers - far ? far : workers - far;
    rows own = {all, bytes, rank, few, workers}, theirs = {all, bytes, rank + far, few, workers};
    hu_transfer transfer[MOST] = {{0}}, *open[MOST];
    hu_status st = HU_OK;
    for (int32_t i = 0; i < MOST; i++) open[i] = &transfer[i];
    HU_TRY(move_rows(job, &theirs, (rank + far) % workers, false, transfer, &count));
    HU_TRY(move_rows(job, &own, (rank - far + workers) % workers, true, transfer, &count));
    for (int32_t i = 0; i < count; i++)
        while (hu_transfer_is_open(open[i]))
            HU_TRY(hu_failure_detector_wait(job->detector, open, count, long_wait, &which));
done:
    for (int32_t i = 0; i < count && st != HU_OK; i++)
        if (transfer[i].is_receive) hu_transfer_cancel(job->transport, &transfer[i]);
    return st;
}

hu_status hu_rendezvous_gather(hu_rendezvous *job, size_t bytes, void *all) {
    hu_status st = HU_OK;
    for (int32_t far = 1; far < job->transport->size && bytes > 0 && st == HU_OK; far *= 2)
        st = gather_round(job, far, bytes, all);
    return st;
}

/* Waits for a message as long as messages may take. */
static hu_status finish(hu_rendezvous *job, hu_transfer *transfer) {
    hu_status st = HU_OK;
    int32_t which;
    while (hu_transfer_is_open(transfer) && st == HU_OK)
        st = hu_failure_detector_wait(job->detector, &transfer, 1, long_wait, &which);
    if (st != HU_OK && transfer->is_receive) hu_transfer_cancel(job->transport, transfer);
    return st;
}

/* Row by row: one is on its way while the others wait for their turn. */
hu_status hu_rendezvous_collect(hu_rendezvous *job, size_t bytes, const void *own, void *others) {
    hu_transport *transport = job->transport;
    hu_transfer transfer = {0};
    hu_status st = HU_OK;
    if (bytes == 0) return HU_OK;
    if (transport->rank > 0) {
        HU_TRY(hu_transfer_send(transport, 0, GATHER_TAG, own, bytes, &transfer));
        HU_TRY(finish(job, &transfer));
    }
    for (int32_t from = 1; transport->rank == 0 && from < transport->size; from++) {
        uint8_t *row = (uint8_t *)others + (size_t)(from - 1) * bytes;
        HU_TRY(hu_transfer_receive(transport, from, GATHER_TAG, row, bytes, &transfer));
        HU_TRY(finish(job, &transfer));
    }
done:
    return st;
}

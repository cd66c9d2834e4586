#include "comm/failure_detector.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"

/* Words of the roll; each has a message of its own per process, which may stay on its way for ever
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

hu_status hu_failure_detector_create(hu_transport *transport,
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
    hu_failure_detector_free(detector);
    return st;
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

void hu_failure_detector_free(hu_failure_detector *detector) {
    if (!detector) return;
    hu_transfer_cancel(detector->transport, &detector->listen);
    /* What somebody who is gone will never take stays where the transport may look for it. */
    if (!detector->saying || all_are_said(detector)) hu_free(detector->said);
    hu_free(detector->is_here);
    hu_free(detector->saying);
    hu_free(detector);
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

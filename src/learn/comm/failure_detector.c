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

struct hu_roll {
    hu_transport *transport;
    hu_roll_options options;
    hu_transfer listen;           /* for the next notice of anybody */
    notice heard;                 /* where it arrives */
    notice (*said)[WORDS];        /* [size] */
    hu_transfer (*saying)[WORDS]; /* [size] of said: nobody waits for their ends */
    bool *is_here;                /* [size] who has answered */
    bool has_called;              /* for the message that is late now */
    int32_t lost;                 /* who was found lost, here or elsewhere */
    double ending_since; /* first second in which the process was asked to end; 0: it was not */
};

static hu_status listen(hu_roll *roll) {
    return hu_transfer_receive(roll->transport, HU_TRANSPORT_ANY, ROLL_TAG, &roll->heard,
                               sizeof roll->heard, &roll->listen);
}

hu_status hu_roll_create(hu_transport *transport, const hu_roll_options *options,
                         hu_roll **result) {
    hu_status st = HU_OK;
    hu_roll *roll = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&roll));
    roll->transport = transport;
    roll->options = *options;
    roll->lost = NOBODY;
    HU_TRY(HU_NEW_ARRAY(&roll->said, (size_t)transport->size));
    HU_TRY(HU_NEW_ARRAY(&roll->is_here, (size_t)transport->size));
    HU_TRY(HU_NEW_ARRAY(&roll->saying, (size_t)transport->size));
    if (!transport->is_patient) HU_TRY(listen(roll));
    *result = roll;
    roll = NULL;
done:
    hu_roll_free(roll);
    return st;
}

/* Whether a notice has not left yet. */
static bool is_on_its_way(hu_roll *roll, int32_t to, int32_t word) {
    hu_transfer *transfer = &roll->saying[to][word];
    int32_t ignored;
    if (hu_transfer_is_open(transfer))
        (void)hu_transfer_wait(roll->transport, &transfer, 1, 0.0, &ignored);
    return hu_transfer_is_open(transfer);
}

static bool all_are_said(hu_roll *roll) {
    bool all = true;
    for (int32_t to = 0; to < roll->transport->size; to++)
        for (int32_t word = 0; word < WORDS; word++) all &= !is_on_its_way(roll, to, word);
    return all;
}

void hu_roll_free(hu_roll *roll) {
    if (!roll) return;
    hu_transfer_cancel(roll->transport, &roll->listen);
    /* What somebody who is gone will never take stays where the transport may look for it. */
    if (!roll->saying || all_are_said(roll)) hu_free(roll->said);
    hu_free(roll->is_here);
    hu_free(roll->saying);
    hu_free(roll);
}

/* A notice that cannot be sent is for somebody who is lost: nothing else fails by it. One that is
 * still on its way says the same. */
static void say(hu_roll *roll, int32_t to, int32_t word) {
    notice *n = &roll->said[to][word];
    if (is_on_its_way(roll, to, word)) return;
    *n = (notice){.word = word, .from = roll->transport->rank, .lost = roll->lost};
    (void)hu_transfer_send(roll->transport, to, ROLL_TAG, n, sizeof *n, &roll->saying[to][word]);
}

static void say_to_all(hu_roll *roll, int32_t word) {
    for (int32_t to = 0; to < roll->transport->size; to++)
        if (to != roll->transport->rank) say(roll, to, word);
}

/* Takes the notice that came, and listens on. */
static hu_status hear(hu_roll *roll) {
    notice heard = roll->heard;
    hu_status st = listen(roll);
    if (heard.from < 0 || heard.from >= roll->transport->size) return st;
    if (heard.word == CALL) say(roll, heard.from, HERE);
    /* Who calls is here, too. */
    roll->is_here[heard.from] = true;
    if (heard.word == LOST) roll->lost = heard.lost;
    return st;
}

/* One look at all transfers and at the notices. */
static hu_status look(hu_roll *roll, hu_transfer *const *open, int32_t count, double seconds,
                      int32_t *which) {
    hu_transfer *all[HU_TRANSPORT_WAITS];
    int32_t found;
    for (int32_t i = 0; i < count; i++) all[i] = open[i];
    all[count] = &roll->listen;
    hu_status st = hu_transfer_wait(roll->transport, all, count + 1, seconds, &found);
    *which = found == count ? -1 : found;
    return st == HU_OK && found == count ? hear(roll) : st;
}

/* The transfer that is waited for longest. */
static const hu_transfer *oldest(hu_transfer *const *open, int32_t count) {
    const hu_transfer *first = NULL;
    for (int32_t i = 0; i < count; i++)
        if (hu_transfer_is_open(open[i]) && (!first || open[i]->since < first->since))
            first = open[i];
    return first;
}

static bool is_ending(const hu_roll *roll) {
    return roll->options.is_ending && *roll->options.is_ending;
}

static bool all_are_here(const hu_roll *roll) {
    for (int32_t r = 0; r < roll->transport->size; r++)
        if (!roll->is_here[r]) return false;
    return true;
}

/* Asks all and waits for their answers: *lost is who gave none (`late`, if it is among them), or
 * NOBODY. */
static hu_status call(hu_roll *roll, int32_t late, double patience, int32_t *lost) {
    double end = hu_seconds_now() + patience;
    int32_t ignored;
    hu_status st = HU_OK;
    memset(roll->is_here, 0, (size_t)roll->transport->size * sizeof *roll->is_here);
    roll->is_here[roll->transport->rank] = true;
    say_to_all(roll, CALL);
    while (st == HU_OK && roll->lost == NOBODY && !all_are_here(roll) && hu_seconds_now() < end)
        st = look(roll, NULL, 0, look_seconds, &ignored);
    *lost = roll->lost;
    for (int32_t r = roll->transport->size - 1; r >= 0 && roll->lost == NOBODY; r--)
        if (!roll->is_here[r]) *lost = r;
    if (roll->lost == NOBODY && !roll->is_here[late]) *lost = late;
    return st;
}

/* Ends the wait for all: tells the others and gives the network a moment to carry it. */
static hu_status fail_lost(hu_roll *roll, int32_t lost) {
    int32_t ignored;
    if (roll->lost == NOBODY) {
        roll->lost = lost;
        say_to_all(roll, LOST);
        (void)look(roll, NULL, 0, look_seconds, &ignored);
    }
    if (roll->lost == roll->transport->rank)
        return hu_fail(HU_ERR_PEER, "the others gave this process up, which did not answer in %g s",
                       roll->options.timeout);
    return is_ending(roll)
               ? hu_fail(HU_ERR_PEER, "rank %d does not answer, and the job is being ended",
                         roll->lost)
               : hu_fail(HU_ERR_PEER, "rank %d did not answer in %g s", roll->lost,
                         roll->options.timeout);
}

/* A message is late. It may be that of a slow process that is back: it gets as much time again. */
static hu_status be_late(hu_roll *roll, const hu_transfer *late, double age) {
    double patience = roll->options.timeout * answer_share;
    int32_t lost = NOBODY;
    hu_status st = HU_OK;
    if (!roll->has_called)
        st = call(roll, late->peer, patience < answer_least ? answer_least : patience, &lost);
    if (st != HU_OK || lost != NOBODY) return st != HU_OK ? st : fail_lost(roll, lost);
    roll->has_called = true;
    if (age < 2.0 * roll->options.timeout) return HU_OK;
    return hu_fail(HU_ERR_PEER,
                   "no message passed between here and rank %d in %g s, but all answer", late->peer,
                   age);
}

/* Launchers end a job when one of its processes is gone; but who is asked to end may also be asked
 * by a user, and all go on to the end of the step. */
static hu_status be_ended(hu_roll *roll, const hu_transfer *late) {
    double now = hu_seconds_now();
    int32_t lost;
    if (roll->ending_since == 0.0) roll->ending_since = now;
    if (now - roll->ending_since < ending_seconds) return HU_OK;
    hu_status st = call(roll, late->peer, ending_seconds, &lost);
    roll->ending_since = 0.0;
    return st == HU_OK && lost != NOBODY ? fail_lost(roll, lost) : st;
}

/* What ends a wait beside the messages. */
static hu_status check(hu_roll *roll, hu_transfer *const *open, int32_t count) {
    const hu_transfer *late = oldest(open, count);
    double now = hu_seconds_now();
    if (roll->lost != NOBODY) return fail_lost(roll, roll->lost);
    if (!late) return HU_OK;
    if (now - late->since > roll->options.timeout) return be_late(roll, late, now - late->since);
    roll->has_called = false;
    return is_ending(roll) ? be_ended(roll, late) : HU_OK;
}

hu_status hu_roll_wait(hu_roll *roll, hu_transfer *const *open, int32_t count, double seconds,
                       int32_t *which) {
    double end = hu_seconds_now() + seconds, left = seconds;
    if (roll->transport->is_patient)
        return hu_transfer_wait(roll->transport, open, count, seconds, which);
    for (;;) {
        hu_status st = look(roll, open, count, left < look_seconds ? left : look_seconds, which);
        if (st != HU_OK || *which >= 0) return st;
        st = check(roll, open, count);
        left = end - hu_seconds_now();
        if (st != HU_OK || left <= 0.0) return st;
    }
}

/* session/talk.h - what a training says while it runs: to its listener, and to progress.jsonl. */
#ifndef HU_SESSION_TALK_H
#define HU_SESSION_TALK_H
#include "journal/progress.h"
#include "journal/trouble.h"
#include "session/opening.h"

/* The voice of one process of a training; all zero: it says nothing. */
typedef struct hu_talk {
    const hu_listener *listener; /* borrowed; NULL: nobody listens */
    const hu_trainer *trainer;   /* borrowed */
    hu_progress *file;           /* NULL: this process does not write the folder */
    const char *folder;          /* borrowed */
    int64_t steps, first;        /* of the whole training, and where this process began */
    double began, spoke;         /* seconds: the first step, and the last line */
    float scale;                 /* of the latest step's loss; 0: there was none */
    int64_t skipped;             /* steps since the last epoch */
    bool is_test;                /* the training is followed on the test samples */
} hu_talk;

/* What was measured up to the end of a step. */
typedef struct hu_talk_state {
    const hu_step_report *report;
    double rate;        /* samples a second, NaN: none yet */
    double metric;      /* as the evaluation behind the step found it, NaN: there was none */
    hu_trouble trouble; /* so far */
} hu_talk_state;

/* Begins: opens the file (writes: whether this process writes the folder), warns, and tells what is
 * about to be trained. Owner closes, also on failure. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_talk_open(const hu_opening *opening, const hu_listener *listener, hu_half judged,
                       bool writes, hu_talk *talk);
void hu_talk_close(hu_talk *talk);

/* The data have changed, as what says, and that was accepted: event "data". */
hu_status hu_talk_data(hu_talk *talk, const char *what);

/* After a step, before what it is judged by: news for the listener; events "skipped" and
 * "rescaled". */
hu_status hu_talk_step(hu_talk *talk, const hu_talk_state *state);

/* After the evaluation behind it: the event "evaluation"; "epoch" where the step ends one, or the
 * training; else "step" where nothing was said for a minute. */
hu_status hu_talk_behind(hu_talk *talk, const hu_talk_state *state);

/* A checkpoint of the latest step was written. */
hu_status hu_talk_saved(hu_talk *talk);

/* How it ended: state "finished", "stopped early", "diverged", "interrupted" or "failed"; reason:
 * NULL or a text. Keeps status and words of a failure that is told; else HU_ERR_IO. */
hu_status hu_talk_end(hu_talk *talk, const char *state, hu_status status, const char *reason);

#endif

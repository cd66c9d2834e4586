/* settings/messages.h - what a training says while it runs, to whoever listens. */
#ifndef HU_SETTINGS_MESSAGES_H
#define HU_SETTINGS_MESSAGES_H
#include "config/config.h"
#include "engine/run.h"
#include "render/json.h"
#include "runlog/events.h"
#include "runlog/progress.h"
#include "runlog/result.h"
#include "train/trainer.h"

/* ---- listener ---- */

/* Who hears of a training while it runs. The library itself never prints. */

/* A step that has just ended. */
typedef struct hu_step_news {
    const hu_step_report *report;
    const hu_metric *metric; /* of report->metric. Borrowed: valid forever */
    int64_t steps;           /* of the whole training */
    int64_t per_epoch;       /* of an epoch */
    double rate;             /* samples a second, of this process so far */
    const char *counted;     /* what rates are told in: "images", "tokens" */
    double per_sample;       /* so many of them are a sample */
    double left;             /* seconds to the end of the training, NaN: not known */
} hu_step_news;

/* A function that is NULL, or a listener that is NULL, does not hear. */
typedef struct hu_listener {
    void *context;
    /* An event of progress.jsonl that people are told of, "start", "epoch", ..., and its lines
     * (runlog/progress.h), without the last newline. */
    void (*on_event)(void *context, const char *event, const char *lines);
    void (*on_step)(void *context, const hu_step_news *news);
    void (*on_message)(void *context, const char *text); /* one sentence, without a newline */
} hu_listener;

/* " (disc 1.3988, gen 0.6902)": the losses of a step's turns; "" where there is one. text: room for
 * HU_METRIC_TEXT_BYTES. Gives it back. */
const char *hu_listener_phases(const hu_step_report *report, char *text);

/* "38 images/s", or "2432 tokens/s, 38.0 samples/s" of tasks whose samples have places: samples and
 * places of a second. text: room for HU_METRIC_TEXT_BYTES. Gives it back. */
const char *hu_listener_rate(double samples, double places, const char *counted, char *text);

/* Gives a message to the listener, if it hears. */
void hu_listener_tell(const hu_listener *listener, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "none", "constant, 1024", "dynamic, from 65536", or what a dynamic one came to: "dynamic, 8192".
 * text: room for HU_SCALING_BYTES. Gives text. */
enum { HU_SCALING_BYTES = 64 };
const char *hu_loss_scaling_words(const hu_config *config, const hu_trainer *trainer, char *text);

/* ---- What a planned run warns of: one line each ---- */

/* Products that run in a slow reference implementation: messages to the listener; and the same
 * texts as an array, the value of "warnings" (new reference, NULL if out of memory). */
void hu_warnings_tell(const hu_run *run, const hu_listener *listener);
json_t *hu_warnings_json(const hu_run *run);

/* A message for each key that was typed and has no effect in this training; the second: for each
 * typed key of what a training computes. */
void hu_unused_keys_tell(const hu_config *config, const hu_listener *listener);
void hu_unused_keys_tell_typed(const hu_config *config, const char *reason,
                               const hu_listener *listener);

/* ---- What is said of a training before its first step ---- */

/* A training that is about to begin or to go on. All borrowed. */
typedef struct hu_opening {
    const hu_config *config; /* resolved */
    const hu_dataset *dataset;
    const hu_train_options *options;
    const hu_trainer *trainer;
    const char *folder; /* of the run */
} hu_opening;

/* ---- talk ---- */

/* What a training says while it runs: to its listener, and to progress.jsonl. */

/* The voice of one process of a training; all zero: it says nothing. */
typedef struct hu_messages {
    const hu_listener *listener; /* borrowed; NULL: nobody listens */
    const hu_trainer *trainer;   /* borrowed */
    hu_progress *file;           /* NULL: this process does not write the folder */
    const char *folder;          /* borrowed */
    int64_t steps, first;        /* of the whole training, and where this process began */
    double began, spoke;         /* seconds: the first step, and the last line */
    float scale;                 /* of the latest step's loss; 0: there was none */
    int64_t skipped;             /* steps since the last epoch */
    bool is_test;                /* the training is followed on the test samples */
} hu_messages;

/* What was measured up to the end of a step. */
typedef struct hu_messages_state {
    const hu_step_report *report;
    double rate;        /* samples a second, NaN: none yet */
    double metric;      /* as the evaluation after the step found it, NaN: there was none */
    hu_trouble trouble; /* so far */
} hu_messages_state;

/* Begins: opens the file (writes: whether this process writes the folder), warns, and tells what is
 * about to be trained. Owner closes, also on failure. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_messages_open(const hu_opening *opening, const hu_listener *listener,
                           hu_split_kind judged, bool writes, hu_messages *messages);
void hu_messages_close(hu_messages *messages);

/* The data have changed, as what says, and that was accepted: event "data". */
hu_status hu_messages_data(hu_messages *messages, const char *what);

/* After a step, before what it is judged by: news for the listener; events "skipped" and
 * "rescaled". */
hu_status hu_messages_step(hu_messages *messages, const hu_messages_state *state);

/* After the evaluation after it: the event "evaluation"; "epoch" where the step ends one, or the
 * training; else "step" where nothing was said for a minute. */
hu_status hu_messages_behind(hu_messages *messages, const hu_messages_state *state);

/* A checkpoint of the latest step was written. */
hu_status hu_messages_saved(hu_messages *messages);

/* How it ended: state "finished", "stopped early", "diverged", "interrupted" or "failed"; reason:
 * NULL or a text. Keeps status and words of a failure that is told; else HU_ERR_IO. */
hu_status hu_messages_end(hu_messages *messages, const char *state, hu_status status,
                          const char *reason);

#endif

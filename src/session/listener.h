/* session/listener.h - who hears of a training while it runs. The library itself never prints. */
#ifndef HU_SESSION_LISTENER_H
#define HU_SESSION_LISTENER_H
#include "journal/result.h"
#include "train/trainer.h"

/* A step that has just ended. */
typedef struct hu_step_news {
    const hu_step_report *report;
    const hu_metric *metric; /* of report->metric. Borrowed: valid for ever */
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
     * (journal/progress_text.h), without the last newline. */
    void (*on_event)(void *context, const char *event, const char *lines);
    void (*on_step)(void *context, const hu_step_news *news);
    void (*on_message)(void *context, const char *text); /* one sentence, without a newline */
} hu_listener;

/* " (disc 1.3988, gen 0.6902)": the losses of a step's turns; "" where there is one. text: room for
 * HU_METRIC_TEXT_BYTES. Gives it back. */
const char *hu_listener_turns(const hu_step_report *report, char *text);

/* "38 images/s", or "2432 tokens/s, 38.0 samples/s" of tasks whose samples have places: samples and
 * places of a second. text: room for HU_METRIC_TEXT_BYTES. Gives it back. */
const char *hu_listener_rate(double samples, double places, const char *counted, char *text);

/* Gives a message to the listener, if it hears. */
void hu_listener_tell(const hu_listener *listener, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

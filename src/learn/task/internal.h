/* task/internal.h - what the files of task share. */
#ifndef HU_TASK_INTERNAL_H
#define HU_TASK_INTERNAL_H
#include "media/boxes.h"
#include "task/task.h"

/* ---- language.c: how surprising the true words are ---- */

/* Columns of hu_describe_token_loss: tokens that count, their perplexity, the share that is right.
 */
#define HU_SURPRISE_COLUMNS                                                                        \
    {"tokens", true, 0, false}, {"perplexity", false, 2, false}, {                                 \
        "accuracy", false, 4, false                                                                \
    }

/* Of one sample of class scores, which is one text. NaN where a format stopped the pass. */
void hu_describe_token_loss(const hu_metric_call *sample, double *cells);

/* ---- detection.c: boxes that a model predicts in a picture ---- */

/* Of a class, at most so many candidates of a picture are looked at. */
enum { HU_DETECTIONS_PER_CLASS = 200 };

/* One box that is said. */
typedef struct hu_detection {
    int64_t class_number; /* as in the data: without the background */
    double score;         /* probability of the class */
    hu_box box;           /* inside the picture */
} hu_detection;

typedef void hu_detection_visitor(void *context, const hu_detection *detection);

/* Classes of the data: what remains of a row without background and offsets. */
int64_t hu_detection_classes(const hu_metric_call *call);

/* Bytes of scratch that hu_detections_visit works in. */
size_t hu_detections_scratch_bytes(const hu_metric_call *shape);

/* Visits what is said of sample number s of a part, class by class, best first: the 200 anchors or
 * regions of the largest probabilities above 0.01, decoded, clipped to the picture, of which
 * suppression at an overlap of 0.45 leaves some; of these, where the anchors have a limit, the best
 * of all classes together (equal ones: of the first class). Nothing where a format stopped the
 * pass. part->scratch has room. Source: Liu et al., "SSD", 2.2 and 3.1. */
void hu_detections_visit(const hu_metric_call *part, int64_t s, hu_detection_visitor *visit,
                         void *context);

/* Tells right detections from wrong ones: visit in the order above. */
typedef struct hu_finder {
    const float *rows; /* [most, 5] boxes of the sample */
    int64_t most;
    bool is_taken[512];
} hu_finder;

/* What a detection is worth. */
typedef enum hu_worth { HU_DETECTION_WRONG, HU_DETECTION_RIGHT, HU_DETECTION_IGNORED } hu_worth;

hu_finder hu_finder_begin(const hu_metric_call *part, int64_t s);

/* Right if the box of its class that the detection overlaps most (the first of equal ones) has an
 * overlap of at least 0.5 and was not found before; ignored if that box is difficult (Everingham et
 * al., "The PASCAL Visual Object Classes Challenge", 4.2). */
hu_worth hu_finder_judge(hu_finder *finder, const hu_detection *detection);

/* ---- image_tasks.c: tasks of pictures ---- */

/* Channels of the second field of a task, a picture of bytes. HU_ERR_ARGUMENT names the task. */
hu_status hu_picture_outputs(const char *task, const hu_field *const *fields, int64_t *outputs);

/* [height, width, channels], as the target. */
hu_shape hu_picture_head(const hu_task_choice *choice);

/* The picture that is wanted, or was made: numbers 0..1 as bytes, one channel as grey. */
void hu_picture_paint(const hu_metric_call *sample, bool is_truth, uint8_t *pixels);

/* ---- sequence.c: metrics of texts ---- */

/* How many runs of words a translation shares with the true one, over a whole set. */

enum { HU_BLEU_ORDERS = 4 };

/* Whole numbers as doubles, which add up in any order: sums of sets are those of their parts. All
 * zero: of no sentence. */
typedef struct hu_bleu {
    double match[HU_BLEU_ORDERS]; /* runs of 1..4 words of the translations that the true ones have,
                                     each as often at most as the true one has it */
    double count[HU_BLEU_ORDERS]; /* all runs of the translations */
    double words, true_words;
} hu_bleu;

/* Adds a sentence: made [m], wanted [n] class numbers. */
void hu_bleu_add(const int32_t *made, int64_t m, const int32_t *wanted, int64_t n, hu_bleu *bleu);

/* exp(min(0, 1 - r/c)) (p1 p2 p3 p4)^(1/4), p of order n being matches over runs, c the words, r
 * the true ones, without smoothing: 0 where a p is 0 or has no run; NaN without true words.
 * Papineni, Roukos, Ward, Zhu (2002), section 2.3, with one true translation.
 * Proof: tests/unit/task_bleu_test.c. */
double hu_bleu_value(const hu_bleu *bleu);

/* Bytes of a call's scratch that the metric needs: both texts of a sample. */
size_t hu_bleu_scratch_bytes(const hu_metric_call *shape);

/* ---- What rows of class scores spell, and how far two sequences are apart ---- */

/* Changes that make one sequence of the other at least: numbers that are put in, left out or taken
 * for others (Levenshtein). room: [n + 1]. */
int64_t hu_edit_distance(const int32_t *one, int64_t m, const int32_t *other, int64_t n,
                         int64_t *room);

/* Bytes of scratch for both sequences of a sample and their distance. */
size_t hu_spelling_scratch_bytes(const hu_metric_call *shape);

/* The two sequences in call->scratch. */
typedef struct hu_spelling {
    int32_t *wanted, *made;
    int64_t wanted_count, made_count, edits;
} hu_spelling;

/* Looks at sample s. */
hu_spelling hu_spelling_of(const hu_metric_call *part, int64_t s);

#endif

/* media/ctc.h - connectionist temporal classification (Graves et al. 2006) on plain arrays: the
 * paths through rows of class scores that spell labels, blanks dropped and repeats joined.
 *
 * In double, by the recurrences over rows in ascending (alpha) and descending order (beta). Knows
 * of no graph: op/ctc_loss.c is the operation.
 */
#ifndef HU_SOUND_CTC_H
#define HU_SOUND_CTC_H
#include <stdbool.h>
#include <stdint.h>

enum { HU_CTC_BLANK = 0 };

/* One sample. States are the labels with blanks around them: 0 .. 2 labels. The arrays are the
 * caller's; those of double are room to work in but for most and log_sum. */
typedef struct hu_ctc {
    const float *x, *target; /* [rows, classes] scores, [labels] */
    int64_t rows, classes, labels, states;
    bool takes_logs;          /* x holds log-probabilities */
    double *most, *log_sum;   /* [rows] of the softmax of each row, unless x holds logs */
    double *alpha;            /* [rows, states]; for the probability alone [2, states] */
    double *beta;             /* [2, states] */
    double *largest, *shares; /* [classes] */
} hu_ctc;

/* Labels of a target [most], in order. False: one of them is no class 1..classes-1, or stands
 * after an unlabelled number (below 0). */
bool hu_ctc_labels(const float *target, int64_t most, int64_t classes, int64_t *count);

/* Rows that a path for so many labels needs at least: one for each, and one between neighbours
 * that are equal. */
int64_t hu_ctc_least_rows(const float *target, int64_t count);

/* log of the probability of all paths; 0 of no rows. */
double hu_ctc_log_probability(const hu_ctc *p);

/* dx [rows, classes] = dy times the derivatives of minus the log probability. */
void hu_ctc_slopes(const hu_ctc *p, double dy, float *dx);

#endif

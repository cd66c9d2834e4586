/* runlog/history.h - what a run folder tells of its training, read back into plain structures:
 * metrics.jsonl, numerics.jsonl, histograms.jsonl and plan.json (docs/reference/run-folder.md).
 */
#ifndef HU_RUNLOG_HISTORY_H
#define HU_RUNLOG_HISTORY_H
#include "graph/tensor_order.h"
#include "runlog/events.h"
#include "runlog/records.h"

/* As many as a picture of a page has places. */
enum { HU_BRIEF_ROWS = 512 };

/* Whether an event is of a kind: HU_EVENT_OF_... (runlog/events.h). */
bool hu_event_is(const hu_event_record *event, int kind);

/* Reads the folder; owner frees with hu_history_free. HU_ERR_MISSING: no run folder, or a file that
 * every run has is missing; HU_ERR_ARGUMENT: a folder of several runs, which are named;
 * HU_ERR_CORRUPT with file, line, found and expected; HU_ERR_VERSION: a line has other columns than
 * this version writes. bits.jsonl, histograms.jsonl and plan.json may be missing.
 */
hu_status hu_history_read(const char *folder, hu_history **history);

/* The same for what there is: files that are missing, damaged or of another version are named in
 * the warning, their lines up to there are taken. */
hu_status hu_history_read_some(const char *folder, hu_history **history);

/* The same in bounded memory, for pages: rows of numerics are added up where there are more than
 * HU_BRIEF_ROWS, and of the histograms there are the first and the latest alone. */
hu_status hu_history_read_brief(const char *folder, hu_history **history);

/* The same in bounded memory, for who asks what happened: rows of numerics are added up where there
 * are more than HU_BRIEF_ROWS that take more than HU_BRIEF_BYTES, but for the last ones; skipped
 * steps are not mixed with others as long as there is room. Of more than HU_BRIEF_HISTOGRAMS that
 * take more than that some stay, from the first to the latest. Errors as
 * hu_history_read. */
enum { HU_BRIEF_TAIL = 64, HU_BRIEF_HISTOGRAMS = 64, HU_BRIEF_BYTES = 16 << 20 };
hu_status hu_history_read_bounded(const char *folder, hu_history **history);

/* The metric and the rows of metrics.jsonl alone. Owner frees; errors as hu_history_read. */
hu_status hu_history_read_metrics(const char *folder, hu_history **history);
void hu_history_free(hu_history *history);

/* What the loss was multiplied with at a step: by the nearest row of the metrics that is not after
 * it; 1 where none tells. */
double hu_history_loss_scale(const hu_history *history, int64_t step);

/* Whether a row says of a step that it was skipped. */
bool hu_history_was_skipped(const hu_history *history, int64_t step);

/* ---- Its tensors in the order in which they are made ---- */

/* The walk of the run's graph, which it borrows. Owner frees with hu_tensor_order_free.
 * HU_ERR_MEMORY. */
hu_status hu_history_walk(const hu_history *history, const hu_graph *graph, hu_tensor_order *walk);

/* The place in the walk of each tensor that the files name, HU_NONE: it has none. place:
 * [history->tensors.count]. */
void hu_history_places(const hu_history *history, const hu_tensor_order *walk, uint32_t *place);

/* ---- Trouble, of what the files of a run hold ---- */

/* walk: hu_history_walk. HU_ERR_MEMORY. */
hu_status hu_trouble_of_run(const hu_history *history, const hu_tensor_order *walk,
                            hu_trouble *trouble);

/* ---- Largest gradients ---- */

/* The largest gradients of a recorded run, and the loss scales that they leave
 * room for. */

/* The largest magnitude of gradients, of the unscaled loss. */
typedef struct hu_largest {
    double magnitude; /* 0: none is recorded */
    bool is_bound;    /* only its exponent is known: it lies below */
    int64_t step;     /* of counts: the last step of their row */
} hu_largest;

enum { HU_LARGEST_ACT, HU_LARGEST_PARAMETER, HU_LARGEST_KINDS };

/* Of all steps that were recorded and not skipped: gradients of activations and of parameters.
 * Tensors that are rounded are counted in every step, by exponents; histograms tell magnitudes. */
void hu_history_largest(const hu_history *history, const hu_tensor_order *walk,
                        hu_largest largest[HU_LARGEST_KINDS]);

/* The larger of both. */
hu_largest hu_largest_of_all(const hu_largest largest[HU_LARGEST_KINDS]);

#endif

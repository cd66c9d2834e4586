/* runlog/recorder.h - the flight recorder of a training: what happened to every tensor, step by
 * step: numerics.jsonl and histograms.jsonl of a run folder (docs/reference/run-folder.md).
 *
 * Every step is noted in memory; a row holds the sums since the row before. The last steps are also
 * kept one by one, so that those before a skipped step can be told apart. What is in memory goes
 * into checkpoints: a resumed training writes the same lines.
 */
#ifndef HU_JOURNAL_RECORDER_H
#define HU_JOURNAL_RECORDER_H
#include "engine/run.h"
#include "runlog/trouble.h"

typedef struct hu_recorder hu_recorder;

/* Opens both files for appending; histograms may be NULL. Graph and edges are borrowed. Owner
 * closes. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_recorder_open(const char *numerics, const char *histograms, const hu_graph *graph,
                           const hu_edge_table *edges, hu_recorder **recorder);

/* Bytes of its state in a checkpoint, and tensors that it notes. HU_ERR_MEMORY. */
hu_status hu_recorder_bytes(const hu_graph *graph, const hu_edge_table *edges, size_t *bytes,
                            size_t *tensors);

/* How a step ended. */
typedef enum hu_step_end {
    HU_STEP_DONE,
    HU_STEP_SKIPPED, /* its gradients were not finite */
    HU_STEP_BROKEN   /* its update was not */
} hu_step_end;

/* Notes the step that the run has just done. Events are written at once, and the histograms if the
 * step was recorded; of a step that was not done, the steps kept in memory as rows of their own. */
hu_status hu_recorder_note(hu_recorder *recorder, const hu_run *run, int64_t step, hu_step_end end);

/* Who else sees the histograms: called for each that is written, with the bins from the least to
 * the largest exponent that occurs; count = 0: the tensor holds no number but zeros. */
typedef hu_status hu_exponents_fn(void *context, int64_t step, const char *name, int32_t first,
                                  const uint64_t *bin, size_t count);
void hu_recorder_watch(hu_recorder *recorder, hu_exponents_fn *seen, void *context);

/* Writes the tensors that the run's counts, of a part of an evaluation behind that step, say are
 * infinite or NaN: each once in a run, as an event. *first: the name of the one that is made first,
 * NULL: there is none. Borrowed: as long as the graph. HU_ERR_IO. */
hu_status hu_recorder_evaluation(hu_recorder *recorder, int64_t step, const char **first);

/* Writes a line of another kind into numerics.jsonl, an object whose first key is "step".
 * HU_ERR_IO.
 */
hu_status hu_recorder_line(hu_recorder *recorder, const char *line);

/* Writes the sums since the last row, if any step was noted since. */
hu_status hu_recorder_row(hu_recorder *recorder);

/* What is in trouble after the steps that were noted. */
hu_trouble hu_recorder_trouble(hu_recorder *recorder);

/* What the next rows depend on, for a checkpoint; and back, unless it is of other tensors: then the
 * rows begin anew. HU_ERR_CORRUPT. Borrowed: valid until the recorder changes. */
void hu_recorder_state(const hu_recorder *recorder, const void **data, size_t *bytes);
hu_status hu_recorder_restore(hu_recorder *recorder, const void *data, size_t bytes);

/* Waits until all lines are on the disk. HU_ERR_IO. */
hu_status hu_recorder_sync(hu_recorder *recorder);

/* Closes; NULL is allowed. */
void hu_recorder_close(hu_recorder *recorder);

#endif

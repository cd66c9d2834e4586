/* runlog/folder.h - the folder of a run: config.resolved.yaml metrics.csv metrics.jsonl
 * numerics.jsonl bits.jsonl env.json checkpoint/ and, when the run has ended, result.json. */
#ifndef HU_RUNLOG_FOLDER_H
#define HU_RUNLOG_FOLDER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <halfulp/status.h>

#include "config/config.h"
#include "engine/run.h"
#include "render/json.h"
#include "render/tensorboard.h"
#include "runlog/events.h"
#include "runlog/metrics.h"
#include "store/checkpoint.h"
#include "train/trainer.h"

/* ---- numerics.jsonl and histograms.jsonl, written while a run trains ---- */

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

/* Writes the tensors that the run's counts, of a part of an evaluation after that step, say are
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

/* ---- How far histories go, and going back ---- */

/* metrics.csv, metrics.jsonl, numerics.jsonl, histograms.jsonl, bits.jsonl. */
enum { HU_HISTORIES = 5 };

/* How far a history went: its bytes, and the step of its last line (-1: it has none). */
typedef struct hu_history_mark {
    int64_t bytes, step;
} hu_history_mark;

/* How far the folder's histories go now; a file that is missing has no bytes. HU_ERR_IO,
 * HU_ERR_MEMORY. */
hu_status hu_history_marks(const char *folder, hu_history_mark mark[HU_HISTORIES]);

/* Leaves in each history the lines that it had when the checkpoint of `step` was made: the steps
 * from there on will write theirs once more.
 *
 *   mark  [HU_HISTORIES] of that checkpoint; NULL: it knows none, and lines of steps below `step`
 *         stay
 *   note  [capacity] gets a line for each file that had parts of lines, and for each that misses
 *         lines that the checkpoint knows, with their steps
 *
 * Files are looked at from their end: their length costs nothing. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_history_truncate(const char *folder, const hu_history_mark *mark, int64_t step,
                              char *note, size_t capacity);

/* ---- Which names in a folder are a run's own, and whether they lie in it ---- */

/* Whether a name directly below the folder of a run, a comparison, a demo or a search is a file or
 * folder that these write (docs/reference/run-folder.md). */
bool hu_run_folder_owns(const char *name);

/* What a folder that somebody has sent may hold in place of its own files: links that leave the
 * folder, through which others would be read or written, and pipes, sockets and devices, which are
 * waited for. HU_ERR_CORRUPT names the first of them, by name, among its own names and in its own
 * folders; HU_ERR_IO, HU_ERR_MEMORY. The folder itself may be a link, and need not be there.
 * Proof: tests/program/hostile_test.py. */
hu_status hu_run_folder_check_owned(const char *directory);

#define HU_BEST_FOLDER "best"

typedef struct hu_run_folder {
    char *path;
    char *checkpoints; /* path/checkpoint */
    char *best;        /* path/best; NULL: the best one is not kept */
    hu_metrics *metrics;
    hu_recorder *numerics;
    hu_bit_log *bits; /* NULL: no schedule of bits */
    hu_tensorboard *board;
    int keep;
    int lock;        /* descriptor of the folder, held while this process trains in it */
    char note[2048]; /* lines of what was found damaged or missing; "": nothing */
} hu_run_folder;

/* What a checkpoint holds of the run beside its trainer. Owner frees with hu_run_saved_free; {0}: a
 * run that begins, or a checkpoint of an older version. */
typedef struct hu_run_saved {
    void *record; /* the recorder's state; NULL: nothing was noted yet */
    size_t record_bytes;
    bool has_marks;
    hu_history_mark mark[HU_HISTORIES]; /* how far the histories went */
} hu_run_saved;

/* HU_ERR_MEMORY. */
hu_status hu_run_saved_read(const hu_checkpoint *checkpoint, hu_run_saved *saved);
void hu_run_saved_free(hu_run_saved *saved);

/* Makes the folder (directory NULL: runs/MODEL-PRECISION-TIME, never an existing one), tries that a
 * checkpoint fits, and writes config.resolved.yaml and env.json. The trainer
 * is borrowed: needed until the folder is closed. */
hu_status hu_run_folder_create(const char *directory, const hu_config *config, hu_trainer *trainer,
                               hu_run_folder *folder);

/* Opens an existing folder for going on where the trainer is: the histories go back to there
 * (runlog/folder.h), the result is dropped, and config.resolved.yaml becomes what the run goes
 * on with. What was found damaged or missing of them, folder->note tells: only the checkpoint and
 * the configuration stop a resumption. */
hu_status hu_run_folder_reopen(const char *directory, const hu_config *config,
                               const hu_trainer *trainer, const hu_run_saved *saved,
                               hu_run_folder *folder);
void hu_run_folder_close(hu_run_folder *folder);

/* For every adaptation of which the report has events one line of numerics.jsonl, for promotion
 * {"step": N, "promoted": [[tensor, from, to, overflow_share], ...]}; where the whole precision
 * changes, {"step": N, "precision": NAME, "epoch": K}. */
hu_status hu_run_folder_events(hu_run_folder *folder, const hu_step_report *report,
                               const hu_run *run);

/* Writes (or replaces) a small file of the folder. */
hu_status hu_run_folder_text(const hu_run_folder *folder, const char *name, const char *text);

#define HU_RECORDER_SECTION "recorder" /* of a checkpoint */

/* Opens numerics.jsonl, and histograms.jsonl if the run can record, before the first step. */
hu_status hu_run_folder_record(hu_run_folder *folder, const hu_run *run, const hu_run_saved *saved);

/* Saves the trainer's state durably, with that of the recorder; all lines written so far are on the
 * disk before it. */
hu_status hu_run_folder_save(hu_run_folder *folder, hu_trainer *trainer);

/* Keeps the state as that of the best evaluation so far; is_saved: it was just saved. Nothing where
 * the best one is not kept. */
hu_status hu_run_folder_keep_best(hu_run_folder *folder, hu_trainer *trainer, bool is_saved);

/* Writes result.json and drops the reference; NULL is HU_ERR_MEMORY. */
hu_status hu_run_folder_result(const hu_run_folder *folder, json_t *result);

/* Holds a folder against other processes until the descriptor is closed or this one ends.
 * HU_ERR_IO; doing says what the other does: "training". */
hu_status hu_run_folder_lock(const char *directory, const char *doing, int *descriptor);

/* Result of a run folder: the JSON object in result.json. NULL if there is none (HU_OK). New
 * reference. */
hu_status hu_result_read(const char *directory, json_t **result);

/* ---- place ---- */

/* Where the folder of a run is while it trains, and whether it may be written. */

/* Whether the folder still has the path that it was opened by. It is known by its descriptor, which
 * also writes that go on into open histories follow. */
bool hu_run_folder_exists(const hu_run_folder *folder);

/* What to do where it has not: saves the state where the folder is now (trainer NULL: it cannot be
 * saved by this process alone), and says so. HU_ERR_MISSING: it was moved, with its new path and
 * how to go on, or removed. The status of the saving where that fails. HU_OK: it is present. */
hu_status hu_run_folder_find_again(hu_run_folder *folder, hu_trainer *trainer);

/* Whether a run can be gone on with in its folder: HU_ERR_IO where it, its checkpoints or a history
 * cannot be written, and what helps. */
hu_status hu_run_folder_check_writable(const char *directory);

#endif

/* planner/planner.h - plans a run: slots, regions, buffers, one arena; and says what the plan is.
 * Planning allocates and may fail; passes (engine/run.h) do neither. */
#ifndef HU_PLANNER_PLANNER_H
#define HU_PLANNER_PLANNER_H
#include "base/memory.h"
#include "engine/run.h"

/* Plans: checks the edges, makes primitives, lays out the arena. The graph must be finished. The
 * run borrows graph, edges and weights, which must outlive it: passes write counts into the edges,
 * and running statistics into the weights. Owner frees with hu_run_free. */
hu_status hu_run_create(const hu_graph *graph, hu_edge_table *edges, hu_weights *weights,
                        const hu_run_options *options, hu_run **run);
void hu_run_free(hu_run *run);

/* Plans again for edges whose quantizers have changed: the maxima of delayed scales and the room
 * for histograms stay; everything that lives in the arena is lost, and times begin at zero. On
 * failure *run is NULL. */
hu_status hu_run_replan(hu_run **run);

/* Makes what a batch of this many samples needs, so that passes of that size allocate nothing. */
hu_status hu_run_reserve(hu_run *run, int64_t samples);

/* Makes room for a histogram of every tensor (engine/exponent_record.c). */
hu_status hu_run_reserve_histograms(hu_run *run);

/* Steps keep the numbers of a tensor from now on, before and after they are rounded; of gradients
 * of parameters those of the latest pass. rows: samples of a whole batch. Not of parameters, whose
 * numbers are there. Changes no bit. HU_ERR_MEMORY, HU_ERR_LIMIT. */
hu_status hu_run_watch(hu_run *run, hu_tensor tensor, int64_t rows);
void hu_run_unwatch(hu_run *run);

/* ---- The ledger: bytes by role ---- */

typedef struct hu_ledger {
    uint64_t arena[HU_BUFFER_ROLE_COUNT]; /* parts of the arena at its fullest time */
    uint64_t arena_bytes;                 /* the arena itself */
    uint64_t parameters;                  /* masters and running statistics */
    uint64_t optimizer;                   /* momenta, gradient sums of one worker */
    uint64_t workers; /* gradients of several workers, and what travels between them */
    uint64_t saved;   /* activations and masks that wait for the backward pass */
    uint64_t total;   /* arena + parameters + optimizer + workers */
} hu_ledger;

/* The plan's own sizes, with what optimizer and workers keep. */
hu_ledger hu_ledger_of(const hu_run *run, uint64_t optimizer_bytes, uint64_t worker_bytes);

/* HU_OK if the allocator counts just these bytes in the roles of the ledger (beyond `before`, what
 * it counted before the run was made); else HU_ERR_INTERNAL with both numbers of the first role
 * that differs. */
hu_status hu_ledger_check(const hu_ledger *ledger, const hu_ledger *before);

/* What the allocator counts now, in the ledger's roles. */
hu_ledger hu_ledger_now(void);

/* ---- Placement of a node's output, and what the formats force on it ---- */

typedef enum hu_output_placement {
    HU_OUTPUT_SAVED,      /* stored, and there for the backward pass */
    HU_OUTPUT_TRANSIENT,  /* stored, dead before the backward pass needs it */
    HU_OUTPUT_RECOMPUTED, /* never stored: its readers compute it anew, backward too */
    HU_OUTPUT_FUSED       /* never stored: computed inside its one reader's loop */
} hu_output_placement;

/* "saved", "transient", "recomputed", "fused". Borrowed: valid forever. */
const char *hu_placement_name(hu_output_placement fate);

/* Of a forward value. */
hu_output_placement hu_run_placement(const hu_run *run, hu_value_id value);

/* Name of the storage that the plan has chosen for a value, whether or not it is stored. */
const char *hu_run_storage_name(const hu_run *run, hu_value_id value);

/* Bytes that a value takes where it is stored: of a whole batch; of a parameter as products read
 * it; 0: it is made inside the loops of others. */
uint64_t hu_run_stored_bytes(const hu_run *run, hu_value_id value);

/* Of them, what waits for the backward pass, and the same of all that is kept on account of a node:
 * its outputs, its mask, what it has rounded of its inputs, and the states that it begins. Without
 * turns, the sum over loaded values and nodes is hu_ledger.saved. Proof:
 * tests/program/model_test.py. */
uint64_t hu_run_value_saved(const hu_run *run, hu_value_id value);
uint64_t hu_run_node_saved(const hu_run *run, uint32_t node);

/* True if no number of the value is known before the largest magnitude of the whole tensor: such a
 * tensor stands in float32 between two loops over the batch, and its nodes join no others. */
bool hu_run_needs_maximum_first(const hu_run *run, hu_value_id value);

/* The same of the value's gradient: of one of its contributions, or of their sum. */
bool hu_run_gradient_needs_maximum_first(const hu_run *run, hu_value_id value);

/* ---- What computes a node, and whether that is slow ---- */

enum { HU_SLOW_BYTES = HU_NAME_BYTES + 256 };

/* The library's name of what computes a pass of a node ("jit:avx2"); "" where our own kernels do,
 * or where the node has no such pass. Borrowed: valid as long as the run. */
const char *hu_run_impl(const hu_run *run, uint32_t node, hu_pass pass);

/* True if a pass of the node runs in a slow reference implementation of the library; text (room for
 * HU_SLOW_BYTES) then says so in one line that begins with the node's name, else it is "". */
bool hu_run_is_slow(const hu_run *run, uint32_t node, char *text);

/* ---- Codes that are narrower than the places that they lie in ---- */

/* "activations of 6 bits lie in 8 each, of 12 bits lie in 16 each", by number of bits; "" where
 * there are no such codes. Gives text. */
enum { HU_GAPS_BYTES = 160 };
const char *hu_gaps_words(const hu_run *run, char text[HU_GAPS_BYTES]);

/* What helps. */
#define HU_GAPS_ADVICE "storage=dense leaves no gaps"

#endif

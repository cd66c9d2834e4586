/* planner/planner.h - plans a run: slots, regions, buffers, one arena. Planning allocates and may
 * fail; passes (engine/run.h) do neither. */
#ifndef HU_LAYOUT_PLANNER_H
#define HU_LAYOUT_PLANNER_H
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

#endif

/* graph/visit.h - one chunk in one region: the node's own call and those of the nodes that run with
 * it (graph/fuse.h).
 *
 * Numbers are read from storage, or made; what an op reads and writes lies in place (float32), or
 * in the thread's scratch, from which it is packed. In a rehearsal the same code takes the same
 * steps without numbers: it notes when each buffer is used, how much scratch is needed, and which
 * nodes belong to a region.
 */
#ifndef HU_GRAPH_VISIT_H
#define HU_GRAPH_VISIT_H
#include "graph/layout.h"

typedef struct hu_visit {
    hu_run *run;
    hu_thread *thread;
    uint32_t region;
    hu_pass pass;
    int64_t chunk, first, count; /* samples first .. first+count-1 */
    int64_t partial;             /* of the parameter gradients */
    bool adds;                   /* to that partial gradient */
    hu_bump bump;
    uint64_t number;
    double since; /* start of the work that is timed */
} hu_visit;

/* Begins the visit of chunk c by a thread. */
hu_visit hu_visit_begin(hu_run *run, hu_thread *thread, uint32_t region, hu_pass pass, int64_t c);

/* The region's node forward, its batch norms' partial results. */
void hu_visit_forward(hu_visit *visit);

/* The region's node backward, and who is pulled, pushed and reduced with it. */
void hu_visit_backward(hu_visit *visit);

/* Only the partial result of the region's own node. */
void hu_visit_reduce(hu_visit *visit);

/* The rounded rows of a forward value. Borrowed: valid during the visit. */
const float *hu_visit_value(hu_visit *visit, hu_value_id v);

/* Sum of the contributions to the gradient of a value, not rounded. Borrowed: valid during the
 * visit. */
const float *hu_visit_gradient_sum(hu_visit *visit, hu_value_id v);

/* Room for samples of a loaded value (the image), and their rounding and storing. */
float *hu_visit_room(hu_visit *visit, hu_value_id v);
void hu_visit_store(hu_visit *visit, hu_value_id v, float *x);

/* Points dparam at partial gradient number `partial` of a node. */
void hu_point_dparams(const hu_run *run, uint32_t n, int64_t partial, float **dparam);

#endif

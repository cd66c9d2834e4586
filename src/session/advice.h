/* session/advice.h - what a configuration asks about the network between nodes. */
#ifndef HU_SESSION_ADVICE_H
#define HU_SESSION_ADVICE_H
#include "comm/advice.h"
#include "config/config.h"
#include "graph/graph.h"

typedef struct hu_advice_request {
    hu_comm_question question; /* Borrows the next two */
    hu_comm_layer *layer;      /* owned, as the choices */
    hu_comm_choice *choice;
    int64_t parameters;
} hu_advice_request;

/* Keys cluster.*, comm.scaling (aps where it is left open), comm.bucket, comm.exact, comm.workers
 * (the nodes once more) and comm.format or bench.format (the word format=: formats beside fp32 and
 * fp16, one or several; e5m2 and e4m3 where they are left open), for the parameters
 * of a graph, whose names are borrowed. Measures what the formats cost a processor, once for each
 * width: of formats of the same bits none is faster by chance. Owner frees. */
hu_status hu_advice_read(hu_config *config, const hu_graph *graph, hu_advice_request *request);
void hu_advice_request_free(hu_advice_request *request);

#endif

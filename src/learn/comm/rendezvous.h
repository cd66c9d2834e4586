/* comm/rendezvous.h - the processes of a job as one of them meets the others: a transport,
 * patience, and rows that reach all. One per process, as long as it is among the others.
 */
#ifndef HU_COMM_RENDEZVOUS_H
#define HU_COMM_RENDEZVOUS_H
#include "comm/failure_detector.h"

typedef struct hu_rendezvous {
    hu_transport *transport;       /* Borrowed */
    hu_failure_detector *detector; /* owned */
} hu_rendezvous;

/* HU_ERR_MEMORY, HU_ERR_PEER. Owner frees with hu_rendezvous_free, before the transport is closed.
 */
hu_status hu_rendezvous_create(hu_transport *transport, const hu_failure_detector_options *options,
                               hu_rendezvous **job);
void hu_rendezvous_free(hu_rendezvous *job);

/* all[processes][bytes]: row `rank` of each process reaches all others, in log2(processes) rounds.
 * All of them must call it with equal bytes. HU_ERR_PEER in the words of hu_failure_detector_wait.
 */
hu_status hu_rendezvous_gather(hu_rendezvous *job, size_t bytes, void *all);

/* own[bytes] of every process but 0 reaches process 0 as others[processes - 1][bytes], which the
 * others leave NULL. All of them must call it with equal bytes. HU_ERR_PEER as above. */
hu_status hu_rendezvous_collect(hu_rendezvous *job, size_t bytes, const void *own, void *others);

#endif

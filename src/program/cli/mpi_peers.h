/* cli/mpi_peers.h - how a verb meets and leaves the other processes of mpirun. */
#ifndef HU_CLI_MPI_PEERS_H
#define HU_CLI_MPI_PEERS_H
#include "session/processes.h"

/* hu_processes_open and hu_processes_close (session/processes.h), within some time: a process that
 * is missing ends this one with the exit code of a lost peer. Who leaves with a failure that the
 * others do not know of tells it first; of one that all know worker 0's process tells. */
hu_status hu_join_peers(hu_config *config, const volatile sig_atomic_t *flag,
                        hu_processes *processes);
void hu_leave_peers(hu_processes *processes, hu_status status);

#endif

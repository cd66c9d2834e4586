/* comm/load.h - finds the transport of this process: modules for the MPIs that the build found. */
#ifndef HU_COMM_LOAD_H
#define HU_COMM_LOAD_H
#include "comm/transport.h"

/* Name of the transport below whose launcher this process runs ("openmpi", "mpich"); NULL: below
 * none. *processes that it started; 0: it does not tell. Borrowed: valid for ever. */
const char *hu_transport_of_launcher(int32_t *processes);

/* Loads the module of a transport and joins the other processes, once in the life of this one.
 * HU_ERR_UNKNOWN: there is no transport of that name; HU_ERR_UNSUPPORTED: its module, or the MPI
 * that it needs, is not there: the message says what was looked for; HU_ERR_PEER: MPI failed. */
hu_status hu_transport_open(const char *name, hu_transport **transport);

#endif

/* comm/process.h - a team of which one worker is in this process and the others are in processes
 * that a transport reaches. Rank of the process and number of the worker are the same.
 */
#ifndef HU_COMM_PROCESS_H
#define HU_COMM_PROCESS_H
#include "comm/job.h"
#include "comm/team.h"

/* gradient [1] array of plan->elements. plan, gradient and job are borrowed; between hu_team_ready
 * and the end of hu_team_reduce the team alone calls the job's transport.
 *
 *   overlap  buckets that are ready travel at once, in a thread of their own; changes no bit. Off
 *            where the transport cannot be called from another thread
 *
 * HU_ERR_ARGUMENT: not as many processes as workers; HU_ERR_MEMORY, HU_ERR_PEER. After HU_ERR_PEER
 * the team is good for nothing but hu_team_free, and the transport for nothing but its end_job. */
hu_status hu_team_process(const hu_comm_plan *plan, float *const *gradient, hu_rendezvous *job,
                          bool overlap, hu_team **team);

#endif

/* comm/process_group.h - the workers of a reduction, each in a process of its own. */
#ifndef HU_COMM_PROCESS_GROUP_H
#define HU_COMM_PROCESS_GROUP_H
#include "comm/plan.h"
#include "comm/transport.h"

/* ---- Processes that meet ---- */

/* The processes of a job as one of them meets the others: a transport,
 * patience, and rows that reach all. One per process, as long as it is among the others.
 */

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

/* ---- place ---- */

/* Where this process stands among the others, for a signal handler: what it would
 * say if it was ended now.
 */

/* Notes the place (printf form; 255 bytes kept). Thread-safe: the last one stays. */
void hu_comm_status_line_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The place noted last, "" before the first. May be called in a signal handler. Borrowed: whole as
 * long as not two more are noted meanwhile. */
const char *hu_comm_status_line(void);

/* ---- team ---- */

/* The workers of a training as one of its processes sees them: those that it runs
 * itself, and how they meet the others. A kind of group is one record.
 *
 *   emulated   all workers in this process
 *   process    one worker here, the others in processes that a transport reaches
 *
 * The result of a reduction is the same bits for all kinds.
 */

typedef struct hu_process_group hu_process_group;

/* Where the time of reductions goes, of all steps so far. */
typedef struct hu_process_group_seconds {
    double busy;    /* messages were on their way, or numbers worked on for them */
    double exposed; /* the training waited for it: the rest was hidden after computing */
} hu_process_group_seconds;

/* What a kind of team does. */
typedef struct hu_process_group_kind {
    const char *name;
    void (*free)(hu_process_group *team);
    hu_status (*reduce)(hu_process_group *team, uint64_t step);
    hu_status (*gather)(hu_process_group *team, size_t bytes, void *all);
    /* NULL: nobody is elsewhere */
    hu_status (*collect)(hu_process_group *team, size_t bytes, const void *own, void *others);
    void (*ready)(hu_process_group *team, uint64_t step, int32_t layer); /* NULL: nothing to do */
    const hu_comm_counts *(*counts)(const hu_process_group *team, int32_t worker);
    float *(*loss)(const hu_process_group *team, int32_t worker, int32_t i);
    hu_process_group_seconds (*seconds)(
        const hu_process_group *team); /* NULL: nobody waits for anybody */
} hu_process_group_kind;

/* Workers first .. first + here - 1 of the plan's are in this process. */
struct hu_process_group {
    const hu_process_group_kind *kind;
    const hu_comm_plan *plan; /* Borrowed */
    float *const *gradient;   /* [here] arrays of plan->elements. Borrowed */
    int32_t first, here;
};

/* All workers in this process; gradient [workers]. HU_ERR_MEMORY. */
hu_status hu_process_group_emulated(const hu_comm_plan *plan, float *const *gradient, int threads,
                                    hu_process_group **team);

/* Bytes that a team holds beside the gradients: codes, slots, scales, messages, and what error
 * feedback keeps. Worked out from the plan; the allocator counts just these for
 * HU_MEMORY_WORKERS once the team is made. emulated: all workers here; process: worker `rank`
 * alone (hu_process_group_process). HU_ERR_MEMORY. */
hu_status hu_process_group_emulated_bytes(const hu_comm_plan *plan, uint64_t *bytes);
hu_status hu_process_group_process_bytes(const hu_comm_plan *plan, int32_t rank, uint64_t *bytes);

/* NULL is allowed. */
void hu_process_group_free(hu_process_group *team);

/* The gradients of the workers here become the sum over all workers of the plan. All processes
 * must call it for the same step. HU_ERR_CORRUPT: a message is not the expected one;
 * HU_ERR_PEER: a worker did not answer in time, or is gone. */
hu_status hu_process_group_reduce(hu_process_group *team, uint64_t step);

/* all[workers][bytes]: rows of the workers here are given, those of the others are filled in. All
 * processes must call it with equal bytes. Errors as hu_process_group_reduce. */
hu_status hu_process_group_gather(hu_process_group *team, size_t bytes, void *all);

/* Rows of the workers of other processes reach that of worker 0, and it alone.
 *
 *   own     [bytes] row of the only worker here; not read where worker 0 or all workers are
 *   others  [workers - 1][bytes] where worker 0 is: rows of workers 1, 2, ... are filled in; else
 *           NULL, as where all workers are here
 *
 * All processes must call it with equal bytes. Errors as hu_process_group_reduce. */
hu_status hu_process_group_collect(hu_process_group *team, size_t bytes, const void *own,
                                   void *others);

/* The gradient of a layer is final in the worker here: its bucket may travel while others are still
 * made. Only a hint: hu_process_group_reduce of that step, which must follow, sends what was not
 * announced.
 */
void hu_process_group_ready(hu_process_group *team, uint64_t step, int32_t layer);

/* Counts of the latest reduction, [layers], of a worker here. Borrowed: until the next one. */
const hu_comm_counts *hu_process_group_counts(const hu_process_group *team, int32_t worker);

/* Zero where all workers are in this process. */
hu_process_group_seconds hu_process_group_spent(const hu_process_group *team);

/* As hu_comm_worker_loss, of a worker here. */
float *hu_process_group_residual(const hu_process_group *team, int32_t worker, int32_t i);

/* ---- process ---- */

/* A team of which one worker is in this process and the others are in processes
 * that a transport reaches. Rank of the process and number of the worker are the same.
 */

/* gradient [1] array of plan->elements. plan, gradient and job are borrowed; between
 * hu_process_group_ready and the end of hu_process_group_reduce the team alone calls the job's
 * transport.
 *
 *   overlap  buckets that are ready travel at once, in a thread of their own; changes no bit. Off
 *            where the transport cannot be called from another thread
 *
 * HU_ERR_ARGUMENT: not as many processes as workers; HU_ERR_MEMORY, HU_ERR_PEER. After HU_ERR_PEER
 * the team is good for nothing but hu_process_group_free, and the transport for nothing but its
 * end_job. */
hu_status hu_process_group_process(const hu_comm_plan *plan, float *const *gradient,
                                   hu_rendezvous *job, bool overlap, hu_process_group **team);

#endif

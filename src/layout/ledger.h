/* layout/ledger.h - every byte by role: what the plan says beside what the allocator counted. */
#ifndef HU_LAYOUT_LEDGER_H
#define HU_LAYOUT_LEDGER_H
#include "base/memory.h"
#include "engine/buffer.h"
#include "engine/run.h"

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

#endif

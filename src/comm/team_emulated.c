/* All workers in this process: nothing to gather, nothing to wait for. */
#include "base/error.h"
#include "base/memory.h"
#include "comm/emulated.h"
#include "comm/team.h"

typedef struct emulated_team {
    hu_team team;
    hu_comm_emulated *emulated;
} emulated_team;

static const hu_comm_emulated *inside(const hu_team *team) {
    return ((const emulated_team *)team)->emulated;
}

static void end(hu_team *team) {
    hu_comm_emulated_free(((emulated_team *)team)->emulated);
    hu_free(team);
}

static hu_status reduce(hu_team *team, uint64_t step) {
    return hu_comm_emulated_run(((emulated_team *)team)->emulated, step);
}

static hu_status gather(hu_team *team, size_t bytes, void *all) {
    (void)team, (void)bytes, (void)all;
    return HU_OK;
}

static const hu_comm_counts *counts(const hu_team *team, int32_t worker) {
    return hu_comm_worker_counts(hu_comm_emulated_worker(inside(team), worker));
}

static float *loss(const hu_team *team, int32_t worker, int32_t i) {
    return hu_comm_worker_loss(hu_comm_emulated_worker(inside(team), worker), i);
}

static const hu_team_kind kind = {.name = "emulated",
                                  .free = end,
                                  .reduce = reduce,
                                  .gather = gather,
                                  .counts = counts,
                                  .loss = loss};

hu_status hu_team_emulated(const hu_comm_plan *plan, float *const *gradient, int threads,
                           hu_team **result) {
    hu_status st = HU_OK;
    emulated_team *team = NULL;
    *result = NULL;
    HU_TRY(HU_NEW(&team));
    team->team = (hu_team){&kind, plan, gradient, 0, plan->options.workers};
    HU_TRY(hu_comm_emulated_create(plan, gradient, threads, &team->emulated));
    *result = &team->team;
    team = NULL;
done:
    hu_free(team);
    return st;
}

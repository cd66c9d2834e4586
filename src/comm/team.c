#include "comm/team.h"

void hu_team_free(hu_team *team) {
    if (team) team->kind->free(team);
}

hu_status hu_team_reduce(hu_team *team, uint64_t step) {
    return team->kind->reduce(team, step);
}

hu_status hu_team_gather(hu_team *team, size_t bytes, void *all) {
    return team->kind->gather(team, bytes, all);
}

hu_status hu_team_collect(hu_team *team, size_t bytes, const void *own, void *others) {
    return team->kind->collect ? team->kind->collect(team, bytes, own, others) : HU_OK;
}

void hu_team_ready(hu_team *team, uint64_t step, int32_t layer) {
    if (team->kind->ready) team->kind->ready(team, step, layer);
}

const hu_comm_counts *hu_team_counts(const hu_team *team, int32_t worker) {
    return team->kind->counts(team, worker);
}

float *hu_team_loss(const hu_team *team, int32_t worker, int32_t i) {
    return team->kind->loss(team, worker, i);
}

hu_team_seconds hu_team_spent(const hu_team *team) {
    return team->kind->seconds ? team->kind->seconds(team) : (hu_team_seconds){0};
}

/* What teams hold, worked out before they are made. */
#include "comm/team.h"
#include "comm/traffic.h"
#include "comm/worker.h"

hu_status hu_team_emulated_bytes(const hu_comm_plan *plan, uint64_t *bytes) {
    hu_status st = HU_OK;
    *bytes = 0;
    for (int32_t w = 0; w < plan->options.workers && st == HU_OK; w++) {
        hu_comm_list list;
        st = hu_comm_list_make(plan->options.schedule, &plan->shape, w, &list);
        if (st != HU_OK) break;
        *bytes += hu_comm_worker_bytes(plan, &list) + hu_comm_largest_message(plan, &list, true);
        hu_comm_list_free(&list);
    }
    return st;
}

hu_status hu_team_process_bytes(const hu_comm_plan *plan, int32_t rank, uint64_t *bytes) {
    hu_comm_list list;
    *bytes = 0;
    hu_status st = hu_comm_list_make(plan->options.schedule, &plan->shape, rank, &list);
    if (st != HU_OK) return st;
    *bytes = hu_comm_worker_bytes(plan, &list) +
             HU_COMM_FLIGHTS * (hu_comm_largest_message(plan, &list, true) +
                                hu_comm_largest_message(plan, &list, false));
    hu_comm_list_free(&list);
    return st;
}

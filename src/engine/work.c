#include "engine/work.h"

#include <string.h>

#include "engine/state.h"

int hu_work_of_op(const hu_op *op) {
    int i = 0;
    while (i < hu_op_count && strcmp(hu_op_table[i]->name, op->name) != 0) i++;
    return i;
}

int hu_run_work_count(void) {
    return hu_op_count + HU_WORK_OTHERS;
}

const char *hu_run_work_name(int work) {
    static const char *const others[] = {
        [HU_WORK_ROUND] = "round and pack", [HU_WORK_UNPACK] = "unpack"};
    return work < hu_op_count ? hu_op_table[work]->name : others[work - hu_op_count];
}

double hu_run_work_seconds(const hu_run *run, int work) {
    double sum = 0;
    for (int t = 0; t < run->options.threads; t++) sum += run->thread[t].seconds[work];
    return sum;
}

void hu_run_clear_work(hu_run *run) {
    for (int t = 0; t < run->options.threads; t++)
        memset(run->thread[t].seconds, 0, (size_t)hu_run_work_count() * sizeof(double));
}

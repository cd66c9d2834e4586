
#include <time.h>

#include "cli/internal.h"
#include "comm/process_group.h"

/* Seconds that MPI's start and end may take at least, whatever comm.timeout says: on a machine with
 * other work they take some. */
static const double start_least = 30.0;

static double guard_seconds(double timeout) {
    return timeout > start_least ? timeout : start_least;
}

hu_status hu_join_peers(hu_config *config, const volatile sig_atomic_t *flag,
                        hu_processes *processes) {
    double timeout;
    hu_status st = hu_config_f64(config, "comm.timeout", &timeout);
    if (st != HU_OK) return st;
    hu_interrupt_guard("halfulp: peer lost: the processes of the job did not all start\n",
                       HU_ERR_PEER, guard_seconds(timeout));
    st = hu_processes_open(config, flag, processes);
    hu_interrupt_unguard();
    /* Without this one the others would wait: it says why. */
    if (st != HU_OK) hu_leave_peers(processes, st);
    if (st == HU_OK && hu_processes_grace(processes) > 0.0)
        hu_interrupt_last_words(hu_comm_status_line, hu_processes_grace(processes));
    return st;
}

/* Launchers kill all processes once one has ended the job: its words are carried first. */
static void tell_before_the_end(hu_status status) {
    const struct timespec moment = {.tv_nsec = 300000000};
    hu_failure_tell(status);
    nanosleep(&moment, NULL);
}

/* All know of a failure, and end with it: one says it, and a launcher that ends those who are
 * still on their way out has nothing to add. */
static void leave_with(hu_processes *processes, hu_status status) {
    if (hu_processes_lead(processes))
        hu_failure_tell(status);
    else
        hu_failure_leave();
    hu_interrupt_guard("", status, guard_seconds(processes->wait.timeout));
    hu_processes_close(processes, status);
    hu_interrupt_unguard();
}

void hu_leave_peers(hu_processes *processes, hu_status status) {
    bool has_failed = processes->transport && status != HU_OK && status != HU_ERR_PEER;
    if (has_failed && processes->is_agreed) {
        leave_with(processes, status);
        return;
    }
    if (has_failed) tell_before_the_end(status);
    hu_interrupt_guard("halfulp: peer lost: the processes of the job did not all take leave\n",
                       HU_ERR_PEER, guard_seconds(processes->wait.timeout));
    hu_processes_close(processes, status);
    hu_interrupt_unguard();
}

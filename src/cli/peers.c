/* cli/peers.c - MPI's own begin and end wait for the other processes for ever: here they do not. */
#include "cli/peers.h"

#include "base/error.h"
#include "cli/interrupt.h"
#include "comm/place.h"

/* Seconds that MPI's start and end may take at least, whatever comm.timeout says: on a machine with
 * other work they take some. */
static const double start_least = 30.0;

static double guard_seconds(double timeout) {
    return timeout > start_least ? timeout : start_least;
}

hu_status hu_join_peers(hu_config *config, const volatile sig_atomic_t *flag, hu_peers *peers) {
    double timeout;
    hu_status st = hu_config_f64(config, "comm.timeout", &timeout);
    if (st != HU_OK) return st;
    hu_interrupt_guard("halfulp: peer lost: the processes of the job did not all start\n",
                       guard_seconds(timeout));
    st = hu_peers_open(config, flag, peers);
    hu_interrupt_unguard();
    if (st == HU_OK && hu_peers_grace(peers) > 0.0)
        hu_interrupt_last_words(hu_comm_place, hu_peers_grace(peers));
    return st;
}

void hu_leave_peers(hu_peers *peers, hu_status status) {
    hu_interrupt_guard("halfulp: peer lost: the processes of the job did not all take leave\n",
                       guard_seconds(peers->options.wait.timeout));
    hu_peers_close(peers, status);
    hu_interrupt_unguard();
}

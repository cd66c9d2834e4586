/* comm/failure_detector.h - waiting for other processes with a timeout, and finding the lost ranks.
 */
#ifndef HU_COMM_FAILURE_DETECTOR_H
#define HU_COMM_FAILURE_DETECTOR_H
#include <signal.h>

#include "comm/transport.h"

typedef struct hu_failure_detector hu_failure_detector;

typedef struct hu_failure_detector_options {
    double timeout; /* seconds that a message may take */
    /* NULL, or what becomes other than 0 when the process is asked to end: who waits then waits
     * no longer than a moment. Borrowed: valid as long as the roll */
    const volatile sig_atomic_t *is_ending;
} hu_failure_detector_options;

/* The transport is borrowed. HU_ERR_MEMORY, HU_ERR_PEER. */
hu_status hu_failure_detector_create(hu_transport *transport,
                                     const hu_failure_detector_options *options,
                                     hu_failure_detector **detector);
void hu_failure_detector_free(hu_failure_detector *detector);

/* As hu_transfer_wait, of at most HU_TRANSPORT_WAITS - 1 transfers. HU_ERR_PEER with the words that
 * tell who is lost if one of them is older than the timeout; they begin a sentence whose end is
 * where this happened. */
hu_status hu_failure_detector_wait(hu_failure_detector *detector, hu_transfer *const *open,
                                   int32_t count, double seconds, int32_t *which);

#endif

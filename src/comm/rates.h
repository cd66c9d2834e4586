/* comm/rates.h - what one processor core takes for numbers that travel, measured here and now. */
#ifndef HU_COMM_RATES_H
#define HU_COMM_RATES_H
#include "kernel/wire/wire.h"

/* Seconds per number. */
typedef struct hu_comm_rates {
    double quantise, decode;
    double move; /* into a message and out of another one */
    double add;
} hu_comm_rates;

/* Measures on an array that no cache of one core holds; takes some 20 ms. HU_ERR_MEMORY. */
hu_status hu_comm_rates_measure(const hu_wire *wire, hu_comm_rates *rates);

#endif

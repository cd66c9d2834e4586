/* bench/network.h - `plan nodes=N`: what the network between nodes takes, beside the processor. */
#ifndef HU_BENCH_NETWORK_H
#define HU_BENCH_NETWORK_H
#include "config/config.h"
#include "train/options.h"

/* Predicts and prints, for the model of the options. */
hu_status hu_network_advise(hu_config *config, const hu_train_options *options,
                            const hu_dataset *dataset, bool as_json);

#endif

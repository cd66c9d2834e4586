/* sweep/jobs_setup.h - what compare and assign read of the configuration for their jobs. */
#ifndef HU_SWEEP_JOBS_SETUP_H
#define HU_SWEEP_JOBS_SETUP_H
#include "config/config.h"
#include "sweep/jobs.h"

/* The seeds that every job is trained with, as a list of texts; owner frees. HU_ERR_ARGUMENT: seed
 * was given, or none; HU_ERR_PARSE: no seed, or one twice. */
hu_status hu_jobs_seeds(const hu_config *config, const char *verb, hu_keys **seeds);

/* What the user gave beside the precision, the seeds and what does not change a training. Owner
 * frees. */
hu_status hu_jobs_common(const hu_config *config, const char *verb, hu_keys **common);

/* run.dir, or runs/ and run.name, or a name made of the common keys, so that the same command finds
 * its folder again. */
hu_status hu_jobs_directory(const hu_config *config, const hu_keys *common, const char *verb,
                            char *directory, size_t capacity);

/* Threads, processes at once and quiet; the caller sets interrupted. directory and common are
 * borrowed. */
hu_status hu_jobs_options(const hu_config *config, const char *directory, const hu_keys *common,
                          hu_jobs *jobs);

#endif

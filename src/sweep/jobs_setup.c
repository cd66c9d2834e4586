/* sweep/jobs_setup.c - from the configuration of a command to that of its jobs. */
#include "sweep/jobs_setup.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "config/unused_keys.h"

hu_status hu_jobs_seeds(const hu_config *config, const char *verb, hu_keys **seeds) {
    hu_status st = HU_OK;
    const hu_keys *given;
    int64_t seed, other;
    HU_TRY(hu_config_list(config, "compare.seeds", &given));
    if (hu_config_given(config, "run.seed"))
        return hu_fail(HU_ERR_ARGUMENT, "%s: found seed, expected seeds=A,B,...", verb);
    for (size_t i = 0; i < hu_keys_count(given); i++) {
        HU_TRY(hu_keys_as_i64(hu_keys_at(given, i), &seed));
        if (seed < 0 || seed > 9007199254740991)
            return hu_keys_fail(hu_keys_at(given, i), "a seed from 0 to 9007199254740991");
        for (size_t k = 0; k < i; k++) {
            HU_TRY(hu_keys_as_i64(hu_keys_at(given, k), &other));
            if (seed == other) return hu_keys_fail(hu_keys_at(given, i), "a seed only once");
        }
    }
    if (hu_keys_count(given) == 0)
        return hu_fail(HU_ERR_ARGUMENT, "%s: found an empty list of seeds", verb);
    HU_TRY(hu_keys_copy(given, seeds));
done:
    return st;
}

hu_status hu_jobs_common(const hu_config *config, const char *verb, hu_keys **common) {
    hu_status st = HU_OK;
    hu_keys *copy;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, verb, common));
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        if (!hu_config_given(config, key) || hu_config_key_is_free(key)) continue;
        /* Each job has its own precision and seed. */
        if (strcmp(key, "precision.name") == 0 || strcmp(key, "run.seed") == 0) continue;
        HU_TRY(hu_keys_copy(hu_keys_find(hu_config_tree(config), key), &copy));
        HU_TRY(hu_keys_set(*common, key, copy));
    }
done:
    return st;
}

hu_status hu_jobs_directory(const hu_config *config, const hu_keys *common, const char *verb,
                            char *directory, size_t capacity) {
    hu_status st = HU_OK;
    const char *given, *model, *name;
    char *yaml = NULL;
    HU_TRY(hu_config_text(config, "run.dir", &given));
    HU_TRY(hu_config_text(config, "model.name", &model));
    HU_TRY(hu_config_text(config, "run.name", &name));
    if (strlen(given) >= capacity || !*given)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "run.dir: found %zu characters, expected 1 to %zu",
                       strlen(given), capacity - 1));
    snprintf(directory, capacity, "%s", given);
    if (strcmp(given, "auto") == 0 && strcmp(name, "auto") != 0) {
        snprintf(directory, capacity, "runs/%.200s", name);
    } else if (strcmp(given, "auto") == 0) {
        HU_TRY(hu_keys_print(common, &yaml));
        snprintf(directory, capacity, "runs/%s-%.60s-%08x", verb, model,
                 (unsigned)(XXH64(yaml, strlen(yaml), 0) >> 32));
    }
done:
    hu_free(yaml);
    return st;
}

hu_status hu_jobs_options(const hu_config *config, const char *directory, const hu_keys *common,
                          hu_jobs *jobs) {
    hu_status st = HU_OK;
    int64_t parallel, threads;
    *jobs = (hu_jobs){.directory = directory, .common = common};
    HU_TRY(hu_config_i64(config, "compare.parallel", &parallel));
    jobs->parallel = (int)parallel;
    /* The processors are shared out evenly, at least one for each process. */
    threads = omp_get_num_procs() / parallel > 0 ? omp_get_num_procs() / parallel : 1;
    if (!hu_config_is_auto(config, "run.threads"))
        HU_TRY(hu_config_i64(config, "run.threads", &threads));
    jobs->threads = (int)threads;
    if (!hu_config_is_auto(config, "run.quiet"))
        HU_TRY(hu_config_bool(config, "run.quiet", &jobs->is_quiet));
done:
    return st;
}

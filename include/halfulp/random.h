/* halfulp/random.h - names of random sequences: word = f(seed, stream, step, index), nothing to
 * save. Layer 0.
 */
#ifndef HALFULP_RANDOM_H
#define HALFULP_RANDOM_H
#include <stdint.h>

#include <halfulp/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names one sequence of random 32-bit words. */
typedef struct hu_random_key {
    uint64_t seed;
    uint64_t stream; /* hu_stream_id */
    uint64_t step;
} hu_random_key;

/* 64-bit name of a stream: purpose ("dropout", "shuffle", "round", ...) and the name of the value,
 * "" if none. */
HU_API uint64_t hu_stream_id(const char *purpose, const char *name);

#ifdef __cplusplus
}
#endif

#endif

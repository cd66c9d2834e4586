/* train/loss_scale.h - loss scaling as a pure state machine, fed with one flag per step. */
#ifndef HU_TRAIN_LOSS_SCALE_H
#define HU_TRAIN_LOSS_SCALE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/status.h>

#include "base/text.h"

typedef enum hu_loss_scale_kind {
    HU_LOSS_SCALE_NONE,
    HU_LOSS_SCALE_CONSTANT,
    HU_LOSS_SCALE_DYNAMIC,
    HU_LOSS_SCALE_COUNT
} hu_loss_scale_kind;

typedef struct hu_loss_scale_options {
    hu_loss_scale_kind kind;
    float init;                    /* scale at step 0, > 0; with none it is 1 */
    float growth;                  /* dynamic: g >= 1 */
    float backoff;                 /* dynamic: 0 < b < 1 */
    int32_t interval;              /* dynamic: T >= 1 steps without overflow until it grows */
    float min;                     /* dynamic: the scale never falls below; 0: no bound */
    float max;                     /* dynamic: nor grows above (apex: 2^24); 0: no bound */
    int32_t max_consecutive_skips; /* K: stop at so many skipped steps in a row; 0: never */
} hu_loss_scale_options;

/* Everything a resumed run needs; plain data without padding for the checkpoint. */
typedef struct hu_loss_scale_state {
    float scale;                /* S */
    int32_t good_steps;         /* c: steps without overflow since the scale changed */
    int64_t skipped;            /* steps skipped in all */
    int64_t consecutive;        /* skipped since the last step taken */
    int64_t last_overflow_step; /* -1: none yet */
} hu_loss_scale_state;

typedef struct hu_loss_scale {
    hu_loss_scale_options options;
    hu_loss_scale_state state;
} hu_loss_scale;

/* The table, indexed by kind. Borrowed: valid forever. */
extern const hu_kind hu_loss_scale_kinds[HU_LOSS_SCALE_COUNT];

hu_status hu_loss_scale_parse(const char *name, hu_loss_scale_kind *kind);

/* 2^16, growth 2, backoff 1/2, interval 2000, no bounds, K = 20 (the values of GradScaler); init 1
 * for none. */
hu_loss_scale_options hu_loss_scale_defaults(hu_loss_scale_kind kind);

/* HU_ERR_ARGUMENT names the option that is out of range. */
hu_status hu_loss_scale_init(const hu_loss_scale_options *options, hu_loss_scale *scale);

/* What the scaled gradients are multiplied with: (float)(1 / (double)S). */
float hu_loss_scale_inverse(const hu_loss_scale *scale);

/* Ends a step. All ranks must pass the same found.
 *
 *   found  some element of some scaled parameter gradient was not finite: the step was skipped
 *   step   number of the step, for messages and the state
 *
 * dynamic: found: S = S b, c = 0; otherwise c += 1 and, at c == T, S = S g if that is finite (in
 * float32) and c = 0. none and constant only count. HU_ERR_NONFINITE with the reason when the
 * max_consecutive_skips-th step in a row was skipped, or S became so small that 1/S is infinite;
 * the state is then up to date too. Source: torch.amp.GradScaler; Micikevicius et al., section 3.2.
 */
hu_status hu_loss_scale_update(hu_loss_scale *scale, bool found_nonfinite, int64_t step);

/* Takes the bytes of a saved state; HU_ERR_CORRUPT, and nothing changed, if they cannot be one. */
hu_status hu_loss_scale_restore(hu_loss_scale *scale, const void *data, size_t bytes);

#endif

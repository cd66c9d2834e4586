/* train/lr_schedule.h - the learning rate as a pure function of the step. */
#ifndef HU_TRAIN_LR_SCHEDULE_H
#define HU_TRAIN_LR_SCHEDULE_H
#include <stdint.h>

#include <halfulp/status.h>

#include "base/text.h"

typedef enum hu_schedule_kind {
    HU_SCHEDULE_CONSTANT,
    HU_SCHEDULE_STEP,
    HU_SCHEDULE_COSINE,
    HU_SCHEDULE_LINEAR,
    HU_SCHEDULE_POLY,
    HU_SCHEDULE_RESTARTS,
    HU_SCHEDULE_PIECEWISE,
    HU_SCHEDULE_INVERSE_SQRT,
    HU_SCHEDULE_NOAM,
    HU_SCHEDULE_ANNEAL,
    HU_SCHEDULE_PLATEAU,
    HU_SCHEDULE_PLATEAU_LOSS,
    HU_SCHEDULE_COUNT
} hu_schedule_kind;

typedef enum hu_schedule_unit { HU_UNIT_STEP, HU_UNIT_EPOCH, HU_UNIT_COUNT } hu_schedule_unit;

enum { HU_MAX_MILESTONES = 16, HU_MAX_KNOTS = 16 };

typedef struct hu_schedule_knot {
    double at; /* in epochs, a fraction is allowed; in steps for HU_UNIT_STEP */
    double lr;
} hu_schedule_knot;

/* Plain data; every field a kind does not use is ignored. Epochs count from 0. */
typedef struct hu_schedule {
    hu_schedule_kind kind;
    double lr; /* base rate of all kinds but piecewise */
    /* Of milestones, every, knots and period; the others change once per unit. */
    hu_schedule_unit unit;
    double floor;  /* cosine, linear, poly, restarts, plateaus: the lowest rate, 0 <= floor <= lr */
    double power;  /* poly: of the share that is left, > 0 */
    double period; /* restarts: units of the first cosine; plateau_loss: of a mean; >= 1 */
    double stretch; /* each cosine is so many times as long, >= 1 */
    double shrink;  /* and begins at so many times the rate, 0..1 */
    double factor;  /* step: per milestone passed; anneal: per unit; > 0; plateaus: per fall, < 1 */
    int64_t patience;                      /* plateau: evaluations without a better one, >= 1 */
    double threshold;                      /* of a better one: share of the best, 0..1 */
    int64_t milestones[HU_MAX_MILESTONES]; /* step: increasing, > 0 */
    int milestone_count;                   /* 0: use every */
    int64_t every;                         /* step: a milestone every so many units; 0: none */
    hu_schedule_knot knots[HU_MAX_KNOTS];  /* piecewise: increasing; flat outside */
    int knot_count;
    double warmup;                /* length; the rate is multiplied by a ramp that grows linearly */
    hu_schedule_unit warmup_unit; /* step by step from warmup_start at step 0 to 1 */
    double warmup_start;          /* 0..1 */
} hu_schedule;

/* The tables, indexed by kind and unit. Borrowed: valid forever. */
extern const hu_kind hu_schedule_kinds[HU_SCHEDULE_COUNT];
extern const hu_kind hu_schedule_units[HU_UNIT_COUNT];

hu_status hu_schedule_parse(const char *name, hu_schedule_kind *kind);
hu_status hu_schedule_parse_unit(const char *name, hu_schedule_unit *unit);

/* "0:0,5:0.4,24:0" into knots; spaces are allowed around numbers. HU_ERR_PARSE names the column
 * (from 1), what was found and what was expected; the schedule is then untouched. */
hu_status hu_schedule_parse_knots(const char *text, hu_schedule *schedule);

/* "32000,48000" into milestones; errors as above. */
hu_status hu_schedule_parse_milestones(const char *text, hu_schedule *schedule);

/* Constant at lr, factor 0.1, power 0.9, stretch and shrink 1, patience 10, threshold 1e-4, no
 * warm-up, unit epoch. */
hu_schedule hu_schedule_constant(double lr);

/* HU_ERR_ARGUMENT names the field that is out of range. */
hu_status hu_schedule_check(const hu_schedule *schedule);

/* The learning rate of step 0 <= step (counted from 0). Cosine and linear run from the end of the
 * warm-up to total_steps and stay at the floor after it; milestones and knots count from step 0, so
 * a warm-up over a rising first piece is quadratic (as in CPD's DavidNet example).
 *
 *   schedule         passed hu_schedule_check
 *   steps_per_epoch  >= 1
 *   total_steps      >= 1
 *
 * cosine: floor + (lr - floor)(1 + cos(pi p))/2 (Loshchilov and Hutter, SGDR, eq. 5);
 * linear: lr + (floor - lr) p; p = share of the way that is done, 0..1.
 * poly: floor + (lr - floor)(1 - p)^power (Chen et al., DeepLab; MMSegmentation).
 * restarts: cosines one after the other from the end of the warm-up on: number i takes period
 * stretch^i units and falls from lr shrink^i, or floor if that is more, to floor (SGDR; fairseq).
 * inverse_sqrt: after w >= 1 steps of warm-up lr sqrt(w / step) (fairseq).
 * noam: lr min(u / w, sqrt(w / u)), u = step + 1, with the ramp of its own that this is and no
 * other; lr is the rate at its top, factor d^-1/2 w^-1/2 (Vaswani et al., eq. 3).
 * anneal: lr factor^units, whole units counted from step 0 (Amodei et al., Deep Speech 2, section
 * 3.2: a factor in every epoch).
 * plateau, plateau_loss: lr, which train/early_stopping.c lowers by what it knows of the training.
 */
double hu_schedule_lr(const hu_schedule *schedule, int64_t step, int64_t steps_per_epoch,
                      int64_t total_steps);

#endif

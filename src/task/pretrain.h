/* task/pretrain.h - the fields of the task pretrain, for models that read more than the first. */
#ifndef HU_TASK_PRETRAIN_H
#define HU_TASK_PRETRAIN_H

/* Numbers of the fields: tokens and segments [T], hidden words and their places [M], whether the
 * segments belong together, and the tokens that are there. */
enum {
    HU_PRETRAIN_TOKENS,
    HU_PRETRAIN_SEGMENTS,
    HU_PRETRAIN_TARGETS,
    HU_PRETRAIN_LABEL,
    HU_PRETRAIN_PLACES,
    HU_PRETRAIN_LENGTH
};

#endif

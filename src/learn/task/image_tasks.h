/* task/image_tasks.h - tasks of pictures: one class for all, or one for each pixel. */
#ifndef HU_TASK_IMAGE_TASKS_H
#define HU_TASK_IMAGE_TASKS_H
#include "task/task.h"

/* Channels of the second field of a task, a picture of bytes. HU_ERR_ARGUMENT names the task. */
hu_status hu_picture_outputs(const char *task, const hu_field *const *fields, int64_t *outputs);

/* [height, width, channels], as the target. */
hu_shape hu_picture_head(const hu_task_choice *choice);

/* The picture that is wanted, or was made: numbers 0..1 as bytes, one channel as grey. */
void hu_picture_paint(const hu_metric_call *sample, bool is_truth, uint8_t *pixels);

#endif

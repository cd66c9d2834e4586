/* session/cells.h - what a model says of samples, as a file. */
#ifndef HU_SESSION_CELLS_H
#define HU_SESSION_CELLS_H
#include "task/task.h"

/* Writes or replaces a CSV: the sample's number, then the task's columns with as many digits as
 * give float32 back. cells [count, columns of the task]. HU_ERR_IO, HU_ERR_MEMORY. */
hu_status hu_cells_write(const char *path, const hu_task *task, int64_t count, const double *cells);

#endif

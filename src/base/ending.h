/* base/ending.h - what the ending of a file's name says is to be written into it. */
#ifndef HU_BASE_ENDING_H
#define HU_BASE_ENDING_H
#include <halfulp/status.h>

/* Which of the endings (NULL behind the last; "html") a path has: its place among them. 0 for a
 * name without an ending, which says nothing: "page", "/dev/stdout", ".hidden". HU_ERR_ARGUMENT
 * that names them all for another ending. */
hu_status hu_ending_find(const char *path, const char *const *endings, int *which);

#endif

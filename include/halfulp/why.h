/* halfulp/why.h - where the numbers of a training died, of a run in its folder. */
#ifndef HALFULP_WHY_H
#define HALFULP_WHY_H
#include <halfulp/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What `halfulp why FOLDER --json` prints: the verdict, the first tensor whose numbers died, its
 * step and cause, formats that would have held it, and what to try; all but planned_bytes, for
 * which networks are planned.
 *
 *   folder   of a run, also of one that is still being trained: what its files tell so far
 *   tensor   one to be told of beside it ("conv1.out.grad"); NULL: none
 *   formats  that are tried, separated by commas; NULL: the usual ones
 *   json     an object of some lines; owner frees with hu_why_text_free, NULL on failure
 *
 * HU_ERR_MISSING, HU_ERR_CORRUPT and HU_ERR_VERSION of the folder's files; HU_ERR_UNKNOWN with the
 * nearest tensors; HU_ERR_FORMAT; HU_ERR_MEMORY. Proof: tests/unit/sweep_answer_test.c. */
HU_API hu_status hu_why_of_run(const char *folder, const char *tensor, const char *formats,
                               char **json);
HU_API void hu_why_text_free(char *json);

#ifdef __cplusplus
}
#endif

#endif

/* session/confusion_kept.h - what a finished training takes for what, kept in its folder. */
#ifndef HU_SESSION_CONFUSION_KEPT_H
#define HU_SESSION_CONFUSION_KEPT_H
#include "session/confusion.h"

/* Mistakes that a run's folder has. */
enum { HU_MISTAKES_KEPT = 12 };

/* Writes FOLDER/confusion.json: {"step", "part", "<part>_classes", "confusion"} as
 * hu_confusion_put, and "mistakes": [{"sample", "file" (null), "truth", "said": names,
 * "probability", "picture" (null)}], the most confident first, with FOLDER/mistakes/NN.png. Nothing
 * where nothing is kept. HU_ERR_MEMORY, HU_ERR_IO. */
hu_status hu_confusion_keep(const hu_confusion *confusion, const char *folder, const char *part,
                            int64_t step);

#endif

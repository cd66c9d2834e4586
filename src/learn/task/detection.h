/* task/detection.h - tasks of boxes, and the boxes that a model says of a picture. */
#ifndef HU_TASK_DETECTION_H
#define HU_TASK_DETECTION_H
#include "media/boxes.h"
#include "task/metric.h"

/* Of a class, at most so many candidates of a picture are looked at. */
enum { HU_DETECTIONS_PER_CLASS = 200 };

/* One box that is said. */
typedef struct hu_detection {
    int64_t class_number; /* as in the data: without the background */
    double score;         /* probability of the class */
    hu_box box;           /* inside the picture */
} hu_detection;

typedef void hu_detection_visitor(void *context, const hu_detection *detection);

/* Classes of the data: what remains of a row without background and offsets. */
int64_t hu_detection_classes(const hu_metric_call *call);

/* Bytes of scratch that hu_detections_visit works in. */
size_t hu_detections_scratch_bytes(const hu_metric_call *shape);

/* Visits what is said of sample number s of a part, class by class, best first: the 200 anchors or
 * regions of the largest probabilities above 0.01, decoded, clipped to the picture, of which
 * suppression at an overlap of 0.45 leaves some; of these, where the anchors have a limit, the best
 * of all classes together (equal ones: of the first class). Nothing where a format stopped the
 * pass. part->scratch has room. Source: Liu et al., "SSD", 2.2 and 3.1. */
void hu_detections_visit(const hu_metric_call *part, int64_t s, hu_detection_visitor *visit,
                         void *context);

/* Tells right detections from wrong ones: visit in the order above. */
typedef struct hu_finder {
    const float *rows; /* [most, 5] boxes of the sample */
    int64_t most;
    bool is_taken[512];
} hu_finder;

/* What a detection is worth. */
typedef enum hu_worth { HU_DETECTION_WRONG, HU_DETECTION_RIGHT, HU_DETECTION_IGNORED } hu_worth;

hu_finder hu_finder_begin(const hu_metric_call *part, int64_t s);

/* Right if the box of its class that the detection overlaps most (the first of equal ones) has an
 * overlap of at least 0.5 and was not found before; ignored if that box is difficult (Everingham et
 * al., "The PASCAL Visual Object Classes Challenge", 4.2). */
hu_worth hu_finder_judge(hu_finder *finder, const hu_detection *detection);

#endif

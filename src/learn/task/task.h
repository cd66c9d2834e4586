/* task/task.h - tasks, what a model learns of a data set, and metrics, how good it is. */
#ifndef HU_TASK_TASK_H
#define HU_TASK_TASK_H
#include <stdbool.h>
#include <stdint.h>

#include <halfulp/data.h>
#include <halfulp/status.h>

#include "graph/graph.h"
#include "media/boxes.h"
#include "task/loss.h"

/* ---- Metrics ---- */

/* Sums over the test samples, in their order, and one number of them. A metric is one line here;
 * metrics of one collection lie in one file. */

/* A part of the test samples: what the model said and what is true. */
typedef struct hu_metric_call {
    int64_t samples;
    int64_t rows;              /* of one sample: pixels; 1 where a sample is one row */
    int64_t outputs;           /* numbers of a row: classes, or channels */
    const float *prediction;   /* [samples, rows, outputs]; NULL where a format stopped the pass */
    const float *target;       /* [samples, rows] class numbers, [samples, rows, outputs], or
                                  [samples, most, 5] boxes */
    const hu_loss_form *loss;  /* what the prediction was trained for */
    const hu_anchors *anchors; /* of rows that say boxes beside anchors, else NULL */
    double loss_sum, units; /* of the first loss: its sum over the units that it counts, before any
                               rounding, and these; NaN and 0 where a format stopped the pass, and
                               for one sample of several */
    int64_t targets;        /* numbers of a sample's target */
    int64_t whole;          /* samples of all parts together, or more */
    int64_t width;          /* of pictures: rows = height x width; else 1 */
    int64_t border;         /* pixels at the edges of enlarged pictures that do not count */
    /* Of tasks with a code: means and log-variances, [samples, code] each; NULL where a format
     * stopped the pass. */
    int64_t code;
    const float *mean, *spread;
    /* Of tasks with pairs: scores [samples, 2], NULL where a format stopped the pass, and what is
     * true [samples]; else both NULL. */
    const float *pair_scores, *pair_label;
    /* Of rows that say boxes beside regions: [samples, rows, 4] in pixels of the picture; NULL
     * where a format stopped the pass. */
    const float *regions;
    hu_picture picture;
    /* Of rows that a sequence is compared with: [samples] how many of them count, else NULL. */
    const float *lengths;
    /* Of translations: [samples, targets] class numbers that greedy decoding says, the class that
     * ends a sentence or an unlabelled place after the last; NULL where nothing is said. */
    const float *said;
    void *scratch; /* the task's scratch_bytes, for whoever looks at a sample */
} hu_metric_call;

/* What is summed over the samples. Metrics that name one collection share its sums: it walks once.
 */
typedef struct hu_collection {
    /* Doubles that the sums of a call's shape, and of the whole, need. */
    int64_t (*sum_count)(const hu_metric_call *shape);

    /* Sums of no sample. NULL: all are zeros. */
    void (*clear)(const hu_metric_call *shape, double *sums);

    /* Adds a part; parts come in the order of the samples, so that sums have one order. */
    void (*add)(const hu_metric_call *part, double *sums);

    /* Once after the last part, before any value is asked: may change the order. NULL: nothing. */
    void (*finish)(const hu_metric_call *shape, double *sums);

    /* Classes that sums are kept for. NULL: they are of all samples together. */
    int64_t (*classes)(const hu_metric_call *shape);
} hu_collection;

typedef struct hu_metric {
    const char *name; /* "accuracy": key, column and word in sentences */
    const char *help;
    const char *heading; /* "PSNR": in headings; NULL: the name's words with a capital letter */
    const char *unit;    /* after a printed number: " %", " dB", "" */
    double factor;       /* printed number = value x factor: 100 for shares */
    int decimals;        /* of a printed number */
    bool higher_is_better;
    const hu_collection *collection;

    /* The metric of the finished sums; NaN without samples. NULL: the mean over the classes that
     * the samples have. */
    double (*value)(const hu_metric_call *shape, const double *sums);

    /* Of such a mean: what one class gives, NaN where no sample has it; its key and its heading. */
    double (*of_class)(const hu_metric_call *shape, const double *sums, int64_t class_number);
    const char *class_name, *class_heading;

    /* What a guess among so many outputs is worth, of a metric that is a share of samples; NULL: of
     * another kind. */
    double (*chance)(int64_t outputs);

    /* The metric over a training batch from the sums that the first loss leaves (op/op.h) and its
     * units: samples or counted rows. NULL: not known without predictions. */
    double (*of_batch)(const double *stats, double units);
} hu_metric;

/* X(identifier). The one list of metrics: const hu_metric hu_metric_<identifier>. */
// clang-format off
#define HU_METRIC_LIST(X) \
    X(accuracy)           \
    X(psnr)               \
    X(luma_psnr)          \
    X(squared_error)      \
    X(mean_iou)           \
    X(mean_accuracy)      \
    X(pixel_accuracy)     \
    X(negative_elbo)      \
    X(reconstruction)     \
    X(divergence)         \
    X(mean_ap)            \
    X(mean_ap_11)         \
    X(fd64)               \
    X(perplexity)         \
    X(bits_per_token)     \
    X(label_error_rate)   \
    X(ctc_impossible)     \
    X(bleu)               \
    X(mlm_loss)           \
    X(mlm_accuracy)       \
    X(nsp_accuracy)
// clang-format on

#define HU_METRIC_DECLARE(identifier) extern const hu_metric hu_metric_##identifier;
HU_METRIC_LIST(HU_METRIC_DECLARE)
#undef HU_METRIC_DECLARE

/* Metric number i in the order of the list, NULL after the last; and by name, NULL if unknown.
 * Borrowed: valid forever. */
const hu_metric *hu_metric_at(size_t i);
const hu_metric *hu_metric_find(const char *name);

/* What guessing is worth, and the number of test samples that a share is of; 0: the metric knows no
 * chance. */
typedef struct hu_chance {
    double value;
    int64_t samples;
} hu_chance;

/* Standard deviation of a share of so many samples, each right with this probability. */
double hu_chance_deviation(const hu_chance *chance, double share);

/* True if a is better than b. A NaN is worse than every number. */
bool hu_metric_is_better(const hu_metric *metric, double a, double b);

/* The sums of a collection's shape before the first part. */
void hu_collection_clear(const hu_collection *collection, const hu_metric_call *shape,
                         double *sums);

/* The metric of the finished sums of its collection. */
double hu_metric_value(const hu_metric *metric, const hu_metric_call *shape, const double *sums);

/* The metric of one sample alone: of collections of at most four sums. */
double hu_metric_of_sample(const hu_metric *metric, const hu_metric_call *sample);

/* Class of the largest output of a row, the first of equal ones; -1 where one is NaN. */
int64_t hu_metric_class(int64_t outputs, const float *row);

/* ---- Rows of sequences that differ in length ---- */

/* What data sets and graphs call the number of rows of a sample that are present. */
#define HU_LENGTHS_FIELD "length"

/* The same of sentences and of their translations. */
#define HU_SOURCE_LENGTHS_FIELD "source_length"
#define HU_TARGET_LENGTHS_FIELD "target_length"

enum { HU_TASK_FIELDS_MAX = 8, HU_METRICS_MAX = 4, HU_TASK_COLUMNS_MAX = 4 };

/* One field of the data set, and the value of the graph that it becomes. */
typedef struct hu_task_field {
    const char *field; /* name in the data set; NULL ends the list */
    const char *value; /* name in the graph */
    hu_reading reading;
    bool is_target; /* float32 in every precision; otherwise rounded like any activation */
    bool is_mix; /* what samples are mixed with (data/mixing.h), where they are: the last field of a
                    task,    which data need not have */
    bool is_ids; /* whole numbers that the network reads, float32 in every precision */
    const char *lengths; /* value that says how many rows are present; NULL: all of them */
} hu_task_field;

/* A column of what `predict` prints. */
typedef struct hu_task_column {
    const char *title; /* NULL ends the list */
    bool is_whole;     /* a class number or a count; -1: there is none */
    int decimals;      /* of other numbers */
    bool is_class;     /* of the data, which may have a name for it */
    bool needs_truth;  /* -1 where nobody has said what is true */
} hu_task_column;

/* A class that a model says of a sample, or of a box in it. */
typedef struct hu_finding {
    int64_t class_number; /* as in the data */
    double score;         /* its probability */
    hu_box box;           /* in shares of the picture, where the task finds boxes */
} hu_finding;
typedef void hu_finding_visitor(void *context, const hu_finding *finding);

/* Of one sample: right or wrong, or nobody has said what is right. */
typedef enum hu_judgement { HU_UNJUDGED, HU_WRONG, HU_RIGHT } hu_judgement;

/* What a task makes of a data set. */
typedef struct hu_task_shapes {
    hu_shape value[HU_TASK_FIELDS_MAX]; /* of one sample, by field of the task */
    int64_t ids[HU_TASK_FIELDS_MAX];    /* of fields of ids: how many there are */
    int field[HU_TASK_FIELDS_MAX];      /* numbers of the fields in the data set */
    int count;
    int64_t outputs; /* numbers of the head per row: classes, or channels of a picture */
} hu_task_shapes;

struct hu_task_choice;
typedef struct hu_task {
    const char *name, *help;
    hu_task_field field[HU_TASK_FIELDS_MAX + 1]; /* the first input comes first */
    hu_loss_kind kind;                           /* of the losses that fit */
    const char *loss;                            /* the usual one */
    bool is_picture; /* the head is a picture, and the target one of numbers in 0..1 */
    bool has_code; /* the model also gives means and log-variances of a code, whose divergence from
                      the standard normal law is a second loss */
    int pair; /* number of the field that says whether two parts of a sample belong together, of
                 which a second head has two scores; 0: samples have no parts */
    bool has_adversaries; /* one network makes pictures, another judges them (task/task.h) */
    bool writes; /* rows are words, each told from those before it: a model can write by itself, in
                    fields as task/task.h has them */
    bool is_signed;    /* pictures are numbers in -1..1 instead */
    const char *place; /* what rates count: "tokens", or "frames", as many as the first field has
                          rows, padding too; NULL: samples, which are images */
    const hu_metric *metric[HU_METRICS_MAX + 1]; /* NULL at the end; compare, assign and pictures
                                                    take the first */

    /* Bytes that metrics and the functions below work in while they look at a sample of a shape
     * (hu_metric_call.scratch). NULL: none. */
    size_t (*scratch_bytes)(const hu_metric_call *shape);

    /* Sets shapes->outputs. fields: those of the data set in the order of the task. */
    hu_status (*count_outputs)(const hu_field *const *fields, int64_t *outputs);

    /* Shape that the head must have, from the shapes of the values and the model's anchors. */
    hu_shape (*head)(const struct hu_task_choice *choice);

    /* The first metric of what can be had without a network; NULL: there is none. name: of it. */
    const char *baseline;
    hu_status (*measure_baseline)(const hu_dataset *dataset, hu_split_kind half, double *value);

    /* Colours of what is true or of what the model says: pixels [rows, 3]. Where there is one, the
     * first field is a picture. NULL: answers are no pictures. */
    void (*paint)(const hu_metric_call *sample, bool is_truth, uint8_t *pixels);

    /* Red, green and blue of a class in pictures of so many channels that draw or paint made; class
     * numbers begin at 0. NULL: colours do not tell classes. */
    void (*colour)(int64_t class_number, int64_t channels, uint8_t rgb[3]);

    /* What `predict` says of a sample: one number per column. */
    hu_task_column column[HU_TASK_COLUMNS_MAX + 1]; /* title NULL at the end */
    void (*describe)(const hu_metric_call *sample, double *cells);
    /* More than the columns can hold: the likeliest classes, best first, or boxes that are likelier
     * than not. NULL: there is no more. */
    void (*find)(const hu_metric_call *sample, hu_finding_visitor *visit, void *context);
    bool finds_boxes;

    /* Where answers are texts: what is true, or what the model says, as class numbers one
     * after the other, those below 0 being none; returns how many. number [rows or targets,
     * whichever are more]. NULL: they are none. */
    int64_t (*spell)(const hu_metric_call *sample, bool is_truth, int32_t *number);

    /* Class numbers of all rows of a prediction, where it is a label map: bytes, and 255 where a
     * score is NaN. NULL: it is none. */
    void (*map)(const hu_metric_call *sample, uint8_t *labels);
    hu_judgement (*judge)(const double *cells); /* NULL: answers are not right or wrong */

    /* Draws over two copies of the picture that a sample's first input is, numbers in 0..1: what is
     * true, and what the model says. NULL: there is nothing to draw over it. */
    void (*draw)(const hu_metric_call *sample, const hu_shape *picture, float *real, float *made);
} hu_task;

/* A task with a loss, fitted to a data set. */
typedef struct hu_task_choice {
    const hu_task *task;
    const hu_loss_form *loss;
    hu_task_shapes shapes;
    double beta;               /* weight of the divergence of a code */
    float real;                /* what adversaries are to say of real pictures */
    double smoothing;          /* of classes: what of a loss is that of all of them */
    const hu_anchors *anchors; /* where the model looks for boxes; NULL: it does not */
    int64_t regions;           /* that the model proposes; 0: none */
    int64_t rows;              /* of the head that a sequence is compared with; 0: all frames */
} hu_task_choice;

/* What a model says that proposes regions, and what it was made from. */
typedef struct hu_task_regions {
    hu_value_id rows;          /* [anchors, 2 + 4] of the anchors */
    hu_value_id regions, head; /* [regions, 4] and [regions, outputs] */
    hu_anchors anchors;
    hu_picture picture; /* that regions are in pixels of */
    int64_t samples;    /* anchors of a picture that take part in their loss */
} hu_task_regions;

/* What trainings read in the place of a head. */
typedef struct hu_task_sampled {
    hu_value_id scores, drawn; /* [rows, 1 + numbers] and [numbers] */
    int64_t numbers;
} hu_task_sampled;

/* Scores of words in bands (op/attributes.h), and what they say of all words. */
typedef struct hu_task_bands {
    hu_value_id head, law; /* [rows, words in front + count], [rows, words] */
    int count;
    const hu_value_id *band; /* [count] of [rows, words of the band] */
} hu_task_bands;

/* X(identifier). The one list of tasks: const hu_task hu_task_<identifier>. */

// clang-format off
#define HU_TASK_LIST(X) \
    X(classify)         \
    X(autoencode)       \
    X(segment)          \
    X(enlarge)          \
    X(vae)              \
    X(gan)              \
    X(detect)           \
    X(language)         \
    X(detect_regions)   \
    X(transcribe)       \
    X(translate)        \
    X(pretrain)         \
    X(classify_text)

// clang-format on

#define HU_TASK_DECLARE(identifier) extern const hu_task hu_task_##identifier;
HU_TASK_LIST(HU_TASK_DECLARE)
#undef HU_TASK_DECLARE

/* Task number i in the order of the list, NULL after the last. Borrowed: valid forever. */
const hu_task *hu_task_at(size_t i);

/* The task of a name. HU_ERR_UNKNOWN names the nearest. */
hu_status hu_task_find(const char *name, const hu_task **task);

/* The loss of a name ("auto": the task's usual one). HU_ERR_UNKNOWN names the nearest;
 * HU_ERR_ARGUMENT lists those that fit the task if this one does not. */
hu_status hu_task_loss(const hu_task *task, const char *name, const hu_loss_form **loss);

/* Finds the task's fields in a data set. HU_ERR_ARGUMENT names the field that is missing or of
 * another kind, and the fields that are present. */
hu_status hu_task_fit(const hu_task *task, const hu_dataset *dataset, hu_task_shapes *shapes);

/* Declares inputs and targets; values [choice->shapes.count]. */
hu_status hu_task_declare(const hu_task_choice *choice, hu_graph *graph, hu_value_id *values);

/* Adds the loss to a head: its nodes are called after the loss. HU_ERR_SHAPE if the head has
 * another shape than the task needs. */
hu_status hu_task_close(const hu_task_choice *choice, hu_graph *graph, const hu_value_id *values,
                        hu_value_id head);

/* Adds a further loss of the same kind to a second head of the same shape, with a weight: nodes
 * NAME.loss. Metrics and predictions are the first head's. Errors as hu_task_close. */
hu_status hu_task_close_more(const hu_task_choice *choice, hu_graph *graph,
                             const hu_value_id *values, const char *name, hu_value_id head,
                             float weight);

/* The same for a head that trainings replace by scores of a few drawn classes
 * (op/attributes.h): the loss of the head is that of evaluations, "sampled.loss" that of
 * trainings. Errors as hu_task_close; HU_ERR_ARGUMENT for tasks without rows of classes, and with
 * smoothing. */
hu_status hu_task_close_sampled(const hu_task_choice *choice, hu_graph *graph,
                                const hu_value_id *values, hu_value_id head,
                                const hu_task_sampled *sampled);

/* The same for a head of words in bands: the loss reads of each row its band alone, metrics and
 * predictions read the law. Errors as hu_task_close; HU_ERR_ARGUMENT for another loss than
 * softmax_cross_entropy, and with smoothing. */
hu_status hu_task_close_bands(const hu_task_choice *choice, hu_graph *graph,
                              const hu_value_id *values, const hu_task_bands *bands);

/* Adds the divergence of a code from the standard normal law as a loss, after that of the head.
 * mean, spread: means and log-variances, of one shape. HU_ERR_ARGUMENT if the task has no code. */
hu_status hu_task_close_code(const hu_task_choice *choice, hu_graph *graph, hu_value_id mean,
                             hu_value_id spread);

/* Adds the loss of the second head of a task with pairs, after that of the first: node "nsp.loss".
 * head: two scores. HU_ERR_ARGUMENT if the task has none; HU_ERR_SHAPE. */
hu_status hu_task_close_pair(const hu_task_choice *choice, hu_graph *graph,
                             const hu_value_id *values, hu_value_id head);

/* HU_ERR_ARGUMENT if the task has no loss for regions that a model proposes: to be asked before the
 * model reads the boxes. */
hu_status hu_task_expect_regions(const hu_task_choice *choice);

/* Adds the losses of regions and, as "rpn.loss", of the anchors that they come from. Errors as
 * hu_task_close. */
hu_status hu_task_close_regions(const hu_task_choice *choice, hu_graph *graph,
                                const hu_value_id *values, const hu_task_regions *regions);

/* HU_ERR_SHAPE if a head has another shape than the task needs. */
hu_status hu_task_check_head(const hu_task_choice *choice, const hu_value_info *made);

/* HU_ERR_ARGUMENT if the task needs a code, or a second head, and the model gave none. */
hu_status hu_task_check(const hu_task_choice *choice, const hu_graph *graph);

/* Means (0) and log-variances (1) of a code, HU_NONE without one. */
hu_value_id hu_task_code(const hu_graph *graph, int which);

/* Scores of pairs (0) and what is true (1), of a task that has them. */
hu_value_id hu_task_pair(const hu_graph *graph, int which);

/* The values that the first loss compares: where predictions are read, and what is true. */
hu_value_id hu_task_prediction(const hu_graph *graph);
hu_value_id hu_task_target_value(const hu_graph *graph);

/* The anchors of the first loss, NULL where it is none of boxes. Borrowed: valid as long as the
 * graph. */
const hu_anchors *hu_task_anchors(const hu_graph *graph);

/* The regions of the first loss and the picture that they are in pixels of; HU_NONE where it is
 * none of regions. */
hu_value_id hu_task_regions_of(const hu_graph *graph, hu_picture *picture);

/* How many rows of the first loss's prediction count, HU_NONE where it is none of sequences. */
hu_value_id hu_task_lengths(const hu_graph *graph);

/* Number of the field of what samples are mixed with, -1 where they are not. */
int hu_task_mix(const hu_task_choice *choice);

/* Index of the task's target field, -1 if it has none. */
int hu_task_target(const hu_task *task);

/* Classes that the target has in a data set; 0 where there are none: its numbers are quantities. */
int64_t hu_task_classes(const hu_task *task, const hu_dataset *dataset);

/* Number of the first metric that has the collection of metric number m: the one whose sums it
 * reads. */
int hu_task_collection(const hu_task *task, int m);

/* What rates are told in: "images", or the task's places. Borrowed: valid forever. */
const char *hu_task_counted(const hu_task *task);

/* Columns of what `predict` says, and one of their cells for people: "-" where there is none. */
enum { HU_TASK_CELL_BYTES = 64 };
int hu_task_column_count(const hu_task *task);
const char *hu_task_cell(const hu_task *task, int column, double value,
                         char cell[HU_TASK_CELL_BYTES]);

/* ---- Tasks that make pictures ---- */

/* Names of the networks, which are those of their turns: all parameters are called JUDGE.* or
 * MAKER.*. */
#define HU_JUDGE "disc"
#define HU_MAKER "gen"

/* What the networks have made of a batch. The judge is applied three times, because gradients go
 * through each application in one turn alone: to real pictures, to made ones, and to these again
 * for the maker. */
typedef struct hu_adversaries {
    hu_value_id made;              /* pictures, numbers -1..1 */
    hu_value_id real, fake, again; /* what the judge says of them, logits */
} hu_adversaries;

/* HU_ERR_ARGUMENT if the task has no losses for them: to be asked before a model declares them. */
hu_status hu_task_expect_adversaries(const hu_task_choice *choice);

/* Adds both turns with their losses: real.loss and fake.loss of the judge, whose sum is minimised,
 * and again.loss of the maker; and says what metrics compare. HU_ERR_ARGUMENT if the task is
 * another, HU_ERR_SHAPE if the pictures are not those of the data. */
hu_status hu_task_close_adversaries(const hu_task_choice *choice, hu_graph *graph,
                                    const hu_value_id *values, const hu_adversaries *networks);

/* ---- Fields of the task pretrain, for models that read more than the first ---- */

/* Numbers of the fields: tokens and segments [T], hidden words and their places [M], whether the
 * segments belong together, and the tokens that are present. */
enum {
    HU_PRETRAIN_TOKENS,
    HU_PRETRAIN_SEGMENTS,
    HU_PRETRAIN_TARGETS,
    HU_PRETRAIN_LABEL,
    HU_PRETRAIN_PLACES,
    HU_PRETRAIN_LENGTH
};

/* ---- Fields of the task translate ---- */

/* In the order of the task: a sentence, its translation from <bos> on, the word after each of
 * these, and how many of both are present. */
typedef enum hu_translation_field {
    HU_TRANSLATION_SOURCE,
    HU_TRANSLATION_TOKENS,
    HU_TRANSLATION_TARGETS,
    HU_TRANSLATION_SOURCE_LENGTH,
    HU_TRANSLATION_LENGTH
} hu_translation_field;

#endif

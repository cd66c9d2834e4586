/* halfulp/train.h - training a model from a program: settings are the texts that the program
 * `halfulp` takes, results are structs that begin with their size.
 *
 * A handle may be used by one thread at a time; it works with several of its own (run.threads).
 */
#ifndef HALFULP_TRAIN_H
#define HALFULP_TRAIN_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/data.h>
#include <halfulp/round.h>
#include <halfulp/status.h>
#include <halfulp/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A key of `halfulp --help` and its value: {"precision", "hfp8"}, {"lr.base", "0.1"}. */
typedef struct hu_setting {
    const char *key, *value;
} hu_setting;

/* A network that the program declares. Its loss comes with the task of the training. */
typedef struct hu_net hu_net;

/* A value of a network: an input, or what an operation makes. */
typedef uint32_t hu_value;

enum { HU_NET_OUTPUTS = 8 }; /* most outputs of an operation */

/* An empty network; owner frees with hu_net_free. */
HU_API hu_status hu_net_create(hu_net **net);
HU_API void hu_net_free(hu_net *net);

/* Declares an input: the name is the task's ("input" for all so far), sample the shape of one
 * sample, images as [height, width, channels]. */
HU_API hu_status hu_net_input(hu_net *net, const char *name, const hu_shape *sample,
                              hu_value *value);

/* Declares an operation.
 *
 *   op          "conv2d", "linear", "relu", "batch_norm", "max_pool", "add", ... (hu_operation_at)
 *   name        unique; its outputs are called NAME.out, its parameters NAME.weight, NAME.bias
 *   attributes  "out=64 kernel=3x3 pad=1 bias=off"; NULL and "": what is usual
 *   in          [n_in] values declared before
 *   outputs     room for HU_NET_OUTPUTS; those that the operation has are set
 *
 * Shapes are checked at once. HU_ERR_UNKNOWN with the nearest operations or attributes;
 * HU_ERR_SHAPE naming the operation, found and expected; HU_ERR_ARGUMENT, HU_ERR_PARSE,
 * HU_ERR_LIMIT. After HU_ERR_SHAPE and later the network can only be freed. */
HU_API hu_status hu_net_apply(hu_net *net, const char *op, const char *name, const char *attributes,
                              size_t n_in, const hu_value *in, hu_value *outputs);

/* Says which value predicts: class scores for the task classify. */
HU_API hu_status hu_net_head(hu_net *net, hu_value value);

/* A network of a file (docs/reference/network-file.md). Nothing is added to it; its shapes, its
 * task and the defaults of its training are those of the setting {"model", PATH}, which trains the
 * same: hu_training_open reads the file again. Owner frees. HU_ERR_MISSING, HU_ERR_PARSE,
 * HU_ERR_VERSION and HU_ERR_UNKNOWN with line and column, of what the top of the file says; blocks
 * and nodes, whose shapes come from data, hu_training_open checks. */
HU_API hu_status hu_net_load(const char *path, hu_net **net);

/* Writes a network as such a file, which must end in .yaml or .yml, replaced at once; weights that
 * a loaded file names are not copied. HU_ERR_ARGUMENT without a head or an input;
 * HU_ERR_UNSUPPORTED for a node whose name a file cannot say; HU_ERR_IO. Proof:
 * tests/unit/session_net_test.c. */
HU_API hu_status hu_net_save(const hu_net *net, const char *path);

/* ---- What operations there are, for programs that help to write networks ---- */

/* Texts are borrowed: valid forever. */
typedef struct hu_operation {
    size_t size; /* set by the caller: sizeof(hu_operation) */
    const char *name;
    int least_inputs, most_inputs; /* most_inputs -1: any number */
    size_t attributes;             /* how many it has */
    int multiplies;                /* 1: a matrix product, which accumulators are chosen for */
    int is_loss;                   /* 1: a loss, for network files alone */
} hu_operation;

typedef struct hu_operation_attribute {
    size_t size;             /* likewise */
    const char *name, *form; /* form: what a value looks like, "a whole number, or two as 3x5" */
    int is_needed;           /* 1: a text must give it */
    double preset;           /* else what it is; flags 0 or 1, texts that are no number 0 */
    double least, most; /* of numbers, both included; equal: any. Shapes of inputs may allow less */
} hu_operation_attribute;

enum { HU_OPERATION_PARAMETERS = 8 }; /* most parameters of an operation */

typedef struct hu_operation_shapes {
    size_t size; /* likewise */
    int outputs, parameters;
    hu_shape output[HU_NET_OUTPUTS];                     /* [outputs] of one sample */
    const char *parameter_name[HU_OPERATION_PARAMETERS]; /* [parameters] "weight", "bias" */
    hu_shape parameter[HU_OPERATION_PARAMETERS];
    int is_trained[HU_OPERATION_PARAMETERS]; /* 0: running statistics */
} hu_operation_shapes;

HU_API size_t hu_operation_count(void);

/* Operation number index. HU_ERR_ARGUMENT beyond the last. */
HU_API hu_status hu_operation_at(size_t index, hu_operation *operation);

/* Attribute number index of an operation. HU_ERR_UNKNOWN with the nearest operations;
 * HU_ERR_ARGUMENT beyond the last. */
HU_API hu_status hu_operation_attribute_at(const char *operation, size_t index,
                                           hu_operation_attribute *attribute);

/* What an operation makes of inputs [n_in], shapes of one sample, and what parameters it has then.
 * Errors as hu_net_apply. */
HU_API hu_status hu_operation_infer(const char *operation, const char *attributes, size_t n_in,
                                    const hu_shape *in, hu_operation_shapes *shapes);

typedef struct hu_training hu_training;

/* Plans a training and draws its weights.
 *
 *   net       NULL: the model that the settings name. Borrowed: may be freed or changed afterwards
 *   settings  [count] as `halfulp train` takes them, in any order; what is left open, the recipe of
 *             the model decides. So {"model", "cnn-s"}, {"seed", "1"} ends with the weights of
 *             `halfulp train model=cnn-s seed=1`
 *   data      NULL: the data set that the settings name. Borrowed: must outlive the training
 *   training  owner frees with hu_training_close; NULL on failure
 *
 * {"run.dir", FOLDER} (or {"run.name", NAME}: runs/NAME) keeps the run as `halfulp train` does
 * (docs/reference/run-folder.md): journal, evaluations at the ends of epochs, checkpoints, and
 * after the last step the result; all but report.html, which `halfulp report FOLDER` draws. So
 * `halfulp why`, `stats`, `report`, `watch` and `list` tell of networks of a program's own, too;
 * `eval`, `predict`, `export` and `resume`, which build the network, of models of the table alone.
 * The bits of the training are the same.
 *
 * HU_ERR_UNKNOWN with the nearest names for a key, a model, a format, ...; HU_ERR_PARSE for a
 * value; HU_ERR_ARGUMENT for what does not fit together; HU_ERR_MEMORY; those of hu_dataset_open.
 * Proof: tests/unit/session_training_test.c, session_net_test.c, tests/program/example_test.py. */
HU_API hu_status hu_training_open(const hu_net *net, const hu_setting *settings, size_t count,
                                  const hu_dataset *data, hu_training **training);

/* Goes on with a run that hu_training_open or `halfulp train` has left in a folder, from its newest
 * checkpoint. Settings win over the run's, as in `halfulp resume` ({"steps", "200"} to train on);
 * net: as it was declared before, NULL for a model of the table; data: NULL or the caller's, as
 * then. HU_ERR_VERSION: the data are others than those that it was trained on. Else as
 * hu_training_open. */
HU_API hu_status hu_training_reopen(const hu_net *net, const hu_setting *settings, size_t count,
                                    const hu_dataset *data, const char *folder,
                                    hu_training **training);

/* The folder of its run: that of run.dir, runs/NAME of run.name (runs/NAME-1 where that was there
 * before), or that of hu_training_reopen; NULL: it has none. Borrowed: valid until it is closed. */
HU_API const char *hu_training_folder(const hu_training *training);

/* Frees a training; NULL is allowed. One with a folder that has steps left saves its state first,
 * so that it can be gone on with. */
HU_API void hu_training_close(hu_training *training);

/* What a step did. */
typedef struct hu_step {
    size_t size;         /* set by the caller: sizeof(hu_step) */
    int64_t step, epoch; /* from 0 */
    int64_t samples;     /* of the batch */
    double loss; /* mean over the batch, before the loss's own rounding; NaN: nothing is labelled */
    double metric;        /* the task's first metric over the batch; NaN: not known */
    double lr;            /* learning rate */
    double gradient_norm; /* L2, of the unscaled gradient, before clipping; NaN: not finite */
    double low_ratio;     /* share of the elements of all tensors in low precision */
    float scale;          /* loss scale used */
    int32_t skipped;      /* 1: a gradient was not finite, the weights stay */
    uint32_t promoted;    /* tensors that went to a wider format so far */
    const char *culprit;  /* the tensor in which a non-finite number appeared first, "": none.
                             Borrowed: valid until the next step */
} hu_step;

/* One update of the weights. HU_ERR_NONFINITE: the training has diverged, the message names step
 * and tensor. HU_ERR_ARGUMENT: it is finished. Errors of a source of samples. */
HU_API hu_status hu_training_next(hu_training *training, hu_step *step);

/* The same with samples of the caller's, in place of those of the data set: the bits of a training
 * depend on the numbers alone. Step and epoch, the learning rate, and what is kept in a folder go
 * on as ever; after hu_training_reopen the caller goes on behind the steps that are done.
 *
 *   count  1 .. the setting batch: memory is planned for that many
 *   rows   by field of the data set, each [count, extents of the field], float32 as the network
 *          reads them (pictures normalised already: hu_loader_fill gives such rows); NULL for
 *          fields that the task does not read. Not changed, not kept
 *
 * HU_ERR_SHAPE for another count; HU_ERR_ARGUMENT names a field that is missing,
 * or a number that the network has no row for, and nothing has changed; else as hu_training_next.
 * Proof: tests/unit/session_push_test.c. */
HU_API hu_status hu_training_push(hu_training *training, int64_t count, const float *const *rows,
                                  hu_step *step);

/* Updates done, and those of the whole training. */
HU_API int64_t hu_training_step(const hu_training *training);
HU_API int64_t hu_training_steps(const hu_training *training);

/* The task's first metric and the mean loss over the test samples, unlabelled ones left out; NaN
 * where all are. With lr.schedule=plateau the learning rate follows these tests. */
HU_API hu_status hu_training_test(hu_training *training, double *metric, double *loss);

enum { HU_PREDICTION_COLUMNS = 4 }; /* most columns of a prediction */

/* Titles of what the task says of a sample: "label", "predicted", "probability" for classify.
 * titles: room for HU_PREDICTION_COLUMNS. Gives how many there are. Borrowed: valid forever. */
HU_API int hu_training_columns(const hu_training *training, const char **titles);

/* What the model says of the first test samples, with the weights that eval.weights names.
 * cells [count, columns]; NaN where there is no number. HU_ERR_ARGUMENT: there are fewer samples.
 */
HU_API hu_status hu_training_predict(hu_training *training, int64_t count, double *cells);

/* Numbers that the network makes of one sample: its class scores, ... */
HU_API int64_t hu_training_prediction_elements(const hu_training *training);

/* What the network makes of samples of the caller's, with the weights that eval.weights names.
 *
 *   rows         as those of hu_training_push, any number of them; NULL for fields that are not
 *                known, as labels
 *   predictions  [count, hu_training_prediction_elements], NaN where a format stopped the pass
 *   loss         mean over the samples; NaN: no target is known */
HU_API hu_status hu_training_predict_rows(hu_training *training, int64_t count,
                                          const float *const *rows, float *predictions,
                                          double *loss);

/* Copies a master weight or running statistic by name ("conv1.weight") out of or into a training.
 *
 *   x      [count]; read: at most capacity numbers, count says how many there are (x may be NULL
 *          with capacity 0). In the order of halfulp's tensors: convolutions [out, kh, kw, in]
 *
 * HU_ERR_UNKNOWN with the nearest names; HU_ERR_SHAPE: another number of elements. */
HU_API hu_status hu_training_read(const hu_training *training, const char *name, float *x,
                                  size_t capacity, size_t *count);
HU_API hu_status hu_training_write(hu_training *training, const char *name, const float *x,
                                   size_t count);

/* What rounding did to a tensor ("conv1.out", "conv1.out.grad") in the latest step. HU_ERR_UNKNOWN
 * with the nearest names. */
HU_API hu_status hu_training_counts(const hu_training *training, const char *tensor,
                                    hu_round_counts *counts);

/* A tensor of a training: what a step makes, in the order in which it is made. */
typedef struct hu_training_tensor {
    size_t size;         /* set by the caller: sizeof(hu_training_tensor) */
    const char *name;    /* "conv1.out", "conv1.out.grad", "conv1.out.grad.sum", "conv1.weight".
                            Borrowed, with format: valid until the next call */
    const char *role;    /* "input", "target", "activation", "parameter", "statistic", "gradient".
                            Borrowed: valid forever */
    const char *format;  /* how it is rounded in the present plan, as hu_quantizer_parse reads it;
                            "float32": it is not */
    hu_shape shape;      /* of one sample; of parameters and their gradients of all of it */
    int32_t has_samples; /* 1: there is one for each sample of a batch */
    int32_t parts; /* arrays that it is: of a gradient one for each consumer of the value, else 1;
                      0: it is made by nobody, as the sum of one gradient */
} hu_training_tensor;

HU_API size_t hu_training_tensor_count(const hu_training *training);

/* Tensor number index. HU_ERR_ARGUMENT beyond the last. */
HU_API hu_status hu_training_tensor_at(hu_training *training, size_t index,
                                       hu_training_tensor *tensor);

/* From the next step on the numbers of a tensor are kept, before and after they are rounded: memory
 * of its own beside the plan. Of gradients of parameters those of the latest part of a batch
 * (optimizer.accumulate, workers). Steps take longer; their bits are the same. Parameters need no
 * watch. unwatch: of no tensor any more. HU_ERR_UNKNOWN with the nearest names; HU_ERR_ARGUMENT
 * where parts is 0; HU_ERR_MEMORY. Proof: tests/unit/session_push_test.c. */
HU_API hu_status hu_training_watch(hu_training *training, const char *tensor);
HU_API void hu_training_unwatch(hu_training *training);

/* Numbers of a watched tensor in the latest step, or of a parameter.
 *
 *   rounded  0: before they are rounded (of a parameter the master); 1: as others read them (of a
 *            parameter the copy that the latest step has used)
 *   x        [parts, samples of the step, shape]; capacity 0: only counted
 *
 * HU_ERR_UNKNOWN; HU_ERR_ARGUMENT: it is not watched, or no step was made since; HU_ERR_SHAPE: too
 * small a capacity. What the step did not make is zero: steps behind the end of a sample, all
 * behind an overflow. */
HU_API hu_status hu_training_numbers(const hu_training *training, const char *tensor, int rounded,
                                     float *x, size_t capacity, size_t *count);

/* XXH64 over the bits of the master weights in the order of their names. */
HU_API uint64_t hu_training_hash(const hu_training *training);

/* Bytes that the training holds in a role: "activation", "gradient", ..., "masters", "optimizer",
 * "workers", "arena", "total"; planned before the first step and equal to what is allocated.
 * HU_ERR_UNKNOWN with the nearest roles. */
HU_API hu_status hu_training_bytes(const hu_training *training, const char *role, uint64_t *bytes);

/* Writes the whole state as a checkpoint into a folder (made if it is missing; the newest two are
 * kept), and takes the newest sound one of a training with the same settings. Training on gives the
 * bits of a training that was never interrupted. HU_ERR_MISSING, HU_ERR_CORRUPT, HU_ERR_IO;
 * HU_ERR_SHAPE: one of another network; HU_ERR_ARGUMENT: of another seed or optimizer, or a
 * training with run.dir, whose run goes on by hu_training_reopen alone. */
HU_API hu_status hu_training_save(hu_training *training, const char *folder);
HU_API hu_status hu_training_resume(hu_training *training, const char *folder);

/* Writes parameters and running statistics into a safetensors file: float32, the layout and the
 * names of torch (docs/how-to/weights.md). HU_ERR_IO. */
HU_API hu_status hu_training_export(hu_training *training, const char *path);

#ifdef __cplusplus
}
#endif

#endif

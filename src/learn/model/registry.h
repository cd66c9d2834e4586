/* model/registry.h - the table of models: found by name, built, checked against the data. */
#ifndef HU_MODEL_REGISTRY_H
#define HU_MODEL_REGISTRY_H
#include "graph/graph.h"
#include "model/options.h"

/* ---- least ---- */

/* The smallest picture that a network takes, said where one was too small. */

/* A row of the table of models has one. */
typedef hu_status hu_model_builder(const hu_model_options *options, hu_graph *graph);

/* Behind HU_ERR_SHAPE of a model's builder: tries squares of other sizes. Where the picture has
 * fewer pixels along a side than the least that the model takes (or another side than the only
 * one, of models that make pictures of one size; 0: any), the message begins with what was found
 * and expected. */
hu_status hu_model_say_least(const hu_model_options *options, hu_model_builder *build,
                             int64_t only);

/* ---- Networks by name ---- */

/* The name of a network that a program has declared itself (model/custom.h), of which the table has
 * no row. */
#define HU_OWN_MODEL "network"

/* One row of the table of models. */
typedef struct hu_model {
    const char *name;
    const char *help;
    const char *task; /* what its head is made for; another task may fit too */
    int64_t side;     /* pixels along each side of the images it is made for, 0: any */
    hu_status (*build)(const hu_model_options *options, hu_graph *graph);
} hu_model;

extern const hu_model hu_model_table[];
extern const int hu_model_count;

/* What a model is to learn from a data set. task NULL: what its head is made for; loss NULL: the
 * task's usual one. Errors as hu_task_fit and hu_task_loss. */
hu_status hu_model_choose(const char *model, const hu_task *task, const hu_loss_form *loss,
                          const hu_dataset *dataset, hu_task_choice *choice);

/* What sizes are called behind "model.", by hu_size. */
extern const char *const hu_size_keys[HU_SIZES];

/* Has a task of rows tell as many tokens apart as model.vocab says, where it says a number.
 * HU_ERR_ARGUMENT if the data has more. */
hu_status hu_model_widen(const hu_model_sizes *sizes, hu_task_choice *choice);

/* The row of a model. HU_ERR_UNKNOWN names the nearest. */
hu_status hu_model_find(const char *name, const hu_model **model);

/* Builds and finishes the graph of a named model with its loss. HU_ERR_UNKNOWN names the nearest
 * models, HU_ERR_ARGUMENT a width or class number that the model cannot have or a size that it does
 * not, HU_ERR_SHAPE the layer for which the image is too small or of the wrong rank, or the head
 * that does not fit the task. */
hu_status hu_model_build(const hu_model_options *asked, hu_graph **graph);

#endif

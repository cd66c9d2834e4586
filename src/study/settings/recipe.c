/* settings/recipe.c - defaults by model and data. */
#include "settings/options.h"

#include <string.h>

#include "base/error.h"
#include "model/network_file.h"
#include "precision/rules.h"
#include "train/trainer.h"

/* What a model and data set are trained with unless the user says otherwise. The first row that
 * matches counts. */
typedef struct recipe {
    const char *model, *data; /* glob patterns */
    const char *batch, *epochs, *optimizer, *lr, *schedule, *warmup, *momentum, *nesterov,
        *weight_decay;
} recipe;

static const recipe recipes[] = {
    {"cnn-s", "sounds:*", "16", "20", "sgd", "0.1", "cosine", "1", "0.9", "off", "0.0005"},
    {"resnet*", "sounds:*", "16", "20", "sgd", "0.1", "cosine", "1", "0.9", "off", "0.0005"},
    {"cnn-s", "*", "64", "1.45", "sgd", "0.15", "cosine", "0.2", "0.9", "on", "0.0005"},
    {"squeezenet", "*", "128", "10", "sgd", "0.1", "cosine", "0", "0.9", "off", "0.0005"},
    {"shufflenet-v2", "*", "128", "10", "sgd", "0.1", "cosine", "0", "0.9", "off", "0.0005"},
    {"mobilenet-v2", "*", "128", "10", "sgd", "0.1", "cosine", "0", "0.9", "off", "0.0005"},
    {"resnet18", "*", "128", "10", "sgd", "0.1", "cosine", "0", "0.9", "off", "0.0005"},
    {"resnet50", "*", "128", "10", "sgd", "0.1", "cosine", "0", "0.9", "off", "0.0001"},
    /* Weights that begin normal by fan in, no norms: small steps. */
    {"alexnet*", "*", "32", "15", "sgd", "0.01", "cosine", "0.5", "0.9", "off", "0.0005"},
    {"vgg16*", "*", "32", "15", "sgd", "0.01", "cosine", "0.5", "0.9", "off", "0.0005"},
    {"googlenet*", "*", "32", "15", "sgd", "0.01", "cosine", "0.5", "0.9", "off", "0.0005"},
    {"inception*", "*", "32", "10", "sgd", "0.05", "cosine", "0.5", "0.9", "off", "0.0005"},
    /* 50 steps of warm-up in epochs of 79. */
    {"deit*", "*", "64", "8", "adamw", "0.001", "cosine", "0.6329", "0.9", "off", "0.05"},
    {"davidnet", "*", "512", "10", "sgd", "0.4", "linear", "2", "0.9", "on", "0.0005"},
    /* A mean over all numbers of a picture has small gradients. */
    {"autoencoder*", "*", "128", "10", "sgd", "2", "cosine", "0.5", "0.9", "on", "0"},
    /* Sums over pixels: the plain gradient leaves them at the mean picture. */
    {"cvae-s", "*", "64", "2", "adam", "0.001", "cosine", "0", "0.9", "off", "0"},
    {"cvae*", "*", "64", "2", "adam", "0.0001", "cosine", "0", "0.9", "off", "0"},
    {"fcn-r50", "*", "16", "10", "sgd", "0.01", "poly", "0", "0.9", "off", "0.0005"},
    {"fcn-s", "*", "8", "4", "sgd", "0.05", "poly", "0", "0.9", "off", "0.0005"},
    {"pan*", "*", "8", "24", "adam", "0.002", "cosine", "0", "0.9", "off", "0"},
    {"ssd*", "*", "8", "20", "sgd", "0.005", "cosine", "1", "0.9", "off", "0.0005"},
    {"faster-rcnn", "*", "1", "14", "sgd", "0.001", "cosine", "0", "0.9", "off", "0.0005"},
    {"faster-rcnn-s", "*", "8", "20", "sgd", "0.01", "cosine", "1", "0.9", "off", "0.0005"},
    {"dcgan", "*", "64", "5", "adam", "0.0002", "constant", "0", "0.9", "off", "0"},
    {"dcgan-s", "*", "64", "3", "adam", "0.001", "constant", "0", "0.9", "off", "0"},
    {"biglstm", "*", "128", "50", "adagrad", "0.2", "constant", "0", "0", "off", "0"},
    {"biglstm-s", "*", "32", "3", "adagrad", "0.2", "constant", "0", "0", "off", "0"},
    /* A warm-up of 100 updates, of the 239 of an epoch. */
    {"transformer-lm*", "*", "16", "3", "adam", "0.001", "cosine", "0.41841", "0", "off", "0"},
    {"seq2seq*", "*", "32", "2", "adam", "0.002", "cosine", "0", "0", "off", "0"},
    {"ds2*", "speech:*", "16", "12", "sgd", "0.02", "anneal", "0", "0.9", "on", "0"},
    {"lstm-lm", "*", "128", "20", "adam", "0.001", "constant", "0", "0", "off", "0"},
    {"lstm-lm-s", "*", "32", "5", "adam", "0.002", "cosine", "0", "0", "off", "0"},
    /* A warm-up of 100 updates, of the 250 of an epoch. */
    {"bert-tiny-s", "*", "32", "4", "adam", "0.001", "linear", "0.4", "0", "off", "0"},
    {"bert*", "*", "256", "4", "adam", "0.0001", "linear", "0.4", "0", "off", "0"},
    {"dense-s", "*", "64", "5", "sgd", "0.3", "cosine", "0", "0.9", "off", "0.0001"},
    {"*", "*", "128", "5", "sgd", "0.1", "cosine", "0", "0.9", "off", "0.0001"},
};

/* Further keys of a model with a data set. */
typedef struct usual {
    const char *model, *data; /* glob patterns */
    const char *key, *value;
} usual;

/* Jozefowicz et al. take 20 times the gradient of the mean loss, sums of squares that begin with 1,
 * and clip the LSTM's to norm 10: that is the plain gradient with 1/400 and 1/2. */
static const usual of_adagrad[] = {
    {"biglstm*", "*", "optimizer.initial", "0.0025"},
    {"biglstm*", "*", "optimizer.eps", "0"},
    {"biglstm*", "*", "optimizer.clip_rules", "lstm.*: 0.5"},
};

/* Of the update, known before the data are. */
static const usual of_update[] = {
    {"dcgan*", "*", "optimizer.beta1", "0.5"},
    {"dcgan*", "*", "data.drop_last", "on"},
    {"deit*", "*", "data.drop_last", "on"},
    {"*", "*", "task.smoothing", "0"},
    {"inception-v3", "*", "task.smoothing", "0.1"}, /* Szegedy et al. 2016; a later row counts */
    {"transformer-lm*", "*", "data.drop_last", "on"},
    {"bert*", "*", "data.drop_last", "on"},
    {"transformer-lm*", "*", "optimizer.beta2", "0.98"},
    {"transformer-lm*", "*", "optimizer.clip_norm", "1"},
    {"lstm-lm*", "*", "optimizer.clip_norm", "1"},
    {"seq2seq*", "*", "data.drop_last", "on"},
    {"seq2seq*", "*", "optimizer.clip_norm", "1"},
    {"ds2*", "speech:*", "optimizer.clip_norm", "20"},
    {"ds2*", "speech:*", "lr.factor", "0.90909090909090906"}, /* 1 / 1.1 */
    {"ds2*", "speech:*", "data.sorted", "1"},
};

/* Of the data: 28 pixels become 32, FD-64 is that of so many samples, and states that go on from
 * batch to batch need streams. */
static const usual of_data[] = {
    {"dcgan*", "*", "data.test_limit", "2000"},   {"dcgan-s", "fashion-mnist", "data.frame", "2"},
    {"dcgan-s", "idx:*", "data.frame", "2"},      {"dcgan-s", "contacts", "data.frame", "2"},
    {"lstm-lm*", "text:*", "data.streams", "on"}, {"lstm-lm", "text:*", "data.length", "35"},
    {"lstm-lm-s", "text:*", "data.length", "32"}, {"biglstm*", "text:*", "data.streams", "on"},
    {"biglstm*", "text:*", "data.length", "20"},  {"bert-base", "*", "data.length", "128"},
    {"bert-tiny", "*", "data.length", "128"},
};

hu_status hu_recipe_model(hu_config *config, const char **model) {
    const hu_keys *file;
    hu_network_heading heading;
    hu_status st = HU_OK;
    HU_TRY(hu_config_text(config, "model.name", model));
    HU_TRY(hu_config_network(config, &file));
    if (!file) return HU_OK;
    HU_TRY(hu_network_read_heading(file, &heading));
    if (!heading.recipe) return HU_OK;
    *model = heading.recipe;
done:
    return st;
}

static hu_status take_usual(hu_config *config, const usual *rows, size_t count) {
    const char *model, *data;
    hu_status st = HU_OK;
    HU_TRY(hu_recipe_model(config, &model));
    HU_TRY(hu_config_text(config, "data.name", &data));
    for (size_t i = 0; i < count; i++)
        if (hu_glob_match(rows[i].model, model) && hu_glob_match(rows[i].data, data))
            HU_TRY(hu_config_set(config, rows[i].key, rows[i].value, "recipe"));
done:
    return st;
}

hu_status hu_recipe_data(hu_config *config) {
    return take_usual(config, of_data, sizeof of_data / sizeof *of_data);
}

/* The decay of a row is for its own optimizer; adamw, whose decay is another thing, and what stands
 * in its place take customary values. */
static const char *decay_of(const recipe *row, bool is_adamw) {
    bool has_adamw = strcmp(row->optimizer, "adamw") == 0;
    if (is_adamw == has_adamw) return row->weight_decay;
    return is_adamw ? "0.01" : "0.0005";
}

/* The rate of a row is for its own optimizer, and for SGD, which has no customary one; others take
 * theirs. That of lars is in units of a thousandth of the weights' norm. */
static const char *rate_of(const recipe *row, const char *optimizer) {
    bool is_own = strcmp(optimizer, row->optimizer) == 0;
    if (is_own || strcmp(optimizer, "sgd") == 0) return row->lr;
    return strcmp(optimizer, "lars") == 0 ? "8" : "0.001";
}

static hu_status take_update(hu_config *config, const recipe *row) {
    hu_status st = HU_OK;
    const char *optimizer;
    double momentum;
    HU_TRY(hu_config_set(config, "optimizer.name", row->optimizer, "recipe"));
    HU_TRY(hu_config_text(config, "optimizer.name", &optimizer));
    bool is_adamw = strcmp(optimizer, "adamw") == 0, is_lars = strcmp(optimizer, "lars") == 0;
    HU_TRY(hu_config_set(config, "lr.base", rate_of(row, optimizer), "recipe"));
    HU_TRY(hu_config_set(config, "optimizer.momentum", row->momentum, "recipe"));
    HU_TRY(hu_config_f64(config, "optimizer.momentum", &momentum));
    bool may_look_ahead = momentum > 0.0 && !is_lars;
    HU_TRY(hu_config_set(config, "optimizer.nesterov", may_look_ahead ? row->nesterov : "off",
                         "recipe"));
    HU_TRY(hu_config_set(config, "optimizer.weight_decay", decay_of(row, is_adamw), "recipe"));
done:
    return st;
}

/* A warm-up begins with the rate 0: alone, its first step would train nothing. */
static hu_status warm_up(hu_config *config, const recipe *row, const char **warmup) {
    int64_t steps = 0;
    *warmup = row->warmup;
    if (hu_config_is_auto(config, "run.steps")) return HU_OK;
    hu_status st = hu_config_i64(config, "run.steps", &steps);
    if (steps == 1) *warmup = "0";
    return st;
}

static hu_status take_recipe(hu_config *config, const recipe *row) {
    hu_status st = HU_OK;
    const char *schedule, *warmup;
    HU_TRY(hu_config_set(config, "run.batch", row->batch, "recipe"));
    HU_TRY(hu_config_set(config, "run.epochs", row->epochs, "recipe"));
    HU_TRY(take_update(config, row));
    HU_TRY(hu_config_set(config, "lr.schedule", row->schedule, "recipe"));
    HU_TRY(warm_up(config, row, &warmup));
    HU_TRY(hu_config_set(config, "lr.warmup", warmup, "recipe"));
    HU_TRY(hu_config_text(config, "lr.schedule", &schedule));
    bool by_epoch = strcmp(schedule, "step") == 0 || strcmp(schedule, "piecewise") == 0 ||
                    strcmp(schedule, "anneal") == 0;
    HU_TRY(hu_config_set(config, "lr.per", by_epoch ? "epoch" : "step", "recipe"));
done:
    return st;
}

/* What a run that begins with init=check is compared by: the samples as they come, and steps of the
 * plain gradient. */
static hu_status take_check(hu_config *config) {
    static const char *const values[][2] = {{"optimizer.name", "sgd"},
                                            {"data.shuffle", "off"},
                                            {"data.augment", "none"},
                                            {"optimizer.momentum", "0"},
                                            {"optimizer.nesterov", "off"},
                                            {"lr.schedule", "constant"},
                                            {"lr.warmup", "0"},
                                            {"optimizer.weight_decay", "0"},
                                            {"model.dropout", "0"},
                                            {"task.smoothing", "0"},
                                            {"optimizer.clip_norm", "0"},
                                            {"data.sorted", "0"},
                                            {"optimizer.clip_rules", ""},
                                            {"data.buckets", ""}};
    hu_status st = HU_OK;
    const char *init;
    HU_TRY(hu_config_text(config, "model.init", &init));
    if (!hu_check_salt(init)) return HU_OK;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        HU_TRY(hu_config_set(config, values[i][0], values[i][1], "init=check"));
done:
    return st;
}

hu_status hu_recipe_apply(hu_config *config) {
    const char *model, *data, *optimizer;
    hu_status st = HU_OK;
    HU_TRY(hu_recipe_model(config, &model));
    HU_TRY(hu_config_text(config, "data.name", &data));
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (hu_glob_match(recipes[i].model, model) && hu_glob_match(recipes[i].data, data)) {
            st = take_recipe(config, &recipes[i]);
            break;
        }
    HU_TRY(st);
    HU_TRY(take_usual(config, of_update, sizeof of_update / sizeof *of_update));
    HU_TRY(hu_config_text(config, "optimizer.name", &optimizer));
    if (strcmp(optimizer, "adagrad") == 0)
        HU_TRY(take_usual(config, of_adagrad, sizeof of_adagrad / sizeof *of_adagrad));
    HU_TRY(take_check(config));
done:
    return st;
}

/* Declares a network, trains it in 8-bit formats on samples that this program makes, and says what
 * rounding did to its weights.
 *
 * The samples are points of the plane in three spiral arms; the network has two hidden layers.
 *
 *     cc network.c $(pkg-config --cflags --libs halfulp) -lm */
#include <halfulp/halfulp.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { ARMS = 3, TRAIN = 3000, TEST = 600, HIDDEN = 64 };

static int fail(hu_status st) {
    fprintf(stderr, "%s: %s\n", hu_status_text(st), hu_last_error());
    return hu_status_exit_code(st);
}

/* Sample `index` is point index / ARMS of arm index % ARMS, the same in every epoch. Field 0 is
 * "image": the point [2]; field 1 is "label": its arm. */
static hu_status spiral(void *context, int field, int64_t epoch, int64_t index, float *row) {
    const int64_t *samples = context;
    double along = (double)index / (double)*samples, arm = (double)(index % ARMS);
    double angle = 6.0 * along + 2.0943951 * arm + 0.1 * sin(12.9898 * (double)index);
    (void)epoch;
    if (field == 1) {
        row[0] = (float)arm;
    } else {
        row[0] = (float)(along * cos(angle));
        row[1] = (float)(along * sin(angle));
    }
    return HU_OK;
}

/* input [2] -> linear, relu -> linear, relu -> linear [ARMS] */
static hu_status declare(hu_net *net) {
    const hu_shape point = {1, {2}};
    hu_value value[HU_NET_OUTPUTS];
    char hidden[32], arms[32];
    snprintf(hidden, sizeof hidden, "out=%d", HIDDEN);
    snprintf(arms, sizeof arms, "out=%d", ARMS);
    hu_status st = hu_net_input(net, "input", &point, value);
    if (st == HU_OK) st = hu_net_apply(net, "linear", "fc1", hidden, 1, value, value);
    if (st == HU_OK) st = hu_net_apply(net, "relu", "relu1", "", 1, value, value);
    if (st == HU_OK) st = hu_net_apply(net, "linear", "fc2", hidden, 1, value, value);
    if (st == HU_OK) st = hu_net_apply(net, "relu", "relu2", "", 1, value, value);
    if (st == HU_OK) st = hu_net_apply(net, "linear", "fc3", arms, 1, value, value);
    return st == HU_OK ? hu_net_head(net, value[0]) : st;
}

static hu_status make_data(hu_dataset **data) {
    static int64_t train = TRAIN, test = TEST;
    const hu_field fields[] = {{.name = "image", .rank = 1, .extent = {2}},
                               {.name = "label", .classes = ARMS}};
    const hu_sample_source for_training = {sizeof for_training, TRAIN, &train, spiral};
    const hu_sample_source for_test = {sizeof for_test, TEST, &test, spiral};
    return hu_dataset_of_sources(fields, 2, &for_training, &for_test, data);
}

static hu_status train(hu_training *training) {
    hu_status st = HU_OK;
    double metric = 0.0, loss = 0.0;
    hu_round_counts counts = {0};
    while (st == HU_OK && hu_training_step(training) < hu_training_steps(training)) {
        hu_step step = {.size = sizeof step};
        st = hu_training_next(training, &step);
        if (st == HU_OK && step.step % 100 == 0)
            printf("step %" PRId64 "  loss %.4f\n", step.step, step.loss);
    }
    if (st == HU_OK) st = hu_training_test(training, &metric, &loss);
    if (st == HU_OK) st = hu_training_counts(training, "fc2.weight", &counts);
    if (st == HU_OK)
        printf("test accuracy %.2f %%, %" PRIu64 " of %" PRIu64
               " numbers of fc2.weight rounded to zero\nweights hash %016" PRIx64 "\n",
               100.0 * metric, counts.underflow, counts.elements, hu_training_hash(training));
    return st;
}

/* A word: the folder that keeps the run, for `halfulp why FOLDER` and its like. */
int main(int argc, char **argv) {
    const hu_setting settings[] = {
        {"precision", "hfp8"},
        {"run.batch", "60"},
        {"epochs", "12"},
        {"lr.base", "0.2"},
        {"seed", "1"},
        {"lr.schedule", "cosine"},
        {"run.dir", argc > 1 ? argv[1] : "auto"},
    };
    hu_net *net = NULL;
    hu_dataset *data = NULL;
    hu_training *training = NULL;
    hu_status st = hu_net_create(&net);
    if (st == HU_OK) st = declare(net);
    if (st == HU_OK) st = make_data(&data);
    if (st == HU_OK)
        st = hu_training_open(net, settings, sizeof settings / sizeof *settings, data, &training);
    if (st == HU_OK) st = train(training);
    int code = st == HU_OK ? 0 : fail(st);
    hu_training_close(training);
    hu_dataset_close(data);
    hu_net_free(net);
    return code;
}

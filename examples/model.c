/* Trains a model by name, with the settings that `halfulp train` takes:
 *
 *     model model=cnn-s data=glyphs precision=hfp8 steps=100
 *
 * Prints a line every 10 steps, then the test metric and the hash of the weights, which is the one
 * that `halfulp train` with the same words prints.
 *
 *     cc model.c $(pkg-config --cflags --libs halfulp) */
#include <halfulp/halfulp.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SETTINGS_MOST = 64, EVERY = 10 };

static int fail(hu_status st) {
    fprintf(stderr, "%s: %s\n", hu_status_text(st), hu_last_error());
    return hu_status_exit_code(st);
}

/* Cuts "key=value" at its first '='. 0: there is none. */
static int split(char *word, hu_setting *setting) {
    char *equals = strchr(word, '=');
    if (!equals) return 0;
    *equals = '\0';
    *setting = (hu_setting){word, equals + 1};
    return 1;
}

int main(int argc, char **argv) {
    hu_setting settings[SETTINGS_MOST];
    size_t count = 0;
    hu_training *training;
    double metric, loss;
    for (int i = 1; i < argc && count < SETTINGS_MOST; i++)
        if (!split(argv[i], &settings[count++])) {
            fprintf(stderr, "found '%s', expected key=value\n", argv[i]);
            return 2;
        }
    hu_status st = hu_training_open(NULL, settings, count, NULL, &training);
    if (st != HU_OK) return fail(st);
    while (st == HU_OK && hu_training_step(training) < hu_training_steps(training)) {
        hu_step step = {.size = sizeof step};
        st = hu_training_next(training, &step);
        if (step.step % EVERY == 0)
            printf("step %" PRId64 "  loss %.4f%s\n", step.step, step.loss,
                   step.skipped ? "  (skipped)" : "");
    }
    if (st == HU_OK) st = hu_training_test(training, &metric, &loss);
    if (st == HU_OK)
        printf("test metric %.4f, loss %.4f\nweights hash %016" PRIx64 "\n", metric, loss,
               hu_training_hash(training));
    int code = st == HU_OK ? 0 : fail(st);
    hu_training_close(training);
    return code;
}

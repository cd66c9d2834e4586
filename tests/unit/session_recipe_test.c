/* What models are trained with unless the user says otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/error.h"
#include "settings/options.h"

enum { WORDS = 3 };

/* The rate of a model with the optimizer of a word; "": its own. */
static double rate_of(const char *model, const char *optimizer) {
    char *words[WORDS] = {"halfulp", (char *)model, (char *)optimizer};
    const hu_config_request request = {
        .argc = optimizer[0] ? WORDS : WORDS - 1, .argv = words, .verb_index = -1};
    hu_config *config;
    double rate = 0.0;
    if (hu_config_load(&request, &config) != HU_OK || hu_recipe_apply(config) != HU_OK ||
        hu_config_f64(config, "lr.base", &rate) != HU_OK)
        fail_msg("%s %s: %s", model, optimizer, hu_last_error());
    hu_config_free(config);
    return rate;
}

static void expect(const char *model, const char *optimizer, double expected) {
    double found = rate_of(model, optimizer);
    if (found < expected || found > expected)
        fail_msg("%s %s: found %g, expected %g", model, optimizer, found, expected);
}

static void a_model_has_the_rate_of_its_own_optimizer(void **state) {
    (void)state;
    expect("model=pan", "", 0.002);
    expect("model=pan-s", "optimizer=adam", 0.002);
    expect("model=cvae", "", 0.0001);
    expect("model=cvae-s", "", 0.001); /* as docs/results/pictures.md records it */
    expect("model=dcgan", "", 0.0002);
    expect("model=dcgan-s", "", 0.001);
    expect("model=bert-base", "", 0.0001);
    expect("model=bert-tiny-s", "", 0.001);
    expect("model=seq2seq-s", "", 0.002);
    expect("model=lstm-lm", "", 0.001);
    expect("model=lstm-lm-s", "", 0.002);
    expect("model=biglstm", "", 0.2);
    expect("model=deit-s", "", 0.001);
    expect("model=cnn-s", "", 0.15);
}

static void other_optimizers_have_their_customary_rates(void **state) {
    (void)state;
    expect("model=cnn-s", "optimizer=adam", 0.001);
    expect("model=cnn-s", "optimizer=lars", 8);
    expect("model=pan", "optimizer=rmsprop", 0.001);
    expect("model=biglstm", "optimizer=adam", 0.001);
    expect("model=seq2seq-s", "optimizer=lars", 8);
    expect("model=lstm-lm-s", "optimizer=adagrad", 0.001);
    expect("model=pan", "optimizer=sgd", 0.002);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_has_the_rate_of_its_own_optimizer),
        cmocka_unit_test(other_optimizers_have_their_customary_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Plan files: of group numbers, and resolved ones with the format of every tensor. What is read is
 * printed and read again as the same keys, and by the public functions as the same texts. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include <halfulp/plan.h>

#include "base/keys.h"
#include "base/memory.h"
#include "config/config.h"

static void put_plan(const void *data, size_t bytes, char *path, size_t capacity) {
    fuzz_put("plan.yaml", data, bytes);
    snprintf(path, capacity, "%s/plan.yaml", fuzz_folder());
}

/* Every text of a tensor is one of its own that reads again. */
static void check_tensors(const hu_plan *plan) {
    char text[HU_PLAN_TEXT_BYTES];
    for (size_t i = 0; i < hu_plan_tensor_count(plan); i++) {
        FUZZ_CHECK(hu_plan_tensor(plan, i) != NULL);
        for (int p = 0; p < HU_PLAN_PARTS; p++)
            for (size_t k = 0; k < hu_plan_formats(plan, i, (hu_plan_part)p); k++)
                FUZZ_CHECK(hu_plan_format(plan, i, (hu_plan_part)p, k, text, sizeof text) == HU_OK);
    }
}

static void check_public(const char *path) {
    hu_plan *plan, *again;
    hu_status st = hu_plan_load(path, &plan);
    if (st != HU_OK) {
        FUZZ_CHECK(!plan && hu_last_error()[0] != '\0');
        return;
    }
    check_tensors(plan);
    if (FUZZ_DONE(hu_plan_parse(hu_plan_text(plan), "again", &again))) {
        FUZZ_CHECK(strcmp(hu_plan_text(again), hu_plan_text(plan)) == 0);
        FUZZ_CHECK(hu_plan_tensor_count(again) == hu_plan_tensor_count(plan));
        hu_plan_close(again);
    }
    hu_plan_close(plan);
}

void fuzz_one(const uint8_t *data, size_t size) {
    char path[512], *printed = NULL, *again = NULL;
    hu_keys *plan = NULL, *read = NULL;
    put_plan(data, size, path, sizeof path);
    FUZZ_CHECK(hu_is_plan_path(path) && !hu_is_plan_path("e4m3") && hu_is_plan_path("a.b.yml"));
    check_public(path);
    hu_status st = hu_plan_read(path, &plan);
    if (st != HU_OK) {
        FUZZ_CHECK(!plan);
        FUZZ_CHECK(st == HU_ERR_PARSE || st == HU_ERR_VERSION || st == HU_ERR_LIMIT ||
                   st == HU_ERR_CORRUPT || st == HU_ERR_UNKNOWN || fuzz_was_fault(st));
        FUZZ_CHECK(hu_last_error()[0] != '\0');
        return;
    }
    FUZZ_CHECK(hu_keys_kind_of(plan) == HU_KEYS_MAP);
    FUZZ_CHECK(hu_keys_find(plan, "precision.name") != NULL);
    if (FUZZ_DONE(hu_keys_print(plan, &printed))) {
        put_plan(printed, strlen(printed), path, sizeof path);
        if (FUZZ_DONE(hu_yaml_read(path, &read)) && FUZZ_DONE(hu_keys_print(read, &again)))
            FUZZ_CHECK(strcmp(printed, again) == 0);
    }
    hu_keys_free(plan);
    hu_keys_free(read);
    hu_free(printed);
    hu_free(again);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const examples[] = {
        "precision:\n  name: plan\n  low_tensors: [0, 3]\n  low: hfp8\nevidence:\n  metric: 0.5\n",
        "halfulp_plan: 1\n"
        "model:\n"
        "  name: cnn-s\n"
        "  width: 0.10000000000000001\n"
        "  parameters: 590\n"
        "  names: xxh64:c905a9719584e615\n"
        "scheme: lee\n"
        "master: on\n"
        "eval: master\n"
        "low_bits: 8\n"
        "scaler:\n"
        "  name: dynamic\n"
        "  init: 65536\n"
        "  stop_after: 20\n"
        "  growth: 2\n"
        "  backoff: 0.5\n"
        "  interval: 782\n"
        "  min: 0\n"
        "tensors:\n"
        "  input:\n"
        "    value: \"fp(4,3,4)\"\n"
        "    grad: e5m2:specials=fin:ovf=inf\n"
        "  conv1.out:\n"
        "    value: \"fp(4,3,4)\"\n"
        "    grad: e5m2:specials=fin:ovf=inf\n"
        "  conv1.weight:\n"
        "    value: \"fp(4,3,4)\"\n"
        "    grad: e6m9:specials=fin:ovf=inf\n"
        "  pool1.out:\n"
        "    value: \"fp(4,3,4)\"\n"
        "    grad: e5m2:specials=fin:ovf=inf\n"
        "  bn1.out:\n"
        "    value: \"fp(4,3,4)\"\n"
        "evidence:\n"
        "  step: 0\n",
        ("halfulp_plan: 1\nscheme: popescu\nmaster: off\ntensors:\n  a: fp16\naccumulator:\n  "
         "fc.forward: fmac:fp16\nepochs:\n  1: x\n"),
        ("halfulp_plan: 1\ntensors:\n  a:\n    grad: [fp16, bf16]\n    sum: fp16\nsemantics: "
         "exact\n"
         "products:\n  fc:\n    forward: fmac:fp16\n    input_grad: kahan:fp16\npromotion:\n"
         "  at: 0.5\n  to:\n    act: fp16\n    weight: bf16\n")};
    if (index >= sizeof examples / sizeof *examples) return false;
    return fuzz_text_seed(examples[index], seed);
}

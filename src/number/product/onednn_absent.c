/* onednn.h where halfulp is built without oneDNN's headers: nobody gets a hu_dnn, and so nobody
 * runs one. */
#include <stdio.h>

#include "base/error.h"
#include "product/onednn.h"

bool hu_dnn_is_there(void) {
    return false;
}

const char *hu_dnn_absence(void) {
    return "not in this build of halfulp";
}

static hu_status refuse(void) {
    return hu_fail(HU_ERR_UNSUPPORTED, "products by oneDNN: it is %s", hu_dnn_absence());
}

hu_status hu_dnn_create(const hu_product_facts *facts, hu_dnn **dnn) {
    (void)facts;
    *dnn = NULL;
    return refuse();
}

hu_status hu_dnn_prepare(hu_dnn *dnn, int64_t count) {
    (void)dnn, (void)count;
    return refuse();
}

void hu_dnn_release(hu_dnn *dnn) {
    (void)dnn;
}

size_t hu_dnn_scratch_bytes(const hu_dnn *dnn, hu_product_role role) {
    (void)dnn, (void)role;
    return 0;
}

size_t hu_dnn_packed_bytes(const hu_dnn *dnn, hu_product_role role) {
    (void)dnn, (void)role;
    return 0;
}

bool hu_dnn_pack(hu_dnn *dnn, hu_product_role role, const float *weights, const float *bias,
                 void *packed) {
    (void)dnn, (void)role, (void)weights, (void)bias, (void)packed;
    return false;
}

bool hu_dnn_run(const hu_dnn *dnn, hu_product_role role, const hu_product_call *call) {
    (void)dnn, (void)role, (void)call;
    return false;
}

const char *hu_dnn_impl(const hu_dnn *dnn, hu_product_role role) {
    (void)dnn, (void)role;
    return "";
}

hu_status hu_dnn_sgemm(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c,
                       int threads) {
    (void)m, (void)n, (void)k, (void)a, (void)b, (void)c, (void)threads;
    return refuse();
}

void hu_dnn_version(char *text, uint32_t capacity) {
    snprintf(text, capacity, "none");
}

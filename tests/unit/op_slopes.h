/* Gradients of a loss of pictures beside differences of a plain version in double. */
#ifndef TEST_OP_SLOPES_H
#define TEST_OP_SLOPES_H
#include "op_drive.h"

/* The plain loss of picture s where the model says x. */
typedef double plain_picture_loss(const void *context, int s, const double *x);

/* What the model says of a picture, [numbers of a sample of in[0]] in double. */
static inline void drive_said(const drive *d, int s, double *x) {
    int64_t count = hu_shape_elements(&d->in_shape[0]);
    for (int64_t i = 0; i < count; i++) x[i] = (double)d->in[0][s * count + i];
}

/* The loss of every picture, and its gradient times that of the output, which drive_forward and
 * drive_backward have left; the plain ones add up to the sum of losses. */
static inline void drive_compare_losses(const drive *d, plain_picture_loss *plain,
                                        const void *context) {
    const double h = 1e-5;
    double x[1024], total = 0;
    int64_t count = hu_shape_elements(&d->in_shape[0]);
    assert_true(count <= 1024);
    for (int s = 0; s < d->batch; s++) {
        drive_said(d, s, x);
        double expected = plain(context, s, x);
        assert_true(fabs((double)d->out[0][s] - expected) <= 6e-8 * expected);
        total += expected;
        for (int64_t i = 0; i < count; i++) {
            const double old = x[i], found = (double)d->din[0][s * count + i];
            x[i] = old + h;
            double high = plain(context, s, x);
            x[i] = old - h;
            double slope = (high - plain(context, s, x)) / (2 * h) * (double)d->dout[0][s];
            x[i] = old;
            if (fabs(slope - found) > 1e-6 * (1 + fabs(slope)))
                fail_msg("picture %d, number %d: %.9g, expected %.9g", s, (int)i, found, slope);
        }
    }
    assert_true(fabs(d->stats[HU_LOSS_SUM] - total) <= 1e-12 * total);
}

#endif

/* Losses of the linear predictor: one table of functions, no switch in a loop.
 * derivative: out[i] = d loss / d eta at (eta[i], y[i]), i < len, element by
 * element. Units: those of the standardised response; a binary response stays 0 and 1. */
#ifndef DPH_LOSS_H_INCLUDED
#define DPH_LOSS_H_INCLUDED

#include "dph_base.h"

typedef struct {
  const char *name;
  void (*derivative)(const double *eta, const double *y, size_t len, const double *tuning,
                     double *out);
  void (*value)(const double *eta, const double *y, size_t len, const double *tuning,
                double *out);
  double curvature; /* upper bound of the second derivative in eta, times tuning[0] */
  int tuned;        /* does it need a positive finite tuning[0]? */
  int rows_only;    /* is there no response? */
} dph_loss;

/* The loss of that name, or NULL. */
const dph_loss *dph_loss_find(const char *name);

#endif

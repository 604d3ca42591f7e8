/* The table of losses; see dph_loss.h. */
#include "dph_loss.h"

#include <string.h>

/* Squared: (eta - y)^2 / 2. */
static void squared_derivative(const double *eta, const double *y, size_t len,
                               const double *tuning, double *out) {
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    out[i] = eta[i] - y[i];
  }
}

static void squared_value(const double *eta, const double *y, size_t len,
                          const double *tuning, double *out) {
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    out[i] = 0.5 * (eta[i] - y[i]) * (eta[i] - y[i]);
  }
}

static const dph_loss losses[] = {
    {"squared", squared_derivative, squared_value, 1.0},
};

const dph_loss *dph_loss_find(const char *name) {
  for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
    if (strcmp(losses[i].name, name) == 0) {
      return &losses[i];
    }
  }
  return NULL;
}

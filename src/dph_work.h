/* Working space of the walks over rows: one block of the design and what belongs to it
 * for each thread (dph_parallel.h). */
#ifndef DPH_WORK_H_INCLUDED
#define DPH_WORK_H_INCLUDED

#include "dph_parallel.h"
#include "dph_rows.h"

/* z: DPH_BLOCK x (k + 1), so that the response may be the last column; the others
 * DPH_BLOCK each. */
typedef struct dph_block {
  double *z, *y, *eta, *psi, *m, *work;
  unsigned char *valid;
  struct dph_block *unit; /* of records that are units, or NULL */
} dph_block;

/* Own with dph_gradient_work_free(). */
typedef struct {
  size_t lanes;
  dph_block *lane;
  double *memory;
} dph_gradient_work;

/* For as many threads as a walk over these rows may have. After a failure there is
 * nothing to free. */
dph_status dph_gradient_work_make(const dph_rows *rows, dph_gradient_work *w,
                                  dph_error *err);
void dph_gradient_work_free(dph_gradient_work *w);

/* A walk over the records with no more threads than the working space has. */
dph_walk dph_work_plan(const dph_rows *rows, const dph_gradient_work *w, int ordered,
                       size_t sum_bytes);

#endif

/* A block of rows with its margins eta = z'w and the derivatives psi of the loss there. */
#ifndef DPH_PSI_H_INCLUDED
#define DPH_PSI_H_INCLUDED

#include "dph_rule.h"
#include "dph_work.h"

/* Rows start, ... into work->z, y, valid, eta and psi (the rule's own psi, if it has any; with
 * an estimator that shrinks, of covariates and response clamped first). Returns the rows that
 * exist. */
size_t dph_block_psi(const dph_rows *rows, size_t start, const double *norm, const double *w,
                     const dph_gradient_rule *rule, dph_block *work);

/* psi finite, so that psi z is never NaN; a NaN derivative and a row that adds zero: 0. */
void dph_bound_psi(const dph_gradient_rule *rule, dph_block *work);

#endif

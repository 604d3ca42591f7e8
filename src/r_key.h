/* The key of one call: R's NULL means a fresh key from the operating system,
 * a raw vector of 32 bytes is a key that the R side drew (rng = "R"). */
#ifndef R_KEY_H_INCLUDED
#define R_KEY_H_INCLUDED

#define R_NO_REMAP
#include <Rinternals.h>

#include "dph_base.h"
#include "dph_rng.h"

dph_status r_key(SEXP key, unsigned char out[32], dph_error *err);

/* The same, straight into a generator; the key itself is wiped. */
dph_status r_key_rng(SEXP key, dph_rng *rng, dph_error *err);

#endif

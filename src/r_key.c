#include "r_key.h"

#include <string.h>

#include "dph_entropy.h"

dph_status r_key(SEXP key, unsigned char out[32], dph_error *err) {
  if (key == R_NilValue) {
    return dph_os_key(out, err);
  }
  if (TYPEOF(key) != RAWSXP || XLENGTH(key) != 32) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "a key must be NULL or 32 raw bytes");
  }
  memcpy(out, RAW_RO(key), 32);
  return DPH_OK;
}

dph_status r_key_rng(SEXP key, dph_rng *rng, dph_error *err) {
  unsigned char bytes[32];
  DPH_TRY(r_key(key, bytes, err));
  dph_rng_init(rng, bytes);
  dph_wipe(bytes, sizeof bytes);
  return DPH_OK;
}

/* The stream of random bits: ChaCha20 (RFC 8439 block function) under a key
 * of the caller, zero nonce, 64-bit block counter in words 12 and 13.
 *
 * The generator is a plain struct on the caller's stack: no statics and no
 * state between calls. Wipe it before leaving. A stream of 2^64 blocks does not
 * end within anyone's life. */
#ifndef DPH_RNG_H_INCLUDED
#define DPH_RNG_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

typedef struct dph_rng {
  uint32_t state[16];
  uint32_t block[16];
  unsigned used; /* words of block already handed out, 0..16 */
} dph_rng;

/* out = 20 rounds of in, plus in. */
void dph_chacha20_block(const uint32_t in[16], uint32_t out[16]);

void dph_rng_init(dph_rng *rng, const unsigned char key[32]);
void dph_rng_refill(dph_rng *rng);

/* Overwrites the state in a way that no compiler may drop. */
void dph_rng_wipe(dph_rng *rng);

/* The same for any memory that held a key. */
void dph_wipe(void *memory, size_t bytes);

static inline uint32_t dph_rng_u32(dph_rng *rng) {
  if (rng->used == 16) {
    dph_rng_refill(rng);
  }
  return rng->block[rng->used++];
}

static inline uint64_t dph_rng_u64(dph_rng *rng) {
  const uint64_t low = dph_rng_u32(rng);
  return low | ((uint64_t)dph_rng_u32(rng) << 32);
}

/* Exactly uniform on 0, ..., n - 1; n > 0. */
uint64_t dph_rng_below(dph_rng *rng, uint64_t n);

/* perm = a uniformly random permutation of 0, ..., n - 1; n <= 2^32. */
void dph_rng_permute(dph_rng *rng, uint32_t *perm, size_t n);

#endif

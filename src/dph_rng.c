#include "dph_rng.h"

static inline uint32_t rotate(uint32_t v, unsigned bits) {
  return (v << bits) | (v >> (32u - bits));
}

static inline void quarter_round(uint32_t *x, int a, int b, int c, int d) {
  x[a] += x[b];
  x[d] = rotate(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = rotate(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = rotate(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = rotate(x[b] ^ x[c], 7);
}

void dph_chacha20_block(const uint32_t in[16], uint32_t out[16]) {
  uint32_t x[16];
  for (int i = 0; i < 16; i++) {
    x[i] = in[i];
  }
  for (int round = 0; round < 10; round++) {
    quarter_round(x, 0, 4, 8, 12);
    quarter_round(x, 1, 5, 9, 13);
    quarter_round(x, 2, 6, 10, 14);
    quarter_round(x, 3, 7, 11, 15);
    quarter_round(x, 0, 5, 10, 15);
    quarter_round(x, 1, 6, 11, 12);
    quarter_round(x, 2, 7, 8, 13);
    quarter_round(x, 3, 4, 9, 14);
  }
  for (int i = 0; i < 16; i++) {
    out[i] = x[i] + in[i];
  }
}

void dph_rng_init(dph_rng *rng, const unsigned char key[32]) {
  static const uint32_t constant[4] = {0x61707865u, 0x3320646eu, 0x79622d32u,
                                       0x6b206574u};
  for (int i = 0; i < 4; i++) {
    rng->state[i] = constant[i];
    rng->state[12 + i] = 0;
  }
  for (int i = 0; i < 8; i++) {
    const unsigned char *byte = key + 4 * i;
    rng->state[4 + i] = (uint32_t)byte[0] | ((uint32_t)byte[1] << 8) |
                        ((uint32_t)byte[2] << 16) | ((uint32_t)byte[3] << 24);
  }
  for (int i = 0; i < 16; i++) {
    rng->block[i] = 0;
  }
  rng->used = 16;
}

void dph_rng_refill(dph_rng *rng) {
  dph_chacha20_block(rng->state, rng->block);
  rng->used = 0;
  if (++rng->state[12] == 0) {
    ++rng->state[13];
  }
}

void dph_wipe(void *memory, size_t bytes) {
  volatile unsigned char *byte = (volatile unsigned char *)memory;
  for (size_t i = 0; i < bytes; i++) {
    byte[i] = 0;
  }
}

void dph_rng_wipe(dph_rng *rng) { dph_wipe(rng, sizeof *rng); }

/* Multiply-and-reject for 32 bits: of the 2^32 values of u, those with
 * (u * n mod 2^32) >= 2^32 mod n fall on each quotient equally often. */
static uint32_t below32(dph_rng *rng, uint32_t n) {
  uint64_t product = (uint64_t)dph_rng_u32(rng) * n;
  if ((uint32_t)product < n) {
    const uint32_t surplus = (0u - n) % n;
    while ((uint32_t)product < surplus) {
      product = (uint64_t)dph_rng_u32(rng) * n;
    }
  }
  return (uint32_t)(product >> 32);
}

uint64_t dph_rng_below(dph_rng *rng, uint64_t n) {
  if (n <= UINT32_MAX) {
    return below32(rng, (uint32_t)n);
  }
  const uint64_t surplus = (UINT64_C(0) - n) % n; /* 2^64 mod n */
  uint64_t u = dph_rng_u64(rng);
  while (u < surplus) {
    u = dph_rng_u64(rng);
  }
  return u % n;
}

void dph_rng_permute(dph_rng *rng, uint32_t *perm, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const size_t j = (size_t)dph_rng_below(rng, (uint64_t)i + 1);
    perm[i] = perm[j];
    perm[j] = (uint32_t)i;
  }
}

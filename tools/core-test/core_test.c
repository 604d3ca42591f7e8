/* The core's own test program: no R. Fixed keys, so no false alarms.
 *
 *   core_test          runs the checks, prints "<n> checks, digest <hex>"
 *   core_test refuse   succeeds if and only if dph_float_check() refuses
 *
 * The digest covers integer draws alone: it must be the same for every
 * compiler, flag and machine. */
#include <fenv.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dph_bucket.h"
#include "dph_choose.h"
#include "dph_entropy.h"
#include "dph_flip.h"
#include "dph_gradient.h"
#include "dph_groups.h"
#include "dph_noise.h"
#include "dph_quantile.h"
#include "dph_rank.h"
#include "dph_scale.h"
#include "dph_threads.h"

static int checks = 0, failures = 0;

#define CHECK(condition)                                              \
  do {                                                                \
    checks++;                                                         \
    if (!(condition)) {                                               \
      failures++;                                                     \
      fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition); \
    }                                                                 \
  } while (0)

static uint64_t digest = UINT64_C(1469598103934665603);

static void fold(uint64_t v) {
  for (int i = 0; i < 8; i++) {
    digest = (digest ^ (v & 0xff)) * UINT64_C(1099511628211);
    v >>= 8;
  }
}

static void seed(dph_rng *rng, unsigned char first) {
  unsigned char key[32];
  for (int i = 0; i < 32; i++) {
    key[i] = (unsigned char)(first + 7 * i);
  }
  dph_rng_init(rng, key);
}

static void test_base(void) {
  dph_error err;
  size_t size = 0;
  void *p = NULL;
  CHECK(dph_size_mul(3, 4, &size, &err) == DPH_OK && size == 12);
  CHECK(dph_size_mul(SIZE_MAX / 2, 3, &size, &err) == DPH_ERR_OVERFLOW);
  CHECK(dph_alloc(&p, SIZE_MAX, 8, NULL) == DPH_ERR_OVERFLOW && p == NULL);
  CHECK(dph_alloc(&p, 0, 8, &err) == DPH_OK && p != NULL && dph_live() == 1);
  dph_free(p);
  dph_free(NULL);
  CHECK(dph_live() == 0);
  CHECK(dph_fail(&err, DPH_ERR_ARGUMENT, "%s", "text") == DPH_ERR_ARGUMENT);
  CHECK(strcmp(err.message, "text") == 0 && err.code == DPH_ERR_ARGUMENT);
  CHECK(strcmp(dph_status_name(DPH_ERR_USER), "user function") == 0);
  CHECK(dph_check_poll(NULL, &err) == DPH_OK);
  uint64_t hi, lo;
  dph_mul_wide(UINT64_MAX, UINT64_MAX, &hi, &lo);
  CHECK(hi == UINT64_MAX - 1 && lo == 1);
  dph_mul_wide(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210), &hi, &lo);
  CHECK(hi == UINT64_C(0x121fa00ad77d7422) && lo == UINT64_C(0x236d88fe5618cf00));
  CHECK(dph_threads(4, 100, 1) == 1); /* not initialised: as in a fork */
  dph_threads_init();
  CHECK(dph_threads(1, 1000, 1) == 1 && dph_threads(8, 3, 2) == 1);
  CHECK(dph_threads_max() >= 1 && dph_threads(-1, 10, 0) == 1);
}

static int poll_yes(void *user) { return *(int *)user; }

static void test_float(void) {
  dph_error err;
  int stop = 1;
  const dph_poll poll = {poll_yes, &stop};
  CHECK(dph_check_poll(&poll, &err) == DPH_ERR_INTERRUPT);
  CHECK(dph_float_check(&err) == DPH_OK);
#ifdef FE_UPWARD
  if (fesetround(FE_UPWARD) == 0) {
    CHECK(dph_float_check(&err) == DPH_ERR_FLOAT);
    fesetround(FE_TONEAREST);
  }
#endif
  CHECK(dph_float_check(NULL) == DPH_OK);
  CHECK(dph_round(2.5) == 2.0 && dph_round(-3.5) == -4.0 && dph_round(0.49) == 0.0);
}

static int stream_is(const unsigned char *key, unsigned skip, const char *hex) {
  dph_rng rng;
  char got[129];
  dph_rng_init(&rng, key);
  for (unsigned i = 0; i < 16 * skip; i++) {
    dph_rng_u32(&rng);
  }
  for (int i = 0; i < 16; i++) {
    const uint32_t w = dph_rng_u32(&rng);
    snprintf(got + 8 * i, 9, "%02x%02x%02x%02x", (unsigned)(w & 0xff),
             (unsigned)(w >> 8 & 0xff), (unsigned)(w >> 16 & 0xff), (unsigned)(w >> 24));
  }
  return strcmp(got, hex) == 0;
}

/* RFC 8439: 2.3.2 for the block function, appendix A.1 numbers 1 to 4. */
static void test_chacha(void) {
  static const uint32_t state[16] = {
      0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u, 0x03020100u, 0x07060504u,
      0x0b0a0908u, 0x0f0e0d0cu, 0x13121110u, 0x17161514u, 0x1b1a1918u, 0x1f1e1d1cu,
      0x00000001u, 0x09000000u, 0x4a000000u, 0x00000000u};
  static const uint32_t wanted[16] = {
      0xe4e7f110u, 0x15593bd1u, 0x1fdd0f50u, 0xc47120a3u, 0xc7f4d1c7u, 0x0368c033u,
      0x9aaa2204u, 0x4e6cd4c3u, 0x466482d2u, 0x09aa9f07u, 0x05d7c214u, 0xa2028bd9u,
      0xd19c12b5u, 0xb94e16deu, 0xe883d0cbu, 0x4e3c50a2u};
  uint32_t block[16];
  dph_chacha20_block(state, block);
  CHECK(memcmp(block, wanted, sizeof block) == 0);
  unsigned char key[32] = {0};
  CHECK(stream_is(key, 0,
                  "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
                  "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"));
  CHECK(stream_is(key, 1,
                  "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
                  "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"));
  key[31] = 1;
  CHECK(stream_is(key, 1,
                  "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
                  "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"));
  memset(key, 0, sizeof key);
  key[1] = 0xff;
  CHECK(stream_is(key, 2,
                  "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
                  "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"));
  dph_rng rng;
  seed(&rng, 1);
  rng.state[12] = UINT32_MAX; /* the counter carries into word 13 */
  dph_rng_refill(&rng);
  CHECK(rng.state[12] == 0 && rng.state[13] == 1 && rng.state[14] == 0);
  dph_rng_wipe(&rng);
  unsigned char *byte = (unsigned char *)&rng, any = 0;
  for (size_t i = 0; i < sizeof rng; i++) {
    any |= byte[i];
  }
  CHECK(any == 0);
}

static void test_entropy(void) {
  unsigned char a[32], b[32];
  dph_error err;
  CHECK(dph_os_key(a, &err) == DPH_OK && dph_os_key(b, &err) == DPH_OK);
  CHECK(memcmp(a, b, sizeof a) != 0);
}

/* Chi-square of counts against probabilities summing to at most one, the rest
 * in one more cell; below the given bound. */
static double chi_square(const double *count, const double *p, int cells, double total) {
  double sum = 0.0, left_p = 1.0, left = total;
  for (int i = 0; i < cells; i++) {
    const double e = p[i] * total, d = count[i] - e;
    sum += d * d / e;
    left_p -= p[i];
    left -= count[i];
  }
  return left_p * total >= 1.0 ? sum + (left - left_p * total) * (left - left_p * total) /
                                           (left_p * total)
                               : sum;
}

static void test_below(void) {
  dph_rng rng;
  double count[5] = {0}, p[5] = {0.2, 0.2, 0.2, 0.2, 0.2};
  seed(&rng, 2);
  for (int i = 0; i < 50000; i++) {
    count[dph_rng_below(&rng, 5)] += 1.0;
  }
  CHECK(chi_square(count, p, 5, 50000.0) < 40.0);
  CHECK(dph_rng_below(&rng, 1) == 0);
  int high = 0;
  for (int i = 0; i < 1000; i++) { /* 3 * 2^62: a quarter of u64 is rejected */
    const uint64_t v = dph_rng_below(&rng, UINT64_C(3) << 62);
    CHECK(v < UINT64_C(3) << 62);
    high += v >= UINT64_C(1) << 63;
    fold(v);
  }
  CHECK(high > 250 && high < 420);
  uint32_t perm[100], seen[100] = {0};
  double first[4] = {0}, quarter[4] = {0.25, 0.25, 0.25, 0.25};
  for (int r = 0; r < 10000; r++) {
    dph_rng_permute(&rng, perm, 4);
    first[perm[0]] += 1.0;
  }
  CHECK(chi_square(first, quarter, 4, 10000.0) < 40.0);
  dph_rng_permute(&rng, perm, 100);
  for (int i = 0; i < 100; i++) {
    seen[perm[i]]++;
    fold(perm[i]);
  }
  for (int i = 0; i < 100; i++) {
    CHECK(seen[i] == 1);
  }
}

static void noise_law(int gaussian, int k) {
  enum { REACH = 20, CELLS = 2 * REACH + 1, DRAWS = 100000 };
  double count[CELLS] = {0}, p[CELLS], total = 0.0;
  const double scale = ldexp(1.0, k);
  dph_rng rng;
  seed(&rng, (unsigned char)(10 * gaussian + k));
  for (int x = -4000; x <= 4000; x++) {
    const double v = fabs(x / scale), w = exp(gaussian ? -v * v / 2 : -v);
    total += w;
    if (x >= -REACH && x <= REACH) {
      p[x + REACH] = w;
    }
  }
  int low = 0, high = CELLS - 1;
  for (int i = 0; i < CELLS; i++) {
    p[i] /= total;
  }
  for (int i = 0; i < DRAWS; i++) {
    const int64_t x = gaussian ? dph_discrete_gaussian(&rng, k)
                               : dph_discrete_laplace(&rng, k);
    fold((uint64_t)x);
    if (x >= -REACH && x <= REACH) {
      count[x + REACH] += 1.0;
    }
  }
  while (p[low] * DRAWS < 5.0) {
    low++;
    high--;
  }
  CHECK(chi_square(count + low, p + low, high - low + 1, DRAWS) < 120.0);
}

static void test_noise(void) {
  dph_rng rng;
  for (int k = 0; k <= 3; k++) {
    noise_law(0, k);
    noise_law(1, k);
  }
  seed(&rng, 77);
  static const int scales[] = {0, 1, 5, 31, 32, 33, 40, 45};
  for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
    double square = 0.0, size = 0.0;
    for (int i = 0; i < 4000; i++) {
      const int64_t g = dph_discrete_gaussian(&rng, scales[s]);
      const int64_t l = dph_discrete_laplace(&rng, scales[s]);
      const double v = ldexp((double)g, -scales[s]);
      square += v * v / 4000;
      size += fabs(ldexp((double)l, -scales[s])) / 4000;
      fold((uint64_t)g);
      fold((uint64_t)l);
    }
    CHECK(fabs(square - 1.0) < 0.15);
    CHECK(fabs(size - (scales[s] == 0 ? 0.851 : scales[s] == 1 ? 0.96 : 1.0)) < 0.1);
  }
  CHECK(dph_bernoulli_exp(&rng, 0, 0) == 1 && dph_bernoulli_exp(&rng, 0, 63) == 1);
  for (int i = 0; i < 100; i++) {
    CHECK(dph_bernoulli_exp(&rng, UINT64_MAX, 0) == 0);
  }
}

static void test_choose(void) {
  dph_rng rng;
  dph_error err;
  size_t chosen = 9;
  seed(&rng, 5);
  CHECK(dph_exponential_mechanism(&rng, NULL, 0, 0, &chosen, &err) == DPH_ERR_ARGUMENT);
  const int64_t far[3] = {INT64_MIN, INT64_MAX, 0};
  for (int i = 0; i < 50; i++) {
    CHECK(dph_exponential_mechanism(&rng, far, 3, 0, &chosen, &err) == DPH_OK);
    CHECK(chosen == 1);
  }
  const int64_t score[4] = {0, 2, 4, 5}; /* scores 0, 1, 2, 2.5 at k = 1 */
  const double p[4] = {0.04293719271160759, 0.11671539071300706, 0.3172653256766647,
                       0.5230820908987206};
  double count[4] = {0};
  for (int i = 0; i < 50000; i++) {
    CHECK(dph_exponential_mechanism(&rng, score, 4, 1, &chosen, &err) == DPH_OK);
    count[chosen] += 1.0;
    fold(chosen);
  }
  CHECK(chi_square(count, p, 4, 50000.0) < 40.0);
}

static void test_quantile(void) {
  enum { N = 1000 };
  static double x[N];
  const uint64_t nan_bits = UINT64_C(0x7ff8000000000000);
  double out = 0.0, missing;
  dph_rng rng;
  dph_error err;
  dph_quantile_view a, b;
  dph_sorted s, r;
  memcpy(&missing, &nan_bits, sizeof missing);
  seed(&rng, 6);
  for (int i = 0; i < N; i++) {
    x[i] = i % 2;
  }
  for (int i = 0; i < 40; i++) {
    CHECK(dph_quantile(&rng, x, N, 0.3, 0.5, -DBL_MAX, DBL_MAX, &out, &err) == DPH_OK);
    CHECK(out == 0.0);
    CHECK(dph_quantile(&rng, x, N, 0.8, 0.5, -DBL_MAX, DBL_MAX, &out, &err) == DPH_OK);
    CHECK(out == 1.0);
  }
  for (int i = 0; i < 40; i++) { /* nothing present: any double between the ends */
    CHECK(dph_quantile(&rng, NULL, 0, 0.5, 1.0, -3.0, 5.0, &out, &err) == DPH_OK);
    CHECK(out >= -3.0 && out <= 5.0);
    CHECK(dph_quantile(&rng, &missing, 1, 1.0, 1.0, 7.0, 7.0, &out, NULL) == DPH_OK);
    CHECK(out == 7.0);
  }
  CHECK(dph_quantile(&rng, x, N, 1.5, 1.0, 0.0, 1.0, &out, &err) == DPH_ERR_ARGUMENT);
  CHECK(dph_quantile(&rng, x, N, 0.5, 0.0, 0.0, 1.0, &out, &err) == DPH_ERR_ARGUMENT);
  CHECK(dph_quantile(&rng, x, N, 0.5, 1.0, 1.0, 0.0, &out, &err) == DPH_ERR_ARGUMENT);
  CHECK(dph_quantile(&rng, x, N, missing, 1.0, 0.0, 1.0, &out, &err) == DPH_ERR_ARGUMENT);
  CHECK(dph_quantile(&rng, x, N, 0.5, 1.0, missing, 1.0, &out, &err) == DPH_ERR_ARGUMENT);
  /* one record becomes anything: the distance moves by at most one rank */
  const double inf = 2 * (double)DBL_MAX;
  const double odd[] = {-inf, -DBL_MAX, -1.0, -DBL_MIN / 8, -0.0,   0.0,
                        1e-320, 0.5,    1.0,  DBL_MAX,      inf, missing};
  const size_t odds = sizeof odd / sizeof odd[0];
  const double old = x[3];
  CHECK(dph_sorted_make(x, N, -DBL_MAX, DBL_MAX, &s, &err) == DPH_OK);
  for (size_t i = 0; i < odds; i++) {
    x[3] = odd[i];
    CHECK(dph_sorted_make(x, N, -DBL_MAX, DBL_MAX, &r, &err) == DPH_OK);
    for (size_t j = 0; j + 1 < odds; j++) {
      CHECK(dph_sorted_look(&s, 0.7, 0.9, odd[j], &a, &err) == DPH_OK);
      CHECK(dph_sorted_look(&r, 0.7, 0.9, odd[j], &b, &err) == DPH_OK);
      const int64_t d = (int64_t)a.distance - (int64_t)b.distance;
      const int64_t q = a.penalty - b.penalty;
      CHECK(d <= 1073741824 && -d <= 1073741824);
      CHECK((double)(q > 0 ? q : -q) <= floor(0.9 * 4294967296.0));
    }
    dph_sorted_free(&r);
  }
  x[3] = old;
  dph_sorted_free(&s);
  CHECK(dph_live() == 0);
}

/* v, m, p and round(v m / 2^p) = hi 2^64 + lo, from rational arithmetic. */
static void test_scale(void) {
  static const struct {
    double v;
    uint64_t m;
    int p;
    int64_t hi;
    uint64_t lo;
  } known[] = {
      {0.0, UINT64_C(1099511627776), 0, 0, 0},
      {-0.5, UINT64_C(1099511627776), 40, -1, UINT64_MAX},
      {2.5, UINT64_C(1099511627776), 40, 0, 3},
      {0.49999999999999994, UINT64_C(1099511627776), 40, 0, 0},
      {DBL_MIN * DBL_EPSILON, UINT64_C(2199023255551), -1034, 0, 2},
      {-1e12, UINT64_C(1100000000003), 11, INT64_C(-30), UINT64_C(0xe21c2d29e19d521a)},
      {3.141592653589793, UINT64_C(2000000000001), 3, 0, UINT64_C(785398163398)},
      {-9007199254740992.0, UINT64_C(1234567890123), -40, -(INT64_C(1) << 62), 0},
      {1e308, UINT64_C(1099511640121), 0, INT64_C(1) << 62, 0},
      {7.0, UINT64_C(1099511627777), 41, 0, 4},
      {2.0 * DBL_MAX, UINT64_C(1099511627776), 4000, INT64_C(1) << 62, 0}};
  dph_error err;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    const dph_multiplier by = {known[i].m, known[i].p};
    const dph_wide x = dph_scale(known[i].v, &by), y = dph_scale(-known[i].v, &by);
    CHECK(dph_multiplier_check(&by, &err) == DPH_OK);
    CHECK(x.hi == known[i].hi && x.lo == known[i].lo);
    CHECK(y.lo == UINT64_C(0) - x.lo && y.hi == -x.hi - (x.lo != 0));
    fold((uint64_t)x.hi);
    fold(x.lo);
  }
  const dph_multiplier unit = {UINT64_C(1) << 40, 40}, small = {1, 0};
  const dph_multiplier wild = {UINT64_C(1) << 40, 9999};
  CHECK(dph_multiplier_check(&small, &err) == DPH_ERR_ARGUMENT);
  CHECK(dph_multiplier_check(&wild, &err) == DPH_ERR_ARGUMENT);
  for (int e = -20; e <= 120; e++) {
    const double v = -ldexp(1.0 + ldexp(1.0, -20), e);
    const dph_wide x = dph_scale(v, &unit);
    CHECK(e < 20 || dph_unscale(x, &unit) == v);
    const dph_wide back = dph_wide_add(dph_wide_add(x, 1), -1);
    CHECK(back.hi == x.hi && back.lo == x.lo);
    CHECK(dph_wide_less(dph_wide_add(x, INT64_MIN), x));
    CHECK(dph_wide_less(x, dph_wide_add(x, INT64_MAX)));
    const dph_gap gap = dph_wide_gap(dph_wide_add(x, INT64_MAX), x);
    CHECK(gap.hi == 0 && gap.lo == (uint64_t)INT64_MAX);
  }
}

/* exp(-1), exp(-2) and exp(-64), cut off to 256 bits; the last error allowed is below
 * 2^-243. */
static void test_bucket(void) {
  static const uint32_t known[3][DPH_LIMBS] = {
      {0xa507daedu, 0x3024b9d0u, 0xb56c7733u, 0xda9805aau, 0x9054f90du, 0xbadec782u,
       0xb3bcdf1au, 0x5e2d58d8u, 0},
      {0xbcb21c09u, 0x9e1329cdu, 0xa28ac995u, 0xf0dd961du, 0x5a052ae3u, 0xb6edd5c2u,
       0x7f03973fu, 0x22a55547u, 0},
      {0x77e1bab2u, 0x1d820ca1u, 0x6940384bu, 0xf265d5f9u, 0xb4ea3990u, 0xcu, 0, 0, 0}};
  static const int at[3] = {1, 2, 64};
  dph_powers powers;
  dph_rng rng;
  dph_powers_make(&powers);
  for (int i = 0; i < 3; i++) {
    const uint32_t *power = powers.power[at[i]];
    const uint32_t last = power[0] > known[i][0] ? power[0] - known[i][0]
                                                 : known[i][0] - power[0];
    CHECK(memcmp(power + 1, known[i] + 1, 8 * sizeof power[0]) == 0 && last < 16);
    fold(power[0]);
  }
  CHECK(powers.power[0][DPH_LIMBS - 1] == 1 && powers.power[0][0] == 0);
  uint32_t count[DPH_BUCKETS] = {3, 0, 20, 0, 0, 700};
  double seen[DPH_BUCKETS] = {0}, p[6], total = 0.0;
  seed(&rng, 8);
  for (int j = 0; j < 6; j++) {
    p[j] = count[j] * exp(-(double)j);
    total += p[j];
  }
  for (int i = 0; i < 100000; i++) {
    seen[dph_bucket_choose(&rng, &powers, count)] += 1.0;
  }
  const double three[3] = {p[0] / total, p[2] / total, p[5] / total};
  const double hits[3] = {seen[0], seen[2], seen[5]};
  CHECK(chi_square(hits, three, 3, 100000.0) < 35.0);
  CHECK(seen[0] + seen[2] + seen[5] == 100000.0);
  /* the last bucket, which no true weight lets us see, made as heavy as the first */
  memcpy(powers.power[64], powers.power[0], sizeof powers.power[0]);
  count[2] = count[5] = 0;
  count[64] = 3;
  int last_bucket = 0;
  for (int i = 0; i < 10000; i++) {
    last_bucket += dph_bucket_choose(&rng, &powers, count) == 64;
  }
  CHECK(last_bucket > 4700 && last_bucket < 5300);
}

typedef dph_status selection(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                             const dph_poll *poll, dph_error *err);

/* First of two rounds on scores 0, 1, 2, 2.5 (reference values), the rest in order
 * where scores are far apart. */
static void select_law(selection *select, int which) {
  static const double p[3][4] = {
      {0.04293719271160759, 0.11671539071300706, 0.3172653256766647, 0.5230820908987206},
      {0.03061779781403657, 0.08688234276484397, 0.2733373543004241, 0.6091625051206954},
      {0.03620905109803201, 0.10542820179670007, 0.3195369475227861, 0.5388257995824818}};
  const dph_multiplier unit = {UINT64_C(1) << 40, 10}; /* times 2^30 */
  const double near[4] = {0.0, 1.0, 2.0, 2.5}, apart[4] = {-1e300, 1e25, 3e30, -70.0};
  uint32_t chosen[4];
  dph_rng rng;
  dph_error err;
  double count[4] = {0}, alone[4] = {0};
  dph_choice choice = {near, 4, unit, 4, 2, 30}, one = {near, 4, unit, 4, 1, 30};
  seed(&rng, (unsigned char)(100 + which));
  for (int i = 0; i < 50000; i++) {
    CHECK(select(&rng, &choice, chosen, NULL, &err) == DPH_OK && chosen[0] != chosen[1]);
    count[chosen[0]] += 1.0;
    fold(chosen[0]);
    fold(chosen[1]);
    CHECK(select(&rng, &one, chosen, NULL, &err) == DPH_OK);
    alone[chosen[0]] += 1.0;
    fold(chosen[0]);
  }
  CHECK(chi_square(count, p[which], 4, 50000.0) < 40.0);
  CHECK(chi_square(alone, p[which], 4, 50000.0) < 40.0);
  choice.value = one.value = apart;
  CHECK(select(&rng, &one, chosen, NULL, &err) == DPH_OK && chosen[0] == 2);
  choice.s = 4;
  CHECK(select(&rng, &choice, chosen, NULL, &err) == DPH_OK);
  CHECK(chosen[0] == 2 && chosen[1] == 1 && chosen[2] == 3 && chosen[3] == 0);
  int stop = 1;
  const dph_poll poll = {poll_yes, &stop};
  CHECK(select(&rng, &choice, chosen, &poll, &err) == DPH_ERR_INTERRUPT);
  one.stored = 3;
  CHECK(select(&rng, &one, chosen, NULL, &err) == DPH_ERR_ARGUMENT);
  one.stored = 2; /* -1e300, 1e25, 1e300, -1e25 */
  CHECK(select(&rng, &one, chosen, NULL, &err) == DPH_OK && chosen[0] == 2);
  choice.s = 5;
  CHECK(select(&rng, &choice, chosen, NULL, &err) == DPH_ERR_ARGUMENT);
  choice.s = 0;
  CHECK(select(&rng, &choice, chosen, NULL, &err) == DPH_ERR_ARGUMENT);
  choice.s = 1;
  choice.k = DPH_RANK_MAX_K + 1;
  CHECK(select(&rng, &choice, chosen, NULL, &err) == DPH_ERR_ARGUMENT);
  CHECK(dph_live() == 0);
}

/* Many rounds on many scores: every item once, the sums of the digest. */
static void select_all(selection *select) {
  enum { M = 3000 };
  static double score[M];
  static uint32_t chosen[M], seen[M];
  const dph_multiplier unit = {UINT64_C(1) << 40, 10};
  dph_rng rng;
  dph_error err;
  seed(&rng, 120);
  memset(seen, 0, sizeof seen);
  for (int i = 0; i < M; i++) {
    const double u = (double)(i * 7919 % M) / 16;
    score[i] = i % 50 == 0 ? u * 1e20 : u;
  }
  const dph_choice choice = {score, M, unit, M, M, 30};
  CHECK(select(&rng, &choice, chosen, NULL, &err) == DPH_OK);
  int once = 1;
  for (int i = 0; i < M; i++) {
    once &= ++seen[chosen[i]] == 1;
    fold(chosen[i]);
  }
  CHECK(once);
}

static void test_selections(void) {
  static selection *const all[3] = {dph_rank_top, dph_flip_top, dph_noisy_top};
  for (int which = 0; which < 3; which++) {
    select_law(all[which], which);
    select_all(all[which]);
  }
}

/* One product g = psi z through an element. */
static double element_of(dph_element element, double psi, double z,
                         const dph_element_rule *rule) {
  static double block[DPH_BLOCK], weight[DPH_BLOCK];
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    block[i] = z;
    weight[i] = psi;
  }
  element(block, weight, rule);
  for (size_t i = 1; i < DPH_BLOCK; i++) {
    CHECK(block[i] == block[0]);
  }
  return block[0];
}

static void test_elements(void) {
  static const double table[4] = {0.0, 0.4, 0.6, 0.8};
  static const double far[] = {1.0, 3.0, 1e9, 1e154, 1e300, DBL_MAX};
  const double most = 2.0 * sqrt(2.0) / 3.0;
  const dph_element_rule rule = {2.0, table, 4};
  CHECK(element_of(dph_element_plain, -3.0, 5.0, &rule) == -15.0);
  CHECK(element_of(dph_element_winsorize, 1.0, 2.0, &rule) == 2.0);
  CHECK(element_of(dph_element_winsorize, -1.0, 1.5, &rule) == -1.5);
  CHECK(element_of(dph_element_truncate, 1.0, -2.0, &rule) == -2.0);
  CHECK(element_of(dph_element_truncate, 1.0, 2.0000001, &rule) == 0.0);
  CHECK(fabs(element_of(dph_element_catoni, 1.0, 2.0, &rule) - 5.0 / 3.0) < 1e-15);
  CHECK(element_of(dph_element_catoni, 0.0, 7.0, &rule) == 0.0);
  /* t = 1 lies half way, at the middle value */
  CHECK(fabs(element_of(dph_element_catoni_smooth, -1.0, 2.0, &rule) + 0.8) < 1e-15);
  CHECK(fabs(element_of(dph_element_catoni_smooth, 2.0, 3.0, &rule) - 1.0) < 1e-15);
  for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
    for (double psi = 2.0; psi < 1e301; psi *= 1e150) { /* products beyond DBL_MAX, too */
      CHECK(element_of(dph_element_winsorize, psi, far[i], &rule) == 2.0);
      CHECK(element_of(dph_element_winsorize, -psi, far[i], &rule) == -2.0);
      CHECK(element_of(dph_element_truncate, psi, far[i], &rule) ==
            (psi * far[i] > 2.0 ? 0.0 : psi * far[i]));
      const double phi = element_of(dph_element_catoni, -psi, far[i], &rule);
      const double smooth = element_of(dph_element_catoni_smooth, psi, far[i], &rule);
      CHECK(phi >= -2.0 * most * (1.0 + 1e-15) && phi < 0.0);
      CHECK(smooth <= 1.2 && smooth > 0.0);
    }
  }
}

/* The median moves by no more than the one sum that moves, rounding included. */
static void test_groups(void) {
  enum { MOST = 5 };
  int64_t sums[MOST], out = 0, other = 0;
  int worse = 0;
  double plain[4] = {3.0, -1.0, 8.0, 0.5}, median = 0.0;
  int64_t odd[6] = {-4, -3, -7, 9, 1, 2}; /* two columns of three */
  int64_t two[2];
  dph_group_median(odd, 3, 2, two);
  CHECK(two[0] == -4 && two[1] == 2);
  int64_t even[4] = {-5, 20, -4, -20};
  dph_group_median(even, 4, 1, &out);
  CHECK(out == -5); /* floor(-4.5) */
  dph_group_median_plain(plain, 4, 1, &median);
  CHECK(median == 1.75);
  for (size_t groups = 1; groups <= MOST; groups++) {
    for (int code = 0; code < 7 * 7 * 7 * 7 * 7; code += 11) {
      for (int64_t move = -6; move <= 6; move++) {
        for (int again = 0; again < 2; again++) {
          int rest = code;
          for (size_t g = 0; g < groups; g++) {
            sums[g] = rest % 7 - 3 + (again && g == 0 ? move : 0);
            rest /= 7;
          }
          dph_group_median(sums, groups, 1, again ? &other : &out);
        }
        const int64_t size = move > 0 ? move : -move;
        worse += other - out > size || out - other > size;
      }
    }
  }
  CHECK(worse == 0);
}

/* Sums over a view, in groups, against sums written out; rows outside are not read. */
static void test_gradient(void) {
  enum { N = 700, SEEN = 300, P = 5, GROUPS = 3 };
  static double x[N * P], y[N], psi[N], norm[N];
  static int index[SEEN], group[N];
  const double zero[P] = {0}, one[P] = {1.0, 1.0, 1.0, 1.0, 1.0};
  const double weight[GROUPS] = {1.0, 0.5, 0.25};
  const double inf = 2 * (double)DBL_MAX;
  int64_t want[P][GROUPS] = {{0}}, sum[P * GROUPS], got[P];
  dph_gradient_work work;
  dph_error err;
  for (int i = 0; i < N; i++) {
    psi[i] = i % 7 - 3;
    group[i] = i % GROUPS;
    for (int j = 0; j < P; j++) {
      x[i + j * N] = (i * 31 + j * 17) % 64 - 32;
    }
  }
  for (int i = 0; i < SEEN; i++) {
    index[i] = (i * 277 + 5) % N;
  }
  dph_rows rows = {.x = x, .n = SEEN, .p = P, .stride = N, .index = index, .y = y,
                   .center = zero, .inv_scale = one, .y_inv_scale = 1.0, .threads = 1};
  dph_gradient_rule rule = {.psi = psi, .bound = 40.0, .psi_bound = inf, .step = 0.125,
                            .limit = 320.0, .groups = GROUPS, .group = group,
                            .group_weight = weight};
  rule.element.bound = rule.bound;
  rule.estimator = dph_estimator_find("truncated");
  CHECK(dph_estimator_find("mean") == NULL && rule.estimator != NULL);
  CHECK(dph_gradient_work_make(&rows, &work, &err) == DPH_OK);
  for (int i = 0; i < SEEN; i++) {
    for (int j = 0; j < P; j++) {
      const int at = index[i];
      const double g = psi[at] * x[at + j * N];
      want[j][group[at]] += fabs(g) <= 40.0 ? (int64_t)(g * 8.0 * weight[group[at]]) : 0;
    }
  }
  for (int again = 0; again < 2; again++) {
    CHECK(dph_gradient_statistic(&rows, norm, zero, &rule, NULL, &work, NULL, sum, got,
                                 &err) == DPH_OK);
    for (int j = 0; j < P; j++) {
      int64_t own[GROUPS];
      memcpy(own, want[j], sizeof own);
      dph_group_median(own, GROUPS, 1, &own[0]);
      CHECK(got[j] == own[0]);
      fold((uint64_t)got[j]);
    }
    for (int i = 0; i < N; i++) { /* records outside become anything */
      int seen = 0;
      for (int s = 0; s < SEEN; s++) {
        seen |= index[s] == i;
      }
      psi[i] = seen ? psi[i] : inf;
      y[i] = seen ? y[i] : inf;
      x[i] = seen ? x[i] : -inf;
      norm[i] = seen ? norm[i] : inf;
    }
  }
  const int64_t root[P * P] = {0};
  CHECK(dph_gradient_statistic(&rows, norm, zero, &rule, root, &work, NULL, sum, got,
                               &err) == DPH_ERR_ARGUMENT);
  rule.estimator = dph_estimator_find("clipped");
  CHECK(dph_gradient_sum(&rows, norm, zero, &rule, &work, NULL, sum, NULL, &err) ==
        DPH_ERR_ARGUMENT);
  dph_gradient_work_free(&work);
  CHECK(dph_live() == 0);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "refuse") == 0) {
    dph_error err;
    return dph_float_check(&err) == DPH_ERR_FLOAT ? 0 : 1;
  }
  test_base();
  test_float();
  test_chacha();
  test_entropy();
  test_below();
  test_noise();
  test_choose();
  test_quantile();
  test_scale();
  test_bucket();
  test_selections();
  test_elements();
  test_groups();
  test_gradient();
  printf("%d checks, %d failed, digest %016" PRIx64 "\n", checks, failures, digest);
  return failures == 0 ? 0 : 1;
}

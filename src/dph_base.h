/* Base of the core: status codes, errors, counted memory, polling, rounding.
 *
 * Every fallible function returns a dph_status and, if it fails, leaves a text
 * in the caller's dph_error (which may be NULL). No text holds a data value.
 * Nothing here prints, exits or jumps. */
#ifndef DPH_BASE_H_INCLUDED
#define DPH_BASE_H_INCLUDED

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define DPH_STATUS_LIST(X)           \
  X(DPH_OK, "ok")                    \
  X(DPH_ERR_ARGUMENT, "argument")    \
  X(DPH_ERR_MEMORY, "memory")        \
  X(DPH_ERR_OVERFLOW, "overflow")    \
  X(DPH_ERR_ENTROPY, "entropy")      \
  X(DPH_ERR_FLOAT, "floating point") \
  X(DPH_ERR_INTERRUPT, "interrupt")  \
  X(DPH_ERR_USER, "user function")

#define DPH_STATUS_ENUM(code, name) code,
typedef enum { DPH_STATUS_LIST(DPH_STATUS_ENUM) DPH_STATUS_COUNT } dph_status;
#undef DPH_STATUS_ENUM

typedef struct {
  dph_status code;
  char message[512];
} dph_error;

#define DPH_TRY(expr)                          \
  do {                                         \
    const dph_status dph_try_status_ = (expr); \
    if (dph_try_status_ != DPH_OK) {           \
      return dph_try_status_;                  \
    }                                          \
  } while (0)

#if defined(__GNUC__)
#define DPH_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define DPH_PRINTF(text, first)
#endif

/* Kernels, plain loops over a block, come twice where gcc, x86-64 and glibc meet: for
 * every processor, and for those with AVX2 (without fused multiply-add: each operation
 * rounds as ever). The loader takes the right one; both give the same bits. What a
 * kernel calls must be inlined to share in that. Not under the address sanitizer, which
 * is not ready yet when the loader chooses. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && \
    !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define DPH_KERNEL __attribute__((target_clones("avx2", "default")))
#else
#define DPH_KERNEL
#endif

#if defined(__GNUC__)
#define DPH_INLINE static inline __attribute__((always_inline))
#define DPH_PREFETCH(address) __builtin_prefetch((address), 0, 2)
#else
#define DPH_INLINE static inline
#define DPH_PREFETCH(address) ((void)0)
#endif

const char *dph_status_name(dph_status code);

/* Fills *err (unless NULL) and returns code. */
dph_status dph_fail(dph_error *err, dph_status code, const char *fmt, ...)
    DPH_PRINTF(3, 4);

/* *out = a * b, or DPH_ERR_OVERFLOW. */
dph_status dph_size_mul(size_t a, size_t b, size_t *out, dph_error *err);

/* Zeroed memory for count * size bytes (at least one). The number of live
 * blocks is counted: it must be 0 whenever the core has returned. To be called
 * from one thread only, never inside a parallel region. */
dph_status dph_alloc(void **out, size_t count, size_t size, dph_error *err);
void dph_free(void *p);
int64_t dph_live(void);

/* The caller's interrupt check; poll may be NULL. A nonzero return of poll
 * becomes DPH_ERR_INTERRUPT and the core leaves by its own door. */
typedef struct {
  int (*poll)(void *user);
  void *user;
} dph_poll;

dph_status dph_check_poll(const dph_poll *poll, dph_error *err);

/* Refuses a build or a process in which the rounding and the comparisons that
 * the sensitivity proofs stand on do not hold (-ffast-math and its parts, a
 * rounding mode other than to nearest). Cheap: call it at load and per fit. */
dph_status dph_float_check(dph_error *err);

/* Nearest integer to v, ties to even, for |v| <= 2^51. */
static inline double dph_round(double v) {
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
  const double magic = 6755399441055744.0; /* 1.5 * 2^52 */
  return (v + magic) - magic;
#else
  return rint(v);
#endif
}

/* The 128-bit product a * b = hi * 2^64 + lo. */
static inline void dph_mul_wide(uint64_t a, uint64_t b, uint64_t *hi, uint64_t *lo) {
  const uint64_t low = UINT64_C(0xffffffff);
  const uint64_t a0 = a & low, a1 = a >> 32, b0 = b & low, b1 = b >> 32;
  const uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
  const uint64_t mid = (p00 >> 32) + (p01 & low) + (p10 & low);
  *hi = p11 + (p01 >> 32) + (p10 >> 32) + (mid >> 32);
  *lo = (p00 & low) | (mid << 32);
}

#endif

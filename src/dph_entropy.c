/* getentropy() is hidden by -std=c99 unless asked for; on the BSDs and macOS
 * it is visible as long as no POSIX level is requested. */
#if !defined(_WIN32) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1
#endif

#include "dph_entropy.h"

#if defined(_WIN32)
#include <windows.h>
/* after windows.h */
#include <bcrypt.h>
#else
#include <unistd.h>
#if defined(__APPLE__) || defined(__sun)
#include <sys/random.h>
#endif
#endif

static int os_fill(unsigned char *buffer, size_t bytes) {
#if defined(_WIN32)
  return BCryptGenRandom(NULL, (PUCHAR)buffer, (ULONG)bytes,
                         BCRYPT_USE_SYSTEM_PREFERRED_RNG) == 0;
#else
  return getentropy(buffer, bytes) == 0;
#endif
}

dph_status dph_os_key(unsigned char key[32], dph_error *err) {
  if (!os_fill(key, 32)) {
    return dph_fail(err, DPH_ERR_ENTROPY,
                    "the operating system's random generator is not available");
  }
  return DPH_OK;
}

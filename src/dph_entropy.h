/* A fresh key from the operating system's random generator.
 *
 * 32 bytes per call, no state, so forked children and restored sessions never
 * share one. A failing system call is DPH_ERR_ENTROPY: there is no fallback. */
#ifndef DPH_ENTROPY_H_INCLUDED
#define DPH_ENTROPY_H_INCLUDED

#include "dph_base.h"

dph_status dph_os_key(unsigned char key[32], dph_error *err);

#endif

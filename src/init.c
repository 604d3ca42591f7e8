/* Registration: every entry with its number of arguments, dynamic look-up off,
 * symbols forced, so that R code reaches them only as C_<name>. */
#define R_NO_REMAP
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#include "dph_threads.h"
#include "r_accountant.h"
#include "r_mechanism.h"
#include "r_noise.h"
#include "r_release.h"

#define ENTRY(name, args) {#name, (DL_FUNC)&r_##name, args}

static const R_CallMethodDef entries[] = {
    ENTRY(bernoulli_exp, 4),
    ENTRY(chacha_block, 2),
    ENTRY(choose_exponential, 4),
    ENTRY(column_complete, 5),
    ENTRY(column_sums, 5),
    ENTRY(core_live, 0),
    ENTRY(count_coordinates, 8),
    ENTRY(count_equal, 8),
    ENTRY(count_octaves, 7),
    ENTRY(count_sizes, 10),
    ENTRY(draw_noise, 4),
    ENTRY(float_check, 0),
    ENTRY(gradient, 6),
    ENTRY(loss, 5),
    ENTRY(margins, 3),
    ENTRY(moments, 7),
    ENTRY(permutation, 2),
    ENTRY(pgd, 6),
    ENTRY(quantile_release, 6),
    ENTRY(quantile_scores, 6),
    ENTRY(range_compose, 4),
    ENTRY(release_vector, 5),
    ENTRY(row_norms, 3),
    ENTRY(select_top, 8),
    ENTRY(sparse_coordinates, 8),
    ENTRY(sparse_gradient, 6),
    ENTRY(sparse_margins, 3),
    ENTRY(sparse_norms, 1),
    ENTRY(sparse_sound, 1),
    ENTRY(threads_max, 0),
    ENTRY(unit_gradients, 4),
    ENTRY(weighted_moments, 8),
    {NULL, NULL, 0},
};

void R_init_dpheavy(DllInfo *dll);

void attribute_visible R_init_dpheavy(DllInfo *dll) {
  dph_threads_init();
  R_registerRoutines(dll, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}

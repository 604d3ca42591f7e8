# Words that are in no dictionary stand in inst/WORDLIST; spelling::update_wordlist() adds new ones.
# Not on CRAN, and not where package spelling is missing.
if (requireNamespace("spelling", quietly = TRUE)) {
  spelling::spell_check_test(vignettes = TRUE, error = TRUE, skip_on_cran = TRUE)
}

# Reference levels of factors, which have no column: is there enough of them? All of it is
# post-processing of the released second moments.

# Factors that enter by themselves, coded by dummy columns beside an intercept: their label, the
# reference level, and their columns in x.
coded_factors <- function(schema) {
  if (!isTRUE(as.logical(schema$intercept))) {
    return(list())
  }
  factors <- lapply(schema$design, function(term) {
    variable <- schema$variables[[term$variables[[1L]]]]
    if (length(term$variables) != 1L || term$code != 1L ||
      !identical(variable$contrast, "treatment")) {
      return(NULL)
    }
    levels <- variable$signature$levels
    list(label = variable$label, level = levels[[1L]],
         columns = term$first + seq_along(levels[-1L]) - 1)
  })
  Filter(length, factors)
}

# The factors whose reference level does not stand out of the noise. Its share is what the columns
# that were found leave; that of a column is read from its second moment and from its product with
# the intercept, which agree for an indicator.
lost_references <- function(noisy, schema, columns) {
  if (noisy$sd == 0) {
    return(list())
  }
  moments <- noisy$moments
  weight <- c(noisy$diagonal_sd, noisy$sd)^-2
  Filter(function(coded) {
    own <- coded$columns
    # of scales that the caller gave nothing is known
    if (any(columns$center[own] != 0 | columns$scale[own] != 1)) {
      return(FALSE)
    }
    at <- 1 + own[columns$found[own]]
    share <- (weight[[1L]] * diag(moments)[at] + weight[[2L]] * moments[1L, at]) / sum(weight)
    sd <- sqrt(noisy$diagonal_sd^2 + length(at) / sum(weight))
    moments[1L, 1L] - sum(share) < 4 * sd
  }, coded_factors(schema))
}

# A released fact.
warn_lost_references <- function(lost) {
  if (length(lost) > 0L) {
    one <- lost[[1L]]
    dp_warn(paste0(
      "the reference level `", one$level, "` of `", one$label, "`",
      if (length(lost) > 1L) sprintf(" (and those of %d more)", length(lost) - 1L),
      " cannot be told from noise (too few rows for this epsilon): the intercept and the ",
      "coefficients of the other levels may be far off; let a common level be the reference, ",
      "relevel(x, ref = )."
    ), "dp_dominated")
  }
}

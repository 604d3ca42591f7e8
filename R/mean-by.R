#' Private means by group
#'
#' `dp_mean(x, by = g, ...)`: the winsorised mean of each group of rows, and the size of each group.
#' A row belongs to one group, so that all groups together cost what one costs.
#'
#' The levels of `by` are the caller's declaration and public, whether or not a row has them: write
#' them out, `factor(g, levels = c("a", "b", "c"))`, for levels read from the data would be released
#' as they are. A character or numeric vector is refused for that reason. Which rows belong to which
#' level, and how many, is private: sizes are released with noise.
#'
#' Each group has limits of its own, found as those of [dp_mean()] without groups: with some 1500 to
#' 3000 / epsilon rows or more it is found wherever it lies and whatever its unit. A smaller group
#' is winsorised at limits found from all rows together, if few of its values seem to lie
#' beyond them and noise is smaller than the spread of all rows. Otherwise its mean is `NA`, with a
#' warning of class `dp_dominated`, which is a function of released numbers. So is the `NA` of an
#' empty level. Groups of some hundred rows have means where groups differ by no more than the
#' values within them do; join levels, or give `bound`, for smaller ones.
#'
#' Within its limits a value is shared out between the two, as weights are on a lever: u to the
#' upper and 1 - u to the lower limit. The two sums, with noise, give the size of the group (their
#' sum) and its mean (their balance), at the noise of one of them.
#'
#' With a public `bound` there is one such release and no search. `by` goes with method
#' `"winsorized"`, with several columns and with `interval`, not with the other methods or
#' `sparsity`. With one level this is `dp_mean()` of the rows, whose number is public.
#'
#' @param x,object A fit by `dp_mean(by = )`.
#' @param row.names,optional As in [as.data.frame()].
#' @param digits Significant digits to print.
#' @param conf.int,conf.level,level Whether to add the ends of intervals; the confidence level.
#' @param ... Not used; of `plot()`: arguments of [graphics::dotchart()].
#'
#' @return A fit of class `dp_mean_by` and `dp_mean`: see [dp_mean()] for `coefficients`, `limits`,
#'   `noise_sd`, `errors`, `bias` and `found`, with an entry or a row per level, named by it; for a
#'   matrix or data frame per level and column, named `"level:column"`, the columns of a level
#'   following one another. Further
#' \describe{
#'   \item{sizes, size_sd}{released sizes of the groups (of the values that are not missing), which
#'     may be below zero, and the standard deviations of their noise; with one level the public
#'     number of rows, unless `na.rm = TRUE`.}
#'   \item{shared}{whether a group was winsorised at the limits of all rows.}
#'   \item{levels, columns}{names of the groups and of the columns.}
#' }
#' `as.data.frame()`, `tidy()`: one row per level (and column): `level`, `column` (if x has
#' several), `term`, `estimate`, `std.error`, `size`, `size.sd`, and the ends of intervals where
#' asked for.
#' `vcov()` is zero between levels, which share no rows and no noise, and `NA` between columns.
#' `plot()` draws the means with their intervals, a panel per column, and returns the fit invisibly.
#'
#' @section Privacy:
#' Neighbours differ in one row, in its value, its level, or both; n, the levels and the number of
#' columns are public. A row that is replaced changes within its group, or leaves one group and
#' enters another. What each release, of all groups together, then moves by: *Medians:* the
#' exponential mechanism; the distance of a rank from m/2 moves by at most 1 when one of the m
#' values of a group is replaced, by 1/2 when one comes or goes, so that the log-odds of any two
#' outcomes of all medians together move as those of one group. *Counts:* a row moves from one cell
#' to another, of the same table or of two: 2 d in l1, sqrt(2 d) in l2. *Sizes and means:* a row
#' adds to the sums of its group non-negative integers of total at most K + 1 per column, where K
#' stands for a whole row; the difference of two such rows, of one group or of two, is at most
#' 2 (K + 1) d in l1 and sqrt(2 d) (K + 1) in l2. *Second moments* (`interval`): integers within
#' half a range, 1 range per column. One median and one table more are those of all rows.
#' So neither cost nor noise grows with the number of groups, which decides only, with n, how the
#' budget is shared out.
#' @seealso [dp_mean()], [dp_intervals]
#' @references
#' McSherry, F. (2009). Privacy integrated queries. *SIGMOD*, 19-30. \doi{10.1145/1559845.1559850}
#' (parallel composition; there neighbours add or remove a row)
#' @examples
#' fit <- dp_mean(cps1988$wage, by = cps1988$region, epsilon = 1)
#' fit
#' confint(fit)
#' plot(fit)
#' fit <- dp_mean(cps1988[c("wage", "education")], by = cps1988[c("region", "smsa")], epsilon = 2)
#' head(as.data.frame(fit))
#' @name dp_mean_by
NULL

# More levels than this are a mistake.
MOST_GROUPS <- 1e6

check_by_goes <- function(method, sparsity) {
  if (method != "winsorized" || !is.null(sparsity)) {
    dp_abort(paste(
      "`by` goes with method \"winsorized\" and without `sparsity`: leave out one of them."
    ))
  }
}

# Public: the levels. Private: `code`, the group of each row from 1, NA where missing.
read_by <- function(by, n) {
  if (is.list(by) && !is.object(by) || is.data.frame(by)) {
    return(read_combinations(by, n))
  }
  one <- read_factor(by, "`by`")
  if (length(one$code) != n) dp_abort("`by` must have one entry per row of `x`.")
  one
}

# Names of combinations: "a:b", the last factor running fastest.
read_combinations <- function(by, n) {
  if (length(by) == 0L) dp_abort("`by` is an empty list: give one or more factors.")
  parts <- lapply(unname(as.list(by)), read_factor, what = "each part of `by`")
  if (!all(lengths(lapply(parts, `[[`, "code")) == n)) {
    dp_abort("`by` must have one entry per row of `x`, in each of its parts.")
  }
  if (prod(lengths(lapply(parts, `[[`, "levels"))) > MOST_GROUPS) abort_many_groups()
  out <- parts[[1L]]
  for (part in parts[-1L]) {
    out <- list(
      code = (out$code - 1L) * length(part$levels) + part$code,
      levels = paste(rep(out$levels, each = length(part$levels)), part$levels, sep = ":")
    )
  }
  out$code <- as.integer(out$code)
  out
}

abort_many_groups <- function() {
  dp_abort(sprintf("`by` has more than %.0f levels: join some.", MOST_GROUPS))
}

read_factor <- function(by, what) {
  if (is.logical(by) && is.null(dim(by))) {
    return(list(code = as.integer(by) + 1L, levels = c("FALSE", "TRUE")))
  }
  if (!is.factor(by) || !is.null(dim(by))) {
    dp_abort(paste(
      what, "must be a factor with declared levels, or logical. Levels are public: write them out,",
      "by = factor(g, levels = c(...)), and do not read them from the data."
    ))
  }
  levels <- levels(by)
  if (length(levels) == 0L) dp_abort(paste(what, "has no levels."))
  if (length(levels) > MOST_GROUPS) abort_many_groups()
  levels[is.na(levels)] <- "NA"
  code <- as.integer(unclass(by))
  # of a factor that was put together by hand
  code[is.na(code) | code < 1L | code > length(levels)] <- NA_integer_
  list(code = as.vector(code), levels = make.unique(levels))
}

mean_by <- function(x, by, schema, epsilon, delta, bound, na_rm, interval, budget, control) {
  by <- read_by(by, schema$n)
  groups <- length(by$levels)
  bound <- check_bound(if (is.null(bound) && schema$logical) c(0, 1) else bound, schema)
  plan <- if (groups == 1L) {
    plan_mean(schema$n, schema$d, epsilon, delta, !is.null(bound), na_rm, budget, interval)
  } else {
    plan_mean_by(schema$n, schema$d, groups, epsilon, delta, !is.null(bound), budget, interval)
  }
  warn_large_delta(delta, schema$n)
  check_complete(x, na_rm)
  if (!na_rm && anyNA(by$code)) {
    abort_missing("`by` has missing values", "na.rm = TRUE (such rows are then left out)")
  }
  ledger_charge(budget, plan$events, epsilon, delta, "dp_mean")
  values <- mean_values(x, schema)
  fit <- if (groups == 1L) {
    one_group(values, by, plan, bound, control)
  } else {
    fit_mean_by(values, by, plan, bound, control)
  }
  privacy <- new_privacy(epsilon, delta, plan$events, rng = control$rng,
                         calibration = control$calibration)
  new_mean_by(fit, by$levels, schema, privacy, plan$kind, !is.null(bound))
}

# All rows in use are in the one group: n is public, or counted as by dp_mean().
one_group <- function(x, by, plan, bound, control) {
  if (anyNA(by$code)) x[is.na(by$code), ] <- NA_real_
  fit <- fit_mean(x, plan, bound, control)
  list(
    coefficients = fit$coefficients, noise_sd = fit$noise_sd, sizes = fit$count,
    size_sd = fit$count_sd, errors = fit$errors, found = fit$found, lower = fit$limits[, 1L],
    upper = fit$limits[, 2L], shared = rep(FALSE, length(fit$found)),
    bias_lower = fit$bias[, 1L], bias_upper = fit$bias[, 2L]
  )
}

# From groups x columns to one entry per level and column, the columns of a level together.
new_mean_by <- function(fit, levels, schema, privacy, kind, bounded) {
  one <- schema$d == 1L && identical(schema$names, "mean")
  names <- if (one) levels else
    paste(rep(levels, each = schema$d), schema$names, sep = ":")
  flat <- function(v) stats::setNames(as.vector(if (is.matrix(v)) t(v) else v), names)
  pair <- function(a, b, columns) {
    matrix(c(flat(a), flat(b)), ncol = 2L, dimnames = list(names, columns))
  }
  errors <- if (is.null(fit$errors)) {
    pair(fit$spread / sqrt(fit$count), fit$noise_sd, c("sampling", "privacy"))
  } else {
    pair(fit$errors[, 1L], fit$errors[, 2L], c("sampling", "privacy"))
  }
  found <- flat(fit$found)
  known <- function(v) {
    if (is.matrix(v)) v[!found, ] <- NA_real_ else v[!found] <- NA_real_
    # the spread of values near the largest there are
    replace(v, is.nan(v), NA_real_)
  }
  out <- new_dp_fit(
    "mean", known(flat(fit$coefficients)), schema$n, privacy,
    limits = known(pair(fit$lower, fit$upper, c("lower", "upper"))),
    noise_sd = known(flat(fit$noise_sd)), found = found, method = "winsorized", noise = kind,
    errors = known(errors), bias = known(pair(fit$bias_lower, fit$bias_upper,
                                              c("lower", "upper"))),
    sizes = flat(fit$sizes), size_sd = flat(fit$size_sd), shared = flat(fit$shared) & found,
    levels = levels, columns = if (one) NULL else schema$names
  )
  class(out) <- c("dp_mean_by", class(out))
  warn_groups_not_found(out, bounded)
  warn_limits_collapsed(out$limits, found, names)
  out
}

# Released facts: `found` is a function of noisy counts.
warn_groups_not_found <- function(fit, bounded) {
  lost <- names(fit$found)[!fit$found]
  if (length(lost) == 0L) {
    return(invisible())
  }
  dp_warn(if (identical(fit$privacy$epsilon, Inf)) {
    paste0("no values in ", listed(lost), ": NA is returned.")
  } else {
    paste0(
      "the mean of ", listed(lost), " could not be told from noise: NA is returned. Too few rows ",
      "for this epsilon", if (bounded) ": join levels, or give a larger `epsilon`." else
        ", or too far from the others: join levels, give `bound`, or a larger `epsilon`."
    )
  }, "dp_dominated")
}

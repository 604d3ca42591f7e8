#' Private means of heavy-tailed data
#'
#' The mean of each column, winsorised at private limits, with noise. No bound on the data
#' and no knowledge of their location, unit or tails is needed.
#'
#' Each column is centred at a private median. Noisy counts of the binary exponents of the
#' distances from it give the limits: the point beyond which so few records are expected
#' that their bias equals the noise. Values beyond a limit count as the limit, so that
#' infinite values are allowed. A group of fewer than about 400 / epsilon rows that lies far
#' from the rest cannot be told from noise, and is cut off with the tail.
#'
#' With `delta = 0` the noise is discrete Laplace noise and the guarantee pure. With `delta > 0`
#' Laplace or Gaussian noise is taken, whichever is smaller for this number of columns: Laplace
#' for one, Gaussian for many.
#'
#' Three more methods take a public bound on a moment, `moment = moment_bound(1 + v, u)` with
#' E|x|^(1+v) <= u in each column, or the level itself as `bound` (one positive number), and
#' spend the whole budget on one release. They do not look for the location of the data, so that
#' they do well only where the mean is not much larger than the spread.
#' * `"truncated"` (Tao et al., Algorithm 1): values beyond B count as zero. The level balances
#'   u B^-v, the bias, against noise and deviation; with `calibration = "paper"` it is
#'   B = (u n epsilon / sqrt(d log(1/delta)))^(1/(1+v)) and the noise N(0, 8 d B^2 log(1.25/delta) /
#'   (n epsilon)^2).
#' * `"median_of_means"` (Algorithm 3): the median of the means of m groups of truncated values;
#'   m = 2 log(2 d / xi), in the paper 4 log(2 d / xi), rounded up, and the paper's
#'   tau = (u epsilon n / d^1.5)^(1/(1+v)). Noise goes with the smallest group, where the paper has
#'   n/m. It costs m times the noise of `"truncated"`.
#' * `"catoni"` (Hu et al.'s one-dimensional estimator): s phi(x / s), see [grad_catoni()], with
#'   smoothing for finite `beta`; needs a second moment. `calibration = "paper"`: Laplace noise for
#'   the range 4 sqrt(2) s / (3 n) whatever beta is, s = sqrt(u n epsilon / log(d / xi)).
#'
#' *Sparse means* (`sparsity = s`): for many columns most of whose means are zero, each column
#' being taken about zero. Values count up to a level that is found privately (or follows from
#' `moment`, or is `bound`), the s columns with the largest sums are chosen privately, and their
#' means released as above, at limits of their own; all others are zero. A choice costs the
#' logarithm of d where the means of all columns cost its root. The other methods, and columns whose
#' limits cannot be told from noise, add noise to the chosen sums instead. With `delta > 0` Laplace
#' noise and pure choices are taken for very few columns. `calibration = "paper"` (for methods
#' `"truncated"` and `"catoni"`) is the peeling of Cai, Wang and Zhang (2021), with Laplace noise of
#' scale 2 lambda sqrt(3 s log(1/delta)) / epsilon. Which columns are chosen is itself noisy, and
#' chosen means are on average larger than the true ones.
#'
#' @param x Numeric (or integer, logical) vector, matrix or data frame: n rows, d columns; with
#'   `sparsity` also a `dgCMatrix` of package Matrix, which is never made dense.
#' @param epsilon Positive number. `Inf` gives the plain mean by the same code (not
#'   private).
#' @param delta Number, 0 <= delta < 1, well below 1/n.
#' @param bound Public bounds in the units of x: `c(lower, upper)` for all columns, one
#'   positive number b for `c(-b, b)`, or a matrix with a row c(lower, upper) for each column.
#'   Values outside count as the bound. `NULL`: c(0, 1) for logical x, else found privately.
#' @param moment A bound made by [moment_bound()], for the other methods only.
#' @param ... Not used; a misspelt argument is an error.
#' @param by Groups, one entry per row of x: a factor, whose levels are public, or a logical vector;
#'   a list or data frame of these stands for their combinations. See [dp_mean_by]. `NULL`: no
#'   groups.
#' @param method `"winsorized"`, `"truncated"`, `"median_of_means"` or `"catoni"`.
#' @param beta Positive number or `Inf`, for `"catoni"`: smoothing, see [grad_catoni()].
#' @param sparsity Whole number: how many means are released, the others being zero; `NULL`: all.
#' @param na.rm `FALSE`: a missing value is refused (for the data holder's eyes only: do not
#'   publish the refusal). `TRUE`: missing values add zero and the sum is divided by a private
#'   count, which takes a twentieth of the budget.
#' @param interval `TRUE`: with a public `bound`, 3 % of the budget is spent on the variance, for
#'   standard errors and intervals; without a bound they cost nothing. See [dp_intervals].
#' @param unit Whose rows are whose, where one person may have several: a vector with one value per
#'   row (or a formula that names variables, `~ id`). The guarantee is then for whole units, see
#'   [dp_units]. `NULL`: it is for one row.
#' @param unit_weight `"sum"`: the mean over rows, a unit counting as at most `max_rows` of them
#'   (method `"winsorized"` without `sparsity`); `"mean"`: that of the units' means.
#' @param max_rows Number from 1 on, public; `NULL`: the 0.9 quantile of the rows per unit, found
#'   privately.
#' @param budget A ledger made by [privacy_budget()], charged before values are read.
#' @param control Settings made by [dp_control()].
#'
#' @return An object of class `dp_mean`, a list with
#' \describe{
#'   \item{coefficients}{the means, in the units of x; see [coef()].}
#'   \item{limits}{matrix with columns lower and upper: released or public winsorising
#'     limits; for the other methods what a value counts as at most.}
#'   \item{noise_sd}{standard deviation of the noise of each mean (public, given the
#'     limits).}
#'   \item{errors, bias}{of each mean the sampling and the privacy part of the standard error, and
#'     what values beyond the limits may take from or add to it: see [dp_intervals].}
#'   \item{found}{whether limits could be told from noise; if not, the mean is NA, with a
#'     warning.}
#'   \item{selected}{with `sparsity`, the names of the chosen columns in the order of choice.}
#'   \item{n, privacy}{public number of rows; see [privacy()].}
#' }
#'
#' @section Privacy:
#' Neighbours differ in one row; n and the number of columns are public. *Median:*
#' exponential mechanism over all doubles, utility of sensitivity 1. *Counts:* a row
#' moves from one cell to another in each column, 2 d in l1 and sqrt(2 d) in l2. *Sums:* integers
#' clamped to half the range, so that a row changes each sum by at most the range, d in
#' l1 and sqrt(d) in l2 in units of the ranges. All sums are exact integer sums, the noise
#' is exact discrete Laplace or Gaussian noise, and the epsilons add up (Laplace) or
#' compose by zero-concentrated differential privacy (Gaussian; exactly with `bound`).
#' *Sparse means:* all values together move from cells to cells, d in each of two; the choice is
#' the exponential mechanism (permute-and-flip where all releases are pure) on absolute values of
#' exact integer sums, of which a row moves each by at most 2 tau; their means as above, or with
#' noise for 2 tau s in l1, 2 tau sqrt(s) in l2. *Other methods:* each value adds an integer within
#' +-B (tau, s M), so that a row changes each sum, or each median of the groups' sums, by at most
#' twice that: 2 B d in l1, 2 B sqrt(d) in l2, over n, or the size of the smallest group. The
#' groups do not look at the data. *Units:* see [dp_units]; with `unit_weight = "sum"` the median is
#' that of one row of each unit, what is summed are the units' sums about it, winsorised once, and
#' the mean of the rows that count, within 0 and `max_rows`, is released with noise of its own.
#'
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022 (Algorithm 1 truncates at a given
#' level; here values are winsorised at levels found privately; Algorithm 3).
#'
#' Hu, Ni, Xiao and Wang (2022). High Dimensional Differentially Private Stochastic Optimization
#' with Heavy-tailed Data. PODS 2022. \doi{10.1145/3517804.3524144}
#'
#' Cai, T. T., Wang, Y. and Zhang, L. (2021). The cost of privacy. *Annals of Statistics* 49,
#' 2825-2850. \doi{10.1214/21-AOS2058} (sparse means)
#'
#' Canonne, Kamath and Steinke (2020). The discrete Gaussian for differential privacy.
#' \doi{10.48550/arXiv.2004.00010}
#' @seealso [dp_quantile()], [privacy()]
#' @examples
#' fit <- dp_mean(danish$Total, epsilon = 1)
#' fit
#' coef(fit)
#' privacy(fit)
#' dp_mean(rnorm(1000), epsilon = 1, bound = c(-5, 5))
#' dp_mean(danish$Total, epsilon = 1, method = "catoni", moment = moment_bound(2, 100))
#' x <- matrix(rt(2000 * 100, 3), 2000)
#' x[, 1:2] <- x[, 1:2] + 1
#' dp_mean(x, epsilon = 1, delta = 1e-6, sparsity = 2)
#' @export
dp_mean <- function(x, epsilon, delta = 0, bound = NULL, moment = NULL, ..., by = NULL,
                    method = c("winsorized", "truncated", "median_of_means", "catoni"),
                    beta = Inf, sparsity = NULL, na.rm = FALSE, interval = FALSE, unit = NULL,
                    unit_weight = c("sum", "mean"), max_rows = NULL, budget = NULL,
                    control = dp_control()) {
  check_dots(..., known = COLUMNS_DOTS)
  method <- check_choice(method, "method", c("winsorized", ROBUST_MEANS))
  control <- check_control(control, if (method == "winsorized") "dp_mean", full = "dp_mean")
  epsilon <- check_epsilon(epsilon)
  delta <- check_delta(delta)
  na.rm <- check_flag(na.rm, "na.rm")
  interval <- check_flag(interval, "interval")
  check_mean_method(method, moment, bound, missing(beta), interval)
  x <- read_matrix(x, sparse = !is.null(sparsity))
  schema <- mean_schema(x)
  members <- mean_members(unit, unit_weight, max_rows, x, method, sparsity, by)
  if (!is.null(members)) schema$n <- members$count
  if (!is.null(by)) {
    check_by_goes(method, sparsity)
    return(mean_by(x, by, schema, epsilon, delta, bound, na.rm, interval, budget, control))
  }
  made <- prepare_mean(schema, epsilon, delta, bound, moment, method, beta, sparsity, na.rm,
                       interval, members, budget, control)
  plan <- made$plan
  warn_large_delta(delta, schema$n)
  check_complete(x, na.rm)
  check_member(members$code, na.rm)
  if (is_sparse(x)) check_sound(x)
  ledger_charge(budget, plan$events, epsilon, delta, booked_as("dp_mean", members))
  values <- mean_values(x, schema)
  fit <- made$fitter(values)
  warn_limits_not_found(fit$found, schema$names)
  warn_limits_collapsed(fit$limits, fit$found, schema$names)
  if (!is.null(sparsity)) warn_sparse_mean(fit)
  out <- new_dp_fit(
    "mean", fit$coefficients, schema$n,
    new_privacy(epsilon, delta, plan$events, rng = control$rng, calibration = control$calibration,
                unit = record_of(members)),
    limits = fit$limits, noise_sd = fit$noise_sd, found = fit$found, method = method,
    noise = plan$kind, errors = fit$errors, bias = fit$bias
  )
  if (!is.null(moment) && is.null(sparsity)) out$facts <- mean_facts(plan, moment, control)
  # in the order of choice
  if (!is.null(sparsity)) out$selected <- schema$names[fit$chosen]
  out
}

# The plan, from public facts, and what makes a fit of the values.
prepare_mean <- function(schema, epsilon, delta, bound, moment, method, beta, sparsity, na.rm,
                         interval, members, budget, control) {
  summed <- identical(members$rule$weight, "sum")
  missing <- na.rm || may_be_empty(members)
  records <- function(values) if (is.null(members)) values else unit_means(values, members)
  if (!is.null(sparsity)) {
    if (interval) dp_abort("`interval` does not go with `sparsity`: leave it out.")
    sparsity <- check_sparse_mean(sparsity, method, na.rm, bound, schema$d)
    plan <- plan_sparse_mean(schema$n, schema$d, sparsity, epsilon, delta, bound, moment, method,
                             beta, budget, control)
    fitter <- function(values) fit_sparse_mean(records(values), plan, control)
  } else if (method == "winsorized") {
    bound <- check_bound(if (is.null(bound) && schema$logical) c(0, 1) else bound, schema)
    reserve <- if (summed) mean_reserve(schema$n, members$rule) else no_reserve
    plan <- plan_mean(schema$n, schema$d, epsilon, delta, !is.null(bound), missing && !summed,
                      budget, interval, reserve)
    fitter <- function(values) {
      # of rows: a unit with one value far out would be lost otherwise
      if (!is.null(members) && !is.null(bound)) values <- clamp_columns(values, bound)
      if (summed) fit_mean_units(values, members, plan, bound, control) else
        fit_mean(records(values), plan, bound, control)
    }
  } else {
    plan <- plan_robust_mean(schema$n, schema$d, epsilon, delta, bound, moment, method,
                             beta, missing, budget, control)
    fitter <- function(values) fit_robust_mean(records(values), plan, control)
  }
  list(plan = plan, fitter = fitter)
}

check_mean_method <- function(method, moment, bound, no_beta, interval) {
  if (interval && method != "winsorized") {
    dp_abort("`interval` belongs to method \"winsorized\": the others have no intervals.")
  }
  if (method == "winsorized") {
    if (!is.null(moment)) {
      dp_abort("`moment` is not used by method \"winsorized\": leave it out.")
    }
  } else if (is.null(bound) == is.null(moment)) {
    dp_abort(sprintf(paste(
      "method \"%s\" needs `moment` = moment_bound(order, bound), or its level as `bound`,",
      "one of them; \"winsorized\" needs neither."
    ), method))
  } else if (!is.null(bound)) {
    check_number(bound, "bound", 1e-50, 1e50)
  } else {
    check_moment(moment, if (method == "catoni") "second" else "low")
  }
  if (method != "catoni" && !no_beta) dp_abort("`beta` belongs to method \"catoni\".")
}

# Public facts of x.
mean_schema <- function(x) {
  if (is_sparse(x)) {
    names <- colnames(x) %||% paste0("x", seq_len(ncol(x)))
    if (nrow(x) < 1L || ncol(x) < 1L) dp_abort("`x` has no rows or no columns.")
    return(list(n = nrow(x), d = ncol(x), names = names, logical = FALSE))
  }
  if (is.data.frame(x)) {
    ok <- vapply(x, is_number_column, NA)
    if (length(ok) == 0L || !all(ok)) {
      wrong <- paste0("`", names(x)[!ok], "`", collapse = ", ")
      dp_abort(paste0(
        "`x` must have numeric columns", if (any(!ok)) paste0("; not numeric: ", wrong), "."
      ))
    }
  } else if (!(is.numeric(x) || is.logical(x)) || inherits(x, c("factor", "integer64")) ||
    length(dim(x)) > 2L) {
    dp_abort(paste0(
      "`x` must be a numeric vector, a numeric matrix or a data frame of numeric columns",
      if (inherits(x, "formula")) ", not a formula; groups are `by` of dp_mean()", "."
    ))
  }
  n <- NROW(x)
  d <- NCOL(x)
  if (n < 1L || d < 1L) {
    dp_abort("`x` has no rows or no columns.")
  }
  names <- colnames(x)
  if (is.null(names)) names <- if (d == 1L) "mean" else paste0("x", seq_len(d))
  logical <- if (is.data.frame(x)) all(vapply(x, is.logical, NA)) else is.logical(x)
  list(n = n, d = d, names = names, logical = logical)
}

is_number_column <- function(v) {
  (is.numeric(v) || is.logical(v)) && !inherits(v, c("factor", "integer64")) && NCOL(v) == 1L
}

# The data holder's check: fixed text, nothing spent.
check_complete <- function(x, na_rm) {
  if (!na_rm && anyNA(x, recursive = TRUE)) {
    abort_missing("`x` has missing values", "na.rm = TRUE (missing values are then left out)")
  }
}

mean_values <- function(x, schema) {
  if (is_sparse(x)) {
    return(x)
  }
  if (is.data.frame(x)) {
    # column by column: as.matrix() may format numbers, with digits shared by all rows
    return(matrix(
      unlist(lapply(x, as.double), use.names = FALSE), nrow(x), schema$d,
      dimnames = list(NULL, schema$names)
    ))
  }
  if (!is.double(x)) x <- array(as.double(x), dim = dim(x) %||% length(x))
  if (is.null(dim(x)) || length(dim(x)) != 2L) x <- matrix(as.vector(x), NROW(x), schema$d)
  x
}

`%||%` <- function(a, b) if (is.null(a)) b else a

# A d x 2 matrix of public bounds, or NULL.
check_bound <- function(bound, schema) {
  if (is.null(bound)) {
    return(NULL)
  }
  text <- paste0(
    "`bound` must be c(lower, upper) with lower < upper, one positive number b for c(-b, b),",
    " or a matrix with one row c(lower, upper) per column; all finite."
  )
  if (!is.numeric(bound) || anyNA(bound) || any(is.infinite(bound))) dp_abort(text)
  if (is.matrix(bound)) {
    if (!identical(dim(bound), c(schema$d, 2L))) dp_abort(text)
  } else if (length(bound) == 1L) {
    bound <- matrix(c(-bound, bound), schema$d, 2L, byrow = TRUE)
  } else if (length(bound) == 2L) {
    bound <- matrix(bound, schema$d, 2L, byrow = TRUE)
  } else {
    dp_abort(text)
  }
  if (any(bound[, 1L] >= bound[, 2L]) || any(is.infinite(bound[, 2L] - bound[, 1L]))) dp_abort(text)
  unname(bound)
}

# A released fact: limits are functions of the private median and of noisy counts.
warn_limits_collapsed <- function(limits, found, names) {
  flat <- found & is.finite(limits[, 1L]) &
    limits[, 2L] - limits[, 1L] <= 2^-28 * abs(limits[, 1L])
  if (any(flat)) {
    dp_warn(paste0(
      "most values of ", listed(names[flat]), " are equal and no others could be told from noise: ",
      "that value is returned, and what rare other values add is lost. Give `bound`."
    ), "dp_dominated")
  }
}

# A released fact: `found` is a function of noisy counts.
warn_limits_not_found <- function(found, names) {
  if (!all(found)) {
    dp_warn(paste0(
      "n is too small for this epsilon: no limits could be told from noise for ",
      listed(names[!found]), ": NA is returned. Give `bound`, or a larger `epsilon`."
    ), "dp_dominated")
  }
}

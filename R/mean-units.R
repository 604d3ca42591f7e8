# Means where one person has many rows: neighbours replace one unit (R/units.R). With unit_weight =
# "mean" a unit is one record, the mean of its rows, for any method. With "sum" the mean over rows,
# of which a unit counts as at most `most`, is
#
#   c + (mean of S_u) / (mean of c_u),   S_u = weight_u sum (x_i - c), c_u = min(rows of u, most)
#
# over units: c the private median of one row of each, S_u winsorised at limits found privately as
# those of rows are, and the mean of c_u a release of its own. What is set aside for the latter, and
# for finding `most`, comes before the shares of R/mean-plan.R.

MEAN_UNIT_SHARES <- c(counts = 0.03, size = 0.05)

# A function of the kind of noise and what there is to spend (epsilon, or mu): the share that is set
# aside, laws and events. n: units.
mean_reserve <- function(n, rule) {
  share <- MEAN_UNIT_SHARES
  if (!is.null(rule$max_rows)) share[["counts"]] <- 0
  function(kind, total) {
    laplace <- kind == "laplace"
    cost <- total * if (laplace) share else sqrt(share)
    make <- if (laplace) laplace_event else gaussian_event
    counts <- if (share[["counts"]] > 0) unit_counts(kind, n, cost[["counts"]])
    size <- make(cost[["size"]], 1, 1, 1 / cost[["size"]], "rows that count, in max_rows / n")
    list(share = sum(share), size = sum_law(kind, n, 1, cost[["size"]]), law = counts$law,
         events = c(counts$events, list(size)))
  }
}

# NULL without units; else code, count and rule.
mean_members <- function(unit, unit_weight, max_rows, x, method, sparsity, by) {
  rule <- unit_rule(unit, unit_weight, max_rows)
  if (is.null(rule)) {
    return(NULL)
  }
  if (is_sparse(x)) dp_abort("`unit` needs an ordinary matrix: `x` is a dgCMatrix.")
  check_unit_mean(rule, method, sparsity, by)
  c(unit_members(unit, NROW(x)), list(rule = rule))
}

check_unit_mean <- function(rule, method, sparsity, by) {
  if (!is.null(by)) dp_abort("`unit` does not go with `by`: leave one of them out.")
  if (rule$weight == "sum" && (method != "winsorized" || !is.null(sparsity))) {
    dp_abort(paste(
      "`unit` with this `method` or `sparsity` needs unit_weight = \"mean\": a unit is then one",
      "record, the mean of its rows."
    ))
  }
}

check_member <- function(member, na_rm) {
  if (!na_rm && anyNA(member)) {
    abort_missing("`unit` has missing values", "na.rm = TRUE (such rows are then left out)")
  }
}

# ---- after the charge -----------------------------------------------------------------

# One record per unit: the means of its rows, of the values that are there; NaN where none is.
unit_means <- function(x, members) {
  m <- members$count
  out <- matrix(NaN, m, ncol(x), dimnames = list(NULL, colnames(x)))
  for (j in seq_len(ncol(x))) {
    code <- replace(members$code, is.na(x[, j]), NA)
    rows <- tabulate(code, m)
    out[, j] <- unit_sums(x[, j], code, m) / ifelse(rows > 0L, rows, NaN)
  }
  out
}

# Sums over the rows of each unit, 0 where there is none; no sum sees the rows of another.
unit_sums <- function(v, code, m) {
  own <- !is.na(code)
  sums <- rowsum(v[own], code[own], reorder = FALSE)
  replace(numeric(m), as.integer(rownames(sums)), sums)
}

fit_mean_units <- function(x, members, plan, bound, control) {
  d <- ncol(x)
  m <- members$count
  code <- replace(members$code, rowSums(is.na(x)) > 0, NA)
  rows <- tabulate(code, m)
  most <- members$rule$max_rows %||% most_rows(rows, plan, control)
  counted <- units_counted(rows, most, plan, control)
  if (plan$kind == "none") {
    return(name_means(plain_unit_mean(x, code, m, rows, most, counted), colnames(x)))
  }
  center <- if (is.null(bound)) {
    private_centers(x[one_of_each(code, m, control), , drop = FALSE], plan, control)
  } else {
    rowMeans(bound)
  }
  sums <- weighted_sums(x, code, m, rows, most, center)
  limits <- if (is.null(bound)) {
    private_limits(sums, plan, control, center = rep(0, d))
  } else {
    half <- (bound[, 2L] - bound[, 1L]) / 2 * most
    public_limits(cbind(-half, half))
  }
  fit <- noisy_mean(sums, plan, limits, control)
  name_means(per_row_counted(fit, center, counted), colnames(x))
}

# As many rows as most units have at most, from noisy counts.
most_rows <- function(rows, plan, control) {
  if (plan$kind == "none") {
    return(Inf)
  }
  unit_weighting(rows, list(reserve = plan$reserve, control = control))$most
}

weighted_sums <- function(x, code, m, rows, most, center) {
  weight <- pmin(1, most / pmax(rows, 1L))
  out <- matrix(0, m, ncol(x))
  for (j in seq_len(ncol(x))) out[, j] <- weight * unit_sums(x[, j] - center[[j]], code, m)
  out
}

# The mean over units of the rows that count, and the standard deviation of its noise.
units_counted <- function(rows, most, plan, control) {
  if (plan$kind == "none") {
    return(list(mean = max(mean(pmin(rows, most)), 1e-9), sd = 0))
  }
  law <- plan$reserve$size
  half <- most / 2
  counted <- new_rows(matrix(pmin(rows, most)), center = half, inv_scale = law$limit / half)
  sum <- release_sums(counted, law, release_key(control))
  m <- length(rows)
  unit <- half / law$limit / m
  sd <- 2^law$bits * unit * if (plan$kind == "laplace") sqrt(2) else 1
  # one row in a hundred units at least
  list(mean = min(max(half + sum * unit, 0.01), most), sd = sd)
}

# Not private.
plain_unit_mean <- function(x, code, m, rows, most, counted) {
  center <- colMeans(x[!is.na(code), , drop = FALSE])
  sums <- weighted_sums(x, code, m, rows, most, center)
  mean <- colMeans(sums) / counted$mean
  spread <- apply(sums - outer(pmin(rows, most), mean), 2L, function(v) sqrt(mean(v^2)))
  d <- ncol(x)
  list(
    coefficients = center + mean, errors = cbind(spread / sqrt(m) / counted$mean, 0),
    bias = matrix(0, d, 2L), noise_sd = rep(0, d), found = rep(TRUE, d),
    limits = cbind(rep(-Inf, d), rep(Inf, d))
  )
}

# From sums about the centre, per unit, to means of rows.
per_row_counted <- function(fit, center, counted) {
  by <- counted$mean
  off <- fit$coefficients
  fit$coefficients <- center + off / by
  fit$noise_sd <- hypotenuse(fit$noise_sd, off * counted$sd / by) / by
  fit$errors <- cbind(fit$errors[, 1L], hypotenuse(fit$errors[, 2L], off * counted$sd / by)) / by
  fit$bias <- fit$bias / by
  fit$limits <- center + fit$limits / by
  fit
}

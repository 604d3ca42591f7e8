# Means by truncation, medians of means and Catoni's estimator: one release of the robust mean of
# each column's values, at a level that follows from a public moment or is given.

ROBUST_MEANS <- c("truncated", "median_of_means", "catoni")

mean_gradient <- function(method, beta) {
  switch(method, truncated = grad_truncated(), median_of_means = grad_mom(),
         catoni = grad_catoni(beta = beta))
}

# From n, d, the budget and public numbers alone.
plan_robust_mean <- function(n, d, epsilon, delta, level, moment, method, beta, na_rm, budget,
                             control) {
  gradient <- mean_gradient(method, beta)
  paper <- control$calibration == "paper"
  kind <- robust_mean_kind(d, epsilon, delta, budget)
  if (paper) kind <- check_paper_mean(epsilon, delta, method, na_rm)
  cost <- robust_cost(epsilon, delta, kind, paper, budget)
  count <- if (na_rm) 0.05 else 0
  parts <- c(count = count, sums = 1 - count)
  parts <- cost * if (kind == "gaussian") sqrt(parts) else parts
  groups <- if (method != "median_of_means") 0 else if (paper) paper_groups(d, control$xi) else
    default_groups(d, control$xi)
  if (groups > n) {
    dp_abort(sprintf("`x` has too few rows for %.0f groups.", groups),
             c("dp_error_small_n", "dp_error_input"))
  }
  made <- robust_mean_level(level, moment, gradient, n, d, epsilon, delta, parts[["sums"]], kind,
                            paper, max(1, groups), control$xi)
  if (kind != "none") coordinate_law(kind, n, d, parts[["sums"]], made)
  list(
    kind = kind, cost = parts, d = d, na_rm = na_rm, level = made, groups = groups,
    estimator = estimator_name(gradient, paper = TRUE), gradient = gradient,
    # the papers' range of phi, 2 sqrt(2) / 3, is that without smoothing
    reach = if (paper && method == "catoni") CATONI_MOST else coordinate_reach(gradient),
    events = robust_mean_events(kind, parts, d, method)
  )
}

# Laplace or Gaussian noise, whichever is smaller for d columns.
robust_mean_kind <- function(d, epsilon, delta, budget) {
  if (epsilon == Inf && is.null(budget)) {
    return("none")
  }
  if (delta == 0) {
    return("laplace")
  }
  pure <- tryCatch(robust_cost(epsilon, delta, "laplace", FALSE, budget), dp_error = function(e) 0)
  gaussian <- robust_cost(epsilon, delta, "gaussian", FALSE, budget)
  if (sqrt(2) * d * gaussian < sqrt(d) * pure) "laplace" else "gaussian"
}

robust_cost <- function(epsilon, delta, kind, paper, budget) {
  if (paper && !is.null(budget)) {
    check_chargeable(budget, epsilon, if (kind == "laplace") "pure" else kind)
  }
  switch(kind,
    none = Inf,
    laplace = if (paper) epsilon else ledger_allowance(budget, epsilon, delta, "pure")$epsilon,
    gaussian = if (paper) 1 / paper_gaussian(epsilon, delta, 1) else
      ledger_allowance(budget, epsilon, delta, "gaussian")$mu
  )
}

check_paper_mean <- function(epsilon, delta, method, na_rm) {
  needs <- function(ok, text) {
    if (!ok) dp_abort(paste0("`calibration = \"paper\"` ", text), "dp_error_calibration")
  }
  needs(is.finite(epsilon), "needs a finite `epsilon`.")
  needs(!na_rm, "knows no missing values: leave out `na.rm`.")
  if (method == "catoni") {
    needs(delta == 0, "of method \"catoni\" is pure: give delta = 0.")
    return("laplace")
  }
  needs(delta > 0, "of this method has Gaussian noise: give `delta` above 0.")
  "gaussian"
}

robust_mean_level <- function(level, moment, gradient, n, d, epsilon, delta, cost, kind, paper,
                              groups, xi) {
  if (!is.null(level)) {
    return(level)
  }
  if (paper) {
    return(paper_mean_level(gradient, moment, n, d, epsilon, delta, xi))
  }
  noise <- groups * switch(kind, none = 1, gaussian = 2 * sqrt(d) / cost, 2 * sqrt(2) * d / cost)
  moment_level(gradient, moment, n, d, noise, xi)
}

# Algorithms 1 and 3 of Tao et al., and the scale of Hu et al. for one batch and one coordinate.
paper_mean_level <- function(gradient, moment, n, d, epsilon, delta, xi) {
  u <- moment$bound
  order <- moment$order
  switch(gradient$name,
    truncated = (u * n * epsilon / sqrt(d * log(1 / delta)))^(1 / order),
    mom = (u * n * epsilon / d^1.5)^(1 / order),
    catoni = sqrt(u * n * epsilon / log(d / xi))
  )
}

robust_mean_events <- function(kind, cost, d, method) {
  if (kind == "none") {
    return(list())
  }
  make <- if (kind == "laplace") laplace_event else gaussian_event
  event <- function(part, sensitivity, what) {
    if (cost[[part]] > 0) make(cost[[part]], 1, sensitivity, sensitivity / cost[[part]], what)
  }
  unit <- c(truncated = "B/n", median_of_means = "tau/(group size)", catoni = "s M/n")[[method]]
  change <- change_of(kind, d)
  Filter(Negate(is.null), list(
    event("count", change, "complete values, counts"),
    event("sums", 2 * change, paste0(sub("_", " ", sub("_", " ", method)), " means in ", unit))
  ))
}

# The robust mean of the columns is minus the gradient of the mean's loss at zero.
fit_robust_mean <- function(x, plan, control) {
  n <- nrow(x)
  d <- plan$d
  count <- rep(n, d)
  rows <- new_rows(x, threads = control$threads)
  if (plan$na_rm) {
    law <- if (plan$kind == "none") list(noise = c(0, 0), unit = 1) else
      count_law(plan$kind, n, plan$cost[["count"]], change_of(plan$kind, d))
    count <- pmax(release_complete(rows, law, release_key(control)), 1)
  }
  # infinite values are far out, missing ones zero
  x[] <- pmin(pmax(x, -1e300), 1e300)
  x[is.na(x)] <- 0
  law <- robust_mean_law(plan, n)
  rule <- c(law[c("step", "limit", "noise")], list(
    loss = "mean", estimator = plan$estimator, bound = plan$level,
    table = if (plan$estimator == "catoni_smooth") catoni_table(plan$gradient$beta)
  ))
  size <- n
  if (plan$groups > 0) {
    rule <- c(rule, partition_groups(n, plan$groups, random_order(n, release_key(control))))
    size <- floor(n / plan$groups)
  }
  rows$x <- x
  sums <- release_gradient(rows, numeric(n), numeric(d), rule, release_key(control))
  scale <- (if (law$step > 0) law$step else 1) / size * n / count
  reach <- rep(plan$level * plan$reach, d)
  name_means(list(
    coefficients = -sums * scale, noise_sd = law$sd / size * n / count,
    limits = cbind(-reach, reach), found = rep(TRUE, d)
  ), colnames(x))
}

robust_mean_law <- function(plan, n) {
  if (plan$kind == "none") {
    return(list(step = 0, limit = 1, noise = c(0, 0), sd = 0))
  }
  coordinate_law(plan$kind, n, plan$d, plan$cost[["sums"]], plan$level * plan$reach)
}

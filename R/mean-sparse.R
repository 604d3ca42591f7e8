# Means of many columns of which few are not zero: sums of bounded values, one private choice of
# the largest, and the means of those columns.
#
# Parts of the budget (of epsilon where delta = 0, else of rho, stretched to what the accountant
# proves):
#   level    octaves of the sizes of all values, in one set of cells, unless the level is public
#   choice   the s largest sums, by the exponential mechanism (permute-and-flip)
#   means    winsorised means of the chosen columns (R/mean-plan.R), or, where the level is public,
#            noise on their sums

SPARSE_MEAN_SHARES <- c(level = 0.04, choice = 0.5, means = 0.46)

# Share of the values beyond the level: many make skewed columns of mean zero look like others, few
# a noisy choice.
sparse_mean_tail <- function(n, epsilon0) min(max(27 / (n * epsilon0), 0.005), 0.1)

# Public checks of what goes with `sparsity`.
check_sparse_mean <- function(sparsity, method, na.rm, bound, d) {
  sparsity <- check_count(sparsity, "sparsity")
  if (sparsity > d) dp_abort(sprintf("`sparsity` must be at most the number of columns, %d.", d))
  if (method == "median_of_means") {
    dp_abort("`sparsity` goes with methods \"winsorized\", \"truncated\" and \"catoni\".")
  }
  if (na.rm) dp_abort("`na.rm` does not go with `sparsity`: drop or impute missing values.")
  if (method == "winsorized" && !is.null(bound)) {
    dp_abort("with `sparsity` a public `bound` goes with methods \"truncated\" and \"catoni\".")
  }
  sparsity
}

plan_sparse_mean <- function(n, d, s, epsilon, delta, bound, moment, method, beta, budget,
                             control) {
  gradient <- if (method == "winsorized") grad_winsorized() else mean_gradient(method, beta)
  plan <- list(
    n = n, d = d, k = d, keep = s, sub = 1, gradient = gradient, limit = IHT_LIMIT, private = TRUE,
    estimator = estimator_name(gradient), source = if (method == "winsorized") "private" else
      "given"
  )
  if (control$calibration == "paper") {
    return(paper_sparse_mean(plan, epsilon, delta, bound, moment, budget, control))
  }
  if (epsilon == Inf && is.null(budget)) {
    return(plain_sparse_mean(plan, bound, moment, control))
  }
  plan <- priced_sparse_mean(plan, epsilon, delta, budget)
  if (plan$source == "given") {
    noise <- 4 * log(2 * d) / plan$cost[["choice"]]
    plan$level <- bound %||% moment_level(gradient, moment, n, d, noise, control$xi)
  }
  plan
}

plain_sparse_mean <- function(plan, bound, moment, control) {
  plan <- c(replace(plan, c("private", "source"), list(FALSE, "given")),
            list(kind = "none", pure = FALSE, events = list()))
  plan$level <- bound %||% if (!is.null(moment)) {
    moment_level(plan$gradient, moment, plan$n, plan$d, 1, control$xi)
  }
  plan
}

# Pure releases where delta = 0, or where they are better: for very few columns.
priced_sparse_mean <- function(plan, epsilon, delta, budget) {
  made <- lapply(c("laplace", if (delta > 0) "gaussian"), function(kind) {
    tryCatch(one_sparse_mean(plan, kind, epsilon, delta, budget), dp_error = identity)
  })
  ok <- !vapply(made, inherits, NA, "condition")
  if (!any(ok)) stop(made[[length(made)]])
  made <- made[ok]
  made[[which.min(vapply(made, `[[`, 0, "noise"))]]
}

one_sparse_mean <- function(plan, kind, epsilon, delta, budget) {
  plan$kind <- kind
  plan$pure <- kind == "laplace"
  total <- ledger_allowance(budget, epsilon, delta, if (plan$pure) "pure" else "mixed")
  cost <- if (plan$pure) total$epsilon else sqrt(2 * total$rho)
  made <- function(by) sparse_mean_with_cost(plan, cost * by)
  out <- made(1)
  if (!plan$pure && is.null(budget)) {
    out <- made(largest_cost(1, delta, function(by) {
      total_delta(compose_events(made(by)$events, ordered = TRUE), epsilon)
    }))
  }
  check_sparse_mean_laws(out)
  out
}

# `noise`: of a choice, times that of a mean.
sparse_mean_with_cost <- function(plan, total) {
  share <- SPARSE_MEAN_SHARES
  if (plan$source != "private") share[["level"]] <- 0
  share <- share / sum(share)
  cost <- total * if (plan$pure) share else sqrt(share)
  s <- plan$keep
  # rho = epsilon0^2 / 8 = mu^2 / 2 for each of s choices
  cost[["choice"]] <- cost[["choice"]] * if (plan$pure) 1 / s else 2 / sqrt(s)
  plan$cost <- cost
  plan$upper_quantile <- 1 - sparse_mean_tail(plan$n, cost[["choice"]])
  if (plan$source == "private") plan$means <- chosen_means_plan(plan, cost[["means"]])
  values <- change_of(plan$kind, s) / cost[["means"]] * if (plan$pure) sqrt(2) else 1
  plan$noise <- values / cost[["choice"]]
  plan$events <- sparse_mean_events(plan, s)
  plan
}

sparse_mean_events <- function(plan, s) {
  make <- if (plan$pure) laplace_event else gaussian_event
  choose <- if (plan$pure) pure_event else exponential_event
  norm <- if (plan$pure) 2 else sqrt(2)
  far <- 2 * change_of(plan$kind, s)
  cost <- plan$cost
  c(
    if (cost[["level"]] > 0) {
      list(make(cost[["level"]], 1, norm, norm / cost[["level"]], "sizes of values, counts"))
    },
    list(choose(cost[["choice"]], s, 2, 4 / cost[["choice"]], SPARSE_MEAN_LABELS[[1L]])),
    plan$means$events %||%
      list(make(cost[["means"]], 1, far, far / cost[["means"]], SPARSE_MEAN_LABELS[[2L]]))
  )
}

SPARSE_MEAN_LABELS <- c("choice of columns, scores in tau/n", "means in tau/n")

# NULL where there are too few rows for limits of their own: then the level serves.
chosen_means_plan <- function(plan, cost) {
  tryCatch(
    if (plan$pure) {
      laplace_mean_plan(plan$n, plan$keep, cost, FALSE, FALSE)
    } else {
      gaussian_mean_plan(plan$n, plan$keep, cost, FALSE)
    },
    dp_error_small_n = function(e) NULL
  )
}

# Clipped at the level and peeled with Laplace noise of 2 lambda sqrt(3 s log(1/delta)) / epsilon
# (Cai, Wang and Zhang 2021, Algorithms 1 and 2).
paper_sparse_mean <- function(plan, epsilon, delta, bound, moment, budget, control) {
  needs <- function(ok, text) {
    if (!ok) dp_abort(paste0("`calibration = \"paper\"` ", text), "dp_error_calibration")
  }
  needs(is.finite(epsilon) && delta > 0,
        "with `sparsity` needs a finite `epsilon` and `delta` above 0.")
  needs(plan$source == "given", "with `sparsity` needs method \"truncated\" or \"catoni\".")
  if (!is.null(budget)) check_chargeable(budget, epsilon, "mixed")
  scale <- calibrate_peeling(epsilon, delta, plan$keep, 1, "paper", "cai")
  scale <- c(scale$selection, scale$values)
  noise <- 2 * sqrt(2) * sqrt(plan$keep) * scale[[1L]]
  plan$level <- bound %||% moment_level(plan$gradient, moment, plan$n, plan$d, noise, control$xi)
  plan$kind <- "laplace"
  plan$peel <- function(sensitivity) {
    peel_events(plan$keep, sensitivity, scale, "laplace")
  }
  plan$events <- peel_events(plan$keep, 2, scale, "laplace", SPARSE_MEAN_LABELS)$events
  plan
}

# Refuses, before anything is spent, what leaves no room on the grids.
check_sparse_mean_laws <- function(plan) {
  sparse_mean_laws(plan)
  if (plan$cost[["level"]] > 0) sizes_law(plan)
}

# Of the choice and, where the level serves, of the values.
sparse_mean_laws <- function(plan) {
  most <- 2 * plan$limit
  if (!plan$private) {
    return(list(choice = NO_NOISE_LAW, values = NO_NOISE_LAW, how = "exponential"))
  }
  if (!is.null(plan$peel)) {
    return(plan$peel(most))
  }
  s <- plan$keep
  list(
    choice = score_law(plan$cost[["choice"]], most), how = if (plan$pure) "permute_and_flip" else
      "exponential",
    values = if (is.null(plan$means)) {
      vector_law(plan$kind, s, plan$cost[["means"]], most * change_of(plan$kind, s))
    }
  )
}

# x: a matrix, or compressed columns. The charge has been made. The sums that the choice is made
# from are private and do not leave.
fit_sparse_mean <- function(x, plan, control) {
  rows <- new_rows(x, threads = control$threads)
  found <- sparse_mean_level(rows, plan, control)
  level <- found %||% 1
  rule <- sparse_mean_rule(plan, level)
  sums <- sparse_mean_sums(rows, plan, rule)
  laws <- sparse_mean_laws(plan)
  chosen <- select_top(abs(sums), plan$keep, laws$choice, laws$how, release_key(control))
  reach <- if (is.finite(level)) level * coordinate_reach(plan$gradient) else Inf
  part <- if (is.null(plan$means)) {
    chosen_sums(sums[chosen], laws$values, rule, plan$n, reach, control)
  } else {
    chosen_means(take_columns(x, chosen), plan$means, level, control)
  }
  c(spread_means(part, chosen, plan$d, colnames(x)),
    list(chosen = chosen, level_found = !is.null(found)))
}

# A mean is minus the gradient of its loss at zero. Values that are not finite are far out; no row
# is left out for them.
sparse_mean_sums <- function(rows, plan, rule) {
  -release_gradient(rows, numeric(plan$n), numeric(plan$d), rule)
}

sparse_mean_rule <- function(plan, level) {
  state <- list(n = plan$n, gradient = plan$gradient, set = list(norm = 1))
  c(fw_rule(state, level, plan, NULL), list(loss = "mean"))
}

# A quantile of the sizes of all values that are not zero; NULL if none stand out of the noise.
sparse_mean_level <- function(rows, plan, control) {
  if (plan$source != "private") {
    return(plan$level %||% Inf)
  }
  rule <- list(loss = "mean", estimator = "winsorized", bound = 1, step = 1, limit = 1)
  law <- sizes_law(plan)
  cells <- octave_cells(SIZE_RANGE[[1L]], SIZE_RANGE[[2L]], plan$sub)
  counts <- release_coordinates(rows, numeric(plan$n), numeric(plan$d), rule, cells, law,
                                release_key(control))
  level <- octave_quantile(occupied_cells(counts[-1L], law), octave_edges(cells),
                           plan$upper_quantile)
  if (!is.na(level)) level
}

# A row moves d counts from some cells to others.
sizes_law <- function(plan) {
  norm <- if (plan$pure) 2 * plan$d else sqrt(2) * plan$d
  count_law(plan$kind, as.double(plan$n) * plan$d, plan$cost[["level"]], norm)
}

# Noise on the sums themselves.
chosen_sums <- function(sums, law, rule, n, reach, control) {
  unit <- (if (rule$step > 0) rule$step else 1) / n
  s <- length(sums)
  list(
    coefficients = release_vector(sums, law, release_key(control)) * unit,
    limits = matrix(rep(c(-reach, reach), each = s), s), noise_sd = rep(values_sd(law, unit), s),
    found = rep(TRUE, s)
  )
}

# Means at limits of their own; where these cannot be told from noise, or are one point, as of
# columns of which few values are not zero, the level serves.
chosen_means <- function(x, plan, level, control) {
  limits <- private_limits(x, plan, control)
  lost <- !limits$found | !(limits$upper - limits$lower > 2^-28 * abs(limits$lower))
  limits$lower[lost] <- -level
  limits$upper[lost] <- level
  limits$found[] <- TRUE
  noisy_mean(x, plan, limits, control)
}

values_sd <- function(law, unit) {
  switch(law$kind, none = 0, laplace = sqrt(2), 1) * (law$scale %||% 0) * unit
}

# Zeros elsewhere, without noise: a choice, not a release.
spread_means <- function(part, chosen, d, names) {
  fit <- list(
    coefficients = replace(numeric(d), chosen, part$coefficients),
    limits = matrix(NA_real_, d, 2L), noise_sd = replace(rep(NA_real_, d), chosen, part$noise_sd),
    found = replace(rep(TRUE, d), chosen, part$found)
  )
  fit$limits[chosen, ] <- part$limits
  name_means(fit, names)
}

# Released facts: no chosen mean stands out of its noise, or no size of values does.
warn_sparse_mean <- function(fit) {
  if (!fit$level_found) {
    dp_warn(paste(
      "n is too small for this epsilon, or nearly all values are zero: no size of the values could",
      "be told from noise, and 1 was taken. Give a `moment` and another `method`, or a larger",
      "`epsilon`."
    ), "dp_dominated")
    return(invisible())
  }
  value <- abs(fit$coefficients[fit$chosen])
  most <- max(1, sqrt(2 * log(length(value)))) * fit$noise_sd[fit$chosen]
  if (all(value <= most, na.rm = TRUE) && any(most > 0, na.rm = TRUE)) {
    dp_warn(paste(
      "no chosen mean stands out of its noise: the choice may be noise alone. Take a smaller",
      "`sparsity` or a larger `epsilon`."
    ), "dp_dominated")
  }
}

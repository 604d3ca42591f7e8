# Means of many columns of which few are not zero: sums of bounded values, one private choice of
# the largest, and the means of those columns.
#
# Parts of the budget (of epsilon where delta = 0, else of rho, stretched to what the accountant
# proves):
#   level    octaves of the sizes of all values, in one set of cells, unless the level is public
#   choice   the s largest sums, by the exponential mechanism (permute-and-flip)
#   means    winsorised means of the chosen columns (R/mean-plan.R), or, where the level is public,
#            noise on their sums

SPARSE_MEAN_SHARES <- c(level = 0.04, choice = 0.4, means = 0.56)

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
    n = n, d = d, k = d, keep = s, sub = 1, gradient = gradient, limit = IHT_LIMIT,
    estimator = estimator_name(gradient), source = if (method == "winsorized") "private" else
      "given", private = TRUE, pure = delta == 0
  )
  if (control$calibration == "paper") {
    return(paper_sparse_mean(plan, epsilon, delta, bound, moment, budget, control))
  }
  if (epsilon == Inf && is.null(budget)) {
    plan <- replace(plan, c("private", "kind", "source"), list(FALSE, "none", "given"))
    plan["level"] <- list(bound)
    if (is.null(bound) && !is.null(moment)) {
      plan$level <- moment_level(gradient, moment, n, d, 1, control$xi)
    }
    return(c(plan, list(events = list())))
  }
  total <- ledger_allowance(budget, epsilon, delta, if (plan$pure) "pure" else "mixed")
  cost <- if (plan$pure) total$epsilon else sqrt(2 * total$rho)
  plan$kind <- if (plan$pure) "laplace" else "gaussian"
  made <- function(by) sparse_mean_with_cost(plan, cost * by)
  plan2 <- made(1)
  if (!plan$pure && is.null(budget)) {
    plan2 <- made(largest_cost(1, delta, function(by) {
      total_delta(compose_events(made(by)$events, ordered = TRUE), epsilon)
    }))
  }
  if (method != "winsorized") {
    noise <- 4 * log(2 * d) / plan2$cost[["choice"]]
    plan2$level <- bound %||% moment_level(gradient, moment, n, d, noise, control$xi)
  }
  check_sparse_mean_laws(plan2)
  plan2
}

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
  make <- if (plan$pure) laplace_event else gaussian_event
  choose <- if (plan$pure) pure_event else exponential_event
  norm <- if (plan$pure) 2 else sqrt(2)
  change <- change_of(plan$kind, s)
  if (plan$source == "private") plan$means <- chosen_means_plan(plan, cost[["means"]])
  plan$events <- c(
    if (cost[["level"]] > 0) {
      list(make(cost[["level"]], 1, norm, norm / cost[["level"]], "sizes of values, counts"))
    },
    list(choose(cost[["choice"]], s, 2, 4 / cost[["choice"]],
                "choice of columns, scores in tau/n")),
    plan$means$events %||%
      list(make(cost[["means"]], 1, 2 * change, 2 * change / cost[["means"]], "means in tau/n"))
  )
  plan
}

chosen_means_plan <- function(plan, cost) {
  if (plan$pure) {
    laplace_mean_plan(plan$n, plan$keep, cost, FALSE, FALSE)
  } else {
    gaussian_mean_plan(plan$n, plan$keep, cost, FALSE)
  }
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
    c(peel_events(plan$keep, sensitivity, scale, "laplace"))
  }
  plan$events <- peel_events(plan$keep, 2, scale, "laplace", c(
    "choice of columns, scores in tau/n", "means in tau/n"
  ))$events
  plan
}

check_sparse_mean_laws <- function(plan) {
  sparse_mean_laws(plan)
  if (plan$cost[["level"]] > 0) {
    norm <- if (plan$pure) 2 * plan$d else sqrt(2) * plan$d
    count_law(plan$kind, as.double(plan$n) * plan$d, plan$cost[["level"]], norm)
  }
}

# Of the choice and, where the level is public, of the values.
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
    values = if (plan$source == "given") {
      vector_law(plan$kind, s, plan$cost[["means"]], most * change_of(plan$kind, s))
    }
  )
}

# x: a matrix, or compressed columns. The charge has been made.
fit_sparse_mean <- function(x, plan, control) {
  n <- plan$n
  d <- plan$d
  columns <- list(center = numeric(d + 1L), scale = rep(1, d + 1L), found = rep(TRUE, d + 1L))
  spec <- list(loss = loss_mean(), gradient = plan$gradient, control = control)
  state <- coordinate_state(list(x = x, y = numeric(n)), list(n = n, intercept = FALSE), columns,
                            spec)
  level <- fw_level_found(state, plan, NULL, numeric(d), control)
  rule <- fw_rule(state, level, plan, NULL)
  # the mean is minus the gradient of its loss at zero
  sums <- -fw_sums(state, numeric(d), 0, rule)
  laws <- sparse_mean_laws(plan)
  chosen <- select_top(abs(sums), plan$keep, laws$choice, laws$how, release_key(control))
  reach <- if (is.finite(level)) level * coordinate_reach(plan$gradient) else Inf
  part <- if (is.null(plan$means)) {
    unit <- (if (rule$step > 0) rule$step else 1) / n
    list(
      coefficients = release_vector(sums[chosen], laws$values, release_key(control)) * unit,
      limits = matrix(rep(c(-reach, reach), each = length(chosen)), ncol = 2L),
      noise_sd = rep(values_sd(laws$values, unit), length(chosen)),
      found = rep(TRUE, length(chosen))
    )
  } else {
    fit_mean(unname(take_columns(x, chosen)), plan$means, NULL, control)
  }
  c(spread_means(part, chosen, d, colnames(x)), list(chosen = chosen, bound = level))
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

# A released fact: no chosen mean stands out of its noise.
warn_sparse_mean <- function(fit) {
  value <- abs(fit$coefficients[fit$chosen])
  most <- max(1, sqrt(2 * log(length(value)))) * fit$noise_sd[fit$chosen]
  if (all(value <= most, na.rm = TRUE) && any(most > 0, na.rm = TRUE)) {
    dp_warn(paste(
      "no chosen mean stands out of its noise: the choice may be noise alone. Take a smaller",
      "`sparsity` or a larger `epsilon`."
    ), "dp_dominated")
  }
}

# Algorithms 1 and 2 of Hu et al. with their constants, mended where the print breaks privacy
# (each mend is named in the help of dp_lasso()). Reads no data.
#
# Algorithm 1 (delta = 0): T disjoint batches, smoothed Catoni means, one exponential mechanism
# of epsilon per batch. Algorithm 2 (delta > 0, squared loss): data shrunken at K, full batches,
# epsilon0 = epsilon / (2 sqrt(2 T log(1/delta))) per round.

plan_fw_paper <- function(n, p, spec, intercept) {
  check_fw_paper(spec, intercept)
  log_failure <- function(steps) log(p * steps / spec$control$xi)
  u <- spec$moment$bound
  vertices <- fw_vertices(spec$constraint, p)
  if (spec$delta == 0) {
    fw_paper_pure(n, p, spec, u, vertices, log_failure)
  } else {
    fw_paper_lasso(n, p, spec, u, log_failure)
  }
}

check_fw_paper <- function(spec, intercept) {
  needs <- function(ok, text) {
    if (!ok) dp_abort(paste0("`calibration = \"paper\"` ", text), "dp_error_calibration")
  }
  wanted <- if (spec$delta == 0) "catoni" else "shrunken"
  needs(spec$gradient$name == wanted, sprintf(
    "with delta %s is Algorithm %s of Hu et al.: give gradient = grad_%s().",
    if (spec$delta == 0) "= 0" else "above 0", if (spec$delta == 0) "1" else "2", wanted
  ))
  needs(is.null(spec$gradient$bound), "sets the level itself: give the gradient without it.")
  needs(spec$delta == 0 || spec$loss$name == "squared",
        "of Algorithm 2 is for the squared loss: give delta = 0 for Algorithm 1.")
  needs(spec$delta == 0 || spec$constraint$name == "l1_ball",
        "of Algorithm 2 is for the l1 ball: give delta = 0 for Algorithm 1.")
  needs(!is.null(spec$moment), "needs a moment: give moment = moment_bound(order, bound).")
  needs(!intercept, paste(
    "has no free intercept: give intercept = FALSE (a formula with - 1)."
  ))
  needs(is.finite(spec$epsilon), "needs a finite `epsilon`.")
  needs(!spec$loss$name %in% c("huber", "biweight") || !is.null(spec$loss$sigma),
        "needs a public scale of the residuals: give `sigma` in the loss.")
  if (!is.null(spec$budget)) {
    check_chargeable(spec$budget, spec$epsilon, if (spec$delta == 0) "pure" else "mixed")
  }
}

fw_vertices <- function(constraint, p) {
  switch(constraint$name, l1_ball = 2 * p, unit_simplex = p, nrow(constraint$vertices))
}

fw_size <- function(constraint) {
  switch(constraint$name, polytope = max(rowSums(abs(as.matrix(constraint$vertices)))),
         constraint$radius)
}

# T = (alpha^2 |W|^2 n epsilon / (tau log(|V| d / xi)))^(1/3); for a loss that is not convex
# T = sqrt(n epsilon) with steps of 1 / sqrt(T). s = sqrt(tau m epsilon / log(|V| d T / xi)).
fw_paper_pure <- function(n, p, spec, u, vertices, log_failure) {
  convex <- spec$loss$name != "biweight"
  alpha <- spec$control$smoothness %||% 1
  epsilon <- min(spec$epsilon, 1)
  rounds <- if (convex) {
    chances <- log(vertices * p / spec$control$xi)
    (alpha^2 * fw_size(spec$constraint)^2 * n * epsilon / (u * chances))^(1 / 3)
  } else {
    sqrt(n * epsilon)
  }
  rounds <- min(spec$control$iterations %||% max(1, floor(rounds)), n)
  batch <- floor(n / rounds)
  level <- sqrt(u * batch * epsilon / log(vertices * p * rounds / spec$control$xi))
  plan <- fw_paper_base(n, p, spec, rounds, level)
  plan$split <- TRUE
  if (!convex) plan$eta <- 1 / sqrt(rounds)
  # their range of phi, 2 sqrt(2) / 3, is that without smoothing
  plan$reach <- CATONI_MOST
  fw_with_paper_cost(plan, spec$epsilon, list(exponential_event(
    spec$epsilon, 1, 2, 4 / spec$epsilon,
    sprintf("choice of a vertex, scores in s M |v|_1/(n of a batch): %.0f disjoint ones", rounds)
  )))
}

# K = (M n epsilon / (sqrt(T log(1/delta)) log(d T / xi)))^(1/4), T = (n epsilon)^(2/5).
fw_paper_lasso <- function(n, p, spec, u, log_failure) {
  paper_epsilon(spec$epsilon, 4 * log(1 / spec$delta), "their composition needs it.")
  rounds <- spec$control$iterations %||% max(1, floor((n * spec$epsilon)^(2 / 5)))
  level <- (u * n * spec$epsilon /
              (sqrt(rounds * log(1 / spec$delta)) * log_failure(rounds)))^(1 / 4)
  cost <- spec$epsilon / (2 * sqrt(2 * rounds * log(1 / spec$delta)))
  plan <- fw_paper_base(n, p, spec, rounds, level)
  event <- exponential_event(cost, rounds, 2, 4 / cost, "choice of a vertex, scores in K psi r/n")
  if (events_delta(list(event), spec$epsilon) > spec$delta) {
    dp_abort("with `calibration = \"paper\"` the exact delta would exceed `delta`; use \"tight\".",
             "dp_error_calibration")
  }
  fw_with_paper_cost(plan, cost, list(event))
}

fw_paper_base <- function(n, p, spec, rounds, level) {
  list(
    private = TRUE, pure = spec$delta == 0, kind = "gaussian", rounds = rounds, n = n, p = p, k = p,
    intercept = FALSE, source = "given", sub = 1, estimator = estimator_name(spec$gradient),
    sensible = TRUE, n_sensible = n, level = level, scaled = FALSE
  )
}

fw_with_paper_cost <- function(plan, cost, events) {
  plan$cost <- c(center = 0, scale = 0, level = 0, choice = cost, intercept = 0)
  plan$events <- events
  plan
}

# Algorithm 5 of Tao et al. and Algorithms 3 and 5 of Hu et al. with their constants, mended where
# the print breaks privacy or lost a formula (each mend is named in the help, R/iht.R). Reads no
# data.

plan_iht_paper <- function(n, p, spec, intercept) {
  check_iht_paper(spec, intercept)
  gamma <- spec$control$smoothness
  s <- spec$constraint$s
  rounds <- floor(gamma / spec$control$strong_convexity * log(n))
  rounds <- spec$control$iterations %||% min(max(rounds, 1), n)
  if (rounds > n) dp_abort("`iterations` must not exceed the number of rows.")
  tao <- spec$gradient$name == "truncated"
  constant <- if (tao) "tao" else "cai"
  # a trial, so that a refusal comes before anything is spent
  scale <- calibrate_peeling(spec$epsilon, spec$delta, s, 1, "paper", constant)
  scale <- c(scale$selection, scale$values)
  many <- sprintf(", n of a batch: %.0f disjoint ones", rounds)
  peeled <- peel_events(s, 2, scale, "laplace",
                        paste0(c("choice of slopes, scores in tau/n", "slopes in steps of tau/n"),
                               many))$events
  list(
    private = TRUE, pure = FALSE, kind = "laplace", n = n, p = p, k = p, intercept = FALSE, sub = 1,
    keep = s, source = "given", estimator = estimator_name(spec$gradient), limit = IHT_LIMIT,
    step = 2 / (3 * gamma), split = TRUE, rounds = rounds, output = "last", standardise = "known",
    cost = c(level = 0, center = 0, scale = 0), sensible = TRUE, n_sensible = n, events = peeled,
    level = iht_paper_level(n, p, spec, rounds), paper = TRUE,
    # their range of phi, 2 sqrt(2) / 3, is that without smoothing
    reach = if (spec$gradient$name == "catoni") CATONI_MOST,
    peel = function(sensitivity) {
      laws <- peel_events(s, sensitivity, scale, "laplace")
      list(choice = laws$choice, values = laws$values, how = "laplace")
    }
  )
}

check_iht_paper <- function(spec, intercept) {
  needs <- function(ok, text) {
    if (!ok) dp_abort(paste0("`calibration = \"paper\"` ", text), "dp_error_calibration")
  }
  needs(spec$gradient$name %in% c("truncated", "catoni", "shrunken"), paste(
    "is Algorithm 5 of Tao et al. (give gradient = grad_truncated()), or Algorithm 5 or 3 of",
    "Hu et al. (grad_catoni(beta = 1), grad_shrunken())."
  ))
  needs(is.null(spec$gradient$bound), "sets the level itself: give the gradient without it.")
  needs(spec$gradient$name != "shrunken" || spec$loss$name == "squared",
        "of Algorithm 3 is for the squared loss.")
  needs(!is.null(spec$moment), "needs a moment: give moment = moment_bound(order, bound).")
  needs(!intercept, "has no free intercept: give intercept = FALSE (a formula with - 1).")
  needs(is.finite(spec$epsilon), "needs a finite `epsilon`.")
  needs(spec$delta > 0, "of sparse vectors needs `delta` above 0.")
  needs(!is.null(spec$control$smoothness) && !is.null(spec$control$strong_convexity),
        "needs dp_control(smoothness = , strong_convexity = ).")
  needs(is.null(spec$control$step), "sets the step itself: leave out `step`.")
  needs(!spec$loss$name %in% c("huber", "biweight") || !is.null(spec$loss$sigma),
        "needs a public scale of the residuals: give `sigma` in the loss.")
  if (!is.null(spec$budget)) check_chargeable(spec$budget, spec$epsilon, "mixed")
}

# B, k or K.
iht_paper_level <- function(n, p, spec, rounds) {
  s <- spec$constraint$s
  u <- spec$moment$bound
  epsilon <- spec$epsilon
  noise <- rounds * sqrt(s * log(1 / spec$delta)) * log(p * rounds / spec$control$xi)
  switch(spec$gradient$name,
    truncated = (u * n * epsilon / noise)^(1 / spec$moment$order),
    catoni = sqrt(u * n * epsilon / noise),
    shrunken = (u * n * epsilon / (s * rounds))^(1 / 4)
  )
}

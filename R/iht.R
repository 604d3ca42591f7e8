#' Iterative hard thresholding, privately
#'
#' The solver `"iht"` of [dp_sparse()] and of [dp_sco()] with `constraint = sparse_vectors(s)`.
#'
#' A round takes a step along the mean gradient, keeps the s coefficients that are largest then, by
#' one private choice, and releases these (and the intercept) with noise. `batches = "full"`: every
#' round reads all rows, the rounds are composed exactly, and the answer is the average over the
#' second half of the rounds, cut to its s largest slopes. `batches = "split"`: each round reads
#' its own rows, so that all rounds together cost what one costs, and the answer is the last
#' iterate. Columns are made comparable as for solver `"select"`; the level is found privately,
#' with full batches in every round, unless it is given or follows from `moment`. Each coordinate
#' of a record's gradient is bounded: `gradient` is winsorized (the default), truncated, Catoni's,
#' or, with `sparse_vectors(s, radius)`, shrunken data; or the record's whole gradient is clipped,
#' to a length that grows with the root of the number of columns, so that noise does too. `delta =
#' 0`: permute-and-flip and Laplace noise, columns in the caller's units.
#'
#' `epsilon = Inf` is the same iteration without noise, with steps of one over the largest
#' eigenvalue of the second moments, to the end.
#'
#' @section Published algorithms:
#' With `control = dp_control(calibration = "paper", smoothness = gamma, strong_convexity = mu)`,
#' `intercept = FALSE`, and a moment, in the caller's units (or those of `scale =`): T = gamma/mu
#' log n disjoint batches (or `iterations`), m rows in the smallest, steps eta = 2/(3 gamma), and
#' peeling (Algorithm 4 of each): s rounds of noisy maxima and s values with Laplace noise.
#' * *Tao et al., Algorithm 5*: `gradient = grad_truncated()`, `moment = moment_bound(1 + v, u)`;
#'   coordinates beyond B = (u n epsilon / (T sqrt(s log(1/delta)) log(p T / xi)))^(1/(1+v)) count
#'   as zero; noise 4 lambda sqrt(2 s log(1/delta)) / epsilon, lambda = 2 B eta / m.
#' * *Hu et al., Algorithm 5*: `gradient = grad_catoni(beta = 1)`, `moment = moment_bound(2, tau)`;
#'   k = sqrt(tau n epsilon / (T sqrt(s log(1/delta)) log(p T / xi))); noise
#'   2 lambda sqrt(3 s log(1/delta)) / epsilon, lambda = 4 sqrt(2) eta k / (3 m).
#' * *Hu et al., Algorithm 3*: squared loss, `gradient = grad_shrunken()`, `moment =
#'   moment_bound(4, M)`; covariates and response are clamped at K = (M n epsilon / (s T))^(1/4),
#'   iterates brought into the ball of `radius` (1 unless given) before the next round;
#'   lambda = 2 K^2 eta (1 + radius sqrt(s)) / m, the noise as in Algorithm 5.
#'
#' *Mended:* m is the size of the smallest batch where the papers have n/T; B, K, k and T are those
#' that fit the printed rates, for the print lost their formulas; Catoni's function is evaluated
#' without loss of digits and never leaves its range; peeling is refused where its scale proves
#' less than (epsilon, delta) (see [calibrate_peeling()]).
#'
#' @section Privacy:
#' Scores are whole numbers: a public number per coefficient less the exact integer sum of its
#' gradient coordinates, of which a record moves each by at most 2 tau (2 s M, 2 K psi). A choice of
#' s costs what s exponential mechanisms of that sensitivity cost; the s + 1 values move by at most
#' 2 tau sqrt(s + 1) in l2, (s + 1) 2 tau in l1. The sums do not leave. With split batches a record
#' is in one batch, so that the releases of all batches cost what those of one cost.
#' @references
#' Tao, Wu, Cheng and Wang (2022). Private Stochastic Convex Optimization and Sparse
#' Learning with Heavy-tailed Data Revisited. IJCAI 2022 (Algorithms 4 and 5, Theorem 10).
#'
#' Hu, Ni, Xiao and Wang (2022). High Dimensional Differentially Private Stochastic Optimization
#' with Heavy-tailed Data. PODS 2022. \doi{10.1145/3517804.3524144} (Algorithms 3, 4 and 5)
#'
#' Cai, T. T., Wang, Y. and Zhang, L. (2021). The cost of privacy. *Annals of Statistics* 49,
#' 2825-2850. \doi{10.1214/21-AOS2058}
#'
#' Blumensath, T. and Davies, M. E. (2009). Iterative hard thresholding for compressed sensing.
#' *Applied and Computational Harmonic Analysis* 27, 265-274. \doi{10.1016/j.acha.2009.04.002}
#' @seealso [dp_sparse()], [dp_peel()]
#' @examples
#' set.seed(1)
#' x <- matrix(rt(20000 * 50, 3) / sqrt(3), 20000)
#' y <- drop(x[, 1:2] %*% c(0.5, -0.4)) + rt(20000, 3)
#' dp_sparse(x, y, epsilon = 1, delta = 1e-6, sparsity = 2, solver = "iht")
#' dp_sparse(x, y, epsilon = 1, delta = 1e-6, sparsity = 2, intercept = FALSE,
#'           gradient = grad_truncated(), moment = moment_bound(2, 2),
#'           control = dp_control("paper", smoothness = 1.5, strong_convexity = 1))
#' @name iht_solver
NULL

# Parts that do not go together.
check_iht_parts <- function(spec, p) {
  if (spec$penalty$lambda > 0) {
    dp_abort("`penalty` does not go with sparse vectors: leave it out, or use l2_ball(r).")
  }
  if (spec$loss$name == "mean") {
    dp_abort("`loss_mean()` does not go with sparse vectors: use dp_mean(sparsity = ).")
  }
  if (spec$gradient$name == "mom") {
    dp_abort(paste(
      "`gradient` must be made by grad_winsorized(), grad_truncated(), grad_catoni(),",
      "grad_clipped() or grad_shrunken() here."
    ))
  }
  if (spec$constraint$s > p) {
    dp_abort(sprintf("`s` must be at most the number of slopes, %d.", p))
  }
  shrunken <- spec$gradient$name == "shrunken"
  if (shrunken && spec$loss$name == "user") {
    dp_abort("`grad_shrunken()` needs a loss of the package, not loss_user().")
  }
  if (shrunken && spec$loss$name == "squared" && !is.finite(spec$constraint$radius)) {
    dp_abort(paste(
      "`grad_shrunken()` with the squared loss needs constraint = sparse_vectors(s, radius): the",
      "derivative is not bounded otherwise."
    ))
  }
}

# Schema -> plan -> curator's checks -> charge -> values -> fit.
run_iht <- function(schema, spec, scale, na.action, classes = NULL) {
  made <- front_plan_iht(schema, spec, scale)
  spec <- made$spec
  noise <- 0
  fit <- run_regression(
    schema, spec, made$plan, made$events, made$known, na.action,
    function(problem, schema, plan, known, control) {
      got <- fit_iht(problem, schema, plan, known, spec, control)
      noise <<- got$noise %||% 0
      got
    },
    solver = "iht", output = made$plan$output
  )
  fit$noise <- noise
  fit$selected <- selected_names(fit$coefficients)
  warn_dominated(fit, schema)
  with_classes(fit, classes)
}

front_plan_iht <- function(schema, spec, scale) {
  if (is_paper(spec) && spec$gradient$name == "shrunken" && !is.finite(spec$constraint$radius)) {
    spec$constraint$radius <- 1
  }
  p <- length(schema$columns) - schema$intercept
  if (p < 1L) dp_abort("there is no slope to choose.")
  check_iht_parts(spec, p)
  made <- public_units(schema, spec, scale)
  spec <- made$spec
  known <- made$known
  if (is_record(spec$gradient) && is_sparse(schema$live$x)) {
    dp_abort(paste(
      "grad_clipped() needs whole rows, which a sparse `x` does not hold: use grad_winsorized()."
    ))
  }
  plan <- if (is_paper(spec)) {
    plan_iht_paper(schema$n, p, spec, schema$intercept)
  } else {
    plan_iht(schema$n, p, spec, known, schema$intercept, is_sparse(schema$live$x))
  }
  list(plan = plan, events = plan$events, known = known, spec = spec)
}

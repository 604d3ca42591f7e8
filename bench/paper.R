# The papers' constants beside exact accounting at the same (epsilon, delta): linear regression
# and means, n = 1e3 to 1e6, with the fit that is not private.
#   R_LIBS=.Rlib Rscript bench/paper.R [repetitions]
# x iid t(3), y = x'w + t(2.5) errors, d = 5, |w| = 1, no intercept; |w| <= 2 is public, and so is
# a bound on the second moments of the gradient's coordinates that holds for these laws. Squared
# error of the slopes: 1 is as bad as answering zero.
source("bench/tools.R")

reps <- repetitions(40L)
d <- 5
epsilon <- 1
delta <- 1e-7
true <- rep_len(c(1, -1), d) / sqrt(d)

# E (x_j r)^2 with r = x'(w - w*) + error, at most, for |w - w*| <= 3: far in the tails it is not
# finite, so that what is given is its size on samples of 1e6 at w = 0, a bound that favours the
# papers.
moment <- moment_bound(2, 40)
ball <- l2_ball(2)

draw <- function(n) {
  x <- matrix(stats::rt(n * d, 3), n, d)
  list(x = x, y = drop(x %*% true) + stats::rt(n, 2.5))
}

# The convex branch takes T steps as printed, at most 500 of them here: more steps with as much
# noise each change the error little.
paper <- function(steps = NULL) {
  dp_control(calibration = "paper", iterations = steps, rng = "R", smoothness = 6,
             gradient_bound = 9)
}

convex_steps <- function(n) {
  level <- (40 * epsilon * n / d^1.5)^(1 / 2)
  max(1, min(500, floor((9 * epsilon * n / (level * d^2))^2)))
}

regression <- function(n, seed) {
  set.seed(bench_seed + seed)
  z <- draw(n)
  error <- function(v) sum((v - true)^2)
  sco <- function(..., control) {
    unname(error(coef(outcome(dp_sco(z$x, z$y, epsilon, delta, intercept = FALSE, ...,
                                     control = control))$value)))
  }
  c(
    `Alg. 2, convex branch` = sco(
      gradient = grad_mom(), constraint = ball, moment = moment, control = paper(convex_steps(n))
    ),
    `Alg. 2, strongly convex branch` = sco(
      gradient = grad_mom(), constraint = ball, moment = moment,
      control = dp_control("paper", rng = "R", smoothness = 6, strong_convexity = 1.5)
    ),
    `same moment, exact` = sco(
      gradient = grad_winsorized(), constraint = ball, moment = moment, control = control
    ),
    `nothing known, exact` = sco(control = control),
    `lm, not private` = error(stats::lm.fit(z$x, z$y)$coefficients)
  )
}

# Pareto(2.5), mean 5/3, second moment 5.
means <- function(n, seed) {
  set.seed(bench_seed + seed)
  x <- stats::runif(n)^(-1 / 2.5)
  error <- function(v) abs(v - 5 / 3)
  known <- moment_bound(2, 5)
  one <- function(delta, ..., control) {
    value <- outcome(dp_mean(x, epsilon, delta, ..., control = control))$value
    if (is.null(value)) NA_real_ else unname(error(coef(value)))
  }
  published <- dp_control("paper", rng = "R")
  c(
    `Alg. 1` = one(delta, method = "truncated", moment = known, control = published),
    `Alg. 3` = one(delta, method = "median_of_means", moment = known, control = published),
    `Catoni, smoothed` = one(0, method = "catoni", beta = 1, moment = known, control = published),
    `same moment, exact` = one(0, method = "catoni", moment = known, control = control),
    `nothing known, exact` = one(0, control = control),
    `sample mean` = error(mean(x))
  )
}

table_of <- function(one) {
  sizes <- c(1e3, 1e4, 1e5, 1e6)
  rows <- lapply(sizes, function(n) {
    got <- vapply(seq_len(reps), function(r) one(n, r), one(1e3, 0))
    middle <- apply(got, 1L, stats::median, na.rm = TRUE)
    text <- paste0(three(middle), " (", apply(got, 1L, spread), ")")
    data.frame(n = n, t(stats::setNames(text, rownames(got))), check.names = FALSE)
  })
  do.call(rbind, rows)
}

about <- sprintf("Median (quartiles) of %d repetitions, epsilon = 1, delta = 1e-7.", reps)
write_table("paper-regression", "Squared error of slopes: published constants and exact accounting",
            table_of(regression), about)
write_table("paper-means", "Absolute error of a mean, Pareto(2.5)", table_of(means), about)

# The published algorithms of sparse learning: their noise by its printed formulas, their batches,
# what they refuse, and where their iterates are.

printed <- function(gradient, moment, ..., x, y, epsilon = 1, delta = 1e-6, s = 2, radius = NULL,
                    smoothness = 1.5, budget = NULL) {
  control <- dp_control("paper", rng = "R", smoothness = smoothness,
                        strong_convexity = smoothness, ...)
  set <- if (is.null(radius)) sparse_vectors(s) else sparse_vectors(s, radius)
  quiet(dp_sco(x, y, epsilon, delta, constraint = set, gradient = gradient, moment = moment,
               intercept = FALSE, control = control, budget = budget))
}

# Scale of the peeling's noise for the sensitivity `lambda`.
tao <- function(lambda, s, epsilon, delta) 4 * lambda * sqrt(2 * s * log(1 / delta)) / epsilon
cai <- function(lambda, s, epsilon, delta) 2 * lambda * sqrt(3 * s * log(1 / delta)) / epsilon

test_that("without a signal the slopes are Laplace noise of the printed scales", {
  skip_on_cran()
  n <- 500
  x <- matrix(0, n, 4)
  eta <- 2 / (3 * 1.5)
  s <- 2
  cases <- list(
    list(g = grad_truncated(), moment = moment_bound(2, 3),
         scale = function(B) tao(2 * B * eta / n, s, 1, 1e-6)),
    list(g = grad_catoni(beta = 1), moment = moment_bound(2, 3),
         scale = function(k) cai(4 * sqrt(2) * eta * k / (3 * n), s, 1, 1e-6)),
    # K is just above 1, and the noise far inside the ball
    list(g = grad_shrunken(), moment = moment_bound(4, 0.00405), radius = 1e9,
         scale = function(K) cai(2 * K^2 * eta * (1 + 1e9 * sqrt(s)) / n, s, 1, 1e-6))
  )
  set.seed(671)
  for (case in cases) {
    # one round, of all rows
    runs <- replicate(400, printed(case$g, case$moment, x = x, y = numeric(n), s = s,
                                   radius = case$radius, iterations = 1), simplify = FALSE)
    b <- vapply(runs, coef, numeric(4))
    b <- b[b != 0] / case$scale(runs[[1L]]$bound)
    expect_length(b, 400 * s)
    expect_gt(stats::ks.test(b, function(q) ifelse(q < 0, exp(q) / 2, 1 - exp(-q) / 2))$p.value,
              alarm)
  }
})

test_that("the shrunken data's scores move by 2 K^2 (1 + radius sqrt(s)), and no less is booked", {
  set.seed(672)
  x <- matrix(stats::rt(400, 3), 100)
  y <- stats::rt(100, 3)
  seen <- NULL
  home <- asNamespace("dpheavy")
  note <- function(laws) seen <<- laws
  on.exit(suppressMessages(untrace("iht_scores", where = home)))
  spy <- as.call(list(note, quote(rule)))
  suppressMessages(trace("iht_scores", tracer = spy, where = home, print = FALSE))
  for (radius in c(1, 2)) {
    fit <- printed(grad_shrunken(), moment_bound(4, 1e4), x = x, y = y, radius = radius,
                   iterations = 3)
    K <- fit$bound
    expect_gt(K, 1)
    expect_equal(seen$step * seen$limit, K^2 * (1 + radius * sqrt(2)))
    expect_equal(seen$psi_bound, K * (1 + radius * sqrt(2)))
    expect_lte(sum(coef(fit)^2), radius^2 * (1 + 1e-12))
  }
  # one unless it is given
  expect_lte(sum(coef(printed(grad_shrunken(), moment_bound(4, 1e4), x = x, y = y))^2), 1 + 1e-12)
})

test_that("batches are as many as gamma / mu log n, or as asked for, and cost what one costs", {
  set.seed(673)
  x <- matrix(stats::rt(4000, 3), 1000)
  y <- x[, 1] + stats::rt(1000, 3)
  wide <- dp_control("paper", rng = "R", smoothness = 3, strong_convexity = 1)
  run <- function(control) {
    quiet(dp_sparse(x, y, 1, 1e-6, sparsity = 2, intercept = FALSE, gradient = grad_truncated(),
                    moment = moment_bound(2, 5), control = control))
  }
  fit <- run(wide)
  expect_length(fit$path, floor(3 * log(1000)))
  seven <- run(dp_control("paper", rng = "R", smoothness = 3, strong_convexity = 1,
                          iterations = 7))
  expect_length(seven$path, 7L)
  expect_identical(as.data.frame(privacy(fit))$cost, as.data.frame(privacy(seven))$cost)
  expect_lte(epsilon_at(privacy(fit), 1e-6), 1)
  expect_true(all(lengths(fit$path) == 2L))
  # the last round's choice is what is left
  expect_setequal(which(coef(fit) != 0), fit$path[[length(fit$path)]])
})

test_that("scales that are not proved to be private are refused, and what the papers do not have", {
  x <- matrix(stats::rnorm(400), 100)
  y <- stats::rnorm(100)
  refused <- function(naming, gradient = grad_truncated(), moment = moment_bound(2, 1), ...) {
    expect_refusal(function(b) printed(gradient, moment, x = x, y = y, ..., budget = b), naming)
  }
  refused("`epsilon`", epsilon = 2.1 * log(1e6))
  refused("`epsilon`", gradient = grad_catoni(beta = 1), epsilon = 0.5 * log(1e6))
  refused("`delta`", delta = 0)
  refused("finite `epsilon`", epsilon = Inf)
  refused("without it", gradient = grad_truncated(2))
  refused("`step`", step = 0.5)
  refused("`iterations`", iterations = 101)
  refused("moment", gradient = grad_shrunken())
  expect_refusal(function(b) {
    quiet(dp_sco(x, y, 1, 1e-6, loss = "huber", constraint = sparse_vectors(2), intercept = FALSE,
                 gradient = grad_truncated(), moment = moment_bound(2, 1), budget = b,
                 control = dp_control("paper", smoothness = 1, strong_convexity = 1)))
  }, "`sigma`")
})

test_that("published fits are near the truth where there are rows enough", {
  skip_on_cran()
  set.seed(674)
  n <- 2e5
  x <- matrix(stats::rt(n * 6, 5) * sqrt(3 / 5), n)
  truth <- c(0.7, -0.7, 0, 0, 0, 0)
  y <- drop(x %*% truth) + stats::rt(n, 5) / 2
  for (case in list(list(grad_truncated(), moment_bound(2, 6)),
                    list(grad_catoni(beta = 1), moment_bound(2, 6)))) {
    fit <- printed(case[[1L]], case[[2L]], x = x, y = y, epsilon = 4)
    expect_lt(sum((coef(fit) - truth)^2), 0.1)
  }
})

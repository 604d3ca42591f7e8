# A pure choice of a vertex on the worst pair: rows of zeros and one record with a gradient of
# full size, to the one side or the other. False-alarm rate `alarm`; the seed is fixed.

test_that("a pure choice loses what it claims, and one of half the scale would be seen", {
  skip_on_cran()
  n <- 40L
  every <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
  upper <- function(v, epsilon) {
    fit <- dp_sco(cbind(v = c(1e6, numeric(n - 1L))), c(v, numeric(n - 1L)), epsilon, 0,
                  constraint = l1_ball(1), gradient = grad_winsorized(1), scale = every,
                  intercept = FALSE, control = dp_control(rng = "R", iterations = 1))
    coef(fit)[[1L]] > 0
  }
  set.seed(481)
  # the log-odds of the two vertices move by at most epsilon, whatever the record
  bound <- function(epsilon, runs = 1500L) {
    high <- sum(replicate(runs, upper(1e9, epsilon)))
    low <- sum(replicate(runs, upper(-1e9, epsilon)))
    log(stats::qbeta(alarm / 2, high, runs - high + 1)) -
      log(stats::qbeta(1 - alarm / 2, low + 1, runs - low))
  }
  expect_lte(quiet(bound(2)), 2)
  expect_gt(quiet(bound(5)), 2)
})

test_that("scores of choices are scaled for what a record moves", {
  # of all laws that a fit draws choices from: 2 (move / step + 1) / 2^bits is epsilon0
  seen <- list()
  note <- function(frame) {
    seen[[length(seen) + 1L]] <<- list(law = frame$law, scores = frame$scores, s = frame$s)
  }
  home <- asNamespace("dpheavy")
  on.exit(suppressMessages(untrace("select_top", where = home)))
  spy <- as.call(list(note, quote(environment())))
  suppressMessages(trace("select_top", tracer = spy, where = home, print = FALSE))
  set.seed(482)
  x <- matrix(stats::rt(8000, 3), 2000)
  y <- x[, 1] + stats::rt(2000, 3)
  cost_of <- function(fit, most) {
    booked <- as.data.frame(privacy(fit))
    booked <- booked[grepl("choice", booked$what), ]
    drawn <- vapply(seen, function(f) {
      step <- f$law$multiplier[[1L]] * 2^-f$law$multiplier[[2L]]
      f$s * 2 * (most * step + 1) / 2^f$law$bits
    }, 0)
    seen <<- list()
    c(drawn = sum(drawn), booked = sum(booked$count * booked$cost))
  }
  limit <- function(n, norm) 2 * min(floor(2^52 / (n * norm)), 2^40) * norm
  fit <- quiet(dp_sco(x, y, 1, 1e-6, constraint = unit_simplex(), intercept = FALSE,
                      gradient = grad_winsorized(1), scale = list(x = list(center = 0, scale = 1))))
  cost <- cost_of(fit, limit(2000, 1))
  expect_equal(cost[["drawn"]], cost[["booked"]], tolerance = 1e-6)
  fit <- quiet(dp_lasso(x, y, 1, 1e-6, radius = 1))
  cost <- cost_of(fit, limit(2000, 1))
  expect_equal(cost[["drawn"]], cost[["booked"]], tolerance = 1e-6)
  corners <- rbind(diag(4), -diag(4))
  fit <- quiet(dp_sco(x, y, 5, 0, constraint = polytope(corners), intercept = FALSE))
  cost <- cost_of(fit, limit(2000, 2^VERTEX_BITS))
  expect_equal(cost[["drawn"]], cost[["booked"]], tolerance = 1e-6)
})

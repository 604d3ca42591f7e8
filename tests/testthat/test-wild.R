# Whatever the data hold: past the curator's checks nothing is raised, and coefficients are numbers.
# An error that only some data raise would be a release that nobody paid for.

WILD <- c(0, 1, -1, 1e308, -1e308, Inf, -Inf, 1e-308, 5e-324, 1e-305, 3, 1e150, 1e-150, 0.5)

# Columns of extreme values, of one extreme unit, with few values, of units far apart, of zeros.
wild_matrix <- function(n, p, kind) {
  normal <- matrix(stats::rnorm(n * p), n)
  switch(kind,
    matrix(sample(WILD, n * p, TRUE), n),
    normal * sample(c(1e-308, 1e-305, 1e300, 1e307), 1L),
    replace(0 * normal, sample(n * p, 5), 1e308),
    normal * rep(10^stats::runif(p, -307, 307), each = n),
    matrix(sample(c(0, 1e-308), n * p, TRUE), n),
    normal
  )
}

wild_response <- function(n, kind) {
  switch(kind, stats::rnorm(n), sample(WILD, n, TRUE), stats::rnorm(n) * 1e-305,
         stats::rnorm(n) * 1e305)
}

# A ledger, so that plans are not stretched, which takes time.
wild_budget <- function(epsilon) privacy_budget(epsilon, 1e-6)

expect_numbers <- function(expr) {
  fit <- suppressWarnings(expr)
  testthat::expect_true(all(is.finite(coef(fit))))
}

test_that("rounds of choices and fits raise nothing, for every loss and extreme columns", {
  set.seed(691)
  user <- loss_user(function(eta, y) tanh(eta - y), bound = 1)
  losses <- list("squared", "huber", "biweight", "logistic", user)
  for (kind in 1:6) for (loss in losses) {
    many <- kind %% 2 == 0
    n <- if (many) 2000L else 300L
    x <- wild_matrix(n, if (many) 60L else 6L, kind)
    y <- if (identical(loss, "logistic")) sample(0:1, n, TRUE) else wild_response(n, sample(4L, 1L))
    epsilon <- sample(c(1, 5, 20), 1L)
    intercept <- stats::runif(1) < 0.5
    expect_numbers(dp_sparse(x, y, epsilon, 1e-6, sparsity = if (kind > 2) 2, loss = loss,
                             intercept = intercept, budget = wild_budget(epsilon),
                             control = repeatable))
    if (identical(loss, "squared")) {
      expect_numbers(dp_lasso(x, y, epsilon, 1e-6, radius = 1, intercept = intercept,
                              budget = wild_budget(epsilon), control = repeatable))
    }
  }
})

test_that("sparse means raise nothing", {
  set.seed(692)
  for (kind in 1:6) for (epsilon in c(1, 20)) {
    x <- wild_matrix(300L, 8L, kind)
    expect_numbers(dp_mean(x, epsilon, 1e-6, sparsity = 2, budget = wild_budget(epsilon),
                           control = repeatable))
    expect_numbers(dp_mean(x, epsilon, 0, sparsity = 2, control = repeatable))
  }
})

test_that("regressions with variances raise nothing, also where no column has a scale", {
  set.seed(693)
  for (kind in 1:6) for (intercept in c(TRUE, FALSE)) {
    x <- wild_matrix(300L, 4L, kind)
    y <- wild_response(300L, 1L + kind %% 4L)
    for (epsilon in c(1, 20)) {
      for (loss in c("squared", "huber", "biweight")) {
        fit <- suppressWarnings(dp_lm(x, y, epsilon, 1e-6, loss = loss, intercept = intercept,
                                      control = repeatable))
        expect_identical(dim(vcov(fit)), rep(4L + intercept, 2L))
        fit <- suppressWarnings(dp_lm(x, y, epsilon, 1e-6, loss = loss, intercept = intercept,
                                      target = "mean", subset = y > 0, control = repeatable))
        expect_true(all(is.finite(coef(fit))))
        expect_identical(dim(confint(fit)), c(4L + intercept, 2L))
      }
      fit <- suppressWarnings(dp_glm(x, sample(0:1, 300L, TRUE), epsilon, 1e-6,
                                     intercept = intercept, control = repeatable))
      expect_identical(dim(vcov(fit)), rep(4L + intercept, 2L))
    }
  }
  fit <- suppressWarnings(dp_lm(0 * x, y, 1, 1e-6, intercept = FALSE, control = repeatable))
  expect_true(all(is.na(vcov(fit))) || all(is.finite(vcov(fit))))
})

test_that("balls and penalties raise nothing in extreme units", {
  set.seed(694)
  user <- loss_user(function(eta, y) tanh(eta - y), bound = 1)
  for (kind in 1:6) for (loss in list("squared", "huber", user)) {
    x <- wild_matrix(300L, 4L, kind)
    y <- wild_response(300L, 1L + kind %% 4L)
    for (part in list(list(constraint = l2_ball(1)), list(penalty = ridge(0.1)), list())) {
      fit <- suppressWarnings(do.call(dp_sco, c(
        list(x, y, 20, 1e-6, loss = loss, control = repeatable), part
      )))
      expect_s3_class(fit, "dp_sco")
    }
  }
})

# ---- what a record moves before the first choice -------------------------------------

test_that("rough sizes and sums of all columns move by no more than is booked", {
  set.seed(695)
  n <- 50L
  p <- 5L
  x <- matrix(stats::rt(n * p, 3), n)
  cost <- 0.5
  sizes <- count_law("gaussian", n, cost, sqrt(2 * p))
  centers <- sum_law("gaussian", n, p, cost)
  step <- 2^(-2:2) * CENTER_LEVEL / centers$limit
  counts_of <- function(x) {
    release_octaves(new_rows(x, which = seq_len(p) - 1), "columns", octave_cells(), sizes,
                    exact = TRUE)
  }
  sums_of <- function(x) release_sums(new_rows(x, inv_scale = 1 / step), centers, exact = TRUE)
  l2_move <- function(new, old) sqrt(sum(as.numeric(diff_int64(new, old))^2))
  base <- list(counts = counts_of(x), sums = sums_of(x))
  worst <- c(counts = 0, sums = 0)
  for (record in wild_records(p - 1L)) {
    new <- replace(x, cbind(7L, seq_len(p)), record)
    worst <- pmax(worst, c(l2_move(counts_of(new), base$counts), l2_move(sums_of(new), base$sums)))
  }
  # mu = move / standard deviation of the noise
  booked <- cost * 2^c(sizes$noise[[2L]], centers$noise[[2L]])
  expect_true(all(worst <= booked))
  expect_gt(worst[["counts"]], 0.9 * booked[[1L]])
  expect_gt(worst[["sums"]], 0.4 * booked[[2L]])
})

test_that("the sum for the first intercept moves by no more than its noise is for", {
  set.seed(696)
  z <- list(x = matrix(stats::rt(200, 3), 50), y = stats::rt(50, 3))
  known <- list(center = numeric(5), scale = rep(1, 5), found = rep(TRUE, 5))
  user <- loss_user(function(eta, y) eta - y)
  for (loss in list(loss_squared(), loss_logistic(), loss_huber(sigma = 1), user)) {
    spec <- sparse_spec(1, 1e-6, 2, loss, NULL, NULL, NULL, NULL, dp_control())
    plan <- plan_select(50, 4, spec, known[1:2], TRUE, 2, 3)
    seen <- NULL
    # the integer that the release adds its noise to, and what the noise is for
    spied <- with_replaced(first_intercept, release_vector = function(value, law, key) {
      seen <<- list(value = value, law = law)
      0
    })
    sum_of <- function(x, y) {
      y <- if (loss$name == "logistic") pmin(pmax(y, 0), 1) else y
      state <- coordinate_state(list(x = x, y = y), list(n = 50, intercept = TRUE), known, spec)
      spied(state, plan, repeatable)
      seen
    }
    base <- sum_of(z$x, z$y)
    step <- base$law$multiplier[[1L]] * 2^-base$law$multiplier[[2L]]
    worst <- 0
    for (record in wild_records(4)) {
      new <- sum_of(replace(z$x, cbind(9L, 1:4), record[1:4]), replace(z$y, 9L, record[[5L]]))
      expect_identical(new$law, base$law)
      worst <- max(worst, abs(new$value - base$value))
    }
    # mu = (move step + 1) / 2^bits
    expect_lte((worst * step + 1) / 2^base$law$noise[[2L]], plan$cost[["start"]] * (1 + 1e-9))
    expect_gt(worst, 0)
  }
})

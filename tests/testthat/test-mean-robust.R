# Means by truncation, medians of means and Catoni's estimator.

values <- cbind(a = big$x1 + 0.5, b = big$y / 4)
twenty <- moment_bound(2, 20)

# The mean of T over the records, coordinate by coordinate.
plain_robust <- function(v, rule) {
  colMeans(apply(v, 2L, function(column) twin_transform(column, rule)))
}

test_that("without noise truncation and Catoni's mean are those of the transformed values", {
  for (level in c(0.3, 2, 50)) {
    run <- function(method, ...) {
      unname(coef(dp_mean(values, Inf, method = method, bound = level, ...)))
    }
    want <- function(estimator, ...) {
      unname(plain_robust(values, list(estimator = estimator, bound = level, ...)))
    }
    expect_equal(run("truncated"), want("truncated"), tolerance = 1e-10)
    expect_equal(run("catoni"), want("catoni"), tolerance = 1e-10)
    for (beta in c(0.1, 1, 100)) {
      expect_equal(run("catoni", beta = beta),
                   want("catoni_smooth", table = catoni_table(beta)), tolerance = 1e-9)
    }
  }
  # Catoni's estimator is equivariant up to its level
  expect_equal(coef(dp_mean(8 * values, Inf, method = "catoni", bound = 16)),
               8 * coef(dp_mean(values, Inf, method = "catoni", bound = 2)), tolerance = 1e-12)
})

test_that("the median of means is that of the groups of the key, truncated first", {
  control <- dp_control(rng = "R", xi = 0.2)
  groups <- default_groups(2, 0.2)
  set.seed(451)
  got <- coef(dp_mean(values, Inf, method = "median_of_means", bound = 3, control = control))
  set.seed(451)
  made <- partition_groups(4000, groups, random_order(4000, release_key(control)))
  v <- twin_transform(values, list(estimator = "truncated", bound = 3))
  sizes <- tabulate(made$group + 1L)
  want <- apply(v, 2L, function(column) {
    sums <- rowsum(column, made$group)[, 1L]
    # the groups' means: sums of larger ones are weighted down
    stats::median(sums / sizes)
  })
  expect_equal(got, want, tolerance = 1e-10)
  expect_gt(diff(range(sizes)), 0)
})

test_that("with much budget the means are the plain ones of the method", {
  for (method in ROBUST_MEANS) {
    set.seed(452)
    exact <- coef(dp_mean(values, Inf, method = method, bound = 5, control = repeatable))
    set.seed(452)
    fit <- dp_mean(values, 1e4, method = method, bound = 5, control = repeatable)
    expect_lt(max(abs(coef(fit) - exact)), 20 * max(fit$noise_sd) + 1e-6)
    expect_lt(max(fit$noise_sd), 1e-3)
    expect_identical(fit$method, method)
    expect_identical(rownames(fit$limits), c("a", "b"))
  }
})

test_that("noise has the standard deviation that is stated, and limits hold what counts", {
  skip_on_cran()
  zero <- matrix(0, 500, 3)
  for (method in ROBUST_MEANS) for (delta in c(0, 1e-5)) {
    # many columns: Gaussian noise
    x <- if (delta > 0) zero[, rep(1:3, 12)] else zero
    set.seed(453)
    runs <- replicate(120, coef(dp_mean(x, 1, delta, method = method, bound = 2,
                                        control = repeatable)))
    fit <- dp_mean(x, 1, delta, method = method, bound = 2)
    expect_identical(fit$noise, if (delta > 0) "gaussian" else "laplace")
    ratio <- mean(runs^2) / fit$noise_sd[[1L]]^2
    # a Laplace variable's square has a kurtosis of 6
    expect_lt(abs(ratio - 1), 8 * sqrt(5 / length(runs)))
    reach <- 2 * if (method == "catoni") 2 * sqrt(2) / 3 else 1
    expect_equal(unname(fit$limits[, "upper"]), rep(reach, ncol(x)))
    # sensitivity 2 reach d (or sqrt d) over n, or the smallest group
    size <- if (method == "median_of_means") floor(500 / default_groups(ncol(x), 0.05)) else 500
    cost <- compose_events(privacy(fit)$events)
    want <- if (delta > 0) 2 * reach * sqrt(36) / sqrt(cost$mu2) / size else
      sqrt(2) * 2 * reach * 3 / cost$pure / size
    expect_equal(fit$noise_sd[[1L]], want, tolerance = 1e-4)
  }
})

test_that("missing values add nothing, and infinite ones are far out", {
  x <- values
  x[sample(length(x), 900)] <- NA
  for (method in ROBUST_MEANS) {
    fit <- dp_mean(x, 1e4, method = method, bound = 100, na.rm = TRUE, control = repeatable)
    expect_equal(coef(fit), colMeans(x, na.rm = TRUE),
                 tolerance = if (method == "median_of_means") 0.5 else 0.1)
    expect_refusal(function(b) dp_mean(x, 1, method = method, bound = 9, budget = b), "missing",
                   class = "dp_error")
  }
  inf <- c(rep(0, 99), Inf)
  # zeroed; or as far as phi reaches
  expect_equal(unname(coef(dp_mean(inf, Inf, method = "truncated", bound = 3))), 0)
  expect_equal(unname(coef(dp_mean(inf, Inf, method = "catoni", bound = 3))),
               3 * 2 * sqrt(2) / 3 / 100)
  expect_equal(unname(coef(dp_mean(-inf, Inf, method = "catoni", bound = 3))),
               -3 * 2 * sqrt(2) / 3 / 100)
})

test_that("a record moves a mean's integers by what the noise is for, whatever it holds", {
  set.seed(454)
  n <- 40
  seen <- list()
  note <- function(frame) {
    seen <<- c(seen, list(list(rows = frame$rows, norm = frame$norm, w = frame$w,
                               plan = frame$plan)))
  }
  home <- asNamespace("dpheavy")
  on.exit(suppressMessages(untrace("release_gradient", where = home)))
  suppressMessages(trace("release_gradient", print = FALSE, where = home,
                         tracer = as.call(list(note, quote(environment())))))
  base <- matrix(stats::rt(2 * n, 2), n)
  for (method in ROBUST_MEANS) for (delta in c(0, 1e-5)) {
    seen <- list()
    for (record in c(wild_records(1), list(c(1.5, 1.5), c(-1.5, -1.5)))) {
      x <- base
      x[5L, ] <- record
      x[is.na(x)] <- 0
      set.seed(455)
      dp_mean(x, 1, delta, method = method, bound = 1.5, control = repeatable)
    }
    stats <- lapply(seen, function(s) {
      s$plan$noise <- c(0, 0)
      release_gradient(s$rows, s$norm, s$w, s$plan, exact = TRUE)
    })
    expect_gt(largest_change(stats, l1), 0)
    expect_lte(largest_change(stats, function(v) max(abs(v))), 2 * seen[[1L]]$plan$limit)
    # the partition does not depend on the data
    expect_length(unique(lapply(seen, function(s) s$plan[["group"]])), 1)
  }
})

test_that("what a method lacks or does not know is refused before anything is spent", {
  refused <- function(naming, ...) {
    expect_refusal(function(b) dp_mean(values, 1, ..., budget = b), naming)
  }
  for (method in ROBUST_MEANS) {
    refused("`moment`", method = method)
    refused("one of them", method = method, moment = twenty, bound = 3)
    refused("`moment`", method = method, moment = 20)
    refused("`bound`", method = method, bound = c(-1, 1))
    refused("`bound`", method = method, bound = -1)
    refused("`bound`", method = method, bound = Inf)
    refused("order", method = method, moment = moment_bound(4, 20))
  }
  refused("`moment` is not used", moment = twenty)
  refused("order", method = "catoni", moment = moment_bound(1.5, 20))
  refused("`beta`", method = "truncated", moment = twenty, beta = 1)
  refused("`beta`", beta = 1)
  refused("`beta`", method = "catoni", bound = 3, beta = -1)
  refused("`method`", method = "median")
  refused("split", method = "truncated", bound = 3, control = dp_control(batches = "split"))
  expect_refusal(function(b) dp_mean(values[1:3, ], 1, method = "median_of_means", bound = 3,
                                     budget = b), "too few rows", "dp_error_small_n")
})

test_that("the budget is charged with the events, and both calibrations cost what they say", {
  paper <- dp_control(calibration = "paper")
  for (method in ROBUST_MEANS) for (control in list(dp_control(), paper)) {
    pure <- method == "catoni" || control$calibration == "tight"
    delta <- if (pure) 0 else 1e-6
    budget <- privacy_budget(1, max(delta, 1e-9))
    fit <- dp_mean(values, 0.5, delta, method = method, moment = twenty, budget = budget,
                   control = control)
    expect_lte(epsilon_at(privacy(fit), delta), 0.5 * (1 + 1e-9))
    expect_gt(spent(budget), 0)
    expect_lte(spent(budget), 0.5 * (1 + 1e-6))
    expect_identical(privacy(fit)$calibration, control$calibration)
  }
})

test_that("means come near the truth at the level of a moment", {
  skip_on_cran()
  set.seed(456)
  x <- matrix(stats::rt(60000, 3) + 0.7, 30000)
  for (method in ROBUST_MEANS) {
    fit <- dp_mean(x, 1, 1e-6, method = method, moment = moment_bound(2, 4), control = repeatable)
    expect_lt(max(abs(coef(fit) - 0.7)), 0.12)
  }
})

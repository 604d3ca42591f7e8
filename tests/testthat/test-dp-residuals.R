# dp_residuals(): quantiles of residuals and calibration on new rows.

local_fit <- local({
  set.seed(3)
  dp_lm(y ~ x1 + x2 + f, big, epsilon = 2, delta = 1e-6, control = repeatable)
})
fresh <- fixture(6000, seed = 12)

logistic_fit <- local({
  set.seed(3)
  dp_glm(b ~ x1 + x2, big, epsilon = 4, delta = 1e-6, control = repeatable)
})

# Without noise a draw is even between two neighbouring values.
plain <- function(...) {
  set.seed(7)
  dp_residuals(..., epsilon = Inf, control = repeatable)
}

test_that("without noise: the quantiles of the residuals, and means per bin", {
  r <- plain(local_fit, fresh, probs = c(0.75, 0.25, 0.1))
  own <- fresh$y - predict(local_fit, fresh)
  rank <- vapply(coef(r), function(v) mean(own <= v), 0)
  expect_lt(max(abs(rank - c(0.75, 0.25, 0.1))), 2 / 6000)
  expect_equal(r$scale, IQR(own) / 1.349, tolerance = 2e-3)
  expect_identical(coef(plain(local_fit, fresh[-4], fresh$y)), coef(plain(local_fit, fresh)))
  t <- dp_residuals(logistic_fit, fresh, epsilon = Inf, bins = 4)$table
  p <- predict(logistic_fit, fresh)
  bin <- findInterval(p, c(0, 0.25, 0.5, 0.75), left.open = FALSE)
  expect_equal(t$count, as.vector(table(factor(bin, 1:4))))
  own <- as.vector(tapply(fresh$b - p, factor(bin, 1:4), mean))
  expect_lt(max(abs(t$observed - t$predicted - own)), 2^-20 + 1e-12)
})

test_that("with noise: near the truth, monotone, and charged", {
  skip_on_cran()
  budget <- privacy_budget(1, 1e-5)
  set.seed(1)
  r <- quiet(dp_residuals(local_fit, fresh, epsilon = 1, budget = budget, control = repeatable))
  own <- fresh$y - predict(local_fit, fresh)
  rank <- vapply(coef(r), function(v) mean(own <= v), 0)
  expect_lt(max(abs(rank - r$probs)), 0.06)
  expect_false(is.unsorted(coef(r)))
  expect_identical(as.data.frame(budget)[c("what", "epsilon", "releases")],
                   data.frame(what = "dp_residuals", epsilon = 1, releases = 5))
  set.seed(1)
  t <- dp_residuals(logistic_fit, fresh, epsilon = 1, bins = 5, control = repeatable)$table
  plain <- dp_residuals(logistic_fit, fresh, epsilon = Inf, bins = 5)$table
  # ten Laplace deviates of standard deviation 4 sqrt(2)
  expect_lt(max(abs(t$count - plain$count)), 4 * log(10 / alarm))
  expect_false(identical(t$count, plain$count))
})

test_that("matrix fits, factors and logical responses, sparse columns, tuned fits", {
  x <- as.matrix(fresh[c("x1", "x2")])
  set.seed(2)
  fit <- dp_lm(x, fresh$y, epsilon = Inf)
  r <- plain(fit, x[, 2:1], fresh$y, probs = 0.5)
  expect_identical(r, plain(fit, as.data.frame(x), fresh$y, probs = 0.5))
  expect_true(is.na(r$scale))
  y <- factor(c("no", "yes")[1 + fresh$b], levels = c("no", "yes"))
  table <- plain(logistic_fit, fresh)$table
  expect_identical(plain(logistic_fit, fresh, y)$table, table)
  expect_identical(plain(logistic_fit, fresh, fresh$b == 1)$table, table)
  tuned <- dp_tune(alist(dp_lm(y ~ x1, epsilon = Inf)), big, epsilon = Inf)
  expect_identical(plain(tuned, fresh), plain(tuned$fit, fresh))
  skip_if_not_installed("Matrix")
  # a fit of columns without names, as sparse() gives
  z <- unname(x)
  lasso <- dp_lasso(z, fresh$y, epsilon = Inf, radius = 2)
  sparse <- as(as(as(z, "dMatrix"), "generalMatrix"), "CsparseMatrix")
  expect_equal(coef(plain(lasso, sparse, fresh$y)), coef(plain(lasso, z, fresh$y)),
               tolerance = 1e-9)
})

test_that("one row moves counts and sums of the table by what the noise is for", {
  p <- predict(logistic_fit, d)
  y <- d$b
  base <- calibration_sums(p, y, 7)
  moved <- c(0, 0)
  for (q in c(0, 1, 0.2, 0.999, NaN, p[[5]])) for (v in c(0, 1, -1e308, Inf, NaN, 1e308, 0.5)) {
    change <- calibration_sums(replace(p, 5, q), replace(y, 5, v), 7) - base
    moved <- pmax(moved, c(sqrt(sum(change^2)), sum(abs(change))))
  }
  expect_lte(moved[[1L]], 2)
  expect_lte(moved[[2L]], 4)
  expect_gt(moved[[1L]], 1.4)
})

test_that("other rows keep their residuals whatever one row holds", {
  rows <- function(v) {
    z <- fresh[1:50, ]
    z$x1[[7]] <- v
    schema <- newdata_schema(local_fit, z, NULL, FALSE)
    values <- frame_values(schema)
    row_predictor(values, schema, coef(local_fit))
  }
  base <- rows(0)
  for (v in c(NaN, Inf, 1e308, 5e-324)) expect_identical(rows(v)[-7], base[-7])
  expect_equal(base, unname(predict(local_fit, transform(fresh[1:50, ], x1 = replace(x1, 7, 0)))))
})

test_that("wrong rows are refused before anything is charged", {
  run <- function(...) function(budget) dp_residuals(..., epsilon = 0.5, budget = budget)
  expect_refusal(run(coef(local_fit), fresh), "must be a regression")
  expect_refusal(run(local_fit, fresh[1:2]), "no column")
  expect_refusal(run(local_fit, as.list(fresh)), "data frame")
  expect_refusal(run(local_fit, transform(fresh, x1 = as.character(x1))), "class it had")
  expect_refusal(run(local_fit, transform(fresh, f = factor(f, levels = c("hi", "lo", "mid")))),
                 "same levels")
  expect_refusal(run(local_fit, fresh, fresh$y[-1]), "one number per row")
  expect_refusal(run(local_fit, transform(fresh, x1 = replace(x1, 3, NA))), "missing values")
  expect_refusal(run(local_fit, fresh, bound = c(2, 1)), "bound")
  expect_refusal(run(dp_lm(as.matrix(d$x1), d$y, epsilon = Inf), d["x1"]), "`y` is needed")
  expect_s3_class(dp_residuals(local_fit, transform(fresh, x1 = replace(x1, 3, NA)), epsilon = 5,
                               na.action = na.omit), "dp_residuals")
})

test_that("nothing of the rows survives", {
  z <- canary_data()
  expect_clean(dp_residuals(local_fit, z, epsilon = 2))
  expect_clean(dp_residuals(logistic_fit, z, epsilon = 2))
})

test_that("a calibration is drawn from 0 to 1, and its print says what noise does", {
  set.seed(4)
  r <- dp_residuals(logistic_fit, fresh, epsilon = 1, bins = 5, control = repeatable)
  numbers <- suppressWarnings(as.numeric(drawn_text(plot(r))$text))
  expect_identical(range(numbers, na.rm = TRUE), c(0, 1))
  expect_match(capture.output(print(r)), "lost in the noise", all = FALSE)
  exact <- dp_residuals(logistic_fit, fresh, epsilon = Inf, bins = 5)
  expect_no_match(capture.output(print(exact)), "lost in the noise")
})

test_that("what remains in a ledger is enough for a calibration, whatever came first", {
  calibrate <- function(epsilon, budget) {
    dp_residuals(logistic_fit, fresh, epsilon = epsilon, delta = 1e-7, bins = 5, budget = budget)
  }
  for (first in c("gaussian", "laplace")) {
    budget <- privacy_budget(2, 1e-6)
    if (first == "gaussian") {
      dp_gaussian(0, sensitivity = 1, epsilon = 1.2, delta = 1e-6, budget = budget)
    } else {
      dp_laplace(0, sensitivity = 1, epsilon = 0.2, budget = budget)
    }
    expect_s3_class(calibrate(0.5, budget), "dp_residuals")
    expect_s3_class(calibrate(remaining(budget, 1e-7), budget), "dp_residuals")
  }
})

test_that("classes of a factor are those of the fit", {
  z <- transform(big, e = factor(b, labels = c("no", "yes")))
  fit <- quiet(dp_glm(e ~ x1, z, epsilon = Inf))
  expect_error(dp_residuals(fit, z, y = factor(z$e, c("yes", "no")), epsilon = 1),
               "levels that the response had", class = "dp_error_input")
  one <- dp_residuals(fit, z, y = z$e, epsilon = Inf)
  expect_identical(one$table, dp_residuals(fit, z, epsilon = Inf)$table)
})

test_that("messages are about newdata, pictures without a quantile are refused", {
  fit <- quiet(dp_lm(y ~ x1, big, epsilon = 1, delta = 1e-6))
  expect_error(dp_residuals(newdata = big, epsilon = 1), "`fit`", class = "dp_error_input")
  expect_error(dp_residuals(fit, big[0, ], epsilon = 1), "`newdata` has 0 rows")
  expect_error(dp_residuals(fit, big, y = "a", epsilon = 1), "one per row of `newdata`")
  expect_warning(dp_residuals(fit, big[1:300, ], epsilon = 1, bound = c(-9, Inf)), "n = 300")
  ends <- quiet(dp_residuals(fit, big, epsilon = 1, probs = c(0, 1)))
  expect_error(plot(ends), "above 0 and below 1", class = "dp_error")
})

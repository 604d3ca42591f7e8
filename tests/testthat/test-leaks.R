# Planted doubles and strings must be found nowhere in a fit, nor in anything that is
# printed or signalled (helper-leaks.R).

test_that("the scan finds what lm() and a closure hold", {
  z <- canary_data()
  z$note <- NULL
  fit <- lm(y ~ x1, z)
  expect_true(leaks(fit, CANARY_NUMBERS[[1L]]))
  expect_true(leaks(fit, CANARY_TEXT))
  f <- local({
    secret <- CANARY_NUMBERS[[3L]]
    function() secret
  })
  expect_true(leaks(f, CANARY_NUMBERS[[3L]]))
  expect_false(leaks(coef(lm(y ~ x1, big)), CANARY_NUMBERS[[1L]]))
})

test_that("fits made inside a function hold nothing of its data", {
  fit_all <- function() {
    set.seed(71)
    z <- canary_data()
    secret <- CANARY_NUMBERS
    text <- "CANARY in the environment"
    keep <- z$x2 > -0.9
    o <- z$b
    m <- as.matrix(z[c("x1", "x2")])
    half <- function(v) v / 2
    control <- repeatable
    expect_clean(dp_lm(y ~ x1 + f, z, eps, del, control = control))
    expect_clean(dp_lm(y ~ half(x1) + I(x2 > 0), z, eps, del, control = control))
    expect_clean(dp_lm(y ~ x1, z, 4, del, subset = keep, offset = o, control = control))
    expect_clean(dp_lm(y ~ x1 + offset(b), z, 4, del, subset = x2 > -0.9, control = control))
    expect_clean(dp_lm(as.formula("y ~ x1"), data = z, eps, del, control = control))
    expect_clean(dp_lm(m, z$y, eps, del, offset = o, subset = keep, control = control))
    expect_clean(dp_lm(z[c("x1", "x2")], z$y, eps, del, control = control))
    expect_clean(dp_lm(z$x1, z$y, eps, del, intercept = FALSE, control = control))
    expect_clean(dp_mean(z$y, 2, control = control))
    expect_clean(dp_mean(m, 4, del, control = control))
    expect_clean(dp_mean(z[c("x1", "y")], 4, na.rm = TRUE, control = control))
    expect_clean(dp_mean(setNames(z$y, rownames(z)), eps, bound = c(-5, 5), control = control))
    expect_clean(dp_quantile(z$y, c(0.25, 0.5, 0.75), eps, control = control))
    expect_clean(dp_quantile(setNames(z$x1, rownames(z)), 0.5, eps, del, control = control))
  }
  fit_all()
})

test_that("data inlined into the call stays out of the fit", {
  z <- canary_data()
  keep <- z$x2 > -0.9
  set.seed(72)
  more <- list(control = repeatable)
  expect_clean(do.call(dp_lm, c(list(y ~ x1 + f, z, 4, del), more)))
  expect_clean(do.call(dp_lm, c(list(y ~ x1, data = z, epsilon = 4, delta = del, subset = keep,
                                     offset = z$b), more)))
  expect_clean(do.call("dp_lm", c(list(as.matrix(z[1:2]), z$y, 4, del, offset = z$b), more)))
  expect_clean(do.call(dp_mean, c(list(z$y, 2), more)))
  expect_clean(do.call(dp_mean, c(list(z[1:2], 4, bound = 9), more)))
  expect_clean(do.call(dp_quantile, c(list(z$y, 0.5, 1), more)))
})

test_that("a fit without noise holds no rows either", {
  set.seed(127)
  z <- canary_data()
  expect_clean(dp_lm(y ~ x1 + f, z, Inf))
  expect_clean(dp_lm(as.matrix(z[1:2]), z$y, Inf))
  expect_clean(dp_mean(z[c("x1", "y")], Inf))
})

test_that("rows that na.omit or na.rm leave out stay hidden", {
  z <- canary_data()
  z$x2[c(3, 5, 7)] <- NA
  set.seed(73)
  expect_clean(dp_lm(y ~ x1 + x2, z, eps, del, na.action = na.omit, control = repeatable))
  expect_clean(dp_mean(z[c("x1", "x2")], 4, na.rm = TRUE, control = repeatable))
  expect_clean(dp_quantile(z$x2, 0.5, 1, na.rm = TRUE, control = repeatable))
})

test_that("a fit on a sample too small to say anything is as silent", {
  set.seed(128)
  z <- canary_data()[1:20, ]
  expect_clean(dp_lm(y ~ x1 + f, z, eps, del))
  expect_clean(dp_lm(as.matrix(z[1:2]), z$y, eps, del))
  expect_clean(dp_mean(z$y, eps, bound = 1))
})

test_that("refusals name no row, value or label", {
  z <- canary_data()
  z$k <- factor("CANARY level")
  z$t <- "CANARY text"
  z$when <- Sys.Date()
  bad <- replace(z$y, 9, NA)
  calls <- list(
    function() dp_lm(y ~ k, z, eps, del), function() dp_lm(y ~ t, z, eps, del),
    function() dp_lm(y ~ when, z, eps, del), function() dp_lm(t ~ x1, z, eps, del),
    function() dp_lm(k ~ x1, z, eps, del), function() dp_lm(y ~ scale(x1), z, eps, del),
    function() dp_lm(y ~ nothing, z, eps, del), function() dp_lm(y ~ x1, z, eps, del, subset = y),
    function() dp_lm(y ~ x1, z, eps, del, offset = bad), function() dp_lm(z$x1, bad, eps, del),
    function() dp_lm(z[c("x1", "t")], z$y, eps, del), function() dp_mean(z$t, eps),
    function() dp_mean(bad, eps), function() dp_mean(z[c("x1", "k")], eps),
    function() dp_quantile(bad, 0.5, eps), function() dp_quantile(z$k, 0.5, eps),
    function() do.call(dp_lm, list(y ~ x1, z, eps, del, weights = z$b)),
    function() do.call(dp_lm, list(z$x1, z$y, eps, del, z$b)),
    function() do.call(dp_mean, list(z$y, eps, 0, c(1, 2), NULL, z$x1)),
    function() do.call(dp_mean, list(z$y, epsilon = z$x1)),
    function() do.call(dp_lm, list(y ~ x1, z, eps, del, control = z$x1)),
    function() do.call(dp_lm, list(y ~ x1, z, eps, del, budget = z)),
    function() do.call(dp_lm, list(y ~ x1, z, eps, del, scale = z$x1))
  )
  for (call in calls) {
    error <- tryCatch(quiet(call()), error = identity)
    expect_s3_class(error, "dp_error")
    expect_no_match(conditionMessage(error), CANARY_DIGITS)
    expect_null(conditionCall(error))
    expect_false(leaks(error, CANARY_TEXT))
    expect_false(leaks(error, CANARY_NUMBERS[[1L]]))
  }
})

test_that("a fit has these fields and no others", {
  common <- c("front", "coefficients", "n", "privacy", "schema")
  expect_named(dp_mean(big$y, 2), c(common, "limits", "noise_sd", "found", "method", "noise",
                                     "errors", "bias"),
               ignore.order = TRUE)
  expect_named(dp_quantile(big$y, 0.5, 2), c(common, "probs", "counted"),
               ignore.order = TRUE)
  lm_fields <- c(common, "center", "scale", "found", "bound", "sd", "loss", "gradient",
                 "constraint", "penalty")
  expect_named(dp_lm(y ~ x1, big, 2, del), c(lm_fields, "vcov", "target", "level", "bias",
                                              "arguments"), ignore.order = TRUE)
  expect_named(dp_lm(big$x1, big$y, 2, del, target = "robust"), c(lm_fields, "vcov", "target"),
               ignore.order = TRUE)
  expect_named(dp_sco(big$x1, big$y, 2, del, gradient = grad_catoni()), c(lm_fields, "output"),
               ignore.order = TRUE)
  fit <- dp_lm(y ~ x1 + f, big, 2, del)
  for (name in c("live", "subset")) expect_null(fit$schema[[name]])
  for (field in c("call", "model", "fitted.values", "residuals", "weights", "iterations")) {
    expect_null(fit[[field]])
  }
  expect_named(unclass(privacy(fit)),
               c("epsilon", "delta", "events", "neighbours", "rng", "calibration", "ordered"))
})

test_that("no field of a fit is as long as the data, and none holds an environment with data", {
  z <- canary_data()
  sizes <- function(x) if (is.list(x)) unlist(lapply(unclass(x), sizes)) else length(x)
  for (fit in list(dp_lm(y ~ x1 + f, z, 2, del), dp_mean(z$y, 2), dp_quantile(z$y, 0.5, 2))) {
    expect_lt(max(sizes(fit)), 100)
    expect_lt(length(serialize(fit, NULL)), 3e4)
  }
  expect_identical(environment(formula(dp_lm(y ~ x1, z, 2, del))), globalenv())
})

test_that("the seed of a repeatable fit is not in it", {
  set.seed(74)
  key <- release_key(repeatable)
  set.seed(74)
  fit <- dp_mean(big$y, 2, control = repeatable)
  expect_false(has_bytes(serialize(fit, NULL), key))
  set.seed(74)
  fit <- dp_lm(y ~ x1, big, 2, del, control = repeatable)
  expect_false(has_bytes(serialize(fit, NULL), key))
})

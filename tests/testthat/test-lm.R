# x with columns of very different scales and places.
spread_fixture <- function(n = 3000) {
  set.seed(21)
  z <- data.frame(
    small = 1e-3 * rt(n, 3), large = 1e3 * rt(n, 3), far = 1e4 + rt(n, 3), skew = rlnorm(n),
    f = factor(sample(c("a", "b", "c"), n, TRUE), levels = c("a", "b", "c")), l = runif(n) < 0.2,
    o = rnorm(n), k = sample(0:4, n, TRUE)
  )
  z$y <- 50 + 300 * z$small - 2e-3 * z$large + z$far - 1e4 + 0.3 * z$skew + (z$f == "b") + rt(n, 3)
  z
}

# Predictions of lm, on the rows given, agree to a relative 1e-6.
expect_like_lm <- function(fit, reference, newdata) {
  b <- coef(reference)
  testthat::expect_named(coef(fit), names(b))
  if (!anyNA(b)) testthat::expect_equal(coef(fit), b, tolerance = 1e-6)
  testthat::expect_equal(
    unname(predict(fit, newdata)), unname(suppressWarnings(predict(reference, newdata))),
    tolerance = 1e-6
  )
}

test_that("epsilon = Inf agrees with lm for many formulas and scales", {
  set.seed(106)
  z <- spread_fixture()
  for (formula in list(
    y ~ small, y ~ small + large + far + skew, y ~ far, y ~ f, y ~ f * small, y ~ l + f:skew,
    y ~ 1, y ~ 0 + small, y ~ 0 + f, y ~ small + large - 1, y ~ far + offset(o),
    y ~ 0 + f + far, log(abs(y)) ~ skew + I(skew^2), y ~ k + l, y ~ poly(skew, 2, raw = TRUE),
    l ~ skew + small, y ~ .
  )) {
    expect_silent(fit <- dp_lm(formula, z, epsilon = Inf))
    expect_like_lm(fit, lm(formula, z), z[1:20, ])
  }
})

test_that("epsilon = Inf agrees with lm for a matrix, an offset and no intercept", {
  set.seed(107)
  z <- spread_fixture()
  x <- as.matrix(z[c("small", "large", "skew")])
  expect_equal(coef(dp_lm(x, z$y, Inf)), coef(lm(y ~ small + large + skew, z)), tolerance = 1e-6)
  expect_equal(coef(dp_lm(x, z$y, Inf, intercept = FALSE)),
               coef(lm(y ~ 0 + small + large + skew, z)), tolerance = 1e-6)
  expect_equal(coef(dp_lm(x, z$y, Inf, offset = z$o)),
               coef(lm(y ~ small + large + skew, z, offset = o)), tolerance = 1e-6)
  expect_equal(unname(coef(dp_lm(z$skew, z$y, Inf))), unname(coef(lm(y ~ skew, z))),
               tolerance = 1e-6)
  wide <- matrix(rt(500 * 30, 3), 500)
  y <- drop(wide %*% seq(-1, 1, length.out = 30)) + rt(500, 3)
  expect_equal(unname(coef(dp_lm(wide, y, Inf))), unname(coef(lm(y ~ wide))), tolerance = 1e-6)
})

test_that("rows left out by subset or na.omit count nothing in the fit", {
  z <- spread_fixture()
  fit <- dp_lm(y ~ small + f, z, Inf, subset = skew > 1)
  expect_like_lm(fit, lm(y ~ small + f, z, subset = skew > 1), z[1:20, ])
  expect_identical(nobs(fit), 3000L)
  x <- as.matrix(z[c("small", "skew")])
  expect_equal(coef(dp_lm(x, z$y, Inf, subset = z$l)), coef(lm(y ~ small + skew, z, subset = l)),
               tolerance = 1e-6)
  z$small[1:300] <- NA
  z$y[200:500] <- NaN
  fit <- dp_lm(y ~ small + f, z, Inf, na.action = na.omit)
  expect_like_lm(fit, lm(y ~ small + f, z, na.action = na.omit), z[1000:1020, ])
  expect_identical(nobs(fit), 3000L)
  x[1:100, 2] <- NA
  expect_equal(coef(dp_lm(x, z$y, Inf, na.action = na.omit)), coef(lm(z$y ~ x)),
               tolerance = 1e-6, ignore_attr = TRUE)
})

test_that("constants and columns with hardly a value predict like lm too", {
  z <- transform(big, five = 5, one = 1)
  z$rare <- replace(rep(0, 4000), 1:8, 3)
  z$gone <- replace(z$x1, 21:4000, NA)
  for (formula in list(five ~ x1, y ~ x1 + five, y ~ 0 + five, y ~ 0 + one + x1, y ~ rare)) {
    expect_silent(fit <- dp_lm(formula, z, Inf))
    want <- suppressWarnings(predict(lm(formula, z), z[1:9, ]))
    expect_equal(unname(predict(fit, z[1:9, ])), unname(want), tolerance = 1e-6)
  }
  fit <- dp_lm(y ~ gone, z, Inf, na.action = na.omit)
  expect_equal(coef(fit), coef(lm(y ~ gone, z)), tolerance = 1e-6)
  expect_warning(dp_lm(y ~ x1, z, Inf, subset = x1 > 1e9), class = "dp_dominated")
})

test_that("collinear columns predict like lm", {
  z <- transform(big, x3 = x1 + x2, x4 = x1)
  fit <- dp_lm(y ~ x1 + x2 + x3 + x4, z, Inf)
  expect_equal(unname(predict(fit, z)), unname(fitted(lm(y ~ x1 + x2, z))), tolerance = 1e-5)
})

test_that("with little noise a private fit is near least squares on bounded data", {
  set.seed(22)
  z <- data.frame(a = runif(4000, -1, 1), b = 1e3 * runif(4000), y = 0)
  z$y <- 2 - z$a + 0.004 * z$b + runif(4000, -1, 1)
  fit <- dp_lm(y ~ a + b, z, 1e5, del, control = repeatable)
  expect_equal(coef(fit), coef(lm(y ~ a + b, z)), tolerance = 0.02)
  x <- as.matrix(z[c("a", "b")])
  fit <- dp_lm(x, z$y, 1e5, del, gradient = grad_clipped(1e3), control = repeatable)
  expect_equal(coef(fit), coef(lm(y ~ a + b, z)), tolerance = 0.02)
})

test_that("formula, matrix and data frame agree with the same seed", {
  run <- function(f) {
    set.seed(3)
    fit <- f()
    list(coef(fit), privacy(fit), fit$scale, fit$center, fit$sd)
  }
  x <- big[c("x1", "x2")]
  a <- run(function() dp_lm(y ~ x1 + x2, big, eps, del, control = repeatable))
  expect_identical(run(function() dp_lm(as.matrix(x), big$y, eps, del, control = repeatable)), a)
  expect_identical(run(function() dp_lm(x, big$y, eps, del, control = repeatable)), a)
  expect_identical(
    run(function() dp_lm(x = x, y = big$y, epsilon = eps, delta = del, control = repeatable)), a
  )
})

test_that("the formula is found wherever it stands", {
  run <- function(f) {
    set.seed(3)
    coef(f())
  }
  a <- run(function() dp_lm(y ~ x1, big, eps, del, control = repeatable))
  for (f in list(
    function() dp_lm(data = big, y ~ x1, epsilon = eps, delta = del, control = repeatable),
    function() dp_lm(data = big, formula = y ~ x1, eps, del, control = repeatable),
    function() dp_lm(eps, delta = del, data = big, formula = y ~ x1, control = repeatable),
    function() dp_lm(formula = y ~ x1, big, eps, del, control = repeatable),
    function() big |> dp_lm(formula = y ~ x1, epsilon = eps, delta = del, control = repeatable)
  )) {
    expect_identical(run(f), a)
  }
})

test_that("a data frame without y or with a formula in second place is refused with a hint", {
  expect_refusal(function(b) dp_lm(big, epsilon = eps, delta = del, budget = b), "formula first")
  expect_refusal(function(b) dp_lm(big, y ~ x1, eps, del, budget = b), "formula first")
  expect_refusal(function(b) dp_lm(big, big$y, eps, del, budget = b), "`f`")
  expect_refusal(function(b) dp_lm(y ~ x1, epsilon = eps, delta = del, budget = b), "`data`")
  expect_refusal(function(b) dp_lm("a", 1, eps, del, budget = b), "`x`")
})

test_that("public scales replace the private search", {
  set.seed(108)
  x <- big[c("x1", "x2")]
  scales <- function(x, y = list(center = 1, scale = 3)) list(x = x, y = y)
  both <- scales(list(center = c(0, 0), scale = c(2, 0.6)))
  fit <- dp_lm(x, big$y, eps, del, scale = both)
  expect_identical(fit$center, c(x1 = 0, x2 = 0, y = 1))
  expect_identical(fit$scale, c(x1 = 2, x2 = 0.6, y = 3))
  what <- as.data.frame(privacy(fit))$what
  expect_no_match(what, "pair|exponents|location")
  run <- function(scale) {
    set.seed(3)
    coef(dp_lm(x, big$y, eps, del, scale = scale, control = repeatable))
  }
  named <- scales(list(scale = c(x2 = 0.6, x1 = 2), center = c(x2 = 0, x1 = 0)))
  expect_identical(run(named), run(both))
  expect_identical(run(scales(list(center = 0, scale = c(2, 0.6)))), run(both))
  expect_equal(coef(dp_lm(x, big$y, Inf, scale = both)), coef(lm(y ~ x1 + x2, big)),
               tolerance = 1e-6)
  fit <- dp_lm(x, big$y, eps, del, scale = list(x = list(scale = c(x1 = 2))))
  expect_identical(fit$scale[["x1"]], 2)
  expect_true(all(fit$scale != 1))
  what <- as.data.frame(privacy(fit))$what
  expect_match(what, "pair", all = FALSE)
})

test_that("public scales that make no sense are refused by name", {
  refused <- function(scale) {
    expect_refusal(function(b) dp_lm(y ~ x1 + x2, d, eps, del, scale = scale, budget = b), "`scale")
  }
  for (scale in list(
    3, list(1), list(z = 1), "a", list(x = 1), list(x = list(sd = 1)), list(x = list(scale = 0)),
    list(x = list(scale = -1)), list(x = list(scale = "a")), list(x = list(scale = Inf)),
    list(x = list(scale = 1:3)), list(x = list(center = c(no_column = 1))),
    list(y = list(center = 1:2)), list(x = list(2)), list(x = list(scale = 1), 3),
    list(y = list(scale = numeric(0)))
  )) {
    refused(scale)
  }
})

test_that("a given clip level is used in every stage and costs no search", {
  set.seed(109)
  fit <- dp_lm(y ~ x1 + x2, big, eps, del, target = "robust", gradient = grad_clipped(0.7))
  expect_identical(fit$bound, rep(0.7, 4))
  expect_no_match(as.data.frame(privacy(fit))$what, "gradient sizes")
  for (g in list("whole", 3, NULL, loss_squared())) {
    expect_refusal(function(b) dp_lm(y ~ x1, d, eps, del, gradient = g, budget = b), "`gradient`")
  }
  expect_refusal(function(b) dp_lm(y ~ x1, d, eps, del, loss = "logistic", budget = b), "`loss`")
  expect_refusal(function(b) dp_lm(y ~ x1, d, eps, del, constraint = 3, budget = b), "`constraint`")
  expect_silent(dp_lm(y ~ x1, big, eps, del, loss = "squared", gradient = "clipped",
                      constraint = "none", control = repeatable))
})

test_that("slopes stay in the ball, in the caller's units, whatever the noise", {
  for (r in c(1e-3, 0.5, 100)) {
    for (e in c(0.3, 1e4, Inf)) {
      fit <- quiet(dp_lm(y ~ x1 + I(1e3 * x2), big, e, del, constraint = l2_ball(r)))
      expect_lte(sqrt(sum(coef(fit)[-1]^2)), r * (1 + 1e-9))
    }
  }
  expect_equal(coef(dp_lm(y ~ x1 + x2, big, Inf, constraint = l2_ball(1e4))),
               coef(lm(y ~ x1 + x2, big)), tolerance = 1e-6)
  fit <- dp_lm(y ~ 0 + x1 + x2, big, eps, del, constraint = l2_ball(0.1))
  expect_lte(sqrt(sum(coef(fit)^2)), 0.1 * (1 + 1e-9))
})

test_that("iterations and step are public settings that the events follow", {
  settings <- dp_control(iterations = 7, step = 0.5)
  fit <- dp_lm(y ~ x1, big, eps, del, target = "robust", control = settings)
  events <- as.data.frame(privacy(fit))
  expect_identical(events$count[grepl("stage 4", events$what)], 7)
  events <- as.data.frame(privacy(dp_lm(y ~ x1, big, eps, del, control = settings)))
  expect_identical(events$count[grepl("C/n, mean", events$what)], 7)
  expect_true(all(is.finite(coef(fit))))
})

# ---- what is paid -----------------------------------------------------------------------

test_that("the events spend all of epsilon and no more", {
  for (run in list(
    function(e, q) dp_lm(y ~ x1 + f, big, e, q),
    function(e, q) dp_lm(big[1:2], big$y, e, q, gradient = grad_clipped(1)),
    function(e, q) dp_lm(y ~ f, big, e, q, scale = list(y = list(center = 0, scale = 1))),
    function(e, q) dp_lm(y ~ x1, big, e, q, control = dp_control(iterations = 101))
  )) {
    for (e in c(0.2, 1, 8)) {
      for (q in c(1e-10, 1e-6)) {
        p <- privacy(quiet(run(e, q)))
        table <- as.data.frame(p)
        expect_true(all(table$mechanism == "gaussian"))
        mu <- discrete_gaussian_mu(e, q)
        expect_equal(sum(table$count * table$cost^2), mu^2, tolerance = 1e-12)
        expect_lte(events_epsilon(p$events, q), e * (1 + 1e-9))
        expect_gte(events_epsilon(p$events, q), e * (1 - 1e-6))
        expect_lte(epsilon_at(p, q), e)
      }
    }
  }
})

test_that("the charge comes before the values are read, and is kept", {
  order <- character()
  trace <- function(name) {
    fun <- get(name, envir = asNamespace("dpheavy"))
    function(...) {
      order <<- c(order, name)
      fun(...)
    }
  }
  steps <- c("curator_check", "ledger_charge", "frame_values", "fit_lm")
  traced <- do.call(with_replaced, c(list(run_regression), sapply(steps, trace, simplify = FALSE)))
  traced <- with_replaced(run_lm, run_regression = traced, fit_lm = trace("fit_lm"))
  front <- with_replaced(dp_lm.formula, run_lm = traced)
  b <- privacy_budget(1, 1e-6)
  front(y ~ x1, big, 0.5, del, budget = b)
  expect_identical(unique(order), steps)
  expect_equal(spent(b), 0.5, tolerance = 1e-6)

  broken <- with_replaced(run_regression, frame_values = function(...) stop("planted"))
  broken <- with_replaced(run_lm, run_regression = broken)
  front <- with_replaced(dp_lm.formula, run_lm = broken)
  expect_error(quiet(front(y ~ x1, big, 0.25, del, budget = b)), "planted")
  expect_gt(spent(b), 0.5)
  expect_identical(as.data.frame(b)$epsilon, c(0.5, 0.25))
  stop_at <- function(expr) {
    quiet(withCallingHandlers(expr, message = function(m) stop("planted in a stage")))
  }
  before <- spent(b)
  expect_error(
    stop_at(dp_lm(y ~ x1, big, 0.1, del, budget = b, control = dp_control(progress = TRUE))),
    "planted in a stage"
  )
  expect_gt(spent(b), before)
})

test_that("what does not fit is refused and changes nothing; what remains always fits", {
  b <- privacy_budget(1, 1e-6)
  dp_lm(y ~ x1, big, 0.6, del, budget = b)
  before <- list(spent(b), remaining(b), as.data.frame(b))
  expect_error(dp_lm(y ~ x1, big, 1, del, budget = b), class = "dp_error_budget")
  expect_error(dp_mean(big$y, 1, budget = b), class = "dp_error_budget")
  expect_error(dp_quantile(big$y, 0.5, 1, budget = b), class = "dp_error_budget")
  expect_identical(list(spent(b), remaining(b), as.data.frame(b)), before)
  quiet(dp_lm(y ~ x1, big, remaining(b), del, budget = b))
  expect_equal(spent(b), 1, tolerance = 1e-6)
  expect_lte(spent(b), 1 + 1e-9)
  expect_refusal(function(b) dp_lm(y ~ x1, d, eps, del, budget = 1), "`budget`")
  expect_error(dp_lm(y ~ x1, big, 1, del, budget = privacy_budget(1)), "delta",
               class = "dp_error_budget")
})

test_that("any order of fronts keeps within the budget, and the last call may take the rest", {
  fronts <- list(
    function(e, b) dp_lm(y ~ x1, big, e, del, budget = b),
    function(e, b) dp_mean(big$y, e, bound = 50, budget = b),
    function(e, b) dp_mean(big[1:2], e, del, bound = 50, budget = b),
    function(e, b) dp_quantile(big$y, c(0.25, 0.5), e, budget = b),
    function(e, b) dp_quantile(big$y, c(0.25, 0.5), e, del, budget = b)
  )
  pure <- c(FALSE, TRUE, FALSE, TRUE, FALSE)
  orders <- expand.grid(first = seq_along(fronts), last = seq_along(fronts))
  for (i in seq_len(nrow(orders))) {
    b <- privacy_budget(2, 1e-5)
    quiet(fronts[[orders$first[[i]]]](0.7, b))
    left <- remaining(b, if (pure[[orders$last[[i]]]]) 0 else del)
    expect_gt(left, 0.1)
    expect_s3_class(quiet(fronts[[orders$last[[i]]]](left, b)), "dp_fit")
    expect_lte(spent(b), 2 * (1 + 1e-9))
    expect_identical(nrow(as.data.frame(b)), 2L)
  }
})

# ---- what is public -----------------------------------------------------------------------

test_that("few rows are warned about from public numbers, before anything is spent", {
  b <- privacy_budget(1, 1e-6)
  warned <- tryCatch(dp_lm(y ~ x1 + x2, d[1:60, ], eps, del, budget = b), dp_small_n = identity)
  expect_s3_class(warned, "dp_small_n")
  expect_match(conditionMessage(warned), "n = 60 ")
  expect_identical(spent(b), 0)
  other <- tryCatch(dp_lm(y ~ x1 + x2, d[101:160, ], eps, del), dp_small_n = identity)
  expect_identical(conditionMessage(other), conditionMessage(warned))
})

test_that("fits on neighbouring data sets differ in numbers only", {
  set.seed(110)
  extreme <- list(0, 1e308, -1e308, Inf, -Inf, 5e-324)
  for (v in extreme) {
    z <- big
    z$x1[1] <- v
    z$y[1] <- -v
    z$f[1] <- "mid"
    for (run in list(
      function(z) dp_lm(y ~ x1 + f, z, eps, del, control = repeatable),
      function(z) dp_lm(y ~ log(abs(x1)) + I(x2 > 0), z, eps, del, control = repeatable),
      function(z) dp_lm(z[1:2], z$y, eps, del, control = repeatable),
      function(z) {
        dp_lm(y ~ x1, z, 8, del, subset = x1 > 0, na.action = na.omit, control = repeatable)
      }
    )) {
      expect_identical(conditions_of(a <- run(big)), character())
      expect_identical(conditions_of(b <- run(z)), character())
      expect_identical(names(a), names(b))
      expect_identical(class(a), class(b))
      expect_identical(lapply(a, class), lapply(b, class))
      expect_identical(lapply(a, names), lapply(b, names))
      expect_identical(lengths(a), lengths(b))
      expect_identical(a$schema, b$schema)
      expect_identical(privacy(a), privacy(b))
      expect_true(all(is.finite(coef(b))))
    }
  }
})

test_that("rare levels and unused levels keep their coefficient", {
  z <- big
  z$f <- factor(as.character(z$f), levels = c("lo", "mid", "hi", "never"))
  fit <- dp_lm(y ~ f, z, eps, del)
  expect_named(coef(fit), c("(Intercept)", "fmid", "fhi", "fnever"))
  expect_true(all(is.finite(coef(fit))))
  expect_length(predict(fit, data.frame(f = "never")), 1)
})

test_that("one row cannot drag a fit far", {
  run <- function(z) {
    set.seed(31)
    coef(dp_lm(y ~ x1 + x2, z, 4, del, control = repeatable))
  }
  a <- run(big)
  for (v in c(1e6, 1e300, -1e308)) {
    z <- big
    z$y[1] <- v
    z$x2[1] <- -v
    expect_lt(max(abs(run(z) - a)), 0.5)
  }
})

test_that("0/1, censored and count responses are fitted in the mean", {
  set.seed(118)
  n <- 20000
  x <- runif(n, -1, 1)
  responses <- list(
    as.numeric(runif(n) < 0.1 + 0.05 * x), runif(n) < 0.3 + 0.15 * x,
    pmax(0, x + rnorm(n) - 0.5), rpois(n, exp(-0.5 + 0.3 * x))
  )
  for (y in responses) {
    fit <- dp_lm(x, y, 2, 1e-6, control = repeatable)
    expect_equal(unname(coef(fit)), unname(coef(lm(y ~ x))), tolerance = 0.2)
  }
})

test_that("levels that hardly any row has get the coefficient 0, with a warning", {
  set.seed(119)
  n <- 20000
  f <- factor(sample(c("a", "c"), n, TRUE), levels = c("a", "b", "c"))
  f[1:5] <- "b"
  z <- data.frame(x = rnorm(n), f = f)
  z$y <- z$x + rnorm(n)
  expect_warning(fit <- dp_lm(y ~ x + f, z, 1, 1e-6, control = repeatable), class = "dp_dominated")
  expect_identical(fit$found, c(x = TRUE, fb = FALSE, fc = TRUE, y = TRUE))
  expect_identical(coef(fit)[["fb"]], 0)
})

test_that("a reference level that few rows have is warned about, common ones are not", {
  set.seed(412)
  n <- 20000
  z <- data.frame(
    x = stats::rnorm(n), rare = factor(rep(c("few", "many"), c(40, n - 40))),
    g = factor(sample(c("a", "b", "c", "d"), n, TRUE), c("a", "b", "c", "d", "e"))
  )
  z$y <- z$x + (z$rare == "few") + 0.3 * stats::rnorm(n)
  z$event <- z$y > 0
  said <- function(formula, front = dp_lm, epsilon = 1, ...) {
    out <- conditions_of(front(formula, z, epsilon, 1e-6, ..., control = repeatable))
    grep("the reference level", out, value = TRUE)
  }
  few <- "^dp_dominated: the reference level `few` of `rare` cannot be told from noise"
  expect_match(said(y ~ x + g + rare), few)
  expect_match(said(event ~ x + rare, dp_glm), few)
  expect_match(said(y ~ x + rare, gradient = "winsorized"), few)
  expect_match(said(y ~ x + (rare == "many")), "`FALSE` of `rare == \"many\"`")
  # no level is without a column, none counts as the first, no noise, a scale of the caller's
  expect_identical(said(y ~ 0 + rare), character())
  expect_identical(said(y ~ x + C(rare, sum)), character())
  expect_identical(said(y ~ x + rare, epsilon = Inf), character())
  own <- list(x = list(center = c(raremany = 0.5), scale = c(raremany = 0.5)))
  expect_identical(said(y ~ x + rare, scale = own), character())
  # a level that no row has falls to the reference, which is common
  expect_identical(said(y ~ x + g), character())
  z$rare <- relevel(z$rare, "many")
  expect_identical(said(y ~ x + rare), character())
  # a matrix has no levels
  expect_identical(conditions_of(dp_lm(cbind(a = z$x), z$y, 1, 1e-6, control = repeatable)),
                   character())
})

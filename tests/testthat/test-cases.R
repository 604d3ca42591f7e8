# Inputs that broke other packages. Each test is named by the property it shows.

small <- function(n = 40) d[seq_len(n), ]

# ---- values that are missing or infinite --------------------------------------

test_that("a missing value is refused before anything is spent, for every front", {
  for (bad in list(NA_real_, NaN)) {
    z <- d
    z$x1[7] <- bad
    z$x2[8] <- 12345.678
    m <- as.matrix(z[c("x1", "x2")])
    y <- d$y
    yb <- replace(y, 3, bad)
    missing <- function(call, naming) expect_refusal(call, naming, "dp_error_missing")
    missing(function(b) dp_mean(z$x1, eps, bound = c(-50, 50), budget = b), "`x`")
    missing(function(b) dp_mean(m, eps, bound = 50, budget = b), "`x`")
    missing(function(b) dp_mean(z[c("x1", "x2")], eps, bound = 50, budget = b), "`x`")
    missing(function(b) dp_quantile(z$x1, 0.5, eps, budget = b), "`x`")
    missing(function(b) dp_lm(y ~ x1 + x2, z, eps, del, budget = b), "`data`")
    missing(function(b) dp_lm(y ~ log(abs(x1)), z, eps, del, budget = b), "`data`")
    missing(function(b) dp_lm(m, y, eps, del, budget = b), "`x`")
    missing(function(b) dp_lm(d$x1, yb, eps, del, budget = b), "`y`")
    missing(function(b) dp_lm(d$x1, y, eps, del, offset = yb, budget = b), "`offset`")
    o <- z$x1
    missing(function(b) dp_lm(y ~ x2, d, eps, del, offset = o, budget = b), "`data`")
  }
  expect_refusal(function(b) dp_mean(c(1L, NA), eps, bound = 5, budget = b), "`x`")
  expect_refusal(function(b) dp_mean(c(TRUE, NA), eps, bound = 5, budget = b), "`x`")
})

test_that("the refusal of a missing value is one text, however many are missing and where", {
  texts <- vapply(list(1, 2:9, 400, 1:400), function(rows) {
    z <- d
    z$x1[rows] <- NA
    quiet(c(
      error_text(dp_lm(y ~ x1, z, eps, del)), error_text(dp_lm(z$x1, z$y, eps, del)),
      error_text(dp_mean(z$x1, eps, bound = 5)), error_text(dp_quantile(z$x1, 0.5, eps))
    ))
  }, rep("", 4))
  expect_identical(texts, matrix(texts[, 1], 4, 4))
  expect_match(texts, "do not publish", fixed = TRUE)
})

test_that("infinite values count as the bound, or as a row that adds zero, and say nothing", {
  set.seed(101)
  x <- big$y
  for (bad in list(Inf, -Inf, c(Inf, -Inf))) {
    at <- seq_along(bad)
    xi <- replace(x, at, bad)
    m <- cbind(a = xi, b = big$x1)
    run <- list(
      function(x, m, z) dp_mean(x, eps, bound = c(-50, 50), control = repeatable),
      function(x, m, z) dp_mean(x, 2, control = repeatable),
      function(x, m, z) dp_mean(m, eps, bound = 50, control = repeatable),
      function(x, m, z) dp_quantile(x, c(0.1, 0.5), eps, control = repeatable),
      function(x, m, z) dp_lm(y ~ x1, z, eps, del, control = repeatable),
      function(x, m, z) dp_lm(y ~ log(abs(x1)) + f, z, eps, del, control = repeatable),
      function(x, m, z) dp_lm(m, big$y, eps, del, control = repeatable)
    )
    z <- big
    z$x1[at] <- bad
    for (f in run) {
      expect_silent(fit <- f(xi, m, z))
      expect_true(all(is.finite(coef(fit))))
    }
  }
  xi <- c(Inf, -Inf, 1, Inf)
  expect_equal(coef(dp_mean(xi, 1e6, bound = 5)), c(mean = 6 / 4), tolerance = 1e-3)
})

test_that("with na.rm the sum is divided by a private count, and n stays public", {
  set.seed(102)
  fit <- dp_mean(c(0, 1, 2, 3, 4, NA), epsilon = 1e6, bound = c(0, 10), na.rm = TRUE)
  expect_equal(coef(fit), c(mean = 2), tolerance = 1e-2)
  expect_identical(nobs(fit), 6L)
  expect_match(as.data.frame(privacy(fit))$what, "complete values", all = FALSE)
  full <- dp_mean(0:5, epsilon = 1e6, bound = c(0, 10), na.rm = TRUE)
  expect_identical(privacy(full), privacy(fit))
  x <- replace(big$y, 1:1500, NA)
  expect_silent(fit <- dp_mean(x, 2, na.rm = TRUE, control = repeatable))
  expect_true(is.finite(coef(fit)))
  expect_identical(nobs(fit), 4000L)
  expect_equal(coef(dp_mean(c(1L, NA, 3L), 1e6, bound = c(0, 5), na.rm = TRUE)), c(mean = 2),
               tolerance = 1e-2)
})

test_that("a data set of missing values alone gives a finite answer under na.rm", {
  fit <- dp_mean(rep(NA_real_, 50), eps, bound = c(0, 1), na.rm = TRUE)
  expect_true(coef(fit) >= 0 && coef(fit) <= 1)
  expect_true(is.finite(coef(dp_quantile(rep(NA_real_, 50), 0.5, eps, na.rm = TRUE))))
})

# ---- epsilon, delta, bound -------------------------------------------------------

test_that("epsilon is refused by name, whatever is wrong with it", {
  for (e in list(0, -1, NA_real_, NaN, "1", c(1, 2), NULL, TRUE, numeric(0), list(1), NA)) {
    expect_refusal(function(b) dp_mean(d$y, epsilon = e, bound = 9, budget = b), "`epsilon`")
    expect_refusal(function(b) dp_quantile(d$y, 0.5, epsilon = e, budget = b), "`epsilon`")
    expect_refusal(function(b) dp_lm(y ~ x1, d, epsilon = e, delta = del, budget = b), "`epsilon`")
    expect_refusal(function(b) dp_lm(d$x1, d$y, epsilon = e, delta = del, budget = b), "`epsilon`")
  }
  expect_refusal(function(b) dp_mean(d$y, bound = 9, budget = b), "`epsilon`")
  expect_refusal(function(b) dp_quantile(d$y, 0.5, budget = b), "`epsilon`")
  expect_refusal(function(b) dp_lm(y ~ x1, d, budget = b), "`epsilon`")
})

test_that("delta is refused by name, and 0 where the noise is Gaussian", {
  for (q in list(-1e-9, 1, 2, NA_real_, "0", c(1e-6, 1e-6), NULL, Inf)) {
    expect_refusal(function(b) dp_mean(d$y, eps, q, bound = 9, budget = b), "`delta`")
    expect_refusal(function(b) dp_quantile(d$y, 0.5, eps, q, budget = b), "`delta`")
    expect_refusal(function(b) dp_lm(y ~ x1, d, eps, q, budget = b), "`delta`")
  }
  expect_refusal(function(b) dp_lm(y ~ x1, d, eps, 0, budget = b), "`delta` must be above 0")
  expect_refusal(function(b) dp_lm(y ~ x1, d, eps, budget = b), "`delta`")
})

test_that("a delta of 1/n or more is warned about", {
  set.seed(103)
  expect_warning(dp_mean(d$y, eps, 1 / n, bound = 9), class = "dp_large_delta")
  expect_warning(dp_quantile(d$y, 0.5, eps, 0.1), class = "dp_large_delta")
  expect_warning(quiet(dp_lm(y ~ x1, d, eps, 0.1)), class = "dp_large_delta")
  expect_silent(dp_mean(d$y, eps, 1 / (n + 1), bound = 9))
})

test_that("epsilon = Inf is not private, says so, and cannot be charged", {
  fits <- list(
    dp_mean(d$y, Inf), dp_quantile(d$y, 0.5, Inf), dp_lm(y ~ x1, d, Inf), dp_lm(d$x1, d$y, Inf)
  )
  for (fit in fits) {
    expect_output(print(fit), "NOT PRIVATE", fixed = TRUE)
    expect_output(print(summary(fit)), "NOT PRIVATE", fixed = TRUE)
    expect_output(print(privacy(fit)), "NOT PRIVATE", fixed = TRUE)
    expect_identical(epsilon_at(privacy(fit), 1e-6), Inf)
  }
  refused <- function(call) expect_refusal(call, "epsilon = Inf", "dp_error_budget")
  refused(function(b) dp_mean(d$y, Inf, budget = b))
  refused(function(b) dp_quantile(d$y, 0.5, Inf, budget = b))
  refused(function(b) dp_lm(y ~ x1, d, Inf, budget = b))
  refused(function(b) dp_lm(y ~ x1, d, Inf, del, budget = b))
})

test_that("a degenerate or reversed bound is refused by name", {
  for (bound in list(c(5, 5), c(2, 1), c(-Inf, Inf), c(0, NA), 3:5, "a", 0, -1, numeric(0), NaN,
                     matrix(0:3, 2), c(-1.5e308, 1.5e308), TRUE)) {
    expect_refusal(function(b) dp_mean(d$y, eps, bound = bound, budget = b), "`bound`")
    expect_refusal(function(b) dp_quantile(d$y, 0.5, eps, bound = bound, budget = b), "`bound`")
  }
  x <- c(-100, 1, 2, 100)
  expect_equal(coef(dp_mean(x, 1e6, bound = 5)), coef(dp_mean(x, 1e6, bound = c(-5, 5))),
               tolerance = 1e-4)
})

# ---- degenerate data ---------------------------------------------------------------

test_that("rows and columns of zeros give finite coefficients and no message of their own", {
  m <- cbind(a = big$x2, z = 0, c7 = 7)
  m[1:20, ] <- 0
  plain <- cbind(a = big$x2, z = big$x1, c7 = rev(big$x1))
  fit <- quiet(dp_lm(m, big$y, eps, del))
  expect_true(all(is.finite(coef(fit))))
  expect_identical(coef(fit)[c("z", "c7")], c(z = 0, c7 = 0))
  same <- function(f, degenerate, ordinary) {
    expect_identical(public_conditions(f(degenerate)), public_conditions(f(ordinary)))
  }
  same(function(m) dp_lm(m, big$y, eps, del), m, plain)
  same(function(m) dp_lm(m, big$y, eps, del, intercept = FALSE), m, plain)
  same(function(m) dp_mean(m, eps, bound = 5), m, plain)
  same(function(m) dp_mean(m, 4), m, plain)
  same(function(y) dp_lm(plain, y, eps, del), rep(0, 4000), big$y)
  same(function(y) dp_lm(y ~ 1, data.frame(y = y), eps, del), rep(0, 4000), big$y)
  same(function(y) dp_lm(matrix(y, 50, 2), y[1:50], eps, del), rep(0, 100), big$y[1:100])
  same(function(y) dp_mean(y, eps), rep(0, 4000), big$y)
  same(function(y) dp_quantile(y, c(0, 0.5, 1), eps), rep(0, 4000), big$y)
  fit <- quiet(dp_lm(matrix(0, 50, 2), rep(0, 50), epsilon = eps, delta = del))
  expect_true(all(is.finite(coef(fit))))
})

test_that("a zero data set changes neither the events nor the shape of a fit", {
  zero <- quiet(dp_lm(matrix(0, 4000, 2), rep(0, 4000), eps, del))
  plain <- quiet(dp_lm(as.matrix(big[c("x1", "x2")]), big$y, eps, del))
  expect_identical(privacy(zero), privacy(plain))
  expect_identical(names(zero), names(plain))
  expect_identical(lengths(zero), lengths(plain))
  expect_identical(privacy(dp_mean(rep(0, 4000), eps)), privacy(dp_mean(big$y, eps)))
})

test_that("the neighbour relation is stated and n is public", {
  fits <- list(
    dp_mean(d$y, eps, bound = c(-10, 10)), dp_quantile(d$y, 0.5, eps), dp_lm(y ~ x1, big, eps, del)
  )
  for (fit in fits) {
    expect_output(print(fit), "protects one row", fixed = TRUE)
    expect_output(print(summary(fit)), "protects one row", fixed = TRUE)
    expect_output(print(privacy(fit)), "same size that differ in one row", fixed = TRUE)
  }
  expect_identical(vapply(fits, nobs, 0), c(400, 400, 4000))
})

# ---- factors, terms, names --------------------------------------------------------------

test_that("a factor with one level is an error that names the term", {
  z <- d
  z$k <- factor(rep("CANARY", n))
  expect_refusal(function(b) dp_lm(y ~ x1 + k, z, eps, del, budget = b), "`k`")
})

test_that("text, one-level and full factors predict alike, and a new level is named", {
  fit <- dp_lm(y ~ x1 + f, big, eps, del)
  p1 <- predict(fit, data.frame(x1 = 0, f = "hi"))
  p2 <- predict(fit, data.frame(x1 = 0, f = factor("hi")))
  p3 <- predict(fit, data.frame(x1 = c(0, 0, 0), f = c("lo", "mid", "hi")))
  expect_length(p1, 1)
  expect_identical(unname(p1), unname(p3)[3])
  expect_identical(unname(p1), unname(p2))
  expect_equal(unname(p1), sum(coef(fit)[c("(Intercept)", "fhi")]))
  new <- tryCatch(predict(fit, data.frame(x1 = 1, f = "new")), error = identity)
  expect_s3_class(new, "dp_error")
  expect_match(conditionMessage(new), "`f`.*\"new\"")
})

test_that("terms that read constants from the data are refused, public constants are not", {
  for (formula in list(y ~ poly(x1, 2), y ~ scale(x1), y ~ splines::ns(x1, 3),
                       y ~ splines::bs(x1, df = 4), y ~ I(x1 - mean(x1)), y ~ cut(x1, 3),
                       y ~ I(x1 / max(x1)), scale(y) ~ x1, y ~ rank(x1))) {
    expect_refusal(function(b) dp_lm(formula, d, eps, del, budget = b),
                   "poly|scale|ns|bs|mean|cut|max|rank")
  }
  formula <- y ~ poly(x2, 2, raw = TRUE) + I((x2 - 0.1) / 2) +
    splines::ns(x1, knots = c(-1, 1), Boundary.knots = c(-5, 5))
  fit <- quiet(dp_lm(formula, big, eps, del))
  batch <- unname(predict(fit, d[1:5, ]))
  expect_identical(batch, vapply(1:5, function(i) unname(predict(fit, d[i, ])), 0))
  expect_equal(batch, drop(unname(model.matrix(formula, d[1:5, ]) %*% coef(fit))))
})

test_that("an offset enters the fit and the prediction", {
  set.seed(104)
  z <- big
  z$o <- 3 * z$x2
  fit <- dp_lm(y ~ x1 + offset(o), z, eps, del)
  p <- predict(fit, data.frame(x1 = c(0, 0), o = c(0, 3)))
  expect_equal(unname(diff(p)), 3)
  expect_equal(coef(dp_lm(y ~ x1 + offset(o), z, Inf)), lm_coef(y ~ x1 + offset(o), z),
               tolerance = 1e-6)
  set.seed(4)
  a <- coef(dp_lm(y ~ x1 + offset(o), z, eps, del, control = repeatable))
  set.seed(4)
  b <- coef(dp_lm(y ~ x1, z, eps, del, offset = o, control = repeatable))
  expect_identical(a, b)
})

test_that("weights are refused by name, whatever they are", {
  for (w in list(rep(-1, n), c(NA, rep(1, n - 1)), rep(1, n - 1), rep("1", n), rep(1, n), NULL)) {
    expect_refusal(function(b) dp_lm(y ~ x1, d, eps, del, weights = w, budget = b), "`weights`")
    expect_refusal(function(b) dp_lm(d$x1, d$y, eps, del, weights = w, budget = b), "`weights`")
  }
})

test_that("variables of a function serve the fit, and no method needs them again", {
  g <- function(dat) {
    fo <- as.formula("y ~ x1 + x2")
    keep <- dat$x2 > 0
    dp_lm(fo, data = dat, subset = keep, epsilon = eps, delta = del)
  }
  fit <- quiet(g(big))
  expect_identical(nobs(fit), 4000L)
  expect_length(predict(fit, d[1:3, ]), 3)
  expect_output(print(fit), "y ~ x1 + x2", fixed = TRUE)
  expect_output(print(summary(fit)), "y ~ x1 + x2", fixed = TRUE)
  expect_identical(deparse(formula(fit)), "y ~ x1 + x2")
})

test_that("a missing value in newdata keeps its place", {
  fit <- dp_lm(y ~ x1 + f, big, eps, del)
  nd <- d[1:4, ]
  nd$x1[2] <- NA
  nd$f[3] <- NA
  p <- predict(fit, nd)
  expect_identical(unname(is.na(p)), c(FALSE, TRUE, TRUE, FALSE))
  expect_identical(p[c(1, 4)], predict(fit, d[c(1, 4), ]))
  m <- as.matrix(big[c("x1", "x2")])
  fit <- dp_lm(m, big$y, eps, del)
  q <- m[1:3, ]
  q[2, 1] <- NA
  expect_identical(unname(is.na(predict(fit, q))), c(FALSE, TRUE, FALSE))
})

test_that("a transformed response is not needed to predict, and stays transformed", {
  z <- big
  z$y <- exp(big$y / 4)
  fit <- dp_lm(log(y) ~ x1, z, eps, del)
  expect_equal(unname(predict(fit, data.frame(x1 = 0))), coef(fit)[["(Intercept)"]])
})

test_that("odd column names fit and predict with the names lm gives", {
  z <- data.frame(`my x` = big$x1, `2nd-col` = big$x2, `if` = 1, `%s%n` = big$b, y = big$y,
                  check.names = FALSE)
  fit <- dp_lm(y ~ `my x` + `2nd-col`, z, eps, del)
  expect_named(coef(fit), names(coef(lm(y ~ `my x` + `2nd-col`, z))))
  expect_length(predict(fit, z[1:2, ]), 2)
  fit <- quiet(dp_lm(y ~ ., z, eps, del))
  expect_named(coef(fit), names(coef(lm(y ~ ., z))))
  expect_true(all(is.finite(predict(fit, z[1:2, ]))))
})

test_that("a name that holds a conversion code is only ever text", {
  z <- setNames(data.frame(0, 0, rep(0, 60)), c("y", "%s%n", "%d"))
  expect_refusal(function(b) dp_lm(y ~ ., z, epsilon = -1, delta = del, budget = b), "`epsilon`")
  expect_match(conditions_of(dp_lm(y ~ ., z, eps, del)), "`%s%n`", fixed = TRUE, all = FALSE)
  expect_match(conditions_of(dp_lm(y ~ x, setNames(z, c("y", "x", "x")), eps, del)), "`x`")
  expect_match(conditions_of(dp_mean(d$y, eps, `%s%n` = 1)), "`%s%n`", fixed = TRUE)
  expect_match(conditions_of(dp_mean(data.frame(`%s%n` = "a", check.names = FALSE), eps)),
               "`%s%n`", fixed = TRUE)
})

# ---- shapes ------------------------------------------------------------------------------

test_that("y ~ 1 and fits without an intercept print, plot and predict", {
  for (formula in list(y ~ 1, y ~ 0 + x1, y ~ x1 - 1, y ~ 0 + f)) {
    fit <- dp_lm(formula, big, eps, del)
    expect_named(coef(fit), names(coef(lm(formula, big))))
    expect_output(print(fit), "Coefficients")
    expect_output(print(summary(fit)), "Estimate")
    pdf(NULL)
    plot(fit)
    dev.off()
    p <- predict(fit, data.frame(x1 = 1:3, f = c("lo", "mid", "hi")))
    expect_length(p, 3)
  }
  fit <- dp_lm(y ~ 1, big, eps, del)
  expect_equal(unname(predict(fit, data.frame(x1 = 1:3))), rep(coef(fit)[[1]], 3))
  expect_equal(coef(fit)[[1]], median(big$y), tolerance = 0.3)
})

test_that("one column and one row work", {
  x1 <- cbind(a = big$x1)
  fit <- dp_lm(x1, big$y, eps, del)
  expect_length(predict(fit, x1[1, , drop = FALSE]), 1)
  expect_length(predict(fit, 1:3), 3)
  expect_named(coef(dp_mean(x1, eps, delta = del, bound = 5)), "a")
  one <- dp_mean(d$y[1], eps, bound = c(-5, 5))
  expect_true(coef(one) >= -5 && coef(one) <= 5)
  one <- quiet(dp_lm(y ~ x1, d[1, ], eps, del))
  expect_true(all(is.finite(coef(one))))
  expect_true(is.finite(coef(dp_quantile(d$y[1], 0.5, eps))))
})

test_that("no rows, no columns and unequal lengths are refused with the lengths", {
  expect_refusal(function(b) dp_mean(numeric(0), eps, bound = c(0, 1), budget = b), "`x`.*rows")
  expect_refusal(function(b) dp_mean(matrix(0, 5, 0), eps, bound = 1, budget = b), "`x`.*columns")
  expect_refusal(function(b) dp_mean(data.frame(), eps, bound = 1, budget = b), "`x`")
  expect_refusal(function(b) dp_quantile(numeric(0), 0.5, eps, budget = b), "`x`.*rows")
  expect_refusal(function(b) dp_lm(y ~ x1, d[0, ], eps, del, budget = b), "`data` has 0 rows")
  expect_refusal(function(b) dp_lm(as.matrix(d[, 1:2]), d$y[-1], eps, del, budget = b),
                 "`x`.*400.*`y`.*399")
  expect_refusal(function(b) dp_lm(d$x1, cbind(d$y, d$y), eps, del, budget = b), "`y`")
  expect_refusal(function(b) dp_lm(d$x1, d$y, eps, del, offset = 1:3, budget = b),
                 "`offset`.*400.* 3")
  expect_refusal(function(b) dp_lm(d$x1, d$y, eps, del, subset = TRUE, budget = b), "`subset`")
  expect_refusal(function(b) dp_lm(matrix(0, 5, 0), 1:5, eps, del, budget = b), "`x` has 0 columns")
  expect_refusal(function(b) dp_lm(matrix(0, 0, 2), numeric(0), eps, del, budget = b),
                 "`x` has 0 rows")
})

test_that("integer, logical and data-frame input equals double input", {
  set.seed(8)
  xi <- matrix(sample(0:3, 12000, TRUE), 4000)
  dimnames(xi) <- list(NULL, NULL)
  xd <- xi + 0
  yi <- as.integer(round(pmax(pmin(big$y, 1e6), -1e6)))
  fit <- function(...) {
    set.seed(9)
    coef(dp_lm(..., epsilon = eps, delta = del, control = repeatable))
  }
  expect_identical(fit(xi, yi), fit(xd, yi + 0))
  expect_identical(unname(fit(xi, yi)), unname(fit(as.data.frame(xd), yi)))
  expect_named(fit(xi, yi), c("(Intercept)", "x1", "x2", "x3"))
  expect_equal(coef(dp_lm(xi, yi, Inf)), coef(dp_lm(xd, yi, 1e8, del)), tolerance = 0.2)
  expect_true(all(is.finite(fit(xi > 1, big$y))))
  mean_of <- function(x) {
    set.seed(9)
    unname(coef(dp_mean(x, eps, bound = c(-5, 5), control = repeatable)))
  }
  expect_identical(mean_of(xi), mean_of(xd))
  expect_identical(mean_of(as.data.frame(xi)), mean_of(xd))
  expect_identical(mean_of(xi > 1), mean_of((xi > 1) + 0))
})

test_that("collinear columns keep their names and predict finitely", {
  z <- transform(big, x3 = x1 + x2, x4 = x1)
  fit <- dp_lm(y ~ x1 + x2 + x3 + x4, z, eps, del)
  expect_length(coef(fit), 5)
  expect_true(all(is.finite(predict(fit, z[1:3, ]))))
  expect_true(all(is.finite(coef(fit))))
})

# ---- seeds, loops, callers --------------------------------------------------------------

test_that("set.seed repeats a fit with rng = \"R\" and has no effect otherwise", {
  set.seed(105)
  runs <- list(
    function(control) coef(dp_lm(y ~ x1 + f, big, eps, del, control = control)),
    function(control) coef(dp_mean(big[1:2], eps, del, bound = 5, control = control)),
    function(control) coef(dp_mean(big$y, 2, control = control)),
    function(control) coef(dp_quantile(big$y, c(0.2, 0.8), eps, control = control))
  )
  for (run in runs) {
    set.seed(5)
    a <- run(repeatable)
    set.seed(5)
    b <- run(repeatable)
    expect_identical(a, b)
    expect_false(identical(b, run(repeatable)))
    set.seed(5)
    state <- .Random.seed
    a <- run(dp_control())
    expect_identical(.Random.seed, state)
    set.seed(5)
    expect_false(identical(a, run(dp_control())))
  }
})

test_that("a long fit can be interrupted, frees its memory and stays charged", {
  skip_on_cran()
  x <- cbind(big$x1, big$x2)
  live <- .Call(C_core_live)
  b <- privacy_budget(1, 1e-6)
  started <- proc.time()[[3]]
  text <- local({
    on.exit(setTimeLimit())
    setTimeLimit(elapsed = 0.8, transient = TRUE)
    error_text(dp_lm(x, big$y, eps, del, budget = b, control = dp_control(iterations = 4e5)))
  })
  expect_match(text, "time limit")
  expect_lt(proc.time()[[3]] - started, 8)
  expect_equal(spent(b), 1, tolerance = 1e-6)
  expect_identical(.Call(C_core_live), live)
})

test_that("a fit under garbage-collector torture is the same fit", {
  skip_on_cran()
  run <- function() {
    set.seed(3)
    quiet(list(
      coef(dp_lm(y ~ x1 + f, small(), eps, del, control = repeatable)),
      coef(dp_mean(small()[1:2], eps, bound = 5, na.rm = TRUE, control = repeatable)),
      coef(dp_quantile(small()$y, 0.5, eps, control = repeatable))
    ))
  }
  gctorture2(53)
  a <- tryCatch(run(), finally = gctorture2(0))
  expect_identical(a, run())
})

test_that("fits may be called through Map, mapply, lapply and do.call", {
  r <- Map(function(e, v) dp_mean(d[[v]], epsilon = e, bound = c(-9, 9)), c(1, 2), c("x1", "y"))
  expect_s3_class(r[[2]], "dp_mean")
  s <- mapply(dp_mean, list(d$x1, d$y), MoreArgs = list(epsilon = 1, bound = c(-9, 9)),
              SIMPLIFY = FALSE)
  expect_length(s, 2)
  fits <- lapply(list(y ~ x1, y ~ x2), dp_lm, data = big, epsilon = eps, delta = del)
  expect_named(coef(fits[[2]]), c("(Intercept)", "x2"))
  fit <- quiet(do.call(
    dp_lm, list(y ~ x1, data = big, epsilon = eps, delta = del, subset = big$b == 1)
  ))
  expect_s3_class(fit, "dp_lm")
  fit <- do.call("dp_lm", list(quote(y ~ x1), quote(big), eps, del))
  expect_s3_class(fit, "dp_lm")
})

test_that("a sum that cancels is exact to the grid", {
  x <- c(rep(1e-8, 1e5), 1e8, -1e8)
  fit <- dp_mean(x, epsilon = 1e9, bound = c(-1e9, 1e9))
  # half a grid step per row, and ten standard deviations of the noise
  step <- 1e9 / sum_law("laplace", length(x), 1, 1e9)$limit
  expect_lt(abs(coef(fit) - 1e-8), step + 10 * fit$noise_sd)
  expect_equal(coef(dp_mean(x, Inf)), c(mean = mean(x)), tolerance = 1e-6)
})

test_that("arguments work by position and by name, and a misspelt one is an error", {
  same <- function(...) {
    runs <- lapply(list(...), function(f) {
      set.seed(2)
      coef(f())
    })
    for (r in runs[-1]) expect_identical(r, runs[[1]])
  }
  same(
    function() dp_mean(d$y, 1, bound = c(-9, 9), control = repeatable),
    function() dp_mean(x = d$y, epsilon = 1, bound = c(-9, 9), control = repeatable),
    function() dp_mean(control = repeatable, bound = c(-9, 9), epsilon = 1, x = d$y)
  )
  same(
    function() dp_quantile(d$y, 0.5, 1, control = repeatable),
    function() dp_quantile(epsilon = 1, probs = 0.5, x = d$y, control = repeatable)
  )
  unknown <- function(call, name) expect_refusal(call, name)
  unknown(function(b) dp_mean(d$y, epsillon = 1, bound = c(-9, 9), budget = b), "`epsillon`")
  unknown(function(b) dp_mean(d$y, 1, bounds = 9, budget = b), "`bounds`")
  unknown(function(b) dp_quantile(d$y, 0.5, 1, narm = TRUE, budget = b), "`narm`")
  unknown(function(b) dp_quantile(d$y, 0.5, 1, 0, 3, budget = b), "by name")
  unknown(function(b) dp_lm(y ~ x1, d, 1, del, epsillon = 2, budget = b), "`epsillon`")
  unknown(function(b) dp_lm(y ~ x1, d, 1, del, 3, budget = b), "by name")
  unknown(function(b) dp_lm(d$x1, d$y, 1, del, intersept = FALSE, budget = b), "`intersept`")
})

test_that("probabilities at extreme linear predictors are numbers in [0, 1]", {
  set.seed(46)
  far <- data.frame(x2 = c(-1e6, 0, 1e6, 1e300, -1e300))
  for (fit in list(
    dp_glm(b ~ x2, big, family = binomial, epsilon = eps, delta = del),
    dp_sco(b ~ x2, big, eps, del, loss = loss_logistic(), gradient = grad_catoni()),
    dp_glm(b ~ x2, big, epsilon = Inf)
  )) {
    p <- predict(fit, far, type = "response")
    expect_true(all(is.finite(p) & p >= 0 & p <= 1))
    # on the side that the sign of the slope says
    expect_identical(unname(p[[3L]] > p[[1L]]), coef(fit)[["x2"]] > 0)
    expect_false(anyNA(predict(fit, far, type = "class")))
  }
  # large raw covariates are the normal case
  for (unit in c(1e8, 1e-8, 1e100)) {
    z <- transform(big, x1 = unit * x1)
    fit <- dp_glm(b ~ x1, z, family = binomial, epsilon = eps, delta = del)
    expect_true(all(is.finite(coef(fit))))
    fit <- dp_sco(b ~ x1, z, eps, del, loss = "logistic", gradient = grad_winsorized())
    expect_true(all(is.finite(coef(fit))))
  }
})

test_that("the general problem takes formula, matrix and data frame alike", {
  m <- as.matrix(big[c("x1", "x2")])
  run <- function(f) {
    set.seed(47)
    coef(f())
  }
  expect_identical(
    run(function() dp_sco(m, big$y, 2, del, gradient = "catoni", control = repeatable)),
    run(function() dp_sco(y ~ x1 + x2, big, 2, del, gradient = "catoni", control = repeatable))
  )
  expect_identical(
    run(function() dp_sco(m, big$y, 2, del, gradient = "mom", control = repeatable)),
    run(function() dp_sco(big[c("x1", "x2")], big$y, 2, del, gradient = "mom",
                          control = repeatable))
  )
  expect_identical(
    run(function() dp_sco(data = big, y ~ x1, epsilon = 2, delta = del, loss = "huber",
                          penalty = ridge(1), control = repeatable)),
    run(function() dp_lm(data = big, y ~ x1, epsilon = 2, delta = del, loss = "huber",
                         penalty = ridge(1), control = repeatable))
  )
  # the standard path is that of the fronts, bit for bit
  expect_identical(
    run(function() dp_sco(y ~ x1 + f, big, 2, del, control = repeatable)),
    run(function() dp_lm(y ~ x1 + f, big, 2, del, target = "robust", control = repeatable))
  )
  expect_identical(
    run(function() dp_sco(b ~ x1, big, 2, del, loss = "logistic", control = repeatable)),
    run(function() dp_glm(b ~ x1, big, 2, del, control = repeatable))
  )
  expect_error(dp_sco(big, y ~ x1, 1, del), "formula first", class = "dp_error")
  expect_error(dp_sco("y ~ x1", big, 1, del), "without quotes", class = "dp_error")
})

test_that("threads do not change a fit of the general problem", {
  m <- as.matrix(big[c("x1", "x2", "y")])[rep(seq_len(4000), 4), ]
  for (gradient in list(grad_winsorized(), grad_catoni(beta = 1), grad_mom(groups = 3))) {
    for (batches in c("full", "split")) {
      run <- function(threads) {
        set.seed(48)
        coef(dp_sco(m[, 1:2], m[, 3L], 2, del, gradient = gradient,
                    control = dp_control(rng = "R", threads = threads, batches = batches)))
      }
      expect_identical(run(2), run(1))
    }
  }
})

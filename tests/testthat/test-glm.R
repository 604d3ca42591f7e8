test_that("the exact gradient is that of a naive twin", {
  set.seed(301)
  for (i in 1:12) {
    n <- c(3, 256, 300)[[1 + i %% 3]]
    rows <- binary_rows(n, 3, list(intercept = i %% 2 == 0, centring = TRUE, offset = i %% 4 == 0,
                                   use = i %% 5 == 0))
    rows$y[1:3] <- c(-4, 7, 0.3) # clamped to 0 and 1
    k <- 3 + (i %% 2 == 0)
    root <- if (i %% 3 == 0) made_up_root(k)
    norm <- row_norms(rows, root)
    bound <- 10^(i %% 3 - 1)
    w <- stats::rnorm(k) * 10^(i %% 4 - 1)
    law <- list(noise = c(0, 0), step = bound / 2^30, limit = 2^34)
    got <- from_int64(release_descent(rows, norm, w, logistic_plan(k, law, bound), exact = TRUE))
    want <- colSums(round(twin_logistic(rows, norm, w, bound) / law$step))
    expect_lte(max(abs(got - want)), n) # one step a record, for the last bit of an exponential
    expect_equal(got, want, tolerance = 1e-7)
  }
})

test_that("its derivative is that of the loss, at any size of the predictor", {
  # one record at z = 1: the plain gradient is plogis(w) - y
  rows <- new_rows(matrix(1), 1)
  rows$margin_offset <- 1
  derivative <- function(w, y, offset = NULL) {
    rows$y <- as.double(y)
    rows$offset <- offset
    law <- list(noise = c(0, 0), step = 0, limit = 1)
    w - release_descent(rows, row_norms(rows), w, logistic_plan(1, law, Inf))[[1L]]
  }
  value <- function(eta, y) pmax(eta, 0) + log1p(exp(-abs(eta))) - y * eta
  for (w in c(-3, -0.1, 0, 0.7, 5)) for (y in 0:1) {
    h <- 1e-5
    slope <- (value(w + h, y) - value(w - h, y)) / (2 * h)
    expect_equal(derivative(w, y), slope, tolerance = 1e-8)
    expect_equal(derivative(w - 2, y, 2) + 0, slope, tolerance = 1e-8)
  }
  expect_identical(derivative(0, 1), -0.5)
  expect_equal(derivative(-800, 1), -1)
  expect_equal(derivative(800, 0), 1)
})

test_that("without noise it is maximum likelihood", {
  b <- fixture(4000, 21)
  plain <- stats::glm(b ~ x1 + x2 + f, stats::binomial(), b)
  fit <- dp_glm(b ~ x1 + x2 + f, b, epsilon = Inf)
  expect_equal(coef(fit), coef(plain), tolerance = 1e-6)
  expect_output(print(fit), "logistic.*NOT PRIVATE")
  b$z <- b$x2 / 3
  with_offset <- stats::glm(b ~ x1, stats::binomial(), b, offset = z)
  expect_equal(coef(dp_glm(b ~ x1, b, epsilon = Inf, offset = z)), coef(with_offset),
               tolerance = 1e-6)
  x <- as.matrix(b[c("x1", "x2")])
  origin <- suppressWarnings(stats::glm.fit(x, b$b, family = stats::binomial()))
  expect_equal(coef(dp_glm(x, b$b, epsilon = Inf, intercept = FALSE)), origin$coefficients,
               tolerance = 1e-6)
  some <- stats::glm(b ~ x1, stats::binomial(), b, subset = x2 > 0)
  expect_equal(coef(dp_glm(b ~ x1, b, epsilon = Inf, subset = x2 > 0)), coef(some),
               tolerance = 1e-6)
  expect_equal(predict(fit, b[1:5, ], type = "response"),
               stats::predict(plain, b[1:5, ], type = "response"), tolerance = 1e-6)
})

test_that("codings of the response are one", {
  b <- fixture(600, 22)
  b$l <- b$b == 1
  b$g <- factor(ifelse(b$b == 1, "yes", "no"), levels = c("no", "yes"))
  fit <- function(formula) dp_glm(formula, b, epsilon = Inf)
  numbers <- fit(b ~ x1)
  for (f in list(l ~ x1, g ~ x1, (b == 1) ~ x1)) expect_equal(coef(fit(f)), coef(numbers))
  class <- function(f) predict(fit(f), b[1:9, ], type = "class")
  expect_identical(levels(class(g ~ x1)), c("no", "yes"))
  expect_type(class(l ~ x1), "logical")
  expect_true(all(class(b ~ x1) %in% c(0, 1)))
  expect_identical(unname(class(g ~ x1) == "yes"), unname(class(l ~ x1)))
  by_matrix <- dp_glm(as.matrix(b["x1"]), b$g, Inf)
  expect_equal(unname(coef(by_matrix)), unname(coef(numbers)))
  expect_identical(by_matrix$classes, c("no", "yes"))
  p <- predict(numbers, b[1:9, ])
  expect_equal(stats::qlogis(p), predict(numbers, b[1:9, ], type = "link"))
  expect_true(all(p > 0 & p < 1))
})

test_that("it spends its budget exactly, before the values are read", {
  b <- fixture(20000, 23)
  for (e in c(0.5, 4)) {
    p <- privacy(dp_glm(b ~ x1 + x2, b, e, 1e-6))
    table <- as.data.frame(p)
    expect_identical(unique(table$mechanism), "gaussian")
    expect_equal(sum(table$count * table$cost^2), discrete_gaussian_mu(e, 1e-6)^2,
                 tolerance = 1e-9)
  }
  budget <- privacy_budget(1, 1e-6)
  fit <- dp_glm(b ~ x1, b, 0.6, 1e-6, budget = budget, gradient = grad_clipped(2))
  expect_equal(spent(budget), 0.6, tolerance = 1e-6)
  expect_error(dp_glm(b ~ x1, b, 0.9, 1e-6, budget = budget), class = "dp_error_budget")
  expect_identical(fit$bound, c(2, 2))
  suppressWarnings(
    expect_warning(dp_glm(b ~ x1, b[1:50, ], 0.5, 1e-6), class = "dp_small_n")
  )
  expect_warning(dp_glm(b ~ x1, b, 4, 1e-3), class = "dp_large_delta")
})

test_that("a private fit is near the plain one and follows its units", {
  skip_on_cran()
  set.seed(303)
  n <- 20000
  x <- cbind(stats::rt(n, 3), exp(0.6 * stats::rnorm(n)))
  y <- stats::rbinom(n, 1, stats::plogis(x[, 1] - x[, 2] + 0.5))
  control <- dp_control(rng = "R")
  fit_at <- function(x) {
    set.seed(304)
    coef(dp_glm(x, y, 2, 1e-6, control = control))
  }
  b <- fit_at(x)
  expect_lt(max(abs(b - c(0.5, 1, -1))), 0.15)
  scaled <- fit_at(x * rep(c(2^10, 2^-7), each = n))
  expect_equal(unname(scaled), unname(b * c(1, 2^-10, 2^7)), tolerance = 1e-3)
})

test_that("GDP audit: a stage of descent loses what it claims", {
  skip_on_cran()
  mu <- gaussian_mu(4, 1e-5)
  runs <- 1500
  steps <- 5
  law <- gradient_law(3, 2, mu / sqrt(steps), 1, NULL)
  plan <- utils::modifyList(logistic_plan(2, law, 1, NULL, steps), list(eta = 1e-6))
  one_side <- function(y) {
    rows <- binary_rows(3, 2)
    rows$x <- matrix(c(1e6, 0, 0, 0, 0, 0), 3L)
    rows$y <- c(y, 0, 0)
    rows$offset <- c(if (y == 1) -800 else 800, 0, 0) # certain, and wrong
    norm <- row_norms(rows)
    replicate(runs, -release_descent(rows, norm, c(0, 0), plan,
                                     release_key(dp_control(rng = "R")))[1L, steps])
  }
  set.seed(305)
  low <- one_side(1)
  high <- one_side(0)
  false_alarms <- stats::qbeta(1 - alarm / 2, sum(low > 0) + 1, runs - sum(low > 0))
  misses <- stats::qbeta(1 - alarm / 2, sum(high <= 0) + 1, runs - sum(high <= 0))
  lost <- stats::qnorm(1 - false_alarms) - stats::qnorm(misses)
  expect_lte(lost, mu)
  expect_gt(lost, mu / 2)
})

test_that("no special value raises a condition or changes what is told", {
  set.seed(306)
  x <- matrix(stats::rnorm(4000), 2000)
  y <- as.double(stats::runif(2000) < stats::plogis(x[, 1L]))
  known <- list(x = list(center = 0, scale = 1))
  plain <- dp_glm(x, y, 8, 1e-5, scale = known)
  for (v in c(0, 1e308, -1e308, Inf, -Inf, 5e-324)) {
    z <- x
    z[1L, ] <- v
    expect_silent(fit <- dp_glm(z, replace(y, 1L, v), 8, 1e-5, scale = known))
    expect_true(all(is.finite(coef(fit))))
    expect_identical(fit$privacy, plain$privacy)
  }
  expect_error(dp_glm(replace(x, 3, NA), y, 8, 1e-5), "missing", class = "dp_error_missing")
})

test_that("summary, plot and refusals", {
  b <- fixture(6000, 24)
  fit <- dp_glm(b ~ x1 + f, b, 3, 1e-6, control = dp_control(rng = "R"))
  expect_s3_class(fit, c("dp_glm", "dp_lm", "dp_fit"), exact = TRUE)
  expect_output(print(summary(fit)), "logistic.*log-odds.*covariates clipped at")
  grDevices::pdf(NULL)
  expect_invisible(plot(fit))
  grDevices::dev.off()
  expect_identical(formula(fit), b ~ x1 + f, ignore_formula_env = TRUE)
  refused <- function(expr, text) expect_error(expr, text, class = "dp_error")
  refused(dp_glm(b ~ x1, b, 1, 1e-6, family = poisson()), "family")
  refused(dp_glm(b ~ x1, b, 1, 1e-6, family = binomial("probit")), "family")
  refused(dp_glm(b ~ x1, b, 1, 1e-6, family = "gaussian"), "family")
  refused(dp_glm(f ~ x1, b, 1, 1e-6), "two declared levels")
  refused(dp_glm(cbind(x1, x2) ~ x1, b, 1, 1e-6), "one row per trial")
  refused(dp_glm(b ~ x1, b, 1, 1e-6, weights = x2), "weights")
  refused(dp_glm(b ~ x1, b, 1), "delta")
  refused(dp_glm(b ~ x1, b, 1, 1e-6, scale = list(y = list(center = 0))), "scale")
  refused(dp_glm(b ~ x1, b, 1, 1e-6, contrl = 2), "contrl")
  refused(dp_glm(b["x1"], epsilon = 1, delta = 1e-6), "give `y`")
  refused(predict(fit), "newdata")
  refused(predict(fit, b, type = "odds"), "type")
  refused(residuals(fit), "private fit")
  expect_silent(dp_glm(b ~ x1, b, 3, 1e-6, family = binomial))
  expect_silent(dp_glm(b ~ x1, b, 3, 1e-6, family = "binomial"))
})

test_that("a factor response keeps its labels for subset, offset and terms", {
  b <- fixture(3000, 25)
  b$g <- factor(ifelse(b$b == 1, "yes", "no"), levels = c("no", "yes"))
  plain <- stats::glm(g ~ x1, stats::binomial(), b, subset = g == "no" | x1 > 0)
  fit <- dp_glm(g ~ x1, b, Inf, subset = g == "no" | x1 > 0)
  expect_equal(coef(fit), coef(plain), tolerance = 1e-6)
  plain <- stats::glm(g ~ x1, stats::binomial(), b, offset = ifelse(g == "yes", 0.5, 0))
  fit <- dp_glm(g ~ x1, b, Inf, offset = ifelse(g == "yes", 0.5, 0))
  expect_equal(coef(fit), coef(plain), tolerance = 1e-6)
  expect_identical(fit$classes, c("no", "yes"))
  expect_type(predict(dp_glm((b == 1) ~ x1, b, Inf), b[1:3, ], type = "class"), "logical")
})

test_that("rare events and responses out of range do not lead it astray", {
  skip_on_cran()
  set.seed(307)
  n <- 40000
  x <- cbind(a = stats::rnorm(n), b = stats::rexp(n))
  rare <- stats::rbinom(n, 1, stats::plogis(-4 + x[, 1] - 0.5 * x[, 2]))
  control <- dp_control(rng = "R")
  plain <- coef(stats::glm(rare ~ x, stats::binomial()))
  expect_lt(max(abs(coef(dp_glm(x, rare, 4, 1e-6, control = control)) - plain)), 0.2)
  expect_equal(unname(coef(dp_glm(x, rare, Inf))), unname(plain), tolerance = 1e-6)
  y <- stats::rbinom(n, 1, stats::plogis(x[, 1] - x[, 2]))
  at <- function(k) {
    set.seed(308)
    coef(dp_glm(x, (y - 0.5) * k + 0.5, 4, 1e-6, control = control))
  }
  expect_identical(at(1), at(1e4))
  wild <- y * Inf
  wild[y == 0] <- -Inf
  set.seed(308)
  expect_identical(coef(dp_glm(x, wild, 4, 1e-6, control = control)), at(1))
})

test_that("what is missing or misplaced is named", {
  b <- fixture(200, 26)
  refused <- function(expr, text) expect_error(expr, text, class = "dp_error_input")
  refused(dp_glm(b ~ x1, epsilon = 1, delta = 1e-6), "`data`")
  refused(dp_glm(b$x1, epsilon = 1, delta = 1e-6), "`y`")
  refused(dp_glm(b ~ x1, b, 1, 1e-6, scale = 3), "`scale`")
})

test_that("the charge comes before the values are read, and is kept", {
  b <- fixture(4000, 27)
  budget <- privacy_budget(2, 1e-6)
  broken <- with_replaced(run_regression, frame_values = function(...) stop("planted"))
  broken <- with_replaced(run_glm, run_regression = broken)
  front <- with_replaced(dp_glm.formula, run_glm = broken)
  expect_error(quiet(front(b ~ x1, b, 1, 1e-6, budget = budget)), "planted")
  expect_identical(as.data.frame(budget)$what, "dp_glm")
  expect_equal(spent(budget), 1, tolerance = 1e-6)
})


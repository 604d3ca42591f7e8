# Heteroscedastic errors, columns with heavy tails.
sandwich_data <- function(n, d = 3) {
  x <- matrix(stats::rt(n * d, 4), n, dimnames = list(NULL, paste0("x", seq_len(d))))
  y <- drop(2 + x %*% rep_len(c(1, -1), d)) + stats::rnorm(n) * (0.5 + abs(x[, 1L]) / 2)
  list(x = x, y = y)
}

white <- function(z, r, a = crossprod(z)) solve(a) %*% crossprod(z * r) %*% solve(a)

fast <- dp_control(rng = "R")

test_that("without noise the variance is the sandwich of lm()", {
  set.seed(401)
  z <- sandwich_data(3000)
  z$x[, 2L] <- 1e4 + 1e3 * z$x[, 2L]
  plain <- lm(y ~ x, z)
  fit <- dp_lm(z$x, z$y, Inf)
  want <- white(cbind(1, z$x), residuals(plain))
  expect_equal(unname(vcov(fit)), unname(want), tolerance = 1e-6)
  expect_identical(unname(vcov(fit, part = "privacy")), matrix(0, 4, 4))
  origin <- dp_lm(z$x[, c(1, 3)], z$y, Inf, intercept = FALSE)
  x <- z$x[, c(1, 3)]
  expect_equal(unname(vcov(origin)), unname(white(x, residuals(lm(z$y ~ 0 + x)))),
               tolerance = 1e-6)
  o <- stats::rnorm(3000)
  shifted <- dp_lm(z$x, z$y + o, Inf, offset = o)
  expect_equal(vcov(shifted), vcov(fit), tolerance = 1e-6)
})

test_that("without noise a column that does not vary has no variance, and changes no other", {
  set.seed(411)
  z <- sandwich_data(1000)
  flat <- cbind(z$x[, 1L, drop = FALSE], k = 7, zero = 0, z$x[, 2L, drop = FALSE])
  got <- vcov(dp_lm(flat, z$y, Inf))
  known <- c("(Intercept)", "x1", "x2")
  expect_equal(got[known, known], vcov(dp_lm(z$x[, 1:2], z$y, Inf)), tolerance = 1e-6)
  expect_true(all(is.na(got[c("k", "zero"), ])))
})

test_that("without noise the variance of a logistic regression is that of glm(), made robust", {
  set.seed(402)
  z <- sandwich_data(3000)
  y <- stats::rbinom(3000, 1, stats::plogis(z$x[, 1L] - 0.5))
  plain <- glm(y ~ z$x, family = binomial)
  p <- fitted(plain)
  q <- cbind(1, z$x)
  fit <- dp_glm(z$x, y, Inf)
  want <- white(q, y - p, crossprod(q * sqrt(p * (1 - p))))
  expect_equal(unname(vcov(fit)), unname(want), tolerance = 1e-4)
})

test_that("without noise the variance of a robust fit is Huber's", {
  set.seed(403)
  z <- sandwich_data(3000)
  q <- cbind(1, z$x)
  for (loss in c("huber", "biweight")) {
    fit <- dp_lm(z$x, z$y, Inf, loss = loss)
    r <- drop(z$y - q %*% coef(fit))
    u <- r / (stats::median(abs(r)) / stats::qnorm(0.75)) / if (loss == "huber") 1.345 else 4.685
    psi <- if (loss == "huber") pmax(pmin(u, 1), -1) else u * pmax(1 - u^2, 0)^2
    slope <- if (loss == "huber") abs(u) < 1 else (abs(u) < 1) * (1 - u^2) * (1 - 5 * u^2)
    want <- white(q, psi * r / u, crossprod(q, q * slope))
    expect_equal(unname(vcov(fit)), unname(want), tolerance = 0.03)
  }
})

test_that("the variance of averaged steps is that of the recursion", {
  set.seed(404)
  for (steps in c(3, 7, 40)) {
    for (h in c(0.2, 1, 1.7)) {
      lambda <- 0.6
      # one unit of noise in step s, or at the start, through all steps
      path <- function(s) {
        x <- if (s == 0) 1 else 0
        out <- numeric(steps)
        for (t in seq_len(steps)) out[[t]] <- x <- (1 - h * lambda) * x - h * (t == s)
        c(mean(out[seq_len(steps) > floor(steps / 6)]), x)
      }
      all <- vapply(seq_len(steps), path, c(0, 0))
      got <- noisy_steps(steps, h * lambda, h^2, 1)
      expect_equal(got$average, sum(all[1L, ]^2))
      expect_equal(got$left, path(0)[[1L]]^2)
      expect_equal(got$last, sum(all[2L, ]^2) + path(0)[[2L]]^2)
    }
  }
})

test_that("both parts are worked out by hand for one column", {
  # u has curvature 2 and squared gradients 3 in these units; w = root u
  noisy <- list(
    curvature = list(value = matrix(2), sd = 0), spread = list(value = matrix(3), sd = 0)
  )
  run <- list(h = c(0.25, 0.4), sd = c(0.1, 0.2), steps = c(1, 2))
  rule <- list(bound = Inf, estimator = "clipped", loss = "squared")
  got <- sandwich_parts(noisy, matrix(5), 1, rule, run, 100, 0, TRUE)
  expect_equal(got$sampling, matrix(25 * 3 / 4 / 100))
  # average of both steps: noise (-0.4 (1 + 0.2) / 2, -0.2); start (0.2 + 0.04) / 2, 0.25 0.1
  noise <- 0.2^2 * (0.24^2 + 0.2^2) + 0.12^2 * 0.025^2
  expect_equal(got$privacy, matrix(25 * noise))
})

test_that("a column of zeros changes nothing for the others", {
  set.seed(414)
  root <- rbind(c(1, 0, 0), c(0.5, 2, 0), c(-1, 0.25, 3))
  own <- c(TRUE, FALSE, TRUE)
  # second moments of rows whose second entry is zero
  a <- matrix(c(2, 0, 0.5, 0, 0, 0, 0.5, 0, 1), 3)
  b <- matrix(c(3, 0, 1, 0, 0, 0, 1, 0, 2), 3)
  under <- function(m) list(value = root %*% m %*% t(root), sd = 0)
  run <- list(h = 0.05, sd = 0.2, steps = 4000)
  rule <- list(bound = Inf, estimator = "clipped", loss = "squared")
  noisy <- list(curvature = under(a), spread = under(b))
  got <- sandwich_parts(noisy, root, 1, rule, run, 100, 0, own)
  inverse <- solve(a[own, own])
  expect_equal(got$sampling, inverse %*% b[own, own] %*% inverse / 100)
  # steps u -> (1 - h L'L a) u - h L' noise of both, averaged for long: a^-1 (L'L)^-1 ...
  p <- crossprod(root)[own, own]
  expect_equal(got$privacy, inverse %*% solve(p) %*% inverse * 0.2^2 / (4000 * 5 / 6),
               tolerance = 0.05)
})

test_that("the caller's units are those of the coefficients", {
  parts <- list(sampling = diag(c(1, 4)), privacy = matrix(c(1, 0.5, 0.5, 1), 2))
  columns <- list(center = c(10, 7), scale = c(2, 3), found = c(TRUE, TRUE))
  schema <- list(intercept = TRUE, columns = c("(Intercept)", "a"))
  map <- rbind(c(3, -10 * 3 / 2), c(0, 3 / 2))
  got <- caller_vcov(parts, columns, schema)
  for (name in names(parts)) {
    expect_equal(unname(got[[name]]), map %*% parts[[name]] %*% t(map))
    expect_identical(dimnames(got[[name]]), list(schema$columns, schema$columns))
  }
})

test_that("what the steps have left of their start is a part of the error", {
  # along one eigenvector: the average of steps 6 ... 30 keeps this share of the distance
  begun <- mean((1 - 0.25 * 0.1)^(6:30))
  a <- list(vectors = diag(2), values = c(0.1, 3))
  run <- list(h = c(0.25, 0.25), sd = c(0, 0), steps = c(6, 30))
  got <- drop(run_left(a, c(2 * (1 - begun), 0.5), run))
  expect_equal(got[[1L]], 2 * begun)
  expect_lt(abs(got[[2L]]), 0.01)
  # the noise alone moves as far
  run$sd <- c(50, 50)
  expect_identical(drop(run_left(a, c(2, 0.5), run)), c(0, 0))
  set.seed(412)
  x <- stats::rt(20000, 5)
  y <- stats::rbinom(20000, 1, stats::plogis(4 * x))
  fit <- dp_glm(x, y, 1, 1e-6, control = fast)
  ends <- confint(fit, "x1", level = 0.999)
  expect_lt(coef(fit)[["x1"]], 3.9)
  expect_true(ends[[1L]] < 4 && 4 < ends[[2L]])
})

test_that("rare events are known to have little curvature", {
  skip_on_cran()
  rule <- list(bound = 1, estimator = "covariate", loss = "logistic", curvature = 0.01)
  expect_equal(sandwich_guess(rule, 1, 1)$curvature, c(0.006, 0.0025))
  set.seed(413)
  squares <- replicate(20, {
    x <- stats::rt(5000, 5)
    y <- stats::rbinom(5000, 1, stats::plogis(x - 4))
    fit <- suppressWarnings(dp_glm(x, y, 1, 1e-6, control = fast))
    (coef(fit) - c(-4, 1))^2 / diag(vcov(fit))
  })
  # some 5 and 2 with a curvature of balanced classes
  expect_lt(mean(squares["(Intercept)", ]), 2.5)
  expect_lt(mean(squares["x1", ]), 1.5)
})

test_that("noise is shrunk away and what stands out of it stays", {
  set.seed(405)
  k <- 12
  truth <- diag(c(2, rep(1, k - 1)))
  noise <- matrix(stats::rnorm(k * k, sd = 0.2), k)
  noise[lower.tri(noise)] <- t(noise)[lower.tri(noise)]
  got <- shrink_moments(truth + noise, 0.2, 0.6, 0.2, 1)
  expect_lt(sum((got - truth)^2), 0.5 * sum(noise^2))
  expect_gt(got[1, 1], 1.3)
  big <- truth
  big[5, 5] <- big[5, 6] <- big[6, 5] <- 4
  got <- shrink_moments(big, 0.2, 0.6, 0.2, 1)
  expect_gt(got[5, 5], 3.5)
  expect_gt(got[5, 6], 3.5)
  expect_identical(shrink_moments(big, 0, 0.6, 0.2, 1), big)
})

# Fits of each kind, for the tests below.
interval_fits <- function() {
  z <- sandwich_data(6000, 2)
  b <- z$y > 2
  list(
    mean = dp_mean(z$y, 2, control = fast),
    means = dp_mean(z$x, 4, 1e-6, control = fast),
    bounded = dp_mean(z$x, 2, bound = 6, interval = TRUE, control = fast),
    lm = dp_lm(z$x, z$y, 4, 1e-6, control = fast),
    robust = dp_lm(z$x, z$y, 4, 1e-6, loss = "biweight", control = fast),
    glm = dp_glm(z$x, b, 4, 1e-6, control = fast),
    sco = dp_sco(z$x, z$y, 4, 1e-6, control = fast)
  )
}

test_that("parts add up to a symmetric positive matrix with the names of the coefficients", {
  set.seed(406)
  for (fit in interval_fits()) {
    total <- vcov(fit)
    expect_identical(total, vcov(fit, part = "sampling") + vcov(fit, part = "privacy"))
    expect_identical(total, vcov(fit, part = "total"))
    expect_identical(dimnames(total), rep(list(names(coef(fit))), 2))
    if (inherits(fit, "dp_mean")) {
      expect_true(all(is.na(total[upper.tri(total)])))
      expect_true(all(diag(total) > 0))
      expect_equal(unname(fit$errors[, "privacy"]), unname(fit$noise_sd))
    } else {
      for (part in PARTS) {
        v <- vcov(fit, part = part)
        expect_identical(v, t(v))
        expect_gt(min(eigen(v, symmetric = TRUE)$values), 0)
      }
    }
  }
})

test_that("intervals are coefficients, normal quantiles and the bias", {
  set.seed(407)
  for (fit in interval_fits()) {
    se <- sqrt(diag(vcov(fit)))
    for (level in c(0.5, 0.95)) {
      z <- stats::qnorm(0.5 + level / 2)
      bias <- if (is.null(fit$bias)) cbind(0 * se, 0 * se) else fit$bias
      got <- confint(fit, level = level)
      expect_equal(unname(got[, 1L]), unname(coef(fit) - z * se - bias[, 1L]))
      expect_equal(unname(got[, 2L]), unname(coef(fit) + z * se + bias[, 2L]))
      expect_identical(attr(got, "bias"), fit$bias)
    }
    expect_identical(dimnames(got), list(names(coef(fit)), c("2.5 %", "97.5 %")))
    last <- length(se)
    one <- confint(fit, names(se)[[last]])
    expect_identical(one[, ], confint(fit, last)[, ])
    expect_equal(one[1L, ], got[last, ])
    expect_true(all(fit$bias >= 0))
  }
})

test_that("what is asked for wrongly is refused by name", {
  set.seed(408)
  fit <- dp_mean(big$y, 2, control = fast)
  naming <- function(expr, text) expect_match(error_text(expr), text)
  naming(confint(fit, "nobody"), "`parm`")
  naming(confint(fit, 2), "`parm`")
  naming(confint(fit, TRUE), "`parm`")
  naming(confint(fit, level = 1), "`level`")
  naming(confint(fit, level = 95), "`level`")
  naming(confint(fit, levle = 0.9), "`levle`")
  naming(vcov(fit, part = "noise"), "`part`")
  naming(dp_mean(big$y, 2, bound = 3, method = "catoni", interval = TRUE), "`interval`")
})

test_that("fits without a variance say why", {
  set.seed(409)
  x <- as.matrix(big[c("x1", "x2")])
  why <- function(fit, text) {
    for (f in list(vcov, confint)) {
      error <- tryCatch(f(fit), error = identity)
      expect_s3_class(error, "dp_error_no_intervals")
      expect_match(conditionMessage(error), text)
    }
  }
  why(dp_lasso(x, big$y, 4, del, radius = 1, control = fast), "chosen")
  why(dp_sparse(x, big$y, 4, del, sparsity = 1, control = fast), "chosen")
  why(dp_sparse(x, big$y > 0, 4, del, sparsity = 1, loss = "logistic", control = fast), "chosen")
  why(dp_lm(x, big$y, 4, del, penalty = ridge(0.1), control = fast), "penalty")
  why(dp_sco(x, big$y, 4, del, gradient = grad_catoni(), control = fast), "gradients clipped")
  why(dp_mean(big$y, 4, method = "truncated", bound = 5, control = fast), "truncated")
  why(dp_mean(x, 4, sparsity = 1, control = fast), "chosen")
  why(dp_quantile(big$y, 0.5, 4, control = fast), "dp_mean")
})

test_that("what was not found has no variance", {
  set.seed(410)
  fit <- quiet(dp_lm(cbind(a = big$x1, b = 0), big$y, 4, del, control = fast))
  v <- vcov(fit)
  expect_true(all(is.na(v["b", ])))
  expect_true(all(v[c("(Intercept)", "a"), c("(Intercept)", "a")][c(1, 4)] > 0))
  expect_true(all(is.na(confint(fit)["b", ])))
  lost <- quiet(dp_lm(as.matrix(big[1:50, 1:2]), big$y[1:50], 0.2, del, control = fast))
  expect_true(all(is.na(vcov(lost))))
  flat <- quiet(dp_mean(cbind(a = big$y, b = 3), 4, control = fast))
  expect_identical(unname(is.na(diag(vcov(flat)))), c(FALSE, TRUE))
  expect_output(print(summary(flat)), "Std. Error")
})

test_that("the variance of winsorised values is read off the counts", {
  laws <- list(
    normal = stats::rnorm, uniform = stats::runif, exponential = stats::rexp,
    t = function(n) stats::rt(n, 5), far = function(n) 1e6 + stats::rnorm(n),
    huge = function(n) 1e200 * stats::rnorm(n), tiny = function(n) 1e-80 * stats::rnorm(n)
  )
  set.seed(411)
  for (name in names(laws)) {
    x <- laws[[name]](2e5)
    fit <- dp_mean(x, 2, control = fast)
    kept <- pmin(pmax(x, fit$limits[1L]), fit$limits[2L])
    top <- max(abs(kept))
    ratio <- fit$errors[[1L]] * sqrt(2e5) / (top * stats::sd(kept / top))
    expect_equal(ratio, 1, tolerance = 0.05, label = name)
  }
  x <- stats::runif(2e5)^(-1 / 2.5)
  fit <- dp_mean(x, 2, control = fast)
  kept <- pmin(x, fit$limits[2L])
  expect_equal(fit$errors[[1L]] * sqrt(2e5) / stats::sd(kept), 1, tolerance = 0.15)
  # E(x - L)+ of a Pareto law with index 2.5
  excess <- fit$limits[[2L]]^-1.5 / 1.5
  expect_gt(fit$bias[[2L]] / excess, 0.2)
  expect_lt(fit$bias[[2L]] / excess, 5)
})

test_that("within bounds the variance is paid for, or the largest there is", {
  set.seed(412)
  x <- stats::rnorm(2e4)
  free <- dp_mean(x, 1, bound = 5, control = fast)
  expect_equal(free$errors[[1L]]^2 * 2e4, (5 - coef(free)[[1L]]) * (5 + coef(free)[[1L]]))
  paid <- dp_mean(x, 1, bound = 5, interval = TRUE, control = fast)
  expect_equal(paid$errors[[1L]]^2 * 2e4, 1, tolerance = 0.25)
  expect_gt(paid$noise_sd, free$noise_sd)
  expect_lt(paid$noise_sd, 1.04 * free$noise_sd)
  expect_length(privacy(paid)$events, 2)
  # exact for logical values
  yes <- dp_mean(x > 1, 1, control = fast)
  p <- coef(yes)[[1L]]
  expect_equal(yes$errors[[1L]]^2 * 2e4, p * (1 - p))
  # the noise of the count of a share that is missing
  gone <- replace(x, 1:8000, NA)
  fit <- dp_mean(gone, 1, bound = c(0, 50), na.rm = TRUE, control = fast)
  expect_gt(fit$errors[[2L]], 1.5 * fit$noise_sd)
  plain <- dp_mean(gone, Inf, na.rm = TRUE)
  expect_equal(plain$errors[[1L]]^2, mean((x[-(1:8000)] - mean(x[-(1:8000)]))^2) / 12000)
  expect_identical(plain$errors[[2L]], 0)
})

test_that("the curvature and the squares cost a few percent", {
  fit <- dp_lm(as.matrix(big[c("x1", "x2")]), big$y, 1, del, control = fast)
  own <- share_of(fit, "curvature|squared gradients")
  expect_identical(own$count, 2L)
  expect_gt(own$share, 0.01)
  expect_lt(own$share, 0.04)
})

# Intervals that hold the truth, of all.
coverage <- function(reps, one) {
  held <- unlist(lapply(seq_len(reps), function(i) one()))
  c(sum(held), length(held))
}

test_that("intervals hold the truth as often as they say", {
  skip_on_cran()
  set.seed(413)
  holds <- function(fit, truth) {
    ends <- confint(fit)
    ends[, 1L] <= truth & truth <= ends[, 2L]
  }
  draws <- list(
    mean = function() holds(dp_mean(1 + stats::rt(1e4, 5), 1, control = fast), 1),
    lm = function() {
      x <- matrix(stats::rt(3e4, 3), 1e4)
      y <- drop(x %*% c(1, -1, 0.5)) + stats::rt(1e4, 3)
      holds(dp_lm(x, y, 1, 1e-6, control = fast), c(0, 1, -1, 0.5))[[2L]]
    },
    glm = function() {
      x <- matrix(stats::rnorm(2e4), 1e4)
      y <- stats::rbinom(1e4, 1, stats::plogis(drop(x %*% c(0.5, -0.5))))
      holds(dp_glm(x, y, 1, 1e-6, control = fast), c(0, 0.5, -0.5))[[2L]]
    }
  )
  for (name in names(draws)) {
    k <- coverage(100, draws[[name]])
    expect_gt(stats::pbinom(k[[1L]], k[[2L]], 0.93), alarm, label = name)
  }
  # ... and no more often: intervals at half the level
  half <- coverage(300, function() {
    ends <- confint(dp_mean(stats::rnorm(1e4), 1, control = fast), level = 0.5)
    ends[, 1L] <= 0 && 0 <= ends[, 2L]
  })
  expect_gt(binomial_p(half[[1L]], half[[2L]], 0.54), alarm)
})

test_that("an interval with a bias prints in lines, and is a matrix", {
  set.seed(430)
  ends <- confint(dp_mean(stats::rexp(4000), 1, control = repeatable))
  expect_true(is.matrix(ends))
  expect_identical(dim(ends[, 1, drop = FALSE]), c(1L, 1L))
  said <- capture.output(print(ends))
  expect_no_match(said, "attr(", fixed = TRUE, all = FALSE)
  expect_length(said, 3L)
  expect_match(said[[3L]], "allow for a bias")
})

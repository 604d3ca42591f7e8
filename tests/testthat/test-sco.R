# The general problem: without noise against other fitters, equivariance, batches, levels.

b <- fixture(2000, 51)
x <- cbind(a = 2 * b$x1 + 1, b = 0.3 * b$x2, c = abs(b$x1)^0.5)
y <- b$y
one <- cbind(1, x)
counts <- round(exp(0.5 + 0.5 * b$x2) + abs(sin(seq_along(y))))

plain <- function(..., gradient = grad_clipped()) {
  coef(dp_sco(..., epsilon = Inf, gradient = gradient))
}

# The gradient of the mean loss, at b, from derivatives at (eta, y).
gradient_at <- function(b, psi) drop(crossprod(one, psi(drop(one %*% b), y))) / nrow(one)

psi_huber <- function(k) function(eta, y) pmin(pmax(eta - y, -k), k)
psi_logistic <- function(eta, y) plogis(eta) - b$b

huge <- list(
  grad_clipped(1e20), grad_winsorized(1e20), grad_truncated(1e20), grad_catoni(1e20),
  grad_catoni(1e20, beta = 1), grad_mom(1e20, groups = 1), grad_winsorized(), grad_truncated(),
  grad_catoni(), grad_mom(groups = 1)
)

test_that("without noise the squared loss is lm(), the logistic one glm(), for every gradient", {
  linear <- coef(lm(y ~ x))
  odds <- coef(glm(b$b ~ x, family = binomial(), control = list(epsilon = 1e-14)))
  for (gradient in huge) {
    expect_equal(unname(plain(x, y, gradient = gradient)), unname(linear), tolerance = 1e-8)
    fit <- plain(x, b$b, gradient = gradient, loss = "logistic")
    expect_equal(unname(fit), unname(odds), tolerance = 1e-6)
  }
  expect_equal(plain(y ~ x1 + x2 + f, b, constraint = l2_ball(1e6)), lm_coef(y ~ x1 + x2 + f, b),
               tolerance = 1e-8)
  expect_equal(plain(x, y, intercept = FALSE, constraint = l2_ball(1e6)), coef(lm(y ~ x - 1)),
               tolerance = 1e-8, ignore_attr = TRUE)
})

test_that("without noise robust losses are rlm(), in one batch and in many", {
  skip_if_not_installed("MASS")
  huber <- MASS::rlm(y ~ x, maxit = 500, acc = 1e-12)
  bi <- MASS::rlm(y ~ x, psi = MASS::psi.bisquare, maxit = 500, acc = 1e-12)
  for (gradient in list(grad_winsorized(), grad_catoni(1e20), grad_mom(groups = 1))) {
    for (control in list(dp_control(), dp_control(batches = "split", iterations = 30))) {
      fit <- plain(x, y, loss = loss_huber(sigma = huber$s), gradient = gradient,
                   control = control)
      expect_equal(unname(fit), unname(coef(huber)), tolerance = 1e-6)
      fit <- plain(x, y, loss = loss_biweight(sigma = bi$s), gradient = gradient,
                   control = control)
      expect_equal(unname(fit), unname(coef(bi)), tolerance = 1e-6)
    }
  }
  fit <- plain(x, y, loss = "huber", gradient = grad_winsorized())
  expect_equal(unname(fit), unname(coef(huber)), tolerance = 1e-3)
  away <- MASS::rlm(y ~ x, maxit = 500, acc = 1e-12, scale.est = "MAD")
  expect_equal(unname(plain(x, y, loss = "huber", penalty = ridge(0))), unname(coef(away)),
               tolerance = 1e-3)
})

test_that("ridge is the closed form, in any unit of the columns, the intercept free", {
  n <- nrow(x)
  for (lambda in c(0.01, 1, 100)) {
    center <- colMeans(x)
    z <- sweep(x, 2, center)
    slopes <- solve(crossprod(z) / n + diag(lambda, 3), crossprod(z, y - mean(y)) / n)
    want <- c(mean(y) - sum(center * slopes), slopes)
    for (gradient in list(grad_clipped(), grad_winsorized(1e20))) {
      expect_equal(unname(plain(x, y, penalty = ridge(lambda), gradient = gradient)), want,
                   tolerance = 1e-8)
    }
    through <- solve(crossprod(x) / n + diag(lambda, 3), crossprod(x, y) / n)
    expect_equal(unname(plain(x, y, penalty = ridge(lambda), intercept = FALSE)), drop(through),
                 tolerance = 1e-8, ignore_attr = TRUE)
    scale <- list(x = list(center = c(1, 0, 3), scale = c(5, 1, 0.1)),
                  y = list(center = 9, scale = 0.2))
    expect_equal(unname(plain(x, y, penalty = ridge(lambda), scale = scale)), want,
                 tolerance = 1e-8)
  }
})

# Each loss with its derivative in the caller's units.
smooth_losses <- function() {
  user <- function(eta, y) tanh(eta - y)
  list(
    list(loss = loss_squared(), y = y, psi = function(eta, y) eta - y),
    list(loss = loss_huber(sigma = 2), y = y, psi = psi_huber(2.69)),
    list(loss = loss_logistic(), y = b$b, psi = psi_logistic),
    list(loss = loss_user(user, bound = 1), y = y, psi = user),
    list(loss = loss_user(user), y = y, psi = user)
  )
}

test_that("a penalty adds lambda times the slopes to the gradient, for every loss", {
  for (part in smooth_losses()) for (gradient in list(grad_clipped(), grad_winsorized(1e20))) {
    fit <- plain(x, part$y, loss = part$loss, penalty = ridge(0.5), gradient = gradient)
    expect_lt(max(abs(gradient_at(fit, part$psi) + 0.5 * c(0, fit[-1L]))), 1e-8)
  }
})

test_that("a fit on the ball satisfies the conditions of a minimum there, for every loss", {
  for (part in smooth_losses()) for (radius in c(0.05, 0.4)) {
    fit <- plain(x, part$y, loss = part$loss, constraint = l2_ball(radius))
    g <- gradient_at(fit, part$psi)
    # the slopes' gradient points inwards along the slopes; the intercept is free
    expect_equal(sqrt(sum(fit[-1L]^2)), radius, tolerance = 1e-10)
    expect_lt(abs(g[[1L]]), 1e-8)
    ratio <- unname(g[-1L] / fit[-1L])
    expect_true(all(ratio < 0))
    expect_equal(ratio / ratio[[1L]], rep(1, 3), tolerance = 1e-6)
  }
  # with a penalty, too; and a penalty that makes the ball idle
  fit <- plain(x, y, constraint = l2_ball(0.4), penalty = ridge(0.1))
  g <- gradient_at(fit, function(eta, y) eta - y)[-1L] + 0.1 * fit[-1L]
  expect_equal(unname(g / fit[-1L]) / (g[[1L]] / fit[[2L]]), rep(1, 3), tolerance = 1e-6)
  expect_equal(plain(x, y, constraint = l2_ball(5), penalty = ridge(100)),
               plain(x, y, penalty = ridge(100)), tolerance = 1e-8)
})

test_that("loss_mean() is the column means, shrunken by a penalty, scaled onto a ball", {
  means <- colMeans(x)
  expect_equal(plain(x, loss = loss_mean()), means, tolerance = 1e-10)
  for (gradient in c(huge, list(grad_shrunken(1e20)))) {
    expect_equal(plain(x, loss = loss_mean(), gradient = gradient), means, tolerance = 1e-8)
  }
  expect_equal(plain(x, loss = loss_mean(), penalty = ridge(2)), means / 3, tolerance = 1e-10)
  expect_equal(plain(x, loss = loss_mean(), constraint = l2_ball(0.5)),
               0.5 * means / sqrt(sum(means^2)), tolerance = 1e-10)
  both <- plain(x, loss = loss_mean(), constraint = l2_ball(0.5), penalty = ridge(7))
  expect_equal(both, means / 8 * min(1, 0.5 / sqrt(sum((means / 8)^2))), tolerance = 1e-8)
  fit <- dp_sco(x, epsilon = Inf, loss = loss_mean())
  expect_error(predict(fit, x), "predicts nothing")
})

test_that("losses of the user's own are glm()'s, with and without an offset", {
  poisson_loss <- loss_user(function(eta, y) exp(eta) - y, function(eta, y) exp(eta) - y * eta)
  fit <- plain(b$x2, counts, loss = poisson_loss)
  want <- coef(glm(counts ~ b$x2, family = poisson(), control = list(epsilon = 1e-14)))
  expect_equal(unname(fit), unname(want), tolerance = 1e-6)
  o <- sin(seq_along(counts))
  fit <- plain(b$x2, counts, loss = poisson_loss, offset = o)
  want <- coef(glm(counts ~ b$x2, family = poisson(), offset = o, control = list(epsilon = 1e-14)))
  expect_equal(unname(fit), unname(want), tolerance = 1e-6)
  # as the package's own, clamped or not
  own <- loss_user(function(eta, y) stats::plogis(eta) - y, bound = 1)
  expect_equal(plain(x, b$b, loss = own), plain(x, b$b, loss = "logistic"), tolerance = 1e-6)
})

test_that("the quantile loss leaves the asked share of the responses below", {
  for (p in c(0.5, 0.9)) {
    loss <- loss_user(function(eta, y) (eta > y) - p, bound = max(p, 1 - p))
    fit <- plain(x, y, loss = loss)
    expect_lt(max(abs(gradient_at(fit, function(eta, y) (eta > y) - p))), 0.02)
    expect_equal(mean(one %*% fit > y), p, tolerance = 0.02)
  }
})

test_that("the point of a ball that a step lands on is the nearest in the metric", {
  set.seed(431)
  for (intercept in c(TRUE, FALSE)) {
    k <- 3L + intercept
    h <- crossprod(matrix(rnorm(4 * k * k), 4 * k, k)) / (4 * k)
    state <- list(
      constraint = l2_ball(0.7), k = k, intercept = intercept, pre = list(hessian = h),
      unit = runif(k, 0.5, 2), loss = loss_squared(), shift = 0
    )
    project <- ball_projection(state)
    slopes <- seq_len(k)[seq_len(k) > intercept]
    size <- function(w) sqrt(sum((w * state$unit)[slopes]^2))
    w <- rnorm(k, sd = 5)
    to <- project(w)
    expect_equal(size(to), 0.7, tolerance = 1e-8)
    expect_equal(project(to), to, tolerance = 1e-8)
    expect_identical(project(w / 1e3), w / 1e3)
    away <- function(v) sum((v - w) * (h %*% (v - w)))
    for (i in 1:300) {
      other <- to + rnorm(k, sd = 0.05)
      if (size(other) > 0.7) other[slopes] <- other[slopes] * 0.7 / size(other)
      expect_gte(away(other), away(to) - 1e-9)
    }
  }
})

# ---- with noise --------------------------------------------------------------------

gradients <- list(
  grad_clipped(2), grad_winsorized(0.8), grad_truncated(3), grad_catoni(0.9),
  grad_catoni(0.9, beta = 1), grad_mom(0.8, groups = 3), grad_shrunken(3)
)

test_that("units of x and y change nothing but the unit", {
  # powers of two, so that not a bit of a standardised number changes
  known <- function(shift, a, up, b) {
    list(x = list(center = shift + a * c(1, 2), scale = a * c(2, 0.5)),
         y = list(center = up + b, scale = 2 * b))
  }
  m <- as.matrix(big[c("x1", "x2")])
  run <- function(gradient, shift, a, up, c, batches, constraint = l2_ball(4 * c / a)) {
    set.seed(432)
    coef(dp_sco(shift + a * m, up + c * big$y, 4, 1e-6, gradient = gradient,
                constraint = constraint, scale = known(shift, a, up, c),
                control = dp_control(rng = "R", batches = batches)))
  }
  for (gradient in gradients) for (batches in c("full", "split")) {
    base <- run(gradient, 0, 1, 0, 1, batches)
    moved <- run(gradient, 0, 4, 0, 0.5, batches)
    expect_equal(moved, base * c(0.5, 0.125, 0.125), tolerance = 1e-9)
    # a shift rounds the numbers, and few of them to another step of the grid
    moved <- run(gradient, 64, 1, -32, 1, batches)
    expect_equal(moved[-1L], base[-1L], tolerance = 1e-6)
    expect_equal(moved[[1L]], base[[1L]] - 32 - 64 * sum(base[-1L]), tolerance = 1e-6)
  }
  # what is found privately does so up to the noise of other cells
  found <- function(gradient, a, c) {
    set.seed(433)
    coef(dp_sco(a * m, c * big$y, 4, 1e-6, gradient = gradient, penalty = ridge(0.1 * a^2),
                control = repeatable))
  }
  for (gradient in list(grad_clipped(), grad_winsorized(), grad_catoni(), grad_mom(groups = 3))) {
    away <- found(gradient, 16, 2) / c(2, 0.125, 0.125) - found(gradient, 1, 1)
    expect_lt(max(abs(away)), 0.01)
  }
})

test_that("a mean follows its columns", {
  m <- as.matrix(big[c("x1", "x2")])
  run <- function(gradient, shift, a) {
    set.seed(434)
    coef(dp_sco(shift + a * m, epsilon = 4, delta = 1e-6, loss = loss_mean(),
                gradient = gradient, control = repeatable,
                scale = list(x = list(center = shift, scale = a))))
  }
  for (gradient in gradients) {
    base <- run(gradient, 0, 1)
    expect_equal(run(gradient, 0, 8), 8 * base, tolerance = 1e-9)
    expect_equal(run(gradient, -32, 1), base - 32, tolerance = 1e-6)
  }
})

test_that("every gradient comes near the truth, in one batch and in many", {
  skip_on_cran()
  set.seed(435)
  n <- 30000
  m <- cbind(rt(n, 3), exp(0.6 * rnorm(n)))
  r <- drop(3 + m %*% c(1, -2)) + 0.5 * rt(n, 3)
  e <- rbinom(n, 1, plogis(0.4 * (m[, 1] - m[, 2])))
  near <- function(within, want, ...) {
    fit <- dp_sco(m, ..., epsilon = 2, delta = 1e-6, control = control)
    expect_lt(max(abs(coef(fit) - want)), within)
  }
  for (batches in c("full", "split")) {
    control <- dp_control(rng = "R", batches = batches)
    within <- if (batches == "full") 0.06 else 0.3
    for (gradient in list(grad_clipped(), grad_winsorized(), grad_truncated(), grad_catoni(),
                          grad_catoni(beta = 1), grad_mom(groups = 3))) {
      near(within, c(3, 1, -2), r, gradient = gradient, penalty = ridge(0))
      near(within, c(3, 1, -2), r, gradient = gradient, loss = loss_huber())
      near(within, c(3, 1, -2), r, gradient = gradient,
           loss = loss_user(function(eta, y) tanh(eta - y), bound = 1))
    }
    near(2 * within, c(0, 0.4, -0.4), e, gradient = grad_shrunken(8), loss = "logistic")
    near(2 * within, c(0, 0.4, -0.4), e, loss = "logistic", constraint = l2_ball(3))
  }
})

test_that("batches are disjoint, cover the rows, and do not depend on the data", {
  views <- list()
  note <- function(frame) views <<- c(views, list(frame$plan$index))
  home <- asNamespace("dpheavy")
  on.exit(suppressMessages(untrace("release_gradient", where = home)))
  suppressMessages(trace("release_gradient", print = FALSE, where = home,
                         tracer = as.call(list(note, quote(environment())))))
  split <- dp_control(rng = "R", batches = "split", iterations = 7)
  run <- function(z) {
    views <<- list()
    set.seed(436)
    fit <- dp_sco(y ~ x1 + x2, z, 4, 1e-6, gradient = grad_winsorized(), control = split)
    list(views = views, privacy = privacy(fit))
  }
  z <- big[-1L, ]
  first <- run(z)
  expect_length(first$views, 7)
  expect_identical(sort(unlist(first$views)), seq_len(nrow(z)) - 1L)
  expect_lte(diff(range(lengths(first$views))), 1)
  z$x1[5] <- 1e300
  z$y <- rev(z$y)
  expect_identical(run(z), first)
})

test_that("each release has a key of its own, or the operating system's", {
  keys <- list()
  note <- function(frame) keys[[length(keys) + 1L]] <<- list(frame$key)
  releases <- c("release_gradient", "release_coordinates", "release_sizes", "release_moments",
                "random_order")
  home <- asNamespace("dpheavy")
  on.exit(suppressMessages(untrace(releases, where = home)))
  suppressMessages(trace(releases, print = FALSE, where = home,
                         tracer = as.call(list(note, quote(environment())))))
  run <- function(rng) {
    keys <<- list()
    dp_sco(y ~ x1, big, 4, 1e-6, gradient = grad_mom(groups = 3), control = dp_control(rng = rng))
    keys
  }
  # a partition, norms, moments, four levels, and the steps
  seen <- run("R")
  expect_length(seen, 3 + 4 + sum(SCO_STAGES$steps))
  expect_identical(anyDuplicated(seen), 0L)
  for (key in seen) expect_length(key[[1L]], 32)
  for (key in run("secure")) expect_null(key[[1L]])
})

test_that("a level is that of the public moment, or the given one, in the unit it is meant in", {
  m <- as.matrix(big[c("x1", "x2")])
  moment <- moment_bound(1.5, 40)
  fit <- dp_sco(m, big$y, 2, 1e-6, gradient = grad_winsorized(), moment = moment)
  expect_identical(unname(fit$scale), rep(1, 3))
  expect_identical(unname(fit$center), rep(0, 3))
  spec <- sco_spec(2, 1e-6, loss_squared(), grad_winsorized(), no_constraint(), "pgd", NULL,
                   moment, NULL, dp_control())
  plan <- plan_sco(4000, 3, tuned_x(0), discrete_gaussian_mu(2, 1e-6), spec)
  mu <- plan$mu * sqrt(plan$share[["descent"]])
  want <- moment_level(grad_winsorized(), moment, 4000, 3, 2 * sqrt(3) / mu, 0.05)
  expect_equal(fit$bound, rep(want, 4))
  # a robust loss is released over its largest derivative
  fit <- dp_sco(m, big$y, 2, 1e-6, loss = loss_huber(k = 2, sigma = 3), moment = moment,
                gradient = grad_winsorized())
  expect_equal(fit$bound, rep(want / 6, 4))
  expect_identical(dp_sco(m, big$y, 2, 1e-6, gradient = grad_catoni(0.7))$bound, rep(0.7, 4))
  expect_identical(fit$output, "average")
  expect_identical(fit$gradient, "winsorized")
})

test_that("the noise of a step is that of its batch, or its smallest group", {
  m <- as.matrix(big[c("x1", "x2")])
  known <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
  run <- function(n, gradient, ...) {
    fit <- quiet(dp_sco(m[seq_len(n), ], big$y[seq_len(n)], 4, 1e-6, scale = known, ...,
                        gradient = gradient))
    list(fit = fit, events = as.data.frame(privacy(fit)))
  }
  last <- function(r) r$events[nrow(r$events), ]
  # sd of the mean: level x sensitivity in levels / mu / records
  full <- run(4000, grad_winsorized(0.5))
  expect_equal(full$fit$sd[[4L]], 0.5 * 2 * sqrt(3) / last(full)$cost / 4000, tolerance = 1e-6)
  split <- run(3999, grad_winsorized(0.5), control = dp_control(batches = "split"))
  expect_equal(split$fit$sd, rep(0.5 * 2 * sqrt(3) / last(split)$cost / 499, 2), tolerance = 1e-6)
  expect_identical(last(split)$count, 1)
  groups <- run(3999, grad_mom(0.5, groups = 4))
  expect_equal(groups$fit$sd[[4L]], 0.5 * 2 * sqrt(3) / last(groups)$cost / 999, tolerance = 1e-6)
  catoni <- run(4000, grad_catoni(0.5, beta = 1))
  reach <- 0.5 * 2 * sqrt(2) / 3 * (2 * pnorm(1) - 1)
  expect_equal(catoni$fit$sd[[4L]], reach * 2 * sqrt(3) / last(catoni)$cost / 4000,
               tolerance = 1e-6)
  record <- run(4000, grad_clipped(2), control = dp_control(batches = "split"))
  expect_equal(record$fit$sd, rep(2 * 2 / last(record)$cost / 500, 2), tolerance = 1e-3)
})

test_that("parts that do not go together are refused before anything is spent", {
  m <- as.matrix(big[c("x1", "x2")])
  refused <- function(naming, ...) {
    expect_refusal(function(b) dp_sco(m, big$y, 1, 1e-6, ..., budget = b), naming)
  }
  refused("`gradient`", gradient = "median")
  refused("`gradient`", gradient = 3)
  refused("`loss`", loss = "absolute")
  refused("`loss`", loss = function(eta, y) eta - y)
  refused("`solver`", solver = "newton")
  refused("`penalty`", penalty = 0.1)
  refused("`constraint`", constraint = 3)
  refused("`moment`", moment = 2, gradient = grad_winsorized())
  refused("order", moment = moment_bound(4, 2), gradient = grad_winsorized())
  refused("order", moment = moment_bound(1.5, 2), gradient = grad_catoni())
  refused("order", moment = moment_bound(2, 2), gradient = grad_shrunken(),
          constraint = l2_ball(1))
  refused("`moment`", moment = moment_bound(2, 2), gradient = grad_clipped())
  refused("l2_ball", gradient = grad_shrunken(2))
  refused("loss_user", gradient = grad_shrunken(2),
          loss = loss_user(function(eta, y) tanh(eta - y), bound = 1))
  refused("leave `y` out", loss = loss_mean())
  refused("as many rows", gradient = grad_mom(groups = 4001))
  split <- dp_control(batches = "split")
  refused("as many rows", gradient = grad_mom(groups = 501), control = split)
  refused("as batches", control = dp_control(batches = "split", iterations = 4001))
  refused("by name", 3)
  refused("`gradent`", gradent = grad_mom())
  refused("weights", weights = 1)
  expect_refusal(function(b) dp_sco(m, epsilon = 1, delta = 1e-6, budget = b), "`y`")
  expect_refusal(function(b) dp_sco(y ~ x1, big, 1, 1e-6, loss = loss_mean(), budget = b),
                 "no response")
  expect_refusal(function(b) dp_sco(m, big$y, 1, budget = b), "`delta`")
  expect_error(grad_mom(groups = 0), "`groups`", class = "dp_error")
  expect_error(grad_catoni(beta = 0), "`beta`", class = "dp_error")
  expect_error(grad_winsorized(-1), "`tau`", class = "dp_error")
  expect_error(moment_bound(3, 1), "`order`", class = "dp_error")
  expect_error(moment_bound(1, 1), "`order`", class = "dp_error")
  expect_error(moment_bound(2, 0), "`bound`", class = "dp_error")
  expect_error(ridge(-1), "`lambda`", class = "dp_error")
})

test_that("a fit charges its budget with its events and prints what it is", {
  budget <- privacy_budget(3, 1e-6)
  m <- as.matrix(big[c("x1", "x2")])
  fit <- dp_sco(m, big$y, 2, 1e-6, gradient = grad_catoni(), penalty = ridge(0.1), budget = budget)
  expect_equal(spent(budget), 2, tolerance = 1e-6)
  expect_s3_class(fit, c("dp_sco", "dp_lm", "dp_fit"), exact = TRUE)
  expect_output(print(fit), "Private linear regression")
  expect_length(predict(fit, m[1:3, ]), 3)
  fit <- dp_sco(m, big$b, 2, 1e-6, loss = "logistic", gradient = grad_catoni())
  expect_s3_class(fit, c("dp_sco", "dp_glm", "dp_lm", "dp_fit"), exact = TRUE)
  p <- predict(fit, m[1:3, ], type = "response")
  expect_true(all(p > 0 & p < 1))
  expect_lte(epsilon_at(privacy(fit), 1e-6), 2 * (1 + 1e-9))
  expect_output(print(dp_sco(m, epsilon = Inf, loss = loss_mean())), "NOT PRIVATE")
  expect_output(print(ridge(0.1)), "penalty: ridge .*0.1")
  expect_output(print(moment_bound(2, 5)), "moment: .*5 .public")
})

test_that("what a record holds changes numbers only, for every gradient", {
  skip_on_cran()
  set.seed(437)
  m <- as.matrix(big[c("x1", "x2")])
  for (gradient in list(grad_clipped(), grad_winsorized(), grad_catoni(), grad_mom(groups = 3),
                        grad_truncated(2))) {
    for (batches in c("full", "split")) {
      run <- function(v) {
        z <- m
        z[1L, ] <- v
        dp_sco(z, replace(big$y, 1L, v), 8, 1e-5, gradient = gradient, penalty = ridge(0.01),
               control = dp_control(rng = "R", batches = batches))
      }
      plain <- run(0)
      for (v in c(1e308, -1e308, Inf, 5e-324)) {
        expect_silent(fit <- run(v))
        expect_true(all(is.finite(coef(fit))))
        expect_identical(fit$privacy, plain$privacy)
        expect_identical(lapply(fit, class), lapply(plain, class))
      }
    }
  }
})

# ---- levels from a moment -----------------------------------------------------------

test_that("the level of a moment is where bias, noise and deviation balance", {
  xi <- 0.05
  n <- 5000
  k <- 7
  stray <- 4 / 3 * log(2 * k / xi)
  best <- function(f) exp(stats::optimize(function(t) f(exp(t)), c(-9, 14), tol = 1e-10)$minimum)
  for (noise in c(0.5, 40)) for (u in c(0.3, 20)) {
    for (order in c(1.3, 2)) {
      v <- order - 1
      moment <- moment_bound(order, u)
      worst_bias <- stats::optimize(function(t) (t - 1) / t^order, c(1, 100), maximum = TRUE,
                                    tol = 1e-12)$objective
      expect_equal(clip_bias(v), worst_bias, tolerance = 1e-8)
      total <- function(bias) function(b) bias * u * b^-v + (noise + stray) / n * b
      level <- function(gradient) moment_level(gradient, moment, n, k, noise, xi)
      expect_equal(level(grad_winsorized()), best(total(worst_bias)), tolerance = 1e-5)
      expect_equal(level(grad_mom()), best(total(worst_bias)), tolerance = 1e-5)
      expect_equal(level(grad_truncated()), best(total(1)), tolerance = 1e-5)
    }
    for (beta in c(1, Inf)) {
      # u (1 + 1/beta) / (2 s) + s log(2 k / xi) / n, and the noise of s M
      reach <- if (beta == 1) 2 * sqrt(2) / 3 * 0.682689492137086 else 2 * sqrt(2) / 3
      f <- function(s) u * (1 + 1 / beta) / (2 * s) + s / n * (log(2 * k / xi) + noise * reach)
      expect_equal(moment_level(grad_catoni(beta = beta), moment_bound(2, u), n, k, noise, xi),
                   best(f), tolerance = 1e-5)
    }
    f <- function(s) u / s^2 + noise * s^2 / n
    expect_equal(moment_level(grad_shrunken(), moment_bound(4, u), n, k, noise, xi), best(f),
                 tolerance = 1e-5)
  }
  expect_equal(default_groups(10, 0.05), ceiling(2 * log(400)))
  expect_equal(paper_groups(10, 0.05), ceiling(4 * log(400)))
})

test_that("means at the level of a moment stay within their bounds as often as they say", {
  skip_on_cran()
  set.seed(438)
  n <- 2000
  xi <- 0.05
  runs <- 150
  # Pareto of index 2.5: mean 5/3, E x^2 = 5
  u <- 5
  draw <- function() stats::runif(n)^(-1 / 2.5)
  control <- dp_control(rng = "R", xi = xi)
  miss <- function(method, limit) {
    errors <- replicate(runs, {
      coef(dp_mean(draw(), 1, method = method, moment = moment_bound(2, u), control = control))
    }) - 5 / 3
    list(share = mean(abs(errors) > limit), spread = mean(abs(errors)), bias = mean(errors))
  }
  often <- function(share) stats::pbinom(share * runs - 0.5, runs, 2 * xi, lower.tail = FALSE)
  cost <- 2 * sqrt(2)
  b <- moment_level(grad_winsorized(), moment_bound(2, u), n, 1, cost, xi)
  bound <- u / (4 * b) + sqrt(2 * u * log(2 / xi) / n) + 4 / 3 * b * log(2 / xi) / n
  s <- moment_level(grad_catoni(), moment_bound(2, u), n, 1, cost, xi)
  band <- u / (2 * s) + s * log(2 / xi) / n
  # Laplace noise of scale 2 B / n at epsilon = 1
  noise <- function(reach) 2 * reach / n * log(1 / xi)
  got <- miss("catoni", band + noise(s * CATONI_MOST))
  expect_gt(often(got$share), alarm)
  expect_lt(got$spread, band)
  b <- moment_level(grad_truncated(), moment_bound(2, u), n, 1, cost, xi)
  got <- miss("truncated", u / b + bound + noise(b))
  expect_gt(often(got$share), alarm)
  # zeroing is biased towards zero
  expect_lt(got$bias, 0)
  expect_lt(abs(got$bias), u / b)
})

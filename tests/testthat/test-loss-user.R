# Losses that a user writes: what is refused, what does not leave, what stays charged.

m <- as.matrix(big[c("x1", "x2")])
logcosh <- function(eta, y) tanh(eta - y)

run_user <- function(loss, ..., y = big$y, x = m) {
  dp_sco(x, y, 1, 1e-6, loss = loss, control = repeatable, ...)
}

# Refused when it is made: nothing can have been spent.
expect_no_loss <- function(derivative, naming = "on its own", ...) {
  error <- tryCatch(loss_user(derivative, ...), error = identity)
  testthat::expect_s3_class(error, "dp_error_input")
  testthat::expect_match(conditionMessage(error), naming)
  # not by a list that looks like one either
  forged <- structure(list(name = "user", derivative = derivative), class = "dp_part")
  expect_refusal(function(b) run_user(forged, budget = b), "`loss`")
}

test_that("functions that mix records are refused before anything is spent", {
  mixing <- list(
    function(eta, y) eta - mean(y),
    function(eta, y) eta - y + 1e-6 * mean(eta),
    function(eta, y) rank(eta) / length(eta),
    function(eta, y) cumsum(eta - y),
    function(eta, y) (eta - y) / max(abs(y)),
    function(eta, y) scale(eta - y)[, 1],
    function(eta, y) eta - rev(y),
    function(eta, y) eta - c(y[-1], y[1]),
    function(eta, y) (eta - y) * (seq_along(y) %% 2),
    function(eta, y) eta - y * (length(y) > 10),
    function(eta, y) ifelse(duplicated(round(eta)), 0, eta - y),
    function(eta, y) eta - stats::median(y)
  )
  for (derivative in mixing) expect_no_loss(derivative)
  set.seed(441)
  expect_no_loss(function(eta, y) eta - y + stats::rnorm(length(y)))
})

test_that("functions of the wrong shape are refused with what to do", {
  one_number <- "one number for each pair"
  expect_no_loss(function(eta, y) sum(eta - y), one_number)
  expect_no_loss(function(eta, y) c(eta - y, 0), one_number)
  expect_no_loss(function(eta, y) as.character(eta), one_number)
  expect_no_loss(function(eta, y) NULL, one_number)
  expect_no_loss(function(eta, y) list(eta), one_number)
  expect_no_loss(function(eta, y) factor(sign(eta - y)), one_number)
  expect_no_loss(function(eta, y) stop("planted"), "fails on made-up numbers: planted")
  expect_no_loss(function(eta) eta, "fails on made-up numbers")
  expect_no_loss("eta - y", "`derivative` must be a function")
  expect_no_loss(NULL, "`derivative` must be a function")
  expect_no_loss(logcosh, "`value`", value = 3)
  expect_no_loss(logcosh, "`bound`", bound = 0)
  expect_no_loss(logcosh, "`bound`", bound = Inf)
  expect_no_loss(logcosh, "`curvature`", curvature = -1)
  expect_no_loss(function(eta, y) 0 * eta, "does not rise")
  expect_no_loss(function(eta, y) y - eta, "does not rise")
})

test_that("a derivative that is not that of the value is refused, corners are not", {
  wrong <- "not the derivative of `value`"
  expect_no_loss(logcosh, wrong, value = function(eta, y) (eta - y)^2)
  expect_no_loss(function(eta, y) eta - y, wrong, value = function(eta, y) (eta - y)^2)
  expect_no_loss(logcosh, wrong, value = function(eta, y) -log(cosh(eta - y)))
  expect_no_loss(logcosh, "one number", value = function(eta, y) sum(eta))
  for (part in list(
    list(function(eta, y) eta - y, function(eta, y) (eta - y)^2 / 2),
    list(logcosh, function(eta, y) log(cosh(eta - y))),
    list(function(eta, y) (eta > y) - 0.3, function(eta, y) pmax(0.7 * (eta - y), 0.3 * (y - eta))),
    list(function(eta, y) exp(eta) - y, function(eta, y) exp(eta) - y * eta),
    list(function(eta, y) eta > y, function(eta, y) pmax(eta - y, 0))
  )) {
    expect_s3_class(loss_user(part[[1L]], part[[2L]]), "dp_loss")
  }
})

test_that("the curvature is the largest rise over two units, or the given one", {
  expect_equal(loss_user(function(eta, y) 3 * (eta - y))$curvature, 3)
  expect_equal(loss_user(logcosh, bound = 1)$curvature, tanh(1), tolerance = 1e-8)
  expect_equal(loss_user(logcosh, curvature = 0.2)$curvature, 0.2)
  expect_equal(loss_user(function(eta, y) (eta > y) - 0.5)$curvature, 0.5)
})

test_that("derivatives are clamped to the bound, what is no number is zero", {
  odd <- c(NaN, NA, Inf, -Inf, 5, -0.5)
  loss <- loss_user(logcosh, bound = 2)
  loss$derivative <- function(eta, y) odd
  expect_identical(user_derivative(loss, 1:6, 1:6), c(0, 0, 2, -2, 2, -0.5))
  loss["bound"] <- list(NULL)
  expect_identical(user_derivative(loss, 1:6, 1:6), c(0, 0, Inf, -Inf, 5, -0.5))
  # the fits go on, finite
  wild <- loss_user(function(eta, y) {
    ifelse(abs(y) > 6, 1e308, ifelse(abs(y) > 5, NaN, ifelse(abs(y) > 4, -Inf, eta - y)))
  }, curvature = 1)
  for (gradient in list(grad_clipped(), grad_winsorized(), grad_catoni(), grad_truncated())) {
    expect_true(all(is.finite(coef(quiet(run_user(wild, gradient = gradient))))))
  }
})

# Fails on the data, not on made-up numbers; says something private.
treacherous <- function(bound = 1) {
  loss_user(function(eta, y) {
    if (length(y) > 1000) stop("CANARY ", y[[1L]], " 12345.6")
    tanh(eta - y)
  }, bound = bound)
}

test_that("a function that fails on the data is asked row by row, without a word", {
  for (bound in list(NULL, 1)) for (gradient in list(grad_clipped(), grad_catoni())) {
    budget <- privacy_budget(1, 1e-6)
    set.seed(441)
    expect_silent(fit <- run_user(treacherous(bound), gradient = gradient, budget = budget))
    expect_false(leaks(fit, "CANARY"))
    expect_equal(spent(budget), 1, tolerance = 1e-6)
    expect_identical(.Call(C_core_live), 0)
    set.seed(441)
    same <- run_user(loss_user(logcosh, bound = bound), gradient = gradient,
                     budget = privacy_budget(1, 1e-6))
    expect_identical(coef(fit), coef(same))
  }
  short <- loss_user(function(eta, y) if (length(y) > 1000) 1 else tanh(eta - y), bound = 1)
  expect_silent(run_user(short))
})

test_that("rows for which the function fails count as zero", {
  fails <- loss_user(function(eta, y) {
    if (any(y %in% c(-5, 2.5, 7))) stop("CANARY")
    tanh(eta - y)
  }, bound = 1)
  zero <- loss_user(function(eta, y) ifelse(y %in% c(-5, 2.5, 7), 0, tanh(eta - y)), bound = 1)
  y <- c(-5, -1, 0.5, 2.5, 7)
  expect_identical(user_derivative(fails, y / 2, y), user_derivative(zero, y / 2, y))
})

test_that("no noise is repeated after an interrupt, nor by a function that sets the seed", {
  count <- 0
  at_third <- function() {
    count <<- 0
    loss_user(function(eta, y) {
      if (length(y) > 1000) {
        count <<- count + 1
        if (count == 9) signalCondition(structure(class = c("interrupt", "condition"), list()))
      }
      tanh(eta - y)
    }, bound = 1)
  }
  seen <- list()
  note <- function(value) seen[[length(seen) + 1L]] <<- value
  home <- asNamespace("dpheavy")
  on.exit(suppressMessages(untrace("release_gradient", where = home)))
  suppressMessages(trace("release_gradient", exit = as.call(list(note, quote(returnValue()))),
                         print = FALSE, where = home))
  for (i in 1:2) {
    stopped <- tryCatch(dp_sco(m, big$y, 1, 1e-6, loss = at_third()), interrupt = identity)
    expect_s3_class(stopped, "interrupt")
  }
  expect_length(seen, 16)
  expect_identical(anyDuplicated(seen), 0L)
  # a function that sets the seed cannot repeat what the operating system gives
  sets <- loss_user(function(eta, y) {
    set.seed(1)
    tanh(eta - y)
  }, bound = 1)
  set.seed(2)
  first <- coef(dp_sco(m, big$y, 1, 1e-6, loss = sets))
  set.seed(2)
  expect_false(identical(coef(dp_sco(m, big$y, 1, 1e-6, loss = sets)), first))
})

test_that("warnings and messages of the function are muffled", {
  loud <- loss_user(function(eta, y) {
    if (length(y) > 1000) {
      warning("CANARY ", y[[1L]])
      message("CANARY ", y[[2L]])
      as.numeric("CANARY")
    }
    tanh(eta - y)
  }, bound = 1)
  expect_silent(fit <- run_user(loud))
  set.seed(442)
  a <- coef(run_user(loud))
  set.seed(442)
  expect_identical(coef(run_user(loss_user(logcosh, bound = 1))), a)
})

test_that("the function sees the records in use in the caller's units, zeros for the others", {
  seen <- list()
  loss <- loss_user(function(eta, y) {
    if (length(y) > 1000) seen[[length(seen) + 1L]] <<- list(eta = eta, y = y)
    eta - y
  })
  z <- m
  z[7L, 1L] <- Inf
  y <- 100 + 5 * big$y
  fit <- dp_sco(z, y, Inf, loss = loss, subset = big$x2 > -0.5)
  kept <- which(big$x2 > -0.5 & seq_along(y) != 7L)
  for (call in seen) {
    expect_equal(call$y[kept], y[kept], tolerance = 1e-12)
    expect_true(all(call$y[-kept] == 0) && all(call$eta[-kept] == 0))
  }
  last <- seen[[length(seen)]]$eta[kept]
  expect_equal(last, drop(cbind(1, z[kept, ]) %*% coef(fit)), tolerance = 1e-8)
  expect_equal(unname(coef(fit)), unname(coef(lm(y[kept] ~ z[kept, ]))), tolerance = 1e-8)
})

test_that("a fit holds no function, no environment, and says that it rests on trusted code", {
  secret <- "CANARY in the environment"
  loss <- loss_user(function(eta, y) {
    secret
    tanh(eta - y)
  }, bound = 1)
  fit <- run_user(loss)
  kinds <- function(v) c(typeof(v), if (is.list(v)) unlist(lapply(unclass(v), kinds)),
                         unlist(lapply(attributes(v), kinds)))
  expect_false(any(c("closure", "environment", "language", "externalptr") %in% kinds(unclass(fit))))
  expect_false(leaks(fit, "CANARY"))
  expect_identical(fit$loss, "user")
  expect_output(print(fit), "trusted code")
  expect_output(print(summary(fit)), "trusted code")
  expect_length(predict(fit, m[1:2, ]), 2)
})

test_that("a bounded derivative clips covariates, one without bound the gradient", {
  bounded <- run_user(loss_user(logcosh, bound = 1))
  # one level for all stages, that of the covariates
  expect_identical(length(unique(bounded$bound)), 1L)
  free <- run_user(loss_user(logcosh))
  expect_gt(length(unique(free$bound)), 1L)
  events <- as.data.frame(privacy(bounded))
  expect_identical(events$count[grepl("sizes", events$what)], 1)
})

test_that("a record whose length under a root is not a number adds zero and stops nothing", {
  set.seed(446)
  x <- matrix(stats::rnorm(4000), 2000)
  x[, 2] <- 0.95 * x[, 1] + 0.1 * x[, 2]
  y <- x[, 1] + stats::rnorm(2000)
  x[1, ] <- 1.7e308
  for (bound in list(NULL, 1)) {
    fit <- quiet(dp_sco(x, y, 2, 1e-6, loss = loss_user(logcosh, bound = bound)))
    expect_true(all(is.finite(coef(fit))))
  }
})

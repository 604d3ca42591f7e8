# The scan of test-leaks.R over every class of fit and mechanism, and over the tricks by which data
# get into calls and environments.

# Everything an object can show: print, summary, plan, str, deparse, its environments in a file.
mechanism_text <- function(fit) {
  c(capture.output(print(fit)), capture.output(print(summary(fit))),
    capture.output(print(privacy(fit))), capture.output(str(unclass(fit))), deparse(unclass(fit)))
}

regressions <- function(formula, binary, matrix, y) {
  k <- dp_control(rng = "R")
  paper <- dp_control("paper", rng = "R", iterations = 3)
  list(
    glm = function(z) dp_glm(binary, z, 4, del, control = k),
    lm_robust = function(z) dp_lm(formula, z, 4, del, loss = "huber", control = k),
    lasso = function(z) dp_lasso(formula, z, 4, del, radius = 1, control = k),
    lasso_pure = function(z) dp_lasso(formula, z, 4, 0, radius = 1, control = k),
    lasso_matrix = function(z) dp_lasso(matrix(z), y(z), 4, del, radius = 1, refit = FALSE,
                                        control = k),
    sparse = function(z) dp_sparse(formula, z, 4, del, sparsity = 1, control = k),
    sparse_open = function(z) dp_sparse(matrix(z), y(z), 4, del, control = k),
    iht = function(z) dp_sparse(formula, z, 4, 0, sparsity = 1, solver = "iht", control = k),
    sco = function(z) dp_sco(formula, z, 4, del, gradient = grad_catoni(), control = k),
    sco_split = function(z) dp_sco(formula, z, 4, del, gradient = grad_mom(groups = 3),
                                   control = dp_control(rng = "R", batches = "split")),
    walk = function(z) dp_sco(formula, z, 4, del, constraint = l1_ball(1), control = k),
    corners = function(z) dp_sco(matrix(z), y(z), 4, 0, control = k,
                                 constraint = polytope(rbind(diag(2), -diag(2)))),
    hard = function(z) dp_sco(formula, z, 4, del, constraint = sparse_vectors(1), control = k),
    user = function(z) {
      secret <- z$x1
      dp_sco(formula, z, 4, del, control = k,
             loss = loss_user(function(eta, y) eta - y, function(eta, y) (eta - y)^2 / 2))
    },
    paper = function(z) dp_sco(matrix(z), y(z), 4, del, gradient = grad_shrunken(),
                               moment = moment_bound(4, 9), constraint = l1_ball(1),
                               intercept = FALSE, control = paper)
  )
}

means <- list(
  truncated = function(z) dp_mean(z["x1"], 4, method = "truncated", bound = 9,
                                  control = repeatable),
  groups = function(z) dp_mean(z$y, 4, method = "median_of_means", bound = 9,
                               control = repeatable),
  catoni = function(z) dp_mean(as.matrix(z[c("x1", "y")]), 4, del, method = "catoni",
                               moment = moment_bound(2, 9), control = repeatable),
  sparse = function(z) dp_mean(z[c("x1", "x2", "y")], 4, del, sparsity = 2, control = repeatable),
  sparse_pure = function(z) dp_mean(as.matrix(z[c("x1", "y")]), 4, sparsity = 1, method = "catoni",
                                    bound = 9, control = repeatable),
  var = function(z) dp_var(z$y, 4, control = repeatable),
  tail_index = function(z) dp_tail_index(z["x1"], 4, control = repeatable),
  shortfall = function(z) dp_shortfall(z$y, 0.9, 4, control = repeatable),
  quantiles = function(z) dp_quantile(z$y, c(0.001, 0.5, 0.999), 4, control = repeatable)
)

# Several calls, and what is learnt from new rows.
others <- list(
  tune = function(z) {
    secret <- z$x1
    dp_tune(alist(short = dp_lm(y ~ x1, epsilon = 2, delta = 1e-6),
                  long = dp_lm(y ~ x1 + f, epsilon = 2, delta = 1e-6)),
            data = z, epsilon = 2, control = repeatable)
  },
  residuals = function(z) {
    fit <- dp_lm(y ~ x1 + f, big, 4, del, control = repeatable)
    dp_residuals(fit, z, epsilon = 2, control = repeatable)
  },
  calibration = function(z) {
    fit <- dp_glm(b ~ x1, big, 4, del, control = repeatable)
    dp_residuals(fit, z["x1"], z$b, epsilon = 2, control = repeatable)
  },
  updated = function(z) {
    fit <- dp_lm(y ~ x1 + f, big, 4, del, control = repeatable)
    suppressMessages(update(fit, data = z, epsilon = 4, delta = del))
  }
)

fronts <- c(regressions(y ~ x1 + f, b ~ x1 + x2, function(z) as.matrix(z[c("x1", "x2")]),
                        function(z) z$y), means, others)

test_that("no class of fit holds or shows a value, a text or a row name", {
  z <- canary_data()
  set.seed(701)
  for (name in names(fronts)) {
    fit <- NULL
    said <- conditions_of(fit <- fronts[[name]](z))
    expect_s3_class(fit, "dp_fit")
    expect_no_match(c(said, ""), CANARY_DIGITS)
    expect_no_leak(fit)
    expect_no_match(deparse(unclass(fit)), CANARY_DIGITS)
    # what is made of a fit later
    for (make in list(tidy_of, error_bound, vcov, confint, formula, function(x) update(x))) {
      said <- conditions_of(made <- tryCatch(make(fit), dp_error = identity))
      expect_no_match(c(said, ""), CANARY_DIGITS)
      expect_no_match(capture.output(print(made)), CANARY_DIGITS)
      for (canary in CANARY_NUMBERS) expect_false(leaks(unclass(made), canary))
    }
  }
})

test_that("a fit is a few kilobytes, and no longer for more rows", {
  z <- canary_data()
  twice <- rbind(z, z)
  size <- function(fit) length(serialize(fit, NULL))
  set.seed(702)
  for (name in names(fronts)) {
    one <- quiet(fronts[[name]](z))
    expect_lt(size(one), 5e4)
    # numbers of steps and rounds are those of the plan
    expect_lt(size(quiet(fronts[[name]](twice))), 1.5 * size(one) + 2e3)
  }
})

test_that("a fit without noise and one on few rows are as silent", {
  z <- canary_data()
  expect_clean(dp_glm(b ~ x1 + f, z, Inf))
  expect_clean(dp_lasso(y ~ x1 + f, z, Inf, radius = 1))
  expect_clean(dp_sparse(y ~ x1 + f, z, Inf, sparsity = 1))
  expect_clean(dp_sco(y ~ x1, z, Inf, gradient = grad_catoni(5)))
  expect_clean(dp_mean(z[c("x1", "x2", "y")], Inf, sparsity = 2))
  few <- z[1:20, ]
  expect_clean(dp_glm(b ~ x1, few, eps, del))
  expect_clean(dp_lasso(y ~ x1, few, eps, del, radius = 1))
  expect_clean(dp_sparse(y ~ x1, few, eps, del, sparsity = 1))
  expect_clean(dp_mean(few[c("x1", "y")], eps, del, sparsity = 1))
})

test_that("do.call, Map, local(), functions and quoted data leave nothing behind", {
  z <- canary_data()
  keep <- z$x2 > -0.9
  m <- as.matrix(z[1:2])
  more <- list(control = repeatable)
  set.seed(703)
  expect_clean(do.call(dp_glm, c(list(b ~ x1, z, 4, del, subset = keep), more)))
  expect_clean(do.call(dp_lasso, c(list(m, z$y, 4, del, radius = 1, offset = z$b), more)))
  expect_clean(do.call("dp_sparse", c(list(m, z$y, 4, del, sparsity = 1), more)))
  expect_clean(do.call(dp_sco, c(list(y ~ x1, z, 4, del, constraint = l1_ball(1)), more)))
  expect_clean(do.call(dp_mean, c(list(m, 4, del, sparsity = 1), more)))
  expect_clean(Map(function(v, e) dp_lasso(v, z$y, e, del, radius = 1), list(m), 4)[[1L]])
  expect_clean(mapply(dp_sparse, list(m), list(z$y), MoreArgs = list(4, del, sparsity = 1),
                      SIMPLIFY = FALSE)[[1L]])
  expect_clean(lapply(list(y ~ x1), dp_sco, data = z, epsilon = 4, delta = del)[[1L]])
  expect_clean(local({
    secret <- z$x1
    dp_sparse(y ~ x1 + x2, z, 4, del, sparsity = 1)
  }))
  # data inlined into the call itself, and a promise that holds them
  expect_clean(eval(substitute(dp_lasso(data, answer, 4, del, radius = 1),
                               list(data = m, answer = z$y))))
  expect_clean(eval(bquote(dp_sco(.(y ~ x1), .(z), 4, .(del), subset = .(keep)))))
  through <- function(data, ...) dp_sparse(y ~ x1 + x2, data, 4, del, sparsity = 1, ...)
  expect_clean(through(z, subset = keep))
  made <- function(data) {
    half <- function(v) v / 2
    limit <- 2
    dp_glm(b ~ half(x1) + I(x2 > limit), data, 4, del)
  }
  expect_clean(made(z))
  expect_error(dp_lasso(stats::as.formula(call("~", z$y, quote(x1))), z, 4, del, radius = 1),
               class = "dp_error")
  # a formula whose environment holds the data
  fo <- local({
    copy <- z
    y ~ x1 + x2
  })
  expect_clean(dp_sparse(fo, z, 4, del, sparsity = 1))
})

test_that("mechanisms hold what was released and not what it was made from", {
  v <- c(a = CANARY_NUMBERS[[1L]], b = CANARY_NUMBERS[[2L]], c = CANARY_NUMBERS[[3L]])
  set.seed(704)
  objects <- list(
    dp_gaussian(v, 1, 1, del), dp_laplace(v, 1, 1), dp_noisy_max(v, 1, 1),
    dp_noisy_max(v, 1, 1, mechanism = "permute_and_flip"), dp_peel(v, 2, 1, 1, del),
    dp_peel(v, 2, 1, 1, 0), dp_peel(v, 2, 1, 1, del, calibration = "paper"),
    do.call(dp_peel, list(v, 1, 1, 1, del)), do.call(dp_gaussian, list(v, 1, 1, del))
  )
  for (object in objects) {
    for (canary in CANARY_NUMBERS) expect_false(leaks(object, canary))
    expect_no_match(mechanism_text(object), "12345[.]678901|98765[.]4321|4321[.]98765")
    expect_lt(length(serialize(object, NULL)), 2e4)
  }
})

test_that("ledgers, plans of budgets and audits hold no data", {
  z <- canary_data()
  b <- privacy_budget(10, 1e-5)
  quiet({
    dp_sparse(y ~ x1, z, 2, 1e-6, sparsity = 1, budget = b)
    dp_mean(z[c("x1", "y")], 2, 1e-6, sparsity = 1, budget = b)
    do.call(dp_lasso, list(y ~ x1, z, 2, 1e-6, radius = 1, budget = b))
  })
  try(do.call(dp_sco, list(y ~ x1, z, 20, 1e-6, budget = b)), silent = TRUE)
  for (object in list(b, as.data.frame(b), summary(b))) {
    for (canary in CANARY_NUMBERS) expect_false(leaks(object, canary))
    expect_false(leaks(object, CANARY_TEXT))
  }
  expect_no_match(c(capture.output(print(b)), capture.output(print(summary(b)))), CANARY_DIGITS)
})

test_that("past the curator's checks neighbours hear and see the same text", {
  set.seed(705)
  base <- canary_data()
  others <- list(
    transform(base, x1 = replace(x1, 9, 1e300), y = replace(y, 9, -1e300)),
    transform(base, x1 = replace(x1, 9, Inf)),
    transform(base, x1 = replace(x1, 9, 0), y = replace(y, 9, 0))
  )
  # numbers are noise; the words around them are not
  words <- function(fit) {
    gsub("[-+]?[0-9.]+(e[-+]?[0-9]+)?", "#", c(names(fit), names(coef(fit)), names(privacy(fit)),
                                               capture.output(print(privacy(fit)))))
  }
  for (name in setdiff(names(fronts), c("user", "tune", "updated"))) {
    said <- function(z) {
      fit <- NULL
      text <- public_conditions(fit <- fronts[[name]](z))
      list(text, words(fit), class(fit), privacy(fit))
    }
    first <- said(base)
    for (z in others) expect_identical(said(z), first)
  }
})

test_that("refusals of every front name no value, row or label", {
  z <- canary_data()
  z$k <- factor("CANARY level")
  z$t <- "CANARY text"
  bad <- replace(z$y, 9, NA)
  fits <- list(
    function(...) dp_glm(..., epsilon = 1, delta = del),
    function(...) dp_lasso(..., epsilon = 1, delta = del, radius = 1),
    function(...) dp_sparse(..., epsilon = 1, delta = del, sparsity = 1),
    function(...) dp_sco(..., epsilon = 1, delta = del, constraint = l1_ball(1))
  )
  for (fit in fits) {
    calls <- list(
      function() fit(y ~ k, z), function() fit(y ~ t, z), function() fit(y ~ scale(x1), z),
      function() fit(y ~ nothing, z), function() fit(y ~ x1, z, subset = y),
      function() fit(z$x1, bad), function() fit(z[c("x1", "t")], z$y),
      function() do.call(fit, list(y ~ x1, z, weights = z$b)),
      function() do.call(fit, list(y ~ x1, z, control = z$x1)),
      function() do.call(fit, list(y ~ x1, z, budget = z)),
      function() do.call(fit, list(z$x1, z$y, scale = z$x1)),
      function() do.call(fit, list(z$x1, z$y, loss = z$x1)),
      function() do.call(fit, list(z$x1, z$y, constraint = z)),
      function() do.call(dp_mean, list(z[c("x1", "t")], 1, sparsity = 1)),
      function() do.call(dp_mean, list(z["x1"], 1, sparsity = z$x1)),
      function() do.call(dp_lasso, list(z$x1, z$y, 1, del, radius = z$x1))
    )
    for (call in calls) {
      error <- tryCatch(quiet(call()), error = identity)
      expect_s3_class(error, "error")
      expect_no_match(conditionMessage(error), CANARY_DIGITS)
      expect_false(leaks(unclass(error), CANARY_TEXT))
      for (canary in CANARY_NUMBERS) expect_false(leaks(unclass(error), canary))
    }
  }
})

# Iterative hard thresholding: the order of what it books, extreme data, batches, interrupts, an
# audit, and what a fit says of its noise.

edge_data <- function(n = 2003, p = 6, seed = 661) {
  set.seed(seed)
  x <- matrix(stats::rt(n * p, 3) / sqrt(3), n, p, dimnames = list(NULL, paste0("v", seq_len(p))))
  list(x = x, y = drop(x[, 1:2] %*% c(1, -0.7)) + stats::rt(n, 3) / 2)
}

unit_scale <- list(center = 0, scale = 1)
units <- list(x = unit_scale, y = unit_scale)

thresholded <- function(x, y, epsilon = 4, delta = 1e-6, ..., s = 2,
                        control = dp_control(rng = "R")) {
  dp_sco(x, y, epsilon, delta, constraint = sparse_vectors(s, 1e3), ..., control = control)
}

# Runs `expr` and notes what the named functions of the package were called with.
noted <- function(names, expr, exit = FALSE) {
  seen <- list()
  home <- asNamespace("dpheavy")
  on.exit(suppressMessages(for (name in names) untrace(name, where = home)))
  for (name in names) {
    note <- local({
      own <- name
      function(value) seen[[length(seen) + 1L]] <<- list(name = own, value = value)
    })
    spy <- as.call(list(note, if (exit) quote(returnValue()) else quote(as.list(environment()))))
    suppressMessages(if (exit) {
      trace(name, exit = spy, where = home, print = FALSE)
    } else {
      trace(name, tracer = spy, where = home, print = FALSE)
    })
  }
  force(expr)
  seen
}

test_that("delta holds for releases in the order in which they are made", {
  known <- list(center = rep(0, 7), scale = rep(1, 7))
  spec <- lm_spec(4, 1e-4, loss_squared(), grad_winsorized(1), sparse_vectors(1), NULL, NULL,
                  dp_control(iterations = 3), "dp_sco")
  plan <- plan_iht(2000, 6, spec, known, TRUE)
  laws <- iht_laws(plan)
  z <- edge_data()
  made <- noted(c("select_top", "release_vector"), quiet(thresholded(
    z$x, z$y, delta = 1e-4, s = 1, gradient = grad_winsorized(1), scale = units,
    control = dp_control(rng = "R", iterations = 3)
  )))
  order <- vapply(made, `[[`, "", "name")
  expect_identical(order, rep(c("select_top", "release_vector"), 3))
  events <- lapply(order, function(name) {
    if (name == "select_top") {
      exponential_event(plan$cost[["choice"]], 1, 2, 1, name)
    } else {
      gaussian_event(plan$cost[["values"]], 1, 2, 1, name)
    }
  })
  delta <- total_delta(compose_events(events, ordered = TRUE), 4)
  expect_lte(delta, 1e-4)
  expect_gt(delta, 0.99e-4)
})

test_that("whatever the data hold, nothing is raised after the charge and all is finite", {
  set.seed(662)
  n <- 300
  wild <- c(0, 1e308, -1e308, Inf, -Inf, 1e-308, 5e-324, 1e150, -1e100, 3)
  losses <- list(loss_squared(), loss_huber(), loss_biweight(), loss_logistic(),
                 loss_user(function(e, y) e - y),
                 loss_user(function(e, y) tanh(e - y), bound = 1, curvature = 1e30))
  gradients <- list(grad_winsorized(), grad_winsorized(1e-50), grad_truncated(), grad_catoni(),
                    grad_catoni(1e50, beta = 1), grad_shrunken(2))
  for (loss in losses) for (g in gradients) {
    if (g$name == "shrunken" && loss$name == "user") next
    batches <- sample(c("full", "split"), 1)
    delta <- sample(c(0, 1e-6, 1e-6), 1)
    x <- matrix(sample(wild, 5 * n, TRUE), n)
    y <- if (loss$name == "logistic") sample(0:1, n, TRUE) else sample(wild, n, TRUE)
    control <- dp_control(rng = "R", batches = batches, iterations = 2)
    fit <- quiet(thresholded(x, y, delta = delta, loss = loss, gradient = g,
                             intercept = stats::runif(1) < 0.5, control = control))
    expect_true(all(is.finite(coef(fit))))
  }
})

test_that("iterates stay in their ball, without overflow", {
  expect_identical(into_radius(c(3, 0, -4), 10), c(3, 0, -4))
  expect_equal(into_radius(c(3, 0, -4), 1), c(0.6, 0, -0.8))
  expect_equal(into_radius(c(3e200, 0, -4e200), 5), c(3, 0, -4))
  expect_equal(into_radius(c(3e-200, 0, -4e-200), 5e-201), c(3, 0, -4) * 1e-201)
  expect_identical(into_radius(numeric(3), 1), numeric(3))
})

test_that("batches of unequal sizes are disjoint, all rows are read, each scaled by its own size", {
  z <- edge_data()
  for (iterations in c(4, 7)) {
    control <- dp_control(rng = "R", batches = "split", iterations = iterations)
    run <- function() quiet(thresholded(z$x, z$y, 8, gradient = grad_winsorized(1), scale = units,
                                        control = control))
    sums <- noted("fw_sums", run())
    index <- lapply(sums, function(f) f$value$view$index)
    expect_setequal(unlist(index), 0:2002)
    expect_identical(anyDuplicated(unlist(index)), 0L)
    expect_setequal(lengths(index), c(floor(2003 / iterations), ceiling(2003 / iterations)))
    unit <- vapply(noted("iht_scores", run(), exit = TRUE), function(f) f$value$unit, 0)
    expect_equal(unit * lengths(index) * IHT_LIMIT / IHT_STEP, rep(1, iterations))
  }
})

test_that("an interrupt in a round leaves nothing behind, and no noise comes twice", {
  z <- edge_data()
  count <- 0
  stops <- loss_user(function(eta, y) {
    if (length(y) > 1000) {
      count <<- count + 1
      if (count == 5) signalCondition(structure(class = c("interrupt", "condition"), list()))
    }
    eta - y
  })
  budget <- privacy_budget(20, 1e-5)
  values <- lapply(1:2, function(i) {
    count <<- 0
    noted("release_vector", {
      stopped <- tryCatch(quiet(thresholded(z$x, z$y, loss = stops, budget = budget,
                                            control = dp_control())), interrupt = identity)
      expect_s3_class(stopped, "interrupt")
    }, exit = TRUE)
  })
  values <- lapply(unlist(values, recursive = FALSE), `[[`, "value")
  expect_gt(length(values), 2L)
  expect_identical(anyDuplicated(values), 0L)
  # what was charged stays charged
  expect_identical(nrow(as.data.frame(budget)), 2L)
  expect_identical(.Call(C_core_live), 0)
})

test_that("missing values are refused or left out, infinite ones are as good as any", {
  z <- edge_data()
  x <- z$x
  x[3, 4] <- NaN
  expect_error(quiet(thresholded(x, z$y)), class = "dp_error_missing")
  set.seed(663)
  fit <- quiet(thresholded(x, z$y, 8, na.action = na.omit))
  expect_setequal(fit$selected, c("v1", "v2"))
  x[3, 4] <- Inf
  fit <- quiet(thresholded(x, z$y, 8))
  expect_setequal(fit$selected, c("v1", "v2"))
})

test_that("a loss of the user's is fitted", {
  z <- edge_data(8000)
  truth <- c(1, -0.7, 0, 0, 0, 0)
  set.seed(664)
  for (loss in list(loss_user(function(e, y) tanh(e - y), bound = 1),
                    loss_user(function(e, y) e - y), "huber", "biweight")) {
    fit <- quiet(thresholded(z$x, z$y, 4, loss = loss, intercept = FALSE))
    expect_lt(sum((coef(fit) - truth)^2), 0.03)
  }
})

test_that("few rows and many columns: finite numbers and a warning", {
  set.seed(665)
  x <- matrix(stats::rnorm(71 * 4088), 71)
  y <- x[, 1] + stats::rnorm(71)
  expect_warning(
    expect_warning(
      fit <- dp_sparse(x, y, 1, 1e-3, sparsity = 5, solver = "iht", scale = units,
                       control = repeatable),
      class = "dp_small_n"
    ),
    "dominated by noise: n = 71 is too small for epsilon = 1", class = "dp_dominated"
  )
  expect_true(all(is.finite(coef(fit))))
  expect_lte(length(fit$selected), 5L)
  expect_gt(fit$noise, 0)
  expect_match(paste(utils::capture.output(fit), collapse = "\n"), "itself noisy")
})

test_that("the noise that a fit names is that of its slopes", {
  skip_on_cran()
  n <- 4000
  set.seed(666)
  ratio <- function(...) {
    got <- vapply(1:12, function(i) {
      x <- matrix(stats::rnorm(4 * n), n)
      fit <- quiet(thresholded(x, stats::rnorm(n), s = 4, intercept = FALSE, ...))
      size <- coef(fit) * fit$scale[1:4] / fit$scale[[5L]]
      c(mean(size^2) - 1 / n, fit$noise)
    }, c(0, 0))
    sqrt(max(mean(got[1L, ]), 0)) / mean(got[2L, ])
  }
  control <- dp_control(rng = "R", batches = "split")
  for (r in c(ratio(0.5), ratio(0.5, control = control), ratio(1, 0))) {
    expect_gt(r, 0.4)
    expect_lt(r, 2.5)
  }
  expect_identical(quiet(thresholded(x = matrix(stats::rnorm(400), 100), y = stats::rnorm(100),
                                     epsilon = Inf))$noise, 0)
})

test_that("an audit of split batches finds nothing, and one of a false claim does", {
  skip_on_cran()
  fit_of <- function(epsilon, iterations = NULL) {
    function(x) {
      # the audited record is the response of one row
      quiet(dp_sparse(matrix(1e6, 200), drop(x), epsilon, 1e-5, sparsity = 1, solver = "iht",
                      scale = units, intercept = FALSE, gradient = grad_winsorized(1),
                      control = dp_control(rng = "R", batches = "split", iterations = iterations)))
    }
  }
  y <- matrix(0, 200)
  low <- replace(y, 7, -1e9)
  high <- replace(y, 7, 1e9)
  set.seed(667)
  audit <- dp_audit(fit_of(4), low, high, n = 80, synthetic = TRUE, level = 1 - alarm)
  expect_false(audit$violated)
  expect_identical(audit$claim$epsilon, 4)
  set.seed(668)
  audit <- dp_audit(fit_of(4000, 1), low, high, n = 120, synthetic = TRUE, level = 1 - alarm,
                    claim = c(mu = 1))
  expect_true(audit$violated)
})

# What a fit spends, worked out from the integers that reach C and from nothing that the
# plan says, is what its events book.

# mu (Gaussian) or epsilon0 of a release whose integers move by `l2` or `l1`.
cost_of <- function(noise, l2, l1) {
  if (noise[[1L]] == 2) c(mu2 = (l2 / 2^noise[[2L]])^2, pure = 0) else
    c(mu2 = 0, pure = l1 / 2^noise[[2L]])
}

# A replaced record leaves one cell of a column and enters another.
cost_of_cells <- function(f) {
  columns <- length(f$rows$which)
  cost_of(f$law$noise, f$law$unit * sqrt(2 * columns), f$law$unit * 2 * columns)
}

# How far the vectors below move, in the caller's units.
moves <- list(l2 = 3, l1 = 3, sup = 3)

costs <- list(
  release_octaves = cost_of_cells,
  release_equal_cells = cost_of_cells,
  release_sizes = function(f) cost_of(f$law$noise, f$law$unit * sqrt(2), f$law$unit * 2),
  release_complete = function(f) {
    cost_of(f$law$noise, f$law$unit * sqrt(ncol(f$rows$x)), f$law$unit * ncol(f$rows$x))
  },
  release_sums = function(f) {
    d <- ncol(f$rows$x)
    cost_of(f$law$noise, 2 * f$law$limit * sqrt(d), 2 * f$law$limit * d)
  },
  release_moments = function(f) {
    m <- ncol(f$rows$x) + f$rows$intercept + !is.null(f$rows$y)
    cost_of(f$law$noise, sqrt(2) * (f$bound / f$law$step + sqrt(m) / 2)^2, Inf)
  },
  release_weighted_moments = function(f) {
    k <- nrow(f$root)
    cost_of(f$law$noise, sqrt(2) * (f$bound / f$law$step + sqrt(k) / 2)^2, Inf)
  },
  release_descent = function(f) {
    k <- length(f$w)
    size <- if (is.null(f$plan$root)) 1 else l2(f$plan$root)
    move <- 2 * (f$plan$bound / f$plan$step + (size + 1) * sqrt(k) / 2)
    f$plan$iterations * cost_of(f$plan$noise, move, Inf)
  },
  release_coordinates = function(f) {
    k <- ncol(f$rows$x) + f$rows$intercept
    cost_of(f$law$noise, f$law$unit * sqrt(2) * k, f$law$unit * 2 * k)
  },
  release_gradient = function(f) {
    k <- length(f$w)
    # exact sums, which a choice and noise follow
    if (f$plan$noise[[1L]] == 0) return(c(mu2 = 0, pure = 0))
    if (f$plan$estimator %in% c("clipped", "covariate")) {
      size <- if (is.null(f$plan$root)) 1 else l2(f$plan$root)
      return(cost_of(f$plan$noise, 2 * (f$plan$bound / f$plan$step + (size + 1) * sqrt(k) / 2),
                     Inf))
    }
    cost_of(f$plan$noise, 2 * f$plan$limit * sqrt(k), 2 * f$plan$limit * k)
  },
  release_vector = function(f) {
    d <- length(f$value)
    step <- f$law$multiplier[[1L]] * 2^-f$law$multiplier[[2L]]
    cost_of(f$law$noise, moves$l2 * step + sqrt(d), moves$l1 * step + d)
  },
  select_top = function(f) {
    step <- f$law$multiplier[[1L]] * 2^-f$law$multiplier[[2L]]
    c(mu2 = 0, pure = f$s * 2 * (moves$sup * step + 1) / 2^f$law$bits)
  },
  release_quantiles = function(f) c(mu2 = 0, pure = length(f$probs) * (2 * f$c + 2^-30))
)

# What releases from views of the rows cost together: disjoint ones what the costliest costs.
views_cost <- function(views) {
  if (length(views) == 0L) {
    return(c(mu2 = 0, pure = 0))
  }
  cost <- do.call(rbind, lapply(views, `[[`, "cost"))
  if (anyDuplicated(unlist(lapply(views, `[[`, "index")))) {
    colSums(cost)
  } else {
    apply(cost, 2L, max)
  }
}

# The sums of mu^2 and of epsilon0 of all releases while `expr` runs; attribute "last": the mu^2 of
# those after the last selection, for the accountant credits Gaussians that come last.
spending <- function(expr) {
  total <- c(mu2 = 0, pure = 0)
  last <- 0
  views <- list()
  note <- function(name, frame) {
    cost <- costs[[name]](frame)
    last <<- if (name %in% c("select_top", "release_quantiles")) 0 else last + cost[["mu2"]]
    index <- if (name == "release_gradient") frame$plan$index
    if (is.null(index)) {
      total <<- total + cost
    } else {
      views <<- c(views, list(list(index = index, cost = cost)))
    }
  }
  tracing(names(costs), note, expr)
  structure(total + views_cost(views), last = if (length(views) == 0L) last)
}

expect_booked <- function(call) {
  fit <- NULL
  spent <- spending(fit <- quiet(call()))
  booked <- compose_events(privacy(fit)$events)
  booked <- c(mu2 = booked$mu2, pure = booked$pure)
  expect_gt(sum(booked), 0)
  # grids round down by little
  last <- attr(spent, "last")
  spent <- c(spent)
  expect_true(all(spent <= booked * (1 + 1e-9)), label = toString(spent / booked))
  expect_true(all(spent >= 0.98 * booked), label = toString(spent / booked))
  # what is listed as coming last does
  events <- as.data.frame(privacy(fit))
  from <- max(which(events$mechanism == "exponential"), 0L)
  after <- events[seq_len(nrow(events)) > from & events$mechanism == "gaussian", ]
  if (!is.null(last)) expect_gte(last, 0.98 * sum(after$count * after$cost^2))
}

test_that("a mean spends what it books", {
  x <- as.matrix(big[c("x1", "x2", "y")])
  expect_booked(function() dp_mean(x[, 1L], 1))
  expect_booked(function() dp_mean(x[, 1L], 1, bound = c(-3, 3), na.rm = TRUE))
  expect_booked(function() dp_mean(x[, 1L], 1, bound = c(-3, 3), interval = TRUE))
  expect_booked(function() dp_mean(x, 1, 1e-6, na.rm = TRUE))
  expect_booked(function() dp_mean(x, 1, 1e-6, bound = 3, interval = TRUE, na.rm = TRUE))
  wide <- x[, rep(1:3, 10)]
  colnames(wide) <- NULL
  expect_booked(function() dp_mean(wide, 1, 1e-6))
})

test_that("quantiles spend what they book", {
  expect_booked(function() dp_quantile(big$x1, 0.5, 1))
  expect_booked(function() dp_quantile(big$x1, c(0.2, 0.5, 0.8), 1, bound = c(-9, 9)))
  expect_booked(function() dp_quantile(big$x1, 1:99 / 100, 1, 1e-6, bound = c(-9, 9)))
})

test_that("tails, variances and shortfalls spend what they book", {
  x <- as.matrix(big[c("x1", "x2", "y")])
  wide <- x[, rep(1:3, 6)]
  colnames(wide) <- NULL
  light <- function(call) function() suppressWarnings(call(), classes = "dp_heavy_tail")
  for (probs in list(c(0.001, 0.5, 0.999), 1:199 / 200)) for (delta in c(0, 1e-6)) {
    expect_booked(function() dp_quantile(big$x1, probs, 1, delta))
  }
  expect_booked(function() dp_tail_index(x[, 1L], 1))
  expect_booked(function() dp_tail_index(x, 3, 1e-6, center = 0, tail = "both", na.rm = TRUE))
  expect_booked(light(function() dp_var(x[, 1L], 1)))
  expect_booked(light(function() dp_var(x, 2, 1e-6, na.rm = TRUE)))
  # Gaussian noise
  expect_identical(plan_tail_index(4000, 18, 4, 1e-6, FALSE, NULL)$kind, "gaussian")
  expect_booked(function() dp_tail_index(wide, 4, 1e-6))
  expect_booked(light(function() dp_var(wide, 4, 1e-6, na.rm = TRUE)))
  expect_booked(function() dp_var(wide, 1, 1e-6, bound = 3))
  for (level in c(0.9, 0.999)) {
    expect_booked(light(function() dp_shortfall(big$y, level, 1)))
    expect_booked(light(function() dp_shortfall(big$y, level, 1, na.rm = TRUE, tail = "lower")))
  }
  expect_booked(function() dp_shortfall(big$y, 0.9, 1, bound = 9))
})

test_that("a regression spends what it books", {
  x <- as.matrix(big[c("x1", "x2")])
  known <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
  expect_booked(function() dp_lm(x, big$y, 2, 1e-6))
  expect_booked(function() dp_lm(x, big$y, 2, 1e-6, intercept = FALSE))
  expect_booked(function() dp_lm(x, big$y, 2, 1e-6, scale = known["y"]))
  expect_booked(function() dp_lm(x, big$y, 2, 1e-6, scale = known))
  expect_booked(function() dp_lm(x, big$y, 2, 1e-6, gradient = grad_clipped(2)))
  expect_booked(function() dp_lm(x, big$y, 2, 1e-6, control = dp_control(iterations = 2000)))
  expect_booked(function() dp_lm(x, big$y, 2, 1e-6, target = "robust"))
  expect_booked(function() dp_lm(x, big$y, 2, 1e-6, target = "robust", scale = known))
})

test_that("mechanisms spend what they book", {
  v <- c(40, 3, -90, 7, 0)
  expect_booked(function() dp_laplace(v, 3, 1))
  expect_booked(function() dp_gaussian(v, 3, 1, 1e-6))
  for (how in c("exponential", "permute_and_flip")) {
    expect_booked(function() dp_noisy_max(v, 3, 1, mechanism = how))
  }
  s <- 4
  old <- moves
  on.exit(moves <<- old)
  # the values of s entries, each of which moves by 3
  moves <<- list(l2 = 3 * sqrt(s), l1 = 3 * s, sup = 3)
  expect_booked(function() dp_peel(v, s, 3, 1, 1e-6))
  expect_booked(function() dp_peel(v, s, 3, 1, 1e-6, calibration = "paper"))
  expect_booked(function() dp_peel(v, s, 3, 1, 0))
})

test_that("a logistic regression spends what it books", {
  x <- as.matrix(big[c("x1", "x2")])
  known <- list(x = list(center = 0, scale = 1))
  expect_booked(function() dp_glm(x, big$x1 > 0, 2, 1e-6))
  expect_booked(function() dp_glm(x, big$x1 > 0, 2, 1e-6, intercept = FALSE))
  expect_booked(function() dp_glm(x, big$x1 > 0, 2, 1e-6, scale = known))
  expect_booked(function() dp_glm(x, big$x1 > 0, 2, 1e-6, gradient = grad_clipped(2)))
})

test_that("a robust regression spends what it books", {
  x <- as.matrix(big[c("x1", "x2")])
  for (loss in list(loss_huber(), loss_biweight(sigma = 1))) {
    expect_booked(function() dp_lm(x, big$y, 2, 1e-6, loss = loss))
    expect_booked(function() dp_lm(x, big$y, 2, 1e-6, loss = loss, gradient = grad_clipped(2)))
    expect_booked(function() dp_lm(x, big$y, 2, 1e-6, loss = loss, target = "mean"))
  }
})

test_that("views that share a row are all charged", {
  views <- list(list(index = 0:4, cost = c(mu2 = 1, pure = 0)),
                list(index = 5:9, cost = c(mu2 = 2, pure = 0)))
  expect_identical(views_cost(views), c(mu2 = 2, pure = 0))
  views[[2L]]$index <- 4:9
  expect_identical(views_cost(views), c(mu2 = 3, pure = 0))
})

booked_gradients <- list(
  grad_clipped(), grad_clipped(2), grad_winsorized(), grad_truncated(3), grad_catoni(),
  grad_catoni(2, beta = 1), grad_mom(groups = 3), grad_shrunken(3)
)

test_that("the general problem spends what it books, for every gradient, in one and many batches", {
  skip_on_cran()
  x <- as.matrix(big[c("x1", "x2")])
  for (gradient in booked_gradients) for (batches in c("full", "split")) {
    control <- dp_control(batches = batches)
    expect_booked(function() dp_sco(x, big$y, 4, 1e-6, gradient = gradient,
                                    constraint = l2_ball(3), control = control))
  }
  # batches of unequal sizes, few of them, or one
  for (iterations in c(7, 2, 1)) {
    control <- dp_control(batches = "split", iterations = iterations)
    expect_booked(function() dp_sco(x[-1L, ], big$y[-1L], 4, 1e-6, control = control,
                                    gradient = grad_winsorized()))
  }
  expect_booked(function() dp_lm(x, big$y, 4, 1e-6, penalty = ridge(0.1)))
})

test_that("other losses of the general problem spend what they book", {
  skip_on_cran()
  x <- as.matrix(big[c("x1", "x2")])
  user <- function(bound) loss_user(function(eta, y) tanh(eta - y), bound = bound)
  known <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
  for (gradient in list(grad_clipped(), grad_catoni(), grad_mom(1, 2), grad_clipped(3))) {
    for (loss in list(loss_huber(), loss_biweight(sigma = 1), user(NULL), user(1))) {
      expect_booked(function() dp_sco(x, big$y, 4, 1e-6, loss = loss, gradient = gradient,
                                      penalty = ridge(0.1)))
    }
    expect_booked(function() dp_sco(x, big$b, 4, 1e-6, loss = "logistic", gradient = gradient,
                                    penalty = ridge(0.1)))
    expect_booked(function() dp_sco(x, epsilon = 4, delta = 1e-6, loss = loss_mean(),
                                    gradient = gradient))
  }
  expect_booked(function() dp_sco(x, big$y, 4, 1e-6, gradient = grad_winsorized(),
                                  moment = moment_bound(2, 50), intercept = FALSE))
  expect_booked(function() dp_sco(x, big$y, 4, 1e-6, gradient = grad_catoni(), scale = known))
  expect_booked(function() dp_sco(x, big$b, 4, 1e-6, loss = loss_logistic(),
                                  gradient = grad_shrunken(), moment = moment_bound(4, 50)))
  expect_booked(function() dp_glm(x, big$b, 4, 1e-6, gradient = grad_winsorized(),
                                  control = dp_control(batches = "split")))
})

test_that("the other methods of a mean spend what they book", {
  x <- as.matrix(big[c("x1", "x2")])
  wide <- x[, rep(1:2, 15)]
  colnames(wide) <- NULL
  moment <- moment_bound(2, 20)
  for (method in ROBUST_MEANS) {
    expect_booked(function() dp_mean(x, 1, method = method, moment = moment))
    expect_booked(function() dp_mean(x, 1, method = method, bound = 4, na.rm = TRUE))
    expect_booked(function() dp_mean(wide, 1, 1e-6, method = method, moment = moment))
    expect_booked(function() dp_mean(wide, 1, 1e-6, method = method, moment = moment,
                                     na.rm = TRUE))
  }
  expect_booked(function() dp_mean(x, 1, method = "catoni", moment = moment, beta = 1))
  paper <- dp_control(calibration = "paper")
  for (method in c("truncated", "median_of_means")) {
    expect_booked(function() dp_mean(x, 1, 1e-6, method = method, moment = moment,
                                     control = paper))
  }
  for (beta in c(1, Inf)) {
    expect_booked(function() dp_mean(x, 1, method = "catoni", moment = moment, beta = beta,
                                     control = paper))
  }
})

test_that("the papers' calibration spends what it books", {
  x <- as.matrix(big[c("x1", "x2")])
  paper <- function(...) dp_control(calibration = "paper", ...)
  run <- function(...) {
    expect_booked(function() dp_sco(x, big$y, 1, 1e-6, gradient = grad_mom(), intercept = FALSE,
                                    moment = moment_bound(1.5, 50), constraint = l2_ball(3), ...))
  }
  run(control = paper(smoothness = 10, gradient_bound = 50))
  run(control = paper(smoothness = 10, gradient_bound = 50, iterations = 9))
  run(control = paper(smoothness = 10, strong_convexity = 5))
  run(control = paper(smoothness = 10, iterations = 7), penalty = ridge(1))
  expect_booked(function() dp_sco(x, epsilon = 1, delta = 1e-6, loss = loss_mean(),
                                  gradient = grad_mom(), moment = moment_bound(2, 50),
                                  constraint = l2_ball(3), control = paper()))
})

test_that("rounds of choices and fits spend what they book", {
  skip_on_cran()
  set.seed(261)
  x <- matrix(stats::rt(4000 * 6, 3), 4000)
  y <- x[, 1] + big$y
  old <- moves
  on.exit(moves <<- old)
  most <- 2 * min(floor(2^52 / 4000), 2^40)
  moves <<- list(l2 = most, l1 = most, sup = most)
  known <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
  for (scale in list(NULL, known, known["x"], known["y"])) {
    expect_booked(function() dp_sparse(x, y, 2, 1e-6, sparsity = 2, scale = scale))
    expect_booked(function() dp_lasso(x, y, 2, 1e-6, radius = 2, scale = scale))
  }
  expect_booked(function() dp_sparse(x, y, 2, 1e-6, sparsity = 2, intercept = FALSE))
  expect_booked(function() dp_sparse(x, y, 2, 1e-6, sparsity = 6))
  expect_booked(function() dp_sparse(x, y, 2, 1e-6, gradient = grad_catoni(2), sparsity = 1))
  for (loss in list(loss_huber(), loss_biweight(sigma = 1), loss_user(function(e, y) e - y))) {
    expect_booked(function() dp_sparse(x, y, 2, 1e-6, sparsity = 2, loss = loss))
  }
  expect_booked(function() dp_sparse(x, big$b, 2, 1e-6, sparsity = 2, loss = "logistic"))
  wide <- x[, rep(1:6, 50)]
  expect_booked(function() dp_sparse(wide, y, 2, 1e-6, sparsity = 3))
  expect_booked(function() dp_sparse(wide, y, 2, 1e-6, sparsity = 3, intercept = FALSE))
})

test_that("iterative hard thresholding spends what it books, in one and many batches", {
  skip_on_cran()
  set.seed(262)
  x <- matrix(stats::rt(4000 * 6, 3), 4000)
  y <- x[, 1] + big$y
  old <- moves
  on.exit(moves <<- old)
  known <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
  run <- function(s, ..., intercept = TRUE, delta = 1e-6, y. = y) {
    most <- 2 * IHT_LIMIT
    moves <<- list(l2 = most * sqrt(s + intercept), l1 = most * (s + intercept), sup = most)
    expect_booked(function() dp_sco(x, y., 4, delta, constraint = sparse_vectors(s, 2),
                                    intercept = intercept, ...))
  }
  for (s in c(1, 6)) for (delta in c(0, 1e-6)) run(s, delta = delta)
  run(2, scale = known)
  run(2, intercept = FALSE, loss = "huber")
  run(2, y. = big$b, loss = "logistic")
  run(2, gradient = grad_catoni(), moment = moment_bound(2, 20))
  run(2, gradient = grad_shrunken(3))
  # what one batch costs, for of several a record is in one
  run(2, control = dp_control(batches = "split", iterations = 1))
  paper <- dp_control("paper", smoothness = 1.5, strong_convexity = 1, iterations = 1)
  for (g in list(grad_truncated(), grad_catoni(beta = 1))) {
    run(2, gradient = g, moment = moment_bound(2, 20), intercept = FALSE, control = paper)
  }
  run(2, gradient = grad_shrunken(), moment = moment_bound(4, 20), intercept = FALSE,
      control = paper)
})

test_that("sparse means spend what they book", {
  skip_on_cran()
  set.seed(263)
  x <- matrix(stats::rt(4000 * 20, 3), 4000)
  old <- moves
  on.exit(moves <<- old)
  for (s in c(1, 4)) {
    most <- 2 * IHT_LIMIT
    moves <<- list(l2 = most * sqrt(s), l1 = most * s, sup = most)
    for (delta in c(0, 1e-6)) {
      expect_booked(function() dp_mean(x, 1, delta, sparsity = s))
      expect_booked(function() dp_mean(x, 1, delta, sparsity = s, method = "truncated", bound = 3))
    }
    expect_booked(function() dp_mean(x, 1, 1e-6, sparsity = s, method = "catoni", bound = 3,
                                     control = dp_control("paper")))
  }
})

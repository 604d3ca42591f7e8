# Iterative hard thresholding: the noiseless twin, scores, laws, sensitivity, published constants.

iht_data <- function(n = 3000, p = 10, seed = 651) {
  set.seed(seed)
  x <- matrix(stats::rt(n * p, 3) / sqrt(3), n, p, dimnames = list(NULL, paste0("v", seq_len(p))))
  list(x = x, y = drop(x[, 1:3] %*% c(1, -0.7, 0.5)) + stats::rt(n, 3) / 2)
}

every <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))

iht <- function(x, y, epsilon, ..., solver = "iht") {
  quiet(dp_sparse(x, y, epsilon, ..., solver = solver))
}

# Plain IHT: steps of one over the largest eigenvalue.
iht_twin <- function(x, y, s, step, radius = Inf) {
  w <- numeric(ncol(x))
  for (t in 1:20000) {
    v <- w + step * drop(crossprod(x, y - x %*% w)) / nrow(x)
    new <- replace(numeric(length(v)), order(-abs(v))[seq_len(s)], v[order(-abs(v))[seq_len(s)]])
    if (sum(new^2) > radius^2) new <- new * radius / sqrt(sum(new^2))
    if (max(abs(new - w)) < 1e-14) break
    w <- new
  }
  w
}

test_that("without noise it is plain iterative hard thresholding, and lm() on a strong signal", {
  z <- iht_data(400)
  L <- max(eigen(crossprod(z$x) / 400)$values)
  for (s in c(1, 3, 10)) {
    b <- coef(iht(z$x, z$y, Inf, sparsity = s, intercept = FALSE, scale = every))
    expect_equal(unname(b), iht_twin(z$x, z$y, s, 1 / (1.02 * L)), tolerance = 1e-8)
  }
  fit <- iht(z$x, z$y, Inf, sparsity = 3)
  expect_identical(fit$selected, c("v1", "v2", "v3"))
  expect_equal(unname(coef(fit)[1:4]), unname(coef(lm(z$y ~ z$x[, 1:3]))), tolerance = 1e-8)
  short <- dp_sco(z$x, z$y, Inf, constraint = sparse_vectors(3, 0.8), intercept = FALSE,
                  scale = every)
  expect_equal(unname(coef(short)), iht_twin(z$x, z$y, 3, 1 / (1.02 * L), 0.8), tolerance = 1e-8)
})

# All that a round draws from, for a data set.
state_of <- function(x, y, spec, columns = NULL) {
  p <- ncol(x)
  columns <- columns %||% list(center = rep(0, p + 1L), scale = rep(1, p + 1L))
  columns$found <- rep(TRUE, p + 1L)
  problem <- list(x = x, y = if (spec$loss$name == "logistic") pmin(pmax(y, 0), 1) else y)
  state <- coordinate_state(problem, list(n = nrow(x), intercept = TRUE), columns, spec)
  state$set <- list(kind = "sparse_vectors", norm = 1, s = 2, radius = spec$constraint$radius)
  state
}

test_that("a replaced record moves no score by more than is accounted for, and all are whole", {
  set.seed(652)
  z <- iht_data(60, 4)
  known <- list(center = rep(0, 5), scale = rep(1, 5))
  losses <- list(loss_squared(), loss_logistic(), loss_huber(sigma = 1), loss_biweight(sigma = 1))
  gradients <- list(grad_winsorized(0.7), grad_truncated(0.7), grad_catoni(0.7),
                    grad_catoni(0.7, 1), grad_shrunken(0.7), grad_clipped(0.7))
  for (loss in losses) for (g in gradients) {
    spec <- lm_spec(1, 1e-6, loss, g, sparse_vectors(2, 1), NULL, NULL, dp_control(), "dp_sco")
    plan <- plan_iht(60, 4, spec, known, TRUE)
    scores <- function(x, y, view = NULL) {
      state <- state_of(x, y, spec)
      rule <- fw_rule(state, 0.7, plan, fw_tuning(state))
      iht_scores(state, c(0.5, 0, -0.3, 0), 0.1, rule, plan$step, view)$u
    }
    for (view in list(NULL, list(index = c(4L, 10L, 59L)))) {
      base <- scores(z$x, z$y, view)
      expect_identical(base, round(base))
      expect_gt(diff(range(base)), 0)
      for (record in wild_records(4, 2L)) {
        x <- z$x
        y <- z$y
        # row 5 is the record of index 4
        x[5, ] <- record[1:4]
        y[[5]] <- record[[5]]
        expect_lte(max(abs(scores(x, y, view) - base)), 2 * plan$limit)
      }
    }
  }
})

test_that("scores stand for the coefficients after a step", {
  z <- iht_data(200, 4)
  spec <- lm_spec(1, 1e-6, loss_squared(), grad_winsorized(1e3), sparse_vectors(2), NULL, NULL,
                  dp_control(), "dp_sco")
  known <- list(center = rep(0, 5), scale = rep(1, 5))
  plan <- plan_iht(200, 4, spec, known, TRUE)
  state <- state_of(z$x, z$y, spec)
  b <- c(0.5, 0, -0.3, 0)
  at <- iht_scores(state, b, 0.1, fw_rule(state, 1e3, plan, NULL), 0.7)
  design <- cbind(1, z$x)
  w <- c(0.1, b)
  expect_equal(at$u * at$unit, w + 0.7 * drop(crossprod(design, z$y - design %*% w)) / 200,
               tolerance = 1e-3, ignore_attr = TRUE)
})

test_that("a round's choice and values follow their laws", {
  skip_on_cran()
  z <- iht_data(60, 4)
  spec <- lm_spec(3, 1e-6, loss_squared(), grad_winsorized(0.7), sparse_vectors(2), NULL, NULL,
                  dp_control(iterations = 1), "dp_sco")
  known <- list(center = rep(0, 5), scale = rep(1, 5))
  plan <- plan_iht(60, 4, spec, known, TRUE)
  laws <- iht_laws(plan)
  state <- state_of(z$x, z$y, spec)
  rule <- fw_rule(state, 0.7, plan, NULL)
  at <- iht_scores(state, numeric(4), 0, rule, plan$step)
  set.seed(653)
  runs <- replicate(3000, iht_round(state, numeric(4), 0, rule, laws, plan, NULL, repeatable),
                    simplify = FALSE)
  # ordered pairs: Plackett-Luce with weights exp(epsilon0 |u| / (2 sensitivity))
  weight <- exp((abs(at$u[-1L]) - max(abs(at$u))) * plan$cost[["choice"]] / (2 * 2 * plan$limit))
  pairs <- expand.grid(a = 1:4, b = 1:4)
  pairs <- pairs[pairs$a != pairs$b, ]
  pmf <- weight[pairs$a] / sum(weight) * weight[pairs$b] / (sum(weight) - weight[pairs$a])
  drawn <- vapply(runs, function(r) sum(r$chosen * c(10, 1)), 0)
  counts <- table(factor(drawn, pairs$a * 10 + pairs$b))
  expect_gt(stats::chisq.test(counts, p = pmf)$p.value, alarm)
  # values of the intercept: sd = 2 limit sqrt(3) / mu steps
  w0 <- vapply(runs, `[[`, 0, "w0") / at$unit - at$u[[1L]]
  sd <- 2 * plan$limit * sqrt(3) / plan$cost[["values"]]
  expect_gt(stats::ks.test(w0 / sd, "pnorm")$p.value, alarm)
})

test_that("plans spend their budget, in full and in split batches, and with a ledger", {
  known <- list(center = rep(NA_real_, 11), scale = rep(NA_real_, 11))
  plan_of <- function(epsilon, delta, ..., budget = NULL) {
    spec <- lm_spec(epsilon, delta, loss_squared(), grad_winsorized(), sparse_vectors(3), NULL,
                    budget, dp_control(...), "dp_sco")
    plan_iht(5000, 10, spec, known, TRUE)
  }
  for (batches in c("full", "split")) for (epsilon in c(0.5, 4)) {
    plan <- plan_of(epsilon, 1e-6, batches = batches)
    spent <- total_delta(compose_events(plan$events, ordered = TRUE), epsilon)
    expect_lte(spent, 1e-6)
    expect_gt(spent, 0.99e-6)
    pure <- plan_of(epsilon, 0, batches = batches)
    expect_equal(compose_events(pure$events)$pure, epsilon, tolerance = 1e-6)
  }
  z <- iht_data(2000)
  b <- privacy_budget(1, 1e-6)
  quiet(dp_sparse(z$x, z$y, 0.4, 1e-6, sparsity = 2, solver = "iht", budget = b))
  expect_identical(nrow(as.data.frame(b)), 1L)
  # batches that are not all of one size are cut from all rows
  cut <- cut_batches(random_order(2003, release_key(repeatable)), 4)
  expect_setequal(unlist(cut), 0:2002)
  expect_lte(diff(range(lengths(cut))), 1)
  split <- dp_control(rng = "R", batches = "split", iterations = 7)
  fit <- suppressWarnings(dp_sparse(z$x[-1, ], z$y[-1], 8, 1e-6, sparsity = 2, solver = "iht",
                                    control = split))
  expect_length(fit$path, 7L)
})

test_that("fits are near the truth", {
  skip_on_cran()
  z <- iht_data(2e4, 60, 654)
  truth <- c(1, -0.7, 0.5, numeric(57))
  set.seed(655)
  gradients <- list(NULL, grad_truncated(), grad_catoni(), grad_clipped())
  for (g in gradients) for (intercept in c(TRUE, FALSE)) {
    fit <- iht(z$x, z$y, 2, 1e-6, sparsity = 3, gradient = g, intercept = intercept,
               control = repeatable)
    b <- coef(fit)[if (intercept) -1L else TRUE]
    expect_lt(sum((b - truth)^2), 0.05)
  }
  pure <- iht(z$x, z$y, 10, 0, sparsity = 3, control = repeatable)
  expect_lt(sum((coef(pure)[-1L] - truth)^2), 0.3)
  b <- drop(z$x %*% truth * 2) + stats::rlogis(2e4) > 0
  fit <- iht(z$x, b, 4, 1e-6, sparsity = 3, loss = "logistic", control = repeatable)
  expect_s3_class(fit, "dp_glm")
  expect_setequal(fit$selected, c("v1", "v2", "v3"))
  skip_if_not_installed("Matrix")
  s <- methods::as(z$x, "CsparseMatrix")
  run <- function(x) {
    set.seed(656)
    coef(iht(x, z$y, 2, 1e-6, sparsity = 3, scale = every, control = repeatable))
  }
  expect_identical(run(s), run(z$x))
})

test_that("published constants, by hand", {
  z <- iht_data(1000, 4)
  paper <- dp_control("paper", rng = "R", smoothness = 1.5, strong_convexity = 1)
  rounds <- floor(1.5 * log(1000))
  s <- 2
  delta <- 1e-6
  noise <- rounds * sqrt(s * log(1 / delta)) * log(4 * rounds / 0.05)
  fits <- list(
    list(g = grad_truncated(), moment = moment_bound(1.5, 3), cai = FALSE,
         level = (3 * 1000 / noise)^(1 / 1.5)),
    list(g = grad_catoni(beta = 1), moment = moment_bound(2, 3), cai = TRUE,
         level = sqrt(3 * 1000 / noise)),
    list(g = grad_shrunken(), moment = moment_bound(4, 10), cai = TRUE,
         level = (10 * 1000 / (s * rounds))^(1 / 4))
  )
  for (case in fits) {
    fit <- quiet(dp_sparse(z$x, z$y, 1, delta, sparsity = s, intercept = FALSE,
                           gradient = case$g, moment = case$moment, control = paper))
    expect_length(fit$path, rounds)
    expect_equal(fit$bound, case$level)
    # b in lambda: epsilon0 = 2 lambda / b of a choice, lambda / b of a value
    b <- if (case$cai) 2 * sqrt(3 * s * log(1 / delta)) else 4 * sqrt(2 * s * log(1 / delta))
    booked <- as.data.frame(privacy(fit))
    expect_equal(booked$cost, c(2 / b, 1 / b))
    expect_equal(booked$count, c(s, s))
    expect_lte(epsilon_at(privacy(fit), delta), 1)
    expect_lte(sum(coef(fit) != 0), s)
  }
  # the last is in the ball of radius 1
  expect_lte(sum(coef(fit)^2), 1 + 1e-12)
})

test_that("the papers' peeling is noisy maxima on all scores, round by round", {
  skip_on_cran()
  scores <- c(9, 7, 0, -2)
  laws <- peel_events(2, 1, c(3, 3), "laplace")
  set.seed(657)
  drawn <- replicate(3000, sum(c(10, 1) * select_top(abs(scores), 2, laws$choice, "laplace",
                                                     release_key(repeatable))))
  laplace <- function() sample(c(-1, 1), 4, TRUE) * stats::rexp(4, 1 / 3)
  simulated <- replicate(30000, {
    first <- which.max(abs(scores) + laplace())
    second <- which.max(replace(abs(scores) + laplace(), first, -Inf))
    10 * first + second
  })
  cells <- sort(unique(simulated))
  both <- rbind(table(factor(drawn, cells)), table(factor(simulated, cells)))
  expect_gt(suppressWarnings(stats::chisq.test(both))$p.value, alarm)
})

test_that("what does not go together is refused before anything is spent", {
  z <- iht_data(100, 4)
  refused <- function(naming, ...) {
    expect_refusal(function(b) dp_sco(z$x, z$y, 1, 1e-6, ..., budget = b), naming)
  }
  for (s in list(0, 1.5, NA, "a", c(1, 2))) {
    expect_error(sparse_vectors(s), "`s`", class = "dp_error")
  }
  expect_error(sparse_vectors(2, 0), "`radius`", class = "dp_error")
  refused("`s` must be at most", constraint = sparse_vectors(5))
  refused("`penalty`", constraint = sparse_vectors(2), penalty = ridge(1))
  refused("`gradient`", constraint = sparse_vectors(2), gradient = grad_mom())
  refused("radius", constraint = sparse_vectors(2), gradient = grad_shrunken())
  refused("`solver`", constraint = sparse_vectors(2), solver = "pgd")
  refused("`solver`", constraint = l2_ball(2), solver = "iht")
  refused("loss_mean", constraint = sparse_vectors(2), loss = "mean")
  expect_refusal(function(b) dp_sparse(z$x, z$y, 1, 1e-6, solver = "iht", budget = b), "`sparsity`")
  paper <- dp_control("paper", smoothness = 1.5, strong_convexity = 1)
  refuse_paper <- function(naming, ..., control = paper) {
    expect_refusal(function(b) {
      dp_sparse(z$x, z$y, 1, 1e-6, sparsity = 2, ..., control = control, budget = b)
    }, naming)
  }
  refuse_paper("Algorithm 5", gradient = grad_winsorized(), moment = moment_bound(2, 1))
  refuse_paper("moment", gradient = grad_truncated(), intercept = FALSE)
  refuse_paper("intercept", gradient = grad_truncated(), moment = moment_bound(2, 1))
  refuse_paper("smoothness", gradient = grad_truncated(), moment = moment_bound(2, 1),
               intercept = FALSE, control = dp_control("paper"))
})

test_that("ties, zeros, one column, all columns", {
  z <- iht_data(1000, 4)
  x <- unname(z$x)
  for (case in list(list(x = 0 * x, s = 2), list(x = x[, c(1, 1, 2, 2)], s = 2),
                    list(x = x, s = 4), list(x = x[, 1, drop = FALSE], s = 1))) {
    fit <- suppressWarnings(iht(case$x, z$y, 1, 1e-6, sparsity = case$s))
    expect_true(all(is.finite(coef(fit))))
    expect_lte(sum(coef(fit)[-1L] != 0), case$s)
  }
  fit <- quiet(dp_sco(x, z$y, 4, 1e-6, constraint = sparse_vectors(2), control = repeatable))
  expect_s3_class(fit, "dp_sco")
  expect_output(print(fit), "at most 2 slopes")
})

test_that("a whole fit loses what it claims, and one of half the noise would be seen", {
  skip_on_cran()
  n <- 200L
  control <- dp_control(rng = "R", iterations = 1)
  first <- function(v, epsilon) {
    x <- matrix(0, n, 1L)
    x[1L, ] <- 1e6
    fit <- suppressWarnings(dp_sparse(
      x, c(v, numeric(n - 1L)), epsilon, 1e-5, sparsity = 1, scale = every, solver = "iht",
      intercept = FALSE, gradient = grad_winsorized(1), control = control,
      # with a ledger the plan is not stretched, which takes time
      budget = privacy_budget(epsilon, 1e-5)
    ))
    coef(fit)[[1L]] > 0
  }
  bound <- function(epsilon, runs = 350L) {
    set.seed(658)
    high <- sum(replicate(runs, first(1e9, epsilon)))
    low <- sum(replicate(runs, first(-1e9, epsilon)))
    most <- function(k) stats::qbeta(1 - alarm / 2, k + 1, runs - k)
    -stats::qnorm(most(runs - high)) - stats::qnorm(most(low))
  }
  nominal <- gaussian_mu(8, 1e-5)
  expect_lte(bound(8), nominal)
  expect_gt(bound(gaussian_epsilon(3 * nominal, 1e-5)), nominal)
})

test_that("pure rounds find slopes in any unit of the columns", {
  set.seed(681)
  n <- 6000
  x <- matrix(stats::rt(n * 20, 3), n)
  y <- x[, 1] - x[, 2] / 2 + stats::rt(n, 3)
  for (unit in c(0.01, 1, 100)) {
    fit <- quiet(dp_sparse(x * unit, y, 3, 0, sparsity = 2, solver = "iht", control = repeatable))
    expect_lt(sum((coef(fit)[-1L] * unit - c(1, -0.5, numeric(18)))^2), 0.05)
    expect_equal(unname(fit$scale[1:20]), rep(fit$scale[[1L]], 20))
    expect_lt(abs(log2(fit$scale[[1L]] / unit)), 3)
  }
})

test_that("a constant column is left out and makes no step too long", {
  set.seed(682)
  x <- cbind(a = big$x2, z = 0, c7 = 70)
  x[1:20, ] <- 0
  fit <- quiet(dp_sparse(x, big$y, 1, del, sparsity = 1, solver = "iht", control = repeatable))
  expect_identical(unname(coef(fit)[c("z", "c7")]), c(0, 0))
  expect_lt(abs(coef(fit)[["a"]] + 1), 0.5)
  # columns are taken as they come where fewer have a scale than are to be chosen
  fit <- quiet(dp_sparse(x, big$y, 1, del, sparsity = 2, solver = "iht", control = repeatable))
  expect_lt(max(abs(predict(fit, x[21:30, ]))), 100 * sd(big$y))
})

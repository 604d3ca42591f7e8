# Frank-Wolfe and the LASSO: vertices, selection, the noiseless minimum, sensitivity.

lasso_data <- function(n = 400, p = 6, seed = 301) {
  set.seed(seed)
  x <- matrix(stats::rt(n * p, 3), n, p, dimnames = list(NULL, paste0("v", seq_len(p))))
  list(x = x, y = 1 + drop(x[, 1:2] %*% c(0.5, -0.3)) + stats::rt(n, 3))
}

test_that("scores of vertices are minus their products with the sums, exactly", {
  set.seed(302)
  sums <- sample(-1e6:1e6, 5)
  l1 <- vertex_set(l1_ball(2), 5)
  expect_identical(vertex_scores(l1, sums), c(-sums, sums) * 1.0)
  for (i in 1:10) {
    v <- vertex(l1, i)
    expect_identical(sum(v * sums), -2 * vertex_scores(l1, sums)[[i]])
  }
  simplex <- vertex_set(unit_simplex(), 5)
  expect_identical(vertex_scores(simplex, sums), -sums * 1.0)
  expect_identical(vertex(simplex, 3), c(0, 0, 1, 0, 0))
  corners <- matrix(stats::rnorm(35), 7)
  set <- vertex_set(polytope(corners), 5)
  expect_true(all(set$w == round(set$w)) && max(abs(set$w)) == 2^VERTEX_BITS)
  expect_identical(vertex_scores(set, sums), -drop(set$w %*% sums))
  expect_equal(set$w / 2^VERTEX_BITS * max(abs(corners)), corners, tolerance = 1e-4)
  expect_identical(set$norm, max(rowSums(abs(set$w))))
})

test_that("a scale of the columns weighs the vertices", {
  set <- vertex_set(l1_ball(1), 3, c(1, 2, 0.5))
  expect_identical(set$w, round(c(0.5, 1, 0.25) * 2^VERTEX_BITS))
  expect_identical(set$norm, 2^VERTEX_BITS)
})

test_that("without noise the lasso is glmnet's on the same ball", {
  skip_if_not_installed("glmnet")
  z <- lasso_data()
  fit <- dp_lasso(z$x, z$y, epsilon = Inf, radius = 0.5)
  path <- glmnet::glmnet(z$x, z$y, standardize = FALSE, lambda = exp(seq(0, -8, length = 2000)),
                         thresh = 1e-14)
  beta <- as.matrix(path$beta)
  at <- which.min(abs(colSums(abs(beta)) - sum(abs(coef(fit)[-1]))))
  expect_equal(sum(abs(coef(fit)[-1])), 0.5, tolerance = 1e-8)
  expect_lt(max(abs(coef(fit)[-1] - beta[, at])), 1e-3)
})

test_that("without noise a polytope with the ball's vertices gives the ball's fit", {
  z <- lasso_data()
  ball <- dp_sco(z$x, z$y, epsilon = Inf, constraint = l1_ball(0.5))
  corners <- 0.5 * rbind(diag(6), -diag(6))
  expect_equal(coef(dp_sco(z$x, z$y, epsilon = Inf, constraint = polytope(corners))), coef(ball),
               tolerance = 1e-6)
  # a duplicate vertex changes nothing, one vertex leaves no choice
  twice <- polytope(rbind(corners, corners[3:4, ]))
  expect_equal(coef(dp_sco(z$x, z$y, epsilon = Inf, constraint = twice)), coef(ball),
               tolerance = 1e-6)
  one <- matrix(c(0.1, 0, 0, 0, 0, 0.2), 1)
  expect_equal(unname(coef(dp_sco(z$x, z$y, epsilon = Inf, constraint = polytope(one)))[-1]),
               drop(one))
})

test_that("without noise the simplex satisfies its conditions", {
  z <- lasso_data()
  fit <- dp_sco(z$x, z$y, epsilon = Inf, constraint = unit_simplex())
  b <- coef(fit)
  expect_equal(sum(b[-1]), 1, tolerance = 1e-10)
  expect_gte(min(b), -1e-10)
  g <- -crossprod(cbind(1, z$x), z$y - cbind(1, z$x) %*% b) / nrow(z$x)
  expect_lt(abs(g[[1]]), 1e-9)
  expect_lt(diff(range(g[-1][b[-1] > 1e-6])), 1e-5)
  expect_gte(min(g[-1]), min(g[-1][b[-1] > 1e-6]) - 1e-5)
})

test_that("fits stay in their sets, whatever the noise", {
  z <- lasso_data(4000)
  for (delta in c(0, 1e-6)) {
    fit <- quiet(dp_sco(z$x, z$y, 0.5, delta, constraint = l1_ball(0.7)))
    expect_lte(sum(abs(coef(fit)[-1])), 0.7 * (1 + 1e-12))
    fit <- quiet(dp_sco(z$x, z$y, 0.5, delta, constraint = unit_simplex()))
    expect_equal(sum(coef(fit)[-1]), 1)
    expect_gte(min(coef(fit)[-1]), 0)
  }
  expect_lte(sum(abs(coef(quiet(dp_lasso(z$x, z$y, 0.5, 1e-6, radius = 0.2)))[-1])),
             0.2 * (1 + 1e-12))
})

test_that("choices follow the exponential mechanism on the scores", {
  skip_on_cran()
  set.seed(303)
  sums <- c(3, -1, 2) * 1e6
  for (part in list(l1_ball(1), unit_simplex(), polytope(rbind(diag(3), c(-1, 1, 0))))) {
    set <- vertex_set(part, 3)
    scores <- vertex_scores(set, sums)
    move <- 2e6 * set$norm
    law <- score_law(1, move)
    drawn <- replicate(4000, {
      select_vertex(set, sums, law, "exponential", release_key(repeatable))
    })
    p <- exp((scores - max(scores)) / (2 * move))
    expect_gt(stats::chisq.test(tabulate(drawn, length(scores)), p = p / sum(p))$p.value, alarm)
    # the test would see another scale
    q <- exp((scores - max(scores)) / move)
    expect_lt(gof_draws_p(drawn, seq_along(q), q / sum(q)), alarm)
  }
})

# The exact scores of all vertices as a function of the data, and what a record may move them by.
scorer <- function(part, gradient, loss, n, p) {
  spec <- lm_spec(1, 1e-6, loss, gradient, part, NULL, NULL, dp_control(), "dp_sco")
  known <- list(center = rep(0, p + 1), scale = rep(1, p + 1))
  plan <- plan_fw(n, p, spec, known, FALSE)
  columns <- c(known, list(found = rep(TRUE, p + 1)))
  function(x, y) {
    state <- fw_state(list(x = x, y = y), list(n = n, intercept = FALSE), columns, spec)
    rule <- fw_rule(state, plan$level, plan, fw_tuning(state))
    list(scores = vertex_scores(state$set, fw_sums(state, vertex_start(state$set), 0, rule)),
         most = 2 * rule$limit * state$set$norm)
  }
}

test_that("a replaced record moves no score by more than is accounted for", {
  z <- lasso_data(60, 4)
  corners <- polytope(matrix(c(1, -2, 0.5, 0, 3, 1, 1, 1), 2))
  cases <- expand.grid(
    part = list(l1_ball(1), unit_simplex(), corners),
    gradient = list(grad_winsorized(0.7), grad_truncated(0.7), grad_catoni(0.7),
                    grad_catoni(0.7, 1), grad_shrunken(0.7)),
    loss = list(loss_squared(), loss_huber(sigma = 1), loss_biweight(sigma = 1), loss_logistic())
  )
  largest <- 0
  for (i in seq_len(nrow(cases))) {
    scores <- scorer(cases$part[[i]], cases$gradient[[i]], cases$loss[[i]], 60, 4)
    base <- scores(z$x, z$y)
    expect_gt(max(abs(base$scores)), 0)
    move <- function(x, y) max(abs(scores(x, y)$scores - base$scores)) / base$most
    moves <- c(
      move(replace(z$x, 5, -z$x[[5]]), z$y), move(z$x, replace(z$y, 5, -z$y[[5]])),
      vapply(c(0, 1e308, -1e308, Inf, NaN), function(value) {
        row <- z$x
        row[5, ] <- value
        max(move(replace(z$x, 65, value), z$y), move(z$x, replace(z$y, 5, value)),
            move(row, replace(z$y, 5, value)), move(row, z$y))
      }, 0)
    )
    expect_lte(max(moves), 1)
    largest <- max(largest, moves)
  }
  # a record does move a score by much of it
  expect_gt(largest, 0.5)
})

test_that("published constants, by hand", {
  z <- lasso_data(1000, 4)
  paper <- dp_control("paper", rng = "R")
  fit <- dp_lasso(z$x, z$y, 1, 1e-6, radius = 1, gradient = grad_shrunken(), intercept = FALSE,
                  moment = moment_bound(4, 10), control = paper)
  rounds <- floor(1000^(2 / 5))
  expect_length(fit$path, rounds)
  expect_equal(fit$bound, (10 * 1000 / (sqrt(rounds * log(1e6)) * log(4 * rounds / 0.05)))^(1 / 4))
  expect_equal(as.data.frame(privacy(fit))$cost, 1 / (2 * sqrt(2 * rounds * log(1e6))))
  expect_lte(epsilon_at(privacy(fit), 1e-6), 1)
  fit <- dp_lasso(z$x, z$y, 1, 0, radius = 1, gradient = grad_catoni(beta = 1),
                  intercept = FALSE, moment = moment_bound(2, 3), control = paper)
  rounds <- floor((1000 / (3 * log(2 * 4 * 4 / 0.05)))^(1 / 3))
  expect_length(fit$path, rounds)
  expect_equal(fit$bound, sqrt(3 * floor(1000 / rounds) / log(8 * 4 * rounds / 0.05)))
  expect_identical(as.data.frame(privacy(fit))$count, 1)
  expect_lte(epsilon_at(privacy(fit), 0), 1)
})

test_that("what does not go together is refused before anything is spent", {
  z <- lasso_data(50)
  refused <- function(naming, ...) {
    expect_refusal(function(b) dp_sco(z$x, z$y, 1, 1e-6, ..., budget = b), naming)
  }
  refused("`penalty`", constraint = l1_ball(1), penalty = ridge(1))
  refused("loss_mean", constraint = unit_simplex(), loss = "mean")
  refused("`gradient`", constraint = l1_ball(1), gradient = grad_mom())
  refused("`solver`", constraint = l1_ball(1), solver = "pgd")
  refused("`solver`", constraint = l2_ball(1), solver = "frank_wolfe")
  refused("`vertices`", constraint = polytope(matrix(1, 2, 3)))
  lasso <- function(naming, ...) {
    expect_refusal(function(b) dp_lasso(z$x, z$y, 1, 1e-6, ..., budget = b), naming)
  }
  lasso("`radius`")
  for (r in list(0, -1, NA, "1", Inf)) lasso("`r", radius = r)
  lasso("`solver`", radius = 1, solver = "frank_wolfe", refit = TRUE)
  expect_error(dp_lasso(z$x, z$y, 1, 0, radius = 1, refit = TRUE), "`delta`", class = "dp_error")
  for (v in list(matrix(NaN, 2, 2), matrix(Inf, 1, 1), "a", 1:3, matrix(numeric(), 0, 2))) {
    expect_error(polytope(v), "`vertices`", class = "dp_error")
  }
})

test_that("few slopes, and columns that hold nothing", {
  z <- lasso_data(4000)
  x <- cbind(z$x, zero = 0, constant = 5)
  fit <- quiet(dp_lasso(x, z$y, 2, 1e-6, radius = 1))
  expect_true(all(is.finite(coef(fit))))
  one <- quiet(dp_lasso(z$x[, 1, drop = FALSE], z$y, 2, 1e-6, radius = 1))
  expect_length(coef(one), 2L)
  expect_true(all(is.finite(coef(quiet(dp_lasso(z$x[, 1], z$y, 2, 0, radius = 1))))))
  corners <- diag(8)[c(1:8, 3), ]
  for (part in list(l1_ball(1), unit_simplex(), polytope(corners), polytope(corners[2:3, ]))) {
    for (gradient in list(grad_winsorized(), grad_catoni(1, 1), grad_shrunken(2))) {
      for (delta in c(0, 1e-6)) {
        fit <- quiet(dp_sco(x, z$y, 1, delta, constraint = part, gradient = gradient))
        expect_true(all(is.finite(coef(fit))))
      }
      plain <- dp_sco(x, z$y, Inf, constraint = part, gradient = gradient)
      expect_true(all(is.finite(coef(plain))))
    }
  }
})

test_that("where there is one vertex it is the answer, and d may be 1", {
  z <- lasso_data(400)
  corner <- c(0.3, -1, 0, 0, 2, 0.1)
  for (delta in c(0, 1e-6)) {
    fit <- quiet(dp_sco(z$x, z$y, 1, delta, constraint = polytope(rbind(corner))))
    expect_equal(unname(coef(fit)[-1L]), corner)
    fit <- quiet(dp_sco(z$x[, 1L], z$y, 1, delta, constraint = unit_simplex()))
    expect_equal(unname(coef(fit)[-1L]), 1)
    fit <- quiet(dp_sco(z$x[, 1L], z$y, 1, delta, constraint = polytope(rbind(-2, 1))))
    expect_true(coef(fit)[[2L]] >= -2 && coef(fit)[[2L]] <= 1)
  }
  for (radius in list(0, -1, NaN, NA, Inf)) expect_error(l1_ball(radius), class = "dp_error")
})

test_that("fits print what is not zero, draw, and predict", {
  z <- lasso_data(4000)
  set.seed(304)
  fit <- quiet(dp_lasso(z$x, z$y, 2, 1e-6, radius = 1, control = repeatable))
  expect_output(print(fit), "radius 1")
  expect_output(print(summary(fit)), "Private LASSO")
  expect_length(predict(fit, z$x[1:3, ]), 3L)
  skip_if_not_installed("Matrix")
  expect_equal(as.numeric(coef(fit, sparse = TRUE)), unname(coef(fit)))
  walk <- quiet(dp_lasso(z$x, z$y, 2, 1e-6, radius = 1, refit = FALSE, control = repeatable))
  last <- fw_iterates(walk)
  expect_equal(last[, ncol(last)], coef(walk)[rownames(last)])
  file <- tempfile(fileext = ".png")
  grDevices::png(file)
  expect_identical(plot(walk), walk)
  expect_identical(plot(fit), fit)
  grDevices::dev.off()
  unlink(file)
})

test_that("all that a re-fit draws is booked, whatever is public", {
  z <- lasso_data(4000)
  every <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 2))
  for (scale in list(NULL, every, every["x"], every["y"])) {
    fit <- quiet(dp_lasso(z$x, z$y, 1, 1e-6, radius = 2, scale = scale))
    what <- as.data.frame(privacy(fit))$what
    for (part in c("choice of columns", "row norms", "second moments", "stage 4")) {
      expect_match(what, part, all = FALSE)
    }
    expect_identical(any(grepl("^pair", what)), is.null(scale$x))
    e <- epsilon_at(privacy(fit), 1e-6)
    expect_true(e > 0.9 && e <= 1 + 1e-4)
  }
})

test_that("vertices of extreme sizes are refused before anything is spent", {
  z <- lasso_data(50)
  for (size in c(1e-305, 5e-324, 1e300)) {
    expect_error(polytope(size * diag(6)), "`vertices`", class = "dp_error")
  }
  expect_refusal(function(b) dp_sco(z$x, z$y, 5e-8, 0, constraint = l1_ball(1), budget = b),
                 "`epsilon` is too small")
})

test_that("slopes are brought into the ball exactly, in any unit", {
  for (unit in c(1e-8, 1, 1e8)) {
    scale <- rep(unit, 3)
    expect_equal(nearest_in_ball(c(2, 1, 0), scale, 1.5), c(1.25, 0.25, 0))
    expect_equal(nearest_in_ball(c(-2, 1, 0), scale, 0.5), c(-0.5, 0, 0))
  }
  set.seed(305)
  for (i in 1:50) {
    b <- stats::rnorm(6)
    scale <- exp(stats::rnorm(6))
    r <- stats::runif(1) * sum(abs(b))
    out <- nearest_in_ball(b, scale, r)
    expect_equal(sum(abs(out)), r)
    # what is taken away is the same in units of the weights where something is left
    taken <- (abs(b) - abs(out)) * scale^2
    left <- out != 0
    expect_lt(diff(range(taken[left])), 1e-9 * max(taken))
    expect_true(all(taken[!left] <= max(taken[left]) * (1 + 1e-9)))
  }
})

test_that("rows that are left out do not pull the response's centre", {
  set.seed(306)
  x <- matrix(stats::rnorm(30000), 10000)
  y <- 1000 + 2 * x[, 1] + stats::rnorm(10000)
  keep <- stats::runif(10000) < 0.4
  for (delta in c(0, 1e-6)) {
    fit <- quiet(dp_sco(x, y, 20, delta, constraint = l1_ball(3), subset = keep))
    expect_lt(abs(coef(fit)[[1L]] - 1000), 2)
  }
  expect_equal(coef(dp_sco(x + 100, y, Inf, constraint = l1_ball(30), subset = keep)),
               coef(lm(y[keep] ~ I(x[keep, ] + 100))), ignore_attr = TRUE,
               tolerance = 1e-6)
})

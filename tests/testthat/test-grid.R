# The integers of a release against the formulas that its privacy rests on. Each law
# is checked from its own numbers: 2^bits / (change of one record) >= 1 / cost.

N_GRID <- c(1, 2, 3, 10, 100, 255, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
COST_GRID <- 10^seq(-4, 4)
K_GRID <- c(1, 2, 3, 10, 50, 100, 500)

# Calls that the law refuses for want of room count as NULL.
law_or_refusal <- function(expr) tryCatch(expr, dp_error_input = function(e) NULL)

test_that("count_law(): the noise is what the cost asks for, and fits", {
  for (kind in c("laplace", "gaussian")) {
    grid <- expand.grid(n = N_GRID, cost = COST_GRID, sensitivity = c(1, sqrt(2), 2, 30, 1000))
    got <- lapply(seq_len(nrow(grid)), function(i) {
      with(grid[i, ], law_or_refusal(count_law(kind, n, cost, sensitivity)))
    })
    made <- !vapply(got, is.null, NA)
    bits <- vapply(got[made], function(l) l$noise[[2L]], 0)
    unit <- vapply(got[made], `[[`, 0, "unit")
    sd <- vapply(got[made], `[[`, 0, "sd")
    g <- grid[made, ]
    excess <- 2^bits / (unit * g$sensitivity) * g$cost
    expect_gte(min(excess), 1 - 1e-12)
    ordinary <- g$n <= 1e7 & g$cost >= 0.01 & g$cost <= 100
    expect_lte(max(excess[ordinary]), 1.01)
    expect_true(all(unit == floor(unit) & unit >= 1 & unit <= 2^51))
    expect_true(all(bits == floor(bits) & bits >= 0 & bits <= 42))
    expect_true(all(g$n * unit + 2^(bits + 7) < 2^62))
    expect_equal(sd, 2^bits / unit * if (kind == "laplace") sqrt(2) else 1)
    expect_true(all(made[grid$n <= 1e7 & grid$cost >= 0.01 & grid$sensitivity < 100]))
    expect_identical(unique(vapply(got[made], function(l) l$noise[[1L]], 0)),
                     c(laplace = 1, gaussian = 2)[[kind]])
  }
})

test_that("sum_law(): the noise is what the cost asks for, and fits", {
  for (kind in c("laplace", "gaussian")) {
    grid <- expand.grid(n = N_GRID, cost = COST_GRID, p = K_GRID)
    got <- lapply(seq_len(nrow(grid)), function(i) {
      with(grid[i, ], law_or_refusal(sum_law(kind, n, p, cost)))
    })
    made <- !vapply(got, is.null, NA)
    bits <- vapply(got[made], function(l) l$noise[[2L]], 0)
    limit <- vapply(got[made], `[[`, 0, "limit")
    g <- grid[made, ]
    change <- 2 * limit * if (kind == "laplace") g$p else sqrt(g$p)
    excess <- 2^bits / change * g$cost
    expect_gte(min(excess), 1 - 1e-12)
    ordinary <- g$n <= 1e7 & g$cost >= 0.01 & g$cost <= 100
    expect_lte(max(excess[ordinary]), 1.01)
    expect_true(all(limit == floor(limit) & limit >= 1 & limit <= 2^51))
    expect_true(all(bits >= 0 & bits <= 42 & g$n * limit + 2^(bits + 7) < 2^62))
    expect_identical(vapply(got[made], `[[`, 0, "bits"), bits)
    expect_true(all(made[grid$n <= 1e6 & grid$cost >= 0.01]))
  }
})

test_that("moment_law(): the noise is what the cost asks for, and fits", {
  grid <- expand.grid(n = N_GRID, mu = COST_GRID, m = K_GRID + 1, bound = c(1e-6, 1, 1e9))
  got <- lapply(seq_len(nrow(grid)), function(i) {
    with(grid[i, ], law_or_refusal(moment_law(n, m, mu, bound)))
  })
  made <- !vapply(got, is.null, NA)
  bits <- vapply(got[made], function(l) l$noise[[2L]], 0)
  step <- vapply(got[made], `[[`, 0, "step")
  g <- grid[made, ]
  c <- g$bound / step + sqrt(g$m) / 2
  excess <- 2^bits / (sqrt(2) * c^2) * g$mu
  expect_gte(min(excess), 1 - 1e-12)
  expect_true(all(c^2 < 2^42 & g$n * c^2 * 11 + 2^(bits + 10) < 2^62))
  expect_true(all(bits >= 0 & bits + 3 <= 45))
  sd <- vapply(got[made], `[[`, 0, "sd")
  expect_equal(sd, 2^bits * step^2 / g$n)
  ideal <- sqrt(2) * g$bound^2 / (g$mu * g$n)
  ordinary <- g$n <= 1e7 & g$mu >= 0.01 & g$mu <= 100 & g$m <= 101
  expect_gte(min(sd / ideal), 1 - 1e-12)
  expect_lte(max((sd / ideal)[ordinary]), 1.01)
  expect_true(all(made[grid$n <= 1e6 & grid$mu >= 0.01 & grid$m <= 101]))
})

test_that("gradient_law(): the noise is what the cost asks for, and fits", {
  set.seed(251)
  for (k in c(1, 2, 3, 10, 100)) {
    roots <- list(NULL, made_up_root(k), hard_root(k, 1e10), hard_root(k, 1e4, 100), diag(k) / 1024)
    for (root in roots) {
      size <- if (is.null(root)) 1 else norm(root, "2")
      inverse <- if (is.null(root)) 1 else 1 / min(svd(root)$d)
      grid <- expand.grid(n = N_GRID, mu = COST_GRID, bound = c(1e-6, 1, 1e9))
      got <- lapply(seq_len(nrow(grid)), function(i) {
        with(grid[i, ], law_or_refusal(gradient_law(n, k, mu, bound, root)))
      })
      made <- !vapply(got, is.null, NA)
      bits <- vapply(got[made], function(l) l$noise[[2L]], 0)
      step <- vapply(got[made], `[[`, 0, "step")
      limit <- vapply(got[made], `[[`, 0, "limit")
      g <- grid[made, ]
      c <- g$bound / step
      change <- 2 * c + (size + 1) * sqrt(k)
      expect_gte(min(2^bits / change * g$mu), 1 - 1e-9)
      # the clamp never binds for a record within the bound
      expect_true(all(limit >= c * max(1, inverse) * (1 - 1e-9) + 0.5))
      expect_true(all(limit <= 2^51 & g$n * limit < 2^62 & bits <= 42 & bits >= 0))
      # the product with the root fits, noise and all
      expect_true(all(g$n * (c + size * sqrt(k) / 2 + 1) + 2^(bits + 7) < 2^62))
      sd <- vapply(got[made], `[[`, 0, "sd")
      expect_equal(sd, 2^bits * step / g$n)
      ideal <- 2 * g$bound / (g$mu * g$n)
      ordinary <- g$n <= 1e6 & g$mu >= 0.01 & g$mu <= 100
      expect_gte(min(sd / ideal), 1 - 1e-12)
      expect_lte(max((sd / ideal)[ordinary]), 1.01)
      expect_true(all(made[grid$n <= 1e6 & grid$mu >= 0.01]))
    }
  }
})

test_that("levels that a double cannot divide are refused", {
  # else the step is 0, which stands for plain sums, or 1 / step overflows
  for (bound in c(5e-324, 1e-310, 1e-200, 1e200, 1e308, Inf, NaN, 0, -1)) {
    expect_error(gradient_law(100, 3, 1, bound, NULL), class = "dp_error_input")
    expect_error(moment_law(100, 3, 1, bound), class = "dp_error_input")
  }
  set.seed(252)
  x <- matrix(stats::rnorm(200), 100)
  for (bound in c(1e-315, 1e-51, 1e51, Inf)) {
    expect_error(grad_clipped(bound), class = "dp_error_input")
  }
  # a hand-made level that got past that is refused, never run without noise
  part <- grad_clipped(1)
  part$bound <- 1e-315
  one <- list(center = 0, scale = 1)
  expect_error(
    suppressWarnings(dp_lm(x, x[, 1], epsilon = 1, delta = 1e-6, gradient = part,
                           scale = list(x = one, y = one))),
    class = "dp_error_input"
  )
})

test_that("noise of kind none is only for the noiseless mode", {
  expect_identical(count_law("none", 10, Inf, 1)$noise, c(0, 0))
  expect_identical(sum_law("none", 10, 1, Inf)$limit, Inf)
  kind <- function(mu) {
    finish_plan(plan_lm(100, 3, tuned_x(3), mu, 0, dp_control(), grad_clipped()))$kind
  }
  expect_identical(kind(Inf), "none")
  expect_identical(kind(1e-9), "gaussian")
})

test_that("the noise of dp_lm's stages costs what the ledger is told", {
  control <- dp_control(iterations = 7)
  plan <- finish_plan(plan_lm(1e4, 6, tuned_x(6), 0.8, 1e-6, control, grad_clipped()))
  events <- lm_events(plan, tuned_x(6))
  told <- vapply(events, function(e) e$cost^2 * e$count, 0)
  expect_equal(sum(told), 0.8^2, tolerance = 1e-9)
  spent <- function(sensitivity, law) (law$unit * sensitivity / 2^law$noise[[2L]])^2
  columns <- vapply(c("pairs", "exponents", "location"), function(name) {
    spent(sqrt(2 * 6), count_law("gaussian", 1e4, stage_cost(plan, name), sqrt(2 * 6)))
  }, 0)
  norms <- spent(sqrt(2), count_law("gaussian", 1e4, stage_cost(plan, "norms"), sqrt(2)))
  clip <- 4 * spent(sqrt(2), count_law("gaussian", 1e4, stage_cost(plan, "clip", 4), sqrt(2)))
  law <- moment_law(1e4, 7, stage_cost(plan, "moments"), 1)
  moments <- (sqrt(2) * (1 / law$step + sqrt(7) / 2)^2 / 2^law$noise[[2L]])^2
  descent <- vapply(1:4, function(s) {
    law <- descent_law(plan, s, 1e4, 6, 1, NULL)
    plan$steps[[s]] * ((2 / law$step + 2 * sqrt(6)) / 2^law$noise[[2L]])^2
  }, 0)
  sandwich <- vapply(sandwich_costs(plan), function(cost) {
    law <- moment_law(1e4, 6, cost, 1)
    (sqrt(2) * (1 / law$step + sqrt(6) / 2)^2 / 2^law$noise[[2L]])^2
  }, 0)
  got <- c(columns, norms, moments, clip, descent, sandwich)
  expect_true(all(got <= told * (1 + 1e-12)))
  expect_true(all(got >= told * 0.98))
})

test_that("variances are found at any place and in any unit", {
  set.seed(811)
  base <- list(t = stats::rt(2e4, 8), exponential = stats::rexp(2e4), uniform = stats::runif(2e4))
  for (x in base) for (unit in c(1e-9, -1e6)) {
    fit <- dp_var(1e3 * unit + unit * x, 100, control = repeatable)
    expect_equal(coef(fit)[["variance"]] / unit^2, stats::var(x), tolerance = 0.04)
    expect_equal(fit$mean[["variance"]] / unit - 1e3, mean(x), tolerance = 0.02)
  }
  m <- cbind(a = base$t, b = 1e9 * base$uniform)
  fit <- dp_var(m, 100, 1e-6, control = repeatable)
  expect_equal(coef(fit), apply(m, 2L, stats::var), tolerance = 0.04)
  gone <- m
  gone[1:5000, 1L] <- NA
  fit <- dp_var(gone, 200, na.rm = TRUE, control = repeatable)
  expect_equal(coef(fit)[["a"]], stats::var(m[-(1:5000), 1L]), tolerance = 0.05)
})

test_that("epsilon = Inf is the sample variance, and a bounded one that of clamped values", {
  m <- as.matrix(big[c("x1", "x2")])
  expect_equal(coef(dp_var(m, Inf)), apply(m, 2L, stats::var))
  m[1:9, 1L] <- NA
  expect_equal(coef(dp_var(m, Inf, na.rm = TRUE)), apply(m, 2L, stats::var, na.rm = TRUE))
  clamped <- pmin(pmax(big$y, -1), 4)
  expect_equal(coef(dp_var(big$y, Inf, bound = c(-1, 4)))[[1L]], stats::var(clamped))
  for (delta in c(0, 1e-6)) {
    fit <- dp_var(big$y, 1e5, delta, bound = c(-1, 4), control = repeatable)
    expect_equal(coef(fit)[[1L]], stats::var(clamped), tolerance = 1e-3)
  }
  z <- (clamped - mean(clamped))^2
  plain <- dp_var(big$y, Inf, bound = c(-1, 4))
  expect_equal(plain$errors[[1L]], sqrt(mean((z - mean(z))^2) / 4000))
})

test_that("the spread of squares is read off the counts, and intervals hold the truth", {
  skip_on_cran()
  set.seed(812)
  laws <- list(normal = stats::rnorm, uniform = stats::runif, exponential = stats::rexp,
               t = function(n) stats::rt(n, 9))
  for (name in names(laws)) {
    x <- laws[[name]](2e5)
    fit <- dp_var(x, 2, control = repeatable)
    z <- pmin((x - mean(x))^2, fit$level^2)
    expect_equal(fit$errors[[1L]] * sqrt(2e5) / stats::sd(z), 1, tolerance = 0.2, label = name)
  }
  held <- vapply(1:30, function(i) {
    ends <- confint(dp_var(stats::rnorm(1e4), 1, control = repeatable))
    ends[[1L]] <= 1 && 1 <= ends[[2L]]
  }, NA)
  expect_gt(stats::pbinom(sum(held), 30, 0.93), alarm)
})

test_that("a tail without a variance is warned about, others are not", {
  set.seed(813)
  fit <- NULL
  expect_identical(heavy_warnings(
    fit <- dp_var(stats::runif(2e4)^(-1 / 1.4), 2, control = repeatable)
  ), 1L)
  expect_true(fit$heavy)
  expect_warning(dp_var(rt(5000, 1.2), 1, control = repeatable), "the tail of `x`")
  expect_output(print(summary(fit)), "may not exist")
  expect_identical(confint(fit)[[2L]], Inf)
  for (x in list(stats::rnorm(2e4), stats::rexp(2e4), stats::rt(2e4, 8))) {
    expect_silent(fit <- dp_var(x, 2, control = repeatable))
    expect_false(fit$heavy)
    expect_lt(confint(fit)[[2L]], 1.5 * stats::var(x))
  }
})

test_that("constants, zeros, two values and the ends of what a double holds are no special case", {
  set.seed(814)
  for (x in list(rep(5, 2000), rep(-1 / 3, 2000), numeric(2000), rep(5e-324, 2000))) {
    expect_warning(fit <- dp_var(x, 1, control = repeatable), class = "dp_dominated")
    expect_identical(unname(coef(fit)), 0)
  }
  two <- stats::rbinom(4000, 1, 0.3)
  expect_equal(coef(dp_var(two, 20, control = repeatable))[[1L]], stats::var(two), tolerance = 0.05)
  expect_equal(coef(dp_var(two == 1, 20, control = repeatable))[[1L]], stats::var(two),
               tolerance = 0.05)
  infinite <- c(Inf, -Inf, stats::rnorm(4000))
  expect_equal(coef(dp_var(infinite, 20, control = repeatable))[[1L]], 1, tolerance = 0.1)
  for (x in list(1e300 * stats::rnorm(3000), rep(c(-1e308, 1e308), 1500))) {
    expect_silent(fit <- dp_var(x, 4, control = repeatable))
    expect_identical(unname(coef(fit)), Inf)
  }
})

test_that("shares of the budget add up in both kinds of noise", {
  for (plan in list(plan_var(1e4, 1, 1, 0, FALSE, TRUE, NULL),
                    plan_var(1e4, 2, 2, 0, TRUE, FALSE, NULL))) {
    table <- events_table(plan$events)
    expect_equal(sum(table$cost * table$count), if (plan$d == 1) 1 else 2)
  }
  plan <- plan_var(1e4, 40, 1, 1e-6, TRUE, FALSE, NULL)
  expect_identical(plan$kind, "gaussian")
  table <- events_table(plan$events)
  expect_equal(sum(table$cost^2), discrete_gaussian_mu(1, 1e-6)^2)
})

test_that("squares move by at most the squared level, whatever a record holds", {
  set.seed(815)
  plan <- plan_var(300, 2, 3, 0, TRUE, FALSE, NULL)
  rows <- list(x = matrix(stats::rt(600, 2), 300), y = NULL)
  seen <- list()
  spy <- with_replaced(mean_squares, mean_of_shares = function(x, count, cost, plan, control) x)
  shares <- replaced(rows, lapply(wild_records(2), utils::head, 2L), 7, function(r) {
    spy(r$x, c(0.3, -1e300), c(2, 1e10), c(300, 300), plan, repeatable)
  })
  for (s in shares) {
    s[is.na(s)] <- 0
    expect_true(all(s >= 0 & s <= 1))
    expect_identical(s[-7L, ], shares[[1L]][-7L, ])
  }
  # which become integers within +-limit: test-sensitivity.R
})

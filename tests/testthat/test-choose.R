choose_index <- function(scores, k, times, key = fixed_key(1)) {
  .Call(
    dpheavy:::C_choose_exponential, as.double(scores), as.double(k), as.double(times), key
  )
}

release_quantile <- function(x, probs, c, lower = -.Machine$double.xmax,
                             upper = .Machine$double.xmax, key = fixed_key(1)) {
  .Call(
    dpheavy:::C_quantile_release, as.double(x), as.double(probs), as.double(c),
    as.double(lower), as.double(upper), key
  )
}

look_quantile <- function(x, prob, c, at, lower = -.Machine$double.xmax,
                          upper = .Machine$double.xmax) {
  out <- .Call(
    dpheavy:::C_quantile_scores, as.double(x), as.double(prob), as.double(c),
    as.double(lower), as.double(upper), as.double(at)
  )
  colnames(out) <- c("utility", "penalty", "score", "width", "first")
  as.data.frame(out)
}

live_blocks <- function() .Call(dpheavy:::C_core_live)

# Twin of the grid: the first 44 bits of a double in the order of the doubles.
grid_cell <- function(v) {
  vapply(v, function(one) {
    byte <- as.integer(writeBin(one + 0, raw(), endian = "big"))
    negative <- byte[1] >= 128 && one != 0
    byte[1] <- byte[1] %% 128
    size <- sum(byte[1:5] * 256^(4:0)) * 16 + byte[6] %/% 16
    # the low 20 bits of a negative key are flipped too, hence - 1 and not - 0
    if (negative) 2^43 - 1 - size else 2^43 + size
  }, 0)
}

# Twin of the utility at each point of `at`.
twin_utility <- function(x, prob, at, lower, upper) {
  clamp <- function(v) pmin(pmax(v, lower), upper)
  x <- grid_cell(clamp(x[!is.na(x)]))
  prob <- floor(prob * 2^30 + 0.5) / 2^30
  m <- length(x)
  vapply(grid_cell(clamp(at)), function(g) {
    -max(0, sum(x < g) - prob * m, prob * m - sum(x <= g))
  }, 0)
}

special <- c(0, -0, 1, -1, 1e308, -1e308, Inf, -Inf, NA, NaN, 5e-324, -5e-324, 1e-310, 2)

test_that("the exponential mechanism has its law", {
  skip_on_cran()
  expected <- c(
    0.04293719271160759, 0.11671539071300706, 0.3172653256766647, 0.5230820908987206
  )
  expect_lt(max(abs(exponential_pmf(c(0, 1, 2, 2.5)) / expected - 1)), 1e-12)
  for (k in c(1, 32)) {
    drawn <- choose_index(c(0, 1, 2, 2.5) * 2^k, k, 2e4, fixed_key(k))
    expect_gt(gof_draws_p(drawn, 1:4, expected), alarm)
    expect_lt(gof_draws_p(drawn, 1:4, exponential_pmf(c(0, 1, 2, 2.5), 1.15)), alarm)
  }
  score <- seq(-60, 0, length.out = 200) * 16
  drawn <- choose_index(round(score), 4, 2e4, fixed_key(3))
  expect_gt(gof_draws_p(drawn, 1:200, exponential_pmf(round(score) / 16)), alarm)
})

test_that("many candidates far below the best weigh what they should", {
  skip_on_cran()
  # the best, some of one far bucket at two gaps, many of a farther one
  score <- c(rep(-7.5, 1200), 0, rep(-7.875, 1500), rep(-12.25, 60000)) * 8
  p <- exponential_pmf(score / 8)
  group <- match(score, unique(score))
  drawn <- choose_index(score, 3, 3000, fixed_key(4))
  expect_gt(gof_draws_p(group[drawn], 1:4, tapply(p, group, sum)), alarm)
  # alike within a group: by place, in tenths
  for (g in c(1, 3, 4)) {
    place <- match(drawn[group[drawn] == g], which(group == g)) / sum(group == g)
    expect_gt(gof_draws_p(ceiling(place * 10), 1:10, rep(0.1, 10)), alarm)
  }
})

test_that("extreme scores neither overflow nor hang", {
  top <- 2^63 - 1024
  expect_identical(choose_index(c(-2^63, top), 0, 20), rep(2L, 20))
  expect_identical(choose_index(c(top, -2^63, 0), 40, 20), rep(1L, 20))
  expect_identical(choose_index(-2^63, 0, 3), rep(1L, 3))
  expect_setequal(choose_index(c(-2^63, -2^63, -2^63 + 4096), 60, 200), 1:3)
  expect_error(choose_index(numeric(0), 0, 1), "wrong type or length")
  expect_error(choose_index(c(1, NA), 0, 1), "whole numbers")
  expect_error(choose_index(2^63, 0, 1), "whole numbers")
  expect_error(choose_index(0.5, 0, 1), "whole numbers")
  expect_error(choose_index(1, 64, 1), "out of range")
})

test_that("utilities are those of a naive twin", {
  set.seed(11)
  for (i in 1:30) {
    x <- c(rcauchy(20), round(rnorm(20)), sample(special, 6))
    ends <- if (i %% 2 == 0) c(-1, 2) else c(-1, 1) * .Machine$double.xmax
    at <- c(rnorm(10), sample(x[!is.na(x)], 10), 0, -0, 1e308, Inf, -Inf)
    prob <- sample(c(0, 0.1, 0.5, 0.75, 1, runif(1)), 1)
    got <- look_quantile(x, prob, 0.7, at, ends[1], ends[2])
    expect_identical(got$utility, twin_utility(x, prob, at, ends[1], ends[2]))
    expect_identical(got$penalty, floor(floor(0.7 * 2^32) * -got$utility))
    slack <- (got$score + got$penalty) / 2^32 - log(got$width)
    expect_true(all(slack <= 1e-13 & slack >= -2^-32 - 1e-13))
    first <- grid_cell(pmin(pmax(at, ends[1]), ends[2])) - grid_cell(ends[1])
    expect_true(all(got$first <= first & first < got$first + got$width))
  }
})

test_that("one record, whatever it holds, moves the utility by at most one", {
  set.seed(12)
  limit <- 0
  for (i in 1:60) {
    n <- sample(c(1, 2, 5, 40), 1)
    x <- switch(1 + i %% 3, rcauchy(n), rbinom(n, 1, 0.5), rep(special[1 + i %% 14], n))
    y <- x
    y[sample(n, 1)] <- special[1 + (i * 5) %% length(special)]
    at <- c(x, y, rcauchy(20), special)
    at <- at[!is.na(at)]
    prob <- sample(c(0, 0.3, 0.5, 1, runif(1)), 1)
    c <- sample(c(0.013, 0.5, 3.7), 1)
    ends <- if (i %% 2 == 0) c(-1.5, 1.5) else c(-Inf, Inf)
    a <- look_quantile(x, prob, c, at, ends[1], ends[2])
    b <- look_quantile(y, prob, c, at, ends[1], ends[2])
    limit <- max(limit, abs(a$utility - b$utility))
    expect_lte(max(abs(a$utility - b$utility)), 1)
    expect_lte(max(abs(a$penalty - b$penalty)), floor(c * 2^32))
  }
  expect_identical(limit, 1) # attained, so the test can fail
})

test_that("the law on a small grid is that of the exponential mechanism", {
  skip_on_cran()
  step <- 2^-32 # of the cells from 1 to 2
  x <- 1 + c(0, 2, 2, 3, 7, NA, -1e5) * step
  cells <- 1 + (0:8) * step
  for (case in list(list(0.5, 0.5, 1), list(0.9, 1.3, 1), list(0.2, 0.8, -1))) {
    prob <- case[[1]]
    c <- case[[2]]
    sign <- case[[3]]
    ends <- range(sign * c(1, 1 + 8 * step))
    drawn <- release_quantile(sign * x, rep(prob, 2e4), c, ends[1], ends[2], fixed_key(5))
    expect_true(all(drawn %in% (sign * cells)))
    p <- exponential_pmf(c * twin_utility(sign * x, prob, sign * cells, ends[1], ends[2]))
    expect_gt(gof_draws_p(sign * drawn, cells, p), alarm)
    q <- exponential_pmf(1.2 * c * twin_utility(
      sign * x, prob, sign * cells, ends[1], ends[2]
    ))
    expect_lt(gof_draws_p(sign * drawn, cells, q), alarm)
  }
})

test_that("heavy ties come out exactly", {
  zero_one <- rep(c(0, 1), 500)
  expect_identical(release_quantile(zero_one, rep(0.3, 50), 0.5), rep(0, 50))
  expect_identical(release_quantile(zero_one, rep(0.8, 50), 0.5), rep(1, 50))
  minus <- release_quantile(-zero_one, rep(0.3, 50), 0.5)
  expect_identical(minus, rep(-1, 50))
  same <- release_quantile(rep(-12.5, 1000), c(0.1, 0.5, 0.9), 0.5)
  expect_identical(same, rep(-12.5, 3))
  # no negative zero, be it data or the head of the cell below zero
  expect_identical(1 / release_quantile(rep(-0, 1000), 0.5, 0.5), Inf)
  expect_identical(1 / release_quantile(NA, rep(0.5, 50), 1, -1e-322, 1e-322), rep(Inf, 50))
})

test_that("quantiles are near the empirical ones at any location and unit", {
  set.seed(13)
  x <- rexp(5000)
  for (unit in c(1e-300, 1e-9, 1, 1e12, 1e300)) {
    got <- release_quantile(x * unit, c(0.05, 0.5, 0.95), 0.5) / unit
    rank <- vapply(got, function(q) mean(x <= q), 0)
    expect_lt(max(abs(rank - c(0.05, 0.5, 0.95))), 0.02)
  }
  shifted <- release_quantile(1e6 + x, c(0.1, 0.9), 0.5) - 1e6
  expect_lt(max(abs(vapply(shifted, function(q) mean(x <= q), 0) - c(0.1, 0.9))), 0.02)
  expect_lt(abs(release_quantile(x, 0.5, Inf) - median(x)), 1e-2)
})

test_that("no data, missing data, infinite data and the end probabilities work", {
  for (x in list(numeric(0), NA_real_, c(NaN, NA))) {
    drawn <- release_quantile(x, rep(0.5, 200), 1, -3, 5)
    expect_true(all(drawn >= -3 & drawn <= 5))
    expect_gt(length(unique(drawn)), 150)
  }
  expect_identical(release_quantile(NA_real_, 0.5, 1, 7, 7), 7)
  expect_true(all(is.finite(release_quantile(rep(c(-Inf, Inf), 50), (0:10) / 10, 1))))
  # an end whose double is longer than 32 bits comes back as its cell's head
  expect_identical(release_quantile(rep(Inf, 1000), 0.5, 1, -1.25, 2.75), 2.75)
  expect_identical(release_quantile(rep(-Inf, 1000), 0.5, 1, -1.25, 2.75), -1.25)
  expect_lt(abs(release_quantile(rep(Inf, 1000), 0.5, 1, -1, 2.7) / 2.7 - 1), 2^-31)
  ends <- release_quantile(1:1000, c(0, 1), 1, 1, 1000)
  expect_true(ends[1] < 100 && ends[2] > 900)
})

test_that("public arguments are checked and nothing stays allocated", {
  expect_error(release_quantile(1:3, 1.5, 1), "probability")
  expect_error(release_quantile(1:3, c(0.5, NA), 1), "probability")
  expect_error(release_quantile(1:3, 0.5, 0), "positive")
  expect_error(release_quantile(1:3, 0.5, NaN), "positive")
  expect_error(release_quantile(1:3, 0.5, 1, 2, 1), "lower")
  expect_error(release_quantile(1:3, 0.5, 1, NaN, 1), "lower")
  expect_error(look_quantile(1:3, 0.5, 1, NA), "missing")
  expect_error(.Call(dpheavy:::C_quantile_release, 1L, 0.5, 1, 0, 1, NULL), "doubles")
  expect_identical(live_blocks(), 0)
})

test_that("the release does not depend on the order of the rows", {
  set.seed(14)
  x <- rcauchy(500)
  expect_identical(release_quantile(x, 0.3, 1), release_quantile(rev(x), 0.3, 1))
  expect_false(identical(
    release_quantile(x, 0.3, 1, key = NULL), release_quantile(x, 0.3, 1, key = NULL)
  ))
})

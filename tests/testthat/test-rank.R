# Laws of the selections, against their pmfs.

# Scores times 2^bits, exactly: a selection at scale 1.
unit_law <- function(bits) list(multiplier = c(2^40, 40 - bits), bits = bits, kind = "choice")

draws <- function(scores, how, n, bits = 30, s = 1, seed = 1) {
  set.seed(seed)
  control <- dp_control(rng = "R")
  out <- vapply(seq_len(n), function(i) {
    select_top(scores, s, unit_law(bits), how, release_key(control))
  }, integer(s))
  matrix(out, s)
}

# P of one round, by its definition. Permute-and-flip: the first taken, summed over orders.
flip_pmf <- function(score) {
  p <- exp(score - max(score))
  win <- function(i, left) { # i wins when the items `left` are still to come
    (p[[i]] + sum(vapply(setdiff(left, i), function(j) {
      (1 - p[[j]]) * win(i, setdiff(left, j))
    }, 0))) / length(left)
  }
  vapply(seq_along(score), win, 0, left = seq_along(score))
}

# The largest of score plus Laplace noise of scale 1.
laplace_max_pmf <- function(score) {
  cdf <- function(x) ifelse(x < 0, exp(x) / 2, 1 - exp(-x) / 2)
  ends <- c(-40, sort(score), max(score) + 40)
  vapply(seq_along(score), function(i) {
    f <- function(x) {
      others <- vapply(score[-i], function(s) cdf(x - s), x)
      exp(-abs(x - score[[i]])) / 2 * apply(matrix(others, length(x)), 1L, prod)
    }
    sum(vapply(seq_along(ends)[-1L], function(k) {
      if (ends[[k]] > ends[[k - 1L]]) integrate(f, ends[[k - 1L]], ends[[k]], rel.tol = 1e-9)$value
      else 0
    }, 0))
  }, 0)
}

laws <- list(
  exponential = exponential_pmf, permute_and_flip = flip_pmf, laplace = laplace_max_pmf
)

# Ordered pairs of two rounds without replacement, row first.
pair_pmf <- function(pmf, score) {
  first <- pmf(score)
  t(vapply(seq_along(score), function(i) {
    second <- numeric(length(score))
    second[-i] <- pmf(score[-i])
    first[[i]] * second
  }, score))
}

test_that("the pmfs used below agree with independent reference values", {
  score <- c(0, 1, 2, 2.5)
  expect_equal(exponential_pmf(score), tolerance = 1e-12, c(
    0.04293719271160759, 0.11671539071300706, 0.3172653256766647, 0.5230820908987206
  ))
  expect_equal(flip_pmf(score), tolerance = 1e-8, c(
    0.03061779781403657, 0.08688234276484397, 0.2733373543004241, 0.6091625051206954
  ))
  expect_equal(laplace_max_pmf(score), tolerance = 1e-8, c(
    0.03620905109803201, 0.10542820179670007, 0.3195369475227861, 0.5388257995824818
  ))
  # top two with Gumbel noise on scores 0, 1, 2
  expect_equal(pair_pmf(exponential_pmf, c(0, 1, 2)), tolerance = 1e-10, rbind(
    c(0, 0.02421295031519747, 0.06581762285518299),
    c(0.029172348851737098, 0, 0.21555612220306056),
    c(0.17891084819961467, 0.4863301075752072, 0)
  ))
})

test_that("one round has its law at any scale", {
  skip_on_cran()
  score <- c(0, 1, 2, 2.5)
  for (how in names(laws)) {
    p <- laws[[how]](score)
    for (bits in c(20, 30, 40)) {
      drawn <- draws(score, how, 1e4, bits, seed = bits)
      expect_gt(gof_draws_p(drawn, 1:4, p), alarm)
    }
    # the test would see another scale, and tells the three laws apart
    drawn <- draws(score, how, 5e4)
    expect_lt(gof_draws_p(drawn, 1:4, laws[[how]](1.15 * score)), alarm)
    for (other in setdiff(names(laws), how)) {
      expect_lt(gof_draws_p(drawn, 1:4, laws[[other]](score)), alarm)
    }
  }
})

test_that("negatives that are not stored are items like any other", {
  set.seed(302)
  score <- c(rnorm(300, sd = 3), 1e300, 0, -1e-300)
  for (how in names(laws)) {
    for (s in c(1, 2, 20)) {
      for (seed in 1:20) {
        top <- function(...) select_top(..., s, unit_law(20), how, fixed_key(seed))
        expect_identical(top(score[seed:302], mirrored = TRUE),
                         top(c(score[seed:302], -score[seed:302])))
      }
    }
  }
})

test_that("rounds without replacement have their law", {
  skip_on_cran()
  score <- c(2, 0, 1)
  for (how in names(laws)) {
    p <- pair_pmf(laws[[how]], score)
    drawn <- draws(score, how, 2e4, s = 2, seed = 5)
    cell <- drawn[1L, ] + 3 * (drawn[2L, ] - 1)
    live <- which(p > 0)
    expect_gt(gof_draws_p(cell, live, p[live]), alarm)
    expect_lt(gof_draws_p(cell, live, pair_pmf(laws[[how]], 1.2 * score)[live]), alarm)
    three <- draws(score, how, 50, s = 3)
    expect_true(all(apply(three, 2L, sort) == 1:3))
  }
})

test_that("many items in many buckets have the law of the exponential mechanism", {
  skip_on_cran()
  set.seed(303)
  score <- round(sample(c(seq(0, -12, length.out = 400), rep(-3.25, 60))) * 2^20) / 2^20
  for (shift in c(0, -1e9, 2^40)) {
    drawn <- draws(score + shift, "exponential", 2e4, 20, seed = 7)
    expect_gt(gof_draws_p(drawn, 1:460, exponential_pmf(score)), alarm)
    expect_lt(gof_draws_p(drawn, 1:460, exponential_pmf(1.1 * score)), alarm)
  }
  # many far below one: an item of bucket j is as likely as it should be
  many <- c(0, rep(-11.5, 2e4))
  p <- exp(-11.5) * 2e4 / (1 + exp(-11.5) * 2e4)
  hits <- sum(draws(many, "exponential", 300, seed = 8) > 1L)
  expect_gt(binomial_p(hits, 300, p), alarm)
  expect_gt(hits, 0)
})

test_that("the law is kept after the best items are gone", {
  skip_on_cran()
  # distances beyond 64 bits of steps, then close ones
  score <- c(5e13, 1, 2, 4e13)
  for (how in names(laws)) {
    drawn <- draws(score, how, 2e4, 40, s = 3, seed = 9)
    expect_true(all(drawn[1L, ] == 1L & drawn[2L, ] == 4L))
    p <- laws[[how]](c(1, 2))
    expect_gt(binomial_p(sum(drawn[3L, ] == 2L), 2e4, p[[1L]]), alarm)
    expect_lt(binomial_p(sum(drawn[3L, ] == 2L), 2e4, 0.5), alarm)
  }
})

test_that("the last bucket is reached when all others are empty, and stops there", {
  # separated by more than 64 scales: the order of the scores
  for (how in names(laws)) {
    expect_identical(
      drop(draws(c(-2000, 0, -3000, -1000), how, 1, s = 4)), c(2L, 4L, 1L, 3L)
    )
  }
})

test_that("extreme, equal and single scores are no special case", {
  skip_on_cran()
  for (how in names(laws)) {
    top <- draws(c(-1e308, 1e308, 0, 5e-324), how, 20)
    expect_true(all(top == 2L))
    drawn <- draws(rep(7, 5), how, 2e4, s = 2)
    for (i in 1:2) expect_gt(gof_draws_p(drawn[i, ], 1:5, rep(0.2, 5)), alarm)
    expect_true(all(drawn[1L, ] != drawn[2L, ]))
    expect_identical(drop(draws(-3, how, 3)), rep(1L, 3))
    expect_setequal(draws(rep(0, 300), how, 1, s = 300), 1:300)
    expect_setequal(draws(rnorm(257), how, 1, s = 257), 1:257)
    # both infinite ends of the clamp are ties
    tie <- draws(c(1e308, 1e307), how, 400, 40)
    expect_gt(binomial_p(sum(tie == 1L), 400, 0.5), alarm)
  }
})

test_that("top-s is a function of the key, and keys of the system differ", {
  set.seed(304)
  score <- rnorm(50)
  for (how in names(laws)) {
    one <- function(key) select_top(score, 20, unit_law(10), how, key)
    expect_identical(one(fixed_key(1)), one(fixed_key(1)))
    expect_false(identical(one(fixed_key(1)), one(fixed_key(2))))
    expect_false(identical(one(NULL), one(NULL)))
  }
})

test_that("the work of a selection is bounded, whatever the scores", {
  skip_on_cran()
  n <- 2e5
  score <- list(rep(0, n), seq_len(n) * 100, c(1e9, rep(0, n - 1)), -seq_len(n) / 1000)
  for (s in score) {
    chosen <- select_top(s, 100, unit_law(30), "exponential")
    expect_identical(anyDuplicated(chosen), 0L)
  }
  expect_identical(select_top(score[[2L]], 100, unit_law(30), "exponential"), as.integer(n) - 0:99)
})

test_that("shapes are checked in C, nothing stays allocated, an interrupt frees all", {
  live <- function() .Call(C_core_live)
  call <- function(v = c(1, 2), by = c(2^40, 40), how = "exponential", bits = 30, s = 1,
                   key = NULL) {
    .Call(C_select_top, v, by, how, bits, s, FALSE, key, FALSE)
  }
  expect_type(call(), "integer")
  expect_error(call(v = 1:2), "wrong type or length")
  expect_error(call(v = numeric()), "wrong type or length")
  expect_error(call(v = c(NaN, 1)), "finite")
  expect_error(call(how = "gumbel"), "unknown selection")
  expect_error(call(how = 1), "how")
  expect_error(call(bits = 41), "out of range")
  expect_error(call(bits = -1), "out of range")
  expect_error(call(s = 0), "more is to be chosen")
  expect_error(call(s = 3), "more is to be chosen")
  expect_error(call(s = 1.5), "whole")
  expect_error(call(key = "key"), "32 raw bytes")
  expect_identical(live(), 0)
  skip_on_cran()
  for (how in names(laws)) {
    stopped <- tryCatch({
      setTimeLimit(elapsed = 0.05, transient = TRUE)
      select_top(rep(0, 3e5), 3e5, unit_law(40), how)
      FALSE
    }, error = function(e) grepl("time limit", conditionMessage(e)), finally = setTimeLimit())
    expect_true(stopped)
    expect_identical(live(), 0)
  }
})

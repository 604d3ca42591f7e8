# Doubles to wide integers: exact values, sensitivities on the integers, and the noise.

# v m 2^-p, rounded, as columns of base 2^32, highest first and signed.
wide <- function(v, m, p) {
  .Call(C_release_vector, as.double(v), c(m, p), c(2, 0), NULL, TRUE)
}

# Differences, exact while below 2^53; sizes of numbers to 53 bits.
wide_value <- function(digits) {
  ((digits[, 1L] * 2^32 + digits[, 2L]) * 2^32 + digits[, 3L]) * 2^32 + digits[, 4L]
}

wide_difference <- function(a, b) wide_value(a - b)

test_that("scaled integers agree with rational arithmetic", {
  # v, m, p and the digits of round(v m / 2^p), halves away from zero, within 2^126
  known <- rbind(
    c(0, 1099511627776, 0, 0, 0, 0, 0),
    c(1, 1099511627776, 40, 0, 0, 0, 1),
    c(-0.5, 1099511627776, 40, -1, 4294967295, 4294967295, 4294967295),
    c(2.5, 1099511627776, 40, 0, 0, 0, 3),
    c(0.49999999999999994, 1099511627776, 40, 0, 0, 0, 0),
    c(5e-324, 2199023255551, -1034, 0, 0, 0, 2),
    c(-1e308, 1099511640121, 950, -145823, 2396469858, 2506038346, 2348810240),
    c(1e308, 1099511640121, 0, 1073741824, 0, 0, 0),
    c(2^53, 1649267441663, 12, 0, 196607, 4294966784, 0),
    c(-2^53, 1234567890123, -40, -1073741824, 0, 0, 0),
    c(3.141592653589793, 2000000000001, 3, 0, 0, 182, 3714115526),
    c(-1e12, 1100000000003, 11, -1, 4294967266, 3793497385, 3785183770),
    c(1e-310, 1500000000007, -1010, 0, 0, 0, 1645837),
    c(-2.2250738585072014e-308, 1099511627776, -995, -1, 4294967295, 4294967295, 4294959104),
    c(123456.789, 1999999999999, 200, 0, 0, 0, 0),
    c(7, 1099511627777, 41, 0, 0, 0, 4),
    c(1.7976931348623157e308, 1099511627776, 938, 1073741823, 4294966784, 0, 0)
  )
  for (i in seq_len(nrow(known))) {
    expect_identical(drop(wide(known[i, 1L], known[i, 2L], known[i, 3L])), known[i, 4:7])
  }
  # odd, and monotone over all doubles
  powers <- 10^seq(-320, 308, by = 7)
  v <- sort(c(-powers, 0, powers, 2^53 + 0:4, 1 + 0:9 * 2^-52))
  for (p in c(-1100, -300, 0, 40, 300, 1100)) {
    x <- wide(v, 2^41 - 1, p)
    y <- wide(-rev(v), 2^41 - 1, p)
    expect_true(all(wide_value(x + y[rev(seq_along(v)), ]) == 0))
    expect_true(all(diff(wide_value(x)) >= 0))
  }
})

test_that("the multiplier is steps / sensitivity, rounded down by less than 2^-39", {
  for (steps in c(1, 3, 2^30 / 7, 2^40, 1e60)) {
    for (sensitivity in c(1, 1 / 3, 2 - 2^-52, 1e-300, 5e-324, 1e308, 1.7e308)) {
      by <- grid_multiplier(steps, sensitivity)
      expect_true(by[[1L]] >= 2^40 && by[[1L]] < 2^41 && by[[1L]] == floor(by[[1L]]))
      ratio <- log2(by[[1L]]) - by[[2L]] - (log2(steps) - log2(sensitivity))
      expect_lte(ratio, 1e-12)
      expect_gte(ratio, -1e-11)
    }
  }
  # rounded down in exact arithmetic where that can be seen
  by <- grid_multiplier(2^30, 1)
  expect_lt(by[[1L]] * 2^-by[[2L]], 2^30)
})

# Neighbours that differ by at most `size` in one entry, exactly in doubles.
neighbours <- function(size) {
  at <- c(0, size, -size, 3 * size, -7 * size, 1024 * size, 2^20 * size, size / 2, -size / 2)
  at <- at[is.finite(at) & is.finite(at + size)]
  pairs <- rbind(cbind(at, at + size), cbind(at, at - size), cbind(at, at + size / 2))
  pairs[abs(pairs[, 2L] - pairs[, 1L]) <= size & is.finite(pairs[, 2L]), , drop = FALSE]
}

test_that("one entry moves by what the law allows, and no more", {
  sizes <- c(1, 0.3, 2^-1074, 3 * 2^-1074, 1e-310, 1e-300, 1e300, 2^1000, 2^53 + 2)
  for (size in sizes) {
    for (cost in c(1e-4, 1, 37)) {
      for (kind in c("gaussian", "laplace")) {
        law <- vector_law(kind, 1, cost, size)
        pairs <- neighbours(size)
        exact <- function(v) release_vector(v, law, exact = TRUE)
        moved <- abs(wide_difference(exact(pairs[, 1L]), exact(pairs[, 2L])))
        allowed <- 2^law$bits * cost
        expect_lte(max(moved), allowed)
        expect_gte(max(moved), allowed * (1 - 1e-10) - 3) # attained: the test can fail
      }
      score <- score_law(cost, size)
      exact <- function(v) select_top(v, 1, score, "exponential", exact = TRUE)
      moved <- abs(wide_difference(exact(pairs[, 1L]), exact(pairs[, 2L])))
      expect_lte(2 * max(moved), 2^score$bits * cost)
      expect_gte(2 * max(moved), 2^score$bits * cost * (1 - 1e-10) - 6)
    }
  }
  # whatever an entry holds, one that moves within the sensitivity stays inside
  law <- vector_law("gaussian", 1, 1, 1e308)
  v <- c(0, 1e308, -1e308, 5e-324, -5e-324, 1, 2^53 + 2, 1e-310)
  for (a in v) {
    for (b in v[abs(v - a) <= 1e308]) {
      moved <- wide_difference(
        release_vector(a, law, exact = TRUE), release_vector(b, law, exact = TRUE)
      )
      expect_lte(abs(moved), 2^law$bits)
    }
  }
})

test_that("vectors move by what the law allows in l2 and l1", {
  set.seed(301)
  for (d in c(2, 50, 3000)) {
    for (centre in c(0, 1e6, -1e15)) {
      a <- centre + round(rnorm(d) * 2^20) / 2^20
      for (kind in c("gaussian", "laplace")) {
        size <- if (kind == "gaussian") l2 else l1
        # the same move in every entry: the worst case for rounding
        move <- rep(2^-10, d) * sample(c(-1, 1), d, TRUE)
        law <- vector_law(kind, d, 0.5, size(move))
        b <- a + move
        moved <- wide_difference(
          release_vector(a, law, exact = TRUE), release_vector(b, law, exact = TRUE)
        )
        real <- size((b - a)) / size(move)
        expect_lte(size(moved), 2^law$bits * 0.5 * max(1, real))
        expect_gte(size(moved), 2^law$bits * 0.5 * min(1, real) * (1 - 1e-6))
      }
    }
  }
})

test_that("the noise is that of the law, and what leaves is a function of the integers", {
  skip_on_cran()
  set.seed(302)
  n <- 4000
  for (kind in c("gaussian", "laplace")) {
    for (cost in c(0.01, 2)) {
      law <- vector_law(kind, n, cost, 3)
      key <- fixed_key(7)
      step <- law$scale / 2^law$bits
      for (value in list(rep(0, n), 100 * rnorm(n))) {
        exact <- wide_value(release_vector(value, law, exact = TRUE))
        noise <- round(release_vector(value, law, key) / step) - exact
        expect_equal(noise, key_noise(law, n, key), tolerance = 1e-9)
        x <- noise / 2^law$bits
        p <- function(x) {
          q <- if (kind == "gaussian") pchisq(sum(x^2), n) else pchisq(2 * sum(abs(x)), 2 * n)
          2 * min(q, 1 - q)
        }
        expect_gt(p(x), alarm)
        expect_lt(p(1.2 * x), alarm) # the test would see another scale
        expect_lt(p(x / 1.2), alarm)
      }
      # an entry below half a step is 0 and leaves no trace
      zeros <- release_vector(rep(0, n), law, key)
      expect_identical(release_vector(rep(5e-324, n), law, key), zeros)
    }
  }
})

test_that("values far above the noise keep their digits; the farthest are clamped", {
  law <- vector_law("gaussian", 3, 1, 1)
  v <- c(1e12, -123456789.25, 2^60)
  got <- release_vector(v, law, fixed_key(8))
  small <- release_vector(c(0, 0, 0), law, fixed_key(8))
  expect_lt(max(abs(got - v - small) / pmax(abs(v) * 1e-12, 1e-6)), 1)
  expect_true(any(got != v))
  far <- release_vector(c(1e308, -1e308, 0), law, fixed_key(8))
  expect_true(all(is.finite(far)))
  expect_gt(far[[1L]], 2^85)
  expect_lt(far[[1L]], 2^87)
  expect_lt(far[[2L]], -2^85)
  # near the largest double the sum stays finite
  huge <- vector_law("laplace", 200, 0.5, 1e307)
  out <- release_vector(rep(1.7e308, 200), huge, fixed_key(9))
  expect_true(all(is.finite(out)))
})

test_that("the grid refuses what leaves no room", {
  expect_error(vector_law("gaussian", 1, 1e-12, 1), "epsilon", class = "dp_error_input")
  expect_error(vector_law("laplace", 1e7, 1e-5, 1), "epsilon", class = "dp_error_input")
  expect_error(vector_law("gaussian", 1, 0, 1), "epsilon", class = "dp_error_input")
  expect_error(score_law(1e-12, 1), "epsilon", class = "dp_error_input")
  expect_error(vector_law("gaussian", 1, 1e-3, 1e308), "sensitivity", class = "dp_error_input")
  expect_true(all(is.finite(release_vector(1:3, vector_law("gaussian", 3, Inf, 1)))))
})

test_that("shapes are checked in C, too", {
  law <- vector_law("gaussian", 1, 1, 1)
  call <- function(v = 1, by = law$multiplier, noise = law$noise, key = NULL) {
    .Call(C_release_vector, v, by, noise, key, FALSE)
  }
  expect_type(call(), "double")
  expect_error(call(v = 1L), "wrong type or length")
  expect_error(call(v = numeric()), "wrong type or length")
  expect_error(call(v = c(1, NA)), "finite")
  expect_error(call(v = -Inf), "finite")
  expect_error(call(by = c(1, 1)), "multiplier")
  expect_error(call(by = c(2^41, 1)), "multiplier")
  expect_error(call(by = c(NA, 1)), "multiplier")
  expect_error(call(by = c(2^40, 1e5)), "multiplier")
  expect_error(call(by = 2^40), "multiplier")
  expect_error(call(noise = c(0, 0)), "needs noise")
  expect_error(call(noise = c(3, 0)), "noise")
  expect_error(call(noise = c(1, 46)), "noise")
  expect_error(call(key = raw(3)), "32 raw bytes")
})

# The answer does not depend on the number of threads: the same bits of every release. Rows
# enough for several chunks (at most 16,384 rows each, src/dph_parallel.c), so that the
# parallel branch runs; with one processor, or without OpenMP, only the chunks are tested.

threads_at_hand <- function() .Call(C_threads_max)

skip_if_single <- function() skip_if(threads_at_hand() < 2, "one thread at hand")

many <- local({
  set.seed(901)
  rows <- made_up_rows(
    30000, 5, list(intercept = TRUE, centring = TRUE, offset = TRUE, use = TRUE)
  )
  rows$which <- as.double(0:5)
  rows
})

with_threads <- function(rows, threads) {
  rows$threads <- as.double(threads)
  rows
}

# Every release at its exact integers, or plain sums: f(rows, norm) for each.
releases <- local({
  key <- fixed_key(5)
  root <- {
    set.seed(902)
    made_up_root(6)
  }
  w <- c(0.3, -0.2, 0.1, 0, 0.5, -0.4)
  law <- gradient_law(30000, 6, 0.1, 3, root)
  descent <- function(loss, estimator, noiseless = FALSE) {
    plan <- descent_plan(6, if (noiseless) NO_NOISE else law, 3, root, iterations = 3)
    plan[c("loss", "estimator")] <- list(loss, estimator)
    plan
  }
  list(
    pairs = function(r, v) {
      release_octaves(r, "pairs", octave_cells(), NO_NOISE, key, exact = TRUE)
    },
    octaves = function(r, v) {
      release_octaves(r, "columns", octave_cells(-20, 20, 4, TRUE), NO_NOISE, key, exact = TRUE)
    },
    equal = function(r, v) {
      release_equal_cells(r, rep(-3, 6), rep(0.2, 6), 30, NO_NOISE, key, exact = TRUE)
    },
    norms = function(r, v) row_norms(r, root),
    norms_y = function(r, v) row_norms(r, NULL, TRUE),
    moments = function(r, v) {
      release_moments(r, v, 3, list(step = 1e-3, noise = c(0, 0)), key, exact = TRUE)
    },
    plain_moments = function(r, v) release_moments(r, v, Inf, NO_NOISE),
    weighted_moments = function(r, v) {
      release_weighted_moments(r, 1 / (1 + v), root, 3, list(step = 1e-3, noise = c(0, 0)), key,
                               exact = TRUE)
    },
    sizes = function(r, v) {
      release_sizes(r, v, w, "squared", octave_cells(-20, 20, 4), NO_NOISE, key, exact = TRUE)
    },
    lengths = function(r, v) {
      release_sizes(r, v, NULL, "squared", octave_cells(-20, 20, 4), NO_NOISE, key, exact = TRUE)
    },
    sums = function(r, v) release_sums(r, list(limit = 50, noise = c(0, 0)), key, exact = TRUE),
    plain_sums = function(r, v) release_sums(r, NO_NOISE),
    complete = function(r, v) release_complete(r, NO_NOISE, key, exact = TRUE),
    gradient = function(r, v) {
      release_descent(r, v, w, descent("squared", "clipped"), key, exact = TRUE)
    },
    descent = function(r, v) release_descent(r, v, w, descent("logistic", "covariate"), key),
    plain_descent = function(r, v) {
      release_descent(r, v, w, descent("squared", "clipped", noiseless = TRUE), key)
    }
  )
})

test_that("every release has the same bits with one thread and with several", {
  skip_if_single()
  norm <- row_norms(many)
  for (name in names(releases)) {
    want <- releases[[name]](with_threads(many, 1), norm)
    for (threads in c(2, 64)) {
      expect_identical(releases[[name]](with_threads(many, threads), norm), want, label = name)
    }
  }
  expect_identical(.Call(C_core_live), 0)
})

test_that("chunks and their sums are those of all rows", {
  # one thread or many: 60,000 rows are several chunks and, for doubles, several sums
  norm <- row_norms(many)
  use <- is.finite(norm) & many$use
  moments <- release_moments(many, norm, Inf, NO_NOISE)
  packed <- moments[upper.tri(diag(7), diag = TRUE)] * 30000
  expect_equal(packed, twin_moments(many, norm, Inf, 0), tolerance = 1e-11)
  exact <- release_moments(many, norm, 3, list(step = 1e-3, noise = c(0, 0)), exact = TRUE)
  expect_identical(from_int64(exact), twin_moments(many, norm, 3, 1e-3))
  counts <- from_int64(release_complete(many, NO_NOISE, exact = TRUE))
  expect_identical(counts, as.double(colSums(!is.na(many$x[many$use, ]))))
})

whole_fits <- function(threads) {
  control <- dp_control(rng = "R", threads = threads)
  n <- 30000
  set.seed(903)
  x <- matrix(stats::rt(4 * n, 3), n)
  y <- 1 + x[, 1] - x[, 2] + stats::rt(n, 3)
  b <- as.numeric(y > 0.5)
  fit <- function(expr) {
    set.seed(904)
    coef(expr)
  }
  list(
    mean = fit(dp_mean(x, 1, 1e-6, control = control)),
    mean_na = fit(dp_mean(x[, 1], 1, na.rm = TRUE, control = control)),
    plain_mean = fit(dp_mean(x, Inf, control = control)),
    lm = fit(dp_lm(x, y, epsilon = 1, delta = 1e-6, control = control)),
    huber = fit(dp_lm(x, y, epsilon = 1, delta = 1e-6, loss = "huber", control = control)),
    plain_lm = fit(dp_lm(x, y, epsilon = Inf, control = control)),
    glm = fit(dp_glm(x, b, epsilon = 1, delta = 1e-6, control = control)),
    plain_glm = fit(dp_glm(x, b, epsilon = Inf, control = control))
  )
}

test_that("whole fits have the same bits with one thread and with two", {
  skip_if_single()
  expect_identical(whole_fits(2), whole_fits(1))
})

test_that("a forked child goes on with one thread and has the same bits", {
  skip_on_os("windows")
  skip_if_single()
  norm <- row_norms(with_threads(many, 2)) # the pool of threads is there before the fork
  want <- lapply(releases, function(f) f(with_threads(many, 2), norm))
  job <- parallel::mcparallel(list(
    threads = threads_at_hand(),
    values = lapply(releases, function(f) f(with_threads(many, 2), norm))
  ))
  got <- parallel::mccollect(job)[[1L]]
  expect_identical(got, list(threads = 1, values = want))
})

test_that("no more threads than there are processors, and one at least", {
  most <- threads_at_hand()
  expect_true(most >= 1 && most == floor(most))
  expect_lte(most, parallel::detectCores())
})

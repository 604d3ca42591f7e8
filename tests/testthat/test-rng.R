# Hygiene of the random bits, of errors and of interrupts.

x_rng <- function(n = 400) cbind(a = fixture(n)$x1, b = fixture(n)$x2)
fit_rng <- function(control = dp_control(), n = 400) {
  x <- x_rng(n)
  dp_lm(x, x[, 1L] - x[, 2L] + fixture(n, 12)$x1, 20, 1e-5, control = control)
}
state <- function() get0(".Random.seed", envir = globalenv(), inherits = FALSE)

test_that("secure releases leave R's generator alone, also before it exists", {
  old <- state()
  on.exit(if (!is.null(old)) assign(".Random.seed", old, envir = globalenv()))
  set.seed(301)
  before <- state()
  fit_rng()
  dp_mean(x_rng(), 8)
  dp_quantile(x_rng()[, 1L], 0.5, 1)
  expect_identical(state(), before)
  rm(".Random.seed", envir = globalenv())
  fit_rng()
  dp_mean(x_rng(), 8)
  expect_false(exists(".Random.seed", envir = globalenv(), inherits = FALSE))
})

test_that("secure releases differ whatever the seed", {
  set.seed(302)
  a <- list(coef(fit_rng()), coef(dp_mean(x_rng(), 8)))
  set.seed(302)
  b <- list(coef(fit_rng()), coef(dp_mean(x_rng(), 8)))
  expect_false(any(unlist(a) == unlist(b)))
  raw <- function() release_sums(new_rows(matrix(0, 5, 20)), sum_law("gaussian", 5, 20, 1))
  expect_false(any(raw() == raw()))
})

test_that("children of a fork draw different noise", {
  skip_on_os("windows")
  skip_on_cran()
  got <- parallel::mclapply(1:4, function(i) {
    release_sums(new_rows(matrix(0, 5, 20)), sum_law("gaussian", 5, 20, 1))
  }, mc.cores = 2, mc.set.seed = FALSE)
  expect_identical(lengths(got), rep(20L, 4))
  expect_identical(anyDuplicated(unlist(got)), 0L)
})

test_that("rng = \"R\" is repeatable, stamped, and keeps nothing of the key", {
  control <- dp_control(rng = "R")
  set.seed(303)
  a <- fit_rng(control)
  set.seed(303)
  b <- fit_rng(control)
  expect_identical(a, b)
  expect_false(identical(coef(fit_rng(control)), coef(a)))
  expect_output(print(a), "NOT FOR RELEASE")
  expect_output(print(summary(a)), "NOT FOR RELEASE")
  expect_false(any(grepl("NOT FOR RELEASE", utils::capture.output(print(fit_rng())))))
  set.seed(303)
  u <- stats::runif(32 * 20)
  key <- floor(u * 256)
  bytes <- serialize(a, NULL, xdr = TRUE)
  for (i in 0:12) {
    one <- key[i * 32 + 1:32]
    expect_false(has_bytes(bytes, as.raw(one[1:8])))
    expect_false(leaks(a, u[[i * 32 + 1]]))
  }
  set.seed(303)
  expect_false(has_bytes(bytes, writeBin(state()[3:6], raw(), endian = "big")))
  names <- names(unlist(lapply(unclass(a), function(part) if (is.list(part)) part)))
  expect_false(any(grepl("key|seed", c(names(a), names))))
})

test_that("a malformed key is refused", {
  rows <- new_rows(matrix(0, 5, 2))
  law <- sum_law("gaussian", 5, 2, 1)
  for (key in list(raw(31), raw(33), 1:32, "key", numeric(32))) {
    expect_error(release_sums(rows, law, key), "key")
  }
  expect_identical(.Call(C_core_live), 0)
})

test_that("a long fit stops at once when it is interrupted, and frees all", {
  skip_on_cran()
  set.seed(304)
  x <- matrix(stats::rnorm(2e6), 2e4)
  y <- stats::rnorm(2e4)
  begun <- proc.time()[["elapsed"]]
  text <- tryCatch({
    setTimeLimit(elapsed = 2, transient = TRUE)
    dp_lm(x, y, epsilon = eps, delta = del, control = dp_control(iterations = 1e6))
  }, error = conditionMessage, finally = setTimeLimit())
  expect_match(text, "time limit")
  expect_lt(proc.time()[["elapsed"]] - begun, 10)
  expect_identical(.Call(C_core_live), 0)
})

test_that("interrupts inside a release leave nothing behind, many times over", {
  skip_on_cran()
  set.seed(305)
  rows <- new_rows(matrix(stats::rnorm(4e5), 2e4), stats::rnorm(2e4))
  plan <- descent_plan(20, gradient_law(2e4, 20, 1, 1, NULL), 1, iterations = 1e5)
  norm <- row_norms(rows)
  stopped <- vapply(seq_len(20), function(i) {
    tryCatch({
      setTimeLimit(elapsed = 0.02, transient = TRUE)
      release_descent(rows, norm, rep(0, 20), plan)
      FALSE
    }, error = function(e) grepl("time limit", conditionMessage(e)), finally = setTimeLimit())
  }, NA)
  expect_true(all(stopped))
  expect_identical(.Call(C_core_live), 0)
})

test_that("a fit is the same under a torturing garbage collector", {
  skip_on_cran()
  control <- dp_control(rng = "R")
  z <- d[1:40, ]
  run <- function() {
    set.seed(306)
    suppressWarnings(dp_lm(y ~ x1 + f, z, epsilon = 50, delta = del, control = control))
  }
  a <- run()
  gctorture2(101)
  on.exit(gctorture2(0))
  b <- run()
  gctorture2(0)
  expect_identical(coef(a), coef(b))
  z <- stats::setNames(data.frame(d$y, d$x1), c("y", "%s%n"))
  expect_error(dp_lm(y ~ ., z, epsilon = -1, delta = del), "epsilon")
  expect_identical(.Call(C_core_live), 0)
})

draw_noise <- function(kind, k, n, key = fixed_key(1)) {
  .Call(dpheavy:::C_draw_noise, as.double(kind), as.double(k), as.double(n), key)
}

chacha <- function(key, n) {
  .Call(dpheavy:::C_chacha_block, key, as.double(n))
}

hex <- function(bytes) paste(format(bytes), collapse = "")

test_that("the stream is ChaCha20 (RFC 8439, appendix A.1)", {
  zero <- raw(32)
  stream <- chacha(zero, 128)
  expect_identical(
    hex(stream[1:64]),
    paste0(
      "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7",
      "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    )
  )
  expect_identical(
    hex(stream[65:128]),
    paste0(
      "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed",
      "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
    )
  )
  key <- zero
  key[32] <- as.raw(1)
  expect_identical(
    hex(chacha(key, 128)[65:128]),
    paste0(
      "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a",
      "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"
    )
  )
  expect_identical(chacha(zero, 5), stream[1:5])
  expect_identical(chacha(zero, 0), raw(0))
})

test_that("the pmfs used below agree with independent reference values", {
  expect_rel <- function(got, want) expect_lt(max(abs(got / want - 1)), 1e-12)
  expect_rel(discrete_gaussian_pmf(0:1, 0.5), c(0.7865707070419479, 0.10645076942314473))
  expect_rel(discrete_gaussian_pmf(0:1, 1), c(0.3989422782668617, 0.24197072322446062))
  expect_rel(discrete_gaussian_pmf(0:1, 2), c(0.19947114020071635, 0.17603266338214973))
  expect_rel(discrete_gaussian_pmf(0:1, 10), c(0.03989422804014327, 0.03969525474770118))
  expect_rel(discrete_laplace_pmf(0:1, 0.5), c(0.7615941559557649, 0.10307056080762242))
  expect_rel(discrete_laplace_pmf(0:1, 7.3), c(0.06838624372115826, 0.059631585267299995))
})

test_that("small discrete Laplace and Gaussian draws follow their pmf", {
  skip_on_cran()
  for (k in 0:3) {
    x <- seq(-12 * 2^k, 12 * 2^k)
    laplace <- draw_noise(0, k, 2e5, fixed_key(10 + k))
    gaussian <- draw_noise(1, k, 2e5, fixed_key(20 + k))
    expect_gt(gof_draws_p(laplace, x, discrete_laplace_pmf(x, 2^k)), alarm)
    expect_gt(gof_draws_p(gaussian, x, discrete_gaussian_pmf(x, 2^k)), alarm)
    # the test would see the neighbouring law
    expect_lt(gof_draws_p(laplace, x, discrete_laplace_pmf(x, 2^k * 1.05)), alarm)
    expect_lt(gof_draws_p(gaussian, x, discrete_gaussian_pmf(x, 2^k * 1.05)), alarm)
  }
})

test_that("large scales keep their law", {
  skip_on_cran()
  for (k in c(20, 31, 32, 33, 40, 45)) {
    gaussian <- draw_noise(1, k, 2e4, fixed_key(30 + k)) / 2^k
    expect_gt(scale_p(gaussian, 1), alarm)
    expect_gt(suppressWarnings(ks.test(gaussian, "pnorm")$p.value), alarm)
    laplace <- draw_noise(0, k, 2e4, fixed_key(90 + k)) / 2^k
    expect_gt(suppressWarnings(ks.test(abs(laplace), "pexp")$p.value), alarm)
    expect_gt(binomial_p(sum(laplace > 0), 2e4, 0.5), alarm)
    # whole numbers, down to the last bit
    expect_identical(gaussian * 2^k, round(gaussian * 2^k))
    expect_gt(binomial_p(sum((gaussian * 2^k) %% 2 == 0), 2e4, 0.5), alarm)
    expect_gt(binomial_p(sum((laplace * 2^k) %% 2 == 0), 2e4, 0.5), alarm)
  }
})

test_that("a Bernoulli draw has probability exp(-num / 2^k)", {
  skip_on_cran()
  cases <- list(
    c(0, 0), c(1, 0), c(3, 0), c(1, 1), c(1, 4), c(15, 4), c(17, 4), c(2^31 + 1, 32),
    c(2^40, 41), c(5 * 2^43, 44), c(2^52, 63)
  )
  for (i in seq_along(cases)) {
    num <- cases[[i]][1]
    k <- cases[[i]][2]
    hits <- sum(.Call(dpheavy:::C_bernoulli_exp, num, k, 1e5, fixed_key(200 + i)))
    expect_gt(binomial_p(hits, 1e5, exp(-num / 2^k)), alarm)
  }
  expect_identical(.Call(dpheavy:::C_bernoulli_exp, 0, 0, 3, NULL), c(1L, 1L, 1L))
  expect_identical(.Call(dpheavy:::C_bernoulli_exp, 2^53, 0, 3, NULL), c(0L, 0L, 0L))
})

test_that("a key repeats, the system's keys do not, R's generator is untouched", {
  expect_identical(draw_noise(1, 30, 5), draw_noise(1, 30, 5))
  expect_false(identical(draw_noise(1, 30, 5, fixed_key(2)), draw_noise(1, 30, 5)))
  set.seed(1)
  before <- .Random.seed
  a <- draw_noise(1, 30, 5, NULL)
  expect_identical(.Random.seed, before)
  set.seed(1)
  b <- draw_noise(1, 30, 5, NULL)
  expect_false(any(a == b))
})

test_that("forked children draw their own noise", {
  skip_on_os("windows")
  skip_on_cran()
  draw_noise(1, 40, 1, NULL)
  mclapply <- getExportedValue("parallel", "mclapply")
  children <- mclapply(1:2, function(i) draw_noise(1, 40, 3, NULL), mc.cores = 2)
  expect_false(any(children[[1]] == children[[2]]))
})

test_that("shapes are checked", {
  expect_error(draw_noise(1, 46, 1), "out of range")
  expect_error(draw_noise(2, 1, 1), "out of range")
  expect_error(draw_noise(1, 1.5, 1), "out of range")
  expect_error(draw_noise(1, NA, 1), "out of range")
  expect_error(draw_noise(1, 1, -1), "out of range")
  expect_error(draw_noise(1, 1, 1, raw(31)), "32 raw bytes")
  expect_error(draw_noise(1, 1, 1, "key"), "32 raw bytes")
  expect_error(draw_noise(1, c(1, 2), 1), "wrong type or length")
  expect_identical(draw_noise(1, 1, 0), numeric(0))
})

# Designs of the regression benches. Columns' scale: the factor that multiplies a
# column of unit scale; slopes are given per scale.
autoregressive <- function(rho) {
  function(n, d) {
    x <- matrix(rt(n * d, 3), n, d)
    for (j in seq_len(d)[-1L]) x[, j] <- rho * x[, j - 1L] + sqrt(1 - rho^2) * x[, j]
    x
  }
}

designs <- list(
  "t(3)" = function(n, d) matrix(rt(n * d, 3), n, d),
  "lognormal(0, 0.6)" = function(n, d) matrix(exp(0.6 * rnorm(n * d)), n, d),
  "t(3), scales 1e-3 to 1e3" = function(n, d) {
    matrix(rt(n * d, 3), n, d) * rep(column_scale("t(3), scales 1e-3 to 1e3", d), each = n)
  },
  "1e4 + t(3)" = function(n, d) 1e4 + matrix(rt(n * d, 3), n, d),
  "AR(0.5) of t(3)" = autoregressive(0.5),
  "Pareto(2.5)" = function(n, d) matrix(runif(n * d)^(-1 / 2.5), n, d),
  "20 % binary, t(3)" = function(n, d) {
    x <- matrix(rt(n * d, 3), n, d)
    binary <- seq_len(ceiling(0.2 * d))
    x[, binary] <- rbinom(n * length(binary), 1, 0.5)
    x
  },
  "t(3), rows sorted" = function(n, d) {
    x <- matrix(rt(n * d, 3), n, d)
    x[order(x[, 1L]), , drop = FALSE]
  }
)

harder_designs <- list(
  "AR(0.8) of t(3)" = autoregressive(0.8),
  "lognormal(0, 1)" = function(n, d) matrix(exp(rnorm(n * d)), n, d)
)

column_scale <- function(design, d) {
  if (design == "t(3), scales 1e-3 to 1e3") 10^seq(-3, 3, length.out = d) else rep(1, d)
}

# Slopes of alternating sign and norm `size` per column scale.
true_slopes <- function(size, d) size * rep_len(c(1, -1), d) / sqrt(d)

scaled_error <- function(slopes, truth, scale) sum(((slopes - truth) * scale)^2)

least_squares <- function(x, y) {
  m <- colMeans(x)
  z <- sweep(x, 2L, m)
  s <- sqrt(colMeans(z^2))
  z <- sweep(z, 2L, s, "/")
  drop(solve(crossprod(z), crossprod(z, y - mean(y)))) / s
}

# Laws and distribution tests. Keys are fixed, so a test that passes once passes
# always; the false-alarm rate of a test on a fresh key is `alarm` each.

alarm <- 1e-6

# 32 key bytes from a number, without touching R's generator.
fixed_key <- function(seed) {
  as.raw((seed * 37 + seq_len(32) * (13 + seed %% 11)) %% 256)
}

# Upper-tail p value of counts against probabilities; cells expected fewer than
# five times are pooled, and what `p` lacks to one is a cell of its own.
gof_p <- function(count, p, total = sum(count)) {
  count <- c(count, total - sum(count))
  p <- c(p, max(0, 1 - sum(p)))
  rare <- p * total < 5
  count <- c(count[!rare], sum(count[rare]))
  p <- c(p[!rare], sum(p[rare]))
  if (p[length(p)] * total < 1) {
    if (count[length(count)] > 20) {
      return(0)
    }
    count <- count[-length(count)]
    p <- p[-length(p)]
  }
  expected <- p * total
  stats::pchisq(sum((count - expected)^2 / expected), length(p) - 1, lower.tail = FALSE)
}

# The same for draws and a pmf on whole numbers `support`.
gof_draws_p <- function(draws, support, p) {
  gof_p(tabulate(match(draws, support), length(support)), p, length(draws))
}

# P(x) proportional to exp(-|x| / scale) on the whole numbers.
discrete_laplace_pmf <- function(x, scale) {
  exp(-abs(x) / scale) * tanh(1 / (2 * scale))
}

# P(x) proportional to exp(-x^2 / (2 sigma^2)) on the whole numbers.
discrete_gaussian_pmf <- function(x, sigma) {
  far <- ceiling(40 * sigma) + 5
  exp(-x^2 / (2 * sigma^2)) / sum(exp(-seq(-far, far)^2 / (2 * sigma^2)))
}

# P(i) proportional to exp(score_i / scale).
exponential_pmf <- function(score, scale = 1) {
  w <- exp((score - max(score)) / scale)
  w / sum(w)
}

# Both tails of a binomial count.
binomial_p <- function(k, n, p) {
  min(1, 2 * min(stats::pbinom(k, n, p), stats::pbinom(k - 1, n, p, lower.tail = FALSE)))
}

# Both tails of the variance of normal draws with known mean zero.
scale_p <- function(x, sigma) {
  q <- stats::pchisq(sum(x^2) / sigma^2, length(x))
  2 * min(q, 1 - q)
}

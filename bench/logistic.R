# Private logistic regression beside glm(): excess risk relative to that of zeros.
#   R_LIBS=.Rlib Rscript bench/logistic.R [repetitions]
# x iid t(3) or lognormal(0, 0.6), |w| = 2 with equal entries of alternating sign, no intercept.
source("bench/tools.R")

reps <- repetitions(40L)

designs <- list(
  `t(3)` = function(n, d) matrix(rt(n * d, 3), n, d),
  `lognormal(0, 0.6)` = function(n, d) matrix(exp(0.6 * rnorm(n * d)), n, d)
)

# Expected loss given x: no noise of the response in it.
risk <- function(x, p, w) {
  eta <- drop(x %*% w)
  mean(pmax(eta, 0) + log1p(exp(-abs(eta))) - p * eta)
}

one_run <- function(draw, n, d, epsilon, seed) {
  set.seed(bench_seed + seed)
  w <- 2 / sqrt(d) * rep_len(c(1, -1), d)
  x <- draw(n, d)
  y <- rbinom(n, 1, plogis(drop(x %*% w)))
  test <- draw(1e5, d)
  p <- plogis(drop(test %*% w))
  best <- risk(test, p, w)
  excess <- function(v) (risk(test, p, v) - best) / (risk(test, p, 0 * w) - best)
  private <- vapply(epsilon, function(e) {
    got <- outcome(dp_glm(x, y, e, 1e-5, intercept = FALSE, control = control))
    excess(coef(got$value))
  }, 0)
  plain <- suppressWarnings(stats::glm.fit(x, y, family = stats::binomial())$coefficients)
  c(private, excess(plain))
}

sizes <- data.frame(n = c(1e4, 1e5, 1e5), d = c(10, 10, 50))
epsilon <- c(0.5, 1, 2)
rows <- list()
for (name in names(designs)) for (i in seq_len(nrow(sizes))) {
  n <- sizes$n[[i]]
  d <- sizes$d[[i]]
  got <- vapply(seq_len(reps), function(r) one_run(designs[[name]], n, d, epsilon, r),
                numeric(length(epsilon) + 1))
  middle <- apply(got, 1L, stats::median)
  high <- apply(got, 1L, stats::quantile, 0.95)
  rows[[length(rows) + 1L]] <- data.frame(
    x = name, n = n, d = d, t(stats::setNames(three(middle), c(paste("epsilon", epsilon), "glm"))),
    worst = three(high[[2L]]), zeros = three(mean(got[2L, ] > 1)), check.names = FALSE
  )
}
table <- do.call(rbind, rows)
names(table)[ncol(table) - 1:0] <- c("95 % at epsilon 1", "worse than 0")
write_table("logistic", "Private logistic regression, delta = 1e-5, nothing known", table, sprintf(
  "Median of %d repetitions, seeds %d + 1, ...; excess risk over that of zeros.", reps, bench_seed
))

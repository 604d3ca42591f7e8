# Private means with nothing known, against the plain sample mean of the same draws.
source("bench/tools.R")

reps <- repetitions(200L)

designs <- list(
  "Pareto(1.8)" = list(function(n) runif(n)^(-1 / 1.8), 1.8 / 0.8),
  "-Pareto(1.8)" = list(function(n) -runif(n)^(-1 / 1.8), -1.8 / 0.8),
  "1 + t(2)" = list(function(n) 1 + rt(n, 2), 1),
  "lognormal(0, 2)" = list(function(n) exp(2 * rnorm(n)), exp(2)),
  "1000 + t(2.5)" = list(function(n) 1000 + rt(n, 2.5), 1000),
  "1e-9 Pareto(1.8)" = list(function(n) 1e-9 * runif(n)^(-1 / 1.8), 1e-9 * 1.8 / 0.8),
  "1e12 (1 + t(2))" = list(function(n) 1e12 * (1 + rt(n, 2)), 1e12),
  "1 + normal" = list(function(n) 1 + rnorm(n), 1),
  "1e6 + uniform" = list(function(n) 1e6 + runif(n), 1e6 + 0.5)
)

one <- function(design, n, seed) {
  set.seed(seed)
  x <- design[[1L]](n)
  got <- outcome(dp_mean(x, epsilon = 1, delta = 1e-6, control = control))
  private <- if (is.null(got$value)) NA else unname(coef(got$value))
  c(abs(private - design[[2L]]), abs(mean(x) - design[[2L]]), got$warned)
}

row <- function(name, n) {
  e <- vapply(bench_seed + seq_len(reps), function(s) one(designs[[name]], n, s), c(0, 0, 0))
  ok <- is.finite(e[1L, ]) & !e[3L, ]
  if (!any(ok)) e[1L, ] <- NA
  data.frame(
    data = name, n = n, "median error" = three(median(e[1L, ok])), quartiles = spread(e[1L, ok]),
    "95 %" = three(quantile(e[1L, ok], 0.95)), "sample mean" = three(median(e[2L, ])),
    ratio = if (any(ok)) sprintf("%.2f", median(e[1L, ok]) / median(e[2L, ])) else "-",
    "worse than 0" = if (any(ok)) {
      sprintf("%.3f", mean(e[1L, ok] > abs(designs[[name]][[2L]])))
    } else {
      "-"
    },
    "refused or warned" = sprintf("%.2f", mean(!ok | e[3L, ])), check.names = FALSE
  )
}

grid <- expand.grid(
  n = c(200, 500, 1000, 2000, 1e4, 1e5), name = names(designs), stringsAsFactors = FALSE
)
table <- do.call(rbind, Map(row, grid$name, grid$n))
write_table(
  "means", "Private means, epsilon = 1, delta = 1e-6, nothing known", table,
  sprintf("%d repetitions, seeds %d + 1, ...; error of the mean, absolute.", reps, bench_seed)
)

danish_error <- vapply(bench_seed + seq_len(reps), function(s) {
  set.seed(s)
  abs(coef(dp_mean(danish$Total, epsilon = 1, control = control)) / mean(danish$Total) - 1)
}, 0)
write_table(
  "danish", "Danish fire losses, epsilon = 1, delta = 0",
  data.frame(
    n = nrow(danish), "median relative error" = three(median(danish_error)),
    quartiles = spread(danish_error), "95 %" = three(quantile(danish_error, 0.95)),
    check.names = FALSE
  ),
  sprintf("%d repetitions, seeds %d + 1, ...; relative to the plain mean.", reps, bench_seed)
)

# Selections and noise: the first 100 of 1e6 scores against sort() of the same scores,
# 1e6 discrete Gaussian numbers against rnorm(), all in one run.
#   R_LIBS=.Rlib Rscript bench/selection.R [repetitions]
source("bench/tools.R")

reps <- repetitions(11L)
n <- 1e6
set.seed(bench_seed)
internal <- asNamespace("dpheavy")

seconds <- function(expr) system.time(expr)[["elapsed"]]

# sensitivity 1, epsilon0 = 1 per choice
law <- internal$score_law(1, 1)
top <- function(scores, s, how) internal$select_top(scores, s, law, how)

scores <- list(
  "all equal" = rep(0, n), "normal, sd 1" = rnorm(n), "normal, sd 1000" = rnorm(n, sd = 1000),
  "200 apart" = sample(n) * 200, "one far above" = c(1e9, rnorm(n - 1)), "Cauchy" = rcauchy(n)
)

times <- lapply(scores, function(x) {
  vapply(seq_len(reps), function(i) {
    c(seconds(top(x, 100, "exponential")), seconds(top(x, 1, "permute_and_flip")),
      seconds(sort(x)))
  }, c(0, 0, 0))
})

of <- function(f, row) vapply(times, function(t) f(t[row, ]), f(1))
ratio <- vapply(times, function(t) median(t[1L, ] / t[3L, ]), 0)
write_table(
  "selection", "The first 100 of 1e6 scores by the exponential mechanism",
  data.frame(
    scores = names(scores), "median, s" = three(of(median, 1L)), quartiles = of(spread, 1L),
    "sort(), s" = three(of(median, 3L)), ratio = three(ratio),
    "one by permute-and-flip, s" = three(of(median, 2L)), check.names = FALSE
  ),
  sprintf("%d repetitions in one run; sensitivity 1, epsilon0 = 1", reps)
)

vector <- internal$vector_law("gaussian", n, 1, 1)
value <- rnorm(n)
noise <- vapply(seq_len(reps), function(i) {
  c(seconds(.Call(internal$C_draw_noise, 1, 40, n, NULL)),
    seconds(internal$release_vector(value, vector)), seconds(rnorm(n)))
}, c(0, 0, 0))
per <- function(row) noise[row, ] / noise[3L, ]
write_table(
  "noise", "1e6 Gaussian numbers, exact and discrete, against rnorm()",
  data.frame(
    what = c("discrete Gaussian", "dp_gaussian() of a vector", "rnorm()"),
    "median, s" = three(apply(noise, 1L, median)), quartiles = apply(noise, 1L, spread),
    "ratio to rnorm()" = three(c(median(per(1L)), median(per(2L)), 1)), check.names = FALSE
  ),
  sprintf("%d repetitions in one run", reps)
)

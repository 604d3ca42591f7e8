# Sparse means of many columns: the default, pure, from a moment, and the published peeling,
# beside the s largest plain means (not private), all private means, and zeros.
#   R_LIBS=.Rlib Rscript bench/sparse-means.R [repetitions]
# Ten means of 0.2, ..., 1 with alternating signs, the others zero; second moments below 5 (t(3))
# or 7 (lognormal) are public for the methods that need one. Last row: 1e5 compressed columns of
# which one value in a hundred is not zero, from t(3); the ten have such values about 5 times
# their mean in a fifth of the rows.
source("bench/tools.R")

reps <- repetitions(20L)
s <- 10L
delta <- 1e-5
true <- function(d) replace(numeric(d), seq_len(s), seq(0.2, 1, length.out = s) * c(1, -1))

designs <- list(
  `t(3)` = function(n, d) matrix(stats::rt(n * d, 3), n, d),
  `lognormal(0, 1)` = function(n, d) matrix(exp(stats::rnorm(n * d)) - exp(0.5), n, d)
)

largest <- function(m) replace(numeric(length(m)), order(-abs(m))[1:s], m[order(-abs(m))[1:s]])

errors <- function(x, plain, m, moment, dense = TRUE) {
  run <- function(...) {
    fit <- outcome(dp_mean(x, 1, ..., sparsity = s, control = control))$value
    if (is.null(fit)) c(NA, NA) else c(sum((coef(fit) - m)^2),
                                       sum(fit$selected %in% names(coef(fit))[m != 0]))
  }
  all <- if (dense) outcome(dp_mean(x, 1, delta, control = control))$value
  published <- outcome(dp_mean(x, 1, delta, sparsity = s, method = "truncated", moment = moment,
                               control = dp_control("paper", rng = "R")))$value
  default <- run(delta)
  c(
    default = default[[1L]], `found of 10` = default[[2L]], `delta = 0` = run(0)[[1L]],
    truncated = run(delta, method = "truncated", moment = moment)[[1L]],
    catoni = run(delta, method = "catoni", moment = moment)[[1L]],
    `paper peeling` = sum((coef(published) - m)^2),
    `all means` = if (is.null(all) || anyNA(coef(all))) NA_real_ else sum((coef(all) - m)^2),
    `largest plain means` = sum((plain - m)^2), zeros = sum(m^2)
  )
}

summarised <- function(design, n, d, got) {
  middle <- apply(got, 1L, stats::median, na.rm = TRUE)
  text <- three(middle)
  text[[2L]] <- three(mean(got[2L, ]))
  data.frame(x = design, n = n, d = d, t(stats::setNames(text, rownames(got))),
             "95 %" = three(stats::quantile(got[1L, ], 0.95)), check.names = FALSE)
}

cells <- expand.grid(design = names(designs), n = c(1e4, 4e4), d = 1000, stringsAsFactors = FALSE)
rows <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  got <- vapply(seq_len(reps), function(r) {
    set.seed(bench_seed + r)
    m <- true(cell$d)
    x <- designs[[cell$design]](cell$n, cell$d)
    x[, 1:s] <- x[, 1:s] + rep(m[1:s], each = cell$n)
    errors(x, largest(colMeans(x)), m, moment_bound(2, if (cell$design == "t(3)") 5 else 7))
  }, numeric(9L))
  summarised(cell$design, cell$n, cell$d, got)
})

compressed <- function(n = 1e4, d = 1e5) {
  got <- vapply(seq_len(max(3L, reps %/% 4L)), function(r) {
    set.seed(bench_seed + r)
    each <- rep(c(n / 5, n / 100), c(s, d - s))
    i <- unlist(lapply(each, function(k) sample.int(n, k)))
    v <- stats::rt(sum(each), 3)
    own <- seq_len(s * n / 5)
    v[own] <- v[own] + rep(5 * true(s), each = n / 5)
    x <- Matrix::sparseMatrix(i = i, p = c(0, cumsum(each)), x = v, dims = c(n, d))
    errors(x, largest(Matrix::colMeans(x)), true(d), moment_bound(2, 2), dense = FALSE)
  }, numeric(9L))
  summarised("1e5 compressed columns", n, d, got)
}
if (requireNamespace("Matrix", quietly = TRUE)) rows <- c(rows, list(compressed()))

write_table(
  "sparse-means", "Sparse means, s = 10, epsilon = 1, delta = 1e-5", do.call(rbind, rows),
  sprintf(paste(
    "Medians of squared errors over %d repetitions (a quarter of them in the last row; 95 %% of",
    "the default; the mean number of columns found). \"-\": refused, or not run."
  ), reps)
)

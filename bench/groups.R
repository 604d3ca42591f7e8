# Means by group: 20 groups of 50 to 50,000 rows, evenly spaced on the log scale, beside the plain
# means of the same rows.
#   R_LIBS=.Rlib Rscript bench/groups.R [repetitions]
# Errors are those of one group over the repetitions; the groups' means are normal with the standard
# deviation `shift`.
source("bench/tools.R")

reps <- repetitions(100L)
sizes <- round(exp(seq(log(50), log(50000), length.out = 20L)))
level <- factor(rep(seq_along(sizes), sizes), levels = seq_along(sizes))
shown <- c(1L, 3L, 5L, 7L, 9L, 11L, 13L, 14L, 16L, 18L, 20L)

designs <- list(
  `Pareto(2.5)` = function(n) stats::runif(n)^(-1 / 2.5) - 2.5 / 1.5,
  `t(3)` = function(n) stats::rt(n, 3)
)

# Error, that of the plain mean, own limits, covered: one column each.
one_run <- function(draw, delta, shift) {
  mu <- stats::rnorm(length(sizes)) * shift
  x <- draw(sum(sizes)) + mu[as.integer(level)]
  fit <- outcome(dp_mean(x, 1, delta, by = level, control = control))$value
  ends <- confint(fit)
  cbind(abs(coef(fit) - mu), abs(tapply(x, level, mean) - mu), fit$found & !fit$shared,
        ends[, 1L] <= mu & mu <= ends[, 2L])
}

cells <- data.frame(
  design = c("Pareto(2.5)", "Pareto(2.5)", "t(3)", "t(3)", "t(3)"),
  delta = c(0, 1e-6, 0, 1e-6, 0), shift = c(1, 1, 1, 1, 100), stringsAsFactors = FALSE
)
tables <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  got <- vapply(seq_len(reps), function(r) {
    set.seed(bench_seed + 1000L * i + r)
    one_run(designs[[cell$design]], cell$delta, cell$shift)
  }, matrix(0, length(sizes), 4L))
  middle <- function(k) apply(got[, k, ], 1L, stats::median, na.rm = TRUE)
  data.frame(
    data = cell$design, delta = cell$delta, shift = cell$shift, rows = sizes, error = middle(1L),
    upper = apply(got[, 1L, ], 1L, stats::quantile, 0.95, na.rm = TRUE), plain = middle(2L),
    ratio = middle(1L) / middle(2L), own = rowMeans(got[, 3L, ]),
    none = rowMeans(is.na(got[, 1L, ])), covered = rowMeans(got[, 4L, ], na.rm = TRUE)
  )
})
all <- do.call(rbind, tables)
large <- all$rows >= 5000

table <- do.call(rbind, lapply(tables, function(t) t[shown, ]))
share <- function(v) formatC(v, digits = 2, format = "f")
write_table(
  "groups", "Means by group, epsilon = 1, nothing known",
  data.frame(
    data = table$data, delta = three(table$delta), shift = table$shift,
    rows = sprintf("%.0f", table$rows), "median error" = three(table$error),
    "95 %" = three(table$upper), "sample mean" = three(table$plain),
    ratio = three(table$ratio), "own limits" = share(table$own),
    "NA" = share(table$none), "in the interval" = share(table$covered), check.names = FALSE
  ),
  sprintf(paste(
    "%d repetitions of 20 groups, %.0f rows in all; 11 of the sizes are shown. Of all groups of",
    "5000 rows and more the largest ratio is %s, and %s have the true mean within their 95 %%",
    "intervals. NA: not told from noise, with a warning; errors are those of the others. shift:",
    "standard deviation of the groups' true means."
  ), reps, sum(sizes), three(max(all$ratio[large])), three(mean(all$covered[large])))
)

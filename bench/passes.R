# One private gradient of each estimator against that of the clipped one, in turns, one thread.
#   R_LIBS=.Rlib OMP_NUM_THREADS=1 Rscript bench/passes.R [repetitions]
source("bench/tools.R")

reps <- repetitions(21L)
n <- 1e6
p <- 20
set.seed(bench_seed)
internal <- asNamespace("dpheavy")
x <- matrix(stats::rt(n * p, 3), n, p)
rows <- internal$new_rows(x, stats::rt(n, 3), intercept = TRUE)
norm <- internal$row_norms(rows)
w <- rep(0.1, p + 1)
order <- internal$random_order(n)
rule <- list(loss = "squared", bound = 2, step = 2^-20, limit = 2^21, noise = c(2, 10))
pass <- function(...) internal$release_gradient(rows, norm, w, c(rule, list(...)))
groups <- do.call(c, list(internal$partition_groups(n, 16, order)))
passes <- list(
  clipped = function() pass(estimator = "clipped"),
  winsorized = function() pass(estimator = "winsorized"),
  truncated = function() pass(estimator = "truncated"),
  catoni = function() pass(estimator = "catoni"),
  `catoni, beta = 1` = function() {
    pass(estimator = "catoni_smooth", table = internal$catoni_table(1))
  },
  `median of means` = function() do.call(pass, c(list(estimator = "winsorized"), groups)),
  shrunken = function() pass(estimator = "shrunken", psi_bound = 10),
  `all batches of a split` = function() {
    for (index in internal$cut_batches(order, 10)) pass(estimator = "winsorized", index = index)
  }
)
seconds <- vapply(seq_len(reps), function(i) {
  vapply(passes, function(f) {
    start <- proc.time()[["elapsed"]]
    for (again in 1:3) f()
    (proc.time()[["elapsed"]] - start) / 3
  }, 0)
}, numeric(length(passes)))
ratio <- sweep(seconds, 2L, seconds[1L, ], "/")
write_table(
  "passes", "Cost of a pass relative to that of clipped gradients, n = 1e6, 20 columns",
  data.frame(
    gradient = names(passes), seconds = three(apply(seconds, 1L, stats::median)),
    ratio = three(apply(ratio, 1L, stats::median)), quartiles = apply(ratio, 1L, spread)
  ), sprintf("Median of %d rounds, each estimator in turn.", reps)
)

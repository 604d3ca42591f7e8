# One private round of Frank-Wolfe, gradient and choice, against one clipped gradient, in turns, one
# thread.
#   R_LIBS=.Rlib OMP_NUM_THREADS=1 Rscript bench/rounds.R [repetitions]
source("bench/tools.R")

reps <- repetitions(15L)
n <- 1e5
d <- 1000
set.seed(bench_seed)
internal <- asNamespace("dpheavy")
x <- matrix(0, n, d)
for (j in seq_len(d)) x[, j] <- stats::rt(n, 3)
rows <- internal$new_rows(x, stats::rt(n, 3), intercept = TRUE)
norm <- internal$row_norms(rows)
# where Frank-Wolfe is after many rounds
w <- replace(numeric(d + 1), c(1, 2 + 40 * 0:19), 0.1)
set <- internal$vertex_set(l1_ball(2), d)
limit <- 2^21
law <- internal$score_law(0.1, 2 * limit * set$norm)
rule <- list(loss = "squared", bound = 2, step = 2^-20, limit = limit, noise = c(0, 0))
gradient <- function(...) {
  internal$release_gradient(rows, norm, w, utils::modifyList(rule, list(...)))
}
round_of <- function(...) {
  function() internal$select_vertex(set, gradient(...)[-1L], law, "exponential", NULL)
}
rounds <- list(
  `one clipped gradient` = function() gradient(estimator = "clipped", noise = c(2, 10)),
  winsorized = round_of(estimator = "winsorized"),
  truncated = round_of(estimator = "truncated"),
  catoni = round_of(estimator = "catoni"),
  `catoni, beta = 1` = round_of(
    estimator = "catoni_smooth", table = internal$catoni_table(1)
  ),
  shrunken = round_of(estimator = "shrunken", psi_bound = 10)
)
seconds <- vapply(seq_len(reps), function(i) {
  vapply(rounds, function(f) {
    start <- proc.time()[["elapsed"]]
    for (again in 1:3) f()
    (proc.time()[["elapsed"]] - start) / 3
  }, 0)
}, numeric(length(rounds)))
ratio <- sweep(seconds, 2L, seconds[1L, ], "/")
write_table(
  "rounds", "A round of Frank-Wolfe relative to a clipped gradient, n = 1e5, 1000 columns",
  data.frame(
    gradient = names(rounds), seconds = three(apply(seconds, 1L, stats::median)),
    ratio = three(apply(ratio, 1L, stats::median)), quartiles = apply(ratio, 1L, spread)
  ), sprintf("Gradient and choice of one of 2000 vertices; %d repetitions in turn.", reps)
)

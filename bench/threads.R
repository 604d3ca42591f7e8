# Whole fits with one and with two threads beside R's own of no privacy: wall time and processor
# time, in turns within one run.
#   R_LIBS=.Rlib OPENBLAS_NUM_THREADS=1 Rscript bench/threads.R [repetitions]
source("bench/tools.R")

reps <- repetitions(7L)
set.seed(bench_seed)
most <- .Call(dpheavy:::C_threads_max)
if (most < 2) stop("two threads are wanted here")

made_up <- function(n, d) {
  x <- matrix(stats::rt(n * d, 3), n, d)
  list(x = x, y = x[, 1L] + stats::rt(n, 3), b = as.numeric(x[, 1L] + stats::rlogis(n) > 0))
}

with_threads <- function(threads) dp_control(rng = "R", threads = threads)

# `fit(data, control)`: the same numbers for any number of threads; `own(data)`: R's.
cases <- list(
  "dp_lm, 1e6 x 20" = list(
    data = function() made_up(1e6, 20), other = "lm.fit",
    fit = function(z, control) dp_lm(z$x, z$y, epsilon = 1, delta = 1e-7, target = "robust",
                                     control = control),
    own = function(z) stats::lm.fit(cbind(1, z$x), z$y)
  ),
  "dp_lm, 1e5 x 100" = list(
    data = function() made_up(1e5, 100), other = "lm.fit",
    fit = function(z, control) dp_lm(z$x, z$y, epsilon = 1, delta = 1e-7, target = "robust",
                                     control = control),
    own = function(z) stats::lm.fit(cbind(1, z$x), z$y)
  ),
  "dp_glm, 1e6 x 20" = list(
    data = function() made_up(1e6, 20), other = "glm.fit",
    fit = function(z, control) dp_glm(z$x, z$b, epsilon = 1, delta = 1e-7, control = control),
    own = function(z) stats::glm.fit(cbind(1, z$x), z$b, family = stats::binomial())
  ),
  "dp_glm, 1e5 x 100" = list(
    data = function() made_up(1e5, 100), other = "glm.fit",
    fit = function(z, control) dp_glm(z$x, z$b, epsilon = 1, delta = 1e-7, control = control),
    own = function(z) stats::glm.fit(cbind(1, z$x), z$b, family = stats::binomial())
  ),
  "dp_mean, 1e7" = list(
    data = function() stats::rt(1e7, 3), other = "sort",
    fit = function(z, control) dp_mean(z, epsilon = 1, control = control), own = function(z) sort(z)
  )
)

# c(wall, processor) seconds
seconds <- function(expr) {
  start <- proc.time()
  force(expr)
  spent <- proc.time() - start
  c(spent[["elapsed"]], spent[["user.self"]] + spent[["sys.self"]])
}

run_case <- function(case) {
  data <- case$data()
  run <- function(threads) {
    set.seed(bench_seed)
    coef(case$fit(data, with_threads(threads)))
  }
  if (!identical(run(1), run(2))) stop("other numbers with two threads")
  turns <- lapply(seq_len(reps), function(i) {
    gc()
    jobs <- list(one = function() run(1), two = function() run(2), own = function() case$own(data))
    order <- if (i %% 2L) names(jobs) else rev(names(jobs))
    unlist(lapply(jobs[order], function(job) seconds(job())))[c(
      "one1", "one2", "two1", "two2", "own1", "own2"
    )]
  })
  do.call(rbind, turns)
}

row_of <- function(name) {
  case <- cases[[name]]
  t <- run_case(case)
  shown <- function(v) paste0(three(stats::median(v)), " (", spread(v), ")")
  data.frame(
    fit = name, `one thread, s` = shown(t[, "one1"]), `two threads, s` = shown(t[, "two1"]),
    speedup = shown(t[, "one1"] / t[, "two1"]), `one, CPU s` = shown(t[, "one2"]),
    `R's own, CPU s` = paste0(case$other, " ", shown(t[, "own2"])),
    `CPU ratio` = shown(t[, "one2"] / t[, "own2"]), check.names = FALSE
  )
}

load <- tryCatch(readLines("/proc/loadavg"), error = function(e) "not known")
write_table(
  "threads", "Whole fits: one thread, two threads, R's own",
  do.call(rbind, lapply(names(cases), row_of)),
  sprintf(paste(
    "Medians and quartiles of %d runs in turns; the two fits have the same bits. Processor time of",
    "the fit with one thread. BLAS: %s. Load before the run: %s."
  ), reps, basename(extSoftVersion()[["BLAS"]]), load)
)

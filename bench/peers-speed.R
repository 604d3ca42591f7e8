# CPU seconds and memory of whole fits beside lm.fit, glm.fit and the packages on CRAN, each in
# a fresh process (Linux: growth of the peak resident set over the loaded data), one thread.
#   R_LIBS=.Rlib:build/peers Rscript bench/peers-speed.R [repetitions]
# x iid t(3), d = 20; y = x w + t(2.5), or logistic. A fit of more than two minutes is left out.
source("bench/tools.R")
source("bench/peers-methods.R")

reps <- repetitions(3L)
limit <- 120
packages <- available_peers()

# Code that fits, given x, y and (as users of these packages have them) the same as data frames.
dppack_code <- function(class, arguments) {
  sprintf("m <- DPpack::%s$new(%s); m$fit(frame, y, bounds, -bounds)", class, arguments)
}
fits <- list(
  linear = c(
    dpheavy = "dp_lm(x, y, epsilon = 1, delta = 1e-7, target = 'robust')",
    "dpheavy, the mean" = "dp_lm(x, y, epsilon = 1, delta = 1e-7)",
    "dpheavy, through the origin" =
      "dp_lm(x, y, epsilon = 1, delta = 1e-7, target = 'robust', intercept = FALSE)",
    "dpheavy, huber" = "dp_lm(x, y, epsilon = 1, delta = 1e-7, loss = 'huber')",
    lm.fit = "lm.fit(x, y)",
    DPpack = dppack_code("LinearRegressionDP", "'l2', 1, 1e-7, 1"),
    "DPrivStats dp_lm (not private)" =
      "DPrivStats::dp_lm(y ~ . - 1, both, 1, 1e-7, list(y = c(-9, 9)))"
  ),
  logistic = c(
    dpheavy = "dp_glm(x, y, epsilon = 1, delta = 1e-7)",
    "dpheavy, through the origin" = "dp_glm(x, y, epsilon = 1, delta = 1e-7, intercept = FALSE)",
    glm.fit = "glm.fit(x, y, family = binomial())",
    DPpack = dppack_code("LogisticRegressionDP", "'l2', 1, 1"),
    PrivateLR = "PrivateLR::dplr(y ~ . - 1, both, lambda = 1e-4, eps = 1)"
  )
)

owner <- function(name) sub("[ ,].*", "", name)
needs_frame <- function(name) owner(name) %in% c("DPpack", "PrivateLR", "DPrivStats")

new_file <- function(task, n, d = 20) {
  set.seed(bench_seed)
  x <- matrix(rt(n * d, 3), n, d)
  eta <- drop(x %*% (rep_len(c(1, -1), d) / sqrt(d)))
  y <- if (task == "linear") eta + rt(n, 2.5) else rbinom(n, 1, plogis(2 * eta))
  file <- tempfile(fileext = ".rds")
  saveRDS(list(x = x, y = y), file, compress = FALSE)
  file
}

prepare <- function(name) {
  if (!needs_frame(name)) {
    return("")
  }
  c(
    "bounds <- rep(5, ncol(x))", "if (!all(y %in% 0:1)) bounds <- c(bounds, 9)",
    "clipped <- pmax(pmin(x, 5), -5)",
    if (owner(name) == "DPpack") "frame <- as.data.frame(clipped)" else
      "both <- data.frame(y = y, clipped / sqrt(500))",
    "rm(clipped)"
  )
}

# c(CPU seconds, MB beyond the data); NA where it took too long or failed.
fresh <- function(name, code, file) {
  lines <- c(
    "peak <- function() {", "  s <- readLines('/proc/self/status')",
    "  as.numeric(gsub('[^0-9]', '', grep('^VmHWM', s, value = TRUE))) / 1024", "}",
    sprintf("suppressMessages(loadNamespace('%s'))", switch(
      owner(name), lm.fit = "stats", glm.fit = "stats", owner(name)
    )),
    if (owner(name) == "dpheavy") "library(dpheavy)",
    sprintf("got <- readRDS('%s')", file), "x <- got$x", "y <- got$y", "rm(got)",
    prepare(name), "invisible(gc())", "before <- peak()",
    sprintf("time <- system.time({%s})", code),
    "cat('\\n', time[['user.self']] + time[['sys.self']], peak() - before)"
  )
  script <- tempfile(fileext = ".R")
  writeLines(lines, script)
  out <- suppressWarnings(system2(
    file.path(R.home("bin"), "Rscript"), c("--no-init-file", shQuote(script)),
    stdout = TRUE, stderr = FALSE, timeout = 2 * limit
  ))
  got <- suppressWarnings(as.numeric(strsplit(trimws(utils::tail(out, 1L)), " ")[[1L]]))
  if (length(got) != 2L || anyNA(got) || got[[1L]] > limit) c(NA, NA) else got
}

# All methods in turn, `reps` times, so that a busy spell of the machine hits all.
rows <- function(task, n) {
  file <- new_file(task, n)
  on.exit(unlink(file))
  use <- fits[[task]]
  use <- use[owner(names(use)) %in% c("dpheavy", "lm.fit", "glm.fit", packages)]
  got <- array(NA_real_, c(2L, length(use), reps))
  for (r in seq_len(reps)) for (i in seq_along(use)) {
    if (r > 1L && is.na(got[1L, i, 1L])) next
    got[, i, r] <- fresh(names(use)[[i]], use[[i]], file)
  }
  cpu <- apply(got[1L, , , drop = FALSE], 2L, median)
  plain <- cpu[[match(if (task == "linear") "lm.fit" else "glm.fit", names(use))]]
  data.frame(
    task = task, n = n, d = 20, fit = names(use), "CPU s" = three(cpu),
    "lowest-highest" = apply(got[1L, , , drop = FALSE], 2L, function(v) {
      paste(three(range(v)), collapse = "-")
    }),
    "ratio to lm.fit or glm.fit" = three(cpu / plain),
    "MB beyond the data" = three(apply(got[2L, , , drop = FALSE], 2L, median)),
    check.names = FALSE
  )
}

table <- do.call(rbind, lapply(names(fits), function(task) {
  do.call(rbind, lapply(c(1e5, 1e6), function(n) rows(task, n)))
}))
write_table("peers-speed", "Whole fits, one thread", table, sprintf(paste(
  "Medians of %d runs, each in a fresh process; %s. -: more than %d s or failed. The data are a",
  "matrix; DPpack, PrivateLR and DPrivStats get a data frame made beforehand, not counted.",
  "DPpack's and PrivateLR's rows were clipped beforehand."
), reps, basename(extSoftVersion()[["BLAS"]]), limit))

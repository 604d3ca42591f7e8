# Private regression with nothing known beside the packages on CRAN whose bounds were chosen
# knowing the truth: excess risk over that of zeros, on the same draws.
#   R_LIBS=.Rlib:build/peers Rscript bench/peers.R [repetitions | tune]
# x iid t(3) or lognormal(0, 0.6); y = x w + t(2.5), |w| = 1, or logistic with |w| = 2; no
# intercept. "tune" chooses the peers' multipliers on pilot sets (bench/results/peers-tuned.csv).
source("bench/tools.R")
source("bench/peers-methods.R")

given <- commandArgs(TRUE)
tuning <- "tune" %in% given
reps <- if (tuning) 0L else repetitions(20L)
tuned_file <- "bench/results/peers-tuned.csv"
epsilon <- c(0.5, 1, 2)

designs <- list(
  "t(3)" = list(draw = function(n, d) matrix(rt(n * d, 3), n, d), mean = 0, var = 3),
  "lognormal(0, 0.6)" = list(
    draw = function(n, d) matrix(exp(0.6 * rnorm(n * d)), n, d),
    mean = exp(0.18), var = exp(0.36) * (exp(0.36) - 1)
  )
)
settings <- rbind(
  expand.grid(d = c(10, 100), n = c(1e4, 1e5), x = names(designs), task = "linear",
              stringsAsFactors = FALSE),
  expand.grid(d = 10, n = c(1e4, 1e5), x = names(designs), task = "logistic",
              stringsAsFactors = FALSE),
  data.frame(d = 50, n = 1e5, x = names(designs), task = "logistic")
)

# One data set, and `excess`, which scores slopes.
new_data <- function(s, seed) {
  set.seed(seed)
  design <- designs[[s$x]]
  logistic <- s$task == "logistic"
  w <- (1 + logistic) * rep_len(c(1, -1), s$d) / sqrt(s$d)
  x <- design$draw(s$n, s$d)
  moments <- design$mean^2 + diag(design$var, s$d)
  quadratic <- function(v) drop(crossprod(v, moments %*% v))
  data <- list(
    x = x, logistic = logistic, x2 = moments[1L, 1L], y2 = quadratic(w) + 5,
    top = design$var + s$d * design$mean^2
  )
  if (logistic) {
    data$y <- rbinom(s$n, 1, plogis(drop(x %*% w)))
    data$excess <- logistic_excess(design$draw(1e5, s$d), w)
  } else {
    data$y <- drop(x %*% w) + rt(s$n, 2.5)
    data$excess <- function(v) quadratic(v - w) / quadratic(w)
  }
  data
}

# Expected loss given x on rows kept aside: no noise of the response in it.
logistic_excess <- function(test, w) {
  p <- plogis(drop(test %*% w))
  risk <- function(v) {
    eta <- drop(test %*% v)
    mean(pmax(eta, 0) + log1p(exp(-abs(eta))) - p * eta)
  }
  best <- risk(w)
  zeros <- risk(0 * w)
  function(v) (risk(v) - best) / (zeros - best)
}

peers_of <- function(s) {
  all <- if (s$task == "linear") peers_linear else peers_logistic
  all <- Filter(function(m) m$package %in% packages, all)
  if (s$d == 50) list() else all
}

# An error of a peer is as bad as zeros.
score <- function(method, data, e, par, seed) {
  set.seed(seed)
  w <- tryCatch(suppressWarnings(method$fit(data, e, par)), error = function(e) NULL)
  if (is.null(w) || !all(is.finite(w))) 1 else data$excess(w)
}

# ---- multipliers chosen with knowledge of the truth --------------------------

# Moves one multiplier at a time by a factor, as long as the pilots' median score falls.
climb <- function(value, par, factors = c(2, 1.4)) {
  best <- value(par)
  for (f in factors) repeat {
    before <- best
    for (name in names(par)) for (way in c(f, 1 / f)) repeat {
      try <- par
      try[[name]] <- par[[name]] * way
      new <- value(try)
      if (!(new < 0.99 * best)) break
      par <- try
      best <- new
    }
    if (!(best < before)) break
  }
  list(par = par, score = best)
}

tune <- function(s, done = NULL) {
  left <- setdiff(names(peers_of(s)), done)
  if (length(left) == 0L) {
    return(NULL)
  }
  big <- s$n * s$d >= 1e6
  pilots <- lapply(seq_len(if (big) 1L else 3L), function(i) new_data(s, 500L + i))
  rows <- list()
  for (name in left) {
    method <- peers_of(s)[[name]]
    starts <- method$starts
    for (e in rev(epsilon)) {
      value <- function(par) {
        median(vapply(seq_along(pilots), function(i) score(method, pilots[[i]], e, par, i), 0))
      }
      tries <- lapply(starts, function(par) climb(value, par, if (big) 2 else c(2, 1.4)))
      got <- tries[[which.min(vapply(tries, `[[`, 0, "score"))]]
      starts <- list(got$par)
      rows[[length(rows) + 1L]] <- data.frame(
        s, epsilon = e, method = name, par = names(got$par), value = signif(unname(got$par), 4),
        pilots = signif(got$score, 3)
      )
    }
    message(s$task, " ", s$x, " ", s$n, " ", s$d, " ", name, " ", format(Sys.time(), "%H:%M:%S"))
  }
  do.call(rbind, rows)
}

tuned_par <- function(s, e, name) {
  at <- tuned$task == s$task & tuned$x == s$x & tuned$n == s$n & tuned$d == s$d &
    tuned$epsilon == e & tuned$method == name
  if (!any(at)) stop("no multipliers for ", name, ": run bench/peers.R tune first")
  stats::setNames(tuned$value[at], tuned$par[at])
}

# ---- the tables --------------------------------------------------------------

ours <- function(data, e) {
  fit <- if (data$logistic) dp_glm else function(...) dp_lm(..., target = "robust")
  got <- outcome(fit(data$x, data$y, e, peer_delta, intercept = FALSE, control = control))
  if (is.null(got$value)) NA else data$excess(coef(got$value))
}

references <- function(data) {
  if (data$logistic) {
    fit <- suppressWarnings(stats::glm.fit(data$x, data$y, family = stats::binomial()))
    return(c(glm = data$excess(fit$coefficients)))
  }
  c(
    lm = data$excess(stats::lm.fit(data$x, data$y)$coefficients),
    rlm = data$excess(coef(MASS::rlm(data$x, data$y, maxit = 50)))
  )
}

one_run <- function(s, seed) {
  data <- new_data(s, bench_seed + seed)
  plain <- references(data)
  vapply(epsilon, function(e) {
    peers <- peers_of(s)
    theirs <- vapply(names(peers), function(name) {
      score(peers[[name]], data, e, tuned_par(s, e, name), bench_seed + seed)
    }, 0)
    set.seed(bench_seed + seed)
    c(ours = ours(data, e), theirs, plain)
  }, numeric(1L + length(peers_of(s)) + length(plain)))
}

# The ratios wanted: at most 0.5 of DPpack's; at most 1 of dp_glm's or 1.6 rlm's, whichever
# is larger; at most 2 of glm's.
ratios <- function(m, task) {
  ratio <- function(of) if (length(of) == 0L || is.na(of)) "-" else three(m[["ours"]] / of)
  if (task == "logistic") {
    return(data.frame("ours / glm" = ratio(m[["glm"]]), check.names = FALSE))
  }
  data.frame(
    "ours / DPpack" = ratio(m["DPpack"]),
    "ours / max(dp_glm, 1.6 rlm)" = ratio(max(m["dp_glm"], 1.6 * m[["rlm"]])),
    check.names = FALSE
  )
}

rows <- function(s) {
  k <- if (s$n * s$d >= 1e7) ceiling(reps / 2) else reps
  got <- vapply(seq_len(k), function(r) one_run(s, r), one_run_shape(s))
  do.call(rbind, lapply(seq_along(epsilon), function(i) {
    all <- matrix(got[, i, ], dim(got)[[1L]])
    m <- stats::setNames(apply(all, 1L, median), rownames(got))
    columns <- if (s$task == "linear") {
      c("ours", names(peers_linear), "lm", "rlm")
    } else {
      c("ours", names(peers_logistic), "glm")
    }
    shown <- stats::setNames(m[columns], columns)
    data.frame(
      x = s$x, n = s$n, d = s$d, epsilon = epsilon[[i]], t(three(shown)),
      ratios(m, s$task), check.names = FALSE
    )
  }))
}

one_run_shape <- function(s) {
  names <- c("ours", names(peers_of(s)), if (s$task == "linear") c("lm", "rlm") else "glm")
  matrix(0, length(names), length(epsilon), dimnames = list(names, NULL))
}

bench <- function(task, title, note) {
  chosen <- split(settings, seq_len(nrow(settings)))
  chosen <- Filter(function(s) s$task == task, chosen)
  write_table(paste0("peers-", task), title, do.call(rbind, lapply(chosen, rows)), c(
    sprintf(paste(
      "Medians of %d repetitions (%d at n d = 1e7), seeds %d + 1, ...; excess risk over that of",
      "zeros, so 1 is as bad as zeros. Ours with nothing known; every peer with multipliers of",
      "public moments chosen knowing the truth (bench/results/peers-tuned.csv)."
    ), reps, ceiling(reps / 2), bench_seed), note
  ))
}

packages <- available_peers()
if ("DPrivStats" %in% packages) check_twins()
versions <- vapply(packages, function(p) format(utils::packageVersion(p)), "")
if (tuning) {
  # what the file holds is kept: delete it to begin anew
  all <- if (file.exists(tuned_file)) utils::read.csv(tuned_file, stringsAsFactors = FALSE)
  for (i in order(settings$n * settings$d)) {
    done <- if (!is.null(all)) unique(merge(settings[i, ], all)$method)
    all <- rbind(all, tune(settings[i, ], done))
    utils::write.csv(all, tuned_file, row.names = FALSE)
  }
} else {
  tuned <- utils::read.csv(tuned_file, stringsAsFactors = FALSE)
  used <- paste0(paste(names(versions), versions, collapse = ", "), ".")
  bench("linear", "Private linear regression beside its peers, delta = 1e-5", paste(
    "diffpriv: clipped moments through its Gaussian mechanism, then ridge regression. dp_lm and",
    "dp_glm are DPrivStats's; dp_lm is shown but is not private: its noise is scaled by the",
    "data. lm and MASS::rlm are not private.", used
  ))
  bench("logistic", "Private logistic regression beside its peers, delta = 1e-5", paste(
    "DPpack and PrivateLR are pure epsilon. diffpriv: output perturbation through its Gaussian",
    "mechanism. dp_glm is DPrivStats's, which minimises a squared error of probabilities. glm is",
    "not private.", used
  ))
}

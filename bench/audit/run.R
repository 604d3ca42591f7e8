# Long audits of the package's own releases, with entropy from the operating system. From the
# project's root after `make demo`:
#   R_LIBS=.Rlib Rscript bench/audit/run.R [N1 N2 N3 N4 N5]
# Each writes bench/results/audit-<name>.md; a verdict other than the one expected is an
# error. The planted bugs are noise smaller than claimed by a stated factor. One run in about a
# thousand may raise a false alarm: the errors of the verdicts add up to 1e-3 a table.
source("bench/tools.R")
package <- asNamespace("dpheavy")
for (name in ls(package)) if (!exists(name)) assign(name, get(name, package))
sys.source("tests/testthat/helper-twins.R", environment())

secure <- dp_control()
DELTA <- 1e-5

record <- function(release, claim, noise, runs, bound, limit, found) {
  expected <- noise != "1" # to be found
  data.frame(
    release = release, claim = claim, "noise / claimed" = noise, "runs a side" = runs,
    "lower bound" = three(bound), "claimed value" = three(limit),
    verdict = if (found) "VIOLATED" else "consistent",
    "as expected" = if (found == expected) "yes" else "NO", check.names = FALSE
  )
}

finish <- function(name, title, table, notes) {
  command <- sprintf("`Rscript bench/audit/run.R %s`.", name)
  write_table(paste0("audit-", name), title, table, c(command, notes))
  if (any(table[["as expected"]] == "NO")) stop(name, ": a verdict is not as expected")
}

# ---- releases ----------------------------------------------------------------------

# The mean of 20 columns with bounds, five rows: one row moves every column from one bound
# to the other. `factor` divides the noise.
mean_pair <- function(epsilon, factor = 1, d = 20L) {
  plan <- plan_mean(5, d, epsilon, DELTA, TRUE, FALSE, NULL)
  claim <- new_privacy(epsilon, DELTA, plan$events)
  plan$cost[["sums"]] <- factor * plan$cost[["sums"]]
  bound <- cbind(rep(-1, d), rep(1, d))
  data <- function(v) unname(rbind(matrix(0, 4L, d), rep(v, d)))
  list(
    claim = claim, x = data(-1), x1 = data(1),
    mechanism = function(x) fit_mean(x, plan, bound, secure)$coefficients
  )
}

# Five steps of clipped descent on a record that pulls one way, then the other.
descent_pair <- function(epsilon, factor = 1, root = NULL, steps = 5L) {
  mu <- gaussian_mu(epsilon, DELTA)
  law <- gradient_law(3, 2, factor * mu / sqrt(steps), 1, root)
  plan <- descent_plan(2, law, 1, root, steps)
  data <- function(y) list(x = matrix(c(1, 0, 0, 0, 0, 0), 3L), y = c(y, 0, 0))
  list(
    claim = event_gaussian(1, sqrt(steps) / mu, steps), x = data(1e9), x1 = data(-1e9),
    mechanism = function(x) {
      rows <- new_rows(x$x, x$y)
      release_descent(rows, row_norms(rows, root), c(0, 0), plan)
    }
  )
}

laplace_pair <- function(epsilon, factor = 1) {
  list(
    claim = event_laplace(1, 1 / epsilon), x = c(-1, rep(0, 9)), x1 = c(1, rep(0, 9)),
    mechanism = function(x) coef(dp_mean(x, factor * epsilon, bound = c(-1, 1)))
  )
}

audit_pair <- function(pair, runs, level, claim = pair$claim) {
  dp_audit(pair$mechanism, pair$x, pair$x1, n = 2 * runs, synthetic = TRUE, level = level,
           claim = claim)
}

# ---- N1: events at (epsilon, delta) ------------------------------------------------

run_n1 <- function(runs = 1e5) {
  one <- function(name, make, epsilon, factor) {
    pair <- make(epsilon, factor)
    delta <- if (identical(make, laplace_pair)) 0 else DELTA
    a <- audit_pair(pair, runs, 1 - 1e-4, c(epsilon = epsilon, delta = delta))
    record(name, sprintf("(%g, %g)", epsilon, delta), if (factor == 1) "1" else
      sprintf("1/%g", factor), runs, a$epsilon, epsilon, a$violated)
  }
  table <- rbind(
    one("mean of 1 column, Laplace", laplace_pair, 1, 1),
    one("mean of 1 column, Laplace", laplace_pair, 1, 1.41),
    one("mean of 20 columns, Gaussian", mean_pair, 4, 1),
    one("mean of 20 columns, Gaussian", mean_pair, 4, 2),
    one("5 steps of descent", descent_pair, 1, 1),
    one("5 steps of descent", descent_pair, 1, 2),
    one("5 steps of descent", descent_pair, 4, 1),
    one("5 steps of descent", descent_pair, 4, 2)
  )
  finish("N1", "Audit of events, (epsilon, delta)", table, c(
    "Events chosen on as many pilot runs, confidence 1 - 1e-4 a line; the bound is on epsilon.",
    "(At epsilon = 1 the released means are cut at their bounds, and with them the tails that an",
    "event at (epsilon, delta) needs: half the noise gives 0.79 there, and is found by N2.)"
  ))
}

# ---- N2: Gaussian differential privacy ---------------------------------------------

run_n2 <- function(runs = 1e5) {
  root <- grid_root(matrix(c(1, 0.5, 0, 2), 2L))
  under_root <- function(epsilon, factor) descent_pair(epsilon, factor, root)
  one <- function(name, make, factor) {
    pair <- make(1, factor)
    a <- audit_pair(pair, runs, 1 - 1e-4)
    record(name, "mu of (1, 1e-05)", if (factor == 1) "1" else sprintf("1/%g", factor), runs,
           a$mu, a$claim$mu, a$mu > a$claim$mu)
  }
  table <- rbind(
    one("mean of 20 columns", mean_pair, 1), one("mean of 20 columns", mean_pair, 1.41),
    one("5 steps of descent", descent_pair, 1), one("5 steps of descent", descent_pair, 1.41),
    one("5 steps of descent under a root", under_root, 1),
    one("5 steps of descent under a root", under_root, 1.41)
  )
  finish("N2", "Audit of Gaussian differential privacy, epsilon = 1", table, c(
    "Events chosen on as many pilot runs, confidence 1 - 1e-4 a line; the bound is on mu.",
    "(Released means are cut at their bounds, far inside the noise here, which hides a fifth.)"
  ))
}

# ---- N3: an event learnt by logistic regression ------------------------------------

# Coordinates of the iterates, their norms, and logarithms of their sizes.
features <- function(w) {
  steps <- apply(w, 3L, function(m) c(m, sqrt(colSums(m^2)), log(abs(m) + 1e-9)))
  as.data.frame(t(steps))
}

sniper_runs <- function(pair, side, runs) {
  w <- replicate(runs, pair$mechanism(pair[[side]]))
  features(w)
}

run_n3 <- function(train = 2e4, runs = 2e5) {
  one <- function(epsilon, factor) {
    pair <- descent_pair(epsilon, factor)
    data <- rbind(sniper_runs(pair, "x", train), sniper_runs(pair, "x1", train))
    data$side <- rep(0:1, each = train)
    model <- suppressWarnings(stats::glm(side ~ ., stats::binomial(), data))
    score <- function(side) stats::predict(model, sniper_runs(pair, side, runs))
    top <- stats::quantile(stats::predict(model)[data$side == 1], c(0.95, 0.99), names = FALSE)
    s0 <- score("x")
    s1 <- score("x1")
    hits <- function(s) vapply(top, function(t) sum(s >= t), 0)
    b <- event_bounds(hits(s0), hits(s1), c("x1", "x1"), runs, DELTA, 1e-4)
    record("5 steps of descent", sprintf("(%g, 1e-05)", epsilon), if (factor == 1) "1" else
      sprintf("1/%g", factor), runs, max(b$epsilon), epsilon, max(b$epsilon) > epsilon)
  }
  finish("N3", "Audit by an event learnt with logistic regression",
    rbind(one(1, 1), one(1, 2), one(4, 1), one(4, 2)), paste(
      sprintf("Model fitted to %g runs a side; coordinates of the iterates, norms and", train),
      "logarithms of sizes; the top 1 and 5 %; confidence 1 - 1e-4 a line; bound on epsilon."
    ))
}

# ---- N4: one run -------------------------------------------------------------------

# Steinke, Nasr and Jagielski (2023), theorem 5.2: a bound on the probability of at least v right
# guesses out of r, with m records drawn at random, under (epsilon, delta).
one_run_p <- function(v, r, m, epsilon, delta) {
  q <- stats::plogis(epsilon)
  i <- seq_len(v)
  below <- stats::pbinom(v - 1, r, q) - stats::pbinom(v - i - 1, r, q)
  min(1, stats::pbinom(v - 1, r, q, lower.tail = FALSE) + 2 * m * delta * max(below / i))
}

# Each of m records lies in one of two cells of its own, by a fair coin, and the auditor
# guesses the coins from one release of all counts.
one_run <- function(m, guesses, epsilon, factor) {
  law <- count_law("gaussian", m, factor * gaussian_mu(epsilon, DELTA), sqrt(2))
  coin <- stats::runif(m) < 0.5
  rows <- new_rows(matrix(2 * seq_len(m) - 1.5 + coin), which = 0)
  count <- release_equal_cells(rows, 0, 1, 2 * m, law)[1L + seq_len(2 * m)]
  difference <- c(-1, 1) %*% matrix(count, 2L)
  sure <- utils::head(order(-abs(difference)), guesses)
  right <- sum((difference[sure] > 0) == coin[sure])
  c(right / guesses, one_run_p(right, guesses, m, epsilon, DELTA))
}

run_n4 <- function(m = 1e5, guesses = 3000, times = 40) {
  one <- function(factor) {
    got <- replicate(times, one_run(m, guesses, 1, factor))
    alarms <- mean(got[2L, ] < 0.01)
    data.frame(
      release = sprintf("%g counts", 2 * m), claim = "(1, 1e-05)",
      "noise / claimed" = if (factor == 1) "1" else sprintf("1/%g", factor), audits = times,
      "share guessed right" = three(mean(got[1L, ])), "largest expected" = three(stats::plogis(1)),
      "median p value" = three(median(got[2L, ])), "share of p < 0.01" = three(alarms),
      verdict = if (median(got[2L, ]) < 0.01) "VIOLATED" else "consistent",
      "as expected" = if (if (factor == 1) alarms == 0 else alarms > 0.5) "yes" else "NO",
      check.names = FALSE
    )
  }
  finish("N4", sprintf("Audit in one run, m = %g records, %g guesses", m, guesses),
    rbind(one(1), one(2)), c(
      "Counts and not means of columns: with bounds on every column a record that differs in one",
      "column only is far below the noise, while in a histogram it is as visible as any record."
    ))
}

# ---- N5: pairs of the sensitivity test ---------------------------------------------

# A case: data sets that differ in one record, a release of each and its exact statistic as
# vectors in the unit of noise with standard deviation 2^bits.
new_case <- function(rows, records, bits, release, exact) {
  p <- ncol(rows$x)
  sides <- lapply(records, function(record) {
    rows$x[nrow(rows$x), ] <- record[seq_len(p)]
    if (!is.null(rows$y)) rows$y[[nrow(rows$x)]] <- record[[p + 1L]]
    rows
  })
  list(sides = sides, sd = 2^bits, release = release, exact = lapply(sides, exact))
}

gradient_case <- function(mu, p = sample(c(1, 2, 4), 1), n = sample(c(2, 5, 50), 1)) {
  k <- p + 1L
  roots <- list(NULL, made_up_root(k), hard_root(k, 1e4), hard_root(k, 1e10))
  root <- roots[[sample.int(4L, 1L)]]
  bound <- sample(c(1e-3, 1, 1e6), 1)
  law <- gradient_law(n, k, mu, bound, root)
  plan <- descent_plan(k, law, bound, root)
  w <- sample(c(-1, 0, 0.5), k, TRUE)
  rows <- made_up_rows(n, p, list(intercept = TRUE, centring = TRUE, offset = TRUE))
  new_case(rows, wild_records(p), law$noise[[2L]], function(r, norm = row_norms(r, root)) {
    move <- release_descent(r, norm, w, plan)[, 1L] - w
    if (!is.null(root)) move <- backsolve(t(root), move)
    -move * n / law$step
  }, function(r) from_int64(release_descent(r, row_norms(r, root), w, plan, NULL, TRUE)))
}

moment_case <- function(mu, p = sample(c(1, 2, 4), 1), n = sample(c(2, 5, 50), 1)) {
  m <- p + 2L
  bound <- sample(c(1e-3, 1, 1e6), 1)
  law <- moment_law(n, m, mu, bound)
  upper <- upper.tri(diag(m), diag = TRUE)
  weight <- ifelse(upper.tri(diag(m)), 11 / 8, 1)[upper]
  rows <- made_up_rows(n, p, list(intercept = TRUE, centring = TRUE, offset = TRUE))
  new_case(rows, wild_records(p), law$noise[[2L]], function(r, norm = row_norms(r, NULL, TRUE)) {
    release_moments(r, norm, bound, law)[upper] * n / law$step^2 * weight
  }, function(r) {
    from_int64(release_moments(r, row_norms(r, NULL, TRUE), bound, law, NULL, TRUE)) * weight
  })
}

count_case <- function(mu, p = 3, n = sample(c(2, 50), 1)) {
  law <- count_law("gaussian", n, mu, sqrt(2 * (p + 1)))
  rows <- made_up_rows(n, p, list(centring = TRUE, offset = TRUE))
  rows$which <- as.double(0:p)
  cells <- octave_cells(-3, 3)
  new_case(rows, wild_records(p), law$noise[[2L]], function(r) {
    as.vector(release_octaves(r, "columns", cells, law)) * law$unit
  }, function(r) from_int64(release_octaves(r, "columns", cells, law, NULL, TRUE)))
}

sum_case <- function(mu, p = 3, n = sample(c(2, 50), 1)) {
  law <- sum_law("gaussian", n, p, mu)
  rows <- made_up_rows(n, p, list(centring = TRUE))
  rows$y <- NULL
  rows$inv_scale <- rep(law$limit * sample(c(1e-3, 1, 1e150), 1), p)
  records <- lapply(wild_records(p), utils::head, p)
  new_case(rows, records, law$noise[[2L]], function(r) release_sums(r, law), function(r) {
    from_int64(release_sums(r, law, NULL, TRUE))
  })
}

# A lower bound on mu from the projection on the direction in which two exact statistics
# differ, with the threshold half-way; NA if they do not differ.
pair_bound <- function(case, i, j, runs, alpha) {
  change <- case$exact[[j]] - case$exact[[i]]
  if (all(change == 0)) {
    return(NA_real_)
  }
  direction <- change / l2(change)
  threshold <- sum((case$exact[[i]] + change / 2) * direction)
  hits <- function(rows) {
    noisy <- vapply(seq_len(runs), function(k) case$release(rows), change)
    sum(crossprod(direction, matrix(noisy, length(change))) > threshold)
  }
  event_bounds(hits(case$sides[[i]]), hits(case$sides[[j]]), "x1", runs, 0, alpha)$mu
}

# The two records that differ most and some others.
some_pairs <- function(case, others) {
  pairs <- utils::combn(length(case$sides), 2L)
  size <- apply(pairs, 2L, function(ij) l2(case$exact[[ij[[1L]]]] - case$exact[[ij[[2L]]]]))
  chosen <- unique(c(which.max(size), sample(which(size > 0), min(others, sum(size > 0)))))
  pairs[, chosen, drop = FALSE]
}

run_n5 <- function(runs = 1e4, cases = 40, others = 6) {
  for (e in parse("tests/testthat/test-sensitivity.R")) {
    if (is.call(e) && identical(e[[1L]], as.name("<-"))) eval(e, globalenv())
  }
  mu <- gaussian_mu(4, DELTA)
  one <- function(name, make, factor) {
    bounds <- unlist(lapply(seq_len(cases), function(i) {
      case <- make(factor * mu)
      pairs <- some_pairs(case, if (factor == 1) others else 0)
      apply(pairs, 2L, function(ij) {
        pair_bound(case, ij[[1L]], ij[[2L]], runs, 1e-4 / (cases * (others + 1)))
      })
    }))
    cbind(
      record(name, "mu of (4, 1e-05)", if (factor == 1) "1" else sprintf("1/%g", factor), runs,
             max(bounds), mu, max(bounds) > mu),
      pairs = length(bounds)
    )
  }
  makes <- list("clipped gradients" = gradient_case, "second moments" = moment_case,
                "octave counts" = count_case, "winsorised sums" = sum_case)
  table <- do.call(rbind, unlist(lapply(names(makes), function(name) {
    lapply(c(1, 1.41), function(factor) one(name, makes[[name]], factor))
  }), recursive = FALSE))
  finish("N5", "Audit of pairs with wild records", table, c(
    sprintf("%d data sets a line, a record of each replaced by special and random ones;", cases),
    sprintf("the pair that differs most and %d others (with planted noise the first", others),
    "alone); bound on mu, the largest of the line; confidence 1 - 1e-4 a line."
  ))
}

# ---- run ---------------------------------------------------------------------------

audits <- list(N1 = run_n1, N2 = run_n2, N3 = run_n3, N4 = run_n4, N5 = run_n5)
wanted <- commandArgs(TRUE)
for (name in if (length(wanted) > 0L) wanted else names(audits)) audits[[name]]()

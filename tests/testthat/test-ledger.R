spend <- function(b, events, epsilon = 0.1, delta = 0, what = "test") {
  ledger_charge(b, events, epsilon, delta, what)
}

# A ledger with these calls, as if they had been charged to it.
ledger_with <- function(epsilon, delta, calls) {
  b <- privacy_budget(epsilon, delta)
  assign("calls", calls, envir = b)
  b
}

# One call with the ledger's own allowance, as a front makes it.
call_with <- function(b, epsilon, delta, kind) {
  a <- ledger_allowance(b, epsilon, delta, kind)
  events <- switch(kind,
    gaussian = gaussian_event(a$mu / sqrt(7), 7),
    pure = list(laplace_event(a$epsilon / 2), exponential_event(a$epsilon / 4, 2)),
    mixed = list(gaussian_event(sqrt(a$rho)), exponential_event(sqrt(4 * a$rho / 3), 3))
  )
  spend(b, events, epsilon, delta, kind)
}

test_that("epsilon and delta of a budget are checked by name (G03)", {
  for (e in list(0, -1, NA_real_, NaN, "1", c(1, 2), NULL, TRUE, numeric(0), Inf)) {
    expect_error(privacy_budget(e), "epsilon", class = "dp_error_input")
  }
  for (d in list(-1e-9, 1, 2, NA_real_, "0", c(1e-6, 1e-6))) {
    expect_error(privacy_budget(1, d), "delta", class = "dp_error_input")
  }
  expect_error(remaining(1), "budget", class = "dp_error_input")
  expect_error(ledger_charge(list(), pure_event(1), 1, 0, ""), "budget", class = "dp_error_input")
})

test_that("with delta = 0 ten tenths fit and the eleventh does not", {
  for (total in c(1, 0.3, 7, 1e-9, 1e9)) {
    b <- privacy_budget(total)
    expect_identical(remaining(b), total)
    for (i in 1:10) spend(b, pure_event(total / 10))
    expect_equal(spent(b), total)
    expect_identical(remaining(b), 0)
    expect_error(spend(b, pure_event(total / 10)), class = "dp_error_budget")
    expect_error(spend(b, pure_event(total / 1e6)), class = "dp_error_budget")
  }
  b <- privacy_budget(0.3)
  for (i in 1:3) spend(b, pure_event(0.1)) # 0.1 + 0.1 + 0.1 > 0.3 in doubles
  expect_error(spend(b, gaussian_event(0.01)), class = "dp_error_budget")
})

test_that("parts that make up the budget fit in any order, and nothing more", {
  parts <- list(rep(1 / 3, 3), c(0.7, 0.2, 0.1), c(0.1, 0.2, 0.7), rep(1 / 49, 49), rep(1e-3, 1000))
  for (part in parts) {
    b <- privacy_budget(1)
    for (e in part) spend(b, pure_event(e), e)
    expect_error(spend(b, pure_event(1e-9)), class = "dp_error_budget")
    expect_identical(nrow(as.data.frame(b)), length(part))
  }
  part <- c(0.7, 0.2, 0.1)
  for (size in c(1, 1e-9)) {
    b <- privacy_budget(size)
    for (e in size * part) spend(b, pure_event(e), e)
    expect_error(spend(b, pure_event(size * 1e-9)), class = "dp_error_budget")
  }
})

test_that("sums of mu^2 and of rho reach their limit and do not pass it", {
  for (epsilon in c(0.01, 1, 10)) {
    limit <- discrete_gaussian_mu(epsilon, 1e-6)^2
    for (part in list(rep(1 / 3, 3), c(0.7, 0.2, 0.1), rep(0.1, 10))) {
      b <- privacy_budget(epsilon, 1e-6)
      for (p in part) spend(b, gaussian_event(sqrt(p * limit)))
      expect_error(spend(b, gaussian_event(sqrt(1e-9 * limit))), class = "dp_error_budget")
      expect_lte(spent(b), epsilon * (1 + 1e-9))
    }
    limit <- zcdp_rho(epsilon, 1e-6)
    for (part in list(rep(1 / 3, 3), c(0.7, 0.2, 0.1), rep(0.1, 10))) {
      b <- privacy_budget(epsilon, 1e-6)
      for (p in part * limit) {
        spend(b, list(gaussian_event(sqrt(p)), exponential_event(sqrt(4 * p))))
      }
      expect_equal(sum(vapply(b$calls, function(x) x$total$rho, 0)), limit)
      expect_error(spend(b, exponential_event(sqrt(8e-9 * limit))), class = "dp_error_budget")
      expect_lte(spent(b), epsilon * (1 + 1e-9))
    }
  }
})

test_that("a refusal names what is asked and left, and changes nothing", {
  b <- privacy_budget(1, 1e-6)
  call_with(b, 0.5, 1e-6, "gaussian")
  before <- list(spent(b), remaining(b), as.data.frame(b))
  expect_error(call_with(b, 0.9, 1e-6, "gaussian"), "epsilon = 0.9 .* epsilon = 0.84",
               class = "dp_error_budget")
  expect_error(spend(b, pure_event(0.5), 0.5), "Nothing was charged", class = "dp_error_budget")
  expect_identical(list(spent(b), remaining(b), as.data.frame(b)), before)
})

test_that("a call that fails after the charge stays charged", {
  b <- privacy_budget(1, 1e-6)
  front <- function() {
    call_with(b, 0.5, 1e-6, "gaussian")
    stop("later")
  }
  expect_error(front(), "later")
  expect_equal(spent(b), 0.5, tolerance = 1e-6)
  expect_identical(nrow(as.data.frame(b)), 1L)
})

# A numeric column that signals a condition when its values are read.
trap <- function(n, signal) {
  local_signal <<- signal
  structure(as.numeric(seq_len(n)), class = "trap_column")
}
local_signal <- NULL
registerS3method("as.double", "trap_column", function(x, ...) local_signal())

test_that("a front that fails or is interrupted while it reads values stays charged", {
  interrupt <- function() stop(structure(class = c("interrupt", "condition"), list()))
  for (signal in list(interrupt, function() stop("broken"))) {
    b <- privacy_budget(1, 1e-6)
    x <- structure(list(v = trap(50, signal)), class = "data.frame", row.names = 1:50)
    for (i in 1:2) { # a second try is charged again
      fate <- tryCatch(
        dp_mean(x, 0.25, bound = c(0, 60), budget = b),
        interrupt = function(e) "stopped", error = function(e) conditionMessage(e)
      )
      expect_true(fate %in% c("stopped", "broken"))
      expect_equal(spent(b), 0.25 * i)
    }
    expect_identical(as.data.frame(b)$what, c("dp_mean", "dp_mean"))
  }
})

test_that("a signal that arrives after the charge gives nothing back", {
  skip_on_os("windows")
  skip_on_cran()
  b <- privacy_budget(1)
  fate <- tryCatch({
    spend(b, pure_event(0.5), 0.5)
    tools::pskill(Sys.getpid(), tools::SIGINT)
    for (i in 1:100) Sys.sleep(0.02)
    "went on"
  }, interrupt = function(e) "stopped")
  expect_identical(fate, "stopped")
  expect_equal(spent(b), 0.5)
})

test_that("Gaussian calls share a budget exactly: the sum of mu^2", {
  b <- privacy_budget(1, 1e-6)
  limit <- discrete_gaussian_mu(1, 1e-6)
  for (i in 1:10) spend(b, gaussian_event(limit / sqrt(10)), 0.3, 1e-6)
  expect_equal(spent(b), 1, tolerance = 1e-8)
  expect_error(spend(b, gaussian_event(limit * 1e-4)), class = "dp_error_budget")
  expect_equal(epsilon_at(new_privacy(NA, NA, lapply(b$calls, function(x) x$events[[1]])), 1e-6),
               1, tolerance = 1e-8)
})

test_that("two calls on one ledger cost the calculator's value of the union", {
  b <- privacy_budget(2, 1e-6)
  ev <- list(gaussian_event(0.1, 5, what = "a"), gaussian_event(0.05, 3))
  for (e in ev) spend(b, e, 0.4, 1e-6)
  expect_identical(spent(b), events_epsilon(ev, 1e-6))
})

test_that("an empty ledger gives the first call all of it, whatever its noise", {
  for (kind in c("gaussian", "pure", "mixed")) {
    b <- privacy_budget(1, 1e-6)
    expect_identical(remaining(b), 1)
    expect_identical(ledger_allowance(b, 1, 1e-6, kind), ledger_allowance(NULL, 1, 1e-6, kind))
    call_with(b, 1, 1e-6, kind)
    expect_lt(remaining(b), 1e-3)
  }
})

test_that("pure calls first, then Gaussian ones: epsilons add", {
  b <- privacy_budget(1, 1e-6)
  spend(b, pure_event(0.2), 0.2)
  expect_equal(remaining(b), 0.8)
  expect_equal(remaining(b, 0), 0.8)
  call_with(b, 0.8, 1e-6, "gaussian")
  expect_equal(spent(b), 1, tolerance = 1e-6)
  p <- new_privacy(NA, NA, c(b$calls[[1]]$events, b$calls[[2]]$events))
  expect_lte(epsilon_at(p, 5e-7), 1)
})

test_that("many small pure calls are counted by rho when that is better", {
  b <- privacy_budget(1, 1e-6)
  for (i in 1:80) spend(b, exponential_event(0.02), 0.02)
  expect_gt(sum(vapply(b$calls, function(x) x$total$epsilon, 0)), 1)
  expect_gt(remaining(b), 0)
  expect_lt(spent(b), 1)
  expect_lte(sum(vapply(b$calls, function(x) x$total$rho, 0)), zcdp_rho(1, 5e-7))
})

# Rules may not be exchanged after an answer: delta of an analyst who makes a Gaussian call,
# sees the loss, and then takes the better of "all mu^2 add up" and "epsilons add up".
test_that("joining two filters by `or` breaks the guarantee, and the ledger does not", {
  delta <- 1e-6
  first <- gaussian_mu(0.5, delta)
  rest <- sqrt(gaussian_mu(1, delta)^2 - first^2)
  response <- function(x) {
    stats::plogis(0.5) * pmax(1 - exp(x - 0.5), 0) + stats::plogis(-0.5) * pmax(1 - exp(x + 0.5), 0)
  }
  z <- seq(-10, 20, length.out = 1e5)
  loss <- first^2 / 2 + first * z
  mean_of <- function(v) sum(v * dnorm(z)) * (z[2] - z[1])
  gaussian <- gaussian_delta(rest, 1 - loss)
  expect_equal(mean_of(gaussian) / delta, 1, tolerance = 1e-3)
  expect_gt(mean_of(pmax(gaussian, response(1 - loss))) / delta, 1.5)

  b <- privacy_budget(1, delta)
  call_with(b, 0.5, delta, "gaussian")
  expect_error(spend(b, pure_event(0.5), 0.5), class = "dp_error_budget")
  allowed <- remaining(b, 0)
  expect_lte(mean_of(pmax(gaussian, gaussian_delta(pure_mu(allowed), 1 - loss))) / delta, 1 + 1e-3)
})

# Is the list within a rule that was fixed in time? Written again, from the statement.
within_filter <- function(calls, epsilon, delta) {
  total <- lapply(calls, function(x) compose_events(x$events))
  get <- function(i, name) sum(vapply(total[i], function(t) t[[name]], 0))
  rule <- function(i, epsilon, delta) {
    if (length(i) == 0L) return(TRUE)
    if (length(i) == 1L && total_delta(total[[i]], epsilon * (1 + 1e-11)) <= delta * (1 + 1e-9)) {
      return(TRUE)
    }
    if (total[[i[1]]]$only_gaussian) {
      return(gaussian_delta(sqrt(get(i, "gdp")), epsilon) <= delta)
    }
    zcdp_delta(get(i, "rho"), epsilon) <= delta * (1 + 1e-9)
  }
  n <- length(calls)
  pure <- sum(cumsum(vapply(total, function(t) t$epsilon, 0)) <= epsilon * (1 + 1e-12))
  if (pure == n) return(TRUE)
  if (pure == 0) return(rule(seq_len(n), epsilon, delta))
  rule((pure + 1):n, epsilon - get(seq_len(pure), "epsilon"), delta / 2) ||
    zcdp_delta(get(seq_len(n), "rho"), epsilon) <= delta / 2 * (1 + 1e-9)
}

test_that("any adaptive sequence stays within the filter, and remaining() always fits", {
  set.seed(2)
  kinds <- c("gaussian", "pure", "mixed")
  for (run in 1:8) {
    epsilon <- runif(1, 0.2, 4)
    delta <- 10^-runif(1, 4, 9)
    b <- privacy_budget(epsilon, delta)
    for (step in 1:4) {
      kind <- sample(kinds, 1)
      call_delta <- if (kind == "pure") sample(c(0, delta), 1) else delta
      ask <- runif(1, 0, 0.7) * remaining(b, call_delta)
      if (ask > 1e-3) call_with(b, ask, call_delta, kind)
      huge <- gaussian_event(discrete_gaussian_mu(epsilon, delta) * 1.01)
      expect_error(spend(b, huge), class = "dp_error_budget")
      for (k in kinds) {
        copy <- ledger_with(epsilon, delta, b$calls)
        left <- remaining(copy)
        if (left > 0) call_with(copy, left, delta, k)
        expect_true(within_filter(copy$calls, epsilon, delta))
        copy <- ledger_with(epsilon, delta, b$calls)
        if (remaining(copy, 0) > 0) call_with(copy, remaining(copy, 0), 0, "pure")
        expect_true(within_filter(copy$calls, epsilon, delta))
      }
    }
    expect_true(within_filter(b$calls, epsilon, delta))
    expect_lte(spent(b), epsilon * (1 + 1e-9))
  }
})

test_that("a ledger with delta = 0 refuses what needs delta, and Inf is refused", {
  b <- privacy_budget(1)
  expect_error(ledger_allowance(b, 0.5, 1e-6, "gaussian"), "delta", class = "dp_error_budget")
  expect_identical(ledger_allowance(b, 0.5, 0, "pure")$epsilon, 0.5)
  expect_identical(remaining(b, 0), 1)
  expect_error(ledger_allowance(b, Inf, 0, "pure"), "epsilon = Inf", class = "dp_error_budget")
  expect_error(ledger_charge(b, list(), Inf, 0, ""), "epsilon = Inf", class = "dp_error_budget")
  expect_identical(nrow(as.data.frame(b)), 0L)
})

test_that("without a ledger the allowance is the tightest calibration", {
  expect_identical(ledger_allowance(NULL, 1, 1e-6, "gaussian")$mu, discrete_gaussian_mu(1, 1e-6))
  expect_identical(ledger_allowance(NULL, 1, 0, "pure")$epsilon, 1)
  expect_identical(ledger_allowance(NULL, 1, 1e-6, "mixed")$rho, zcdp_rho(1, 1e-6))
  expect_identical(ledger_allowance(NULL, Inf, 0, "gaussian")$mu, Inf)
  expect_error(ledger_allowance(NULL, 1, 0, "gaussian"), "delta", class = "dp_error_input")
  expect_error(ledger_allowance(NULL, 1e-10, 1e-6, "gaussian"), "too small",
               class = "dp_error_input")
  expect_null(ledger_charge(NULL, pure_event(1), 1, 0, ""))
})

test_that("a copy may not spend, the original may", {
  b <- privacy_budget(1, 1e-6)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(b, file)
  for (copy in list(readRDS(file), unserialize(serialize(b, NULL)))) {
    expect_error(spend(copy, pure_event(0.1)), "copy", class = "dp_error_budget")
    expect_error(ledger_allowance(copy, 0.1, 0, "pure"), "copy", class = "dp_error_budget")
    expect_error(dp_quantile(1:9, 0.5, 0.1, bound = c(0, 10), budget = copy), "copy",
                 class = "dp_error_budget")
    expect_error(copy$process <- Sys.getpid(), class = "dp_error_budget")
    expect_output(print(copy), "may not spend")
    expect_identical(spent(copy), 0)
  }
  spend(b, pure_event(0.1))
  expect_equal(remaining(b, 0), 0.9)
  expect_false(any(grepl("may not spend", capture.output(print(b)))))
})

test_that("a ledger cannot be changed by assignment", {
  b <- privacy_budget(1, 1e-6)
  spend(b, pure_event(0.1))
  before <- list(spent(b), remaining(b), as.data.frame(b))
  expect_error(b$epsilon <- 2, "cannot be changed", class = "dp_error_budget")
  expect_error(b$delta <- 0.5, class = "dp_error_budget")
  expect_error(b$calls <- list(), class = "dp_error_budget")
  expect_error(b$calls[[1]] <- NULL, class = "dp_error_budget")
  expect_error(b$calls[[1]]$total$epsilon <- 0, class = "dp_error_budget")
  expect_error(b[["calls"]] <- list(), class = "dp_error_budget")
  expect_error(b["calls"] <- list(), class = "dp_error_budget")
  expect_error(b$new <- 1, class = "dp_error_budget")
  expect_error(assign("epsilon", 2, envir = b), "locked")
  expect_error(assign("other", 2, envir = b), "locked")
  expect_error(rm("calls", envir = b), "cannot remove")
  expect_identical(list(spent(b), remaining(b), as.data.frame(b)), before)
})

test_that("a forked child may not spend", {
  skip_on_os("windows")
  b <- privacy_budget(1)
  try_it <- function() tryCatch(spend(b, pure_event(0.1)), dp_error_budget = conditionMessage)
  job <- parallel::mcparallel(try_it())
  result <- parallel::mccollect(job)[[1]]
  expect_match(result, "another R process")
  expect_identical(spent(b), 0)
})

test_that("a call without cost is admitted and does not decide how costs are counted", {
  b <- privacy_budget(1, 1e-6)
  spend(b, gaussian_event(0.1, 0))
  expect_identical(remaining(b), 1)
  spend(b, pure_event(0.3))
  expect_equal(remaining(b), 0.7)
})

test_that("print shows total, spent, remaining and the calls", {
  b <- privacy_budget(1, 1e-6)
  call_with(b, 0.5, 1e-6, "gaussian")
  out <- capture.output(print(b))
  expect_match(out[1], "epsilon = 1, delta = 1e-06")
  expect_match(out[2], "Spent: +epsilon = 0.5")
  expect_match(out[3], "Remaining: +epsilon = 0.84")
  expect_match(out, "one Gaussian release with a standard deviation of", all = FALSE)
  expect_match(out, "gaussian +....-..-..T..:..:..Z +0.5", all = FALSE)
  expect_match(format(b), "spent 0.5")
  expect_false(any(grepl("Gaussian release", capture.output(print(privacy_budget(1))))))
  expect_identical(as.data.frame(b)$releases, 7)
})

test_that("the Gaussian release that print() offers fits, and a larger one does not", {
  histories <- list(
    list(), list(gaussian_event(0.1)), list(pure_event(0.3)),
    list(list(gaussian_event(0.1), exponential_event(0.1))), rep(list(pure_event(0.02)), 60)
  )
  for (history in histories) {
    state <- function() {
      b <- privacy_budget(1, 1e-6)
      for (events in history) spend(b, events)
      b
    }
    mu <- state_gaussian_mu(ledger_state(state()))
    expect_gt(mu, 0)
    expect_error(spend(state(), gaussian_event(mu)), NA)
    expect_error(spend(state(), gaussian_event(mu * 1.001)), class = "dp_error_budget")
  }
  expect_identical(state_gaussian_mu(ledger_state(privacy_budget(1))), 0)
})

test_that("summary() is a table with what spent() said after each call", {
  for (calls in list(c("pure", "gaussian", "mixed"), c("gaussian", "pure"), c("mixed", "mixed"))) {
    b <- privacy_budget(1, 1e-6)
    said <- numeric()
    before <- Sys.time()
    for (kind in calls) {
      call_with(b, 0.2, if (kind == "pure") 0 else 1e-6, kind)
      said <- c(said, spent(b))
    }
    s <- summary(b)
    expect_s3_class(s, c("summary.dp_budget", "data.frame"), exact = TRUE)
    expect_named(s, c("what", "when", "events", "epsilon", "delta", "cumulative"))
    expect_identical(s$cumulative, said)
    expect_identical(s$what, calls)
    expect_identical(s$epsilon, rep(0.2, length(calls)))
    expect_identical(attr(s$when, "tzone"), "UTC")
    expect_true(all(s$when > before - 2 & s$when < Sys.time() + 1))
  }
  expect_identical(s$events, rep("gaussian x 1, exponential x 3", 2))
  old <- options(width = 120)
  on.exit(options(old))
  out <- capture.output(print(s))
  expect_match(out[1], "epsilon = 1, delta = 1e-06")
  expect_match(out[3], paste0("mixed +[0-9-]+T[0-9:]+Z +gaussian x 1, exponential x 3 +",
                              "0.2 +1e-06 +0[.][12]"))
  expect_output(print(s[1, c("what", "cumulative")]), "mixed")
  empty <- summary(privacy_budget(1))
  expect_identical(nrow(empty), 0L)
  expect_output(print(empty), "No calls")
})

test_that("plot() draws the spending against the budget", {
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  b <- privacy_budget(1, 1e-6)
  expect_identical(plot(b), data.frame(call = 0, epsilon = 0))
  for (i in 1:3) call_with(b, 0.2, 1e-6, "gaussian")
  expect_invisible(plot(b))
  expect_identical(plot(b), data.frame(call = 0:3 + 0, epsilon = c(0, summary(b)$cumulative)))
  expect_equal(graphics::par("usr")[4], 1.04)
})

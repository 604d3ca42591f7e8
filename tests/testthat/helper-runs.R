# Fits of all fronts for the tests of cases, methods and leaks.

# Enough rows for a fit that neither refuses nor warns.
big <- fixture(4000)

repeatable <- dp_control(rng = "R")

# The class and text of every condition an expression signals, errors included.
conditions_of <- function(expr) {
  seen <- character()
  note <- function(c) seen <<- c(seen, paste0(class(c)[[1L]], ": ", conditionMessage(c)))
  tryCatch(
    withCallingHandlers(
      expr,
      warning = function(c) {
        note(c)
        invokeRestart("muffleWarning")
      },
      message = function(c) {
        note(c)
        invokeRestart("muffleMessage")
      }
    ),
    error = note
  )
  seen
}

# The same without warnings that are released facts, functions of noisy numbers.
public_conditions <- function(expr) {
  grep("^dp_(dominated|heavy_tail)", conditions_of(expr), invert = TRUE, value = TRUE)
}

# Silences the two warnings about few rows, no others.
quiet <- function(expr) {
  withCallingHandlers(
    expr,
    dp_small_n = function(c) invokeRestart("muffleWarning"),
    dp_dominated = function(c) invokeRestart("muffleWarning")
  )
}

# `call`: a function of a budget. It must stop with an error of this package whose text
# matches `naming`, hold no `secret` text, and leave the budget as it was.
expect_refusal <- function(call, naming, class = "dp_error", secret = "12345|CANARY") {
  budget <- privacy_budget(1, 1e-6)
  error <- tryCatch(quiet(call(budget)), error = identity)
  testthat::expect_s3_class(error, class)
  if (!inherits(error, "error")) {
    return(invisible())
  }
  testthat::expect_s3_class(error, "dp_error")
  testthat::expect_match(conditionMessage(error), naming)
  testthat::expect_no_match(conditionMessage(error), secret)
  testthat::expect_identical(spent(budget), 0)
  testthat::expect_identical(nrow(as.data.frame(budget)), 0L)
}

# A plain least-squares fit's coefficients, 0 for what lm() drops.
lm_coef <- function(...) {
  b <- stats::coef(stats::lm(...))
  b[is.na(b)] <- 0
  b
}

# Runs a front with some of the package's functions replaced.
with_replaced <- function(front, ...) {
  environment(front) <- list2env(list(...), parent = asNamespace("dpheavy"))
  front
}

# Signals of the heavy-tail warning: how many of its class.
heavy_warnings <- function(expr) sum(grepl("^dp_heavy_tail", conditions_of(expr)))

# Runs `expr`; note(name, frame) is called at the start of each call of these functions of the
# package.
tracing <- function(names, note, expr) {
  home <- asNamespace("dpheavy")
  on.exit(suppressMessages(for (name in names) untrace(name, where = home)))
  for (name in names) {
    spy <- as.call(list(note, name, quote(environment())))
    suppressMessages(trace(name, tracer = spy, where = home, print = FALSE))
  }
  force(expr)
}

# The share of mu^2 that events whose label matches take; how many there are.
share_of <- function(fit, label) {
  events <- as.data.frame(privacy(fit))
  own <- grepl(label, events$what)
  spent <- events$cost^2 * events$count
  list(share = sum(spent[own]) / sum(spent), count = sum(own))
}

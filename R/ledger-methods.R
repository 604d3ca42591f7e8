# Tables, text and plot of a ledger.

calls_table <- function(calls) {
  text <- function(f) vapply(calls, f, "")
  number <- function(f) vapply(calls, f, 0)
  data.frame(
    what = text(function(call) call$what),
    when = .POSIXct(number(function(call) as.numeric(call$when)), tz = "UTC"),
    epsilon = number(function(call) call$epsilon),
    delta = number(function(call) call$delta),
    mechanisms = text(function(call) paste(names(release_counts(call)), collapse = ", ")),
    releases = number(function(call) sum(release_counts(call))),
    stringsAsFactors = FALSE
  )
}

# Number of releases by mechanism, in order of appearance.
release_counts <- function(call) {
  mechanism <- vapply(call$events, function(e) e$mechanism, "")
  count <- vapply(call$events, function(e) e$count, 0)
  vapply(split(count, factor(mechanism, unique(mechanism))), sum, 0)
}

#' @export
as.data.frame.dp_budget <- function(x, ...) calls_table(ledger_state(x)$calls)

#' @rdname privacy_budget
#' @export
summary.dp_budget <- function(object, ...) {
  state <- ledger_state(object)
  events <- vapply(state$calls, function(call) {
    count <- release_counts(call)
    paste(names(count), "x", vapply(count, format_number, ""), collapse = ", ")
  }, "")
  table <- calls_table(state$calls)
  structure(
    data.frame(
      table[c("what", "when")], events = events, table[c("epsilon", "delta")],
      cumulative = cumulative_epsilon(state), stringsAsFactors = FALSE
    ),
    class = c("summary.dp_budget", "data.frame"), budget = state[c("epsilon", "delta")]
  )
}

# What spent() said after each call.
cumulative_epsilon <- function(state) {
  vapply(seq_along(state$calls), function(k) {
    state_spent(list(epsilon = state$epsilon, delta = state$delta, calls = state$calls[seq_len(k)]))
  }, 0)
}

#' @export
print.summary.dp_budget <- function(x, ...) {
  budget <- attr(x, "budget")
  if (!is.null(budget)) {
    cat("Privacy budget: epsilon = ", format_number(budget$epsilon), ", delta = ",
        format_number(budget$delta), "\n", sep = "")
  }
  if (nrow(x) == 0L) cat("No calls\n") else print_calls(x)
  invisible(x)
}

print_calls <- function(table) {
  class(table) <- "data.frame"
  if (!is.null(table$when)) table$when <- time_text(table$when)
  for (name in intersect(c("epsilon", "delta", "cumulative"), names(table))) {
    table[[name]] <- vapply(table[[name]], format_number, "")
  }
  print(table, row.names = FALSE, right = FALSE)
}

#' @rdname privacy_budget
#' @export
plot.dp_budget <- function(x, ...) {
  state <- ledger_state(x)
  spent <- data.frame(call = c(0, seq_along(state$calls)),
                      epsilon = c(0, cumulative_epsilon(state)))
  plot(
    spent$call, spent$epsilon, type = "s", xlim = c(0, max(1, spent$call)),
    ylim = c(0, max(state$epsilon, spent$epsilon)), xaxt = "n", xlab = "call",
    ylab = paste("epsilon spent at delta =", format_number(state$delta)), main = "Privacy budget"
  )
  at <- pretty(c(0, max(1, spent$call)))
  graphics::axis(1, at[at == round(at)])
  graphics::points(spent$call, spent$epsilon, pch = 19)
  graphics::abline(h = state$epsilon, lty = 2)
  invisible(spent)
}

#' @export
format.dp_budget <- function(x, ...) {
  state <- ledger_state(x)
  sprintf("privacy budget: epsilon = %s, delta = %s; spent %s, remaining %s",
          format_number(state$epsilon), format_number(state$delta),
          format_number(state_spent(state)), format_number(state_remaining(state, state$delta)))
}

#' @rdname privacy_budget
#' @export
print.dp_budget <- function(x, ...) {
  state <- ledger_state(x)
  cat("Privacy budget: epsilon = ", format_number(state$epsilon), ", delta = ",
      format_number(state$delta), "\n", sep = "")
  cat("Spent:     epsilon = ", format_number(state_spent(state)), "\n", sep = "")
  cat("Remaining: epsilon = ", format_number(state_remaining(state, state$delta)),
      " for one more call with delta = ", format_number(state$delta), "\n", sep = "")
  if (state$delta > 0) print_rest(state)
  if (is_file_budget(x)) cat("File:      ", x$path, "\n", sep = "")
  reason <- not_spendable(x)
  if (!is.null(reason)) cat("Note:      ", reason, "\n", sep = "")
  if (length(state$calls) > 0L) {
    more <- length(state$calls) - EVENT_ROWS
    cat("Calls", if (more > 0L) sprintf(" (the last %d; summary() has all)", EVENT_ROWS), ":\n",
        sep = "")
    print_calls(calls_table(utils::tail(state$calls, EVENT_ROWS)))
  }
  invisible(x)
}

print_rest <- function(state) {
  cat("           epsilon = ", format_number(state_remaining(state, 0)),
      " for one more call with delta = 0\n", sep = "")
  mu <- state_gaussian_mu(state)
  if (mu > 0) {
    cat("           or one Gaussian release with a standard deviation of ", format_number(1 / mu),
        " times its sensitivity\n", sep = "")
  }
}

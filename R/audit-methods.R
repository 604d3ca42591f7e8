# Methods of dp_audit objects.

audit_verdict <- function(x) {
  if (is.na(x$violated)) {
    "No claim was given: these are bounds only."
  } else if (x$violated) {
    "VIOLATED: the mechanism loses more than it claims."
  } else {
    "Consistent with the claim (an audit cannot prove one)."
  }
}

#' @export
print.dp_audit <- function(x, ...) {
  cat(sprintf("Privacy audit: %.0f runs on each of two made-up data sets\n", x$n))
  if (!is.na(x$changed) && x$changed > 1) {
    cat(sprintf("They differ in %.0f rows: the claim must be one for such a pair.\n", x$changed))
  }
  if (any(x$failed > 0)) {
    cat(sprintf("Runs that stopped with an error: %d on x, %d on x1\n", x$failed[[1L]],
                x$failed[[2L]]))
  }
  claimed <- vapply(c(x$claim$epsilon, x$claim$mu), function(v) {
    if (is.na(v)) "-" else format_number(v)
  }, "")
  bound <- vapply(c(x$epsilon, x$mu), format_number, "")
  name <- c(sprintf("epsilon at delta = %s", format_number(x$delta)), "mu (Gaussian privacy)")
  cat(sprintf("\n%-26s  %10s  %10s\n", "", "claimed", "at least"))
  cat(sprintf("%-26s  %10s  %10s\n", name, claimed, bound), sep = "")
  cat(sprintf("\nConfidence %s for all of this together\n%s\n", format(x$level, digits = 15L),
              audit_verdict(x)))
  invisible(x)
}

#' @export
summary.dp_audit <- function(object, ...) {
  structure(list(audit = object), class = "summary.dp_audit")
}

#' @export
print.summary.dp_audit <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  a <- x$audit
  print(a)
  if (nrow(a$events) == 0L) {
    cat("\nNo output told the two data sets apart in the pilot runs.\n")
    return(invisible(x))
  }
  if (!is.na(a$epsilon_gaussian)) {
    cat(sprintf("A Gaussian mechanism with this mu has epsilon = %s at delta = %s.\n",
                format_number(a$epsilon_gaussian), format_number(a$delta)))
  }
  cat(sprintf("\nEvents chosen in %.0f pilot runs and tested in %.0f others, on each side:\n",
              a$n - a$events$runs[[1L]], a$events$runs[[1L]]))
  print(a$events[names(a$events) != "runs"], digits = digits, row.names = FALSE, right = FALSE)
  invisible(x)
}

#' @export
as.data.frame.dp_audit <- function(x, ...) x$events

# The smallest false negative rate that a claim allows at a false positive rate.
claimed_curve <- function(claim, rate) {
  fnr <- rep(0, length(rate))
  if (!is.na(claim$epsilon) && claim$epsilon < Inf) {
    rest <- 1 - claim$delta
    fnr <- pmax(0, rest - exp(claim$epsilon) * rate, exp(-claim$epsilon) * (rest - rate))
  }
  if (!is.na(claim$mu)) {
    fnr <- pmax(fnr, stats::pnorm(stats::qnorm(rate, lower.tail = FALSE) - claim$mu))
  }
  fnr
}

#' @export
plot.dp_audit <- function(x, ...) {
  rate <- seq(0, 1, length.out = 401L)
  claimed <- !is.na(x$violated)
  plot(
    x$curve$false_positive, x$curve$false_negative, type = "n", xlim = c(0, 1), ylim = c(0, 1),
    asp = 1, xlab = "false positive rate (x taken for x1)",
    ylab = "false negative rate (x1 taken for x)",
    main = paste("Audit on made-up data:", if (!claimed) "no claim" else if (x$violated) {
      "claim VIOLATED"
    } else {
      "consistent with the claim"
    })
  )
  if (claimed) {
    graphics::polygon(c(0, rate, 1), c(0, claimed_curve(x$claim, rate), 0), col = "grey88",
                      border = NA)
    graphics::lines(rate, claimed_curve(x$claim, rate), lwd = 2)
  }
  graphics::lines(x$curve, type = "s", col = "firebrick", lwd = 2)
  draw_events(x$events)
  graphics::legend(
    "topright", bty = "n", lwd = c(if (claimed) 2, 2, NA), pch = c(if (claimed) NA, NA, 19),
    col = c(if (claimed) "black", "firebrick", "firebrick"),
    legend = c(if (claimed) "claim: nothing may lie below", "best test found",
               "events tested, confidence limits")
  )
  invisible(x)
}

# Each event as a test of x against x1, with the upper limits of both its error rates.
draw_events <- function(events) {
  if (nrow(events) == 0L) {
    return(invisible())
  }
  up <- events$favours == "x1"
  share_x <- events$hits_x / events$runs
  share_x1 <- events$hits_x1 / events$runs
  fpr <- ifelse(up, share_x, 1 - share_x)
  fnr <- ifelse(up, 1 - share_x1, share_x1)
  fpr_limit <- ifelse(up, events$p_upper, 1 - events$p_lower)
  fnr_limit <- ifelse(up, 1 - events$p_lower, events$p_upper)
  graphics::segments(fpr, fnr_limit, fpr_limit, fnr_limit, col = "firebrick")
  graphics::segments(fpr_limit, fnr, fpr_limit, fnr_limit, col = "firebrick")
  graphics::points(fpr, fnr, pch = 19, col = "firebrick")
}

# Tables in the form of package broom, registered on package generics when that is loaded.

#' Tables of a fit or of a guarantee
#'
#' Methods for [generics::tidy()] and [generics::glance()] (of package generics or broom), which
#' work where one of these packages is there.
#'
#' @param x A fit of this package; or a `dp_privacy` object, a profile, a ledger, an audit, a plan
#'   or an error bound.
#' @param conf.int `TRUE` adds `conf.low` and `conf.high`, of the classes that have
#'   intervals.
#' @param conf.level Confidence level.
#' @param exponentiate `TRUE` takes the exponential of estimates and interval ends, for odds ratios
#'   of [dp_glm()]; standard errors stay those of the log-odds.
#' @param ... Not used.
#' @return Data frames. `tidy()` of a fit: one row per coefficient with `term` and `estimate`, and
#'   with `std.error` (and, with `conf.int = TRUE`, `conf.low` and `conf.high`) where [vcov()] and
#'   [confint()] are known for the fit, or `noise.sd` where only the noise is. Of fits by
#'   [dp_lasso()], [dp_sparse()] and [dp_peel()]: of what is not zero or was released; of
#'   [dp_tune()]: of the chosen fit; of a calibration by [dp_residuals()]: its table. `tidy()` of a
#'   guarantee: its events; of a profile its points; of a ledger its calls; of an audit its
#'   events; of a plan its noise; of an error bound its parts.
#'
#'   `glance()`: one row. Of a fit `front`, `nobs`, `epsilon`, `delta`, `releases`, `rng` and
#'   `calibration`; of a guarantee `mu` and `rho`, too; of a ledger what is `spent` and
#'   `remaining`; of an audit the bounds and the verdict; of a plan the expected error; of an error
#'   bound its value and source.
#' @section Privacy:
#' Functions of what was released; they cost nothing.
#' @examples
#' fit <- dp_quantile(danish$Total, c(0.25, 0.5, 0.75), epsilon = 1)
#' if (requireNamespace("generics", quietly = TRUE)) {
#'   print(generics::tidy(fit))
#'   generics::glance(privacy(fit))
#' }
#' @name dp_tidy
NULL

plain_frame <- function(...) data.frame(..., stringsAsFactors = FALSE, row.names = NULL)

coefficient_table <- function(x, estimate) {
  plain_frame(term = names(estimate) %||% as.character(seq_along(estimate)),
              estimate = as.vector(estimate))
}

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_fit <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  conf.int <- check_flag(conf.int, "conf.int")
  exponentiate <- check_flag(exponentiate, "exponentiate")
  level <- check_number(conf.level, "conf.level", 0, 1, open = TRUE)
  out <- coefficient_table(x, x$coefficients)
  if (has_variance(x)) {
    out$std.error <- unname(sqrt(diag(stats::vcov(x))))
    if (conf.int) {
      ends <- stats::confint(x, level = level)
      out$conf.low <- unname(ends[, 1L])
      out$conf.high <- unname(ends[, 2L])
    }
  } else if (!is.null(x$noise_sd)) {
    out$noise.sd <- unname(x$noise_sd)
  }
  if (exponentiate) exponentiated(out) else out
}

# As package broom has it: standard errors stay those of the logarithm.
exponentiated <- function(table) {
  ends <- intersect(c("estimate", "conf.low", "conf.high"), names(table))
  table[ends] <- lapply(table[ends], exp)
  table
}

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_lasso <- function(x, ...) coefficient_table(x, shown_coefficients(x))

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_sparse <- function(x, ...) coefficient_table(x, shown_coefficients(x))

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_tune <- function(x, ...) tidy_of(x$fit, ...)

# Without package generics.
tidy_of <- function(x, ...) {
  if (inherits(x, "dp_tail_index")) {
    tidy.dp_tail_index(x, ...)
  } else if (inherits(x, "dp_sparse")) {
    tidy.dp_sparse(x)
  } else if (inherits(x, "dp_lasso")) {
    tidy.dp_lasso(x)
  } else if (inherits(x, "dp_mean_by")) {
    tidy.dp_mean_by(x, ...)
  } else {
    tidy.dp_fit(x, ...)
  }
}

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_residuals <- function(x, ...) {
  if (x$type == "calibration") x$table else coefficient_table(x, x$coefficients)
}

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_mechanism <- function(x, ...) {
  switch(x$front,
    noisy_max = plain_frame(term = x$name %||% as.character(x$selected), selected = x$selected),
    peel = coefficient_table(x, stats::setNames(x$values, names(x$values) %||% x$selected)),
    {
      out <- coefficient_table(x, x$coefficients)
      out$noise.sd <- x$scale * if (x$front == "laplace") sqrt(2) else 1
      out
    }
  )
}

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_privacy <- function(x, ...) as.data.frame(x)

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_profile <- function(x, ...) plain_frame(epsilon = x$epsilon, delta = x$delta)

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_budget <- function(x, ...) {
  out <- summary(x)
  attr(out, "budget") <- NULL
  class(out) <- "data.frame"
  out
}

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_audit <- function(x, ...) as.data.frame(x)

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_plan <- function(x, ...) as.data.frame(x)

#' @rdname dp_tidy
#' @exportS3Method generics::tidy
tidy.dp_bound <- function(x, ...) {
  plain_frame(term = as.character(names(x$parts)), estimate = as.numeric(x$parts))
}

#' @rdname dp_tidy
#' @exportS3Method generics::glance
glance.dp_fit <- function(x, ...) {
  p <- x$privacy
  plain_frame(
    front = paste0("dp_", x$front), nobs = x$n, epsilon = p$epsilon, delta = p$delta,
    releases = release_total(p), rng = p$rng, calibration = p$calibration
  )
}

release_total <- function(p) sum(vapply(p$events, function(e) e$count, 0))

#' @rdname dp_tidy
#' @exportS3Method generics::glance
glance.dp_privacy <- function(x, ...) {
  total <- summary(x)
  plain_frame(
    epsilon = x$epsilon, delta = x$delta, mu = total$mu, rho = total$rho,
    releases = release_total(x), neighbours = x$neighbours, rng = x$rng,
    calibration = x$calibration
  )
}

#' @rdname dp_tidy
#' @exportS3Method generics::glance
glance.dp_budget <- function(x, ...) {
  plain_frame(
    epsilon = x$epsilon, delta = x$delta, spent = spent(x), remaining = remaining(x),
    calls = nrow(as.data.frame(x))
  )
}

#' @rdname dp_tidy
#' @exportS3Method generics::glance
glance.dp_plan <- function(x, ...) {
  plain_frame(
    front = paste0("dp_", x$front), nobs = x$n, columns = x$d, epsilon = x$epsilon,
    delta = x$delta, error = x$error[["total"]], worse = x$worse, n_sensible = x$n_sensible
  )
}

#' @rdname dp_tidy
#' @exportS3Method generics::glance
glance.dp_bound <- function(x, ...) {
  plain_frame(value = x$value, xi = x$xi, statement = x$statement, source = x$source)
}

#' @rdname dp_tidy
#' @exportS3Method generics::glance
glance.dp_audit <- function(x, ...) {
  plain_frame(
    epsilon = x$epsilon, delta = x$delta, mu = x$mu, claimed = x$claim$epsilon,
    violated = x$violated, level = x$level, runs = x$n
  )
}

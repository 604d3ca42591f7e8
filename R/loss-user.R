#' A loss of your own
#'
#' For [dp_sco()]: the derivative of a loss in the linear predictor, as an R function.
#'
#' `derivative(eta, y)` gets two numeric vectors of the same length and returns as many numbers:
#' entry i may depend on eta\\[i\\] and y\\[i\\] alone, in the caller's units. This is tried on
#' made-up numbers, at several lengths and in another order, before anything is spent. The test
#' finds a mean or a rank by mistake; it cannot prove anything, so that such a fit rests on the
#' function as trusted code. A result that is not a number counts as zero, an infinite one as the
#' bound. Where it fails on the data it is called for one row at a time, and rows for which it
#' fails count as zero, without a word: an error that only some data raise would tell them.
#'
#' The response is not scaled (a loss may mean something in its own units only), unless `scale =`
#' gives `y` a public centre and scale: the fit then starts at the centre, with steps in units of
#' the scale.
#'
#' @param derivative Function of (eta, y), see above.
#' @param value Function of (eta, y), the loss itself, or `NULL`. Where it is there, `derivative` is
#'   checked against its differences on made-up numbers.
#' @param bound Positive number that the derivative never exceeds in size (it is enforced), or
#'   `NULL`. With a bound it is the covariates that are clipped, with a weight that does not
#'   depend on the response; without one whole gradients are.
#' @param curvature Positive number: how much the derivative rises per unit of eta at most, for the
#'   step; `NULL`: the largest rise over two units that made-up numbers show. Where it is much
#'   smaller on most data, as for exponentials, steps are too short and the fit stops on the way:
#'   give a typical value.
#' @return A list of class `dp_loss`.
#' @section Privacy:
#' The sensitivity does not depend on the function, as long as it treats each record on its own:
#' what it returns is clipped. A function that mixes records breaks the guarantee.
#' @seealso [problem_parts], [dp_sco()]
#' @examples
#' # the median: quantile loss at 1/2
#' loss_user(function(eta, y) (eta > y) - 0.5, bound = 0.5)
#' # log-cosh
#' loss_user(function(eta, y) tanh(eta - y), function(eta, y) log(cosh(eta - y)), bound = 1)
#' @export
loss_user <- function(derivative, value = NULL, bound = NULL, curvature = NULL) {
  if (!is.function(derivative)) dp_abort("`derivative` must be a function of (eta, y).")
  if (!is.null(value) && !is.function(value)) {
    dp_abort("`value` must be a function of (eta, y), or NULL.")
  }
  loss <- new_part(
    "dp_loss", "user", derivative = derivative, value = value,
    bound = if (!is.null(bound)) check_number(bound, "bound", 1e-100, 1e100),
    curvature = if (!is.null(curvature)) check_number(curvature, "curvature", 1e-100, 1e100)
  )
  try_loss(loss)
  loss$probed <- is.null(curvature)
  if (loss$probed) loss$curvature <- made_up_curvature(loss)
  loss
}

# With a public scale of the response the derivative is tried in its units, before anything is
# spent.
loss_in_units <- function(loss, known) {
  last <- length(known$center)
  if (isTRUE(loss$probed) && (known$center[[last]] != 0 || known$scale[[last]] != 1)) {
    loss$curvature <- made_up_curvature(loss, known$center[[last]], known$scale[[last]])
  }
  loss
}

# Pairs of a predictor and a response: of several sizes, 0/1 responses, ties, extremes.
made_up_pairs <- function() {
  size <- c(0, 1e-3, 0.1, 0.5, 1, 2, 3.7, 10, 1e3, 1e10, 1e154, 1.7e308)
  both <- sort(unique(c(-size, size)))
  pairs <- expand.grid(eta = both, y = both)
  # an order in which neighbours have nothing in common
  pairs[order(sin(seq_len(nrow(pairs)) * 1e4)), ]
}

try_loss <- function(loss) {
  pairs <- made_up_pairs()
  all <- trial(loss$derivative, pairs, "derivative")
  halves <- split(seq_len(nrow(pairs)), rep_len(1:2, nrow(pairs)))
  for (rows in c(halves, list(rev(seq_len(nrow(pairs))), 1L, nrow(pairs)))) {
    if (!identical(trial(loss$derivative, pairs[rows, ], "derivative"), all[rows])) {
      dp_abort(paste(
        "`derivative` must treat each pair (eta[i], y[i]) on its own: its results change with the",
        "other entries or their order."
      ))
    }
  }
  if (!is.null(loss$value)) try_value(loss, pairs)
}

trial <- function(f, pairs, arg) {
  out <- tryCatch(
    suppressWarnings(f(pairs$eta, pairs$y)),
    error = function(e) {
      dp_abort(paste0("`", arg, "` fails on made-up numbers: ", conditionMessage(e)))
    }
  )
  if (!(is.numeric(out) || is.logical(out)) || length(out) != nrow(pairs)) {
    dp_abort(sprintf("`%s` must return one number for each pair (eta[i], y[i]).", arg))
  }
  as.double(out)
}

# Differences of the value over short intervals lie between the derivatives at their ends, up
# to curvature; asked of moderate numbers only.
try_value <- function(loss, pairs) {
  pairs <- pairs[abs(pairs$eta) <= 10 & abs(pairs$y) <= 10, ]
  h <- 1e-4
  at <- function(shift) data.frame(eta = pairs$eta + shift, y = pairs$y)
  rise <- (trial(loss$value, at(h), "value") - trial(loss$value, at(-h), "value")) / (2 * h)
  ends <- cbind(trial(loss$derivative, at(-h), "derivative"),
                trial(loss$derivative, at(h), "derivative"))
  slack <- 1e-3 * (1 + abs(rise))
  wrong <- rise < pmin(ends[, 1L], ends[, 2L]) - slack | rise > pmax(ends[, 1L], ends[, 2L]) + slack
  if (any(wrong, na.rm = TRUE)) {
    dp_abort("`derivative` is not the derivative of `value` in eta, on made-up numbers.")
  }
}

# The largest rise of the derivative over two units (scales) of eta, y at hand.
made_up_curvature <- function(loss, center = 0, scale = 1) {
  pairs <- made_up_pairs()
  pairs <- pairs[abs(pairs$eta) <= 4 & abs(pairs$y) <= 4, ]
  at <- function(shift) {
    data.frame(eta = center + scale * (pairs$eta + shift), y = center + scale * pairs$y)
  }
  rise <- (trial(loss$derivative, at(1), "derivative") -
             trial(loss$derivative, at(-1), "derivative")) / (2 * scale)
  rise <- rise[is.finite(rise)]
  if (length(rise) == 0L || max(rise) <= 0) {
    dp_abort("`derivative` does not rise with eta on made-up numbers: give `curvature`.")
  }
  max(rise)
}

# The derivatives on the data, one per row: private. Whatever the function says about them,
# an error, a warning, a line of output, is private too. Where it fails for some row it is asked for
# one row at a time, and a row for which it fails counts as zero: an error that only some data raise
# would tell them.
user_derivative <- function(loss, eta, y) {
  f <- loss$derivative
  out <- in_silence(as_many(f(eta, y), length(eta)))
  if (is.null(out)) {
    out <- in_silence(vapply(seq_along(eta), function(i) {
      tryCatch(as_many(f(eta[[i]], y[[i]]), 1L), error = function(e) NULL) %||% 0
    }, 0))
  }
  out[is.na(out)] <- 0
  if (!is.null(loss$bound)) pmin(pmax(out, -loss$bound), loss$bound) else out
}

# As many numbers as asked for, or NULL.
as_many <- function(out, n) {
  if ((is.numeric(out) || is.logical(out)) && length(out) == n) as.double(out)
}

# A value without a word; NULL where there is an error.
in_silence <- function(expr) {
  out <- NULL
  utils::capture.output(out <- tryCatch(
    withCallingHandlers(
      expr,
      warning = function(w) invokeRestart("muffleWarning"),
      message = function(m) invokeRestart("muffleMessage")
    ),
    error = function(e) NULL
  ))
  out
}

# The ledger: the object that calls are charged to. What it may admit is decided in
# ledger-rules.R; a ledger in a file is read and written in ledger-file.R.

# Ledgers that this process made in memory. A copy by readRDS() is another environment,
# a forked child has another process id.
live_ledgers <- new.env(parent = emptyenv())

#' A privacy budget for several analyses
#'
#' A ledger to pass to several calls as `budget =`. Each call is charged before
#' the values are read and refused if it does not fit. The epsilon of a call may
#' depend on earlier answers. With `path` the ledger is kept in a file, for several
#' sessions or several R processes at once.
#'
#' @section Privacy:
#' All calls charged to one ledger are together (epsilon, delta)-differentially
#' private, even if each call's epsilon, delta and method were chosen after seeing the earlier
#' answers (a privacy filter). With `delta = 0` the epsilons add up (to at most
#' epsilon (1 + 2e-12), for rounding). With `delta > 0` the first call decides how
#' costs are counted:
#' * it has only Gaussian noise: by the sum of mu^2, for Gaussian noise exactly; later selections
#'   and Laplace releases are expressed in mu;
#' * it has pure epsilon (`delta = 0`): the epsilons add up; the first later call with
#'   Gaussian noise finds a budget of epsilon less their sum, at delta/2; or, if that is better,
#'   all calls are counted by zero-concentrated differential privacy at delta/2, which helps
#'   many small calls;
#' * otherwise by zero-concentrated differential privacy.
#'
#' Rules are not exchanged for one another later, for choosing the rule after an
#' answer would break the guarantee. So spend pure epsilons first: a call with
#' `delta = 0` after a Gaussian one costs more than its epsilon.
#'
#' The way of counting is also what a call is calibrated by. A call that finds a ledger spent on
#' by others, or that needs noise of several kinds ([dp_peel()], [dp_mean()] of many columns), may
#' add more noise than without a ledger, and [dp_mean()] may choose another noise or need more rows.
#'
#' A charge is kept: an error, an interrupt or a second try afterwards gives nothing back.
#' `epsilon = Inf` cannot be charged. The guarantee holds for the data of one study: two
#' ledgers spent on the same rows add up.
#'
#' A ledger in memory can be spent only by the R process that made it: a copy made by a
#' fork or read by [readRDS()] is refused. Changing it by `$<-` is refused, too: against accidents,
#' not against an owner who means to cheat.
#'
#' A ledger in a file is the text at `path`; the object only points to it, so a fork, another
#' process or a later session may go on spending it. While one process
#' charges it, others wait, up to five seconds, for the folder `<path>.lock`; two processes cannot
#' both spend the last of it. Digests chain the lines: a file that was cut short, edited or
#' reordered is refused and nothing is spent. This guards against accidents and shows changes made
#' by someone who does not compute the digests anew. It is no protection against an owner
#' who puts an older copy back or spends a copy elsewhere (a hard link is a copy, too); but an
#' R session, or a saved object, that has seen a later state refuses an earlier one. Keep the
#' file on a local disk: the lock relies on the file system making a folder in one step.
#'
#' @param epsilon A positive finite number. May be left out if `path` names an
#'   existing ledger.
#' @param delta A number, 0 <= delta < 1; in `remaining()` the delta of the call in
#'   question, by default the budget's.
#' @param path `NULL` for a ledger in memory, or the name of a file: it is made if it is not
#'   there (a message says so), else opened, and then `epsilon` and `delta`, where given, must
#'   be those of the file.
#' @param budget A ledger made by `privacy_budget()`.
#' @param x,object A ledger.
#' @param ... Not used.
#' @return `privacy_budget()`: a ledger of class `dp_budget`, changed in place by
#'   the calls it is passed to; [as.data.frame()] lists the calls.
#'
#'   `remaining()`: the largest epsilon that one more call may ask for, with the given `delta`,
#'   and be sure to be admitted, whatever noise it uses, for instance one more Gaussian fit such
#'   as [dp_lm()]; calls are calibrated in the ledger's way of counting, so that
#'   `epsilon = remaining(budget)` fits. It is 0 if nothing is left. Ask with the delta of the
#'   call: after Gaussian calls `remaining(budget, delta = 0)`, for a call with `delta = 0`, is
#'   smaller than `remaining(budget)`.
#'
#'   `spent()`: the smallest epsilon that a ledger with this delta would have needed for the calls
#'   so far.
#'
#'   `summary()`: a data frame with one row per call:
#' \describe{
#'   \item{what, when}{the function, and the time of the charge (UTC).}
#'   \item{events}{mechanisms and number of releases.}
#'   \item{epsilon, delta}{what the call asked for.}
#'   \item{cumulative}{`spent()` after this call.}
#' }
#'
#'   `plot()` draws `cumulative` against the budget and returns, invisibly, a data frame of
#'   `call` (0 for the start) and `epsilon`.
#' @references
#' Rogers, R., Roth, A., Ullman, J. and Vadhan, S. (2016). Privacy odometers and
#' filters: pay-as-you-go composition. *NeurIPS*. \doi{10.48550/arXiv.1605.08294}
#'
#' Smith, A. and Thakurta, A. (2022). Fully adaptive composition for Gaussian
#' differential privacy. \doi{10.48550/arXiv.2210.17520}
#'
#' Feldman, V. and Zrnic, T. (2021). Individual privacy accounting via a Renyi
#' filter. *NeurIPS*. \doi{10.48550/arXiv.2008.11193}
#' @examples
#' b <- privacy_budget(epsilon = 1, delta = 1e-6)
#' fit <- dp_quantile(danish$Total, 0.5, epsilon = 0.4, budget = b)
#' remaining(b)
#' b
#' summary(b)
#'
#' # kept in a file, for the next session
#' file <- tempfile(fileext = ".ledger")
#' b <- privacy_budget(epsilon = 1, delta = 1e-6, path = file)
#' fit <- dp_quantile(danish$Total, 0.5, epsilon = 0.4, budget = b)
#' remaining(privacy_budget(path = file))
#' unlink(file)
#' @order 1
#' @export
privacy_budget <- function(epsilon, delta = 0, path = NULL) {
  if (!is.null(path)) {
    wanted <- list(
      epsilon = if (!missing(epsilon)) check_epsilon(epsilon, allow_inf = FALSE),
      delta = if (!missing(delta)) check_delta(delta)
    )
    return(file_budget(check_ledger_path(path), wanted))
  }
  id <- sprintf("%d", length(live_ledgers) + 1L)
  budget <- new_budget(
    list(epsilon = check_epsilon(epsilon, allow_inf = FALSE), delta = check_delta(delta),
         id = id, process = Sys.getpid()),
    list(calls = list())
  )
  assign(id, budget, envir = live_ledgers)
  budget
}

# `fixed` never changes; `changing` is replaced by assign() alone: `$<-` refuses.
new_budget <- function(fixed, changing) {
  budget <- list2env(c(fixed, changing), parent = emptyenv())
  for (name in names(fixed)) lockBinding(name, budget)
  lockEnvironment(budget)
  class(budget) <- "dp_budget"
  budget
}

is_file_budget <- function(budget) !is.null(budget$path)

frozen_budget <- function() {
  dp_abort(paste(
    "a privacy budget cannot be changed by assignment: only calls with `budget =` spend it.",
    "Make a new one with privacy_budget()."
  ), "dp_error_budget")
}

#' @export
`$<-.dp_budget` <- function(x, name, value) frozen_budget()

#' @export
`[[<-.dp_budget` <- function(x, ..., value) frozen_budget()

#' @export
`[<-.dp_budget` <- function(x, ..., value) frozen_budget()

check_ledger <- function(budget) {
  if (missing(budget) || !inherits(budget, "dp_budget") || !is.environment(budget)) {
    dp_abort("`budget` must be a ledger made by privacy_budget().")
  }
  invisible(budget)
}

# Why this ledger may not spend, or NULL. A ledger in memory must be the one this process
# made; of a ledger in a file any copy will do.
not_spendable <- function(budget) {
  if (is_file_budget(budget)) {
    return(NULL)
  }
  if (!identical(budget$process, Sys.getpid())) {
    return("this budget was made by another R process; a copy may not spend")
  }
  own <- get0(budget$id, envir = live_ledgers, inherits = FALSE)
  if (!identical(own, budget)) {
    return("this budget is a copy read from a file; a copy may not spend")
  }
  NULL
}

check_budget <- function(budget) {
  check_ledger(budget)
  reason <- not_spendable(budget)
  if (!is.null(reason)) {
    dp_abort(paste0(
      reason, ". Nothing was charged; to share a budget keep it in a file: ",
      "privacy_budget(..., path = )."
    ), "dp_error_budget")
  }
  invisible(budget)
}

# What a call that protects units is booked as.
PER_UNIT <- ", per unit"

protects_unit <- function(call) endsWith(call$what, PER_UNIT)

# One budget is a promise about one kind of neighbours.
check_same_neighbours <- function(state, call) {
  before <- vapply(costly_calls(state), protects_unit, NA)
  if (any(before != protects_unit(call))) {
    kind <- function(unit) if (unit) "a unit (`unit =`)" else "one row"
    dp_abort(sprintf(paste(
      "the calls of this budget protect %s, and this one protects %s: keep a budget for each.",
      "Nothing was charged."
    ), kind(before[[1L]]), kind(protects_unit(call))), "dp_error_budget")
  }
}

# What the rules look at: list(epsilon, delta, calls).
ledger_state <- function(budget) {
  if (is_file_budget(budget)) {
    return(file_state(budget))
  }
  list(epsilon = budget$epsilon, delta = budget$delta, calls = budget$calls)
}

# Times are whole seconds, so that a file holds them exactly.
call_record <- function(events, epsilon, delta, what) {
  events <- as_events(events)
  list(
    what = as.character(what), epsilon = as.numeric(epsilon), delta = as.numeric(delta),
    when = .POSIXct(floor(as.numeric(Sys.time())), tz = "UTC"), events = events,
    total = compose_events(events, ordered = TRUE)
  )
}

# Books the events of a call, or refuses and changes nothing. To be called before
# the values are read; there is no refund.
ledger_charge <- function(budget, events, epsilon, delta, what) {
  if (is.null(budget)) {
    return(invisible(NULL))
  }
  check_budget(budget)
  if (!is.finite(epsilon)) {
    dp_abort("`epsilon = Inf` cannot be charged to a budget.", "dp_error_budget")
  }
  call <- call_record(events, epsilon, delta, what)
  if (is_file_budget(budget)) {
    charge_file(budget, call)
  } else {
    charge_memory(budget, call)
  }
  invisible(budget)
}

# Again if some other code has charged the same ledger meanwhile.
charge_memory <- function(budget, call) {
  repeat {
    state <- ledger_state(budget)
    check_admitted(state, call)
    if (length(state$calls) == length(budget$calls)) break
  }
  assign("calls", c(state$calls, list(call)), envir = budget)
}

check_admitted <- function(state, call) {
  check_same_neighbours(state, call)
  if (ledger_admits(state, call$total)) {
    return(invisible())
  }
  left <- state_remaining(state, min(call$delta, state$delta))
  dp_abort(sprintf(paste(
    "the privacy budget does not allow this call: it asks for epsilon = %s with",
    "delta = %s, and epsilon = %s is left for such a call. Nothing was charged."
  ), format_number(call$epsilon), format_number(call$delta), format_number(left)),
  "dp_error_budget")
}

#' @rdname privacy_budget
#' @export
remaining <- function(budget, delta = budget$delta) {
  check_ledger(budget)
  state_remaining(ledger_state(budget), check_delta(delta))
}

#' @rdname privacy_budget
#' @export
spent <- function(budget) {
  state_spent(ledger_state(check_ledger(budget)))
}

#' Private choice among several regressions
#'
#' Fits several candidates on a random part of the rows, compares their predictions on the other
#' part, and releases one: which formula, which penalty, which loss. Neither the losses nor the
#' fits that were not chosen are returned.
#'
#' Candidates are compared row by row: what counts is by how much a prediction's loss exceeds that
#' of the row's best candidate, up to the clip level, summed over the rows. That is far smaller than
#' the loss itself where candidates are alike, so that less noise tells them apart, and a
#' heavy-tailed response does no harm. The clip is found privately, as a quantile of the largest
#' excess in a row (0.9, or a lower one, down to the median, where there are few rows), with a third
#' of `epsilon`, or given as `bound`.
#'
#' A row counts only if every candidate uses it (`subset`, `na.action = na.omit`) and can predict
#' it.
#'
#' @param calls Calls of [dp_lm()], [dp_glm()], [dp_lasso()], [dp_sparse()] or [dp_sco()] by
#'   formula, not evaluated and without `data` and `budget`, best in a named list made by [alist()]:
#'   `alist(small = dp_lm(y ~ x1, epsilon = 1, delta = 1e-6), ...)`, or a list of [quote()]d calls.
#'   What they use is looked up where `dp_tune()` is called. All have the same response. A call
#'   without `control` has that of `dp_tune()`.
#' @param data A data frame; its number of rows is public.
#' @param epsilon Positive number: for the choice, on the rows held out. What the fits spend is
#'   in the calls. `Inf` takes the smallest sum of losses, without a clip (not private).
#' @param ... Not used; a misspelt argument is an error.
#' @param holdout Number between 0 and 1: share of the rows on which candidates are compared.
#' @param loss `"squared"`, `"absolute"` or `"logistic"`; `NULL` for `"logistic"` if all
#'   candidates are logistic regressions, `"absolute"` if one has a robust loss or one of your own,
#'   else `"squared"`. A logistic regression predicts probabilities.
#' @param bound Public number above 0: the clip of a row's excess loss, or `NULL` to find it
#'   privately.
#' @param unit Whose rows are whose, see [dp_units]: the parts are then made of whole units, every
#'   fit protects units, and a unit counts in the choice as the mean of its rows. The calls
#'   themselves have no `unit`.
#' @param budget A ledger made by [privacy_budget()], charged once, for all, before values are read.
#' @param control Settings made by [dp_control()].
#' @param object,x A result of `dp_tune()`.
#' @param newdata,parm,level See [predict.dp_lm()] and [confint()].
#' @param digits Significant digits to print.
#' @return An object of class `dp_tune`, a list with
#' \describe{
#'   \item{fit}{the chosen fit, with the `privacy` of the whole.}
#'   \item{coefficients}{its coefficients.}
#'   \item{chosen, labels}{its number, and the names of all candidates.}
#'   \item{n, holdout}{public numbers of rows: all, and those held out.}
#'   \item{loss, bound}{the loss, and the clip of a row's excess (released, public or `Inf`).}
#'   \item{privacy}{what all of it cost, see [privacy()].}
#'   \item{parts}{the guarantees of the two parts, `fits` and `choice`, each for its own rows.}
#' }
#' `coef()`, `predict()`, `formula()`, `plot()`, `vcov()` and `confint()` are those of the chosen
#' fit; intervals do not allow for the choice. `summary()` adds the candidates.
#' @section Privacy:
#' *Parts.* A random order of the row numbers, which reads no value, says which rows are held out.
#' Neighbours differ in one row, and a row that is replaced stays in its part. If it is one of the
#' rows of the fits, the choice reads the same rows as before, and is post-processing of the fits.
#' If it is held out, the fits have the same law as before. So the whole costs what the costlier
#' part costs: the composition of all candidates, whose list is fixed beforehand, or the choice. The
#' ledger is charged once, with a list of events that covers both: those of the fits, with a
#' Gaussian event for what the choice may need beyond their mu; without Gaussian noise, a pure step
#' of the larger epsilon, or all events, whichever is less.
#'
#' *Choice.* From each row comes one number per candidate, the excess over the row's best divided by
#' the clip, cut to \[0, 1\] and rounded down to a multiple of 2^-20; a row without a number adds
#' zero. It is a function of the row and of released fits alone, so that one row moves each
#' candidate's sum, of exact integers, by at most 1. One exponential mechanism of that sensitivity
#' chooses. The clip is one quantile ([dp_quantile()]) of one number per row.
#'
#' With `unit` read unit for row throughout: units are drawn into parts, and a unit's number is that
#' of the means of its rows' losses.
#'
#' The calls are run once without reading values, up to where they would be charged: what they
#' refuse is refused before anything is spent, and what they spend is known.
#' @references
#' McSherry, F. (2009). Privacy integrated queries. *SIGMOD*. \doi{10.1145/1559845.1559850}
#' (parallel composition)
#'
#' McSherry, F. and Talwar, K. (2007). Mechanism design via differential privacy. *FOCS*.
#' \doi{10.1109/FOCS.2007.66}
#' @seealso [privacy_compose()]
#' @examples
#' fit <- dp_tune(
#'   alist(
#'     short = dp_lm(log(wage) ~ education, epsilon = 0.5, delta = 1e-7),
#'     long = dp_lm(log(wage) ~ education + experience + region, epsilon = 0.5, delta = 1e-7)
#'   ),
#'   data = cps1988, epsilon = 0.5
#' )
#' fit
#' predict(fit, data.frame(education = 12, experience = 10, region = "south"))
#' @order 1
#' @export
dp_tune <- function(calls, data, epsilon, ..., holdout = 0.2, loss = NULL, bound = NULL,
                    unit = NULL, budget = NULL, control = dp_control()) {
  check_dots(...)
  control <- check_control(control, "dp_tune")
  epsilon <- check_epsilon(epsilon)
  holdout <- check_number(holdout, "holdout", 1e-3, 1 - 1e-3)
  if (!is.null(bound)) bound <- check_number(bound, "bound", 1e-100, 1e100)
  calls <- check_calls(calls, parent.frame())
  split <- split_rows(if (missing(data)) NULL else data, holdout, control, unit, parent.frame())
  env <- candidate_env(split$fit, control, parent.frame(), split$unit)
  labels <- candidate_labels(calls)
  candidates <- Map(plan_candidate, calls, labels, list(env))
  loss <- tune_loss(loss, candidates, labels)
  plan <- plan_tune(candidates, split$held_records, epsilon, bound, control, split$record)
  held <- Map(held_schema, candidates, list(split$held), labels)
  use <- Map(function(schema, k) curator_check(schema, k$na.action), held, candidates)
  check_chargeable_fits(plan$privacy, budget)
  warn_small_choice(plan, epsilon)
  ledger_charge(budget, plan$privacy$events, plan$privacy$epsilon, plan$privacy$delta,
                paste0("dp_tune", if (split$record == "unit") PER_UNIT))
  report_stage(control, "candidates")
  fits <- Map(run_candidate, calls, candidates, labels, list(env))
  report_stage(control, "choice")
  choice <- choose_fit(held_losses(fits, held, use, loss, control, split), plan, control)
  new_tune(fits[[choice$chosen]], choice, unname(labels), plan, split, loss)
}

new_tune <- function(fit, choice, labels, plan, split, loss) {
  held <- split$held_records
  # it cannot be had for what it cost alone
  fit$privacy <- plan$privacy
  new_dp_fit(
    "tune", fit$coefficients, fit$n + held, plan$privacy, fit = fit, chosen = choice$chosen,
    labels = labels, holdout = held, loss = loss, bound = choice$bound,
    parts = plan$parts, schema = fit$schema
  )
}

check_chargeable_fits <- function(privacy, budget) {
  if (!is.null(budget) && privacy$epsilon == Inf) {
    check_budget(budget)
    dp_abort("`epsilon = Inf`, here or in a call, cannot be charged to a budget.",
             "dp_error_budget")
  }
}

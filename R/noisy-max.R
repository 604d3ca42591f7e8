# Selections on scores of the caller's own.

#' Choose the item with the largest score
#'
#' Releases the index of an item whose score is large, and nothing else. You state how
#' far one row of the data can move any score; it is not checked and cannot be.
#'
#' @param scores Numeric vector, one finite score per item. Their number and names are
#'   public.
#' @param sensitivity Positive number in the units of `scores`: the most that any one score can
#'   move if one row of the data is replaced by any other, all scores at once and in
#'   either direction. It must not come from the data.
#' @param epsilon Positive number. `Inf`: the largest score (not private).
#' @param ... Not used; a misspelt argument is an error.
#' @param mechanism `"exponential"`: bounded range, the cheaper one if many choices or
#'   Gaussian releases are composed. `"permute_and_flip"`: for a single choice at least as good
#'   at the same epsilon, but it composes as any pure mechanism does.
#' @param budget A ledger made by [privacy_budget()], charged before the choice is drawn.
#' @param control Settings made by [dp_control()].
#' @return An object of class `dp_noisy_max`, a list with
#' \describe{
#'   \item{selected}{the index of the chosen item; also `coefficients`, with its name.}
#'   \item{name}{its name, or `NULL` if `scores` has no names.}
#'   \item{scale}{2 sensitivity / epsilon: an item this far below the largest score is chosen
#'     exp(1) times less often than one with that score.}
#'   \item{n, privacy}{`NA`; see [privacy()].}
#' }
#' @section Privacy:
#' Scores are rounded to a public grid, by at most half a step each, so that differences of
#' scores move by at most 2 (sensitivity / step + 1) steps between neighbours; the step is
#' chosen so that this is epsilon times the scale, 2^40 steps. *Exponential
#' mechanism:* P(i) proportional to exp(score_i / scale), drawn exactly; the log-odds of any two
#' outcomes move by at most epsilon (bounded range). *Permute-and-flip:* items are visited in random
#' order and taken with probability exp(-gap_i / scale), gap_i being the distance from the
#' largest score; epsilon-differentially private, but not of bounded range, so it is
#' booked as a pure mechanism. A refusal of missing or infinite scores is for the data
#' holder: do not publish it. The time of a draw depends on the scores.
#' @references
#' McSherry, F. and Talwar, K. (2007). Mechanism design via differential privacy. *FOCS*.
#' \doi{10.1109/FOCS.2007.66}
#'
#' McKenna, R. and Sheldon, D. (2020). Permute-and-flip: a new mechanism for differentially
#' private selection. *NeurIPS*. \doi{10.48550/arXiv.2010.12603}
#'
#' Dong, J., Durfee, D. and Rogers, R. (2020). Optimal differential privacy composition
#' for exponential mechanisms. *ICML*. \doi{10.48550/arXiv.1909.13830}
#' @seealso [dp_peel()] for several items with their values
#' @examples
#' votes <- c(red = 210, green = 190, blue = 95)
#' dp_noisy_max(votes, sensitivity = 1, epsilon = 1)
#' @export
dp_noisy_max <- function(scores, sensitivity, epsilon, ...,
                         mechanism = c("exponential", "permute_and_flip"), budget = NULL,
                         control = dp_control()) {
  check_dots(...)
  control <- check_control(control)
  mechanism <- check_choice(mechanism, "mechanism", c("exponential", "permute_and_flip"))
  check_vector(scores, "scores", flat = TRUE)
  sensitivity <- check_sensitivity(sensitivity)
  epsilon <- check_epsilon(epsilon)
  plan <- plan_noisy_max(sensitivity, epsilon, mechanism, budget)
  check_finite(scores, "scores")
  ledger_charge(budget, plan$events, epsilon, 0, "dp_noisy_max")
  selected <- select_top(scores, 1, plan$law, mechanism, release_key(control))
  name <- names(scores)[selected]
  new_mechanism(
    "noisy_max", stats::setNames(selected, name), epsilon, 0, plan$events, control,
    control$calibration, selected = selected, name = name, mechanism = mechanism,
    scale = plan$law$scale
  )
}

plan_noisy_max <- function(sensitivity, epsilon, mechanism, budget) {
  if (epsilon == Inf && is.null(budget)) {
    return(list(law = NO_NOISE_LAW, events = list()))
  }
  cost <- ledger_allowance(budget, epsilon, 0, "pure")$epsilon
  law <- score_law(cost, sensitivity)
  event <- if (mechanism == "exponential") exponential_event else pure_event
  list(law = law, events = list(event(cost, 1, sensitivity, law$scale, "choice")))
}

# A choice at scale 2^GRID_BITS steps: 2 (sensitivity / step + 1) <= epsilon0 2^GRID_BITS.
score_law <- function(epsilon0, sensitivity) {
  steps <- usable_steps(2^GRID_BITS * min(epsilon0, 1e100) / 2, 1)
  c(grid_law(steps, sensitivity), list(kind = "choice"))
}

# Indices of s items in the order of selection; `how` also "laplace" (noisy max). `mirrored`: the
# items are the scores and, after them, their negatives.
select_top <- function(scores, s, law, how, key = NULL, exact = FALSE, mirrored = FALSE) {
  scores <- as.double(scores)
  if (law$kind == "none") {
    return(utils::head(order(scores, decreasing = TRUE), s))
  }
  .Call(
    C_select_top, scores, law$multiplier, how, as.double(law$bits), as.double(s), mirrored, key,
    exact
  )
}

#' @rdname dp_mechanism_methods
#' @export
print.dp_noisy_max <- function(x, ...) {
  cat("Private choice of the largest score\n")
  print_stamp(x$privacy)
  cat("\nSelected: item ", x$selected, if (!is.null(x$name)) paste0(" (", x$name, ")"), "\n",
      sep = "")
  invisible(x)
}

# The plan of a private LASSO that chooses columns and fits them again: from n, the number of
# columns and the budget alone. Shares of rho, stretched to what the accountant proves:
#   searches   centre and scale of every column and the response, in the part of the re-fit
#              (R/lm-plan.R); left out where they would take too much: columns then are taken as
#              they come, and the response's are found alone (center, scale: R/fw-plan.R)
#   level      octaves of the sizes of all gradient coordinates at zero, in one set of cells
#   choice     the largest coordinates of the gradient at zero, one private top-s
#   refit      clipped gradient descent on the chosen columns (R/lm-plan.R)

LASSO_SHARES <- c(center = 0.01, scale = 0.02, level = 0.03, choice = 0.27, refit = 0.67)

# Columns to choose: as many as the noise allows, a slow power of n mu.
lasso_size <- function(n, p, mu) min(p, min(max(round(14 * (n * mu / 2700)^0.4), 3), 40))

# The largest part of the re-fit's budget that searches in all columns may take.
LASSO_SEARCHES <- 0.4

# `sparse`: columns that are not to be centred are taken as they come.
plan_lasso <- function(n, p, spec, known, intercept, sparse = FALSE) {
  total <- ledger_allowance(spec$budget, spec$epsilon, spec$delta, "mixed")
  mu <- sqrt(2 * total$rho)
  size <- lasso_size(n, p, mu)
  tuned <- tuned_columns(known, intercept)
  refit <- mu * sqrt(LASSO_SHARES[["refit"]])
  scaled <- !sparse && sum(search_shares(n, tuned, refit)) <= LASSO_SEARCHES
  share <- lasso_shares(spec, tuned, scaled)
  cost <- mu * sqrt(share / sum(share)) * c(2, 1, 1, 2 / sqrt(size), 1)
  if (!scaled) tuned$x <- 0
  made <- function(by) lasso_with_costs(cost * by, n, p, size, tuned, scaled, intercept, spec)
  plan <- made(1)
  if (is.null(spec$budget)) {
    plan <- made(largest_cost(1, spec$delta, function(by) {
      total_delta(compose_events(made(by)$events, ordered = TRUE), spec$epsilon)
    }))
  }
  check_lm_laws(plan$refit, n, size + intercept, tuned)
  check_fw_laws(plan, n, p, spec)
  plan
}

lasso_shares <- function(spec, tuned, scaled) {
  share <- LASSO_SHARES
  if (scaled || tuned$y == 0) share[c("center", "scale")] <- 0
  if (level_source(spec$gradient, spec$moment) != "private") share[["level"]] <- 0
  share
}

# The searches come before the choice if they are made in all columns, else with the re-fit.
lasso_with_costs <- function(cost, n, p, size, tuned, scaled, intercept, spec) {
  refit <- plan_lm(n, size + intercept, tuned, cost[["refit"]], spec$delta, spec$control,
                   grad_clipped(), loss_squared())
  refit$kind <- "gaussian"
  plan <- list(
    private = TRUE, pure = FALSE, kind = "gaussian", rounds = size, size = size, n = n, p = p,
    k = p + intercept, intercept = intercept, scaled = scaled, sub = 1,
    source = level_source(spec$gradient, spec$moment), estimator = estimator_name(spec$gradient),
    cost = c(cost, intercept = 0), refit = refit, level = spec$gradient$bound
  )
  # columns without a scale of their own take a pooled one, so that the chosen ones count
  few <- list(x = min(size, tuned$x), y = tuned$y, zero = tuned$zero)
  plan$n_sensible <- lm_sensible_n(size + intercept, few, cost[["refit"]])
  plan$sensible <- plan$n_sensible <= n
  later <- lm_events(refit, tuned)
  first <- search_events(refit, tuned)
  chosen <- fw_events(plan, choice = "choice of columns, scores in tau/n")
  rest <- later[seq_along(later) > length(first)]
  plan$events <- if (scaled) c(first, chosen, rest) else c(chosen, later)
  plan
}

# How many columns are made comparable before any is chosen: from public numbers, by centres and
# scales of their own, roughly, or not at all.

# The most that searches in all columns may take; the octaves' need (R/lm-plan.R), and the noise of
# a centre, in scales.
SELECT_SEARCHES <- 0.12
SELECT_SIZES <- list(most = 0.1, need = 16, noise = 0.2)

# Values about zero count up to so many scales, for a centre.
CENTER_LEVEL <- 2

# How columns are made comparable before any is chosen. `sparse`: columns that are not to be
# centred are taken as they come.
select_standard <- function(n, tuned, mu, sparse) {
  if (tuned$x == 0) {
    "known"
  } else if (sparse) {
    "none"
  } else if (sum(search_shares(n, tuned, mu)) <= SELECT_SEARCHES) {
    "search"
  } else if (sum(sizes_shares(n, tuned, mu)) <= SELECT_SIZES$most) {
    "sizes"
  } else {
    "none"
  }
}

sizes_shares <- function(n, tuned, mu) {
  sizes <- (sqrt(2 * tuned$x) * SELECT_SIZES$need / (n * mu))^2
  centers <- if (tuned$zero) 0 else
    (2 * CENTER_LEVEL * sqrt(tuned$x) / (SELECT_SIZES$noise * n * mu))^2
  c(sizes = max(sizes, 0.003), centers = if (tuned$zero) 0 else max(centers, 0.003))
}

# Compressed columns are taken as they come but for one scale of all, that of a typical row: what a
# level is found from, counts of all coordinates, are mostly zeros there.
has_common_scale <- function(plan) plan$standardise == "none" && plan$sparse

# n over the standard deviation of a count (R/lm-plan.R).
COMMON_NEED <- 40

# What is searched for before the first round, as tuned_columns() has it.
first_search <- function(plan) {
  replace(plan$tuned, "x", if (plan$standardise == "search") plan$tuned$x else 0)
}

# A plan for the searches of R/lm-columns.R alone.
search_plan <- function(n, tuned, mu) {
  share <- if (tuned$x + tuned$y > 0) search_shares(n, tuned, mu)
  list(private = TRUE, kind = "gaussian", mu = mu, share = share / sum(share), sub = 1)
}

# Shares of rho of what is found before the first choice (R/select-plan.R).
standard_shares <- function(plan, mu) {
  first <- first_search(plan)
  share <- c(
    search = if (first$x + first$y > 0) sum(search_shares(plan$n, first, mu)) else 0, sizes = 0,
    centers = 0, common = 0
  )
  if (has_common_scale(plan)) {
    share[["common"]] <- count_share(COMMON_NEED, sqrt(2), plan$n, mu, 0.002, 0.03)
  }
  if (plan$standardise == "sizes") {
    share[c("sizes", "centers")] <- sizes_shares(plan$n, plan$tuned, mu)
  }
  share
}

standard_events <- function(plan) {
  cost <- plan$cost
  c(
    search_events(plan$search, first_search(plan)),
    counts_of("sizes", cost, "column sizes, counts", sqrt(2 * plan$tuned$x)),
    counts_of("centers", cost, "column sums in tau/n", 2 * sqrt(plan$tuned$x)),
    counts_of("common", cost, "sizes of rows, counts", sqrt(2))
  )
}

# One Gaussian event, or nothing where it has no share.
counts_of <- function(part, cost, what, sensitivity) {
  if (cost[[part]] > 0) list(scaled_event(what, cost[[part]], 1, sensitivity))
}

check_standard_laws <- function(plan) {
  check_search_laws(plan$search, plan$n, first_search(plan))
  if (plan$standardise == "sizes") {
    count_law("gaussian", plan$n, plan$cost[["sizes"]], sqrt(2 * plan$tuned$x))
    if (!plan$tuned$zero) sum_law("gaussian", plan$n, plan$tuned$x, plan$cost[["centers"]])
  }
  if (has_common_scale(plan)) count_law("gaussian", plan$n, plan$cost[["common"]], sqrt(2))
}

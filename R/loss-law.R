# The law of the privacy loss L = log(P / Q) under P, for a list of events fixed in
# advance: delta(epsilon) = E (1 - e^(epsilon - L))_+. Sees no data.
#
# A Gaussian, Laplace or pure event is dominated by one pair of laws: a shifted
# Gaussian; a shifted Laplace; randomised response. Dominating pairs compose, also if each
# step is chosen after the earlier answers (Zhu, Dong and Wang 2022). That one
# Laplace release in d coordinates with l1 sensitivity D is dominated by the one in a
# single coordinate: moving the centre by s in a coordinate changes the power p of a test
# by at most min(p, 1 - p) s / b, for E[test sign(x_j)] is at most that; integrated
# along an l1 path of length D this is the curve of the one-dimensional shift by D. The
# package's Laplace noise is discrete: a shift by one grid step is randomised
# response with epsilon0 = b^-1, which leaves that curve only in the step that crosses
# its kink, by less than b^-2 of epsilon; with b >= 2^20 steps this stays far inside
# DISCRETE_SLACK for a thousand releases.
#
# Selections of bounded range have no such pair. With all other losses known beforehand
# the adversary knows most, so delta(epsilon) <= E V(epsilon - L'), V the recursion
# over the selections (src/dph_range.h) and L' the other losses, whatever the
# order: by induction over the steps, for V is an average of hockey sticks, which
# domination keeps in order, and sup E <= E sup. In a list whose order is known the
# Gaussians after the last selection enter V first, and selections of different
# ranges follow in their order. In a list whose order is not known all selections but those
# of the costliest kind count as Gaussian (bounded_range_mu()).

# Live events in order; equal neighbours are merged.
loss_steps <- function(mechanism, cost, count) {
  live <- cost > 0 & count > 0
  mechanism <- mechanism[live]
  cost <- cost[live]
  count <- count[live]
  n <- length(cost)
  new <- if (n > 1L) cost[-1L] != cost[-n] | mechanism[-1L] != mechanism[-n] else logical()
  run <- cumsum(c(TRUE, new)[seq_len(n)])
  first <- !duplicated(run)
  list(mechanism = mechanism[first], cost = cost[first],
       count = if (n > 0L) as.vector(rowsum(count, run)) else numeric())
}

some_steps <- function(steps, which) lapply(steps, `[`, which)

# The same mechanism and cost, wherever they stand.
pool_steps <- function(steps) {
  key <- paste(steps$mechanism, sprintf("%a", steps$cost))
  first <- !duplicated(key)
  count <- rowsum(steps$count, match(key, key[first]))
  list(mechanism = steps$mechanism[first], cost = steps$cost[first], count = as.vector(count))
}

gaussian_part <- function(steps) {
  sum((steps$count * steps$cost^2)[steps$mechanism == "gaussian"])
}

# Selections that hardly cost anything beside the rest would need a very fine grid.
small_ranges_as_gaussian <- function(steps, rho) {
  range <- steps$mechanism == "exponential"
  if (any(range) && sum((steps$count * steps$cost^2)[range]) / 8 < 1e-3 * rho) {
    steps$cost[range] <- bounded_range_mu(steps$cost[range])
    steps$mechanism[range] <- "gaussian"
  }
  steps
}

# Selections in the order of the recursion; `mu2` of the Gaussians that enter it first; the
# rest as `mu2_before` and steps.
split_steps <- function(steps, ordered, rho) {
  steps <- small_ranges_as_gaussian(steps, rho)
  range <- which(steps$mechanism == "exponential")
  other <- some_steps(steps, steps$mechanism %in% c("laplace", "pure"))
  all_gaussian <- gaussian_part(steps)
  if (length(range) == 0L) {
    return(list(ranges = NULL, mu2 = 0, mu2_before = all_gaussian, other = pool_steps(other)))
  }
  if (ordered) {
    mu2 <- gaussian_part(some_steps(steps, seq_along(steps$cost) > max(range)))
    ranges <- some_steps(steps, range)
    before <- all_gaussian - mu2
  } else {
    mu2 <- 0
    pooled <- pool_steps(some_steps(steps, range))
    main <- which.max(pooled$count * pooled$cost^2)
    ranges <- some_steps(pooled, main)
    rest <- some_steps(pooled, -main)
    before <- all_gaussian + sum(rest$count * bounded_range_mu(rest$cost)^2)
  }
  list(ranges = ranges, mu2 = mu2, mu2_before = max(before, 0), other = pool_steps(other))
}

# Work of a recursion in grid cells; more makes the bound tighter (its excess falls like
# 1 / work), not more valid.
RECURSION_WORK <- 5e6

# Step h of the grid, cells per selection and nodes; NULL if even a coarse grid is too
# much work. The excess of the bound goes with h^2 and with the share that the selections have in
# the whole cost.
range_grid <- function(ranges, mu2, top, work, share = 1) {
  main <- which.max(ranges$count * ranges$cost^2)
  if (ranges$cost[[main]] < 1e-100) {
    return(NULL)
  }
  spread <- sqrt(sum(ranges$count * ranges$cost^2) / 4 + mu2)
  width <- top + 12 * spread
  reach <- sum(ranges$count * ranges$cost)
  cells <- max(16, sqrt(work * ranges$cost[[main]]^2 / (width * reach)))
  cells <- ceiling(min(cells * sqrt(min(share, 1)), 1000))
  h <- ranges$cost[[main]] / cells
  m <- ceiling(ranges$cost / h * (1 - 1e-12))
  from <- -ceiling(6 * spread / h)
  nodes <- ceiling((top + 6 * spread) / h) - from + 1
  too_much <- nodes * sum(m * ranges$count) > 20 * max(work, RECURSION_WORK)
  if (too_much || max(m * h) > 700) {
    return(NULL)
  }
  list(h = h, m = m, x = h * (from + seq_len(nodes) - 1))
}

# V at the nodes as an average of hockey sticks: delta(epsilon) <= rest + the sum of
# mass (1 - e^(epsilon - x))_+. Chords in e^x; mass = second differences.
hockey_sticks <- function(v, grid) {
  n <- length(v)
  up <- c(diff(v), 0) / expm1(grid$h)
  down <- c(v[[1L]] - 1, diff(v) / -expm1(-grid$h))
  list(x = grid$x, mass = pmax(up - down, 0), rest = v[[n]], h = grid$h)
}

selection_atoms <- function(ranges, mu2, top, work, rho) {
  share <- (sum(ranges$count * ranges$cost^2) / 8 + mu2 / 2) / rho
  grid <- range_grid(ranges, mu2, top, work, share)
  if (is.null(grid)) {
    return(NULL)
  }
  v <- if (mu2 > 0) gaussian_delta(sqrt(mu2), grid$x) else pmax(-expm1(grid$x), 0)
  for (i in rev(seq_along(ranges$cost))) {
    v <- .Call(C_range_compose, v, grid$h, grid$m[[i]], ranges$count[[i]])
  }
  hockey_sticks(v, grid)
}

no_atoms <- list(x = 0, mass = 1, rest = 0, h = NA_real_)

# Randomised response, exactly (Kairouz, Oh and Viswanath 2015): count[i] times each.
response_atoms <- function(epsilon0, count) {
  atoms <- no_atoms
  for (i in seq_along(count)) {
    k <- seq.int(0, count[[i]])
    mass <- stats::dbinom(k, count[[i]], stats::plogis(epsilon0[[i]]))
    atoms$x <- as.vector(outer((2 * k - count[[i]]) * epsilon0[[i]], atoms$x, "+"))
    atoms$mass <- as.vector(outer(mass, atoms$mass))
  }
  atoms
}

# The whole law: `mu2` of Gaussians, `other` steps known by their moment generating
# functions, `atoms` of the rest. `top`: an epsilon at or above those of interest. NULL if
# it is too much work.
loss_law <- function(total, top, work = RECURSION_WORK) {
  key <- paste(c(number_key(unlist(total$steps[-1L]), total$rho, top, work, total$ordered),
                 total$steps$mechanism), collapse = " ")
  law <- law_cache$get(key)
  if (is.null(law)) {
    law <- make_loss_law(total, top, work)
    law_cache$set(key, law)
  }
  if (isFALSE(law)) NULL else law
}

make_loss_law <- function(total, top, work) {
  part <- split_steps(total$steps, total$ordered, total$rho)
  other <- part$other
  law <- list(mu2 = part$mu2_before, other = other, atoms = no_atoms, rho = total$rho,
              apart = FALSE)
  if (!is.null(part$ranges)) {
    atoms <- selection_atoms(part$ranges, part$mu2, top, work, total$rho)
    if (is.null(atoms)) {
      return(FALSE)
    }
    law$atoms <- atoms
  } else if (prod(other$count + 1) <= 2e4) {
    law <- set_atoms_apart(law)
  }
  law
}

# The losses that are sums of +-epsilon0 are atoms; with one kind of Laplace release and no
# Gaussian the others have a density (R/contour.R).
set_atoms_apart <- function(law) {
  other <- law$other
  laplace <- other$mechanism == "laplace"
  if (any(laplace) && (sum(laplace) > 1L || law$mu2 > 0)) {
    return(law)
  }
  law$atoms <- response_atoms(other$cost, other$count)
  law$atoms$mass <- law$atoms$mass *
    prod(((1 + exp(-other$cost[laplace])) / 2)^other$count[laplace])
  law$apart <- any(laplace)
  if (!law$apart) law$other <- some_steps(other, 0L)
  law
}

# A plan asks for the same laws again and again.
law_cache <- new_cache(32L)

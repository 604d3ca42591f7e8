# What the gradient estimators of coordinates have in common: how far a coordinate reaches,
# levels that balance bias against noise given a moment, groups and batches.

is_record <- function(gradient) gradient$name == "clipped"

# The largest size of phi, and of its smoothed version, at scale 1.
CATONI_MOST <- 2 * sqrt(2) / 3

catoni_reach <- function(beta) CATONI_MOST * (2 * stats::pnorm(sqrt(beta)) - 1)

# The estimator's name in C.
estimator_name <- function(gradient, paper = FALSE) {
  switch(gradient$name,
    mom = if (paper) "truncated" else "winsorized",
    catoni = if (gradient$beta < Inf) "catoni_smooth" else "catoni",
    gradient$name
  )
}

# How far a coordinate reaches with a level of 1 (of K^2 for shrunken data).
coordinate_reach <- function(gradient, psi_bound = 1) {
  switch(gradient$name, catoni = catoni_reach(gradient$beta), shrunken = psi_bound, 1)
}

# Bound of a derivative with covariates and response clamped to +-K: K times this with the
# squared loss, for |w| <= r in standardised units and p columns; 1 if the loss has a bounded
# derivative.
shrunken_psi <- function(loss, radius, p) {
  if (loss$name == "squared") 1 + radius * sqrt(p) else 1
}

# ---- Catoni's function, smoothed ------------------------------------------------

CATONI_NODES <- 8192

# E phi(a (1 + Z / sqrt(beta))) at a = t / (1 - t), t = 0, 1/m, ..., 1, by 48 Gauss-Legendre nodes
# on the part where phi is a cubic and the mass of the two constant parts. C reads between the
# values by parabolas (to 1e-10) and clamps what it gets.
catoni_table <- remember(function(beta, m = CATONI_NODES) {
  t <- seq_len(m - 1) / m
  f <- c(0, catoni_smooth(t / (1 - t), beta), catoni_reach(beta))
  # one more value, on the parabola of the last three
  c(f, sum(f[m + 1 - 0:2] * c(3, -3, 1)))
}, size = 4L)

catoni_smooth <- function(a, beta) {
  nodes <- legendre(48L)
  b <- pmax(a, 1e-300) / sqrt(beta)
  low <- pmin(pmax((-sqrt(2) - a) / b, -9), 9)
  high <- pmin(pmax((sqrt(2) - a) / b, -9), 9)
  half <- (high - low) / 2
  z <- (high + low) / 2 + outer(half, nodes$x)
  u <- a + b * z
  inner <- drop((half * (u - u^3 / 6) * stats::dnorm(z)) %*% nodes$w)
  CATONI_MOST * (stats::pnorm((a - sqrt(2)) / b) - stats::pnorm((-sqrt(2) - a) / b)) + inner
}

# Nodes and weights of Gauss-Legendre quadrature (Golub and Welsch).
legendre <- function(m) {
  i <- seq_len(m - 1L)
  off <- i / sqrt(4 * i^2 - 1)
  jacobi <- matrix(0, m, m)
  jacobi[cbind(i, i + 1L)] <- jacobi[cbind(i + 1L, i)] <- off
  e <- eigen(jacobi, symmetric = TRUE)
  list(x = e$values, w = 2 * e$vectors[1L, ]^2)
}

# ---- levels from a moment ---------------------------------------------------------

# The level for the mean of n records' k coordinates with noise of standard deviation
# noise * reach / n; `noise` is 2 sqrt(k) / mu, times the number of groups. With chance 1 - xi the
# mean also strays by some log(2 k / xi) / n levels (Bernstein), which counts as noise.
moment_level <- function(gradient, moment, n, k, noise, xi) {
  u <- moment$bound
  v <- moment$order - 1
  stray <- 4 / 3 * log(2 * k / xi)
  switch(gradient$name,
    truncated = balanced_level(u, v, 1, (noise + stray) / n),
    catoni = sqrt(
      u * (1 + 1 / gradient$beta) / 2 * n / (log(2 * k / xi) + noise * catoni_reach(gradient$beta))
    ),
    shrunken = (u * n / noise)^(1 / 4),
    balanced_level(u, v, clip_bias(v), (noise + stray) / n)
  )
}

moment_order <- function(gradient) {
  switch(gradient$name, catoni = "second", shrunken = "fourth", "low")
}

# ---- groups and batches -------------------------------------------------------------

# Failure rate xi: groups of which half are good.
default_groups <- function(k, xi) max(1, ceiling(2 * log(2 * k / xi)))

paper_groups <- function(k, xi) max(1, ceiling(4 * log(2 * k / xi)))

# Numbers 1, ..., m as even as can be, for n rows.
even_sizes <- function(n, m) {
  rep(floor(n / m), m) + (seq_len(m) <= n %% m)
}

# A random partition of the rows in `index` (from 0): entries of a list for C.
partition_groups <- function(n, groups, index = seq_len(n) - 1L) {
  sizes <- even_sizes(length(index), groups)
  group <- integer(n)
  group[index + 1L] <- rep(seq_len(groups) - 1L, sizes)
  list(group = group, groups = as.double(groups), group_weight = min(sizes) / sizes)
}

# The rows of each of m batches: an order, cut.
cut_batches <- function(order, m) split(order, rep(seq_len(m), even_sizes(length(order), m)))

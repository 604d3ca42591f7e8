# The variance of a regression that averages the steps of clipped gradient descent. All matrices
# here are in the coordinates u of w = L'u, L the root of the preconditioner, in which a step is
# u - h (mean gradient + noise), the noise independent in each coordinate.
#
#   A  the mean of the derivatives of the clipped gradients    (curvature)
#   B  the mean of their squares                               (spread)
#
# Sampling moves the fixed point of the steps by a variance of A^-1 B A^-1 / n; the noise of the
# averaged steps follows from A and public numbers. noisy_sandwich() spends what the plan says;
# everything after it is post-processing.

# Share of the budget, relative to the others. The variance bears the noise of A twice, and that
# is the larger: most is for A.
SANDWICH_SHARE <- 0.035
CURVATURE_PART <- 0.8

sandwich_costs <- function(plan) {
  cost <- stage_cost(plan, "sandwich")
  c(curvature = cost * sqrt(CURVATURE_PART / plan_curvatures(plan)),
    spread = cost * sqrt(1 - CURVATURE_PART))
}

# With the biweight derivatives may be negative: one release for each sign.
curvature_releases <- function(loss) if (loss$name == "biweight") 2 else 1

# The last part of a fit of the mean has none that are negative.
plan_curvatures <- function(plan) if (is_mean_target(plan)) 1 else curvature_releases(plan$loss)

# Length at which the rows of A are clipped: of the rows that a clipped gradient leaves as they
# are few are this long, and fewer are clipped where the noise, of 1 / rows, allows for it; with
# covariates clipped at C a row counts by curvature min(C, |z|) |z|.
curvature_bound <- function(rule, size, k, rows) {
  if (rule$bound == Inf) {
    return(Inf)
  }
  if (rule$estimator == "clipped") {
    return(sqrt(size * max(3 * k + 8, min(20 * k + 40, 0.02 * rows))))
  }
  rule$bound * sqrt(LOSS_CURVATURE[[rule$loss]] * max(1.5 + 3 / k, min(6, 0.005 * rows / k)))
}

LOSS_CURVATURE <- c(squared = 1, logistic = 0.25, huber = 1, biweight = 25 * sqrt(5) / 16)

# Derivative of psi, times the tuning constant of the robust losses.
second_derivative <- function(loss, eta, y, tuning) {
  switch(loss,
    squared = rep(1, length(eta)),
    logistic = stats::plogis(eta) * stats::plogis(-eta),
    huber = as.double(abs(eta - y) < tuning),
    biweight = {
      u2 <- pmin(((eta - y) / tuning)^2, 1)
      LOSS_CURVATURE[["biweight"]] * (1 - u2) * (1 - 5 * u2)
    }
  )
}

# Private, not a release: for every row the weight of z in its clipped gradient, and the second
# derivative with it.
row_weights <- function(rows, norm, w, rule) {
  live <- norm < Inf
  eta <- ifelse(live, row_margins(rows, norm, w), 0)
  y <- row_responses(rows, live)
  psi <- abs(.Call(C_loss, rule$loss, "derivative", eta, y, rule$tuning))
  second <- second_derivative(rule$loss, eta, y, rule$tuning)
  if (rule$estimator == "clipped") {
    second <- second * (psi * ifelse(live, norm, 0) <= rule$bound)
  } else {
    share <- ifelse(live, pmin(1, rule$bound / pmax(norm, 1e-100)), 0)
    psi <- psi * share
    second <- second * share
  }
  list(psi = ifelse(live, psi, 0), second = ifelse(live, second, 0))
}

# The same for one row of each unit, whose expectation over the draw of the row is the sum over the
# unit, and the gradients of units. `single`: these rows.
unit_sandwich_weights <- function(rows, norm, w, rule, root, single) {
  units <- rows$units
  gradients <- unit_gradients(rows, norm, w, rule)
  size <- row_norms(new_rows(gradients), root)
  # nothing is clipped yet where the covariates' own weights count
  alone <- replace(rule, "bound", Inf)
  weights <- row_weights(single, ifelse(row_norms(single, root) < Inf, 1, Inf), w, alone)
  several <- diff(units$start)
  share <- row_weight(units) * several
  share <- share * if (rule$estimator == "clipped") {
    # a clipped sum U still turns with w: of its derivative C / |U| (I - uu') is left, u = U / |U|,
    # none for one row and 1 - 1/k of it for many that point anywhere
    turns <- (1 - 1 / ncol(gradients)) * (1 - 1 / pmax(several, 1))
    ifelse(size <= rule$bound, 1, rule$bound / pmax(size, 1e-100) * turns)
  } else {
    squares <- rowsum_of(units, storage_weights(rows)^2 * ifelse(norm < Inf, norm, 0)^2)
    pmin(1, rule$bound / pmax(sqrt(squares), 1e-100))
  }
  list(gradients = gradients, second = weights$second * share)
}

# Sums over the rows of each unit, each on its own: no unit changes another's last bit.
rowsum_of <- function(units, v) {
  rows <- diff(units$start)
  out <- numeric(length(rows))
  there <- which(rows > 0L)
  if (length(there) > 0L) {
    unit <- rep(there, rows[there])
    out[there] <- rowsum(v[units$order + 1L], unit, reorder = FALSE)[, 1L]
  }
  out
}

# Standardised responses less their offsets, zero where a row is not in use or not finite.
row_responses <- function(rows, live) {
  y <- rows$y
  if (is.null(rows$margin_offset) && !is.null(rows$offset)) y <- y - rows$offset
  ifelse(live, (y - rows$y_center) * rows$y_inv_scale, 0)
}

# A and B with their noise: `curvature` is in units of the loss's derivative over `tuning`.
noisy_sandwich <- function(rows, norm, w, root, size, rule, plan, n, control) {
  single <- one_each(rows)
  several <- !is.null(rows$units)
  weights <- if (several) unit_sandwich_weights(rows, norm, w, rule, root, single) else
    row_weights(rows, norm, w, rule)
  k <- nrow(root)
  cost <- sandwich_costs(plan)
  one <- function(weight, bound, cost, of = single) {
    law <- list(step = 0, noise = c(0, 0), sd = 0)
    if (plan$private) law <- moment_law(n, k, cost, bound)
    list(value = release_weighted_moments(of, weight, root, bound, law, release_key(control)),
         sd = law$sd)
  }
  bound <- curvature_bound(rule, size, k, n * cost[["curvature"]])
  if (several) bound <- bound * sqrt(min(rows$units$most * rows$units$scale, UNIT_REACH))
  curvature <- one(sqrt(pmax(weights$second, 0)), bound, cost[["curvature"]])
  if (curvature_releases(plan$loss) > 1) {
    below <- one(sqrt(pmax(-weights$second, 0)), bound, cost[["curvature"]])
    curvature <- list(value = curvature$value - below$value, sd = sqrt(2) * curvature$sd)
  }
  spread <- if (several) {
    one(rep(1, n), rule$bound, cost[["spread"]], new_rows(weights$gradients))
  } else {
    one(weights$psi, rule$bound, cost[["spread"]])
  }
  list(curvature = curvature, spread = spread)
}

# Rows of units may count for several, but the level allows for so many at most.
UNIT_REACH <- 4

# ---- matrices without their noise -----------------------------------------------------

# Noise of standard deviation sd on the diagonal and 8/11 of it elsewhere is shrunk away: what
# is off the diagonal towards zero, the diagonal towards its mean (that of the intercept, the
# first, is left alone), and the mean towards `guess`, each as far as the noise explains it.
shrink_moments <- function(m, sd, guess, guess_sd, intercept, most = c(1, 1)) {
  if (sd == 0) {
    return(m)
  }
  own <- seq_len(nrow(m)) > intercept
  out <- matrix(0, nrow(m), nrow(m))
  out[upper.tri(m)] <- shrink(m[upper.tri(m)], sd * 8 / 11, c(2.5, 2.5))
  out <- out + t(out)
  d <- diag(m)
  mean <- mean(d[own])
  towards <- function(v, sd) guess + (v - guess) * guess_sd^2 / (guess_sd^2 + sd^2)
  d[own] <- towards(mean, sd / sqrt(sum(own))) + shrink(d[own] - mean, sd, most)
  if (intercept == 1) d[[1L]] <- towards(d[[1L]], sd)
  diag(out) <- d
  out
}

# How far a diagonal entry is moved at most, in standard deviations of its noise: down and up.
# Where that makes the variance smaller it is little, for the column may be the one whose errors
# are large.
MOVED <- list(curvature = c(1, 0.15), spread = c(0.15, 1))

# Towards zero by as much as noise of this size explains of them all (James and Stein), but none
# by more than `most` standard deviations, down and up (Efron and Morris): one that stands out
# stays.
shrink <- function(v, sd, most) {
  total <- sum(v^2)
  shrunk <- if (total > 0) v * max(0, 1 - length(v) * sd^2 / total) else v
  pmin(pmax(shrunk, v - most[[1L]] * sd), v + most[[2L]] * sd)
}

# Eigenvalues kept above `least`.
positive_part <- function(m, least) {
  eigen <- eigen(m, symmetric = TRUE)
  eigen$values <- pmax(eigen$values, least)
  eigen
}

from_eigen <- function(eigen, values) eigen$vectors %*% (t(eigen$vectors) * values)

# ---- variances ------------------------------------------------------------------------

# Sampling and privacy parts of the variance of the coefficients `own` of w, those whose columns
# are not zero. run: h, sd and steps of the stages, and by how much the last one `moved` w.
sandwich_parts <- function(noisy, root, size, rule, run, n, intercept, own) {
  guess <- rule$guess %||% sandwich_guess(rule, size, nrow(root))
  part <- function(name, floor) {
    m <- noisy[[name]]
    value <- shrink_moments(m$value, m$sd, guess[[name]][[1L]], guess[[name]][[2L]], intercept,
                            MOVED[[name]])
    value <- change_root(value, root, own)
    # where noise is small a curvature below what is expected is one
    least <- if (m$sd > 0) min(guess[[name]][[1L]] / 5, 3 * m$sd) else floor * max(diag(value))
    positive_part(value, least)
  }
  a <- part("curvature", 1e-12)
  b <- part("spread", 0)
  a$values <- a$values / (rule$tuning %||% 1)
  inverse <- from_eigen(a, 1 / a$values)
  root <- own_root(root, own)
  back <- function(v) symmetric(t(root) %*% v %*% root)
  left <- if (noisy$curvature$sd > 0) run_left(a, solve(t(root), run$moved[own]), run)
  list(
    sampling = back(inverse %*% from_eigen(b, b$values) %*% inverse / n),
    privacy = back(from_eigen(a, vapply(a$values, run_noise, 0, run = run)) +
                     if (is.null(left)) 0 else tcrossprod(left)),
    # what a gradient of one unit under the root does to each coefficient
    bread = t(root) %*% inverse / (rule$tuning %||% 1)
  )
}

# What the last stage has left of where it began, about: by how much it moved tells how far it was
# from the end (in the coordinates of `a`), but for what its noise alone would have moved it.
run_left <- function(a, moved, run) {
  last <- length(run$steps)
  along <- drop(crossprod(a$vectors, moved))
  each <- vapply(seq_along(along), function(i) {
    lambda <- min(a$values[[i]], 1.9 / max(run$h))
    begun <- noisy_steps(run$steps[[last]], run$h[[last]] * lambda, 0, 1)$left
    share <- sqrt(begun) / (1 - sqrt(begun))
    alone <- run_noise(lambda, run) + noise_before(lambda, run)
    share * sign(along[[i]]) * sqrt(max(along[[i]]^2 - alone, 0))
  }, 0)
  a$vectors %*% each
}

# A root of what the preconditioner L'L is for some of the coefficients, and a matrix of second
# moments under L turned into one under that.
own_root <- function(root, own) {
  if (all(own)) root else chol(crossprod(root)[own, own, drop = FALSE])
}

change_root <- function(m, root, own) {
  if (all(own)) {
    return(m)
  }
  inverse <- solve(root)
  plain <- inverse %*% m %*% t(inverse)
  to <- own_root(root, own)
  symmetric(to %*% plain[own, own, drop = FALSE] %*% t(to))
}

symmetric <- function(m) (m + t(m)) / 2

# Steps that would not settle are known to: such a curvature is noise.
run_noise <- function(lambda, run) {
  last <- length(run$steps)
  lambda <- min(lambda, 1.9 / max(run$h))
  part <- stage_noise(lambda, run, last, noise_before(lambda, run))
  part$average + part$left
}

# In the iterate that the last stage begins with.
noise_before <- function(lambda, run) {
  last <- length(run$steps)
  if (last > 1L) stage_noise(lambda, run, last - 1L)$last else 0
}

stage_noise <- function(lambda, run, i, start = 0) {
  noisy_steps(run$steps[[i]], run$h[[i]] * lambda, (run$h[[i]] * run$sd[[i]])^2, start)
}

# Diagonal entries as they are expected without data, and how far they may be off.
sandwich_guess <- function(rule, size, k) {
  c2 <- rule$bound^2 / k
  if (rule$estimator == "clipped") {
    return(list(curvature = c(0.6, 0.2) * size, spread = c(0.6, 0.25) * c2))
  }
  # rare events have little curvature
  most <- rule$curvature %||% LOSS_CURVATURE[[rule$loss]]
  list(curvature = c(0.6, 0.25) * most * min(size, c2),
       spread = c(0.6, 0.4) * min(most, 0.5) * c2)
}

# Without noise a column that does not vary shows: it has no curvature.
has_curvature <- function(m, root) {
  inverse <- solve(root)
  own <- rowSums((inverse %*% m) * inverse)
  own > 1e-12 * max(own)
}

# Both parts for w in standardised units; columns without a scale have none (NA).
descent_vcov <- function(rows, norm, w, pre, rule, run, plan, n, control) {
  if (plan$share[["sandwich"]] == 0) {
    return(NULL)
  }
  report_stage(control, "variances")
  k <- length(w)
  noisy <- noisy_sandwich(rows, norm, w, pre$root, pre$size, rule, plan, n, control)
  own <- c(if (rows$intercept != 0) TRUE, rows$inv_scale != 0)
  if (!plan$private) own <- own & has_curvature(noisy$curvature$value, pre$root)
  if (!any(own)) {
    return(NULL)
  }
  lapply(
    sandwich_parts(noisy, pre$root, pre$size, rule, run, n, rows$intercept, own)[PARTS[-1L]],
    function(v) replace(matrix(NA_real_, k, k), outer(own, own, `&`), v)
  )
}

# The same in the caller's units, the names those of the coefficients.
caller_vcov <- function(parts, columns, schema) {
  k <- length(schema$columns)
  if (is.null(parts)) parts <- list(sampling = matrix(NA_real_, k, k),
                                    privacy = matrix(NA_real_, k, k))
  unit <- caller_scale(columns, schema)
  map <- diag(unit, k)
  if (schema$intercept) {
    # the intercept's own is that at the centres of the columns
    own <- seq_len(length(columns$center) - 1L)
    map[1L, -1L] <- -ifelse(columns$found, columns$center, 0)[own] * unit[-1L]
  }
  lapply(parts, function(v) {
    known <- !is.na(diag(v))
    at <- map[known, known, drop = FALSE]
    v[known, known] <- symmetric(at %*% v[known, known, drop = FALSE] %*% t(at))
    dimnames(v) <- list(schema$columns, schema$columns)
    v
  })
}

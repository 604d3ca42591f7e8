# Second moments, the preconditioner and the start. noisy_moments() and what it calls spend what
# the plan says; everything else here is post-processing.

# Norm at which rows are clipped for the second moments: the 0.85 quantile, so that
# the preconditioner bears a tenth of the rows being anything.
clip_norms <- function(rows, norm, plan, n, control) {
  law <- count_law(plan$kind, n, stage_cost(plan, "norms"), sqrt(2))
  level <- size_quantile(rows, norm, NULL, plan, law, 0.85, control)
  if (is.na(level)) 2 * sqrt(ncol(rows$x) + 2) else level
}

# The noisy matrix of second moments of (1, z, y), with the response last, and the
# standard deviation of the noise on an off-diagonal entry.
noisy_moments <- function(rows, plan, n, control) {
  if (!plan$private && !is.null(rows$units)) {
    moments <- unit_moments(rows)
    return(list(moments = moments, sd = 0, diagonal_sd = 0, columns = ncol(rows$x), bound = Inf))
  }
  rows <- one_each(rows)
  norm <- row_norms(rows, with_response = TRUE)
  m <- ncol(rows$x) + rows$intercept + 1
  if (!plan$private) {
    law <- list(step = 0, noise = c(0, 0))
    moments <- release_moments(rows, norm, Inf, law)
    return(list(moments = moments, sd = 0, diagonal_sd = 0, columns = ncol(rows$x), bound = Inf))
  }
  bound <- clip_norms(rows, norm, plan, n, control)
  law <- moment_law(n, m, stage_cost(plan, "moments"), bound)
  list(
    moments = release_moments(rows, norm, bound, law, release_key(control)),
    sd = law$sd * 8 / 11, diagonal_sd = law$sd, columns = ncol(rows$x), bound = bound
  )
}

# For each column of x, whether its second moment stands out of its noise. Asked of
# indicators, whose scale is not looked for: that of a level that hardly any row has does
# not.
stands_out <- function(noisy, indicator) {
  k <- ncol(noisy$moments) - 1L
  own <- seq_len(k)[seq_len(k) > k - noisy$columns]
  !indicator | diag(noisy$moments)[own] >= 4 * noisy$diagonal_sd
}

# Smallest eigenvalue that is kept, relative to the largest: the root then has entries
# below 2^20 and a condition number that the slack of a computed norm allows for.
EIGEN_FLOOR <- c(private = 1e-10, none = 2e-12)

# A norm under L is computed to within (k + 8) 2^-52 ||L||_F ||L^-1||, which must stay below
# DPH_NORM_SLACK = 1e-6 (dph_gradient.h).
private_floor <- function(k) max(EIGEN_FLOOR[["private"]], (2^-52 * (k + 8)^1.5 / 5e-7)^2)

# The preconditioner P = (H + noise)^-1 = L'L / size, H the second moments of the design, L
# lower triangular with H / size of norm 1, and the start.
precondition <- function(noisy) {
  k <- ncol(noisy$moments) - 1L
  own <- seq_len(k)
  eigen <- eigen(noisy$moments[own, own, drop = FALSE], symmetric = TRUE)
  values <- if (noisy$sd > 0) denoised_values(eigen$values, noisy$sd) else pmax(eigen$values, 0)
  size <- max(values)
  if (!(size > 0)) {
    return(list(root = diag(k), start = rep(0, k), size = 1))
  }
  least <- if (noisy$sd > 0) private_floor(k) else EIGEN_FLOOR[["none"]]
  values <- pmax(values, least * size)
  hessian <- eigen$vectors %*% (t(eigen$vectors) * (values / size))
  root <- grid_root(t(backsolve(chol(hessian), diag(k))))
  h <- drop(crossprod(eigen$vectors, noisy$moments[own, k + 1L]))
  start <- eigen$vectors %*% shrunken_start(h, values, noisy$sd)
  list(root = root, start = drop(start), size = size)
}

# Eigenvalues, falling, of a symmetric matrix whose entries bear independent noise of standard
# deviation sd: what the matrix without noise holds, on average, in the direction of each
# eigenvector (Bun, Allez, Bouchaud and Potters 2016: the eigenvalue less 2 sd^2 k times the
# Hilbert transform of the spectrum). Noise alone spreads k equal ones over +-2 sd sqrt(k) and
# this puts them together again; where there is little noise hardly anything changes. None below
# half the spread, for directions that noise made look short would get too long steps.
denoised_values <- function(values, sd) {
  k <- length(values)
  spread <- sd * sqrt(k)
  gap <- outer(values, values, `-`)
  hilbert <- rowMeans(gap / (gap^2 + sd^2))
  least <- min(spread / 2, mean(values) / 4)
  pmax(values - 2 * spread^2 * hilbert, least, sd / sqrt(k))
}

# P h in the eigenvectors' coordinates. With noise it is the ridge estimate that takes all
# directions to explain as much of the response, g on average, which the noisy h tell.
shrunken_start <- function(h, values, sd) {
  if (sd == 0) {
    return(h / values)
  }
  g <- max(0, mean(h^2 / values) - sd^2 * mean(1 / values))
  h * g / (g * values + sd^2)
}

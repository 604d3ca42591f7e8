# Not private: pairwise Frank-Wolfe with exact line search, to the minimum.

fw_plain <- function(state, plan, tuning) {
  b <- vertex_start(state$set)
  level <- fw_level_found(state, plan, tuning, b, NULL)
  rule <- fw_rule(state, level, plan, tuning)
  active <- list()
  w0 <- 0
  if (state$set$kind == "l1_ball") {
    active <- list(list(index = 1L, weight = 0.5), list(index = state$p + 1L, weight = 0.5))
    b <- numeric(state$p)
  } else {
    first <- 1L
    active <- list(list(index = first, weight = 1))
    b <- vertex(state$set, first)
  }
  gradient <- function(b, w0) fw_sums(state, b, w0, rule) / state$n
  curvature <- sco_curvature(state$loss, tuning, state$response)
  path <- integer()
  gap0 <- NULL
  for (t in seq_len(plan$most)) {
    w0 <- plain_intercept(state, gradient, b, w0, curvature)
    g <- gradient(b, w0)
    slopes <- if (state$intercept) g[-1L] else g
    scores <- vertex_scores(state$set, slopes)
    indices <- vapply(active, `[[`, 0, "index")
    best <- which.max(scores)
    worst <- which.min(scores[indices])
    gap <- scores[[best]] - scores[[indices[[worst]]]]
    gap0 <- gap0 %||% gap
    if (!(gap > 1e-12 * max(gap0, 1e-300))) break
    direction <- vertex(state$set, best) - vertex(state$set, indices[[worst]])
    most <- active[[worst]]$weight
    step <- line_search(function(s) {
      sum((if (state$intercept) gradient(b + s * direction, w0)[-1L] else
        gradient(b + s * direction, w0)) * direction * state$scale)
    }, most)
    b <- b + step * direction
    active <- shift_weight(active, worst, best, step)
    path <- c(path, best)
  }
  list(b = b, intercept = w0, bound = level, path = unique(path))
}

# The intercept where its coordinate of the gradient is zero, downhill from w0: by steps that get
# longer, since a bounded derivative may be flat there, and a root between the last two.
plain_intercept <- function(state, gradient, b, w0, curvature) {
  if (!state$intercept) {
    return(w0)
  }
  slope <- function(at) gradient(b, at)[[1L]]
  here <- slope(w0)
  step <- -here / curvature
  for (i in 1:60) {
    if (abs(here) <= 1e-13) {
      return(w0)
    }
    there <- slope(w0 + step)
    if (sign(there) != sign(here)) break
    w0 <- w0 + step
    here <- there
    step <- 2 * step
  }
  if (sign(there) == sign(here)) {
    return(w0)
  }
  if (abs(there) <= 1e-13) {
    return(w0 + step)
  }
  ends <- order(c(w0, w0 + step))
  stats::uniroot(slope, c(w0, w0 + step)[ends], f.lower = c(here, there)[ends[[1L]]],
                 f.upper = c(here, there)[ends[[2L]]], tol = 1e-15 * max(1, abs(w0)))$root
}

# A root of a rising function on [0, most], or its end.
line_search <- function(slope, most) {
  ends <- c(slope(0), slope(most))
  if (ends[[2L]] <= 0) {
    return(most)
  }
  if (ends[[1L]] >= 0) {
    return(0)
  }
  stats::uniroot(slope, c(0, most), f.lower = ends[[1L]], f.upper = ends[[2L]],
                 tol = 1e-14 * most)$root
}

shift_weight <- function(active, from, to, step) {
  active[[from]]$weight <- active[[from]]$weight - step
  there <- match(to, vapply(active, `[[`, 0, "index"))
  if (is.na(there)) {
    active <- c(active, list(list(index = to, weight = step)))
  } else {
    active[[there]]$weight <- active[[there]]$weight + step
  }
  Filter(function(a) a$weight > 1e-15, active)
}

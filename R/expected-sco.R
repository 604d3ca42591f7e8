# Expected error of the general problem where a model is at hand: the squared loss and the mean's,
# records clipped or coordinates winsorised, without a penalty.

# A ball is taken to hold the slopes. NULL where there is no model.
expected_sco <- function(plan, n, d, intercept, spec, assume) {
  bare <- spec$penalty$lambda == 0 && is.null(plan$paper) && plan$private
  known <- spec$gradient$name %in% c("clipped", "winsorized") && plan$source == "private"
  if (!bare || !known) {
    return(no_expectation())
  }
  switch(spec$loss$name,
    squared = expected_sco_squared(plan, n, d, intercept, spec, assume),
    mean = expected_sco_mean(plan, n, d, spec, assume),
    no_expectation()
  )
}

# What one step's noise is over, and what the median of groups loses.
step_facts <- function(plan, n) {
  batch <- if (plan$split) floor(n / sum(plan$steps)) else n
  list(size = if (plan$groups > 0) floor(batch / plan$groups) else batch, batch = batch,
       loss = if (plan$groups > 1) pi / 2 else 1)
}

# Standard deviation of a step's noise per unit of the level, of a coordinate.
step_noise <- function(plan, stage, n, k, record) {
  2 * (if (record) 1 else sqrt(k)) / (step_mu(plan, stage) * step_facts(plan, n)$size)
}

expected_sco_squared <- function(plan, n, d, intercept, spec, assume) {
  k <- d + intercept
  rows <- assume$rows
  start <- expected_start(plan, n, d, intercept, assume)
  moments <- start$moments
  record <- is_record(spec$gradient)
  norm <- if (record) preconditioned(moments, start$z2, intercept) else abs(rows$first) / rows$unit
  own <- if (record) start$z2 / d else norm^2
  run <- descend_expected(plan, n, k, d, intercept, start$law, norm, own, start$slope,
                          moments$slopes, record)
  parts <- d * run$parts * (start$response / rows$unit)^2
  size <- if (record) sqrt(preconditioner_size(moments, intercept)) else 1
  slopes_expectation(parts, d, assume$signal, c(
    "second moments in c^2/n" = moments$bound^2 / n, run$levels * size
  ))
}

# own: what a slope's coordinate adds, squared; h: its second moment in the preconditioner.
descend_expected <- function(plan, n, k, d, intercept, law, norm, own, slope, h, record) {
  facts <- step_facts(plan, n)
  levels <- numeric(length(plan$steps))
  for (stage in which(plan$steps > 0)) {
    rule <- expected_clip_rule(list(quantile = plan$quantile), stage,
                               blurred(absolute_law(law), k * slope), pmax(norm, 1e-9), own, 1)
    if (intercept) law$x <- law$x - settled_center(law, rule$reach)
    levels[[stage]] <- rule$bound
    sd <- rule$bound * step_noise(plan, stage, n, k, record)
    # with fresh batches what a step samples is noise of its own
    fresh <- if (plan$split) facts$loss * rule$spread / facts$batch / h^2 else 0
    noise <- plan$step^2 * (sd^2 / (if (record) h else h^2) + fresh)
    steps <- plan$steps[[stage]]
    run <- noisy_steps(steps, min(plan$step * rule$curve / h, 1.5), noise, slope,
                       floor(steps / if (plan$split) 2 else 6))
    sampling <- facts$loss * rule$spread / rule$curve^2 / n
    slope <- run$last + if (plan$split) 0 else sampling
  }
  share <- if (plan$split) fresh / (noise / plan$step^2) else 0
  names(levels) <- sprintf("stage %d", seq_along(levels))
  list(parts = c(if (plan$split) share * run$average else sampling,
                 (1 - share) * run$average, run$left), levels = levels / facts$size)
}

# Means: columns about their centre, found at about a quarter of a scale.
expected_sco_mean <- function(plan, n, d, spec, assume) {
  law <- assume$law
  law$x <- law$x * assume$sigma
  record <- is_record(spec$gradient)
  facts <- step_facts(plan, n)
  rows <- lattice_rows(assume$law, d)
  spread <- sqrt(expectation(law, function(x) x^2))
  p <- plan$quantile[[length(plan$quantile)]]
  norm <- if (record) sqrt(rows$squares) * spread else abs(rows$first) * spread
  bound <- stats::quantile(norm, p, names = FALSE)
  kept <- pmin(1, bound / norm)
  own <- (if (record) rows$squares / d else rows$first^2) * spread^2
  curve <- mean(if (record) kept - kept * (norm > bound) / d else norm <= bound)
  bias <- -mean(rows$first * spread * (1 - kept)) / curve
  last <- length(plan$steps)
  sd <- bound * step_noise(plan, last, n, d, record)
  run <- noisy_steps(plan$steps[[last]], curve * plan$step, (plan$step * sd)^2,
                     (spread / 4)^2, floor(plan$steps[[last]] / if (plan$split) 2 else 6))
  sampled <- if (plan$split) n * plan$steps[[last]] / sum(plan$steps) / 2 else n
  sampling <- facts$loss * mean(own * kept^2) / curve^2 / sampled
  slopes_expectation(d * c(sampling, run$average, run$left + bias^2), d,
                     assume$signal, numeric())
}

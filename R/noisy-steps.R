# The noise of gradient descent, a linear recursion: from public numbers.

# Mean square of a slope's noise and what is left of its start, after `steps` steps that shrink
# errors by 1 - rho and add noise of variance `noise`: of the last iterate and of the average over
# all but the first `skip`.
noisy_steps <- function(steps, rho, noise, start, skip = floor(steps / 6)) {
  keep <- 1 - rho
  powers <- keep^seq(0, steps)
  last <- noise * sum(powers[seq_len(steps)]^2)
  # the weight of step s in the average: sum of keep^(t - s) over t = max(s, skip + 1), ..., steps
  sums <- cumsum(powers)
  s <- seq_len(steps)
  from <- pmax(s, skip + 1) - s
  weight <- (sums[steps - s + 1] - ifelse(from > 0, sums[pmax(from, 1)], 0)) / (steps - skip)
  begun <- mean(powers[(skip + 1):steps + 1])
  list(
    last = last + start * powers[[steps + 1L]]^2,
    average = noise * sum(weight^2), left = start * begun^2
  )
}

# Standard deviation of the average of the last stage, of iterates w <- (1 - share) w + share sd z,
# z standard normal, from one with standard deviation `start`; one share and sd per stage.
averaged_noise <- function(steps, share, sd, start = 0) {
  last <- length(steps)
  v <- start^2
  for (stage in seq_len(last)) {
    run <- noisy_steps(steps[[stage]], share[[stage]], (share[[stage]] * sd[[stage]])^2, v)
    v <- run$last
  }
  sqrt(run$average + run$left)
}

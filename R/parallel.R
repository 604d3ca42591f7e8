# Parallel composition: two mechanisms that read disjoint parts of the rows, the parts fixed without
# looking at the data. A row that is replaced stays in its part, so for a pair of neighbours only
# the mechanism of that part loses anything (the other reads the same rows, and may see the answers
# of the first, for that is post-processing). The guarantee is the worse of the two.

# One list of events that covers both `first` and `second`, the latter selections and pure steps
# only. In terms of trade-off curves:
#   1. first has Gaussian events. If their mu^2 add up to that of second (each step expressed in
#      mu), the Gaussian part alone lies below second's curve, and more events only lower it: the
#      list is first. Else a Gaussian event makes up what is missing.
#   2. first has none. A pure step with the larger sum of epsilons covers both; so do all events
#      together. The better at `delta` is taken.
parallel_events <- function(first, second, delta) {
  one <- compose_events(first, ordered = TRUE)
  two <- compose_events(second, ordered = TRUE)
  if (one$mu2 > 0) {
    short <- two$gdp * (1 + MARGIN) - one$mu2
    room <- if (short > 0) list(gaussian_event(sqrt(short), what = "room for the choice"))
    return(c(first, room))
  }
  larger <- max(one$epsilon, two$epsilon)
  pure <- list(pure_event(larger, what = "fits, or choice: the larger"))
  both <- c(first, second)
  if (delta == 0 || events_epsilon(both, delta) >= larger) pure else both
}

# The guarantee of fits on one part and a choice on the other.
parallel_privacy <- function(fits, choice) {
  epsilon <- max(fits$epsilon, choice$epsilon)
  new_privacy(
    epsilon, fits$delta,
    if (epsilon < Inf) parallel_events(fits$events, choice$events, fits$delta) else list(),
    rng = if ("R" %in% c(fits$rng, choice$rng)) "R" else "secure",
    calibration = fits$calibration, ordered = fits$ordered,
    unit = sub("^replace one ", "", fits$neighbours)
  )
}

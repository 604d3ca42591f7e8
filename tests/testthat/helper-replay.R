# Two neighbouring data sets seen through all releases of a fit: a first run writes down what each
# release was asked and what it gave; a second run, on the other data, is given the same answers, so
# that everything between two releases is the same, and the exact integers that the noise would be
# added to are compared.

REPLAYED <- c(
  "release_octaves", "release_equal_cells", "release_sizes", "release_moments",
  "release_weighted_moments", "release_descent", "release_gradient", "release_coordinates",
  "release_sums", "release_split", "release_complete", "release_quantiles", "release_vector",
  "select_top", "random_order"
)

# What the noise is added to: integers as two columns, or the numbers that are looked at.
exact_of <- function(name, f, args) {
  if (name == "release_quantiles") {
    return(sort(args$x, na.last = TRUE))
  }
  if (name == "random_order") {
    return(args$n)
  }
  if (name == "select_top") {
    return(args$scores)
  }
  if (name == "release_vector") {
    return(args$value)
  }
  if (name == "release_descent") args$plan$iterations <- 1
  args$exact <- TRUE
  do.call(f, args)
}

# `key`s are drawn in the same order in both runs, for all arguments are looked at first.
replay_spies <- function(home, state) {
  lapply(stats::setNames(REPLAYED, REPLAYED), function(name) {
    f <- get(name, home)
    note <- function(frame) {
      args <- mget(names(formals(f)), envir = frame)
      state$at <- state$at + 1L
      seen <- list(name = name, args = args, exact = exact_of(name, f, args))
      if (!state$again) {
        seen$out <- do.call(f, args)
        state$log[[state$at]] <- seen
        return(seen$out)
      }
      state$other[[state$at]] <- seen
      state$log[[state$at]]$out
    }
    as.function(c(formals(f), as.call(list(note, quote(environment())))), envir = home)
  })
}

put_in <- function(functions, home) {
  for (name in names(functions)) {
    unlockBinding(name, home)
    assign(name, functions[[name]], envir = home)
    lockBinding(name, home)
  }
}

# fit: a function of a data set. Returns the releases of both runs, side by side.
replay <- function(fit, one, other, seed = 1) {
  home <- asNamespace("dpheavy")
  state <- new.env()
  state$again <- FALSE
  state$log <- state$other <- list()
  on.exit(put_in(own, home))
  own <- mget(REPLAYED, envir = home)
  put_in(replay_spies(home, state), home)
  for (data in list(one, other)) {
    state$at <- 0L
    set.seed(seed)
    suppressWarnings(suppressMessages(fit(data)))
    state$again <- TRUE
  }
  list(one = state$log, other = state$other)
}

# By how much of what it is charged for each release moves; 1 at most.
release_move <- function(one, other) {
  args <- one$args
  k <- length(args$w)
  part <- function(move, gaussian, pure) {
    noise <- (if (is.null(args$law)) args$plan else args$law)$noise
    if (noise[[1L]] == 1) l1(move) / pure else l2(move) / gaussian
  }
  change <- function() diff_int64(one$exact, other$exact)
  columns <- length(args$rows$which)
  unit <- args$law$unit
  switch(one$name,
    release_octaves = , release_equal_cells = part(change(), unit * sqrt(2 * columns),
                                                   2 * unit * columns),
    release_sizes = part(change(), unit * sqrt(2), unit * 2),
    release_complete = part(change(), unit * sqrt(ncol(args$rows$x)), unit * ncol(args$rows$x)),
    release_sums = {
      d <- ncol(args$rows$x)
      part(change(), 2 * args$law$limit * sqrt(d), 2 * args$law$limit * d)
    },
    release_moments = , release_weighted_moments = {
      m <- if (is.null(args$root)) ncol(args$rows$x) + args$rows$intercept + 1 else nrow(args$root)
      full <- matrix(0, m, m)
      full[upper.tri(full, TRUE)] <- change()
      full[lower.tri(full)] <- t(full)[lower.tri(full)]
      l2(full) / (sqrt(2) * (args$bound / args$law$step + sqrt(m) / 2)^2)
    },
    # R/mean-by-fit.R: two integers that add up to at most limit + 1
    release_split = {
      d <- ncol(args$rows$x)
      part(change(), sqrt(2 * d) * (args$law$limit + 1), 2 * d * (args$law$limit + 1))
    },
    release_coordinates = part(change(), unit * sqrt(2) * k, unit * 2 * k),
    release_descent = , release_gradient = {
      if (args$plan$estimator %in% c("clipped", "covariate")) {
        size <- if (is.null(args$plan$root)) 1 else l2(args$plan$root)
        l2(change()) / (2 * (args$plan$bound / args$plan$step + (size + 1) * sqrt(k) / 2))
      } else {
        max(abs(change())) / (2 * args$plan$limit)
      }
    },
    # a value is another, comes or goes
    release_quantiles = values_moved(one$exact, other$exact),
    random_order = as.numeric(one$exact != other$exact) * 2,
    # their own grids: what these are made of has been compared
    release_vector = , select_top = as.numeric(length(one$exact) != length(other$exact)) * 2
  )
}

# How many numbers of one multiset are to be replaced to have the other.
values_moved <- function(a, b) {
  known <- unique(c(a, b))
  count <- function(v) tabulate(match(v, known), length(known))
  sum(abs(count(a) - count(b))) / 2
}

expect_replayed <- function(fit, one, other, label = "") {
  seen <- replay(fit, one, other)
  testthat::expect_gt(length(seen$one), 0)
  names <- vapply(seen$one, `[[`, "", "name")
  testthat::expect_identical(vapply(seen$other, `[[`, "", "name"), names)
  moved <- unlist(Map(release_move, seen$one, seen$other))
  testthat::expect_lte(max(moved), 1 + 1e-9, label = paste(label, names[which.max(moved)]))
  invisible(stats::setNames(moved, names))
}

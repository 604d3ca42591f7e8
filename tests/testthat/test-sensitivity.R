test_that("gradient sums move by at most what gradient_law() is for", {
  set.seed(261)
  worst <- 0
  for (p in c(1, 2, 4, 8)) {
    k <- p + 1L
    roots <- list(
      NULL, made_up_root(k), hard_root(k, 1e4), hard_root(k, 1e10), hard_root(k, 1e12, 1e9)
    )
    for (root in roots) {
      for (size in c(0, 1, 1e6, 1e300, Inf)) {
        n <- sample(c(2, 5, 300), 1)
        mu <- sample(c(0.01, 1, 30), 1)
        bound <- sample(c(1e-3, 1, 1e6), 1)
        rows <- made_up_rows(n, p, list(intercept = TRUE, centring = TRUE, offset = TRUE))
        law <- gradient_law(n, k, mu, bound, root)
        plan <- descent_plan(k, law, bound, root)
        w <- if (size == 0) rep(0, k) else size * sample(c(-1, 0.5, 1), k, TRUE)
        stats <- replaced(rows, wild_records(p), n, function(r) {
          release_descent(r, row_norms(r, root), w, plan, exact = TRUE)
        })
        worst <- max(worst, largest_change(stats, l2) / (2^law$noise[[2L]] * mu))
      }
    }
  }
  expect_lte(worst, 1)
  # the largest change is nearly as large as allowed
  expect_gt(worst, 0.99)
})

test_that("the bound on a gradient's change is attained by opposite records", {
  for (root in list(NULL, grid_root(matrix(c(1, 0.3, 0, 2), 2L)))) {
    law <- gradient_law(300, 2, 0.5, 3, root)
    plan <- descent_plan(2, law, 3, root)
    rows <- made_up_rows(300, 2, special = FALSE)
    stats <- replaced(rows, list(c(1, 2, 1e9), c(1, 2, -1e9)), 7, function(r) {
      release_descent(r, row_norms(r, root), c(0.1, 0), plan, exact = TRUE)
    })
    ratio <- largest_change(stats, l2) / (2^law$noise[[2L]] * 0.5)
    expect_gt(ratio, 0.99)
    expect_lte(ratio, 1)
  }
})

test_that("taking a row out of use moves a gradient sum by half of that", {
  rows <- made_up_rows(10, 2, special = FALSE)
  rows$y[[3]] <- 1e9
  law <- gradient_law(10, 2, 1, 1, NULL)
  plan <- descent_plan(2, law, 1)
  get <- function(r) release_descent(r, row_norms(r), c(0, 0), plan, exact = TRUE)
  without <- rows
  without$use <- seq_len(10) != 3
  expect_lte(l2(diff_int64(get(rows), get(without))), 2^law$noise[[2L]] / 2)
})

# The packed change of second moments with the weights of dph_moments.h: noise of
# standard deviation 2^bits on the diagonal; 11 times the entry with 8 times the noise off it.
moment_size <- function(m) {
  weight <- ifelse(upper.tri(diag(m)), 11 / 8, 1)[upper.tri(diag(m), diag = TRUE)]
  function(v) l2(v * weight)
}

test_that("second moments move by at most what moment_law() is for", {
  set.seed(262)
  worst <- 0
  for (p in c(1, 2, 4, 8)) {
    for (bound in c(1e-3, 1, 1e6, 1e20)) {
      for (mu in c(0.01, 1, 30)) {
        n <- sample(c(2, 5, 300), 1)
        m <- p + 2L
        rows <- made_up_rows(n, p, list(intercept = TRUE, centring = TRUE, offset = TRUE))
        law <- moment_law(n, m, mu, bound)
        stats <- replaced(rows, wild_records(p), n, function(r) {
          release_moments(r, row_norms(r, NULL, TRUE), bound, law, exact = TRUE)
        })
        worst <- max(worst, largest_change(stats, moment_size(m)) / (2^law$noise[[2L]] * mu))
      }
    }
  }
  expect_lte(worst, 1)
  # attained by two rows at right angles
  law <- moment_law(5, 3, 1, 1)
  rows <- made_up_rows(5, 2, special = FALSE)
  stats <- replaced(rows, list(c(1e9, 0, 0), c(0, 1e9, 0)), 1, function(r) {
    release_moments(r, row_norms(r, NULL, TRUE), 1, law, exact = TRUE)
  })
  ratio <- largest_change(stats, moment_size(3)) / 2^law$noise[[2L]]
  expect_gt(ratio, 0.99)
  expect_lte(ratio, 1)
})

test_that("weighted second moments move by at most that, whatever the weights do", {
  set.seed(265)
  worst <- 0
  weights <- c(1, 1e300, Inf, NaN, -1)
  for (p in c(1, 5)) {
    root <- made_up_root(p + 1L)
    for (bound in c(1e-3, 1e20)) {
      n <- sample(c(2, 300), 1)
      rows <- made_up_rows(n, p, list(intercept = TRUE, centring = TRUE))
      law <- moment_law(n, p + 1, 0.5, bound)
      stats <- lapply(weights, function(own) {
        weight <- c(rep(1, n - 1), own)
        replaced(rows, wild_records(p), n, function(r) {
          release_weighted_moments(r, weight, root, bound, law, exact = TRUE)
        })
      })
      stats <- unlist(stats, recursive = FALSE)
      worst <- max(worst, largest_change(stats, moment_size(p + 1L)) / (2^law$noise[[2L]] * 0.5))
    }
  }
  expect_lte(worst, 1)
  expect_gt(worst, 0.9)
})

# Three rows a unit, all of the first replaced.
unit_rows <- function(m, p, first) {
  set.seed(267)
  x <- matrix(stats::rnorm(3 * m * p), 3 * m, p)
  y <- as.double(stats::rbinom(3 * m, 1, 0.5))
  x[1:3, ] <- first
  rows <- new_rows(x, y, intercept = TRUE)
  rows$margin_offset <- 1
  rows$units <- list(
    order = seq_len(3 * m) - 1L, start = as.integer(seq(0, 3 * m, 3)), most = 3, scale = 1 / 3,
    one = as.integer(seq(1, 3 * m, 3)), empty = rep(FALSE, m)
  )
  rows
}

test_that("what variances of units are made from moves by at most what moment_law() is for", {
  m <- 200
  k <- 3
  root <- made_up_root(k)
  w <- c(0.1, 1, -1)
  law <- moment_law(m, k, 0.1, 1.2)
  for (estimator in c("covariate", "clipped")) {
    rule <- list(bound = 1.2, estimator = estimator, loss = "logistic")
    stats <- lapply(c(0, 1, 1e7, 1e150, 1e200, Inf, NaN, -1e150), function(first) {
      rows <- unit_rows(m, k - 1L, first)
      norm <- row_norms(rows, root)
      single <- one_each(rows)
      weights <- unit_sandwich_weights(rows, norm, w, rule, root, single)
      list(
        curvature = release_weighted_moments(single, sqrt(weights$second), root, 1.2, law,
                                             exact = TRUE),
        spread = release_weighted_moments(new_rows(weights$gradients), rep(1, m), root, 1.2, law,
                                          exact = TRUE)
      )
    })
    for (part in c("curvature", "spread")) {
      change <- largest_change(lapply(stats, `[[`, part), moment_size(k))
      expect_lte(change / (2^law$noise[[2L]] * 0.1), 1)
    }
  }
  units <- unit_rows(4, 1, 0)$units
  expect_identical(rowsum_of(units, c(1e300, Inf, 1, rep(1, 9))), c(Inf, 3, 3, 3))
  units$start <- c(0L, 0L, 3L, 3L, 12L)
  expect_identical(rowsum_of(units, as.double(1:12)), c(0, 6, 0, 72))
})

test_that("counts move by at most one record from one cell to another", {
  set.seed(263)
  unit <- 1000
  law <- list(unit = unit, noise = c(0, 0))
  for (n in c(2, 300)) {
    p <- 3L
    rows <- made_up_rows(n, p, list(centring = TRUE, offset = TRUE))
    rows$which <- as.double(0:p)
    records <- wild_records(p, 2L)
    key <- fixed_key(9)
    norm_of <- function(r) row_norms(r, NULL, TRUE)
    statistics <- list(
      function(r) release_octaves(r, "columns", octave_cells(signed = TRUE), law, NULL, TRUE),
      function(r) release_octaves(r, "columns", octave_cells(-3, 3), law, NULL, TRUE),
      function(r) release_octaves(r, "pairs", octave_cells(), law, key, TRUE),
      function(r) release_equal_cells(r, 0:p - 1, rep(0.3, p + 1), 7, law, NULL, TRUE),
      function(r) release_equal_cells(r, rep(-1e308, p + 1), rep(5e-324, p + 1), 7, law, NULL, TRUE)
    )
    for (statistic in statistics) {
      stats <- replaced(rows, records, n, statistic)
      column <- rep(seq_len(p + 1L), each = nrow(stats[[1L]]) / (p + 1L))
      expect_lte(largest_change(stats, function(v) max(rowsum(abs(v), column))), 2 * unit)
      expect_lte(largest_change(stats, l2), unit * sqrt(2 * (p + 1)))
    }
    for (w in list(NULL, c(1, 1, 1), c(1e300, -1, 0), c(Inf, 1, 1))) {
      stats <- replaced(rows, records, n, function(r) {
        release_sizes(r, norm_of(r), w, "squared", octave_cells(-80, 80, 4), law, NULL, TRUE)
      })
      expect_lte(largest_change(stats, l1), 2 * unit)
    }
    stats <- replaced(rows, records, n, function(r) release_complete(r, law, NULL, TRUE))
    expect_identical(largest_change(stats, function(v) max(abs(v))), unit)
  }
  # attained: a count falls and another rises
  rows <- new_rows(matrix(c(1, 1, 1)), which = 0)
  stats <- replaced(rows, list(1, 3), 2, function(r) {
    release_octaves(r, "columns", octave_cells(), law, NULL, TRUE)
  })
  expect_identical(largest_change(stats, l1), 2 * unit)
})

test_that("winsorised sums move by at most the range", {
  set.seed(264)
  for (kind in c("laplace", "gaussian")) {
    for (n in c(2, 300)) {
      for (inv_width in c(1e-300, 1e-3, 1, 1e150)) {
        p <- 3L
        rows <- made_up_rows(n, p, list(centring = TRUE))
        rows$y <- NULL
        law <- sum_law(kind, n, p, 0.7)
        rows$inv_scale <- rep(law$limit * inv_width, p)
        records <- lapply(wild_records(p), utils::head, p)
        stats <- replaced(rows, records, n, function(r) release_sums(r, law, NULL, TRUE))
        expect_identical(largest_change(stats, function(v) max(abs(v))), 2 * law$limit)
        size <- if (kind == "laplace") l1 else l2
        expect_lte(largest_change(stats, size), 2^law$bits * 0.7 * (1 + 1e-12))
        expect_gt(largest_change(stats, size), 2^law$bits * 0.7 * 0.99)
      }
    }
  }
})

test_that("no special value changes more than numbers: no condition, same shape", {
  set.seed(265)
  x <- matrix(stats::rnorm(3000), 1000)
  y <- x[, 1L] + stats::rnorm(1000)
  known <- list(x = list(center = 0, scale = 1), y = list(center = 0, scale = 1))
  plain <- dp_lm(x, y, 8, 1e-5, scale = known)
  for (v in c(0, 1e308, -1e308, Inf, -Inf, 5e-324)) {
    z <- x
    z[1L, ] <- v
    expect_silent(fit <- dp_lm(z, replace(y, 1L, v), 8, 1e-5, scale = known))
    expect_true(all(is.finite(coef(fit))))
    expect_identical(lapply(fit, class), lapply(plain, class))
    expect_identical(fit$privacy, plain$privacy)
    expect_silent(fit <- dp_mean(z, 8))
    expect_true(all(is.finite(coef(fit))))
  }
})

test_that("logistic gradients move by at most what gradient_law() is for", {
  set.seed(302)
  worst <- 0
  for (p in c(1, 4)) for (bound in c(1e-3, 1, 1e6)) for (mu in c(0.01, 1)) {
    n <- sample(c(2, 5, 300), 1)
    rows <- binary_rows(n, p, list(centring = TRUE))
    root <- if (p > 1) made_up_root(p)
    law <- gradient_law(n, p, mu, bound, root)
    plan <- logistic_plan(p, law, bound, root)
    for (w in list(rep(0, p), stats::rnorm(p) * 1e3)) {
      stats <- replaced(rows, wild_records(p), n, function(r) {
        release_descent(r, row_norms(r, root), w, plan, exact = TRUE)
      })
      worst <- max(worst, largest_change(stats, l2) / (2^law$noise[[2L]] * mu))
    }
  }
  expect_lte(worst, 1)
  # attained: a certain event against its opposite at the same far covariate
  rows <- binary_rows(7, 2)
  law <- gradient_law(7, 2, 0.5, 1, NULL)
  plan <- logistic_plan(2, law, 1)
  stats <- replaced(rows, list(c(1e6, 2e6, 1), c(-1e6, -2e6, 1)), 7, function(r) {
    release_descent(r, row_norms(r), c(-1, -1) * 1e-9, plan, exact = TRUE)
  })
  expect_gt(largest_change(stats, l2) / (2^law$noise[[2L]] * 0.5), 0.49)
  stats <- replaced(rows, list(c(1e6, 2e6, 1), c(1e6, 2e6, 0)), 7, function(r) {
    release_descent(r, row_norms(r), c(0, 0), plan, exact = TRUE)
  })
  expect_gt(largest_change(stats, l2) / (2^law$noise[[2L]] * 0.5), 0.49)
})

# ---- gradients coordinate by coordinate -------------------------------------------

# The reach that a plan works with, and the rule of its law.
calibrated_rule <- function(estimator, n, k, kind, cost, bound, beta = 1, psi_bound = 1, ...) {
  gradient <- switch(estimator,
    catoni = grad_catoni(bound), catoni_smooth = grad_catoni(bound, beta),
    shrunken = grad_shrunken(bound), grad_winsorized(bound)
  )
  reach <- if (estimator == "shrunken") max(bound, 1) * psi_bound else
    bound * coordinate_reach(gradient)
  law <- coordinate_law(kind, n, k, cost, reach)
  rule <- list(
    estimator = estimator, bound = bound, step = law$step, limit = law$limit, noise = c(0, 0),
    psi_bound = if (estimator == "shrunken") psi_bound else Inf, ...
  )
  if (estimator == "catoni_smooth") rule$table <- catoni_table(beta)
  list(rule = rule, law = law)
}

expect_within_law <- function(stats, law, kind, cost, attained = NULL) {
  size <- if (kind == "laplace") l1 else l2
  testthat::expect_lte(largest_change(stats, function(v) max(abs(v))), 2 * law$limit)
  ratio <- largest_change(stats, size) / (2^law$bits * cost)
  testthat::expect_lte(ratio, 1)
  if (!is.null(attained)) testthat::expect_gt(ratio, attained)
}

test_that("gradients by coordinates move by at most what coordinate_law() is for", {
  skip_on_cran()
  set.seed(421)
  parts <- list(list(loss = "squared"), list(loss = "huber", tuning = 1e-3), list(loss = "mean"),
                list(loss = "logistic"))
  for (estimator in ELEMENTS) for (kind in c("laplace", "gaussian")) {
    for (bound in c(1e-3, 1, 1e6)) for (cost in c(0.01, 3)) {
      n <- sample(c(2, 5, 300), 1)
      rows <- made_up_rows(n, 3, list(intercept = TRUE, centring = TRUE, offset = TRUE))
      made <- do.call(calibrated_rule, c(
        list(estimator, n, 4, kind, cost, bound, beta = sample(c(0.1, 1, 100), 1),
             psi_bound = sample(c(1, 1e3), 1)), parts[[sample(4, 1)]]
      ))
      w <- sample(c(0, 1, 1e300, Inf), 1) * c(0.1, -1, 2, 0.3)
      w[is.nan(w)] <- 0
      for (groups in c(0, min(n, 3))) {
        rule <- made$rule
        if (groups > 0) rule <- c(rule, made_up_groups(n, groups))
        stats <- replaced(rows, wild_records(3), n, function(r) {
          release_gradient(r, row_norms(r), w, rule, exact = TRUE)
        })
        expect_within_law(stats, made$law, kind, cost)
      }
    }
  }
})

test_that("a user's derivatives, whatever they are, move gradients by no more; attained", {
  set.seed(422)
  wild <- c(SPECIAL, 1e6, -1e6, 1.7e308)
  for (estimator in setdiff(ELEMENTS, "shrunken")) for (kind in c("laplace", "gaussian")) {
    for (groups in c(0, 1)) {
      n <- 20
      rows <- new_rows(matrix(sample(c(-1, 1), 2 * n, TRUE), n), numeric(n), intercept = TRUE)
      rows$x[3L, ] <- 1
      made <- calibrated_rule(estimator, n, 3, kind, 0.3, 2)
      rule <- made$rule
      if (groups > 0) rule <- c(rule, made_up_groups(n, groups))
      psi <- stats::rnorm(n)
      stats <- lapply(c(wild, 2, -2), function(v) {
        release_gradient(rows, row_norms(rows), numeric(3),
                         c(rule, list(psi = replace(psi, 3L, v))), exact = TRUE)
      })
      # derivatives of +-2 with covariates of 1: the bound itself; larger ones count as it
      expect_within_law(stats, made$law, kind, 0.3, 0.97)
    }
  }
  # whole records, under a root
  root <- made_up_root(3)
  rows <- made_up_rows(20, 2, list(intercept = TRUE), special = FALSE)
  norm <- row_norms(rows, root)
  law <- gradient_law(20, 3, 0.3, 2, root)
  for (estimator in c("clipped", "covariate")) {
    plan <- list(step = law$step, limit = law$limit, noise = c(0, 0), bound = 2, root = root,
                 estimator = estimator)
    psi <- stats::rnorm(20)
    stats <- lapply(wild, function(v) {
      release_gradient(rows, norm, numeric(3), c(plan, list(psi = replace(psi, 3L, v))),
                       exact = TRUE)
    })
    ratio <- largest_change(stats, l2) / (2^law$noise[[2L]] * 0.3)
    expect_lte(ratio, 1)
    expect_gt(ratio, 0.4)
  }
})

test_that("a median of groups moves by no more than the group of the record", {
  set.seed(423)
  n <- 30
  rows <- new_rows(matrix(rep(0, n)), numeric(n))
  made <- calibrated_rule("winsorized", n, 1, "gaussian", 1, 1)
  for (groups in 1:4) {
    rule <- c(made$rule, made_up_groups(n, groups))
    smallest <- which.max(tabulate(rule$group + 1L, groups) == min(tabulate(rule$group + 1L)))
    one <- which(rule$group == smallest - 1L)[[1L]]
    stats <- lapply(c(-1e9, 1e9, 0), function(v) {
      psi <- replace(numeric(n), one, v)
      rows$x[] <- 1
      release_gradient(rows, row_norms(rows), 0, c(rule, list(psi = psi)), exact = TRUE)
    })
    change <- largest_change(stats, function(v) max(abs(v)))
    expect_lte(change, 2 * made$law$limit)
    # other groups hold zeros: one group of three or more cannot move the median
    expect_identical(change, c(2, 1, 0, 0)[[groups]] * made$law$limit)
  }
})

test_that("a record outside of a view does not move it at all", {
  set.seed(424)
  n <- 40
  rows <- made_up_rows(n, 2, list(intercept = TRUE, centring = TRUE), special = FALSE)
  index <- sample(n - 1L, 15) - 1L
  w <- stats::rnorm(3)
  cells <- octave_cells(-80, 80, 2)
  for (estimator in c("clipped", "covariate", ELEMENTS)) {
    rule <- c(gradient_rule(estimator, 1, psi_bound = 5), list(index = index))
    for (groups in c(0, 3)) {
      if (groups > 0 && estimator %in% c("clipped", "covariate")) next
      own <- if (groups > 0) c(rule, partition_groups(n, 3, index)) else rule
      stats <- replaced(rows, wild_records(2), n, function(r) {
        release_gradient(r, row_norms(r), w, own, exact = TRUE)
      })
      for (s in stats) expect_identical(s, stats[[1L]])
      # a record of the view does
      stats <- replaced(rows, wild_records(2), index[[1L]] + 1L, function(r) {
        release_gradient(r, row_norms(r), w, own, exact = TRUE)
      })
      expect_gt(largest_change(stats, l1), 0)
    }
  }
})

test_that("counts of coordinates move by at most k out of a cell and k into another", {
  set.seed(425)
  for (n in c(2, 300)) for (k in c(1, 4)) {
    rows <- made_up_rows(n, k, list(centring = TRUE, offset = TRUE))
    law <- count_law("gaussian", n * k, 0.2, sqrt(2) * k)
    cells <- octave_cells(-80, 80, 4)
    for (part in list(list(loss = "squared"), list(loss = "huber", tuning = 1e-300))) {
      rule <- c(part, list(estimator = "winsorized", bound = 1, step = 1, limit = 1))
      for (w in list(rep(1, k), rep(1e300, k))) {
        stats <- replaced(rows, wild_records(k), n, function(r) {
          release_coordinates(r, row_norms(r), w, rule, cells, law, exact = TRUE)
        })
        expect_lte(largest_change(stats, l1), 2 * k * law$unit)
        expect_lte(largest_change(stats, l2), 2^law$noise[[2L]] * 0.2)
      }
    }
    # attained: all coordinates of a record in one cell, then in another
    rows$center[] <- 0
    rows$inv_scale[] <- 1
    rows["offset"] <- list(NULL)
    rule <- list(loss = "mean", estimator = "winsorized", bound = 1, step = 1, limit = 1)
    stats <- replaced(rows, list(rep(1, k + 1), rep(9, k + 1)), n, function(r) {
      release_coordinates(r, row_norms(r), numeric(k), rule, cells, law, exact = TRUE)
    })
    expect_equal(largest_change(stats, l2), sqrt(2) * k * law$unit)
    expect_gt(largest_change(stats, l2) / (2^law$noise[[2L]] * 0.2), 0.99)
  }
})

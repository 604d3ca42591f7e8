# Robust gradients, coordinate by coordinate, against their twins.

# A loss with what it needs, or derivatives.
made_up_loss <- function(n, shrinks) {
  parts <- list(
    list(loss = "squared"), list(loss = "logistic"), list(loss = "huber", tuning = 0.7),
    list(loss = "biweight", tuning = 3), list(loss = "mean"),
    list(psi = replace(stats::rt(n, 2), sample(n, 1L), sample(SPECIAL, 1L)))
  )
  parts[[sample(if (shrinks) 5 else 6, 1L)]]
}

# Some rows in any order; groups.
made_up_view <- function(n) {
  index <- if (sample(3, 1) == 1) sample(n, ceiling(n / 2)) - 1L
  groups <- if (sample(5, 1) > 2) min(n, sample(3:4, 1))
  c(list(index = index), if (!is.null(groups)) made_up_groups(n, groups))
}

made_up_case <- function(o, estimator, limit, special = TRUE) {
  rows <- made_up_rows(o$n, o$p, o, special = special)
  rows$margin_offset <- sample(c(0, 1), 1)
  shrinks <- estimator == "shrunken"
  rule <- do.call(gradient_rule, c(
    list(
      estimator, stats::runif(1, 0.5, 5), limit, beta = sample(c(0.1, 1, 4, 100), 1),
      psi_bound = if (shrinks) stats::runif(1, 0.5, 5) else Inf
    ),
    made_up_loss(o$n, shrinks), made_up_view(o$n)
  ))
  k <- o$p + rows$intercept
  list(
    rows = rows, norm = row_norms(rows), w = stats::rnorm(k),
    rule = Filter(Negate(is.null), rule)
  )
}

# A third of the grid.
some_cases <- function(grid) grid[sample(length(grid), length(grid) / 3)]

test_that("gradients are the twin's integers over the option grid", {
  set.seed(401)
  grid <- option_grid()
  for (estimator in ELEMENTS) {
    different <- vapply(some_cases(grid), function(o) {
      case <- made_up_case(o, estimator, 2e4)
      got <- release_gradient(case$rows, case$norm, case$w, case$rule, exact = TRUE)
      !identical(from_int64(got), twin_gradient(case$rows, case$norm, case$w, case$rule))
    }, NA)
    expect_identical(sum(different), 0L, label = estimator)
  }
})

test_that("plain sums, the noiseless mode, are the twin's", {
  set.seed(402)
  grid <- option_grid()
  for (estimator in ELEMENTS) {
    worst <- vapply(some_cases(grid), function(o) {
      case <- made_up_case(o, estimator, 0, special = FALSE)
      psi <- case$rule[["psi"]]
      if (!is.null(psi)) case$rule$psi <- replace(psi, is.na(psi) | abs(psi) > 1e9, 0)
      got <- release_gradient(case$rows, case$norm, case$w, case$rule)
      want <- twin_gradient(case$rows, case$norm, case$w, case$rule)
      max(abs(got - want)) / (1 + max(abs(want)))
    }, 0)
    expect_lt(max(worst), 1e-11, label = estimator)
  }
})

test_that("clipped gradients and covariates of a view are those of its rows alone", {
  set.seed(403)
  for (estimator in c("clipped", "covariate")) for (n in c(5, 256, 700)) {
    rows <- made_up_rows(n, 3, list(intercept = TRUE, centring = TRUE, offset = TRUE, use = TRUE))
    index <- sample(n, ceiling(0.6 * n)) - 1L
    root <- made_up_root(4)
    law <- gradient_law(n, 4, 1, 2, root)
    plan <- c(law[c("step", "limit")], list(
      noise = c(0, 0), loss = "huber", tuning = 1.5, estimator = estimator, bound = 2, root = root
    ))
    part <- rows
    part$x <- rows$x[index + 1L, ]
    for (name in c("y", "offset", "use")) part[[name]] <- rows[[name]][index + 1L]
    w <- stats::rnorm(4)
    norm <- row_norms(rows, root)
    got <- release_gradient(rows, norm, w, c(plan, list(index = index)), exact = TRUE)
    want <- release_gradient(part, row_norms(part, root), w, plan, exact = TRUE)
    expect_identical(got, want)
    all <- release_gradient(rows, norm, w, plan, exact = TRUE)
    expect_true(n == 5 || !identical(got, all))
    # derivatives that are handed over count like those of the loss
    d <- twin_problem(rows, norm, w, list())
    psi <- twin_psi(d$eta, d$y, plan)
    psi[is.na(psi)] <- NaN
    handed <- c(plan[setdiff(names(plan), "loss")], list(psi = psi, index = index))
    away <- diff_int64(release_gradient(rows, norm, w, handed, exact = TRUE), got)
    expect_lte(max(abs(away)), 2)
  }
})

test_that("a single release is a step of the descent in C", {
  set.seed(404)
  rows <- made_up_rows(300, 3, list(intercept = TRUE, centring = TRUE))
  root <- made_up_root(4)
  law <- gradient_law(300, 4, 1, 2, root)
  plan <- descent_plan(4, law, 2, root)
  norm <- row_norms(rows, root)
  w <- stats::rnorm(4)
  expect_identical(release_gradient(rows, norm, w, plan, exact = TRUE),
                   release_descent(rows, norm, w, plan, exact = TRUE))
  move <- release_descent(rows, norm, w, plan, fixed_key(3))[, 1L] - w
  step <- release_gradient(rows, norm, w, plan, fixed_key(3)) * law$step / 300
  expect_equal(move, -drop(crossprod(root, step)), tolerance = 1e-9)
})

test_that("noise is that of the law, one draw per coordinate", {
  set.seed(405)
  rows <- made_up_rows(50, 3)
  rule <- gradient_rule("catoni", 2)
  rule$noise <- c(2, 9)
  norm <- row_norms(rows)
  exact <- from_int64(release_gradient(rows, norm, rep(0.1, 3), rule, exact = TRUE))
  got <- release_gradient(rows, norm, rep(0.1, 3), rule, fixed_key(5))
  expect_identical(got - exact, key_noise(rule, 3, fixed_key(5)))
  groups <- c(rule, made_up_groups(50, 4))
  exact <- from_int64(release_gradient(rows, norm, rep(0.1, 3), groups, exact = TRUE))
  got <- release_gradient(rows, norm, rep(0.1, 3), groups, fixed_key(5))
  expect_identical(got - exact, key_noise(rule, 3, fixed_key(5)))
})

test_that("coordinates are counted in the twin's cells", {
  set.seed(406)
  grid <- option_grid()
  different <- vapply(seq_along(grid), function(i) {
    case <- made_up_case(grid[[i]], c("winsorized", "shrunken")[[1 + i %% 2]], 10)
    cells <- octave_cells(-80, 80, c(1, 2, 4)[[1 + i %% 3]])
    got <- release_coordinates(case$rows, case$norm, case$w, case$rule, cells,
                               list(unit = 3, noise = c(0, 0)), exact = TRUE)
    want <- 3 * twin_coordinate_counts(case$rows, case$norm, case$w, case$rule, cells)
    # a logistic derivative far out is zero or next to it
    joined <- function(v) c(v[[1L]] + v[[2L]], v[-(1:2)])
    !identical(joined(from_int64(got)), joined(want))
  }, NA)
  expect_identical(sum(different), 0L)
})

test_that("margins are those of the rows that count, 0 for others", {
  set.seed(407)
  grid <- option_grid()
  worst <- vapply(some_cases(grid), function(o) {
    rows <- made_up_rows(o$n, o$p, o)
    rows$x[abs(rows$x) > 1e20] <- NaN
    rows$margin_offset <- sample(c(0, 1), 1)
    norm <- row_norms(rows)
    w <- stats::rnorm(o$p + rows$intercept)
    want <- twin_problem(rows, norm, w, list())$eta
    want[is.na(want)] <- 0
    max(abs(row_margins(rows, norm, w) - want))
  }, 0)
  expect_lt(max(worst), 1e-9)
})

test_that("a random order is the twin's, a permutation, and looks at no data", {
  for (n in c(1, 2, 300)) {
    order <- random_order(n, fixed_key(n))
    expect_identical(sort(order), seq_len(n) - 1L)
    expect_identical(order, as.integer(twin_permutation(fixed_key(n), n) - 1L))
  }
  expect_false(identical(random_order(50), random_order(50)))
})

test_that("groups and batches are as even as can be, and each row is in one", {
  for (n in c(7, 100, 101)) for (m in c(1, 2, 7)) {
    index <- sample(200, n) - 1L
    made <- partition_groups(200, m, index)
    sizes <- tabulate(made$group[index + 1L] + 1L, m)
    expect_identical(sum(sizes), as.integer(n))
    expect_lte(diff(range(sizes)), 1)
    expect_identical(min(sizes), as.integer(floor(n / m)))
    expect_equal(made$group_weight * sizes, rep(min(sizes), m))
    cut <- cut_batches(index, m)
    expect_identical(unname(unlist(cut)), index)
    expect_lte(diff(range(lengths(cut))), 1)
  }
})

test_that("the order of the rows cannot be seen, nor the number of threads", {
  set.seed(408)
  n <- 9000
  rows <- made_up_rows(n, 4, list(intercept = TRUE, offset = TRUE, use = TRUE))
  i <- sample(n)
  other <- rows
  other$x <- rows$x[i, ]
  for (part in c("y", "offset", "use")) other[[part]] <- rows[[part]][i]
  w <- stats::rnorm(5)
  for (estimator in ELEMENTS) for (groups in c(0, 5)) {
    rule <- gradient_rule(estimator, 1.5, 1e6)
    moved <- rule
    if (groups > 0) {
      rule <- c(rule, made_up_groups(n, groups))
      moved <- rule
      moved$group <- rule$group[i]
    }
    get <- function(r, rule) release_gradient(r, row_norms(r), w, rule, exact = TRUE)
    once <- get(rows, rule)
    expect_identical(get(other, moved), once)
    rows$threads <- 2
    expect_identical(get(rows, rule), once)
    rows$threads <- 1
  }
})

# T(psi v) in C for each number of v: one record with as many columns.
element_of <- function(v, estimator, bound = 1, beta = 1, psi = 1) {
  rows <- new_rows(matrix(as.double(v), 1L))
  rule <- gradient_rule(estimator, bound, 0, beta = beta, psi = as.double(psi))
  release_gradient(rows, 0, numeric(length(v)), rule)
}

test_that("Catoni's function is odd, bounded, and within its band", {
  t <- c(seq(-5, 5, 0.01), 10^(1:300), -10^(1:300), 5e-324)
  for (s in c(1, 1e-3, 1e6)) {
    phi <- element_of(t * s, "catoni", s) / s
    expect_equal(phi, twin_phi(t), tolerance = 1e-12)
    expect_identical(element_of(-t * s, "catoni", s) / s, -phi)
    expect_lte(max(abs(phi)), CATONI_MOST * (1 + 1e-15))
    expect_equal(max(phi), 2 * sqrt(2) / 3)
  }
  t <- seq(-50, 50, 0.01)
  phi <- element_of(t, "catoni")
  expect_true(all(phi <= log(1 + t + t^2 / 2) + 1e-15))
  expect_true(all(phi >= -log(1 - t + t^2 / 2) - 1e-15))
})

test_that("the smoothed function is the expectation, from a table that never exceeds its range", {
  set.seed(409)
  t <- c(1e-8, 10^seq(-3, 3, length.out = 60), stats::runif(60, 0, 4))
  for (beta in c(0.1, 1, 4, 100)) {
    most <- 2 * sqrt(2) / 3 * (2 * stats::pnorm(sqrt(beta)) - 1)
    expect_equal(catoni_reach(beta), most)
    want <- twin_phi_smooth(t, beta)
    expect_equal(catoni_smooth(t, beta), want, tolerance = 1e-9)
    table <- catoni_table(beta)
    expect_lte(max(table[-length(table)]), most * (1 + 1e-12))
    expect_equal(table[[length(table) - 1L]], most)
    got <- element_of(t, "catoni_smooth", 1, beta)
    expect_lt(max(abs(got - want)), 1e-10)
    tiny <- element_of(10^seq(-300, -9, by = 3), "catoni_smooth", 1, beta)
    expect_lt(max(abs(tiny)), 1.1e-9)
    expect_equal(element_of(t * 7, "catoni_smooth", 7, beta), 7 * got, tolerance = 1e-9)
    expect_identical(element_of(-t, "catoni_smooth", 1, beta), -got)
    far <- element_of(c(1e3, 1e9, 1e10, 1e100, 1e300, 1.7e308), "catoni_smooth", 1, beta)
    expect_true(all(far <= most * (1 + 1e-12)))
    expect_equal(far[-1L], rep(most, 5), tolerance = 1e-6)
    huge <- element_of(c(1, -1, 0), "catoni_smooth", 1, beta, psi = 1e308)
    expect_equal(huge, c(most, -most, 0), tolerance = 1e-6)
    # the band of the smoothed one
    band <- log(1 + t + t^2 * (1 + 1 / beta) / 2)
    expect_true(all(got <= band + 1e-6))
  }
  # less and less smoothing
  t <- seq(-4, 4, 0.05)
  away <- vapply(c(1e2, 1e3, 1e4), function(beta) max(abs(catoni_smooth(abs(t), beta) -
                                                             twin_phi(abs(t)))), 0)
  expect_true(all(diff(away) < 0) && away[[3L]] < 1e-2)
  expect_equal(catoni_reach(Inf), CATONI_MOST)
  expect_identical(estimator_name(grad_catoni()), "catoni")
  expect_identical(estimator_name(grad_catoni(beta = 4)), "catoni_smooth")
})

test_that("from 1e-300 to 1e300 Catoni's function is the expectation, and never beyond its range", {
  a <- 10^seq(-300, 300, by = 2.5)
  a <- sort(c(a, 10^seq(-4, 4, length.out = 81), sqrt(2) * (1 + c(-1e-9, 0, 1e-9))))
  for (beta in c(0.1, 1, 10, 100, Inf)) {
    most <- catoni_reach(beta)
    name <- estimator_name(grad_catoni(beta = beta))
    want <- if (beta == Inf) twin_phi(a) else twin_phi_smooth(pmin(a, 1e12), beta)
    for (scale in c(1, 1e-3, 1e5)) {
      got <- element_of(a * scale, name, scale, beta) / scale
      expect_lt(max(abs(got - want)), 1e-10)
      expect_lte(max(got), most * (1 + 1e-15))
      expect_identical(element_of(-a * scale, name, scale, beta) / scale, -got)
      # on the grid of a release not even a rounding is beyond it
      rule <- gradient_rule(name, scale, 2^20, beta = beta, psi = 1)
      rule$step <- most * scale / 2^20
      rows <- new_rows(matrix(a * scale, 1L))
      expect_identical(max(abs(release_gradient(rows, 0, numeric(length(a)), rule))), 2^20)
    }
  }
})

test_that("malformed rules are refused and leave nothing behind", {
  rows <- made_up_rows(6, 2, special = FALSE)
  norm <- row_norms(rows)
  get <- function(rule, w = c(0, 0)) release_gradient(rows, norm, w, rule)
  rule <- gradient_rule("winsorized", 1)
  broken <- function(...) get(utils::modifyList(rule, list(...)))
  expect_error(broken(estimator = "no"), "unknown")
  expect_error(broken(loss = "no"), "unknown")
  expect_error(broken(limit = 2.5), "whole")
  expect_error(broken(limit = 2^52), "62 bits")
  expect_error(broken(limit = 0), "62 bits")
  expect_error(broken(index = 6L), "in range")
  expect_error(broken(index = -1L), "in range")
  expect_error(broken(index = NA_integer_), "in range")
  expect_error(broken(index = integer()), "rows")
  expect_error(broken(index = 0), "in range")
  groups <- list(group = rep(0:1, 3), groups = 2, group_weight = c(1, 1))
  expect_error(do.call(broken, utils::modifyList(groups, list(group = rep(2L, 6)))), "in range")
  expect_error(do.call(broken, utils::modifyList(groups, list(group = 0:1))), "in range")
  expect_error(do.call(broken, utils::modifyList(groups, list(group_weight = c(1, 1.1)))), "0, 1")
  expect_error(do.call(broken, utils::modifyList(groups, list(group_weight = c(1, NaN)))), "0, 1")
  expect_error(do.call(broken, utils::modifyList(groups, list(groups = 0))), "positive")
  expect_error(broken(root = diag(2)), "root")
  expect_error(do.call(broken, c(groups, list(estimator = "clipped"))), "coordinates only")
  expect_error(broken(estimator = "catoni_smooth"), "table")
  expect_error(broken(psi = 1), "psi")
  expect_error(broken(estimator = "shrunken", psi = rep(1, 6)), "loss of the package")
  expect_error(broken(step = 0, noise = c(2, 3)), "grid")
  expect_error(get(rule, 0), "`w`")
  expect_error(random_order(0), "positive")
  no_y <- rows
  no_y["y"] <- list(NULL)
  expect_error(release_gradient(no_y, norm, c(0, 0), rule), "response")
  expect_identical(.Call(C_core_live), 0)
})

count_unit <- list(unit = 1, noise = c(0, 0))

test_that("octave counts are the twin's, signed and unsigned, at each resolution", {
  set.seed(221)
  different <- vapply(option_grid(), function(o) {
    rows <- made_up_rows(o$n, o$p, o)
    rows$which <- as.double(sample(0:o$p, min(o$p + 1, 3)))
    sub <- c(1, 2, 4)[[1 + (o$n + o$p) %% 3]]
    cells <- if (o$other) octave_cells(sub = sub, signed = o$intercept) else
      octave_cells(-3, 4, sub, o$intercept)
    got <- release_octaves(rows, "columns", cells, count_unit, exact = TRUE)
    !identical(from_int64(got), twin_counts(rows, cells))
  }, NA)
  expect_identical(sum(different), 0L)
})

test_that("every double has the cell that its exponent says", {
  edge <- 2^c(-1074, -1073, -1022, -1, 0, 1, 52, 1023)
  v <- c(edge, edge * (1 - 2^-53), 0, 5e-324, .Machine$double.xmax, Inf, 3, 1e-160)
  index <- function(v, cells) {
    rows <- new_rows(matrix(v), which = 0)
    apply(matrix(v), 1L, function(one) {
      rows$x <- matrix(one)
      which(from_int64(release_octaves(rows, "columns", cells, count_unit, exact = TRUE)) == 1)
    })
  }
  cells <- octave_cells(signed = TRUE)
  half <- 1024 + 1074
  expect_identical(as.double(index(0, cells)), half + 1)
  # the cell of 2^e, e = -1074, ... follows that of zero
  expect_identical(as.double(index(edge, cells)), half + 2 + log2(edge) + 1074)
  expect_identical(as.double(index(-edge, cells)), half - (log2(edge) + 1074))
  expect_identical(as.double(index(Inf, cells)), 2 * half + 1)
  expect_identical(index(-Inf, cells), 1L)
  for (sub in c(1, 2, 4)) {
    cells <- octave_cells(-2, 3, sub, TRUE)
    expect_identical(as.double(index(v, cells)), twin_octave(v, cells))
    expect_identical(as.double(index(-v, cells)), twin_octave(-v, cells))
  }
})

test_that("pair counts are those of the permutation that the key stands for", {
  set.seed(222)
  for (n in c(1, 2, 3, 5, 255, 256, 257, 1000)) {
    key <- fixed_key(n)
    rows <- made_up_rows(n, 2, list(offset = TRUE, use = n > 5, centring = TRUE))
    rows$which <- c(2, 0, 1)
    perm <- twin_permutation(key, n)
    expect_identical(sort(perm), seq_len(n))
    for (cells in list(octave_cells(), octave_cells(-2, 2, 4))) {
      got <- release_octaves(rows, "pairs", cells, count_unit, key, exact = TRUE)
      expect_identical(from_int64(got), twin_pair_counts(rows, cells, perm))
    }
  }
})

test_that("every pairing of a few records is equally likely", {
  skip_on_cran()
  # the three pairings of four records differ by 1, 1 or 3, 3 or 4, 2
  rows <- new_rows(matrix(c(0, 1, 3, 4)), which = 0)
  set.seed(223)
  control <- dp_control(rng = "R")
  seen <- vapply(seq_len(3000), function(i) {
    counts <- release_octaves(rows, "pairs", octave_cells(0, 3), count_unit,
                              release_key(control), TRUE)
    paste(from_int64(counts), collapse = "")
  }, "")
  seen <- table(factor(seen, c("0200", "0020", "0011")))
  expect_identical(sum(seen), 3000L)
  expect_gt(gof_p(as.vector(seen), rep(1 / 3, 3)), alarm)
})

test_that("equal cells are the twin's", {
  set.seed(224)
  different <- vapply(option_grid(), function(o) {
    rows <- made_up_rows(o$n, o$p, o)
    rows$which <- as.double(sample(0:o$p, min(o$p + 1, 3)))
    lower <- stats::rnorm(length(rows$which)) - 2
    width <- stats::runif(length(lower), 0.1, 1)
    got <- release_equal_cells(rows, lower, width, 9, count_unit, exact = TRUE)
    !identical(from_int64(got), twin_equal(rows, lower, width, 9))
  }, NA)
  expect_identical(sum(different), 0L)
})

test_that("the unit multiplies counts and leaves released counts in records", {
  rows <- new_rows(matrix(c(1, 2, 2, NaN)), which = 0)
  cells <- octave_cells(0, 3)
  law <- list(unit = 2^40, noise = c(0, 0))
  expect_identical(from_int64(release_octaves(rows, "columns", cells, law, exact = TRUE)),
                   2^40 * c(0, 1, 2, 0))
  expect_identical(drop(release_octaves(rows, "columns", cells, law)), c(0, 1, 2, 0))
  wide <- list(unit = 2^52, noise = c(0, 0))
  expect_error(release_octaves(rows, "columns", cells, wide), "62 bits")
  expect_error(release_octaves(rows, "columns", octave_cells(3, 2), law), "out of range")
  expect_error(release_octaves(rows, "columns", octave_cells(0, 3, 3), law), "out of range")
  rows$which <- 1
  expect_error(release_octaves(rows, "columns", cells, law), "which")
})

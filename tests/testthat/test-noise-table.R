# The table of the discrete Gaussian's whole part, computed anew. Numbers in [0, 2^20) are
# vectors of digits of base 2^20, the highest first: one before the point, then 20 (400
# bits, of which 256 are compared).

base <- 2^20
digits <- 21L

whole <- function(n) c(n, rep(0, digits - 1L))

carried <- function(x) {
  for (i in rev(seq_len(digits))[-digits]) {
    over <- floor(x[[i]] / base)
    x[[i]] <- x[[i]] - over * base
    x[[i - 1L]] <- x[[i - 1L]] + over
  }
  x
}

divided <- function(x, n) {
  rest <- 0
  for (i in seq_len(digits)) {
    here <- rest * base + x[[i]]
    x[[i]] <- floor(here / n)
    rest <- here - x[[i]] * n
  }
  x
}

# Cut off after the last digit; the sums of products stay below 2^46.
times <- function(x, y) {
  out <- rep(0, digits + 1L)
  for (i in seq_len(digits)) {
    j <- seq_len(min(digits, digits + 2L - i))
    out[i + j - 1L] <- out[i + j - 1L] + x[[i]] * y[j]
  }
  out[[digits]] <- out[[digits]] + floor(out[[digits + 1L]] / base)
  carried(out[seq_len(digits)])
}

power <- function(x, n) if (n == 0) whole(1) else times(x, power(x, n - 1))

is_below <- function(x, y) {
  at <- which(x != y)
  length(at) > 0L && x[[at[[1L]]]] < y[[at[[1L]]]]
}

# The first `bits` binary digits of x / y < 1, as words of 32 bits.
words_of_ratio <- function(x, y, bits = 256L) {
  bit <- numeric(bits)
  for (i in seq_len(bits)) {
    x <- carried(2 * x)
    if (!is_below(x, y)) {
      bit[[i]] <- 1
      x <- carried(x - y)
    }
  }
  colSums(matrix(bit, 32L) * 2^(31:0))
}

test_that("the table of the discrete Gaussian is right in every bit", {
  source <- test_path("..", "..", "src", "dph_noise.c")
  skip_if_not(file.exists(source), "without the sources of the package")
  text <- paste(readLines(source), collapse = " ")
  table <- sub(".*half_normal\\[STEPS\\]\\[WORDS\\] = (.*?)\\}\\};.*", "\\1", text, perl = TRUE)
  words <- regmatches(table, gregexpr("0x[0-9a-f]{8}", table))[[1L]]
  table <- matrix(strtoi(substr(words, 3L, 6L), 16L) * 2^16 + strtoi(substring(words, 7L), 16L), 8L)

  root <- whole(1) # exp(-1/2) = 1 - (1 - (1 - ...) / 4) / 2
  for (n in 90:1) root <- carried(whole(1) - divided(root, 2 * n))
  weight <- lapply(0:20, function(w) whole(1))
  for (w in 1:20) weight[[w + 1L]] <- times(weight[[w]], power(root, 2 * w - 1))
  sums <- Reduce(function(x, y) carried(x + y), weight, accumulate = TRUE)
  expect_identical(ncol(table), 19L)
  for (v in seq_len(18L)) {
    expect_identical(table[, v], words_of_ratio(sums[[v]], sums[[21L]]))
  }
  # 19 and more have a probability below 2^-256
  expect_identical(table[, 19L], rep(2^32 - 1, 8L))
  expect_identical(words_of_ratio(sums[[19L]], sums[[21L]]), rep(2^32 - 1, 8L))
})

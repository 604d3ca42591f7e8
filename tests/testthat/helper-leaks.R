# Does an object hold a canary, a planted double or string, anywhere: in an
# attribute, an environment, a closure, a call? Looks for its bytes in the
# serialised object.
leaks <- function(object, canary) {
  bytes <- serialize(object, NULL, xdr = TRUE)
  needle <- if (is.character(canary)) {
    charToRaw(canary)
  } else {
    writeBin(as.double(canary), raw(), endian = "big")
  }
  has_bytes(bytes, needle)
}

has_bytes <- function(bytes, needle) {
  at <- which(bytes == needle[[1L]])
  at <- at[at <= length(bytes) - length(needle) + 1L]
  for (k in seq_along(needle)[-1L]) at <- at[bytes[at + k - 1L] == needle[[k]]]
  length(at) > 0L
}

# Planted doubles and strings must be found nowhere in a fit, nor in anything that is
# printed or signalled.
CANARY_NUMBERS <- c(12345.678901, -98765.4321, 4321.98765)
CANARY_TEXT <- "CANARY"

# A fit's data, full of canaries: numbers in each column, text in a column that the fit does not
# use, in row names, and in attributes.
canary_data <- function() {
  z <- big
  z$x1[c(3, 3001)] <- CANARY_NUMBERS[[1L]]
  z$y[c(5, 3002)] <- CANARY_NUMBERS[[2L]]
  z$b[7] <- CANARY_NUMBERS[[3L]]
  z$note <- "CANARY in a column"
  rownames(z) <- paste0("CANARY row ", seq_len(nrow(z)))
  attr(z$x1, "label") <- "CANARY attribute"
  attr(z, "source") <- "CANARY data attribute"
  z
}

# Everything a fit can show.
shown_text <- function(fit) {
  c(
    capture.output(print(fit)), capture.output(print(summary(fit))),
    capture.output(print(privacy(fit))), capture.output(print(summary(privacy(fit)))),
    format(privacy(fit)), capture.output(str(unclass(fit))), conditions_of(formula(fit)),
    conditions_of(residuals(fit)), conditions_of(predict(fit)),
    capture.output(print(try(confint(fit), silent = TRUE)))
  )
}

CANARY_DIGITS <- "CANARY|12345[.][67]|98765[.]4|4321[.]9[89]"

expect_no_leak <- function(fit) {
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  for (object in list(fit, summary(fit), privacy(fit), readRDS(file))) {
    for (canary in CANARY_NUMBERS) testthat::expect_false(leaks(object, canary))
    testthat::expect_false(leaks(object, CANARY_TEXT))
  }
  testthat::expect_no_match(shown_text(fit), CANARY_DIGITS)
}

# A fit made where `expr` is evaluated, and what it signalled.
expect_clean <- function(expr) {
  fit <- NULL
  said <- conditions_of(fit <- expr)
  testthat::expect_s3_class(fit, "dp_fit")
  testthat::expect_no_match(c(said, ""), CANARY_DIGITS)
  expect_no_leak(fit)
}

# The shared data of the tests: heavy-tailed numbers, a factor with declared
# levels, a response and a binary response. R's random state is left as it was.
fixture <- function(n = 400, seed = 11) {
  old <- get0(".Random.seed", envir = globalenv(), inherits = FALSE)
  on.exit(if (is.null(old)) {
    rm(list = ".Random.seed", envir = globalenv())
  } else {
    assign(".Random.seed", old, envir = globalenv())
  })
  set.seed(seed)
  d <- data.frame(
    x1 = stats::rt(n, 2.5), x2 = stats::runif(n, -1, 1),
    f = factor(sample(c("lo", "mid", "hi"), n, TRUE), levels = c("lo", "mid", "hi"))
  )
  d$y <- 1 + 0.5 * d$x1 - d$x2 + 2 * (d$f == "hi") + stats::rt(n, 2.2)
  d$b <- stats::rbinom(n, 1, stats::plogis(0.3 * d$x1 - d$x2))
  d
}

n <- 400
d <- fixture(n)
eps <- 1
del <- 1e-6

# The fixture with columns of further classes.
wide_fixture <- function() {
  z <- d
  z$l <- z$x2 > 0
  z$o <- factor(c("a", "b", "c")[1 + seq_len(n) %% 3], ordered = TRUE)
  z$g <- factor(c("p", "q", "r", "s")[1 + seq_len(n) %% 4])
  stats::contrasts(z$g) <- stats::contr.sum(4)
  z$i <- seq_len(n) %% 5L
  z$m <- cbind(u = z$x1, v = z$x2)
  names(z)[names(z) == "b"] <- "my % b"
  z
}

# The message of the error that an expression raises; "" if it raises none.
error_text <- function(expr) {
  tryCatch({
    force(expr)
    ""
  }, error = conditionMessage)
}

# A live schema of the wide fixture; what a fit of the fixture would keep.
spec_of <- function(formula, data = wide_fixture(), ..., caller = parent.frame()) {
  schema_formula(formula, data, ..., caller = caller)
}

stored <- function(formula, data = d, ..., caller = parent.frame()) {
  strip_schema(schema_formula(formula, data, ..., caller = caller))
}

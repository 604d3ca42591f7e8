# Frank-Wolfe without noise against the minimum over all simplices of a polytope.

# Data whose slopes are `at`: inside of the polytope, beyond one of its edges, beyond a vertex.
slopes_at <- function(vertices, at) {
  middle <- colMeans(vertices)
  switch(at, inside = middle, edge = middle + 3 * (colMeans(vertices[1:2, ]) - middle),
         vertex = middle + 8 * (vertices[1L, ] - middle))
}

polytope_case <- function(loss, p, m, at, intercept) {
  vertices <- matrix(stats::rnorm(m * p), m)
  x <- matrix(stats::rnorm(150 * p), 150)
  eta <- drop(x %*% slopes_at(vertices, at)) + if (intercept) 0.7 else 0
  y <- if (loss == "logistic") as.numeric(stats::runif(150) < stats::plogis(eta)) else
    eta + stats::rt(150, 3) / 2
  want <- polytope_minimum(x, y, vertices, convex_losses[[loss]], intercept)
  fit <- dp_sco(x, y, Inf, constraint = polytope(vertices), intercept = intercept,
                loss = if (loss == "huber") loss_huber(sigma = 1) else loss)
  b <- unname(coef(fit))
  got <- if (intercept) b else c(0, b)
  excess <- mean(convex_losses[[loss]]$value(got[[1L]] + drop(x %*% got[-1L]), y)) - want$value
  list(away = max(abs(got - c(want$intercept, want$b))), excess = excess,
       face = sum(want$weight > 1e-6), full = p + 1)
}

test_that("the solver of the tests knows minima that are known", {
  set.seed(611)
  x <- matrix(stats::rnorm(200), 100)
  y <- drop(x %*% c(1, -1)) + stats::rnorm(100)
  wide <- 50 * rbind(c(1, 0), c(-1, 1), c(-1, -1))
  got <- polytope_minimum(x, y, wide, convex_losses$squared, TRUE)
  expect_equal(c(got$intercept, got$b), unname(coef(lm(y ~ x))), tolerance = 1e-8)
  z <- as.numeric(y > 0)
  got <- polytope_minimum(x, z, wide, convex_losses$logistic, TRUE)
  odds <- coef(glm(z ~ x, family = binomial(), control = list(epsilon = 1e-14)))
  expect_equal(c(got$intercept, got$b), unname(odds), tolerance = 1e-6)
  # on a segment: the weight of its end is a mean's, cut at 0 and 1
  line <- rbind(c(0, 0), c(1, 0))
  share <- sum(x[, 1L] * y) / sum(x[, 1L]^2)
  got <- polytope_minimum(x, y, line, convex_losses$squared, FALSE)
  expect_equal(got$b, c(min(max(share, 0), 1), 0), tolerance = 1e-8)
})

test_that("without noise fits are at the minimum, inside, on a face, at a vertex", {
  set.seed(612)
  shapes <- list(c(2, 3), c(2, 6), c(3, 8), c(4, 3))
  for (loss in names(convex_losses)) {
    faces <- numeric()
    full <- logical()
    for (shape in shapes) {
      for (at in c("inside", "edge", "vertex")) {
        got <- polytope_case(loss, shape[[1L]], shape[[2L]], at, intercept = shape[[2L]] != 6)
        expect_lt(got$away, 1e-5)
        expect_lt(got$excess, 1e-10)
        faces <- c(faces, got$face)
        full <- c(full, got$face == got$full)
      }
    }
    # all three places were there
    expect_true(any(faces == 1) && any(faces == 2) && any(full))
  }
})

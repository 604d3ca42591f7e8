test_that("parts know their name and their public numbers", {
  expect_s3_class(loss_squared(), "dp_loss")
  expect_s3_class(grad_clipped(), "dp_gradient")
  expect_s3_class(no_constraint(), "dp_constraint")
  expect_s3_class(l2_ball(1), "dp_constraint")
  expect_null(grad_clipped()$bound)
  expect_identical(grad_clipped(2L)$bound, 2)
  expect_identical(l2_ball(3)$radius, 3)
  expect_identical(no_constraint()$radius, Inf)
})

test_that("their numbers are checked by name", {
  for (bad in list(0, -1, NA, "a", c(1, 2), Inf, NaN)) {
    expect_error(grad_clipped(bad), "`C`", class = "dp_error_input")
    expect_error(l2_ball(bad), "`r`", class = "dp_error_input")
  }
  expect_error(l2_ball(NULL), "`r`", class = "dp_error_input")
})

test_that("parts print in one line", {
  expect_output(print(loss_squared()), "^loss: squared$")
  expect_output(print(grad_clipped()), "^gradient: clipped$")
  expect_output(print(grad_clipped(2)), "clipped (bound = 2)", fixed = TRUE)
  expect_output(print(l2_ball(10)), "l2_ball (radius = 10)", fixed = TRUE)
  for (part in list(loss_squared(), grad_clipped(2), l2_ball(10))) {
    capture.output(out <- withVisible(print(part)))
    expect_false(out$visible)
  }
})

test_that("a part may be given by name, and a wrong one names the argument", {
  expect_identical(as_loss("squared"), loss_squared())
  expect_identical(as_gradient("clipped"), grad_clipped())
  expect_identical(as_constraint("none"), no_constraint())
  for (bad in list("median", 1, NULL, c("squared", "squared"), NA, l2_ball)) {
    expect_error(as_loss(bad), "`loss`", class = "dp_error_input")
    expect_error(as_gradient(bad), "`gradient`", class = "dp_error_input")
    expect_error(as_constraint(bad), "`constraint`", class = "dp_error_input")
  }
  expect_error(as_constraint(loss_squared()), "`constraint`", class = "dp_error_input")
})

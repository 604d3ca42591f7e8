if (!nzchar(Sys.getenv("OMP_THREAD_LIMIT"))) {
  Sys.setenv(OMP_THREAD_LIMIT = "2")
}

if (requireNamespace("testthat", quietly = TRUE)) {
  library(testthat)
  library(dpheavy)
  test_check("dpheavy")
}

new_path <- function() tempfile("study-", fileext = ".ledger")

# What a later session would know: nothing.
forget <- function() {
  rm(list = ls(seen_ledgers), envir = seen_ledgers)
  rm(list = ls(seen_paths, all.names = TRUE), envir = seen_paths)
}

spend <- function(b, epsilon, what = "test", events = pure_event(epsilon)) {
  ledger_charge(b, events, epsilon, b$delta, what)
}

bytes_of <- function(path) readBin(path, "raw", file.size(path))

# A ledger with calls of every kind, and numbers that decimal text would not hold.
full_ledger <- function(path) {
  b <- privacy_budget(1 + 2^-52, 1e-6, path = path)
  spend(b, 0.1, "a | b = 50%\n\u00e9", pure_event(0.1, 1, 1 / 3, 10, "first step"))
  spend(b, 1 / 3, "dp_lm", list(
    gaussian_event(0.01 * pi, 7, sqrt(2), .Machine$double.xmax, "counts"),
    exponential_event(1 / 97, 2, .Machine$double.xmin, 4.9e-324, ""), laplace_event(0.01)
  ))
  spend(b, 0.05, "", list(gaussian_event(0.05, 0), gaussian_event(0.05)))
  b
}

refused <- function(path, call) {
  before <- bytes_of(path)
  expect_error(call, class = "dp_error_budget")
  expect_identical(bytes_of(path), before)
}

test_that("a ledger in a file keeps every number, text and time exactly", {
  path <- new_path()
  on.exit(unlink(path))
  b <- full_ledger(path)
  memory <- privacy_budget(1 + 2^-52, 1e-6)
  state <- ledger_state(b)
  assign("calls", state$calls, envir = memory)
  forget()
  again <- privacy_budget(path = path)
  expect_identical(ledger_state(again), state)
  expect_identical(state$calls[[1]]$what, "a | b = 50%\n\u00e9")
  expect_identical(state$calls[[2]]$events[[2]]$scale, 4.9e-324)
  expect_identical(again$epsilon, 1 + 2^-52)
  for (f in list(spent, remaining, as.data.frame, summary, format)) {
    expect_identical(f(again), f(memory))
  }
  expect_output(print(again), basename(path), fixed = TRUE)
  expect_false(file.exists(paste0(path, ".lock")))
  expect_length(list.files(dirname(path), paste0("^", basename(path))), 1L)
})

test_that("the text has one line per call and can be read", {
  path <- new_path()
  on.exit(unlink(path))
  b <- privacy_budget(1, 1e-6, path = path)
  dp_quantile(1:100, 0.5, 0.25, bound = c(0, 100), budget = b)
  text <- readLines(path)
  expect_length(text, 3L)
  expect_match(text[1], paste0("^dpheavy privacy ledger, format 1 [|] ",
                               "id=[0-9a-f]{32} epsilon=1[(]0x1p[+]0"))
  expect_match(text[2], paste0("^call 1 [|] when=[0-9-]+T[0-9:]+Z what=dp_quantile ",
                               "epsilon=0.25[(]0x1p-2[)] delta=0[(]0x0p[+]0[)] [|] ",
                               "exponential what=quantile count=1[(]0x1p[+]0[)] cost=0.25"))
  expect_match(text[3], "^end [|] calls=1 [|] digest [0-9a-f]{32}$")
  expect_identical(as.data.frame(b)$what, "dp_quantile")
})

test_that("numbers and texts go through their written form", {
  set.seed(31)
  x <- c(0, -0, 1, 0.1, 1 / 3, 5e-324, 1e-310, .Machine$double.xmin, .Machine$double.xmax, 1e9,
         Inf, -Inf, NA, NaN, -pi, 2^53, 0x1.8p0, 0x1.08p0, 0x1.f0fp10,
         rnorm(200) * 10^runif(200, -300, 300))
  for (v in x) expect_identical(number_of(number_text(v)), v)
  for (v in c("", "x", "%", "%%41", "a b", "a=b|c", "\n\t", "\u00e9\u4e2d", "%0")) {
    expect_identical(plain_of(plain_text(v)), v)
    expect_match(plain_text(v), "^[A-Za-z0-9_.%-]*$")
  }
  for (bad in c("1", "(0x1p+0)", "1(1)", "1(0x1p+0", "1(0x1p+0) ", "1(0x1p+0)(0x1p+0)", "1()")) {
    expect_error(number_of(bad))
  }
  for (bad in c("2026-01-01", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00", "")) {
    expect_error(time_of(bad))
  }
})

test_that("privacy_budget() makes a file, or opens it if epsilon and delta agree", {
  path <- new_path()
  on.exit(unlink(path))
  expect_error(privacy_budget(path = path), "no ledger", class = "dp_error_budget")
  expect_error(privacy_budget(0, path = path), "epsilon", class = "dp_error_input")
  expect_error(privacy_budget(Inf, path = path), "epsilon", class = "dp_error_input")
  expect_error(privacy_budget(1, 2, path = path), "delta", class = "dp_error_input")
  expect_false(file.exists(path))
  set.seed(32)
  seed <- .Random.seed
  b <- privacy_budget(1, 1e-6, path)
  expect_identical(.Random.seed, seed)
  spend(b, 0.25)
  expect_equal(spent(privacy_budget(path = path)), 0.25)
  expect_equal(spent(privacy_budget(1, path = path)), 0.25)
  expect_equal(spent(privacy_budget(1L, 1e-6, path = path)), 0.25)
  for (e in list(2, 1 + 1e-15, 0.5)) {
    expect_error(privacy_budget(e, path = path), "epsilon", class = "dp_error_budget")
  }
  for (d in c(0, 1e-7)) {
    expect_error(privacy_budget(1, d, path = path), "delta", class = "dp_error_budget")
  }
  expect_error(privacy_budget("1", path = path), "epsilon", class = "dp_error_input")
  for (p in list(NA_character_, "", character(), c("a", "b"), 1, TRUE)) {
    expect_error(privacy_budget(1, path = p), "path", class = "dp_error_input")
  }
  expect_error(privacy_budget(1, path = tempdir()), "folder", class = "dp_error_input")
  expect_error(privacy_budget(1, path = file.path(new_path(), "x")), "folder",
               class = "dp_error_input")
  expect_error(b$epsilon <- 2, class = "dp_error_budget")
  expect_error(assign("path", "x", envir = b), "locked")
})

test_that("a path is one file, whatever the working directory and links", {
  skip_on_os("windows")
  dir <- tempfile("dir")
  dir.create(dir)
  old <- setwd(dir)
  on.exit({
    setwd(old)
    unlink(dir, recursive = TRUE)
  })
  b <- privacy_budget(1, path = "a.ledger")
  file.symlink("a.ledger", "link.ledger")
  linked <- privacy_budget(path = "link.ledger")
  setwd(old)
  spend(b, 0.5)
  spend(linked, 0.5)
  expect_identical(linked$path, b$path)
  expect_error(spend(b, 0.1), class = "dp_error_budget")
  expect_equal(spent(linked), 1)
})

test_that("a file that was cut at any byte or changed in any byte is refused", {
  path <- new_path()
  on.exit(unlink(path))
  full_ledger(path)
  good <- bytes_of(path)
  expect_error(ledger_of(good), NA)
  reads <- function(bytes) !inherits(try(ledger_of(bytes), silent = TRUE), "try-error")
  cut <- vapply(seq_along(good) - 1L, function(k) reads(good[seq_len(k)]), NA)
  expect_false(any(cut))
  flipped <- vapply(seq_along(good), function(k) {
    bytes <- good
    bytes[[k]] <- if (bytes[[k]] == charToRaw("1")) charToRaw("2") else charToRaw("1")
    reads(bytes)
  }, NA)
  expect_false(any(flipped))
  expect_false(reads(c(good, charToRaw("\n"))))
  expect_false(reads(c(good, good)))
  expect_false(reads(c(as.raw(0), good)))
})

test_that("lines left out, doubled or in another order are refused, also with a new last line", {
  path <- new_path()
  on.exit(unlink(path))
  b <- full_ledger(path)
  lines <- readLines(path)
  n <- length(lines)
  changed <- c(
    lapply(seq_len(n), function(k) lines[-k]), lapply(seq_len(n), function(k) lines[c(1:k, k:n)]),
    lapply(seq_len(n - 1), function(k) lines[replace(1:n, c(k, k + 1), c(k + 1, k))]),
    list(character(), lines[1], lines[n], rev(lines))
  )
  for (known in c(TRUE, FALSE)) {
    for (text in changed) {
      writeLines(text, path, sep = "\n")
      if (!known) forget()
      refused(path, spend(b, 0.01))
      refused(path, spent(b))
      refused(path, privacy_budget(path = path))
    }
  }
  body <- lines[-n]
  for (text in list(body[-2], body[-3], body[c(1, 3, 2, 4)], body[c(1, 2, 2, 3, 4)], body[-1])) {
    writeBin(charToRaw(ledger_text(text)), path)
    forget()
    refused(path, privacy_budget(path = path))
  }
})

test_that("every field of a line is held by its digest", {
  path <- new_path()
  on.exit(unlink(path))
  full_ledger(path)
  body <- head(readLines(path), -1)
  tried <- 0
  for (i in seq_along(body)) {
    at <- gregexpr("[^ |=]+", body[[i]])[[1]]
    for (j in seq_along(at)) {
      text <- body
      end <- at[[j]] + attr(at, "match.length")[[j]] - 1
      text[[i]] <- paste0(substr(body[[i]], 1, at[[j]] - 1), "7", substring(body[[i]], end + 1))
      tried <- tried + 1
      expect_error(ledger_of(charToRaw(ledger_text(text))))
    }
  }
  expect_gt(tried, 100)
})

test_that("an older copy is refused by a session, a budget or a saved budget that saw more", {
  path <- new_path()
  rds <- new_path()
  on.exit(unlink(c(path, rds)))
  b <- privacy_budget(1, path = path)
  spend(b, 0.4)
  old <- bytes_of(path)
  spend(b, 0.4)
  saveRDS(b, rds)
  new <- bytes_of(path)
  writeBin(old, path)
  refused(path, spend(b, 0.4))
  refused(path, remaining(b))
  refused(path, privacy_budget(path = path))
  forget()
  expect_error(spend(readRDS(rds), 0.4), "earlier state", class = "dp_error_budget")
  # as a session that saw nothing would go on
  forget()
  other <- privacy_budget(path = path)
  spend(other, 0.1)
  refused(path, spend(readRDS(rds), 0.1))
  forget()
  writeBin(new, path)
  refused(path, spend(other, 0.1))
  expect_equal(spent(b), 0.8)
  spend(readRDS(rds), 0.2)
  expect_equal(spent(b), 1)
  # a copy under another name is the same ledger
  copy <- new_path()
  writeBin(new, copy)
  refused(copy, privacy_budget(path = copy))
  unlink(path)
  expect_error(spend(b, 0.1), "not there", class = "dp_error_budget")
  expect_error(privacy_budget(1, path = path), "is gone", class = "dp_error_budget")
  forget()
  expect_message(fresh <- privacy_budget(1, path = path), "new privacy budget")
  expect_error(spend(b, 0.1), "not the one seen", class = "dp_error_budget")
  spend(fresh, 1)
  unlink(copy)
})

test_that("a budget in a file may be spent through a saved copy and by a forked child", {
  path <- new_path()
  on.exit(unlink(path))
  b <- privacy_budget(1, path = path)
  spend(unserialize(serialize(b, NULL)), 0.25)
  expect_equal(remaining(b), 0.75)
  skip_on_os("windows")
  job <- parallel::mcparallel(spend(b, 0.25, "child"))
  parallel::mccollect(job)
  expect_equal(remaining(b), 0.5)
  expect_identical(as.data.frame(b)$what, c("test", "child"))
  spend(b, 0.5)
  expect_error(spend(b, 0.1), class = "dp_error_budget")
})

# Children that start together; what each of its charges came to.
race <- function(b, charges, epsilon, children = 2L) {
  go <- tempfile("go")
  on.exit(unlink(go))
  child <- function() {
    while (!file.exists(go)) Sys.sleep(0.001)
    vapply(seq_len(charges), function(i) {
      tryCatch({
        spend(b, epsilon)
        "spent"
      }, dp_error_budget = conditionMessage)
    }, "")
  }
  jobs <- lapply(seq_len(children), function(i) parallel::mcparallel(child()))
  Sys.sleep(0.1)
  file.create(go)
  unlist(parallel::mccollect(jobs), use.names = FALSE)
}

test_that("processes that race for the last charge: one gets it", {
  skip_on_os("windows")
  skip_on_cran()
  for (i in 1:5) {
    path <- new_path()
    b <- privacy_budget(1, path = path)
    spend(b, 0.5)
    fate <- race(b, 1L, 0.5, 3L)
    expect_identical(sum(fate == "spent"), 1L)
    expect_match(fate[fate != "spent"], "does not allow this call")
    expect_equal(spent(b), 1)
    unlink(path)
  }
})

test_that("many charges of several processes: what fits is admitted, no more and no less", {
  skip_on_os("windows")
  skip_on_cran()
  path <- new_path()
  on.exit(unlink(path))
  b <- privacy_budget(1, path = path)
  fate <- race(b, 20L, 1 / 25)
  expect_length(fate, 40L)
  expect_identical(sum(fate == "spent"), 25L)
  expect_match(fate[fate != "spent"], "does not allow this call")
  forget()
  expect_identical(nrow(as.data.frame(privacy_budget(path = path))), 25L)
  expect_length(list.files(dirname(path), paste0("^", basename(path))), 1L)
})

test_that("a ledger that another process makes meanwhile is opened, not made anew", {
  skip_on_os("windows")
  skip_on_cran()
  path <- new_path()
  on.exit(unlink(path))
  id <- strrep("a", 32)
  job <- parallel::mcparallel(with_lock(path, {
    Sys.sleep(0.5)
    write_ledger(path, header_line(id, 1, 0, Sys.time()))
  }))
  while (!dir.exists(paste0(path, ".lock"))) Sys.sleep(0.001)
  b <- privacy_budget(1, path = path)
  parallel::mccollect(job)
  expect_identical(b$id, id)
  spend(b, 1)
})

test_that("a new session goes on from the file", {
  skip_on_cran()
  path <- new_path()
  on.exit(unlink(path))
  b <- privacy_budget(1, path = path)
  spend(b, 0.25)
  code <- c(
    sprintf("b <- dpheavy::privacy_budget(path = %s)", deparse(path)),
    "x <- dpheavy::dp_quantile(1:99, 0.5, 0.25, bound = c(0, 99), budget = b)"
  )
  script <- tempfile(fileext = ".R")
  writeLines(c(sprintf(".libPaths(%s)", deparse(dirname(find.package("dpheavy")))), code), script)
  status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)),
                    stdout = FALSE, stderr = FALSE)
  unlink(script)
  expect_identical(status, 0L)
  expect_equal(spent(b), 0.5)
  expect_identical(as.data.frame(b)$what, c("test", "dp_quantile"))
})

test_that("what another process spends between plan and charge counts", {
  path <- new_path()
  on.exit(unlink(path))
  b <- privacy_budget(1, 1e-6, path = path)
  allowance <- ledger_allowance(b, 1, 1e-6, "gaussian")
  spend(privacy_budget(path = path), 0.2)
  expect_error(spend(b, 1, "late", gaussian_event(allowance$mu)), "epsilon = 0.8 is left",
               class = "dp_error_budget")
  expect_equal(spent(b), 0.2)
})

test_that("a lock that stays is named with its holder, and goes when its time is over", {
  path <- new_path()
  lock <- paste0(path, ".lock")
  on.exit(unlink(c(path, lock), recursive = TRUE))
  b <- privacy_budget(1, path = path)
  dir.create(lock)
  try_it <- function() with_lock(path, stop("not reached"), wait = 0.1)
  expect_error(try_it(), "locked by a process that left no name", class = "dp_error_budget")
  writeLines("process 12 on host since 2026-01-01T00:00:00Z", file.path(lock, "holder"))
  expect_error(try_it(), "locked by process 12 on host since 2026-01-01", class = "dp_error_budget")
  expect_error(try_it(), paste("delete the folder", normalizePath(lock, "/")), fixed = TRUE,
               class = "dp_error_budget")
  expect_true(dir.exists(lock))
  expect_identical(spent(b), 0) # readers need no lock
  unlink(lock, recursive = TRUE)
  holder <- with_lock(path, readLines(file.path(lock, "holder")))
  expect_match(holder, sprintf("^process %d on .+ since [0-9-]+T[0-9:]+Z$", Sys.getpid()))
  expect_false(dir.exists(lock))
  expect_error(with_lock(path, stop("in between")), "in between")
  expect_false(dir.exists(lock))
  interrupt <- structure(class = c("interrupt", "condition"), list())
  tryCatch(with_lock(path, stop(interrupt)), interrupt = function(e) NULL)
  expect_false(dir.exists(lock))
})

test_that("a lock held for a moment is waited for", {
  skip_on_os("windows")
  skip_on_cran()
  path <- new_path()
  on.exit(unlink(path))
  b <- privacy_budget(1, path = path)
  job <- parallel::mcparallel(with_lock(path, Sys.sleep(0.5)))
  while (!dir.exists(paste0(path, ".lock"))) Sys.sleep(0.001)
  spend(b, 0.5)
  parallel::mccollect(job)
  expect_equal(spent(b), 0.5)
})

test_that("an error or interrupt before the file is replaced charges nothing, after it keeps it", {
  path <- new_path()
  on.exit(unlink(path))
  b <- privacy_budget(1, path = path)
  front <- function(signal) {
    spend(b, 0.5)
    signal()
  }
  expect_error(front(function() stop("later")), "later")
  interrupt <- function() stop(structure(class = c("interrupt", "condition"), list()))
  expect_identical(tryCatch(front(interrupt), interrupt = function(e) "stopped"), "stopped")
  expect_equal(spent(b), 1)
  refused(path, spend(b, 0.1))
  expect_false(dir.exists(paste0(path, ".lock")))
})

test_that("a folder that cannot be written to: a clear error and nothing charged", {
  skip_on_os("windows")
  dir <- tempfile("dir")
  dir.create(dir)
  path <- file.path(dir, "a.ledger")
  on.exit({
    Sys.chmod(dir, "0755")
    unlink(dir, recursive = TRUE)
  })
  b <- privacy_budget(1, path = path)
  spend(b, 0.25)
  before <- bytes_of(path)
  # a name that no file can have stands for a full disk
  expect_error(write_ledger(file.path(dir, strrep("x", 300)), readLines(path)[1]), "cannot write",
               class = "dp_error_budget")
  Sys.chmod(dir, "0555")
  skip_if(file.access(dir, 2L) == 0L, "the user may write everywhere")
  expect_error(spend(b, 0.25), "cannot write", class = "dp_error_budget")
  expect_error(privacy_budget(1, path = file.path(dir, "b.ledger")), "cannot write",
               class = "dp_error_budget")
  expect_identical(bytes_of(path), before)
  expect_equal(spent(b), 0.25)
})

test_that("the file keeps its mode", {
  skip_on_os("windows")
  path <- new_path()
  on.exit(unlink(path))
  b <- privacy_budget(1, path = path)
  Sys.chmod(path, "0660", use_umask = FALSE)
  spend(b, 0.25)
  expect_identical(format(file.mode(path)), "660")
})

test_that("a damaged file prints its name and the cause, whatever is in it", {
  path <- new_path()
  on.exit(unlink(path))
  set.seed(33)
  for (bytes in list(raw(), as.raw(0), as.raw(10), as.raw(255), as.raw(sample(0:255, 1e4, TRUE)),
                     charToRaw("end | calls=0 | digest x\n"), charToRaw(ledger_text("a")),
                     charToRaw(ledger_text(with_digest("a", ""))))) {
    writeBin(bytes, path)
    expect_error(privacy_budget(1, path = path), basename(path), class = "dp_error_budget")
    expect_identical(bytes_of(path), bytes)
  }
  # right digests do not make a mechanism known, a cost negative, or an epsilon 0
  head <- header_line(strrep("a", 32), 1, 0, Sys.time())
  for (event in c("other what=", "pure what=")) {
    numbers <- "count=1(0x1p+0) cost=-1(-0x1p+0) sensitivity=NA(NA) scale=NA(NA) slack=0(0x0p+0)"
    fields <- "when=2026-01-01T00:00:00Z what=a epsilon=1(0x1p+0) delta=0(0x0p+0)"
    line <- paste("call 1", fields, paste(event, numbers), sep = " | ")
    text <- ledger_text(c(head, with_digest(line, line_digest(head))))
    expect_error(ledger_of(charToRaw(text)))
    text <- sub("-1(-0x1p", "1(0x1p", sub("other", "pure", line), fixed = TRUE)
    text <- ledger_text(c(head, with_digest(text, line_digest(head))))
    expect_error(ledger_of(charToRaw(text)), NA)
  }
  # nor calls that are numbered otherwise
  call <- call_record(pure_event(0.1), 0.1, 0, "a")
  wrong <- ledger_text(c(head, call_line(call, 2L, line_digest(head))))
  expect_error(ledger_of(charToRaw(wrong)), "order")
  right <- ledger_text(c(head, call_line(call, 1L, line_digest(head))))
  expect_error(ledger_of(charToRaw(right)), NA)
  zero <- header_line(strrep("a", 32), 0, 0, Sys.time())
  expect_error(ledger_of(charToRaw(ledger_text(zero))), "epsilon")
})

test_that("a link to a file that is not there is refused", {
  skip_on_os("windows")
  link <- new_path()
  file.symlink(new_path(), link)
  expect_error(privacy_budget(1, path = link), "link", class = "dp_error_input")
  unlink(link)
})

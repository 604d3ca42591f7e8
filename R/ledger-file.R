# A ledger kept in a file: the file is the truth, the object remembers where it is and how
# far it has been seen. Writers hold a lock and put a whole new file in the place of the
# old one, so that readers need no lock.

# The longest state of each ledger file that this session has seen, by id.
seen_ledgers <- new.env(parent = emptyenv())

# Their paths, each with its id.
seen_paths <- new.env(parent = emptyenv())

LOCK_WAIT <- 5 # seconds
NOT_A_LEDGER <- "not a ledger"

check_ledger_path <- function(path) {
  ok <- is.character(path) && length(path) == 1L && !is.na(path) && nzchar(path)
  if (!ok) {
    dp_abort("`path` must be the name of one file, e.g. path = \"study.ledger\".")
  }
  path <- path.expand(path)
  if (!Sys.readlink(path) %in% c("", NA) && !file.exists(path)) {
    dp_abort("`path` is a link to a file that is not there; name the file itself.")
  }
  if (dir.exists(path)) {
    dp_abort("`path` must be the name of a file; it names a folder.")
  }
  folder <- dirname(path)
  if (!dir.exists(folder)) {
    dp_abort(sprintf("the folder %s of `path` is not there; make it first.", folder))
  }
  # one name for one file, whatever the working directory and links
  if (file.exists(path)) {
    normalizePath(path, "/")
  } else {
    file.path(sub("/$", "", normalizePath(folder, "/")), basename(path))
  }
}

# Opens the ledger at `path`, or makes it.
file_budget <- function(path, wanted) {
  if (file.exists(path)) {
    return(open_ledger(path, wanted))
  }
  if (exists(path, envir = seen_paths, inherits = FALSE)) {
    dp_abort(sprintf(paste(
      "the ledger file %s was there before in this session and is gone: put it back, or count it",
      "as spent and name another file."
    ), path), "dp_error_budget")
  }
  if (is.null(wanted$epsilon)) {
    dp_abort(sprintf(
      "there is no ledger at %s; give `epsilon` (and `delta`) to make one.", path
    ), "dp_error_budget")
  }
  with_lock(path, {
    if (!file.exists(path)) {
      # from the operating system: R's own generator is left as it is
      id <- paste(format(.Call(C_chacha_block, NULL, 16)), collapse = "")
      header <- header_line(id, wanted$epsilon, wanted$delta %||% 0, Sys.time())
      write_ledger(path, header)
      message("A new privacy budget was made in ", path)
    }
    open_ledger(path, wanted)
  })
}

open_ledger <- function(path, wanted) {
  state <- read_ledger(path)
  for (name in names(Filter(Negate(is.null), wanted))) {
    if (!identical(wanted[[name]], state[[name]])) {
      dp_abort(sprintf(
        "the ledger at %s has %s = %s, not the one given; leave out `%s` or name another file.",
        path, name, format_number(state[[name]]), name
      ), "dp_error_budget")
    }
  }
  new_budget(
    list(epsilon = state$epsilon, delta = state$delta, id = state$id, path = path),
    list(seen = seen_mark(state))
  )
}

# How far a state goes: the digest of a line stands for all lines up to it.
seen_mark <- function(state) {
  n <- length(state$lines)
  list(lines = n, digest = line_digest(state$lines[[n]]))
}

# The verified content of a file, no less than what this session has seen of it.
read_ledger <- function(path) {
  if (!file.exists(path)) {
    dp_abort(sprintf(
      "the ledger file %s is not there. Nothing was charged; put it back, or count it as spent.",
      path
    ), "dp_error_budget")
  }
  state <- tryCatch(
    suppressWarnings({
      bytes <- read_bytes(path)
      if (!grepl("dpheavy|ledger", bytes$head)) unreadable(NOT_A_LEDGER)
      id <- regmatches(bytes$head, regexpr("(?<=id=)[0-9a-f]{32}", bytes$head, perl = TRUE))
      known <- if (length(id) == 1L) get0(id, envir = seen_ledgers, inherits = FALSE)
      ledger_of(bytes$all, known)
    }),
    error = function(e) abort_damaged(path, conditionMessage(e))
  )
  remember_ledger(state, path)
}

read_bytes <- function(path) {
  con <- file(path, "rb")
  on.exit(close(con))
  all <- raw(0L)
  while (length(more <- readBin(con, "raw", 2^20)) > 0L) all <- c(all, more)
  head <- all[seq_len(min(length(all), 200L))]
  list(all = all, head = rawToChar(head[head != as.raw(0L)]))
}

abort_damaged <- function(path, why) {
  if (identical(why, NOT_A_LEDGER)) {
    dp_abort(sprintf("the file %s is not a privacy ledger; name another `path`.", path),
             "dp_error_budget")
  }
  dp_abort(sprintf(paste(
    "the ledger file %s is damaged or was changed (%s). Nothing was charged; put the latest",
    "whole file back, or count the budget as spent."
  ), path, why), "dp_error_budget")
}

abort_earlier <- function(path) {
  dp_abort(sprintf(paste(
    "the ledger file %s is not the one seen before, or an earlier state of it: calls charged",
    "since are missing. Nothing was charged; put the latest file back."
  ), path), "dp_error_budget")
}

remember_ledger <- function(state, path) {
  known <- get0(state$id, envir = seen_ledgers, inherits = FALSE)
  if (!is.null(known)) {
    n <- length(known$lines)
    if (length(state$lines) < n || !identical(state$lines[seq_len(n)], known$lines)) {
      abort_earlier(path)
    }
  }
  assign(state$id, state, envir = seen_ledgers)
  assign(path, state$id, envir = seen_paths)
  state
}

# The state of the file behind a budget, which must go on from what the budget has seen.
file_state <- function(budget) {
  state <- read_ledger(budget$path)
  mark <- budget$seen
  ok <- identical(state$id, budget$id) && length(state$lines) >= mark$lines &&
    identical(line_digest(state$lines[[mark$lines]]), mark$digest)
  if (!ok) abort_earlier(budget$path)
  assign("seen", seen_mark(state), envir = budget)
  state
}

# Admits the call against the file as it is now, and writes it down.
charge_file <- function(budget, call) {
  with_lock(budget$path, {
    state <- file_state(budget)
    check_admitted(state, call)
    index <- length(state$calls) + 1L
    before <- line_digest(state$lines[[index]])
    line <- call_line(call, index, before)
    if (!identical(call_of(line, index, before), call)) {
      dp_abort("this call cannot be written to a file exactly. Nothing was charged.",
               "dp_error_budget")
    }
    state$lines <- c(state$lines, line)
    state$calls <- c(state$calls, list(call))
    write_ledger(budget$path, state$lines, done = {
      remember_ledger(state, budget$path)
      assign("seen", seen_mark(state), envir = budget)
    })
  })
}

# A new file under another name, read back, then renamed over the old one. `done` is
# evaluated with the rename: an interrupt comes before both or after both.
write_ledger <- function(path, lines, done = NULL) {
  bytes <- charToRaw(ledger_text(lines))
  fresh <- tempfile(paste0(basename(path), "-"), dirname(path), ".tmp")
  on.exit(unlink(fresh))
  written <- tryCatch(
    suppressWarnings({
      writeBin(bytes, fresh)
      if (file.exists(path)) Sys.chmod(fresh, file.mode(path), use_umask = FALSE)
      identical(read_bytes(fresh)$all, bytes)
    }),
    error = function(e) FALSE
  )
  if (!written) abort_unwritable(path)
  suspendInterrupts({
    moved <- suppressWarnings(file.rename(fresh, path))
    if (moved) done
  })
  if (!moved) abort_unwritable(path)
  invisible()
}

abort_unwritable <- function(path) {
  dp_abort(sprintf(
    "cannot write the ledger file %s: is its folder writable, and the disk not full? %s",
    path, "Nothing was charged."
  ), "dp_error_budget")
}

# ---- the lock: a folder, for making one succeeds for one process only ------------

with_lock <- function(path, code, wait = LOCK_WAIT) {
  lock <- paste0(path, ".lock")
  held <- FALSE
  on.exit(if (held) suspendInterrupts(unlink(lock, recursive = TRUE)))
  pause <- 0.02
  for (i in seq_len(1 + ceiling(wait / pause))) {
    if (i > 1L) Sys.sleep(pause)
    suspendInterrupts(held <- dir.create(lock, showWarnings = FALSE))
    if (held) break
    if (!file.exists(lock) && file.access(dirname(path), 2L) != 0L) abort_unwritable(path)
  }
  if (!held && !file.exists(lock)) abort_unwritable(path)
  if (!held) abort_locked(lock)
  try(suppressWarnings(writeLines(lock_holder(), file.path(lock, "holder"))), silent = TRUE)
  code
}

lock_holder <- function() {
  sprintf("process %d on %s since %s", Sys.getpid(), Sys.info()[["nodename"]],
          time_text(Sys.time()))
}

abort_locked <- function(lock) {
  holder <- tryCatch(
    suppressWarnings(readLines(file.path(lock, "holder"), n = 1L)), error = function(e) character()
  )
  dp_abort(sprintf(paste(
    "the ledger is locked by %s. Nothing was charged; try again. If that process is gone,",
    "delete the folder %s by hand."
  ), if (length(holder) == 1L) holder else "a process that left no name", lock),
  "dp_error_budget")
}

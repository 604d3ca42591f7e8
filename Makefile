# Thin names for tools/setup.sh, which does the work and needs no make.

SETUP = sh tools/setup.sh

.PHONY: demo test check document bench mutants ci clean

# Install the package into .Rlib and run it on real data; leaves build/demo.png.
demo:
	@$(SETUP) demo

# The same set-up, then the test suite; FILTER=mean runs the files matching it.
test:
	@$(SETUP) test $(FILTER)

# The same set-up with the tools of the full check; runs nothing.
check:
	@$(SETUP) check

# Writes man/ and NAMESPACE anew from the roxygen comments.
document: check
	@R_LIBS="$(CURDIR)/.Rlib" Rscript --no-init-file \
	  -e 'roxygen2::roxygenise(load_code = "installed")'

# The tables of the README, made anew: half an hour and more.
bench: check
	@for b in "means 200" "regression 200 40 200" "cps 40" "speed 11" \
	  "logistic 40" "privacy 21" "selection 11" "linear 40" "paper 20" "lasso 20 2" "sparse 20 3" "sparse-speed 7" \
	  "sparse-rates 15" \
	  "threads 7" "passes 15" "rounds 15" "compressed 11" "peers 20" "peers-speed 3" \
	  "plan 200 20 2" "groups 100" "tails 40" "target 40 10"; do \
	  R_LIBS="$(CURDIR)/.Rlib" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	    Rscript bench/$${b%% *}.R $${b#* } || exit 1; done
	@Rscript bench/readme.R

# Does the suite see a broken guarantee? One mutant at a time, half an hour in all; the table
# goes to bench/results/mutants.md. NAME=... for one.
mutants: check
	@R_LIBS="$(CURDIR)/.Rlib" Rscript --no-init-file tools/mutate.R $(NAME)

# All that must hold before a change lands.
ci:
	@bash .ci/run

clean:
	rm -rf build .Rlib

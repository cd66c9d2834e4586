#!/usr/bin/env bash
# ./go                   set up, build, run the demo
# ./go build             set up and build
# ./go test              set up, build, run all tests
# ./go test exhaustive   the long proofs
# ./go test comm         workers in processes of Open MPI and MPICH, and under SimGrid
# ./go sanitize          all tests under AddressSanitizer and UndefinedBehaviorSanitizer
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

needed=(gcc cmake ninja-build pkg-config libdnnl-dev libyaml-dev libjansson-dev librandom123-dev
        libxxhash-dev zlib1g-dev libturbojpeg0-dev libpng-dev libexpat1-dev libutf8proc-dev
        libprotobuf-c-dev protobuf-c-compiler libisal-dev)
for_tests=(libcmocka-dev libmpfr-dev python3 libopenmpi-dev openmpi-bin)
for_comm=(libmpich-dev mpich libsimgrid-dev)
for_data=(dataset-fashion-mnist)

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
    mapfile -t missing < <(missing_of "${packages[@]}")
    mapfile -t data < <(missing_of "${for_data[@]}")
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

# build PRESET FOLDER [cmake options]
build() {
    local preset=$1 folder=$2
    shift 2
    say "building $folder"
    cmake --preset "$preset" "$@" >&2
    cmake --build "$folder" >&2
}

usage() {
    echo "usage: ./go [build | test [exhaustive | comm] | sanitize | demo]" >&2
    exit 2
}

what=${1:-demo}
wants_tests=false wants_comm=false
case "$what $#" in
"demo "[01] | "build 1") ;;
"test 1" | "sanitize 1") wants_tests=true ;;
"test 2")
    [[ $2 == exhaustive || $2 == comm ]] || usage
    wants_tests=true
    if [[ $2 == comm ]]; then wants_comm=true; fi
    ;;
*) usage ;;
esac

set_up
case $what in
demo | build)
    build release build -DHALFULP_TESTS=OFF
    if [[ $what == demo ]]; then exec build/halfulp demo; fi
    say "built build/halfulp"
    ;;
test)
    build release build -DHALFULP_TESTS=ON
    if (($# == 2)); then
        exec ctest --test-dir build --no-tests=error --output-on-failure -C "$2" -L "$2"
    fi
    exec ctest --test-dir build --no-tests=error --output-on-failure -j2
    ;;
sanitize)
    build sanitizers build/sanitizers -DHALFULP_TESTS=ON
    exec ctest --test-dir build/sanitizers --no-tests=error --output-on-failure -j2
    ;;
esac

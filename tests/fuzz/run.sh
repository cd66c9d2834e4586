#!/usr/bin/env bash
# tests/fuzz/run.sh [seconds] [target...]   every libFuzzer target (or those named) for so many
# seconds (60), from the examples of the target and what earlier runs kept in build/fuzz/corpus.
# Ends with 1 if one of them found something; the input is then in build/fuzz/found.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

seconds=${1:-60}
shift || true
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: tests/fuzz/run.sh [seconds] [target...]" >&2
    exit 2
fi
if ! command -v clang >/dev/null; then
    echo "no clang here: sudo apt-get install -y clang libclang-rt-14-dev libomp-dev" >&2
    exit 5
fi
if ! printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n; }' |
    clang -x c -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null; then
    version=$(clang -dumpversion)
    echo "no libFuzzer here: sudo apt-get install -y libclang-rt-${version%%.*}-dev" >&2
    exit 5
fi

cmake --preset fuzz -DHALFULP_TESTS=OFF >&2
cmake --build build/fuzz --target fuzz >&2
mkdir -p build/fuzz/found
failed=()
for source in tests/fuzz/*_fuzz.c; do
    target=$(basename "$source" .c)
    name=${target%_fuzz}
    if (($# > 0)) && [[ " $* " != *" $name "* ]]; then continue; fi
    corpus=build/fuzz/corpus/$name
    mkdir -p "$corpus"
    "build/fuzz/$target" "--seeds=$corpus"
    echo "== $target, $seconds s" >&2
    if ! "build/fuzz/$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
        -rss_limit_mb=1024 -malloc_limit_mb=256 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="build/fuzz/found/$name-" "$corpus"; then
        failed+=("$name")
    fi
done
if ((${#failed[@]} > 0)); then
    echo "== found something: ${failed[*]}; see build/fuzz/found" >&2
    exit 1
fi
echo "== nothing found" >&2

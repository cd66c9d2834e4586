#!/usr/bin/env bash
# tests/fuzz/run.sh [--until=N] [--coverage] [seconds] [target...]
# Every libFuzzer target (or those named) for so many seconds (60), from the examples of the target
# and what earlier runs kept in build/fuzz/corpus. Every run adds a line to build/fuzz/runs.tsv:
# target, libFuzzer's count of executions, seconds of processor.
#   --until=N    round after round, until each target has N executions; goes on where it was stopped
#   --coverage   runs nothing new: a table of what was run, and of the lines that the examples and
#                the corpus reach in the files that each target is about (cmake/fuzz.cmake)
# Ends with 1 if one of them found something; the input is then in build/fuzz/found.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

until=0 coverage=0
while [[ ${1:-} == --* ]]; do
    case $1 in
    --until=*) until=${1#*=} ;;
    --coverage) coverage=1 ;;
    *) set -- "$1" wrong ;; # which no number of seconds is
    esac
    shift
done
seconds=${1:-60}
shift || true
if ! [[ $seconds =~ ^[1-9][0-9]*$ && $until =~ ^[0-9]+$ ]]; then
    echo "usage: tests/fuzz/run.sh [--until=N] [--coverage] [seconds] [target...]" >&2
    exit 2
fi
if ! command -v clang >/dev/null; then
    echo "no clang here: sudo apt-get install -y clang llvm libclang-rt-14-dev libomp-dev" >&2
    exit 5
fi
if ! printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n; }' |
    clang -x c -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null; then
    version=$(clang -dumpversion)
    echo "no libFuzzer here: sudo apt-get install -y libclang-rt-${version%%.*}-dev" >&2
    exit 5
fi

# Short stacks of allocations and a short quarantine: a run is over before either is needed.
export OMP_NUM_THREADS=1
export ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:${ASAN_OPTIONS:-}
here=build/fuzz
names=("$@")
if ((${#names[@]} == 0)); then
    for source in tests/fuzz/*_fuzz.c; do names+=("$(basename "$source" _fuzz.c)"); done
fi

cmake --preset fuzz -DHALFULP_TESTS=OFF >&2
suffix=_fuzz
if ((coverage)); then suffix=_fuzz_coverage; fi
cmake --build $here --target "${names[@]/%/$suffix}" >&2
mkdir -p $here/found
touch $here/runs.tsv

# sum TARGET COLUMN: of all runs
sum() { awk -v t="$1" -v c="$2" '$1 == t { n += $c } END { printf c == 2 ? "%.0f" : "%.1f", n }' $here/runs.tsv; }

# Examples, once; corpora and examples are then two folders, of which libFuzzer fills the first.
prepare() {
    mkdir -p "$here/corpus/$1" "$here/examples/$1"
    "$here/${1}_fuzz$2" "--seeds=$here/examples/$1"
}

# slice TARGET: one run; false if it found something
slice() {
    local name=$1 log=$here/$1.log left=-1 most=256 largest used options=()
    prepare "$name" ""
    if ((until)); then left=$((until - $(sum "$name" 2) + 1)); fi
    largest=$(find "$here/examples/$name" -type f -printf '%s\n' | sort -n | tail -1)
    if ((largest > most)); then most=$largest; fi
    if [[ -e tests/fuzz/$name.dict ]]; then options+=("-dict=tests/fuzz/$name.dict"); fi
    # MiB of one allocation. A hundred bytes of WebP may say, and then take, 805 MB of pixels, which no size is refused.
    local memory=256
    if [[ $name == image ]]; then memory=1024; fi
    local good=0 TIMEFORMAT='%U %S'
    { time "$here/${name}_fuzz" "${options[@]}" -runs=$left -max_total_time="$seconds" \
        -max_len=$most -timeout=60 -rss_limit_mb=$((memory * 4)) -malloc_limit_mb="$memory" \
        -print_final_stats=1 \
        -artifact_prefix="$here/found/$name-" "$here/corpus/$name" "$here/examples/$name" \
        >"$log" 2>&1; } 2>"$here/time" || good=1
    used=$(awk '{ print $1 + $2 }' "$here/time" | tail -1)
    printf '%s\t%s\t%s\n' "$name" "$(sed -n 's/stat::number_of_executed_units: *//p' "$log")" \
        "$used" >>$here/runs.tsv
    if ((good)); then tail -40 "$log" >&2; fi
    return $good
}

# Lines of the files of a target, as "FILE PER CENT": of what its examples and its corpus reach.
lines_of() {
    local name=$1 program=$here/${1}_fuzz_coverage
    prepare "$name" _coverage
    LLVM_PROFILE_FILE=$here/$name.profraw "$program" -runs=0 "$here/corpus/$name" \
        "$here/examples/$name" >/dev/null 2>&1 || echo "$program ended badly" >&2
    llvm-profdata merge -o "$here/$name.profdata" "$here/$name.profraw"
    llvm-cov export -summary-only -instr-profile="$here/$name.profdata" "$program" | python3 -c '
import json, sys
wanted = open(sys.argv[1]).read().split()
for file in json.load(sys.stdin)["data"][0]["files"]:
    name = file["filename"].split("/src/")[-1].split("/", 1)[-1]
    if name in wanted:
        print("%s %.1f" % (name, file["summary"]["lines"]["percent"]))' "$here/${name}_fuzz.files"
}

if ((coverage)); then
    for name in "${names[@]}"; do
        printf '%s\t%s\t%s\t%s\n' "$name" "$(sum "$name" 2)" "$(sum "$name" 3)" \
            "$(lines_of "$name" | paste -sd ';')"
    done
    exit 0
fi

failed=()
while :; do
    ran=0
    for name in "${names[@]}"; do
        if [[ " ${failed[*]:-} " == *" $name "* ]]; then continue; fi
        if ((until && $(sum "$name" 2) >= until)); then continue; fi
        ran=1
        echo "== $name, $seconds s" >&2
        if ! slice "$name"; then failed+=("$name"); fi
    done
    if ((!until || !ran)); then break; fi
done
if ((${#failed[@]} > 0)); then
    echo "== found something: ${failed[*]}; see $here/found" >&2
    exit 1
fi
echo "== nothing found" >&2

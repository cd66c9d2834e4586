#!/usr/bin/env bash
# tools/wheel_libraries.sh PREFIX: the libraries of a wheel for glibc 2.28, on a Debian whose own ones ask for a newer one.
# Those which ask for nothing newer are left to auditwheel, which takes them along. libpng and opus are built here as
# archives, of webp, expat, FLAC, Ogg and Vorbis Debian has archives that fit into a shared library: all these are linked
# into libhalfulp-whole.so and libsndfile.so. The latter is LGPL, so it stays a library that can be exchanged; it is built
# without mpg123 and lame, so that a wheel reads no MP3.
set -euo pipefail
prefix=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
. /etc/os-release
system=$(gcc -print-file-name=libexpat.a)
system=$(cd "$(dirname "$system")" && pwd)
work=$prefix/work
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/parts" "$prefix/lib/pkgconfig"

# Source packages, without a change to the system's own lists.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/{debian,ubuntu}.sources; do
    if [[ -s $list ]]; then
        sed -E 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$list" >"$work/parts/$(basename "$list")"
    fi
done
of_sources() {
    (cd "$work" && apt-get -q -o Dir::Etc::sourcelist=- -o Dir::Etc::sourceparts="$work/parts" \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@")
}

# build NAME SOURCE_FOLDER [cmake options]
build() {
    local name=$1 source=$2
    shift 2
    cmake -S "$source" -B "$work/build-$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
        -DCMAKE_PREFIX_PATH="$prefix" -Wno-dev "$@"
    cmake --build "$work/build-$name"
    cmake --install "$work/build-$name"
}

of_sources update
# The newest; where a mirror has not got it yet, that of the release.
for source in libpng1.6 opus libsndfile; do
    of_sources source "$source" || of_sources source "$source/$VERSION_CODENAME"
done

for archive in webp expat FLAC ogg vorbis vorbisenc; do cp "$system/lib$archive.a" "$prefix/lib"; done
for package in libwebp expat flac ogg vorbis vorbisenc; do
    sed "s|^libdir=.*|libdir=$prefix/lib|" "$system/pkgconfig/$package.pc" >"$prefix/lib/pkgconfig/$package.pc"
done

build png "$(echo "$work"/libpng1.6-*/)" -DPNG_SHARED=OFF -DPNG_TESTS=OFF
# Its tarball has not all that its CMakeLists.txt includes.
(cd "$work"/opus-*/ && ./configure -q --prefix="$prefix" --libdir="$prefix/lib" --disable-shared --with-pic \
    --disable-doc --disable-extra-programs && make -s -j"$(nproc)" install)

gcc -O2 -fPIC -ffunction-sections -c "$here/python/glibc.c" -o "$work/glibc.o"
wraps=$(sed -nE 's/^(OLD\([^,]*, |STAT\()([a-z0-9_]+).*/-Wl,--wrap=\2/p' "$here/python/glibc.c" | tr '\n' ' ')
build sndfile "$(echo "$work"/libsndfile-*/)" -DBUILD_SHARED_LIBS=ON -DENABLE_MPEG=OFF -DBUILD_PROGRAMS=OFF \
    -DBUILD_EXAMPLES=OFF -DBUILD_TESTING=OFF -DENABLE_CPACK=OFF -DINSTALL_MANPAGES=OFF \
    -DCMAKE_SHARED_LINKER_FLAGS="$work/glibc.o $wraps -Wl,--gc-sections -Wl,--exclude-libs,ALL"

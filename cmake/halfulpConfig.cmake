# find_package(halfulp) gives the target halfulp::halfulp.
include(CMakeFindDependencyMacro)
find_dependency(OpenMP COMPONENTS C)
find_dependency(PkgConfig)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
include(${CMAKE_CURRENT_LIST_DIR}/halfulpTargets.cmake)

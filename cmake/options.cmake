# Compiler flags of every target, and the libraries from outside.
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(EXPAT REQUIRED IMPORTED_TARGET expat)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(SNDFILE REQUIRED IMPORTED_TARGET sndfile)
pkg_check_modules(SAMPLERATE REQUIRED IMPORTED_TARGET samplerate)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
find_program(PROTOC_C NAMES protoc-c REQUIRED)

# oneDNN 2 or 3, where it is found and not OFF; CMAKE_PREFIX_PATH, or DNNL_LIBRARY and DNNL_INCLUDE, choose one that is
# not the system's. It is not linked: product/onednn_library.c opens the library when a product asks for it, where it is there.
set(HALFULP_ONEDNN AUTO CACHE STRING "run.products=onednn: AUTO, where oneDNN is found, or OFF")
set_property(CACHE HALFULP_ONEDNN PROPERTY STRINGS AUTO OFF)
if(HALFULP_ONEDNN STREQUAL "AUTO")
  find_library(DNNL_LIBRARY NAMES dnnl)
  cmake_path(GET DNNL_LIBRARY PARENT_PATH dnnl_folder)
  find_path(DNNL_INCLUDE NAMES oneapi/dnnl/dnnl.h HINTS ${dnnl_folder}/../include)
elseif(NOT HALFULP_ONEDNN STREQUAL "OFF")
  message(FATAL_ERROR "HALFULP_ONEDNN: found ${HALFULP_ONEDNN}, expected AUTO or OFF")
endif()
if(HALFULP_ONEDNN STREQUAL "AUTO" AND DNNL_LIBRARY AND DNNL_INCLUDE)
  file(STRINGS ${DNNL_INCLUDE}/oneapi/dnnl/dnnl_version.h dnnl_major REGEX "define DNNL_VERSION_MAJOR")
  string(REGEX MATCH "[0-9]+" dnnl_major "${dnnl_major}")
  if(NOT dnnl_major MATCHES "^[23]$")
    message(FATAL_ERROR "${DNNL_INCLUDE}: found oneDNN ${dnnl_major}, expected version 2 or 3")
  endif()
  message(STATUS "oneDNN ${dnnl_major}: ${DNNL_LIBRARY}")
  set(HALFULP_DNNL ON)
  set(folder "${dnnl_folder}/")
  if(dnnl_folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    set(folder "")
  endif()
  set_source_files_properties(src/number/product/onednn_library.c PROPERTIES COMPILE_DEFINITIONS
    HALFULP_DNNL_FOLDER="${folder}")
else()
  message(STATUS "oneDNN: not in this build; no run.products=onednn, nor benchmarks beside it")
  set(HALFULP_DNNL OFF)
endif()

add_library(halfulp-options INTERFACE)
target_include_directories(halfulp-options INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src/number>
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src/data>
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src/learn>
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src/study>
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src/program>
  $<INSTALL_INTERFACE:include>)
target_compile_options(halfulp-options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wvla -Wstrict-prototypes
  -Wmissing-prototypes
  -ffp-contract=off -fno-math-errno -fno-trapping-math
  -fvisibility=hidden -fno-semantic-interposition)
target_compile_definitions(halfulp-options INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE
  HALFULP_VERSION="${PROJECT_VERSION}")
target_link_libraries(halfulp-options INTERFACE OpenMP::OpenMP_C m)
# clang says aloud which `omp simd` loops it leaves scalar for an instruction set; the results are the same.
# Rows of tables leave out fields that are zero; gcc does not say so of what stands in a named field.
target_compile_options(halfulp-options INTERFACE
  $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed> $<$<C_COMPILER_ID:Clang>:-Wno-missing-field-initializers>)
if(HALFULP_WERROR)
  target_compile_options(halfulp-options INTERFACE -Werror)
endif()
if(HALFULP_SANITIZE)
  set(HALFULP_SANITIZERS -fsanitize=address,undefined)
elseif(HALFULP_SANITIZE_THREADS)
  # gcc's OpenMP runtime tells ThreadSanitizer nothing of its barriers: each parallel loop is a false report.
  # clang's tells it by way of libarcher, which it loads by itself.
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HALFULP_SANITIZE_THREADS needs clang, found ${CMAKE_C_COMPILER_ID}")
  endif()
  set(HALFULP_SANITIZERS -fsanitize=thread)
endif()
if(HALFULP_SANITIZERS)
  target_compile_options(halfulp-options INTERFACE ${HALFULP_SANITIZERS}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(halfulp-options INTERFACE ${HALFULP_SANITIZERS})
endif()
# Counted is what gcc leaves at -O1 without inlining: at -O0 the suite takes hours, and forms of a kernel that are one function
# with constant arguments would each count the branches of all. Counters of threads may lose counts, but never fall to 0.
if(HALFULP_COVERAGE)
  target_compile_options(halfulp-options INTERFACE --coverage -O1 -g0 -fno-inline -fprofile-update=single)
  target_link_options(halfulp-options INTERFACE --coverage)
endif()

# What a write behind the end of a buffer meets, of targets that link halfulp-hardened: checked copies, canaries in front of
# return addresses, stacks that cannot step over their guard page, and tables of functions that are read-only before main.
# The sanitizers bring their own. Fortified copies need optimisation.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
add_library(halfulp-hardened INTERFACE)
if(NOT HALFULP_SANITIZERS)
  target_compile_options(halfulp-hardened INTERFACE -fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(halfulp-hardened INTERFACE -fstack-clash-protection)
  endif()
endif()
if(NOT APPLE)
  target_link_options(halfulp-options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
